package io.kvtier.transport.tcp;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;

/** The bodies of the four frames that open a connection. <b>Threading:</b> stateless. */
final class Handshake {
    static final int NONCE_BYTES = 32;
    static final int PROOF_BYTES = 32;
    static final String CLIENT = "kvtier client";
    static final String SERVER = "kvtier server";

    private static final int PREFIX_BYTES = 4;
    private static final int WELCOME_BYTES = 32;
    private static final SecureRandom RANDOM = new SecureRandom();

    private Handshake() {
    }

    /** What a client says first. */
    record Hello(int lowest, int highest, byte[] nonce) {
        byte[] body() {
            return ByteBuffer.allocate(PREFIX_BYTES + NONCE_BYTES).put((byte) lowest).put((byte) highest)
                .putShort((short) 0).put(nonce).array();
        }

        static Hello of(final byte[] body) throws PeerException {
            final ByteBuffer in = atLeast(body, PREFIX_BYTES + NONCE_BYTES, "HELLO");
            return new Hello(in.get(0) & 0xFF, in.get(1) & 0xFF, bytes(in, PREFIX_BYTES, NONCE_BYTES));
        }
    }

    /** What a server answers. */
    record Challenge(int version, boolean secret, byte[] nonce) {
        byte[] body() {
            return ByteBuffer.allocate(PREFIX_BYTES + NONCE_BYTES).put((byte) version).put((byte) (secret ? 1 : 0))
                .putShort((short) 0).put(nonce).array();
        }

        static Challenge of(final byte[] body) throws PeerException {
            final ByteBuffer in = atLeast(body, PREFIX_BYTES + NONCE_BYTES, "CHALLENGE");
            final int authentication = in.get(1) & 0xFF;
            if (authentication > 1) {
                throw new PeerException(Status.AUTHENTICATION, "the server wants authentication of kind "
                    + authentication + ", which this client does not know");
            }
            return new Challenge(in.get(0) & 0xFF, authentication == 1, bytes(in, PREFIX_BYTES, NONCE_BYTES));
        }
    }

    /** What a server says to a client that it lets in; no proof without a secret. */
    record Welcome(long connection, long maxRequestBytes, int maxChunkBytes, int maxUnderWay, int maxHandles,
                   byte[] proof) {
        byte[] body() {
            return ByteBuffer.allocate(WELCOME_BYTES + proof.length).putLong(connection).putLong(maxRequestBytes)
                .putInt(maxChunkBytes).putInt(maxUnderWay).putInt(maxHandles).putInt(0).put(proof).array();
        }

        static Welcome of(final byte[] body, final boolean secret) throws PeerException {
            final ByteBuffer in = atLeast(body, WELCOME_BYTES + (secret ? PROOF_BYTES : 0), "WELCOME");
            final Welcome welcome = new Welcome(in.getLong(), in.getLong(), in.getInt(), in.getInt(), in.getInt(),
                secret ? bytes(in, WELCOME_BYTES, PROOF_BYTES) : new byte[0]);
            if (welcome.maxRequestBytes < 1 || welcome.maxChunkBytes < 1 || welcome.maxUnderWay < 1
                || welcome.maxHandles < 1) {
                throw new PeerException(Status.PROTOCOL, "the server announced limits that allow nothing");
            }
            return welcome;
        }
    }

    static byte[] nonce() {
        final byte[] nonce = new byte[NONCE_BYTES];
        RANDOM.nextBytes(nonce);
        return nonce;
    }

    /** A number that names a connection; nobody can guess that of another client's. */
    static long connection() {
        return RANDOM.nextLong();
    }

    /** In a time that does not depend on where the two differ. */
    static boolean isProof(final byte[] expected, final byte[] body) {
        return body.length >= PROOF_BYTES && MessageDigest.isEqual(expected, Arrays.copyOf(body, PROOF_BYTES));
    }

    private static ByteBuffer atLeast(final byte[] body, final int length, final String frame) throws PeerException {
        if (body.length < length) {
            throw new PeerException(Status.PROTOCOL, frame + " has a body of " + body.length
                + " bytes; it has at least " + length);
        }
        return ByteBuffer.wrap(body);
    }

    private static byte[] bytes(final ByteBuffer in, final int at, final int length) {
        final byte[] bytes = new byte[length];
        in.get(at, bytes);
        return bytes;
    }
}
