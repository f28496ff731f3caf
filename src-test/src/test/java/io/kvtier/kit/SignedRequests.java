package io.kvtier.kit;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Looks at signatures as a store that speaks S3 does, by what came over the wire alone; written from the published
 * rules of Signature Version 4, without the code that signs.
 */
public final class SignedRequests {
    private static final Pattern AUTHORIZATION = Pattern.compile("AWS4-HMAC-SHA256 Credential=([^/]+)/(\\d{8})/([^/]+)"
        + "/s3/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})");

    private static final String TOKEN = "x-amz-security-token";
    private static final DateTimeFormatter TIME =
        DateTimeFormatter.ofPattern("uuuuMMdd'T'HHmmssX", Locale.ROOT).withZone(ZoneOffset.UTC);
    /** What S3 lets clocks differ by. */
    private static final Duration SKEW = Duration.ofMinutes(15);

    private SignedRequests() {
    }

    /**
     * What came.
     *
     * @param method   of HTTP.
     * @param rawPath  as it was sent.
     * @param rawQuery as it was sent; null for none.
     * @param headers  gives a header's value.
     * @param body     all of it.
     */
    public record Received(String method, String rawPath, String rawQuery, UnaryOperator<String> headers, byte[] body) {
    }

    /** Why a request is refused at a moment, as S3 calls it; null when it is signed with this secret. */
    public static String fault(final Received request, final String keyId, final String secret, final String region,
        final Instant now) {
        final String authorization = request.headers().apply("authorization");
        final Matcher parts = AUTHORIZATION.matcher(authorization == null ? "" : authorization);
        if (!parts.matches()) {
            return "AccessDenied";
        }
        final List<String> signed = List.of(parts.group(4).split(";"));
        if (!parts.group(1).equals(keyId)) {
            return "InvalidAccessKeyId";
        }
        if (!parts.group(3).equals(region)) {
            return "AuthorizationHeaderMalformed";
        }
        final String time = request.headers().apply("x-amz-date");
        final String payload = request.headers().apply("x-amz-content-sha256");
        if (!signed.containsAll(List.of("host", "x-amz-content-sha256", "x-amz-date")) || time == null
            || !time.startsWith(parts.group(2)) || request.headers().apply(TOKEN) != null && !signed.contains(TOKEN)) {
            return "AccessDenied";
        }
        if (Duration.between(Instant.from(TIME.parse(time)), now).abs().compareTo(SKEW) > 0) {
            return "RequestTimeTooSkewed";
        }
        if (!hex(sha256(request.body())).equals(payload)) {
            return "XAmzContentSHA256Mismatch";
        }
        final String scope = parts.group(2) + '/' + region + "/s3/aws4_request";
        final String text = "AWS4-HMAC-SHA256\n" + time + '\n' + scope + '\n'
            + hex(sha256(canonical(request, signed, payload).getBytes(StandardCharsets.UTF_8)));
        byte[] key = hmac(("AWS4" + secret).getBytes(StandardCharsets.UTF_8), parts.group(2));
        key = hmac(hmac(hmac(key, region), "s3"), "aws4_request");
        return hex(hmac(key, text)).equals(parts.group(5)) ? null : "SignatureDoesNotMatch";
    }

    private static String canonical(final Received request, final List<String> signed, final String payload) {
        final StringBuilder text = new StringBuilder(request.method()).append('\n').append(request.rawPath())
            .append('\n');
        final List<String> query = new ArrayList<>();
        if (request.rawQuery() != null) {
            Arrays.stream(request.rawQuery().split("&")).map(one -> one.contains("=") ? one : one + '=')
                .forEach(query::add);
        }
        query.sort(null);
        text.append(String.join("&", query)).append('\n');
        for (final String name : signed) {
            text.append(name).append(':').append(String.valueOf(request.headers().apply(name)).strip()).append('\n');
        }
        return text.append('\n').append(String.join(";", signed)).append('\n').append(payload).toString();
    }

    private static String hex(final byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    private static byte[] sha256(final byte[] bytes) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(bytes);
        } catch (final GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    private static byte[] hmac(final byte[] key, final String text) {
        try {
            final Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
        } catch (final GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }
}
