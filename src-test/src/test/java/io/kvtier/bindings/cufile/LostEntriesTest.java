package io.kvtier.bindings.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.SimulatedCuFile;
import io.kvtier.kit.WriteOff;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Entries of which nothing is heard any more, where a device may move them: what they hold stays, so that nothing here
 * is looked through for what was left behind.
 */
@ExtendWith(WriteOff.class)
class LostEntriesTest {
    private static final long ENTRY = 4096;

    private final SimulatedCuFile simulated = new SimulatedCuFile();
    private final Arena arena = Arena.ofConfined();
    private final MemorySegment memory = arena.allocate(4 * ENTRY, ENTRY);
    private final List<String> said = new ArrayList<>();
    private CuFileDriver driver;
    private PosixFile file;
    private CuFileHandle handle;
    private CuFileBuffer buffer;

    private void open(final boolean compatible) {
        simulated.compatible(compatible);
        driver = simulated.cuFile().open(CuFileConfig.DEFAULT);
        file = PosixFile.inMemory("lost");
        handle = CuFileHandle.register(driver, file);
        buffer = CuFileBuffer.register(driver,
            simulated.memory().allocated(new DevicePointer(memory.address(), memory.byteSize())));
    }

    @AfterEach
    void close() {
        arena.close();
    }

    private void closeOwners() {
        buffer.close();
        handle.close();
        file.close();
        driver.close();
    }

    /** Two entries, of which nothing will be heard. */
    private CuFileBatch submit(final long silenceNs) {
        simulated.stalled(true);
        final CuFileBatch batch = CuFileBatch.create(driver, 2, silenceNs);
        batch.add(true, handle, 0, buffer, 0, ENTRY);
        batch.add(true, handle, ENTRY, buffer, ENTRY, ENTRY);
        batch.submit();
        return batch;
    }

    private void hear(final int slot, final CuFileOutcome outcome, final long result) {
        said.add(slot + " " + outcome + " " + result);
    }

    @Test
    void shouldLoseWhatADeviceMayStillMoveAndKeepWhatItUses() {
        open(false);
        simulated.movesOn(true);
        final CuFileBatch batch = submit(0);
        assertEquals(2, batch.poll(0, this::hear));
        assertEquals(List.of("0 LOST 0", "1 LOST 0"), said);
        assertEquals(CuFileBatch.State.DESTROYED, batch.state());
        assertEquals(2, driver.lost());
        batch.close();
        closeOwners();
        assertEquals(2, simulated.live(), "file and memory are registered");
        assertEquals(1, simulated.opens());
        assertEquals(2, simulated.moveLate());
    }

    @Test
    void shouldLoseNothingOfWhichTheDriverSaysThatItWasCancelled() {
        open(false);
        simulated.cancelReports(true);
        submit(0).cancel(1_000_000_000, this::hear);
        assertEquals(List.of("0 CANCELED 0", "1 CANCELED 0"), said);
        assertEquals(0, driver.lost());
        closeOwners();
        assertEquals(List.of(0, 0), List.of(simulated.live(), simulated.opens()));
    }

    /** There the library's own threads move the bytes, and it waits for them before the batch is gone. */
    @Test
    void shouldLoseNothingInCompatibilityMode() {
        open(true);
        assertEquals(2, submit(0).poll(0, this::hear));
        assertEquals(List.of("0 CANCELED 0", "1 CANCELED 0"), said);
        assertEquals(0, driver.lost());
        closeOwners();
        assertEquals(List.of(0, 0), List.of(simulated.live(), simulated.opens()));
    }

    @Test
    void shouldLoseNothingThatWasNotSubmitted() {
        open(false);
        final CuFileBatch batch = CuFileBatch.create(driver, 2);
        batch.add(true, handle, 0, buffer, 0, ENTRY);
        batch.close();
        assertFalse(simulated.calls().contains("batchCancel"));
        assertEquals(0, driver.lost());
        closeOwners();
        assertTrue(simulated.live() == 0 && simulated.opens() == 0);
    }
}
