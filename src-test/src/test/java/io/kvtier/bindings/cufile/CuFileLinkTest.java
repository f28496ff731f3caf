package io.kvtier.bindings.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Dying;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.SimulatedCuFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A library that lacks a function, as an older one does: what was to be made with it holds nothing. */
@ExtendWith(LeakCheck.class)
class CuFileLinkTest {
    private static final long LENGTH = 4096;

    private final SimulatedCuFile simulated = new SimulatedCuFile();
    private final PosixFile file = PosixFile.inMemory("link");
    private final CountedStream stream = new CountedStream().hold();

    @AfterEach
    void close() {
        file.close();
        assertEquals(0, simulated.live());
        assertEquals(0, simulated.opens());
    }

    private CuFile without(final String call) {
        return Dying.in(call, simulated, new LinkageError("a test's library without " + call));
    }

    @Test
    void shouldNotStayOpenWithoutProperties() {
        final CuFile cuFile = without("properties");

        assertThrows(LinkageError.class, () -> cuFile.open(CuFileConfig.DEFAULT));
    }

    @Test
    void shouldHoldNoFileThatCannotBeRegistered() {
        try (CuFileDriver driver = without("handleRegister").open(CuFileConfig.DEFAULT)) {
            assertThrows(LinkageError.class, () -> CuFileHandle.register(driver, file));
        }
    }

    @Test
    void shouldHoldNoStreamThatCannotBeRegistered() {
        try (CuFileDriver driver = without("streamRegister").open(CuFileConfig.DEFAULT)) {
            assertThrows(LinkageError.class, () -> CuFileStream.register(driver, stream, true));
        }
        assertEquals(0, stream.held());
    }

    @Test
    void shouldHoldNothingOfATransferThatCannotBeSubmitted() {
        try (Arena arena = Arena.ofConfined();
            CuFileDriver driver = without("streamTransfer").open(CuFileConfig.DEFAULT)) {
            final MemorySegment memory = arena.allocate(LENGTH, LENGTH);
            final DevicePointer device =
                simulated.memory().allocated(new DevicePointer(memory.address(), LENGTH));
            try (CuFileHandle handle = CuFileHandle.register(driver, file);
                CuFileBuffer buffer = CuFileBuffer.register(driver, device)) {
                assertThrows(LinkageError.class,
                    () -> CuFileStreamTransfer.submit(false, handle, 0, buffer, 0, LENGTH, stream));
            }
        }
        assertEquals(0, stream.held());
    }
}
