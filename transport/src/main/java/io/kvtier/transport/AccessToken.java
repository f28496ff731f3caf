package io.kvtier.transport;

import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * What a request must show to reach memory that another process serves: 128 random bits.
 *
 * <p>Two tokens are compared in a time that does not depend on where they differ. {@link #toString()} does not show
 * the bits, so that none end up in a log; {@link #hex()} does.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class AccessToken {
    /** Bytes of a token. */
    public static final int BYTES = 16;
    /** No secret: what segments that need none are opened with. */
    public static final AccessToken NONE = new AccessToken(new byte[BYTES]);

    private static final SecureRandom RANDOM = new SecureRandom();

    private final byte[] bits;

    private AccessToken(final byte[] bits) {
        this.bits = bits;
    }

    /**
     * A new token.
     *
     * @return 128 bits that nobody can guess.
     */
    public static AccessToken random() {
        final byte[] bits = new byte[BYTES];
        RANDOM.nextBytes(bits);
        return new AccessToken(bits);
    }

    /**
     * A token that was written down.
     *
     * @param bits {@value #BYTES} bytes.
     * @return the token.
     */
    public static AccessToken of(final byte[] bits) {
        if (bits.length != BYTES) {
            throw new IllegalArgumentException("an access token has " + BYTES + " bytes, not " + bits.length);
        }
        return new AccessToken(bits.clone());
    }

    /**
     * A token that was written down.
     *
     * @param hex twice {@value #BYTES} hexadecimal digits.
     * @return the token.
     */
    public static AccessToken of(final String hex) {
        try {
            return of(HexFormat.of().parseHex(hex));
        } catch (final IllegalArgumentException e) {
            // Without the digits: they may be most of a secret.
            throw new IllegalArgumentException("an access token has " + 2 * BYTES + " hexadecimal digits; this one has "
                + hex.length() + " characters", e);
        }
    }

    /**
     * The bits.
     *
     * @return a copy.
     */
    public byte[] bytes() {
        return bits.clone();
    }

    /**
     * The bits, to be written down.
     *
     * @return hexadecimal digits.
     */
    public String hex() {
        return HexFormat.of().formatHex(bits);
    }

    @Override
    public boolean equals(final Object other) {
        return other instanceof AccessToken token && MessageDigest.isEqual(bits, token.bits);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bits);
    }

    @Override
    public String toString() {
        return "AccessToken[hidden]";
    }
}
