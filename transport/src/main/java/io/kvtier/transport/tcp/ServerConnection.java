package io.kvtier.transport.tcp;

import io.kvtier.transport.AccessToken;
import io.kvtier.transport.SharedSecret;
import java.io.IOException;
import java.lang.System.Logger;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

/**
 * A client as its server sees it: frames come in, and answers go out in the order of the requests.
 *
 * <p><b>Threading:</b> its loop's, but for {@link #end(Runnable)}. <b>Lifetime:</b> every request in it holds its
 * export.
 */
final class ServerConnection implements FrameReader.Handler, Loop.Ready, Loop.Member {
    private static final Logger LOG = System.getLogger(ServerConnection.class.getName());
    private static final int MAX_HANDLES = 1024;
    /** Headers that may come together, where requests and not data are due. */
    private static final int REQUESTS_BYTES = 16 * Wire.HEADER_BYTES;

    private enum State { HELLO, PROOF, OPEN, CLOSED }

    private final SegmentServer server;
    private final Loop loop;
    private final ServerLimits limits;
    private final Connection connection;
    private final Answers answers;
    private final long number = Handshake.connection();
    private final long acceptedNanos = System.nanoTime();
    private final ExportedSegment[] handles = new ExportedSegment[MAX_HANDLES];
    private final byte[] nonce = Handshake.nonce();
    private State state = State.HELLO;
    private byte[] clientNonce;
    private Incoming writing;
    private final Incoming incoming = new Incoming();
    private boolean fencing;
    private boolean draining;
    private long frameNanos = acceptedNanos;
    private long batchNanos = acceptedNanos;

    /** A write whose data is coming. */
    private static final class Incoming {
        private long id;
        /** Null when it is refused and its data passed over. */
        private ExportedSegment export;
        private Status refusal;
        private String text;
        private long offset;
        private long length;
        private long received;
        private long dataBytes;
    }

    ServerConnection(final SegmentServer server, final Loop loop, final SocketChannel channel) throws IOException {
        this.server = server;
        this.loop = loop;
        this.limits = server.config().limits();
        this.connection = new Connection(channel, this, limits.sendBufferBytes());
        this.answers = new Answers(limits.chunkBytes());
    }

    void start() throws IOException {
        try {
            connection.register(loop, SelectionKey.OP_READ, this);
        } catch (final IOException | RuntimeException | Error e) {
            connection.close();
            throw e;
        }
        server.connectionsByNumber().put(number, this);
        loop.add(this);
        connection.in().lookahead(REQUESTS_BYTES);
        if (server.isClosed()) {
            drain(loop);
        }
    }

    /** Ends once its running requests have been answered; takes no more. Does nothing on another loop. */
    void drain(final Loop on) {
        if (on == loop && state != State.CLOSED) {
            draining = true;
            endIfDrained();
        }
    }

    /** Ends the connection, from any thread, and says when its memory is not touched any more. */
    void end(final Runnable then) {
        final boolean accepted = loop.execute(() -> {
            close();
            then.run();
        });
        if (!accepted) {
            // The loop has ended, and all connections with it.
            then.run();
        }
    }

    @Override
    public void ready(final int operations) {
        try {
            if ((operations & SelectionKey.OP_READ) != 0) {
                receive();
            }
            if (state != State.CLOSED) {
                goOn();
            }
        } catch (final PeerException e) {
            tellAndClose(e);
        } catch (final IOException e) {
            LOG.log(Logger.Level.DEBUG, "a connection was lost: {0}", e.getMessage());
            close();
        } catch (final RuntimeException | Error e) {
            LOG.log(Logger.Level.WARNING, "the memory of an export could not be reached", e);
            tellAndClose(new PeerException(Status.MEMORY, "the server could not reach its memory: " + e.getMessage()));
        }
    }

    @Override
    public long tick(final long now) {
        final long due = due();
        if (now - due < 0) {
            return due;
        }
        if (state == State.HELLO || state == State.PROOF) {
            server.notes().warn("a handshake was not over in time; handshakeMs is " + limits.handshakeMs(),
                () -> String.valueOf(connection.channel().socket().getRemoteSocketAddress()));
        } else {
            LOG.log(Logger.Level.DEBUG, "a connection was ended: it was idle, or its client too slow");
        }
        close();
        return Loop.NEVER;
    }

    @Override
    public void stop() {
        close();
    }

    @Override
    public boolean isPaused() {
        return fencing || state == State.CLOSED || answers.size() >= limits.maxUnderWay()
            || draining && writing == null;
    }

