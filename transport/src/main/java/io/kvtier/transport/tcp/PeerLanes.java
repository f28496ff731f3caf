package io.kvtier.transport.tcp;

import io.kvtier.transport.Slice;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The connections of one loop to one server, and the requests that wait for room on one of them. Connections are
 * opened one after the other, as requests have to wait.
 *
 * <p><b>Threading:</b> its loop's, but for {@link #askToCancel()}.
 */
final class PeerLanes implements Loop.Member {
    private static final long MS = TimeUnit.MILLISECONDS.toNanos(1);

    private final Peer peer;
    private final int index;
    private final int maxLanes;
    private final ClientLoop clientLoop;
    private final Loop loop;
    private final TcpConfig config;
    private final TcpCounts counts;
    private final ArrayDeque<Request> queue = new ArrayDeque<>();
    private final ArrayDeque<Request> spare = new ArrayDeque<>();
    private final List<Lane> lanes = new ArrayList<>();
    private final Runnable cancelling = this::cancelUnwanted;
    private final AtomicBoolean cancelAsked = new AtomicBoolean();
    private int failures;
    private boolean waitsToConnect;
    private long nextAttemptNanos;
    private boolean isTouched;
    private boolean pumping;
    private boolean pumpAgain;
    private boolean ended;

    PeerLanes(final Peer peer, final int index, final int maxLanes, final ClientLoop clientLoop,
        final TcpConfig config, final TcpCounts counts) {
        this.peer = peer;
        this.index = index;
        this.maxLanes = maxLanes;
        this.clientLoop = clientLoop;
        this.loop = clientLoop.loop();
        this.config = config;
        this.counts = counts;
    }

    Peer peer() {
        return peer;
    }

    Loop loop() {
        return loop;
    }

    /** Takes a slice out of the loop's inbox. */
    void enqueue(final Slice slice) {
        enqueue(unused().of(slice));
    }

    /** Takes a part of a slice out of the loop's inbox. */
    void enqueue(final Stage stage) {
        enqueue(unused().of(stage));
    }

    private Request unused() {
        final Request kept = spare.poll();
        return kept != null ? kept : new Request();
    }

    /** Takes a request; it is sent after the inbox was emptied. */
    void enqueue(final Request request) {
        clientLoop.began();
        if (ended) {
            fail(request, TransferFailure.Kind.CANCELED, new Loss(Loss.End.CANCEL, 0, false,
                "the transport was closed"));
            return;
        }
        queue.add(request);
        if (!isTouched) {
            isTouched = true;
            clientLoop.touch(this);
        }
    }

    void untouch() {
        isTouched = false;
    }

    /** Asks to look for requests that are not wanted any more; from any thread. */
    void askToCancel() {
        // One look is enough for all that ask before it: who asks has marked its transfer before.
        if (cancelAsked.compareAndSet(false, true)) {
            loop.execute(cancelling);
        }
    }

    /** Ends everything early. */
    void abort(final String why) {
        final Loss loss = new Loss(Loss.End.CANCEL, 0, false, why);
        failQueue(loss, Long.MAX_VALUE);
        new ArrayList<>(lanes).forEach(lane -> lane.lose(loss));
        failQueue(loss, Long.MAX_VALUE);
    }

    void release(final TcpSegment segment) {
        new ArrayList<>(lanes).forEach(lane -> lane.release(segment));
    }

    @Override
    public void stop() {
        ended = true;
        abort("the transport was closed");
        loop.remove(this);
    }

    @Override
    public long tick(final long now) {
        long due = Loop.NEVER;
        if (waitsToConnect) {
            if (now - nextAttemptNanos >= 0) {
                pump();
            } else {
                due = nextAttemptNanos;
            }
        }
        for (int i = lanes.size() - 1; i >= 0; i--) {
            if (i < lanes.size()) {
                final long next = lanes.get(i).tick(now);
                if (next != Loop.NEVER && (due == Loop.NEVER || next - due < 0)) {
                    due = next;
                }
            }
        }
        return due;
    }

    /** Gives requests to connections, and lets these send. */
    void pump() {
        pumpAgain = true;
        if (pumping) {
            return;
        }
        pumping = true;
        try {
            while (pumpAgain) {
                pumpAgain = false;
                assign();
                for (int i = lanes.size() - 1; i >= 0; i--) {
                    if (i < lanes.size()) {
                        lanes.get(i).trySend();
                    }
                }
            }
        } finally {
            pumping = false;
        }
    }

