package io.kvtier.bindings.cufile;

import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaStream;
import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.cuda.PinnedMemory;
import io.kvtier.bindings.posix.Mapping;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.SimulatedCuFile;
import java.util.ArrayDeque;
import java.util.Deque;

/** One round's owners for {@link CloseInUse}; closing closes again what a race has closed already. */
abstract class CloseRig implements AutoCloseable {
    final CuFileDriver driver;
    final PosixFile file;
    final CuFileHandle handle;
    final CuFileBuffer buffer;
    final Deque<Runnable> owned = new ArrayDeque<>();

    private CloseRig(final CuFileDriver driver, final PosixFile file, final CuFileBuffer buffer) {
        this.driver = driver;
        this.file = file;
        this.handle = CuFileHandle.register(driver, file);
        this.buffer = buffer;
        owned.push(driver::close);
        owned.push(file::close);
        owned.push(handle::close);
        owned.push(buffer::close);
    }

    /** What a second thread needs to call cuFile; what it runs in the end. */
    Runnable enter() {
        return () -> { };
    }

    abstract void closeMemory();

    @Override
    public void close() {
        while (!owned.isEmpty()) {
            owned.pop().run();
        }
    }

    /** Over the simulation, whose memory is unmapped in the moment in which it is deregistered. */
    static final class Simulated extends CloseRig {
        private final SimulatedCuFile simulated;

        private Simulated(final SimulatedCuFile simulated, final CuFileDriver driver, final DevicePointer range) {
            super(driver, PosixFile.inMemory("close"), CuFileBuffer.register(driver, range));
            this.simulated = simulated;
        }

        static Simulated open(final long bytes) {
            final SimulatedCuFile simulated = new SimulatedCuFile();
            // A second of waiting for what never comes would make every cancellation slow.
            simulated.cancelReports(true);
            final Mapping mapping = Mapping.anonymous(NativeTag.HOST_REGION, bytes);
            simulated.afterDeregistration(base -> mapping.close());
            final DevicePointer range = new DevicePointer(mapping.segment().address(), bytes);
            simulated.memory().allocated(range);
            return new Simulated(simulated, simulated.cuFile().open(CuFileConfig.DEFAULT), range);
        }

        /** The mapping goes with the registration. */
        @Override
        void closeMemory() {
            buffer.close();
        }

        @Override
        public void close() {
            super.close();
            if (simulated.live() != 0 || simulated.opens() != 0) {
                throw new AssertionError(simulated.live() + " live, " + simulated.opens() + " opens");
            }
        }
    }

    /** On a GPU. */
    static final class Gpu extends CloseRig {
        final CudaContext context;
        final DeviceMemory memory;
        final PinnedMemory host;
        final CudaStream stream;
        final CuFileStream registered;

        Gpu(final CudaContext context, final String path, final long bytes) {
            this(context, path, CuFile.system().open(CuFileConfig.DEFAULT), DeviceMemory.allocate(context, bytes));
        }

        private Gpu(final CudaContext context, final String path, final CuFileDriver driver,
            final DeviceMemory memory) {
            super(driver, PosixFile.open(path, OpenMode.READ_WRITE_DIRECT), CuFileBuffer.register(driver, memory));
            this.context = context;
            this.memory = memory;
            this.host = PinnedMemory.allocate(context, memory.pointer().byteSize());
            this.stream = CudaStream.create(context);
            this.registered = CuFileStream.register(driver, stream, true);
            owned.push(memory::close);
            owned.push(host::close);
            owned.push(stream::close);
            owned.push(registered::close);
        }

        @Override
        Runnable enter() {
            return context.enter()::close;
        }

        @Override
        void closeMemory() {
            memory.close();
        }
    }
}
