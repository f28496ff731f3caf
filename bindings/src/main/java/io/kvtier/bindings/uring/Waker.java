package io.kvtier.bindings.uring;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.RefCount;
import io.kvtier.bindings.posix.ErrnoException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Ends the wait of a ring's owner from another thread: an eventfd, of which a read is always in the ring.
 *
 * <p>Why an eventfd: a ring with one issuer takes no NOP from another thread; a message from a second ring wants a ring
 * for every waking thread and Linux 5.18; a signal may hit the wrong thread and the JVM's handlers. Writing to an
 * eventfd is one system call that any thread may make and that completes the read. Why a read and not a poll: it sets
 * the counter back to zero by completing, where a poll would need a second system call to do so. What it reads is of no
 * interest, so all rings share eight bytes that are never freed, and a read that is left behind writes nowhere else.
 *
 * <p>No wake-up is lost. A waker publishes its work, then sets the flag, and writes when the flag was not set. The
 * owner clears the flag when it takes the completion of the read, and looks for work after that. So whoever finds the
 * flag set has published before a completion that the owner has still to take, and wake-ups cost one write for each
 * wait that they end, however many there are.
 *
 * <p><b>Threading:</b> {@link #wake} any thread, the rest the owner of the ring. <b>Lifetime:</b> waking a closed one
 * does nothing.
 */
final class Waker {
    static final MemorySegment SINK = Arena.global().allocate(Long.BYTES, Long.BYTES);

    private final UringKernel kernel;
    private final int descriptor;
    private final AtomicBoolean requested = new AtomicBoolean();
    private final RefCount references;

    Waker(final UringKernel kernel) {
        this.kernel = kernel;
        descriptor = kernel.eventDescriptor();
        if (descriptor < 0) {
            throw new ErrnoException("eventfd", -descriptor, "wake-up of a ring");
        }
        NativeResources.created(NativeTag.FILE_DESCRIPTOR, 0);
        references = new RefCount(() -> {
            NativeResources.released(NativeTag.FILE_DESCRIPTOR, 0);
            kernel.close(descriptor);
        });
    }

    int descriptor() {
        return descriptor;
    }

    void wake() {
        if (requested.getAndSet(true) || !references.tryAcquire()) {
            return;
        }
        try {
            final int result = kernel.wake(descriptor);
            if (result < 0) {
                requested.set(false);
                throw new ErrnoException("write", -result, "the eventfd of a ring");
            }
        } finally {
            references.release();
        }
    }

    /** The read has completed. */
    void taken() {
        requested.set(false);
    }

    void close() {
        references.close();
    }
}