    @Override
    public void frame(final FrameReader in) throws IOException {
        switch (state) {
            case HELLO -> hello(in);
            case PROOF -> proof(in);
            case OPEN -> request(in);
            default -> { }
        }
    }

    @Override
    public void dataEnded() {
        writing.received += writing.dataBytes;
        frameNanos = System.nanoTime();
        if (writing.received == writing.length) {
            written(writing.refusal, writing.text);
        }
    }

    private void receive() throws IOException {
        if (writing == null && !connection.in().isInFrame()) {
            frameNanos = System.nanoTime();
        }
        long left = Connection.TURN_BYTES;
        while (left > 0 && !isPaused()) {
            final long count = connection.in().read(connection.channel());
            if (count < 0) {
                close();
                return;
            }
            if (connection.in().isDrained()) {
                break;
            }
            left -= count;
        }
    }

    /** Sends answers as far as the socket takes them, and takes up again what had to wait for room. */
    private void goOn() throws IOException {
        send();
        while (state != State.CLOSED && !isPaused() && connection.in().isInFrame() && parsed()) {
            send();
        }
        if (state != State.CLOSED) {
            final boolean full = !connection.out().isEmpty();
            if (full || writing != null || connection.in().isInFrame()) {
                loop.dueAt((full ? batchNanos : frameNanos) + TimeUnit.MILLISECONDS.toNanos(limits.requestMs()));
            }
            connection.interest((isPaused() ? 0 : SelectionKey.OP_READ) | (full ? SelectionKey.OP_WRITE : 0));
            endIfDrained();
        }
    }

    /** Hands over frames that had to wait; whether there were answers to it. */
    private boolean parsed() throws IOException {
        final int before = answers.size();
        connection.in().parse();
        return answers.size() > before;
    }

    private void send() throws IOException {
        final FrameWriter out = connection.out();
        long left = Connection.TURN_BYTES;
        while (left > 0) {
            if (out.isEmpty()) {
                answers.batchSent();
                answers.fill(out);
                batchNanos = System.nanoTime();
            }
            if (out.isEmpty()) {
                return;
            }
            left -= out.write(connection.channel());
            if (!out.isEmpty()) {
                return;
            }
        }
        // Others of the loop have their turn; a little of the next batch, so that the socket is waited for.
        answers.batchSent();
        answers.fill(out);
        batchNanos = System.nanoTime();
    }

    private void hello(final FrameReader in) throws IOException {
        expect(in, Wire.HELLO);
        final Handshake.Hello hello = Handshake.Hello.of(in.body());
        if (hello.lowest() > Wire.VERSION || hello.highest() < Wire.VERSION) {
            throw new PeerException(Status.VERSION, "the client speaks versions " + hello.lowest() + " to "
                + hello.highest() + " and this server speaks version " + Wire.VERSION + "; update the older one");
        }
        clientNonce = hello.nonce();
        final byte[] body = new Handshake.Challenge(Wire.VERSION, server.config().secret() != null, nonce).body();
        connection.in().version(Wire.VERSION);
        connection.out().header(Wire.CHALLENGE, 0, 0, 0, 0, body.length);
        connection.out().body(body);
        state = State.PROOF;
    }

    private void proof(final FrameReader in) throws IOException {
        expect(in, Wire.PROOF);
        final SharedSecret secret = server.config().secret();
        byte[] proof = {};
        if (secret != null) {
            if (!Handshake.isProof(secret.proof(Handshake.CLIENT, Wire.VERSION, clientNonce, nonce), in.body())) {
                throw new PeerException(Status.AUTHENTICATION, "the client did not prove that it knows the shared"
                    + " secret; set the same one on both sides");
            }
            proof = secret.proof(Handshake.SERVER, Wire.VERSION, clientNonce, nonce);
        }
        final byte[] body = new Handshake.Welcome(number, limits.maxRequestBytes(), limits.chunkBytes(),
            limits.maxUnderWay(), MAX_HANDLES, proof).body();
        connection.out().header(Wire.WELCOME, 0, 0, 0, 0, body.length);
        connection.out().body(body);
        state = State.OPEN;
        // The loop looks at this connection next when its handshake would have been late.
        loop.dueAt(frameNanos + TimeUnit.MILLISECONDS.toNanos(limits.idleMs()));
    }

    private static void expect(final FrameReader in, final int type) throws PeerException {
        if (in.type() != type) {
            throw new PeerException(Status.PROTOCOL, "a frame of type " + in.type() + " in the handshake, where type "
                + type + " is due");
        }
    }

