package io.kvtier.store.cli.bench;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Several threads that each do something again and again for some time.
 *
 * <p><b>Threading:</b> one thread; each worker is called by one thread at a time, not always the same.
 * <b>Lifetime:</b> its threads end with it. <b>Blocking:</b> for the time asked for.
 */
final class Crowd implements AutoCloseable {
    private static final double NANOS = TimeUnit.SECONDS.toNanos(1);

    private final List<Work> workers;
    private final ExecutorService threads;

    /** What one thread does. */
    @FunctionalInterface
    interface Work {
        /**
         * Does it once.
         *
         * @return how much was done, in whatever is counted.
         */
        long once() throws IOException;
    }

    /** Makes what one thread does; each has its own. */
    @FunctionalInterface
    interface Maker {
        Work make(int number) throws IOException;
    }

    private Crowd(final List<Work> workers) {
        this.workers = workers;
        this.threads = Executors.newFixedThreadPool(workers.size(), Thread.ofPlatform().name("bench-", 0).factory());
    }

    /** As many workers as wanted, each with a thread. */
    static Crowd of(final int threads, final Maker maker) throws IOException {
        final List<Work> workers = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            workers.add(maker.make(i));
        }
        return new Crowd(workers);
    }

    /** How much all of them do in a second. */
    double perSecond(final long nanos) throws IOException, InterruptedException {
        final List<Future<Double>> rates = new ArrayList<>();
        for (final Work work : workers) {
            rates.add(threads.submit(() -> rate(work, nanos)));
        }
        double sum = 0;
        for (final Future<Double> rate : rates) {
            sum += result(rate);
        }
        return sum;
    }

    private static double result(final Future<Double> rate) throws IOException, InterruptedException {
        try {
            return rate.get();
        } catch (final ExecutionException e) {
            switch (e.getCause()) {
                case IOException failure -> throw failure;
                case RuntimeException failure -> throw failure;
                default -> throw new IllegalStateException("a thread of the bench failed: " + e.getCause(), e);
            }
        }
    }

    private static double rate(final Work work, final long nanos) throws IOException {
        final long start = System.nanoTime();
        final long end = start + nanos;
        long done = 0;
        long now;
        do {
            done += work.once();
            now = System.nanoTime();
        } while (now < end);
        return done * NANOS / (now - start);
    }

    /** Waits for all threads, also after one has failed: what they work on may be closed behind them. */
    @Override
    public void close() {
        threads.close();
    }
}
