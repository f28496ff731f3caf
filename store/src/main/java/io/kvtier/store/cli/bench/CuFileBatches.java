package io.kvtier.store.cli.bench;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaCopies;
import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cufile.CuFile;
import io.kvtier.bindings.cufile.CuFileBatch;
import io.kvtier.bindings.cufile.CuFileBuffer;
import io.kvtier.bindings.cufile.CuFileConfig;
import io.kvtier.bindings.cufile.CuFileDriver;
import io.kvtier.bindings.cufile.CuFileHandle;
import io.kvtier.bindings.cufile.CuFileOutcome;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.transport.Direction;
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * Batches of cuFile itself, on the thread that made them: what is left when the transfer engine is taken away.
 *
 * <p><b>Threading:</b> one thread, which has the context current while this is open.
 */
final class CuFileBatches {
    private static final long POLL_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final BatchShape shape;
    private final CuFileHandle file;
    private final CuFileBuffer buffer;
    private final CuFileBatch batch;
    private final SplittableRandom random = new SplittableRandom(1);

    private CuFileBatches(final BatchShape shape, final CuFileHandle file, final CuFileBuffer buffer,
        final CuFileBatch batch) {
        this.shape = shape;
        this.file = file;
        this.buffer = buffer;
        this.batch = batch;
    }

    /** Opens a share of the driver with the settings of the transport, and memory like the engine's. */
    static CuFileBatches open(final Rig rig, final BatchShape shape, final CudaContext context,
        final DeviceRegion content, final Path path) {
        rig.keep(context.enter(), CudaContext.Guard::close);
        final DeviceMemory memory = rig.keep(DeviceMemory.allocate(context, content.byteSize()), DeviceMemory::close);
        CudaCopies.onDevice(context, content.pointer(), memory.pointer());
        final CuFileDriver driver = rig.keep(CuFile.system().open(CuFileConfig.DEFAULT), CuFileDriver::close);
        final PosixFile file = rig.keep(PosixFile.open(path.toString(), OpenMode.READ_WRITE_DIRECT),
            PosixFile::close);
        final CuFileHandle handle = rig.keep(CuFileHandle.register(driver, file), CuFileHandle::close);
        final CuFileBuffer buffer = rig.keep(CuFileBuffer.register(driver, memory), CuFileBuffer::close);
        return new CuFileBatches(shape, handle, buffer,
            rig.keep(CuFileBatch.create(driver, shape.count()), CuFileBatch::close));
    }

    double mebibytesPerSecond(final long nanos) {
        return shape.mebibytesPerSecond(this::move, nanos);
    }

    private void move() {
        final boolean write = shape.direction() == Direction.WRITE;
        for (int i = 0; i < shape.count(); i++) {
            if (batch.add(write, file, shape.offset(random), buffer, i * shape.blockBytes(), shape.blockBytes()) < 0) {
                throw new IllegalStateException("cuFile has buffers for " + i + " of " + shape.count() + " entries of "
                    + shape.blockBytes() + " bytes");
            }
        }
        batch.submit();
        while (batch.state() == CuFileBatch.State.IN_FLIGHT) {
            batch.poll(POLL_NANOS, this::ended);
        }
        batch.recycle();
    }

    private void ended(final int slot, final CuFileOutcome outcome, final long result) {
        if (result != shape.blockBytes()) {
            throw new IllegalStateException("entry " + slot + " of a batch ended as " + outcome + ", result " + result);
        }
    }
}
