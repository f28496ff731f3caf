package io.kvtier.transport.file;

import io.kvtier.alloc.HostMemory;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Slice;
import java.lang.foreign.MemorySegment;

/**
 * Moves slices with {@code pread} and {@code pwrite} on the calling thread.
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> on the disk, and for staging memory where a slice is not aligned.
 * <b>Allocation:</b> one memory segment for a slice that is aligned, and for those that are not one an operation.
 */
final class BlockingIo {
    /** Any thread but the caller's tells whether memory is confined; this one is never started. */
    private static final Thread PROBE = Thread.ofPlatform().daemon().unstarted(() -> { });

    private BlockingIo() {
    }

    /** What is wrong with the memory of a slice that another thread shall move; null when nothing is. */
    static String check(final Slice slice) {
        final MemorySegment memory = ((HostMemory) slice.region()).segment();
        // Memory of a confined arena would fail on the other thread, after others had started.
        return memory.scope().isAlive() && memory.isAccessibleBy(PROBE)
            ? null
            : "the local memory is closed or belongs to one thread; use a shared arena";
    }

    /** Moves and completes a slice, or completes it as cancelled when nobody wants it any more. */
    static void run(final Slice slice, final FileHandle handle, final BouncePool bounces) {
        if (!slice.wanted()) {
            slice.canceled();
            return;
        }
        final long count;
        try {
            count = AlignedIo.isPlain(handle, slice) ? movePlain(slice, handle) : moveInSteps(slice, handle, bounces);
        } catch (final RuntimeException | Error e) {
            // An Error too, or the transfer would never end. InternalError: the caller's memory is a mapped file that
            // was cut under the transfer.
            slice.failed(e);
            return;
        }
        if (count < slice.length()) {
            slice.endedShort(count);
        } else {
            slice.completed();
        }
    }

    /** Makes what was written durable and completes the slice that asks for it. */
    static void sync(final Slice slice, final FileHandle handle) {
        try {
            handle.forSync().sync();
        } catch (final RuntimeException | Error e) {
            slice.failed(e);
            return;
        }
        slice.completed();
    }

    private static long movePlain(final Slice slice, final FileHandle handle) {
        final BlockFile file = handle.direct() == null ? handle.buffered() : handle.direct();
        if (slice.direction() == Direction.READ) {
            return BlockIo.readFully(file, slice.local(), slice.offset());
        }
        BlockIo.writeFully(file, slice.local(), slice.offset());
        return slice.length();
    }

    private static long moveInSteps(final Slice slice, final FileHandle handle, final BouncePool bounces) {
        final AlignedIo io = new AlignedIo(bounces.pieceBytes());
        io.begin(slice, handle);
        try {
            while (io.plan()) {
                if (io.needsBounce()) {
                    io.lend(bounces.take());
                }
                io.stage();
                io.moved(slice.direction() == Direction.READ
                    ? BlockIo.read(io.file(), io.memory(), io.fileOffset())
                    : BlockIo.write(io.file(), io.memory(), io.fileOffset()));
            }
            return io.done();
        } finally {
            if (io.bounce() != null) {
                bounces.put(io.bounce());
            }
        }
    }
}
