package io.kvtier.transport.file;

import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Slice;
import io.kvtier.transport.ThreadEnds;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Platform threads that take slices from one queue, in order, and move them with calls that block.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> daemon threads, started as needed, gone after {@link #close()}.
 * <b>Blocking:</b> {@link #add} never, but for the lock, which is held for a few instructions. <b>Allocation:</b> none
 * but where threads meet at the lock. A thread that waits is parked, and not in a condition, which takes an object a
 * wait: it puts itself on the list of those that rest under the lock, parks without it, and looks again.
 */
final class SliceThreads implements AutoCloseable {
    private final String name;
    private final int most;
    private final Consumer<Slice> mover;
    private final ReentrantLock lock = new ReentrantLock();
    private final SliceQueue queue = new SliceQueue();
    private final List<Thread> threads = new ArrayList<>();
    /** Threads that wait and that nobody has woken yet; the last to come is the first to go, its caches are warm. */
    private final Thread[] resting;
    private int idle;
    private boolean closed;

    /**
     * Threads, of which none is started yet.
     *
     * @param name  prefix of their names.
     * @param most  how many, at least 1.
     * @param mover completes each slice that it is given, and does not throw.
     */
    SliceThreads(final String name, final int most, final Consumer<Slice> mover) {
        if (most < 1) {
            throw new IllegalArgumentException("threads is " + most + "; there must be at least 1");
        }
        this.name = name;
        this.most = most;
        this.mover = mover;
        this.resting = new Thread[most];
    }

    /**
     * Hands a slice over.
     *
     * @param slice to be moved.
     * @throws RejectedExecutionException when closed.
     * @throws OutOfMemoryError           when no thread runs and the system gives none; the slice was not taken.
     */
    void add(final Slice slice) {
        Thread wake = null;
        lock.lock();
        try {
            if (closed) {
                throw new RejectedExecutionException("the transport is closed");
            }
            if (idle > 0) {
                wake = resting[--idle];
            } else if (threads.size() < most) {
                start();
            }
            queue.add(slice);
        } finally {
            lock.unlock();
        }
        LockSupport.unpark(wake);
    }

    private void start() {
        final Thread thread = IoThreads.newThread(name + '-' + (threads.size() + 1), this::moveAll);
        try {
            thread.start();
        } catch (final OutOfMemoryError e) {
            // Those there are will get to it.
            if (threads.isEmpty()) {
                throw e;
            }
            return;
        }
        threads.add(thread);
    }

    private void moveAll() {
        Slice slice = take();
        while (slice != null) {
            try {
                mover.accept(slice);
            } catch (final RuntimeException | Error e) {
                // A fault of this library; the slices behind it shall not wait for a thread that is gone.
                final Thread self = Thread.currentThread();
                self.getUncaughtExceptionHandler().uncaughtException(self, e);
            }
            slice = take();
        }
    }

    /** Null when closed and nothing is left. */
    private Slice take() {
        final Thread self = Thread.currentThread();
        while (true) {
            lock.lock();
            try {
                if (!queue.isEmpty() || closed) {
                    rise(self);
                    return queue.poll();
                }
                rise(self);
                resting[idle++] = self;
            } finally {
                lock.unlock();
            }
            LockSupport.park(this);
            // Whoever interrupts a thread of a transport means nothing by it; parking must not become a busy loop.
            Thread.interrupted();
        }
    }

    /** Takes a thread off the list, if it woke by itself and so is still on it. */
    private void rise(final Thread self) {
        for (int i = 0; i < idle; i++) {
            if (resting[i] == self) {
                resting[i] = resting[--idle];
                return;
            }
        }
    }

    /** Ends the threads after what is queued was moved, and waits for that. An interrupt is kept for the caller. */
    @Override
    public void close() {
        final List<Thread> running;
        lock.lock();
        try {
            closed = true;
            running = List.copyOf(threads);
        } finally {
            lock.unlock();
        }
        running.forEach(LockSupport::unpark);
        ThreadEnds.await(running);
    }
}
