package io.kvtier.bindings.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.SimulatedCuFile;
import io.kvtier.transport.Closings;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.extension.ExtendWith;

/** A simulated library with a registered file and memory of a device; what a test adds is closed before these. */
@ExtendWith(LeakCheck.class)
abstract class OverSimulatedCuFile {
    final SimulatedCuFile simulated = new SimulatedCuFile();
    final Arena arena;
    final MemorySegment memory;
    final DevicePointer device;
    final CuFileDriver driver;
    final PosixFile file;
    final CuFileHandle handle;
    private final Closings open = new Closings();

    /**
     * Nothing of the memory is registered yet.
     *
     * @param name  of the file, which is in memory.
     * @param bytes of the device's memory.
     */
    OverSimulatedCuFile(final String name, final long bytes) {
        arena = keep(Arena.ofConfined(), Arena::close);
        memory = arena.allocate(bytes, 4096);
        device = simulated.memory().allocated(new DevicePointer(memory.address(), memory.byteSize()));
        driver = keep(simulated.cuFile().open(CuFileConfig.DEFAULT), CuFileDriver::close);
        file = keep(PosixFile.inMemory(name), PosixFile::close);
        handle = keep(CuFileHandle.register(driver, file), CuFileHandle::close);
    }

    final <T> T keep(final T thing, final Consumer<? super T> closing) {
        return open.keep(thing, closing);
    }

    @AfterEach
    final void closeAll() {
        open.close();
        assertEquals(0, simulated.live());
        assertEquals(0, simulated.opens());
    }
}
