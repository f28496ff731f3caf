package io.kvtier.transport.rpc;

import io.kvtier.transport.Printable;
import io.kvtier.transport.SharedSecret;
import java.io.IOException;
import java.security.MessageDigest;
import java.security.SecureRandom;

/**
 * The first four frames of a connection: version, and the proof of the shared secret on both sides.
 *
 * <p><b>Threading:</b> for the thread that has the connection alone. <b>Blocking:</b> on the peer; whoever calls limits
 * the time by closing the socket.
 */
final class Handshake {
    /** Bodies of these frames are small whatever a peer says. */
    private static final int MAX_BODY = 4096;
    private static final int MAX_NAME = 256;
    /** Longest text of a failure that is told on. */
    private static final int MAX_TEXT = 8192;
    private static final int NO_SECRET = 0;
    private static final int HMAC = 1;
    private static final int PROOF_BYTES = 32;
    private static final int NONCE_BYTES = 32;
    private static final SecureRandom RANDOM = new SecureRandom();
    private static final String CLIENT = "kvtier rpc client";
    private static final String SERVER = "kvtier rpc server";

    /**
     * What the peer said.
     *
     * @param name    its name, for the log.
     * @param maxBody most bytes of body it takes.
     */
    record Peer(String name, int maxBody) {
    }

    private final FrameInput in;
    private final FrameOutput out;
    private final SharedSecret secret;
    private final int maxBody;

    Handshake(final FrameInput in, final FrameOutput out, final SharedSecret secret, final int maxBody) {
        this.in = in;
        this.out = out;
        this.secret = secret;
        this.maxBody = maxBody;
    }

    /** The client's side. */
    Peer greet(final String name) throws IOException {
        final byte[] mine = nonce();
        send(RpcFrame.HELLO, new MessageWriter().array(4).number(RpcFrame.VERSION).number(RpcFrame.VERSION)
            .bytes(mine).text(name));
        final MessageReader challenge = expect(RpcFrame.CHALLENGE);
        challenge.begin();
        final int version = (int) challenge.number(RpcFrame.VERSION, RpcFrame.VERSION);
        final boolean asked = challenge.number(NO_SECRET, HMAC) == HMAC;
        final byte[] theirs = challenge.bytes(NONCE_BYTES);
        challenge.end();
        if (asked != (secret != null)) {
            throw unauthenticated(asked ? "the server asks for a shared secret, and none is configured here"
                : "a shared secret is configured here, and the server asks for none");
        }
        send(RpcFrame.PROOF, new MessageWriter().array(1)
            .bytes(secret == null ? new byte[0] : secret.proof(CLIENT, version, mine, theirs)));
        final MessageReader welcome = expect(RpcFrame.WELCOME);
        welcome.begin();
        final byte[] proof = welcome.bytes(PROOF_BYTES);
        if (secret != null && !MessageDigest.isEqual(proof, secret.proof(SERVER, version, mine, theirs))) {
            throw unauthenticated("the server does not know the shared secret");
        }
        final int theirMax = (int) welcome.number(0, Integer.MAX_VALUE);
        welcome.end();
        return new Peer("", theirMax);
    }

    /** The server's side. */
    Peer answer() throws IOException {
        final MessageReader hello = expect(RpcFrame.HELLO);
        hello.begin();
        final long lowest = hello.number();
        final long highest = hello.number();
        final byte[] theirs = hello.bytes(NONCE_BYTES);
        final String name = hello.text(MAX_NAME);
        hello.end();
        if (lowest > RpcFrame.VERSION || highest < RpcFrame.VERSION) {
            throw new RpcException(RpcStatus.VERSION, "the client speaks versions " + lowest + " to " + highest
                + "; version " + RpcFrame.VERSION + " is spoken here", null);
        }
        final byte[] mine = nonce();
        send(RpcFrame.CHALLENGE, new MessageWriter().array(3).number(RpcFrame.VERSION)
            .number(secret == null ? NO_SECRET : HMAC).bytes(mine));
        final MessageReader answer = expect(RpcFrame.PROOF);
        answer.begin();
        final byte[] proof = answer.bytes(PROOF_BYTES);
        answer.end();
        if (secret != null && !MessageDigest.isEqual(proof, secret.proof(CLIENT, RpcFrame.VERSION, theirs, mine))) {
            throw unauthenticated("the client does not know the shared secret");
        }
        send(RpcFrame.WELCOME, new MessageWriter().array(2)
            .bytes(secret == null ? new byte[0] : secret.proof(SERVER, RpcFrame.VERSION, theirs, mine))
            .number(maxBody));
        return new Peer(Printable.of(name), maxBody);
    }

    private static byte[] nonce() {
        final byte[] nonce = new byte[NONCE_BYTES];
        RANDOM.nextBytes(nonce);
        return nonce;
    }

    private void send(final int type, final MessageWriter body) throws IOException {
        out.add(type, 0, 0, 0, body.toBytes());
        out.flush();
    }

    private MessageReader expect(final int type) throws IOException {
        in.next(MAX_BODY);
        if (in.type() == RpcFrame.FAILURE) {
            throw failure(in);
        }
        if (in.type() != type) {
            throw new RpcException(RpcStatus.MALFORMED, "a frame of type " + in.type() + " came during the handshake; "
                + type + " was expected", null);
        }
        return new MessageReader(in.takeBody());
    }

    /** The exception that a FAILURE frame tells of. */
    static RpcException failure(final FrameInput frame) {
        final byte[] body = frame.takeBody();
        final MessageReader reader = new MessageReader(body);
        reader.begin();
        final String text = reader.text(body.length);
        return RpcException.received(frame.code(), Printable.of(text.length() <= MAX_TEXT ? text
            : text.substring(0, MAX_TEXT)));
    }

    static byte[] failureBody(final String message) {
        return new MessageWriter().array(1).text(String.valueOf(message)).toBytes();
    }

    private static RpcException unauthenticated(final String why) {
        return new RpcException(RpcStatus.UNAUTHENTICATED, why, null);
    }
}
