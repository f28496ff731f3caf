package io.kvtier.store.storage.shared;

import io.kvtier.store.StoreException;
import io.kvtier.transport.Uninterrupted;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

/**
 * A transfer that one thread carries out and another one waits for. When its time is over before it has begun it is
 * given up; once begun it comes to its end.
 *
 * <p><b>Threading:</b> run by one thread, awaited by one.
 */
final class HandedOver implements RangeTransfer, Runnable {
    /** How far it is; begins once, and is given up only before that. */
    private enum State { QUEUED, BEGUN, GIVEN_UP }

    private final Runnable body;
    private final long timeoutMs;
    private final long queuedNanos = System.nanoTime();
    private final Function<Throwable, StoreException> failing;
    private final AtomicReference<State> state = new AtomicReference<>(State.QUEUED);
    private final CountDownLatch ended = new CountDownLatch(1);
    private StoreException failure;

    /**
     * Nothing has begun.
     *
     * @param body      moves the bytes.
     * @param timeoutMs milliseconds after which it does not begin any more; 0 for no limit.
     * @param failing   says in which transfer something went wrong.
     */
    HandedOver(final Runnable body, final long timeoutMs, final Function<Throwable, StoreException> failing) {
        this.body = body;
        this.timeoutMs = timeoutMs;
        this.failing = failing;
    }

    /** One that has failed before it was handed over. */
    static RangeTransfer failed(final StoreException failure) {
        return () -> {
            throw failure;
        };
    }

    @Override
    public void run() {
        final boolean late = timeoutMs > 0 && leftNanos() <= 0;
        if (!state.compareAndSet(State.QUEUED, late ? State.GIVEN_UP : State.BEGUN)) {
            return;
        }
        try {
            if (late) {
                failure = tooLate();
            } else {
                body.run();
            }
        } catch (final RuntimeException e) {
            failure = failing.apply(e);
        } catch (final Error e) {
            // Whoever waits is not to take it for bytes that were moved.
            failure = failing.apply(e);
            throw e;
        } finally {
            ended.countDown();
        }
    }

    @Override
    public void await() {
        if (timeoutMs > 0) {
            Uninterrupted.await(() -> ended.await(Math.max(0, leftNanos()), TimeUnit.NANOSECONDS));
            if (state.compareAndSet(State.QUEUED, State.GIVEN_UP)) {
                throw tooLate();
            }
        }
        Uninterrupted.await(ended::await);
        if (failure != null) {
            throw failure;
        }
    }

    private long leftNanos() {
        return TimeUnit.MILLISECONDS.toNanos(timeoutMs) - (System.nanoTime() - queuedNanos);
    }

    private StoreException tooLate() {
        return failing.apply(new IllegalStateException("it had not begun after " + timeoutMs
            + " ms; others are before it, or the client of 3FS does not answer"));
    }
}
