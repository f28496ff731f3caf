package io.kvtier.transport.file;

import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Slice;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * Platform threads that take slices from one queue, in order, and move them with calls that block.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> daemon threads, started as needed, gone after {@link #close()}.
 * <b>Blocking:</b> {@link #add} never, but for the lock, which is held for a few instructions. <b>Allocation:</b> none
 * while the threads are busy; a thread that has to wait for a slice makes the lock's small object.
 */
final class SliceThreads implements AutoCloseable {
    private final String name;
    private final int most;
    private final Consumer<Slice> mover;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition arrived = lock.newCondition();
    private final SliceQueue queue = new SliceQueue();
    private final List<Thread> threads = new ArrayList<>();
    /** Threads that wait and that nobody has woken yet. Counting one too many only leaves a slice to a busy thread. */
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
    }

    /**
     * Hands a slice over.
     *
     * @param slice to be moved.
     * @throws RejectedExecutionException when closed.
     * @throws OutOfMemoryError           when no thread runs and the system gives none; the slice was not taken.
     */
    void add(final Slice slice) {
        lock.lock();
        try {
            if (closed) {
                throw new RejectedExecutionException("the transport is closed");
            }
            if (idle > 0) {
                idle--;
                arrived.signal();
            } else if (threads.size() < most) {
                start();
            }
            queue.add(slice);
        } finally {
            lock.unlock();
        }
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
        lock.lock();
        try {
            while (queue.isEmpty() && !closed) {
                idle++;
                arrived.awaitUninterruptibly();
            }
            return queue.poll();
        } finally {
            lock.unlock();
        }
    }

    /** Ends the threads after what is queued was moved, and waits for that. An interrupt is kept for the caller. */
    @Override
    public void close() {
        final List<Thread> running;
        lock.lock();
        try {
            closed = true;
            arrived.signalAll();
            running = List.copyOf(threads);
        } finally {
            lock.unlock();
        }
        join(running);
    }

    static void join(final List<Thread> threads) {
        boolean interrupted = false;
        for (final Thread thread : threads) {
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (final InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
