package io.kvtier.store.storage.shared;

import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.hf3fs.Hf3fsFile;
import io.kvtier.bindings.hf3fs.UsrbioChannel;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.IoThreads;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Function;

/** A file that is registered with USRBIO. <b>Threading:</b> thread-safe. */
final class Hf3fsSharedFile implements SharedFile {
    /** What fills up the last block of a write. */
    private static final MemorySegment ZEROS =
        MemorySegment.ofArray(new byte[(int) FileSystemAdapter.BLOCK_BYTES]).asReadOnly();

    private final UsrbioChannel channel;
    private final IoThreads threads;
    private final BlockFile file;
    private final Hf3fsFile registered;
    private final Object identity;

    Hf3fsSharedFile(final UsrbioChannel channel, final IoThreads threads, final BlockFile file,
        final Hf3fsFile registered, final Object identity) {
        this.channel = channel;
        this.threads = threads;
        this.file = file;
        this.registered = registered;
        this.identity = identity;
    }

    @Override
    public String path() {
        return file.path();
    }

    @Override
    public Object identity() {
        return identity;
    }

    @Override
    public RangeTransfer read(final long offset, final List<MemorySegment> targets, final long timeoutMs,
        final boolean alone) {
        final List<MemorySegment> pieces = List.copyOf(targets);
        final long wanted = bytesOf(pieces);
        return start(ErrorCode.FILE_READ_FAIL, offset, pieces, timeoutMs, alone, () -> {
            final long count = channel.read(registered, pieces, offset);
            if (count < wanted) {
                throw new StoreException(ErrorCode.FILE_READ_FAIL, "the file ended after " + count + " of " + wanted
                    + " bytes");
            }
        });
    }

    @Override
    public RangeTransfer write(final long offset, final List<MemorySegment> sources, final long timeoutMs) {
        if (offset % FileSystemAdapter.BLOCK_BYTES != 0) {
            throw new IllegalArgumentException("offset is " + offset + "; shared files are written at multiples of "
                + FileSystemAdapter.BLOCK_BYTES);
        }
        final List<MemorySegment> pieces = List.copyOf(sources);
        return start(ErrorCode.FILE_WRITE_FAIL, offset, pieces, timeoutMs, false,
            () -> channel.write(registered, filledUp(pieces), offset));
    }

    private static List<MemorySegment> filledUp(final List<MemorySegment> pieces) {
        final long behind = bytesOf(pieces) % FileSystemAdapter.BLOCK_BYTES;
        if (behind == 0) {
            return pieces;
        }
        final List<MemorySegment> whole = new ArrayList<>(pieces);
        whole.add(ZEROS.asSlice(behind));
        return whole;
    }

    private RangeTransfer start(final ErrorCode code, final long offset, final List<MemorySegment> pieces,
        final long timeoutMs, final boolean here, final Runnable body) {
        if (bytesOf(pieces) == 0) {
            return RangeTransfer.NOTHING;
        }
        final Function<Throwable, StoreException> failure = cause -> failure(code, offset, cause);
        for (final MemorySegment piece : pieces) {
            if (piece.byteSize() > 0 && !Hf3fsFileSystem.isReachable(piece)) {
                return HandedOver.failed(failure.apply(new IllegalStateException("its memory is on the heap, is closed"
                    + " or belongs to one thread; native memory of a shared arena is needed")));
            }
        }
        final HandedOver transfer = new HandedOver(body, timeoutMs, failure);
        // A virtual thread would hold its carrier for as long as it waits in native code.
        if (here && !Thread.currentThread().isVirtual()) {
            transfer.run();
            return transfer;
        }
        try {
            threads.execute(transfer);
        } catch (final RejectedExecutionException e) {
            return HandedOver.failed(failure.apply(new IllegalStateException("the file system is closed", e)));
        }
        return transfer;
    }

    private static long bytesOf(final List<MemorySegment> pieces) {
        long bytes = 0;
        for (int i = 0; i < pieces.size(); i++) {
            bytes += pieces.get(i).byteSize();
        }
        return bytes;
    }

    private StoreException failure(final ErrorCode code, final long offset, final Throwable cause) {
        return new StoreException(code, "bytes at offset " + offset + " of " + path() + " could not be "
            + (code == ErrorCode.FILE_READ_FAIL ? "read" : "written") + ": " + cause.getMessage(), cause);
    }

    /** By the mount: its client makes the size known that writes past it have reached. */
    @Override
    public void sync() {
        try {
            threads.call(() -> {
                file.sync();
                return null;
            });
        } catch (final NativeException | IllegalStateException | RejectedExecutionException e) {
            throw new StoreException(ErrorCode.FILE_WRITE_FAIL, "a sync of " + path() + " failed, which may have lost "
                + "what was written: " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        registered.close();
        file.close();
    }
}