    /** A connection is ready for requests. */
    void opened() {
        counts.connections.increment();
        nextAttemptNanos = 0;
        pump();
    }

    /** A connection has ended; its requests are sent again, or fail. */
    void lost(final Lane lane, final boolean wasOpen, final Loss loss) {
        lanes.remove(lane);
        if (!wasOpen) {
            counts.failedConnects.increment();
            connectFailed(loss);
        } else if (!lane.isIdle()) {
            counts.lostConnections.increment();
            if (loss.end() == Loss.End.TIMEOUT) {
                counts.timeouts.increment();
                failQueue(loss, System.nanoTime() - config.timeouts().requestMs() * MS);
            }
            if (lane.underWay().stream().anyMatch(request -> request.type == Wire.WRITE && request.started)) {
                peer.addLost(lane.number());
            }
            settle(lane, loss);
            if (lane.hasAnswered()) {
                failures = 0;
            } else {
                connectFailed(loss);
            }
        }
        pump();
    }

    void complete(final Request request) {
        final Slice slice = request.slice;
        final Stage stage = request.stage;
        ended(request);
        if (stage != null) {
            stage.moved(null);
        } else if (slice != null) {
            slice.completed();
        }
    }

    /** The server has opened a segment. */
    void opened(final Request request) {
        final var opening = request.opening;
        final TcpSegment segment = request.segment;
        ended(request);
        if (opening != null) {
            opening.complete(segment);
        }
    }

    /** Ends a request that was not sent. */
    void cancel(final Request request) {
        fail(request, TransferFailure.Kind.CANCELED,
            new Loss(Loss.End.CANCEL, 0, false, "cancelled before it was started"));
    }

    /** Ends the slice of a read whose bytes are still to come; the request stays, for nobody. */
    void abandon(final Request request) {
        final Slice slice = request.slice;
        final Stage stage = request.stage;
        request.slice = null;
        request.stage = null;
        request.region = null;
        peer.ended(index, request.length);
        clientLoop.ended();
        failed(slice, stage, failure(request, slice, TransferFailure.Kind.CANCELED,
            new Loss(Loss.End.CANCEL, 0, false, "cancelled while it was read")));
    }

    /** The server refused a request. */
    void refused(final Request request, final PeerException refusal) {
        counts.refusedRequests.increment();
        final Loss loss = Loss.of(refusal);
        fail(request, refusal.code() == Status.ABORTED.code() ? TransferFailure.Kind.CANCELED
            : TransferFailure.Kind.FAILED, loss);
    }

    private void assign() {
        Request request = queue.peek();
        while (request != null) {
            if (request.slice != null && !request.slice.wanted()) {
                queue.poll();
                cancel(request);
            } else {
                final Lane lane = emptiest();
                if (lane == null) {
                    break;
                }
                queue.poll();
                lane.add(request);
            }
            request = queue.peek();
        }
        if (request != null) {
            connect();
        }
    }

    private Lane emptiest() {
        Lane best = null;
        for (int i = 0; i < lanes.size(); i++) {
            final Lane lane = lanes.get(i);
            if (lane.hasRoom() && (best == null || lane.bytesUnderWay() < best.bytesUnderWay())) {
                best = lane;
            }
        }
        return best;
    }

    /** Opens a further connection, one at a time, if there may be one now. */
    private void connect() {
        if (lanes.size() >= maxLanes || ended) {
            return;
        }
        for (int i = 0; i < lanes.size(); i++) {
            if (!lanes.get(i).isOpen()) {
                return;
            }
        }
        final long now = System.nanoTime();
        if (nextAttemptNanos != 0 && now - nextAttemptNanos < 0) {
            waitsToConnect = true;
            loop.dueAt(nextAttemptNanos);
            return;
        }
        waitsToConnect = false;
        final Lane lane;
        try {
            lane = new Lane(this, loop, config);
        } catch (final IOException | RuntimeException | Error e) {
            // An error (no memory for its buffers) too, or what is queued would wait for ever.
            counts.failedConnects.increment();
            connectFailed(Loss.of(e));
            pumpAgain = true;
            return;
        }
        lanes.add(lane);
        lane.connect(peer.address());
    }

