package io.kvtier.bindings.uring;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import java.util.concurrent.TimeUnit;

/**
 * Tells when the kernel is done with a ring that nobody may enter any more: because the thread that opened it has
 * ended, or because something in it did not end in time.
 *
 * <p>When the last reference to an instance goes (its descriptor is closed and its queues are unmapped), the kernel
 * cancels what is in it, waits for the rest, frees the tables of registered buffers and files, and tells nobody. So
 * the writing end of a pipe is one of the registered files. Once this process has closed its own descriptor of it, the
 * pipe hangs up exactly when every instance that had it is gone, and with it every operation that could still write
 * into memory. The order in the kernel (requests, then buffers, then files: {@code io_ring_exit_work} and
 * {@code io_ring_ctx_free} in io_uring.c) is what this relies on, and what {@code UringCloseProcessTest} would notice.
 *
 * <p><b>Threading:</b> the owner of the ring, or whoever closes it. <b>Lifetime:</b> closed after the ring.
 */
final class Witness {
    private final UringKernel kernel;
    private final int readingEnd;
    private final int writingEnd;

    Witness(final UringKernel kernel) {
        this.kernel = kernel;
        final long ends = kernel.pipe();
        if (ends < 0) {
            throw new ErrnoException("pipe2", (int) -ends, "witness of a ring");
        }
        readingEnd = (int) ends;
        writingEnd = (int) (ends >>> Integer.SIZE);
        NativeResources.created(NativeTag.FILE_DESCRIPTOR, 0);
        NativeResources.created(NativeTag.FILE_DESCRIPTOR, 0);
    }

    /** What is to be registered with every instance. */
    int descriptor() {
        return writingEnd;
    }

    /**
     * Closes this, and with a limit waits for the end of every instance before.
     *
     * @param limitMs most milliseconds to wait; 0 asks only.
     * @return whether they are all gone.
     */
    boolean close(final long limitMs) {
        kernel.close(writingEnd);
        NativeResources.released(NativeTag.FILE_DESCRIPTOR, 0);
        final long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMs);
        long left = limitMs;
        int result;
        do {
            result = kernel.awaitHangUp(readingEnd, (int) left);
            left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        } while (result == -Errno.EINTR && left > 0);
        kernel.close(readingEnd);
        NativeResources.released(NativeTag.FILE_DESCRIPTOR, 0);
        return result > 0;
    }
}
