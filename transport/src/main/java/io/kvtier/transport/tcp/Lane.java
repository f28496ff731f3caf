package io.kvtier.transport.tcp;

import io.kvtier.transport.Printable;
import java.io.EOFException;
import java.io.IOException;
import java.net.SocketAddress;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A client's connection: requests go out, and their answers come in the same order.
 *
 * <pre>
 *   connecting → hello → proof → open → closed
 *   waiting (not sent) ⊆ under way (in the order of the answers)
 * </pre>
 *
 * <p><b>Threading:</b> its loop's.
 */
final class Lane implements FrameReader.Handler, Loop.Ready {
    /** Bytes under way beyond which no further request joins them: more would only be in the way of a cancel. */
    private static final long WINDOW_BYTES = 8L << 20;
    /** How long a cancelled write may take to come to the end of its chunk and be acknowledged. */
    private static final long GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private enum State { CONNECTING, HELLO, PROOF, OPEN, CLOSED }

    private final PeerLanes owner;
    private final Loop loop;
    private final TcpConfig config;
    private final TcpTimeouts timeouts;
    private final Connection connection;
    private final RequestWriter requests;
    private final long startedNanos = System.nanoTime();
    private final ArrayDeque<Request> waiting = new ArrayDeque<>();
    private final ArrayDeque<Request> underWay = new ArrayDeque<>();
    private final LaneHandles handles = new LaneHandles();
    private final List<Long> fenced = new ArrayList<>();
    private final ClientHandshake handshake;
    private State state = State.CONNECTING;
    private Handshake.Welcome welcome;
    private long bytesUnderWay;
    private long headNanos;
    private long dataBytes;
    private boolean answered;

    Lane(final PeerLanes owner, final Loop loop, final TcpConfig config) throws IOException {
        this.owner = owner;
        this.loop = loop;
        this.config = config;
        this.timeouts = config.timeouts();
        this.handshake = new ClientHandshake(config.secret());
        this.connection = new Connection(SocketChannel.open(), this, config.sendBufferBytes());
        this.requests = new RequestWriter(connection.out());
    }

    /** Begins to connect; a failure is told to the owner. */
    void connect(final SocketAddress address) {
        try {
            final boolean connected = connection.channel().connect(address);
            connection.register(loop, connected ? SelectionKey.OP_READ : SelectionKey.OP_CONNECT, this);
            if (connected) {
                hello();
            }
            loop.dueAt(startedNanos + TimeUnit.MILLISECONDS.toNanos(timeouts.connectMs()));
        } catch (final IOException | RuntimeException e) {
            lose(Loss.of(e));
        }
    }

    boolean isOpen() {
        return state == State.OPEN;
    }

    boolean isIdle() {
        return underWay.isEmpty();
    }

    boolean hasRoom() {
        return state == State.OPEN && (underWay.isEmpty() || bytesUnderWay < WINDOW_BYTES
            && underWay.size() < Math.min(config.maxConcurrentTasks(), welcome.maxUnderWay()));
    }

    long bytesUnderWay() {
        return bytesUnderWay + underWay.size();
    }

    /** The server's number of this connection, once it is open. */
    long number() {
        return welcome.connection();
    }

    /** Whether the server has answered anything since it let this connection in. */
    boolean hasAnswered() {
        return answered;
    }

    ArrayDeque<Request> underWay() {
        return underWay;
    }

    /** Takes a request; there is room. It is sent by {@link #trySend()}. */
    void add(final Request request) {
        for (final long lost : owner.peer().lostConnections()) {
            if (!fenced.contains(lost)) {
                fenced.add(lost);
                join(Request.of(Wire.FENCE, null, lost));
            }
        }
        if (request.segment != null) {
            request.handle = handles.of(request.segment);
            if (request.handle == null && !open(request)) {
                return;
            }
        }
        join(request);
    }

    /** Forgets a segment that was closed. */
    void release(final TcpSegment segment) {
        final LaneHandles.Handle handle = handles.remove(segment);
        if (handle != null && state == State.OPEN) {
            final Request request = Request.of(Wire.RELEASE, null, 0);
            request.handle = handle;
            join(request);
            trySend();
        }
    }

    /** Sends what waits, as far as the socket takes it. */
    void trySend() {
        if (state == State.CLOSED || connection.isFull() || state == State.CONNECTING) {
            return;
        }
        try {
            send();
        } catch (final IOException | RuntimeException | Error e) {
            lose(Loss.of(e));
        }
    }

    @Override
    public void ready(final int operations) {
        try {
            if (state == State.CONNECTING) {
                connection.channel().finishConnect();
                connection.interest(SelectionKey.OP_READ);
                hello();
                return;
            }
            if ((operations & SelectionKey.OP_READ) != 0) {
                receive();
            }
            if ((operations & SelectionKey.OP_WRITE) != 0 && state != State.CLOSED) {
                connection.interest(SelectionKey.OP_READ);
                send();
            }
        } catch (final IOException | RuntimeException | Error e) {
            lose(Loss.of(e));
        }
    }

