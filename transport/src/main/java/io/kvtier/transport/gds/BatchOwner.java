package io.kvtier.transport.gds;

import io.kvtier.bindings.cufile.CuFileBatch;
import io.kvtier.bindings.cufile.CuFileException;
import io.kvtier.transport.Slice;
import java.lang.System.Logger;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * What the one thread does that owns some batches: takes slices, fills batches, submits them, hears of their entries.
 *
 * <pre>
 *   queue ──> pending ──add──> filling ──submit──> in flight ──all ended──> idle ──┐
 *               ^  ^              ^                    │                           │
 *               │  └── deferred <─┘ (edge busy)        │ part moved     next <─────┘
 *               └──────────────────────────────────────┘
 * </pre>
 *
 * <p>A batch is submitted when it is full or nothing more waits. When only the driver's buffers are used up it is kept
 * open while others are in flight, whose ends make room: else many batches of a few entries would follow. Who has
 * nothing in flight submits what there is, so those who wait for buffers wait for somebody who moves.
 *
 * <p><b>Threading:</b> {@link #run()} is the thread; {@link #cancel()} and {@link #abort()} are for others.
 * <b>Blocking:</b> in the library; a submission that never returns holds this thread, and with it the engine's close.
 */
final class BatchOwner implements Runnable {
    private static final Logger LOG = System.getLogger(BatchOwner.class.getName());
    /** Longest wait for an event: as long may a new slice wait while others are in flight. */
    private static final long POLL_NS = 1_000_000;
    /** Wait before something is tried again that others stand in the way of. */
    private static final long RETRY_NS = 1_000_000;
    /** Submissions in a row that may fail for a passing reason. */
    private static final int MAX_TRIES = 64;

    private final BatchLane lane;
    private final long cancelWaitNs;
    private final ArrayDeque<Slice> pending = new ArrayDeque<>();
    private final ArrayDeque<Slice> deferred = new ArrayDeque<>();
    private final ArrayDeque<Flight> idle = new ArrayDeque<>();
    private final List<Flight> inFlight = new ArrayList<>();
    private Flight filling;
    private int batches;
    private int mostBatches;
    private int tries;
    private boolean begun;
    private volatile boolean cancelling;
    private volatile boolean aborted;
    private volatile long insideSinceNanos;

    BatchOwner(final BatchLane lane) {
        this.lane = lane;
        this.cancelWaitNs = TimeUnit.MILLISECONDS.toNanos(lane.config().cancelWaitMs());
        this.mostBatches = lane.config().batches();
    }

    /** Has the batches looked through that hold slices which nobody wants. */
    void cancel() {
        cancelling = true;
    }

    void abort() {
        aborted = true;
        cancelling = true;
    }

    /** Since when the thread is inside one submission, on the scale of {@link System#nanoTime()}; 0 when it is not. */
    long insideSinceNanos() {
        return insideSinceNanos;
    }

    @Override
    public void run() {
        try {
            lane.inContext(this::work);
        } catch (final RuntimeException | Error e) {
            // The context is closed, or cannot be left in an orderly way; or a class cannot be linked.
            if (!begun) {
                lane.began(e instanceof RuntimeException known ? known : new IllegalStateException(e));
            } else {
                LOG.log(Logger.Level.WARNING, "a thread of GPUDirect Storage has ended", e);
            }
        }
    }

    private void work() {
        try {
            idle.add(make());
        } catch (final RuntimeException e) {
            begun = true;
            lane.began(e);
            return;
        }
        begun = true;
        lane.began(null);
        try {
            loop();
            idle.forEach(flight -> flight.batch().close());
        } catch (final RuntimeException | Error e) {
            LOG.log(Logger.Level.ERROR, "a thread of GPUDirect Storage cannot go on", e);
            endAll(e);
        }
    }

    private Flight make() {
        final Flight flight = new Flight(CuFileBatch.create(lane.driver(), lane.depth()), lane.registrations(),
            lane.maxEntryBytes(), deferred);
        batches++;
        return flight;
    }

    private void loop() {
        while (true) {
            lane.queue().drainTo(pending, lane.depth());
            if (cancelling) {
                endUnwanted();
            }
            fill();
            if (!inFlight.isEmpty()) {
                reap();
            } else if (filling != null || !pending.isEmpty() || !deferred.isEmpty()) {
                LockSupport.parkNanos(RETRY_NS);
            } else if (!lane.queue().await(Long.MAX_VALUE)) {
                return;
            }
        }
    }

    private void fill() {
        while (!deferred.isEmpty()) {
            pending.addFirst(deferred.pollLast());
        }
        while (filling != null || !pending.isEmpty()) {
            if (filling == null && !takeNext()) {
                return;
            }
            final boolean room = addPending();
            if (filling.isEmpty()) {
                idle.add(filling);
                filling = null;
                if (!room || pending.isEmpty()) {
                    return;
                }
            } else if (!room && !inFlight.isEmpty() || !submit()) {
                return;
            }
        }
    }

    /** Fills the batch; false when the driver has no buffer left for the next slice. */
    private boolean addPending() {
        while (!pending.isEmpty() && !filling.isFull()) {
            final Slice slice = pending.poll();
            if (aborted || !slice.wanted()) {
                slice.canceled();
                continue;
            }
            final Flight.Added added = filling.add(slice);
            if (added == Flight.Added.EDGE_BUSY) {
                deferred.add(slice);
            } else if (added == Flight.Added.NO_ROOM) {
                pending.addFirst(slice);
                return false;
            }
        }
        return true;
    }

    /** Finds an empty batch; false when all are in flight. */
    private boolean takeNext() {
        filling = idle.poll();
        if (filling != null || batches >= mostBatches) {
            return filling != null;
        }
        try {
            filling = make();
            return true;
        } catch (final CuFileException e) {
            if (batches > 0) {
                LOG.log(Logger.Level.WARNING, "going on with {0} batches: {1}", batches, e.getMessage());
                mostBatches = batches;
            } else {
                lane.fallBack(pending, e);
            }
            return false;
        }
    }

    /** False when the driver did not take the batch this time. */
    private boolean submit() {
        insideSinceNanos = System.nanoTime();
        try {
            filling.batch().submit();
            inFlight.add(filling);
        } catch (final CuFileException e) {
            tries++;
            if (e.retryable() && tries < MAX_TRIES) {
                return false;
            }
            filling.drop(e);
            idle.add(filling);
        } finally {
            insideSinceNanos = 0;
        }
        tries = 0;
        filling = null;
        return true;
    }

    private void reap() {
        int ended = 0;
        // From behind: a batch that has ended leaves the list.
        for (int i = inFlight.size() - 1; i >= 0 && inFlight.size() > 1; i--) {
            ended += poll(i, 0);
        }
        if (ended == 0) {
            poll(0, POLL_NS);
        }
    }

    private int poll(final int index, final long waitNs) {
        final Flight flight = inFlight.get(index);
        int ended = 0;
        try {
            ended = flight.batch().poll(waitNs, flight);
        } catch (final CuFileException e) {
            LOG.log(Logger.Level.WARNING, "a batch is given up: {0}", e.getMessage());
            forget(index);
            flight.breakUp(e, cancelWaitNs);
            return 1;
        }
        if (flight.batch().state() == CuFileBatch.State.DESTROYED) {
            // The driver had fallen silent.
            forget(index);
        } else if (flight.batch().state() == CuFileBatch.State.DRAINED) {
            inFlight.remove(index);
            flight.batch().recycle();
            idle.add(flight);
        }
        return ended;
    }

    private void forget(final int index) {
        inFlight.remove(index);
        batches--;
    }

    /** A cancellation takes the whole batch: it waits until all that is left of one is unwanted, unless all is. */
    private void endUnwanted() {
        cancelling = false;
        boolean left = false;
        for (int i = inFlight.size() - 1; i >= 0; i--) {
            final Flight flight = inFlight.get(i);
            if (aborted || !flight.isWanted()) {
                forget(i);
                flight.cancel(cancelWaitNs);
            } else {
                left |= flight.hasUnwanted();
            }
        }
        if (filling != null && (aborted || !filling.isWanted())) {
            filling.drop(null);
        }
        // Those not yet submitted are met when they are filled in; what is submitted later is looked at again.
        if (left || filling != null) {
            cancelling = true;
        }
    }

    /** After an error that nobody foresaw: no slice may be lost, and none end whose memory is in use. */
    private void endAll(final Throwable why) {
        lane.breakDown(why);
        while (!inFlight.isEmpty()) {
            final Flight flight = inFlight.removeLast();
            try {
                flight.cancel(cancelWaitNs);
            } catch (final RuntimeException | Error e) {
                LOG.log(Logger.Level.ERROR, "a batch could not be cancelled; its memory stays in use", e);
            }
        }
        if (filling != null) {
            filling.drop(why);
            idle.add(filling);
        }
        while (!deferred.isEmpty()) {
            pending.add(deferred.poll());
        }
        while (!pending.isEmpty()) {
            pending.poll().failed(why);
        }
        idle.forEach(flight -> flight.batch().close());
        Slice slice = lane.queue().take();
        while (slice != null) {
            slice.failed(why);
            slice = lane.queue().take();
        }
    }
}