    private void request(final FrameReader in) throws IOException {
        frameNanos = System.nanoTime();
        if (writing != null && in.type() != Wire.DATA && in.type() != Wire.ABORT) {
            throw new PeerException(Status.PROTOCOL, "a frame of type " + in.type() + " between the data of write "
                + writing.id);
        }
        switch (in.type()) {
            case Wire.OPEN -> open(in);
            case Wire.READ -> read(in);
            case Wire.WRITE -> write(in);
            case Wire.DATA -> data(in);
            case Wire.ABORT -> abort(in);
            case Wire.RELEASE -> {
                handles[handle(in)] = null;
                answers.status(in.id(), Status.OK, "");
            }
            case Wire.FENCE -> fence(in);
            default -> throw new PeerException(Status.PROTOCOL, "a frame of type " + in.type()
                + ", which is none of a client's");
        }
    }

    private static int handle(final FrameReader in) throws PeerException {
        if (in.code() < 0 || in.code() >= MAX_HANDLES) {
            throw new PeerException(Status.PROTOCOL, "handle " + Integer.toUnsignedString(in.code())
                + " is not below " + MAX_HANDLES);
        }
        return in.code();
    }

    private void open(final FrameReader in) throws PeerException {
        final int handle = handle(in);
        final byte[] body = in.body();
        if (body.length <= AccessToken.BYTES || body.length > AccessToken.BYTES + Wire.MAX_NAME) {
            throw new PeerException(Status.PROTOCOL, "OPEN has a body of " + body.length + " bytes; it has "
                + AccessToken.BYTES + " of a token and 1 to " + Wire.MAX_NAME + " of a name");
        }
        final String name =
            new String(body, AccessToken.BYTES, body.length - AccessToken.BYTES, StandardCharsets.UTF_8);
        final ExportedSegment export = server.exported(name);
        handles[handle] = null;
        if (export == null) {
            answers.status(in.id(), Status.UNKNOWN_SEGMENT, "nothing is exported under the name '" + name + "'");
        } else if (!export.token().equals(AccessToken.of(Arrays.copyOf(body, AccessToken.BYTES)))) {
            answers.status(in.id(), Status.TOKEN_REFUSED, "the token is not that of the export '" + name
                + "'; the memory may have been exported anew since it was given out");
        } else {
            handles[handle] = export;
            answers.opened(in.id(), export);
        }
    }

    private void read(final FrameReader in) throws PeerException {
        checkLength(in);
        final ExportedSegment export = handles[handle(in)];
        final Status refusal = refusal(in, export, false);
        if (refusal == null) {
            answers.data(in.id(), export, in.offset(), in.length());
        } else {
            answers.status(in.id(), refusal, text(in, export, refusal));
        }
    }

    private void write(final FrameReader in) throws PeerException {
        checkLength(in);
        final ExportedSegment export = handles[handle(in)];
        final Status refusal = refusal(in, export, true);
        writing = incoming;
        writing.id = in.id();
        writing.export = refusal == null ? export : null;
        writing.refusal = refusal == null ? Status.OK : refusal;
        writing.text = refusal == null ? "" : text(in, export, refusal);
        writing.offset = in.offset();
        writing.length = in.length();
        writing.received = 0;
    }

    private void checkLength(final FrameReader in) throws PeerException {
        if (Long.compareUnsigned(in.length(), limits.maxRequestBytes()) > 0) {
            throw new PeerException(Status.TOO_LONG, "a request of " + Long.toUnsignedString(in.length())
                + " bytes; the longest this server takes is " + limits.maxRequestBytes());
        }
        if (in.length() == 0) {
            throw new PeerException(Status.PROTOCOL, "a request of 0 bytes");
        }
    }

    /** Null when the request can be done; it then holds the export. */
    private static Status refusal(final FrameReader in, final ExportedSegment export, final boolean write) {
        return export == null ? Status.BAD_HANDLE : export.begin(in.offset(), in.length(), write);
    }

    private static String text(final FrameReader in, final ExportedSegment export, final Status refusal) {
        return export == null ? "handle " + in.code() + " is not open on this connection"
            : export.why(refusal, in.offset(), in.length());
    }