    /** Looks at its deadlines; answers when the next one is. */
    long tick(final long now) {
        if (state == State.CLOSED) {
            return Loop.NEVER;
        }
        if (state != State.OPEN) {
            final long due = startedNanos + TimeUnit.MILLISECONDS.toNanos(timeouts.connectMs());
            if (now - due < 0) {
                return due;
            }
            lose(new Loss(Loss.End.RETRY, 0, true, "no connection with a handshake within " + timeouts.connectMs()
                + " ms"));
            return Loop.NEVER;
        }
        if (underWay.isEmpty()) {
            connection.forgetRegions();
            final long due = headNanos + TimeUnit.MILLISECONDS.toNanos(timeouts.idleMs());
            if (now - due < 0) {
                return due;
            }
            lose(new Loss(Loss.End.RETRY, 0, true, "idle"));
            return Loop.NEVER;
        }
        final long due = headNanos + TimeUnit.MILLISECONDS.toNanos(timeouts.requestMs());
        if (now - due >= 0) {
            lose(new Loss(Loss.End.TIMEOUT, 0, true, "the server did not answer within " + timeouts.requestMs()
                + " ms"));
            return Loop.NEVER;
        }
        return tickGrace(now, due);
    }

    /** Ends the requests that nobody wants any more, as far as that is possible at once. */
    void cancelUnwanted() {
        for (final Iterator<Request> all = underWay.iterator(); all.hasNext();) {
            final Request request = all.next();
            if (request.slice == null || request.slice.wanted()) {
                continue;
            }
            if (!request.started) {
                all.remove();
                waiting.remove(request);
                bytesUnderWay -= request.length;
                owner.cancel(request);
            } else if (request.type == Wire.READ) {
                // The bytes still come, and are passed over; the memory is the caller's again.
                if (request == underWay.peek()) {
                    connection.in().passOver();
                }
                owner.abandon(request);
            } else if (request.graceNanos == 0) {
                // Later writes must not be overtaken by this one: it ends when the server says so, or with the lane.
                request.graceNanos = System.nanoTime() + GRACE_NANOS;
                loop.dueAt(request.graceNanos);
            }
        }
        trySend();
    }

    /** Ends the connection; the owner deals with the requests. */
    void lose(final Loss loss) {
        if (state != State.CLOSED) {
            final boolean wasOpen = state == State.OPEN;
            state = State.CLOSED;
            connection.close();
            owner.lost(this, wasOpen, loss);
        }
    }

    @Override
    public boolean isPaused() {
        return state == State.CLOSED;
    }

    @Override
    public void frame(final FrameReader in) throws IOException {
        if (in.type() == Wire.STATUS && (in.id() == 0 || state != State.OPEN)) {
            throw new PeerException(in.code(), text(in));
        }
        switch (state) {
            case HELLO -> challenged(in);
            case PROOF -> welcomed(in);
            default -> answered(in);
        }
    }

    @Override
    public void dataEnded() {
        final Request request = underWay.peek();
        request.moved += dataBytes;
        bytesUnderWay -= dataBytes;
        if (request.moved == request.length) {
            end();
            owner.complete(request);
        }
    }

    private long tickGrace(final long now, final long latest) {
        long due = latest;
        for (final Request request : underWay) {
            if (request.graceNanos != 0) {
                if (now - request.graceNanos >= 0) {
                    lose(new Loss(Loss.End.RETRY, 0, true, "a cancelled write could not be ended otherwise"));
                    return Loop.NEVER;
                }
                due = Math.min(due - now, request.graceNanos - now) + now;
            }
        }
        return due;
    }

    private void hello() throws IOException {
        state = State.HELLO;
        final byte[] body = handshake.hello();
        connection.out().header(Wire.HELLO, 0, 0, 0, 0, body.length);
        connection.out().body(body);
        send();
    }

    private void challenged(final FrameReader in) throws IOException {
        final byte[] proof = handshake.proof(in);
        connection.in().version(Wire.VERSION);
        state = State.PROOF;
        connection.out().header(Wire.PROOF, 0, 0, 0, 0, proof.length);
        connection.out().body(proof);
        send();
    }

    private void welcomed(final FrameReader in) throws PeerException {
        welcome = handshake.welcome(in);
        requests.chunkBytes(Math.min(config.chunkBytes(), welcome.maxChunkBytes()));
        state = State.OPEN;
        headNanos = System.nanoTime();
        loop.dueAt(headNanos + TimeUnit.MILLISECONDS.toNanos(timeouts.idleMs()));
        owner.opened();
    }

    private void answered(final FrameReader in) throws PeerException {
        answered = true;
        final Request request = underWay.peek();
        if (request == null || !request.started || request.id != in.id()) {
            throw new PeerException(Status.PROTOCOL, "the server answered request " + Long.toUnsignedString(in.id())
                + (request == null || !request.started ? ", and none is under way"
                    : "; the oldest one is " + request.id));
        }
        switch (in.type()) {
            case Wire.DATA -> data(in, request);
            case Wire.OPENED -> opened(in, request);
            case Wire.STATUS -> status(in, request);
            default -> throw new PeerException(Status.PROTOCOL, "the server sent a frame of type " + in.type()
                + ", which is none of its own");
        }
    }

