package io.kvtier.transport;

import io.kvtier.alloc.MemoryRegion;
import java.lang.System.Logger;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Requests that are submitted together, and their common progress. A transfer ends when all its slices have ended, and
 * not before: then, and only then, may its memory be reused or its extents be let go. The first failure decides; slices
 * not yet started are then skipped.
 *
 * <p>One that {@link TransferEngine#newTransfer()} gave can be used again and again, which makes no object once it has
 * been as large as it gets: fill it ({@link #read}, {@link #write}), {@linkplain TransferEngine#submit(Transfer)
 * submit} it, {@link #await()} it, {@link #clear()} it.
 *
 * <p><b>Threading:</b> filling, submitting and clearing are for one thread at a time; the rest is thread-safe. The end
 * linearizes at the decrement that takes the number of open slices to zero; everything that the transports wrote
 * happens before {@link #await} returns and before a callback runs. Whoever goes over the slices of a running transfer
 * holds an open slice of its own, so that it neither ends nor is filled anew meanwhile. <b>Blocking:</b> only
 * {@link #await}; a virtual thread parks.
 */
public final class Transfer {
    /** Stands for a good end, so that a late cancel or failure finds the outcome decided. */
    private static final TransferFailure NONE =
        new TransferFailure(TransferFailure.Kind.FAILED, "", 0, false, "", 0, 0, "none");
    private static final Logger LOG = System.getLogger(Transfer.class.getName());

    private enum State { FILLING, RUNNING, ENDED }

    private final TransferEngine engine;
    private final Slices slices;
    private final AtomicLong open = new AtomicLong();
    private final AtomicLong moved = new AtomicLong();
    private final AtomicReference<TransferFailure> failure = new AtomicReference<>();
    /** Who waits for the end without a limit; a second one, or one with a limit, waits on the condition. */
    private final AtomicReference<Thread> waiter = new AtomicReference<>();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition ended = lock.newCondition();
    /** Whether there may be somebody at the condition, or a future: then the end takes the lock. */
    private volatile boolean observed;
    private CompletableFuture<Transfer> future;
    private long charge;
    private Future<?> deadline;
    private TransferEvent event;
    /** Counts the rounds of a transfer that is used again, so that a late deadline cannot meet the next round. */
    private volatile long round;
    private volatile State state = State.FILLING;

    Transfer(final TransferEngine engine) {
        this.engine = engine;
        this.slices = new Slices(this, engine);
    }

    /**
     * Names the transport for the requests that are added from now on.
     *
     * @param hint the transport to try first; null to let the engine choose.
     * @param only whether no other transport may be tried after the first one.
     * @return this.
     */
    public Transfer prefer(final TransportKind hint, final boolean only) {
        checkFilling();
        slices.prefer(hint, only);
        return this;
    }

    /**
     * Adds a read.
     *
     * @param local       region that the bytes go to.
     * @param localOffset first byte in the region.
     * @param length      bytes.
     * @param segment     where they come from.
     * @param offset      first byte in the segment.
     * @return this.
     * @throws TransferException     INVALID, naming the request, when it cannot be done; it was not added.
     * @throws IllegalStateException when this was submitted, and not cleared since.
     */
    public Transfer read(final MemoryRegion local, final long localOffset, final long length, final Segment segment,
        final long offset) {
        checkFilling();
        slices.add(Direction.READ, local, localOffset, length, segment, offset);
        return this;
    }

    /**
     * Adds a write.
     *
     * @param local       region that the bytes come from.
     * @param localOffset first byte in the region.
     * @param length      bytes.
     * @param segment     where they go.
     * @param offset      first byte in the segment.
     * @return this.
     * @throws TransferException     INVALID, naming the request, when it cannot be done; it was not added.
     * @throws IllegalStateException when this was submitted, and not cleared since.
     */
    public Transfer write(final MemoryRegion local, final long localOffset, final long length, final Segment segment,
        final long offset) {
        checkFilling();
        slices.add(Direction.WRITE, local, localOffset, length, segment, offset);
        return this;
    }

    /**
     * Adds a request.
     *
     * @param request what to move.
     * @return this.
     * @throws TransferException     INVALID, naming the request, when it cannot be done; it was not added.
     * @throws IllegalStateException when this was submitted, and not cleared since.
     */
    public Transfer add(final TransferRequest request) {
        checkFilling();
        slices.add(request);
        return this;
    }

    /**
     * Empties it for another round.
     *
     * @throws IllegalStateException while it is running.
     */
    public void clear() {
        if (state == State.RUNNING) {
            throw new IllegalStateException("the transfer is still running; await its end before clearing it");
        }
        if (observed) {
            forgetObservers();
        }
        round++;
        slices.clear();
        moved.set(0);
        failure.set(null);
        event = null;
        state = State.FILLING;
    }

    /**
     * How much was asked for.
     *
     * @return bytes over all requests.
     */
    public long bytes() {
        return slices.bytes();
    }

    /**
     * How much has been moved so far; never falls.
     *
     * @return bytes of the slices that have ended well.
     */
    public long movedBytes() {
        return moved.get();
    }

    /**
     * Whether all slices have ended, well or not.
     *
     * @return true once it has ended.
     */
    public boolean isDone() {
        return state == State.ENDED;
    }

    /**
     * Why it did not move all its bytes.
     *
     * @return the first failure; null when there was none so far.
     */
    public TransferFailure failure() {
        final TransferFailure first = failure.get();
        return first == NONE ? null : first;
    }

    /**
     * Asks not to start what has not been started, and to end early what can be ended early. The memory is still in use
     * until the transfer has ended.
     */
    public void cancel() {
        stop(round, TransferFailure.Kind.CANCELED, "cancelled by the caller");
    }

    /**
     * Waits for the end. An interrupt does not end the wait, because the memory is still in use; it is kept for the
     * caller.
     *
     * @throws TransferException     when not all bytes were moved.
     * @throws IllegalStateException when it was not submitted.
     */
    public void await() {
        if (state != State.ENDED) {
            checkSubmitted();
            if (waiter.compareAndSet(null, Thread.currentThread())) {
                parkUntilEnded();
            } else {
                awaitWithOthers();
            }
        }
        final TransferFailure problem = failure();
        if (problem != null) {
            throw new TransferException(problem);
        }
    }

    /**
     * Waits for the end for some time.
     *
     * @param timeoutMs milliseconds.
     * @return whether it has ended, well or not. When false, its memory is still in use.
     * @throws InterruptedException  when the waiting thread was interrupted; the memory is then still in use.
     * @throws IllegalStateException when it was not submitted.
     */
    public boolean await(final long timeoutMs) throws InterruptedException {
        long left = TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        lock.lockInterruptibly();
        try {
            checkSubmitted();
            observed = true;
            while (state == State.RUNNING && left > 0) {
                left = ended.awaitNanos(left);
            }
            return state == State.ENDED;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Completes with this transfer at its end, or exceptionally with a {@link TransferException}. Callbacks run on the
     * thread of a transport: they must be short and must not block.
     *
     * @return the future; cancelling it does not cancel the transfer.
     * @throws IllegalStateException when it was not submitted.
     */
    public CompletableFuture<Transfer> future() {
        lock.lock();
        try {
            checkSubmitted();
            observed = true;
            if (future == null) {
                future = new CompletableFuture<>();
                if (state == State.ENDED) {
                    complete(future, failure());
                }
            }
            return future.copy();
        } finally {
            lock.unlock();
        }
    }

    Slices slices() {
        return slices;
    }

    boolean wanted() {
        return failure.get() == null;
    }

    /** From here on it is running, with one open slice that stands for the submitting call. */
    void begin() {
        checkFilling();
        open.set(1);
        event = TransferEvent.ifRecorded();
        state = State.RUNNING;
    }

    /** Nothing was started after all. */
    void abandon() {
        // Who holds it to cancel it lets go soon.
        while (!open.compareAndSet(1, 0)) {
            Thread.onSpinWait();
        }
        failure.set(null);
        state = State.FILLING;
    }

    void admitted(final long admissionCharge) {
        charge = admissionCharge;
    }

    /** Gives up at a time; called before any slice is started. */
    void endBy(final long timeoutMs) {
        final long scheduled = round;
        deadline = engine.after(timeoutMs, () -> stop(scheduled, TransferFailure.Kind.TIMEOUT,
            "it did not end within " + timeoutMs + " ms"));
    }

    void startAll(final boolean here) {
        final int count = slices.size();
        open.addAndGet(count);
        Transport last = null;
        for (int i = 0; i < count; i++) {
            final Slice slice = slices.get(i);
            final Transport transport = slice.hop().transport();
            if (last != null && last != transport) {
                last.flush();
            }
            last = transport;
            start(slice, here);
        }
        if (last != null && !here) {
            last.flush();
        }
        settle();
    }

    /** As {@link #startAll}, for slices that are calls. */
    void startSyncs() {
        open.addAndGet(slices.size());
        for (int i = 0; i < slices.size(); i++) {
            final Slice slice = slices.get(i);
            slice.started(System.nanoTime());
            try {
                slice.hop().transport().sync(slice);
            } catch (final RuntimeException | Error e) {
                slice.failed(e);
            }
        }
        settle();
    }

    void sliceEnded(final Slice slice, final TransferFailure problem) {
        if (!slice.end()) {
            LOG.log(Logger.Level.ERROR, "transport {0} completed a slice twice; the second time is ignored",
                slice.segment());
            return;
        }
        final Route.Hop hop = slice.hop();
        if (slice.region() != null) {
            hop.counts().ended(slice, problem);
        }
        if (problem == null) {
            moved.addAndGet(slice.length());
        } else if (goOn(slice, problem)) {
            return;
        } else {
            failure.compareAndSet(null, problem);
        }
        settle();
    }

    /** Tries the next transport of the slice's route, if the failure is one that it may not share. */
    private boolean goOn(final Slice slice, final TransferFailure problem) {
        if (!problem.retryable() || !wanted() || !slice.hasNextHop(engine.config().maxFailovers())) {
            return false;
        }
        slice.hop().counts().fellBack();
        slice.nextHop();
        if (slice.hop().transport().check(slice) != null) {
            return false;
        }
        LOG.log(Logger.Level.DEBUG, "{0} failed ({1}); going on with {2}", slice.segment(), problem.message(),
            slice.hop().kind());
        final Transport next = slice.hop().transport();
        start(slice, false);
        next.flush();
        return true;
    }

    private static void start(final Slice slice, final boolean here) {
        final Route.Hop hop = slice.hop();
        slice.started(System.nanoTime());
        hop.counts().started();
        try {
            if (here) {
                hop.transport().run(slice);
            } else {
                hop.transport().submit(slice);
            }
        } catch (final RuntimeException | Error e) {
            // An Error too (no thread left, for one), or the transfer would never end.
            slice.failed(e);
        }
    }

    private void stop(final long ofRound, final TransferFailure.Kind kind, final String why) {
        if (!hold()) {
            return;
        }
        try {
            if (ofRound == round && failure.compareAndSet(null,
                new TransferFailure(kind, "", 0, kind == TransferFailure.Kind.TIMEOUT, "", 0, bytes(), why))) {
                for (int i = 0; i < slices.size(); i++) {
                    final Slice slice = slices.get(i);
                    if (slice.isUnderWay()) {
                        slice.hop().transport().cancel(slice);
                    }
                }
            }
        } finally {
            settle();
        }
    }

    /** Keeps a running transfer from ending; false when none is running. */
    private boolean hold() {
        long now = open.get();
        while (now > 0) {
            if (open.compareAndSet(now, now + 1)) {
                return true;
            }
            now = open.get();
        }
        return false;
    }

    private void settle() {
        if (open.decrementAndGet() == 0) {
            finish();
        }
    }

    private void finish() {
        failure.compareAndSet(null, NONE);
        cancelDeadline();
        final TransferFailure problem = failure();
        try {
            slices.leave();
        } catch (final RuntimeException e) {
            LOG.log(Logger.Level.WARNING, "memory or a segment that was closed meanwhile could not be released", e);
        }
        if (event != null) {
            event.commit(slices, moved.get(), problem);
        }
        engine.giveBack(charge);
        final long ending = round;
        final boolean late = !observed;
        final CompletableFuture<Transfer> waiting = late ? endUnobserved() : endBeforeObservers();
        // The owner may have filled it anew by now: a thread is woken for nothing at worst.
        LockSupport.unpark(waiter.get());
        if (waiting != null) {
            complete(waiting, problem);
        } else if (late && observed) {
            // It was looked at while it ended: who set the mark after it was read above has found it still running.
            tellLateObservers(ending, problem);
        }
    }

    private CompletableFuture<Transfer> endUnobserved() {
        state = State.ENDED;
        return null;
    }

    private CompletableFuture<Transfer> endBeforeObservers() {
        lock.lock();
        try {
            state = State.ENDED;
            ended.signalAll();
            return future;
        } finally {
            lock.unlock();
        }
    }

    private void tellLateObservers(final long ending, final TransferFailure problem) {
        CompletableFuture<Transfer> late = null;
        lock.lock();
        try {
            ended.signalAll();
            if (ending == round) {
                late = future;
            }
        } finally {
            lock.unlock();
        }
        if (late != null) {
            complete(late, problem);
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
            complete(last, failure());
        }
    }

    /** The end writes the state before it looks for a waiter, and the waiter says so before it looks at the state. */
    private void parkUntilEnded() {
        boolean interrupted = false;
        while (state == State.RUNNING) {
            LockSupport.park(this);
            interrupted |= Thread.interrupted();
        }
        waiter.set(null);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void awaitWithOthers() {
        lock.lock();
        try {
            observed = true;
            while (state == State.RUNNING) {
                ended.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }

    private void complete(final CompletableFuture<Transfer> waiting, final TransferFailure problem) {
        if (problem == null) {
            waiting.complete(this);
        } else {
            waiting.completeExceptionally(new TransferException(problem));
        }
    }

    private void cancelDeadline() {
        if (deadline != null) {
            deadline.cancel(false);
            deadline = null;
        }
    }

    private void checkFilling() {
        if (state != State.FILLING) {
            throw new IllegalStateException("the transfer was submitted already; clear it first");
        }
    }

    private void checkSubmitted() {
        if (state == State.FILLING) {
            throw new IllegalStateException("the transfer was not submitted");
        }
    }
}