    private void data(final FrameReader in) throws PeerException {
        final long body = in.bodyLength();
        if (writing == null || in.id() != writing.id || in.offset() != writing.received || body < 1
            || body > Math.min(writing.length - writing.received, limits.chunkBytes())) {
            throw new PeerException(Status.PROTOCOL, Long.toUnsignedString(body) + " bytes of data of request "
                + Long.toUnsignedString(in.id()) + " from byte " + Long.toUnsignedString(in.offset()) + " on, where "
                + (writing == null ? "none is due" : "byte " + writing.received + " of " + writing.length
                    + " of request " + writing.id + " is due, at most " + limits.chunkBytes() + " at a time"));
        }
        writing.dataBytes = body;
        if (writing.export == null) {
            in.passOver();
        } else {
            in.into(writing.export.region(), writing.offset + writing.received);
        }
        // Behind the last chunk of a write another write is likely, of two headers.
        in.lookahead(body < writing.length - writing.received ? Wire.HEADER_BYTES : 2 * Wire.HEADER_BYTES);
    }

    private void abort(final FrameReader in) throws PeerException {
        if (writing == null || in.id() != writing.id) {
            throw new PeerException(Status.PROTOCOL, "ABORT of request " + Long.toUnsignedString(in.id())
                + ", which is no write whose data is coming");
        }
        written(Status.ABORTED, "");
    }

    private void written(final Status status, final String text) {
        answers.status(writing.id, status, text);
        if (writing.export != null) {
            writing.export.endUse();
        }
        writing = null;
    }

    private void fence(final FrameReader in) throws PeerException {
        final long other = in.offset();
        final long id = in.id();
        final ServerConnection late = server.connectionsByNumber().get(other);
        if (late == this) {
            throw new PeerException(Status.PROTOCOL, "FENCE of its own connection");
        }
        if (late == null) {
            answers.status(id, Status.OK, "");
            return;
        }
        // Nothing of this connection is done before the other one has ended.
        fencing = true;
        late.end(() -> loop.execute(() -> {
            if (state != State.CLOSED) {
                fencing = false;
                answers.status(id, Status.OK, "");
                ready(0);
            }
        }));
    }

    /** Says why, as far as the socket takes it at once, and closes. */
    private void tellAndClose(final PeerException why) {
        LOG.log(Logger.Level.DEBUG, "a connection was ended: {0}", why.getMessage());
        final FrameWriter out = connection.out();
        try {
            if (out.isEmpty()) {
                answers.fillSmall(out);
                if (!out.hasRoom()) {
                    out.write(connection.channel());
                }
                if (out.hasRoom()) {
                    final byte[] text = Status.body(why.getMessage());
                    out.header(Wire.STATUS, why.code(), 0, 0, 0, text.length);
                    out.body(text);
                    out.write(connection.channel());
                }
                connection.channel().shutdownOutput();
                // What the client has said must be read, or closing would reset the connection under the text.
                connection.channel().read(ByteBuffer.allocate(Wire.HEADER_BYTES + Wire.MAX_BODY));
            }
        } catch (final IOException e) {
            LOG.log(Logger.Level.DEBUG, "and could not be told why: {0}", e.getMessage());
        } finally {
            close();
        }
    }

    private long due() {
        final long due = usuallyDue();
        final long closed = Answers.earlier(answers.closedNanos(), writing == null ? null : writing.export);
        // Whoever closes an export waits for its requests, however many frames on time they still have.
        final long closing = closed + TimeUnit.MILLISECONDS.toNanos(limits.requestMs());
        return closed != 0 && closing - due < 0 ? closing : due;
    }

    private long usuallyDue() {
        if (state == State.HELLO || state == State.PROOF) {
            return acceptedNanos + TimeUnit.MILLISECONDS.toNanos(limits.handshakeMs());
        }
        final long request = TimeUnit.MILLISECONDS.toNanos(limits.requestMs());
        if (!connection.out().isEmpty()) {
            return batchNanos + request;
        }
        if (writing != null || connection.in().isInFrame()) {
            return frameNanos + request;
        }
        connection.forgetRegions();
        return frameNanos + TimeUnit.MILLISECONDS.toNanos(limits.idleMs());
    }

    private void endIfDrained() {
        if (draining && writing == null && answers.isEmpty() && connection.out().isEmpty()) {
            close();
        }
    }

    private void close() {
        if (state == State.CLOSED) {
            return;
        }
        state = State.CLOSED;
        connection.close();
        answers.drop();
        if (writing != null && writing.export != null) {
            writing.export.endUse();
        }
        writing = null;
        Arrays.fill(handles, null);
        loop.remove(this);
        server.connectionsByNumber().remove(number, this);
        server.ended();
    }
}
