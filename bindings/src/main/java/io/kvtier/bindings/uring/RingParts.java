package io.kvtier.bindings.uring;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import java.util.ArrayDeque;
import java.util.Deque;
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
    private final Witness witness;
    private final ResourceTable table;
    private final IoVectors vectors;
    private final Waker waker;
    private final RingDriver driver;
    private final RingResources resources;

    RingParts(final UringRing ring, final UringKernel kernel, final UringFeatures features,
              final UringOptions options) {
        if (options.bufferSlots() > 0 && !features.bufferUpdates()) {
            throw new IllegalStateException("registered buffers need Linux 5.13 or newer; open the ring without"
                + " buffer slots");
        }
        this.options = options;
        operations = new Operations(options.depth());
        vectors = new IoVectors();
        final Deque<Runnable> undo = new ArrayDeque<>(List.of(vectors::close));
        try {
            witness = new Witness(kernel);
            undo.push(() -> witness.close(0));
            table = new ResourceTable(kernel, options, witness.descriptor());
            undo.push(table::close);
            waker = new Waker(kernel);
            undo.push(waker::close);
            driver = new RingDriver(kernel, features, options, operations, table, waker);
        } catch (final RuntimeException | Error e) {
            undo.forEach(Runnable::run);
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
        if (byOwner) {
            driver.drained(true);
        } else {
            driver.collectOnly();
        }
        final int left = operations.open();
        if (byOwner && left == 0 && !driver.isBroken()) {
            table.takeBack(driver.ring());
        }
        driver.ring().shut();
        RuntimeException failure = null;
        if (witness.close(left == 0 ? 0 : options.drainTimeoutMs()) || left == 0) {
            driver.ring().ended();
            resources.releaseMemory();
            vectors.close();
            table.close();
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

    /** The ring stays counted, and so do its buffers: the kernel holds them pinned until the operations end. */
    private IllegalStateException abandon(final int left, final int open) {
        Uring.countAbandoned();
        LEAKED.add(List.of(operations, table, resources, vectors));
        resources.abandonMemory();
        return new IllegalStateException(left + " of " + open + " operations did not end within "
            + options.drainTimeoutMs() + " ms of closing the ring; the ring was leaked, and their memory must not be"
            + " freed");
    }
}
