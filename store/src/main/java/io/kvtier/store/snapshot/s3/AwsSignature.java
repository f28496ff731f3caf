package io.kvtier.store.snapshot.s3;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Signature Version 4 of Amazon Web Services, in the header {@code Authorization}, with a payload that is signed too.
 *
 * <p>What is signed is a text of method, path, query, headers and the payload's SHA-256, each in one form only; the key
 * is derived from the secret by day, region and service. See "Authenticating Requests (AWS Signature Version 4)" of the
 * S3 API reference, whose examples the test has.
 *
 * <p><b>Threading:</b> stateless.
 */
final class AwsSignature {
    static final String DATE_HEADER = "x-amz-date";
    static final String PAYLOAD_HEADER = "x-amz-content-sha256";
    static final String TOKEN_HEADER = "x-amz-security-token";

    private static final String ALGORITHM = "AWS4-HMAC-SHA256";
    private static final String SERVICE = "s3";
    private static final String END = "aws4_request";
    private static final String PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
    private static final DateTimeFormatter TIME =
        DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'", Locale.ROOT).withZone(ZoneOffset.UTC);
    private static final int DAY = 8;

    private AwsSignature() {
    }

    /**
     * What is signed.
     *
     * @param method  of HTTP.
     * @param path    percent-encoded.
     * @param query   names and values as they are.
     * @param headers names in small letters, values as they are sent; with 'host'.
     */
    record Request(String method, String path, SortedMap<String, String> query, SortedMap<String, String> headers) {
    }

    /**
     * Signs a request.
     *
     * @param request what is asked.
     * @param payload SHA-256 of the body, in hexadecimal digits.
     * @param region  that is asked.
     * @param who     asks.
     * @param now     by a clock that is right to within some minutes.
     * @return headers to be added to those of the request: of the date, the payload, the token and the signature.
     */
    static SortedMap<String, String> headers(final Request request, final String payload, final String region,
        final S3Credentials who, final Instant now) {
        final String time = TIME.format(now);
        final SortedMap<String, String> added = new TreeMap<>();
        added.put(DATE_HEADER, time);
        added.put(PAYLOAD_HEADER, payload);
        if (!who.sessionToken().isEmpty()) {
            added.put(TOKEN_HEADER, who.sessionToken());
        }
        final SortedMap<String, String> all = new TreeMap<>(request.headers());
        all.putAll(added);
        final String names = String.join(";", all.keySet());
        final String canonical = request.method() + '\n' + request.path() + '\n' + query(request.query()) + '\n'
            + all.entrySet().stream().map(header -> header.getKey() + ':' + trimmed(header.getValue()) + '\n')
            .collect(Collectors.joining()) + '\n' + names + '\n' + payload;
        final String scope = time.substring(0, DAY) + '/' + region + '/' + SERVICE + '/' + END;
        final String text = ALGORITHM + '\n' + time + '\n' + scope + '\n'
            + sha256(canonical.getBytes(StandardCharsets.UTF_8), -1);
        byte[] key = ("AWS4" + who.secretKey()).getBytes(StandardCharsets.UTF_8);
        for (final String part : scope.split("/")) {
            key = hmac(key, part);
        }
        added.put("authorization", ALGORITHM + " Credential=" + who.accessKeyId() + '/' + scope + ",SignedHeaders="
            + names + ",Signature=" + HexFormat.of().formatHex(hmac(key, text)));
        return added;
    }

    private static String trimmed(final String value) {
        return value.strip().replaceAll(" +", " ");
    }

    /** A query as it is signed and sent. */
    static String query(final SortedMap<String, String> query) {
        final SortedMap<String, String> encoded = new TreeMap<>();
        for (final Map.Entry<String, String> one : query.entrySet()) {
            encoded.put(encoded(one.getKey(), false), encoded(one.getValue(), false));
        }
        return encoded.entrySet().stream().map(one -> one.getKey() + '=' + one.getValue())
            .collect(Collectors.joining("&"));
    }

    /** A text with everything percent-encoded that is no letter, digit or one of {@code -_.~}. */
    static String encoded(final String text, final boolean isPath) {
        final StringBuilder encoded = new StringBuilder(text.length());
        for (final byte one : text.getBytes(StandardCharsets.UTF_8)) {
            if (PLAIN.indexOf(one) >= 0 || isPath && one == '/') {
                encoded.append((char) one);
            } else {
                encoded.append('%').append(String.format(Locale.ROOT, "%02X", one));
            }
        }
        return encoded.toString();
    }

    /** SHA-256 of the first bytes, or of all for -1, in hexadecimal digits. */
    static String sha256(final byte[] bytes, final int length) {
        try {
            final MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update(bytes, 0, length < 0 ? bytes.length : length);
            return HexFormat.of().formatHex(digest.digest());
        } catch (final GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has SHA-256", e);
        }
    }

    private static byte[] hmac(final byte[] key, final String text) {
        try {
            final Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
        } catch (final GeneralSecurityException e) {
            throw new IllegalStateException("every JDK has HmacSHA256", e);
        }
    }
}
