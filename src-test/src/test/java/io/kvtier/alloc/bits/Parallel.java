package io.kvtier.alloc.bits;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;

/** Runs a body on several threads that begin at once, and fails when one of them does. */
public final class Parallel {
    private Parallel() {
    }

    public static void run(final int threads, final IntConsumer body) {
        final AtomicReference<Throwable> failure = new AtomicReference<>();
        final CyclicBarrier start = new CyclicBarrier(threads);
        final List<Thread> running = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            final int thread = i;
            running.add(Thread.ofPlatform().start(() -> {
                try {
                    start.await();
                    body.accept(thread);
                } catch (final InterruptedException | BrokenBarrierException | RuntimeException | Error e) {
                    failure.compareAndSet(null, e);
                }
            }));
        }
        try {
            for (final Thread thread : running) {
                thread.join();
            }
        } catch (final InterruptedException e) {
            throw new AssertionError(e);
        }
        if (failure.get() != null) {
            throw new AssertionError("a thread failed", failure.get());
        }
    }
}
