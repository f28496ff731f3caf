package io.kvtier.transport;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Whether a transfer is being filled, runs or has ended, and those who wait for its end.
 *
 * <p>The first who waits without a limit is parked, which takes no object and no lock. All others are observers: they
 * set a mark before they look at the state, and the end writes the state before it looks at the mark, so one of the two
 * sees the other.
 *
 * <p>What the owner writes when it begins and clears is only released and waits for no store buffer, as the owner looks
 * at nothing behind it that another thread may write meanwhile: whoever was told of the round sees it, by the way on
 * which it was told or by the open slices, which {@link Transfer} releases after it.
 *
 * <p><b>Threading:</b> {@link #begin}, {@link #abandon} and {@link #clear} are the owner's, one thread at a time;
 * {@link #end} comes once a round, from any thread; the rest is thread-safe.
 */
final class Completion implements Uninterrupted.Ending {
    private enum State { FILLING, RUNNING, ENDED }

    private static final VarHandle STATE = handle("state", State.class);
    private static final VarHandle ROUND = handle("round", long.class);

    private final Transfer transfer;
    private final AtomicReference<Thread> waiter = new AtomicReference<>();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    /** Whether there may be somebody at the condition, or a future: then the end takes the lock. */
    private volatile boolean observed;
    private CompletableFuture<Transfer> future;
    /** Counts the rounds of a transfer that is used again, so that what is late cannot meet the next one. */
    private volatile long round;
    private volatile State state = State.FILLING;

    Completion(final Transfer transfer) {
        this.transfer = transfer;
    }

    /** Whether who is parked may go on: it has ended, or was not submitted after all. */
    @Override
    public boolean isOver() {
        return state != State.RUNNING;
    }

    boolean hasEnded() {
        return state == State.ENDED;
    }

    long round() {
        return round;
    }

    void checkFilling() {
        if (state != State.FILLING) {
            throw new IllegalStateException("the transfer was submitted already; clear it first");
        }
    }

    void begin() {
        STATE.setRelease(this, State.RUNNING);
    }

    /** It runs no longer and has not ended either; who waits for it is told that it was not submitted. */
    void abandon() {
        state = State.FILLING;
        LockSupport.unpark(waiter.get());
        if (observed) {
            signal();
        }
    }

    void clear() {
        if (state == State.RUNNING) {
            throw new IllegalStateException("the transfer is still running; await its end before clearing it");
        }
        if (observed) {
            forgetObservers();
        }
        ROUND.setRelease(this, round + 1);
        STATE.setRelease(this, State.FILLING);
    }

    void end(final TransferFailure problem) {
        final long ending = round;
        final boolean unobserved = !observed;
        CompletableFuture<Transfer> waiting = null;
        if (unobserved) {
            state = State.ENDED;
        } else {
            waiting = endBeforeObservers();
        }
        // The owner may have filled it anew by now: a thread is woken for nothing at worst.
        LockSupport.unpark(waiter.get());
        if (unobserved && observed) {
            // It was looked at while it ended: who set the mark after it was read above has found it still running.
            waiting = lateFuture(ending);
        }
        if (waiting != null) {
            complete(waiting, problem);
        }
    }

    /** Waits for the end; keeps an interrupt for the caller. */
    void await() {
        if (state == State.ENDED) {
            return;
        }
        checkSubmitted();
        if (waiter.compareAndSet(null, Thread.currentThread())) {
            park();
        } else {
            awaitWithOthers();
        }
        checkSubmitted();
    }

    boolean await(final long timeoutMs) throws InterruptedException {
        long left = TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        lock.lockInterruptibly();
        try {
            checkSubmitted();
            observed = true;
            while (state == State.RUNNING && left > 0) {
                left = changed.awaitNanos(left);
            }
            checkSubmitted();
            return state == State.ENDED;
        } finally {
            lock.unlock();
        }
    }

    CompletableFuture<Transfer> future() {
        lock.lock();
        try {
            checkSubmitted();
            observed = true;
            if (future == null) {
                future = new CompletableFuture<>();
                if (state == State.ENDED) {
                    complete(future, transfer.failure());
                }
            }
            return future.copy();
        } finally {
            lock.unlock();
        }
    }

    private void checkSubmitted() {
        if (state == State.FILLING) {
            throw new IllegalStateException("the transfer was not submitted");
        }
    }

    private CompletableFuture<Transfer> endBeforeObservers() {
        lock.lock();
        try {
            state = State.ENDED;
            changed.signalAll();
            return future;
        } finally {
            lock.unlock();
        }
    }

    private CompletableFuture<Transfer> lateFuture(final long ending) {
        lock.lock();
        try {
            changed.signalAll();
            return ending == round ? future : null;
        } finally {
            lock.unlock();
        }
    }

    /** The owner fills it anew: a future that the end has not got round to yet is completed first. */
    private void forgetObservers() {
        final CompletableFuture<Transfer> last;
        lock.lock();
        try {
            last = future;
            future = null;
            observed = false;
        } finally {
            lock.unlock();
        }
        if (last != null && state == State.ENDED) {
            complete(last, transfer.failure());
        }
    }

    private void signal() {
        lock.lock();
        try {
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void park() {
        Uninterrupted.park(this);
        waiter.set(null);
    }

    private void awaitWithOthers() {
        lock.lock();
        try {
            observed = true;
            while (state == State.RUNNING) {
                changed.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }

    private void complete(final CompletableFuture<Transfer> waiting, final TransferFailure problem) {
        if (problem == null) {
            waiting.complete(transfer);
        } else {
            waiting.completeExceptionally(new TransferException(problem));
        }
    }

    private static VarHandle handle(final String field, final Class<?> type) {
        try {
            return MethodHandles.lookup().findVarHandle(Completion.class, field, type);
        } catch (final ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }
}
