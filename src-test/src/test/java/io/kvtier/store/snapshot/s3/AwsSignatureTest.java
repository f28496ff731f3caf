package io.kvtier.store.snapshot.s3;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kvtier.kit.SignedRequests;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The examples of the S3 API reference, "Signature Calculations for the Authorization Header: Transferring Payload in a
 * Single Chunk": they are right for the code that signs and for the test's own that looks at signatures.
 */
class AwsSignatureTest {
    private static final String REGION = "us-east-1";
    private static final S3Credentials EXAMPLE = new S3Credentials("AKIAIOSFODNN7EXAMPLE",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "");
    private static final Instant WHEN = Instant.parse("2013-05-24T00:00:00Z");
    private static final String HOST = "examplebucket.s3.amazonaws.com";

    record Example(String method, String path, Map<String, String> query, Map<String, String> headers, String body,
                   String signature) {
    }

    static Stream<Example> examples() {
        return Stream.of(
            new Example("GET", "/test.txt", Map.of(), Map.of("range", "bytes=0-9"), "",
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
            new Example("PUT", "/test$file.text", Map.of(), Map.of("date", "Fri, 24 May 2013 00:00:00 GMT",
                "x-amz-storage-class", "REDUCED_REDUNDANCY"), "Welcome to Amazon S3.",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
            new Example("GET", "/", Map.of("lifecycle", ""), Map.of(), "",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
            new Example("GET", "/", Map.of("max-keys", "2", "prefix", "J"), Map.of(), "",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
    }

    private static SortedMap<String, String> signed(final Example example, final S3Credentials who) {
        final SortedMap<String, String> headers = new TreeMap<>(example.headers());
        headers.put("host", HOST);
        headers.putAll(AwsSignature.headers(new AwsSignature.Request(example.method(),
            AwsSignature.encoded(example.path(), true), new TreeMap<>(example.query()), headers),
            AwsSignature.sha256(example.body().getBytes(StandardCharsets.UTF_8), example.body().length()), REGION, who,
            WHEN));
        return headers;
    }

    @ParameterizedTest
    @MethodSource("examples")
    void shouldSignAsTheReferenceDoes(final Example example) {
        final SortedMap<String, String> headers = signed(example, EXAMPLE);
        assertEquals("20130524T000000Z", headers.get("x-amz-date"));
        final String names = String.join(";", headers.keySet().stream().filter(name -> !name.equals("authorization"))
            .toList());
        assertEquals("AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            + "SignedHeaders=" + names + ",Signature=" + example.signature(), headers.get("authorization"));
    }

    @ParameterizedTest
    @MethodSource("examples")
    void shouldBeLookedAtAsTheReferenceDoes(final Example example) {
        final SortedMap<String, String> headers = signed(example, EXAMPLE);
        final String path = example.path().replace("$", "%24");
        final SignedRequests.Received received = new SignedRequests.Received(example.method(), path,
            example.query().isEmpty() ? null : AwsSignature.query(new TreeMap<>(example.query())), headers::get,
            example.body().getBytes(StandardCharsets.UTF_8));
        assertNull(SignedRequests.fault(received, EXAMPLE.accessKeyId(), EXAMPLE.secretKey(), REGION, WHEN));
        assertEquals("SignatureDoesNotMatch",
            SignedRequests.fault(received, EXAMPLE.accessKeyId(), EXAMPLE.secretKey() + 'x', REGION, WHEN));
        assertEquals("RequestTimeTooSkewed", SignedRequests.fault(received, EXAMPLE.accessKeyId(), EXAMPLE.secretKey(),
            REGION, WHEN.plusSeconds(901)));
        assertEquals("InvalidAccessKeyId", SignedRequests.fault(received, "OTHER", EXAMPLE.secretKey(), REGION, WHEN));
    }

    @Test
    void shouldSendATokenAndSignIt() {
        final SortedMap<String, String> headers =
            signed(examples().findFirst().orElseThrow(), new S3Credentials("id", "secret", "a token"));
        assertEquals("a token", headers.get("x-amz-security-token"));
        assertEquals("host;range;x-amz-content-sha256;x-amz-date;x-amz-security-token",
            headers.get("authorization").replaceAll(".*SignedHeaders=([^,]*),.*", "$1"));
    }

    @Test
    void shouldEncodeEveryByteThatIsNotPlain() {
        assertEquals("a/b%20%2B%25%2A%3D~-_.%C3%A4", AwsSignature.encoded("a/b +%*=~-_.\u00e4", true));
        assertEquals("a%2Fb", AwsSignature.encoded("a/b", false));
        assertEquals("a=&a-b=1%202&b=%2F", AwsSignature.query(new TreeMap<>(Map.of("b", "/", "a", "", "a-b", "1 2"))));
    }

    @Test
    void shouldNotShowTheSecretOfCredentials() {
        assertEquals("credentials id", new S3Credentials("id", "secret", "token").toString());
    }
}
