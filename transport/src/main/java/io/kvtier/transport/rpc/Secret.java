package io.kvtier.transport.rpc;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * What both ends of a connection know and never send. <b>Threading:</b> immutable.
 */
public final class Secret {
    static final int NONCE_BYTES = 32;

    private static final SecureRandom RANDOM = new SecureRandom();
    private static final String ALGORITHM = "HmacSHA256";
    private static final int MIN_BYTES = 16;

    private final SecretKeySpec key;

    /**
     * A secret.
     *
     * @param secret at least 16 bytes, which should be random.
     */
    public Secret(final byte[] secret) {
        if (secret.length < MIN_BYTES) {
            throw new IllegalArgumentException("the shared secret has " + secret.length + " bytes; it needs at least "
                + MIN_BYTES + ", for example the output of 'openssl rand -hex 32'");
        }
        key = new SecretKeySpec(secret, ALGORITHM);
    }

    static byte[] nonce() {
        final byte[] nonce = new byte[NONCE_BYTES];
        RANDOM.nextBytes(nonce);
        return nonce;
    }

    /** That the holder knows the secret, for these nonces and this role only. */
    byte[] proof(final String role, final int version, final byte[] clientNonce, final byte[] serverNonce) {
        try {
            final Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(key);
            mac.update(role.getBytes(StandardCharsets.US_ASCII));
            mac.update((byte) version);
            mac.update(clientNonce);
            return mac.doFinal(serverNonce);
        } catch (final GeneralSecurityException e) {
            throw new IllegalStateException("every Java runtime has " + ALGORITHM, e);
        }
    }

    static boolean equal(final byte[] one, final byte[] other) {
        return MessageDigest.isEqual(one, other);
    }

    @Override
    public String toString() {
        return "Secret[hidden]";
    }
}
