package io.kvtier.bindings.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A registration that is closed in use is let go by the last use, and the library may refuse that. */
class CuFileReleaseTest extends OverSimulatedCuFile {
    private static final long ENTRY = 4096;

    private final List<String> said = new ArrayList<>();

    CuFileReleaseTest() {
        super("release", 64 << 10);
    }

    private void hear(final int slot, final CuFileOutcome outcome, final long result) {
        said.add(slot + " " + outcome + " " + result);
    }

    /** The library keeps what it does not let go of, and with it the driver: the test lets that go in its place. */
    private CuFileBuffer registered() {
        final CuFileBuffer buffer = CuFileBuffer.register(driver, device);
        simulated.refuse("bufferDeregister", CuFileTypes.CU_FILE_INTERNAL_ERROR(), 0);
        return buffer;
    }

    @Test
    void shouldTellOfEveryEntryWhenTheLastOfThemCannotLetItsMemoryGo() {
        final CuFileBuffer buffer = registered();
        try (CuFileBatch batch = CuFileBatch.create(driver, 4)) {
            batch.add(false, handle, 0, buffer, 0, ENTRY);
            batch.add(false, handle, ENTRY, buffer, ENTRY, ENTRY);
            batch.submit();
            buffer.close();

            batch.poll(0, this::hear);

            assertEquals(List.of("1 COMPLETE 4096", "0 COMPLETE 4096"), said);
            assertEquals(CuFileBatch.State.DRAINED, batch.state());
        }
        driver.giveBack();
    }

    @Test
    void shouldLetAllEntriesGoWhenOneCannotLetItsMemoryGo() {
        final CuFileBuffer buffer = registered();
        final CuFileBatch batch = CuFileBatch.create(driver, 4);
        batch.add(false, handle, 0, buffer, 0, ENTRY);
        batch.add(false, handle, ENTRY, new DevicePointer(device.address() + ENTRY, ENTRY));
        buffer.close();

        batch.close();

        assertEquals(0, driver.pool().taken());
        driver.giveBack();
    }

    @Test
    void shouldLetFileAndStreamGoWhenTheMemoryCannotBeLetGo() {
        final CuFileBuffer buffer = registered();
        final CountedStream stream = new CountedStream();
        final CuFileStreamTransfer transfer =
            CuFileStreamTransfer.submit(false, handle, 0, buffer, 0, ENTRY, stream.hold());
        buffer.close();

        assertThrows(CuFileException.class, transfer::close);

        assertEquals(0, stream.held());
        driver.giveBack();
    }

    @Test
    void shouldLetTheDriverGoWhenTheMemoryOfARegistrationCannotBeReleased() {
        final CuFileBuffer buffer = CuFileBuffer.register(driver, memory, () -> {
            throw new IllegalStateException("a test's memory that cannot be unpinned");
        });

        assertThrows(IllegalStateException.class, buffer::close);
    }
}
