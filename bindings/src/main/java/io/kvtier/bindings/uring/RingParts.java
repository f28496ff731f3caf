package io.kvtier.bindings.uring;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * What a ring is made of, opened in order and given back together: or leaked together, where the kernel may still write
 * into memory that an operation was given.
 *
 * <p><b>Threading:</b> the owner of the ring, or whoever closes it after that thread has ended. <b>Lifetime:</b> closed
 * once.
 */
final class RingParts {
    /** What rings that could not be drained refer to; never emptied, as a device may write there at any time. */
    private static final Queue<Object> LEAKED = new ConcurrentLinkedQueue<>();

    private final UringOptions options;
    private final Operations operations;
    private final ResourceTable table;
    private final IoVectors vectors;
    private final Waker waker;
    private final RingDriver driver;
    private final RingResources resources;

    RingParts(final UringRing ring, final UringKernel kernel, final UringFeatures features,
              final UringOptions options) {
        this.options = options;
        operations = new Operations(options.depth());
        table = new ResourceTable(kernel, options);
        vectors = new IoVectors();
        try {
            waker = new Waker(kernel);
        } catch (final ErrnoException e) {
            closeMemory();
            throw e;
        }
        try {
            driver = new RingDriver(kernel, features, options, operations, table, waker);
        } catch (final ErrnoException e) {
            waker.close();
            closeMemory();
            throw e;
        }
        resources = new RingResources(ring, table, driver, options.bufferSlots());
    }

    Operations operations() {
        return operations;
    }

    IoVectors vectors() {
        return vectors;
    }

    Waker waker() {
        return waker;
    }

    RingDriver driver() {
        return driver;
    }

    RingResources resources() {
        return resources;
    }

    /**
     * Ends what is open and gives everything back.
     *
     * @param byOwner whether by the thread that opened the ring: no other may enter it.
     * @throws IllegalStateException when an operation did not end.
     */
    void close(final boolean byOwner) {
        driver.withdraw(-Errno.ECANCELED);
        final int open = operations.open();
        final boolean drained = byOwner ? driver.drained(true) : driver.drainedWithoutEntering();
        final int left = operations.open();
        RuntimeException failure = null;
        if (drained || left == 0) {
            driver.ring().close();
            resources.releaseMemory();
            closeMemory();
        } else {
            failure = abandon(left, open);
        }
        waker.close();
        final ErrnoException unreleased = resources.releaseFiles();
        failure = failure == null ? unreleased : failure;
        if (failure != null) {
            throw failure;
        }
    }

    /** Buffers stay counted: the kernel holds them pinned for as long as it cannot end the operations. */
    private IllegalStateException abandon(final int left, final int open) {
        driver.ring().abandon();
        Uring.countAbandoned();
        LEAKED.add(List.of(operations, table, resources, vectors));
        resources.abandonMemory();
        return new IllegalStateException(left + " of " + open + " operations did not end within "
            + options.drainTimeoutMs() + " ms of closing the ring; the ring was leaked, and their memory must not be"
            + " freed");
    }

    private void closeMemory() {
        vectors.close();
        table.close();
    }
}
