package io.kvtier.transport;

import io.kvtier.alloc.MemoryRegion;
import java.lang.System.Logger;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Requests that are submitted together, and their common progress. A transfer ends when all its slices have ended, and
 * not before: then, and only then, may its memory be reused or its extents be let go, and only if it {@linkplain
 * #isSettled() is settled}. The first failure decides; slices not yet started are then skipped.
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

    private final TransferEngine engine;
    private final Slices slices;
    private final AtomicLong open = new AtomicLong();
    private final AtomicLong moved = new AtomicLong();
    private final AtomicReference<TransferFailure> failure = new AtomicReference<>();
    private final Completion completion = new Completion(this);
    private long charge;
    private final Deadlines.Deadline deadline = new Deadlines.Deadline(this);
    private boolean limited;
    /** A slice of it may still be moved. Written before the end of the slice. */
    private volatile boolean lost;
    private TransferEvent event;

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
        completion.checkFilling();
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
        completion.checkFilling();
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
        completion.checkFilling();
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
        completion.checkFilling();
        slices.add(request);
        return this;
    }

    /**
     * Empties it for another round. No other thread may still be waiting for the last one: it would find this one.
     *
     * @throws IllegalStateException while it is running.
     */
    public void clear() {
        completion.clear();
        slices.clear();
        moved.setRelease(0);
        failure.setRelease(null);
        event = null;
        if (lost) {
            lost = false;
        }
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
        return completion.hasEnded();
    }

    /**
     * Whether it has ended, and nothing moves bytes of it any more. A transfer that a device has fallen silent about
     * ends as failed, so that nobody waits for it for ever, and is never settled: its regions are kept, so that closing
     * them frees nothing, and whoever lends it other memory, or a place in a file, must not use that for anything else
     * before the process ends.
     *
     * @return false while it runs; for ever, when {@link #isDone()} and lost.
     */
    public boolean isSettled() {
        return completion.hasEnded() && !lost;
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
        stop(completion.round(), TransferFailure.Kind.CANCELED, "cancelled by the caller");
    }

    /**
     * Waits for the end. An interrupt does not end the wait, because the memory is still in use; it is kept for the
     * caller.
     *
     * @throws TransferException     when not all bytes were moved.
     * @throws IllegalStateException when it was not submitted.
     */
    public void await() {
        completion.await();
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
        return completion.await(timeoutMs);
    }

    /**
     * Completes with this transfer at its end, or exceptionally with a {@link TransferException}. Callbacks run on the
     * thread of a transport: they must be short and must not block.
     *
     * @return the future; cancelling it does not cancel the transfer.
     * @throws IllegalStateException when it was not submitted.
     */
    public CompletableFuture<Transfer> future() {
        return completion.future();
    }

    Slices slices() {
        return slices;
    }

    boolean wanted() {
        return failure.get() == null;
    }

    /** From here on it is running, with one open slice more than it has, which stands for the submitting call. */
    void begin() {
        completion.checkFilling();
        event = TransferEvent.ifRecorded();
        completion.begin();
        open.setRelease(slices.size() + 1L);
    }

    /** Nothing was started after all. */
    void abandon() {
        // Who holds it to cancel it lets go soon.
        while (!open.compareAndSet(slices.size() + 1L, 0)) {
            Thread.onSpinWait();
        }
        failure.set(null);
        cancelDeadline();
        completion.abandon();
    }

    void admitted(final long admissionCharge) {
        charge = admissionCharge;
    }

    /** Gives up at a time; called before any slice is started. */
    void endBy(final long timeoutMs, final long dueNanos) {
        engine.deadlines().add(deadline, completion.round(), timeoutMs, dueNanos);
        limited = true;
    }

    /** The time of a round is over; that round may be too, by now. */
    void late(final long ofRound, final long timeoutMs) {
        stop(ofRound, TransferFailure.Kind.TIMEOUT, "it did not end within " + timeoutMs + " ms");
    }

    void startAll(final boolean here) {
        final int count = slices.size();
        Transport last = null;
        for (int i = 0; i < count; i++) {
            final Slice slice = slices.get(i);
            final Transport transport = slice.hop().transport();
            if (last != null && last != transport) {
                flush(last);
            }
            last = transport;
            start(slice, here);
        }
        if (last != null && !here) {
            flush(last);
        }
        settle();
    }

    /** As {@link #startAll}, for slices that are calls. */
    void startSyncs() {
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
            LOG.log(Logger.Level.ERROR, "{0} completed a slice of {1} twice; the second time is ignored",
                slice.hop().kind(), slice.segment());
            return;
        }
        final Route.Hop hop = slice.hop();
        if (slice.region() != null) {
            hop.counts().ended(slice, problem);
        }
        if (problem == null) {
            countMoved(slice.length());
        } else if (goOn(slice, problem)) {
            return;
        } else {
            failure.compareAndSet(null, problem);
        }
        settle();
    }

    void sliceLost(final Slice slice, final TransferFailure problem) {
        lost = true;
        sliceEnded(slice, problem);
    }

    private void countMoved(final long bytes) {
        if (slices.size() == 1) {
            // Nobody else adds.
            moved.setRelease(bytes);
        } else {
            moved.addAndGet(bytes);
        }
    }

    /** Tries the next transport of the slice's route that can take it, if the failure is one that it may not share. */
    private boolean goOn(final Slice slice, final TransferFailure problem) {
        if (!problem.retryable() || !wanted()) {
            return false;
        }
        final TransportCounts failed = slice.hop().counts();
        while (slice.hasNextHop(engine.config().maxFailovers())) {
            slice.nextHop();
            final Transport next = slice.hop().transport();
            if (takes(next, slice)) {
                failed.fellBack();
                LOG.log(Logger.Level.DEBUG, "{0} failed ({1}); going on with {2}", slice.segment(), problem.message(),
                    slice.hop().kind());
                start(slice, false);
                flush(next);
                return true;
            }
        }
        return false;
    }

    // Whoever ends a slice goes on with others: a transport that throws here must not throw them out, and the slice
    // has ended, so that nobody else would end the transfer.
    private static boolean takes(final Transport transport, final Slice slice) {
        try {
            return transport.check(slice) == null;
        } catch (final RuntimeException | Error e) {
            LOG.log(Logger.Level.WARNING, "a transport could not say whether it takes a slice; it is passed over", e);
            return false;
        }
    }

    // The slices are the transport's, and the transfer ends when it has ended them: who submits it must not take it
    // for one that was refused.
    private static void flush(final Transport transport) {
        try {
            transport.flush();
        } catch (final RuntimeException | Error e) {
            LOG.log(Logger.Level.ERROR, "a transport could not be told to begin; it does when it is told again", e);
        }
    }

    private static void start(final Slice slice, final boolean here) {
        final Route.Hop hop = slice.hop();
        slice.started(System.nanoTime());
        if (slice.direction() == Direction.WRITE) {
            slice.segment().open().writtenBy(hop.kind());
        }
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
            if (ofRound == completion.round() && failure.compareAndSet(null,
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
        // Nobody decides meanwhile: who does holds an open slice, and there is none to be had any more.
        if (failure.get() == null) {
            failure.setRelease(NONE);
        }
        cancelDeadline();
        final TransferFailure problem = failure();
        if (lost) {
            engine.lost();
        }
        try {
            slices.leave(!lost);
        } catch (final RuntimeException e) {
            LOG.log(Logger.Level.WARNING, "memory or a segment that was closed meanwhile could not be released", e);
        }
        if (event != null) {
            event.commit(slices, moved.get(), problem);
        }
        engine.giveBack(charge);
        // From here on the owner may fill it anew.
        completion.end(problem);
    }

    private void cancelDeadline() {
        if (limited) {
            limited = false;
            engine.deadlines().remove(deadline);
        }
    }
}