    private void data(final FrameReader in, final Request request) throws PeerException {
        final long left = request.length - request.moved;
        final long body = in.bodyLength();
        if (request.type != Wire.READ || in.offset() != request.moved || body < 1
            || body > left) {
            throw new PeerException(Status.PROTOCOL, "the server sent " + Long.toUnsignedString(body)
                + " bytes of data from byte " + Long.toUnsignedString(in.offset()) + " on, where "
                + (request.type == Wire.READ ? "byte " + request.moved + " of " + request.length : "none")
                + " was due");
        }
        dataBytes = body;
        if (request.slice == null) {
            in.passOver();
        } else {
            in.into(request.region, request.localOffset + request.moved);
        }
    }

    private void opened(final FrameReader in, final Request request) throws PeerException {
        if (request.type != Wire.OPEN || in.length() < 0) {
            throw new PeerException(Status.PROTOCOL, "the server opened what was not to be opened, or of "
                + in.length() + " bytes");
        }
        request.segment.opened(in.length(), in.code() == Wire.READ_WRITE, welcome.maxRequestBytes());
        end();
        owner.opened(request);
    }

    private void status(final FrameReader in, final Request request) throws PeerException {
        final int code = in.code();
        final boolean ok = code == Status.OK.code();
        if (ok && (request.type == Wire.READ || request.type == Wire.OPEN)
            || request.type == Wire.WRITE && (request.moved < request.length && !request.aborted
            || connection.out().gone() < request.sentTo)) {
            throw new PeerException(Status.PROTOCOL, "the server sent status " + code + " to request " + request.id
                + " too early");
        }
        final PeerException refusal = ok ? null : refusal(in, request);
        end();
        if (request.isTransfer()) {
            bytesUnderWay -= request.type == Wire.WRITE ? request.length : request.length - request.moved;
            if (ok) {
                owner.complete(request);
            } else {
                owner.refused(request, refusal);
            }
        } else if (request.type == Wire.FENCE && ok) {
            owner.peer().fenced(request.offset);
        } else if (request.type == Wire.OPEN) {
            handles.refused(request.segment, request.handle, refusal);
            owner.refused(request, refusal);
        } else if (request.type == Wire.RELEASE) {
            handles.free(request.handle);
        }
    }

    private static PeerException refusal(final FrameReader in, final Request request) {
        return in.code() == Status.BAD_HANDLE.code() && request.handle != null && request.handle.refusal() != null
            ? request.handle.refusal() : new PeerException(in.code(), text(in));
    }

    private static String text(final FrameReader in) {
        return Printable.of(new String(in.body(), StandardCharsets.UTF_8));
    }

    /** The oldest request has been answered. */
    private void end() {
        underWay.poll();
        headNanos = System.nanoTime();
    }

    private void join(final Request request) {
        if (underWay.isEmpty()) {
            headNanos = System.nanoTime();
            loop.dueAt(headNanos + TimeUnit.MILLISECONDS.toNanos(timeouts.requestMs()));
        }
        waiting.add(request);
        underWay.add(request);
        bytesUnderWay += request.isTransfer() ? request.length : 0;
    }

    /** Gives a segment that this connection has not opened yet a handle; the opening goes before the request. */
    private boolean open(final Request request) {
        request.handle = handles.add(request.segment, welcome.maxHandles());
        if (request.handle == null) {
            owner.refused(request, new PeerException(Status.BAD_HANDLE, "the server allows " + welcome.maxHandles()
                + " open segments a connection; close some"));
            return false;
        }
        if (request.type != Wire.OPEN) {
            final Request opening = Request.of(Wire.OPEN, request.segment, 0);
            opening.handle = request.handle;
            join(opening);
        }
        return true;
    }

    private void receive() throws IOException {
        long left = Connection.TURN_BYTES;
        while (left > 0 && state != State.CLOSED) {
            final long count = connection.in().read(connection.channel());
            if (count < 0) {
                throw new EOFException("the server ended the connection");
            }
            left -= count;
            if (connection.in().isDrained()) {
                break;
            }
        }
        owner.pump();
    }

    private void send() throws IOException {
        final FrameWriter out = connection.out();
        long left = Connection.TURN_BYTES;
        while (left > 0) {
            if (out.isEmpty()) {
                fill(out);
            }
            if (out.isEmpty()) {
                return;
            }
            left -= out.write(connection.channel());
            if (!out.isEmpty()) {
                break;
            }
        }
        connection.interest(SelectionKey.OP_READ | SelectionKey.OP_WRITE);
    }

    private void fill(final FrameWriter out) {
        while (out.hasRoom()) {
            if (requests.isSending()) {
                requests.sendOn();
                continue;
            }
            final Request request = waiting.poll();
            if (request == null) {
                return;
            }
            if (request.slice != null && !request.slice.wanted()) {
                underWay.remove(request);
                bytesUnderWay -= request.length;
                owner.cancel(request);
            } else {
                requests.begin(request);
            }
        }
    }
}
