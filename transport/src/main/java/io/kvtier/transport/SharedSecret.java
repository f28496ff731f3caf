package io.kvtier.transport;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * What clients and servers prove to each other that they know, without sending it. {@link #toString()} does not show
 * it.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class SharedSecret {
    /** Fewest bytes of a secret: who sees a handshake can try secrets, so it must not be guessable. */
    public static final int MIN_BYTES = 16;

    private static final String ALGORITHM = "HmacSHA256";

    private final byte[] bytes;

    private SharedSecret(final byte[] bytes) {
        this.bytes = bytes;
    }

    /**
     * A secret.
     *
     * @param bytes at least {@value #MIN_BYTES}, random.
     * @return the secret.
     * @throws IllegalArgumentException when it is shorter.
     */
    public static SharedSecret of(final byte[] bytes) {
        if (bytes.length < MIN_BYTES) {
            throw new IllegalArgumentException("the shared secret has " + bytes.length + " bytes; it needs at least "
                + MIN_BYTES + " random ones, for example from: openssl rand -hex 32");
        }
        return new SharedSecret(bytes.clone());
    }

    /**
     * A secret that was written down.
     *
     * @param text at least {@value #MIN_BYTES} bytes in UTF-8.
     * @return the secret.
     * @throws IllegalArgumentException when it is shorter.
     */
    public static SharedSecret of(final String text) {
        return of(text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * What one side shows for the nonces of a handshake.
     *
     * @param label       tells the sides and the protocols apart, or what one side has shown could be shown to another.
     * @param version     of the protocol, 0 to 255.
     * @param clientNonce random bytes of the client.
     * @param serverNonce random bytes of the server.
     * @return HMAC-SHA256 over all of them, 32 bytes; to be compared in constant time.
     */
    public byte[] proof(final String label, final int version, final byte[] clientNonce, final byte[] serverNonce) {
        try {
            final Mac mac = Mac.getInstance(ALGORITHM);
            mac.init(new SecretKeySpec(bytes, ALGORITHM));
            mac.update(label.getBytes(StandardCharsets.US_ASCII));
            mac.update((byte) version);
            mac.update(clientNonce);
            return mac.doFinal(serverNonce);
        } catch (final GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has " + ALGORITHM, e);
        }
    }

    @Override
    public boolean equals(final Object other) {
        return other instanceof SharedSecret secret && MessageDigest.isEqual(bytes, secret.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    @Override
    public String toString() {
        return "SharedSecret[hidden]";
    }
}