    private void connectFailed(final Loss loss) {
        failures++;
        final boolean anyOpen = lanes.stream().anyMatch(Lane::isOpen);
        final TcpRetry retry = config.retry();
        if (loss.retryable() && loss.end() != Loss.End.CANCEL && failures <= retry.maxRetryCount()) {
            nextAttemptNanos = System.nanoTime() + retry.delayMs(failures) * MS;
        } else if (anyOpen) {
            // The others carry on; a further one is not worth more trouble for now.
            nextAttemptNanos = System.nanoTime() + retry.retryMaxDelayMs() * MS;
            failures = 0;
        } else {
            failQueue(new Loss(loss.end() == Loss.End.RETRY ? Loss.End.FAIL : loss.end(), loss.code(),
                loss.retryable(), "cannot connect to " + peer.name() + ", tried " + failures + " times; the last time: "
                + loss.message()), Long.MAX_VALUE);
            nextAttemptNanos = 0;
            failures = 0;
        }
    }

    /** Requests of a lost connection go back to the head of the queue, in their order, or fail. */
    private void settle(final Lane lane, final Loss loss) {
        final List<Request> again = new ArrayList<>();
        for (Request request = lane.underWay().poll(); request != null; request = lane.underWay().poll()) {
            if (!request.isAwaited()) {
                ended(request);
            } else if (request.region != null && !request.region.segment().scope().isAlive()) {
                fail(request, TransferFailure.Kind.FAILED, new Loss(Loss.End.FAIL, 0, false,
                    "the local memory was closed under the transfer"));
            } else if (request.slice != null && !request.slice.wanted()) {
                fail(request, TransferFailure.Kind.CANCELED, new Loss(Loss.End.CANCEL, 0, false,
                    "cancelled while it was under way"));
            } else if (loss.end() == Loss.End.RETRY && (!request.started || tries(request))) {
                again.add(request);
            } else {
                fail(request, loss.kind(), new Loss(loss.end(), loss.code(), loss.retryable(), "the connection to "
                    + peer.name() + " was lost"
                    + (request.attempts > 1 ? ", the last of " + request.attempts + " times" : "") + ": "
                    + loss.message()));
            }
        }
        for (int i = again.size() - 1; i >= 0; i--) {
            again.get(i).reset();
            queue.addFirst(again.get(i));
        }
    }

    private boolean tries(final Request request) {
        request.attempts++;
        if (request.attempts <= config.retry().maxRetryCount()) {
            counts.retriedRequests.increment();
            return true;
        }
        return false;
    }

    private void cancelUnwanted() {
        cancelAsked.set(false);
        for (final Iterator<Request> all = queue.iterator(); all.hasNext();) {
            final Request request = all.next();
            if (request.slice != null && !request.slice.wanted()) {
                all.remove();
                cancel(request);
            }
        }
        for (int i = lanes.size() - 1; i >= 0; i--) {
            if (i < lanes.size()) {
                lanes.get(i).cancelUnwanted();
            }
        }
        pump();
    }

    /** Fails those that were queued before a time. */
    private void failQueue(final Loss loss, final long queuedBefore) {
        for (int left = queue.size(); left > 0; left--) {
            final Request request = queue.poll();
            if (queuedBefore == Long.MAX_VALUE || request.queuedNanos - queuedBefore <= 0) {
                fail(request, loss.kind(), loss);
            } else {
                queue.add(request);
            }
        }
    }

    private void fail(final Request request, final TransferFailure.Kind kind, final Loss loss) {
        final Slice slice = request.slice;
        final Stage stage = request.stage;
        final var opening = request.opening;
        final TransferFailure failure = slice == null && opening == null ? null : failure(request, slice, kind, loss);
        ended(request);
        if (slice != null) {
            failed(slice, stage, failure);
        } else if (opening != null) {
            opening.completeExceptionally(new TransferException(failure));
        }
    }

    private static void failed(final Slice slice, final Stage stage, final TransferFailure failure) {
        if (stage != null) {
            stage.moved(failure);
        } else {
            slice.failed(failure);
        }
    }

    private static TransferFailure failure(final Request request, final Slice slice, final TransferFailure.Kind kind,
        final Loss loss) {
        return new TransferFailure(kind, loss.code() == 0 ? "" : "tcp", loss.code(), loss.retryable(),
            slice == null ? request.segment.address().name() : slice.segment().name(), request.offset, request.length,
            loss.message());
    }

    private void ended(final Request request) {
        if (request.slice != null) {
            peer.ended(index, request.length);
        }
        if (request.isAwaited()) {
            clientLoop.ended();
        }
        final boolean reusable = request.isTransfer();
        request.clear();
        if (reusable) {
            spare.add(request);
        }
    }
}
