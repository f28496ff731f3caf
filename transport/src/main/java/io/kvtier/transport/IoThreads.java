package io.kvtier.transport;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/**
 * Platform threads for system calls that block, with a bounded queue before them.
 *
 * <p>A virtual thread in a blocking native call would pin its carrier; here it hands the call over and parks.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> daemon threads, started as needed, gone after {@link #close()}.
 * <b>Blocking:</b> {@link #execute} waits for a place in the queue: that is the back-pressure on callers.
 */
public final class IoThreads implements AutoCloseable {
    /** What the threads of transports have in common. */
    private static final ThreadGroup GROUP = new ThreadGroup("kvtier-io");

    private final ThreadPoolExecutor executor;
    private final Semaphore places;

    /**
     * Threads of a fixed number.
     *
     * @param name       prefix of their names.
     * @param threads    how many, at least 1.
     * @param queueDepth how many tasks may wait or run, at least the number of threads; {@link Integer#MAX_VALUE}
     *                   where somebody else bounds them.
     */
    public IoThreads(final String name, final int threads, final int queueDepth) {
        if (threads < 1 || queueDepth < threads) {
            throw new IllegalArgumentException("threads is " + threads + " and queueDepth is " + queueDepth
                + "; there must be at least 1 thread and a place for each");
        }
        final AtomicInteger number = new AtomicInteger();
        executor = new ThreadPoolExecutor(threads, threads, 0, TimeUnit.MILLISECONDS,
            new LinkedBlockingQueue<>(),
            task -> newThread(name + '-' + number.incrementAndGet(), task));
        places = new Semaphore(queueDepth);
    }

    /**
     * A thread for a transport: a daemon, not started, which {@link #isIoThread()} tells.
     *
     * @param name its name.
     * @param task what it runs.
     * @return the thread.
     */
    public static Thread newThread(final String name, final Runnable task) {
        return Thread.ofPlatform().group(GROUP).daemon().name(name).unstarted(task);
    }

    /**
     * Whether the calling thread moves bytes for a transport, and so must not wait for others to be moved.
     *
     * @return true on a thread that {@link #newThread} made.
     */
    public static boolean isIoThread() {
        return Thread.currentThread().getThreadGroup() == GROUP;
    }

    /**
     * Runs a task on one of the threads; waits for a place first.
     *
     * @param task must not throw.
     * @throws RejectedExecutionException when closed.
     */
    public void execute(final Runnable task) {
        places.acquireUninterruptibly();
        boolean accepted = false;
        try {
            executor.execute(() -> {
                try {
                    task.run();
                } finally {
                    places.release();
                }
            });
            accepted = true;
        } finally {
            // Refused, or the system has no thread left to give.
            if (!accepted) {
                places.release();
            }
        }
    }

    /**
     * Does a call that blocks: at once on a platform thread, and handed over to one of these threads by a virtual one,
     * which parks until it is done.
     *
     * @param <T>  the result's type.
     * @param call what to do; its exception is the caller's.
     * @return its result.
     */
    public <T> T call(final Supplier<T> call) {
        return Thread.currentThread().isVirtual() ? HandOver.call(this::execute, call) : call.get();
    }

    /**
     * Ends the threads after what is queued has run, and waits for that.
     */
    @Override
    public void close() {
        // Not the executor's own close: interrupted, it drops what is queued, and who waits for that waits for ever.
        executor.shutdown();
        Uninterrupted.await(() -> executor.awaitTermination(Long.MAX_VALUE, TimeUnit.NANOSECONDS));
    }
}
