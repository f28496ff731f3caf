package io.kvtier.store.snapshot.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.BucketServer;
import io.kvtier.kit.BucketServer.Answer;
import io.kvtier.kit.Certificates;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.LogLines;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.snapshot.files.SnapshotStore;
import io.kvtier.store.snapshot.files.SnapshotStoreContract;
import io.kvtier.store.snapshot.files.StoreUnavailableException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The contract in a bucket, by either way to name it; and what a store or the network does that is not well. */
@ExtendWith(LeakCheck.class)
class S3StoreTest {
    private static final int PART = 4096;
    private static final String PREFIX = "kv/snapshots/c/";
    private static final long LONG_MS = 60_000;
    private static final int ATTEMPTS = 3;
    private static final Predicate<String> ANY = line -> true;

    private final BucketServer server = new BucketServer().smallParts().pagesOf(4);
    private final List<Long> pauses = new ArrayList<>();
    private S3Store store;

    @AfterEach
    void close() {
        if (store != null) {
            store.close();
        }
        server.close();
    }

    private static S3Credentials.Source credentials(final String secret) {
        return () -> new S3Credentials(BucketServer.KEY_ID, secret, "");
    }

    private S3Settings settings(final long timeoutMs) {
        return new S3Settings(URI.create(server.endpoint()), BucketServer.REGION, BucketServer.BUCKET, PREFIX, true,
            timeoutMs, ATTEMPTS);
    }

    private S3Store open(final S3Settings settings, final String secret, final HttpClient.Builder http)
        throws IOException {
        store = S3Store.open(new S3Client(settings, credentials(secret), InstantSource.system(), pauses::add, http),
            PART);
        return store;
    }

    private S3Store open() throws IOException {
        return open(settings(LONG_MS), BucketServer.SECRET, HttpClient.newBuilder());
    }

    /** The bucket's name is in the path. */
    @Nested
    class PathStyle extends SnapshotStoreContract {
        @BeforeEach
        void openStore() throws IOException {
            open();
        }

        @Override
        protected SnapshotStore store() {
            return store;
        }

        @Override
        protected int unit() {
            return PART;
        }
    }

    /** It is in front of the host, which a proxy knows the way to. */
    @Nested
    class VirtualHostStyle extends SnapshotStoreContract {
        @BeforeEach
        void openStore() throws IOException {
            open(new S3Settings(URI.create("http://s3.example.com"), BucketServer.REGION, BucketServer.BUCKET, PREFIX,
                false, LONG_MS, ATTEMPTS), BucketServer.SECRET,
                HttpClient.newBuilder().proxy(ProxySelector.of(server.address())));
        }

        @Override
        protected SnapshotStore store() {
            return store;
        }

        @Override
        protected int unit() {
            return PART;
        }
    }

    private static void put(final SnapshotStore store, final String name, final byte[] bytes) throws IOException {
        try (SnapshotStore.Writing out = store.create(name)) {
            out.write(bytes, bytes.length);
            out.commit();
        }
    }

    private byte[] get(final String name) throws IOException {
        try (InputStream in = store.read(name)) {
            return in.readAllBytes();
        }
    }

    private String refused(final S3Settings settings, final String secret) {
        return assertThrows(IOException.class, () -> open(settings, secret, HttpClient.newBuilder())).getMessage();
    }

    @Test
    void shouldKeepToItsOwnPartOfTheBucket() throws IOException {
        server.objects().put("kv/snapshots/other/latest", new byte[1]);
        server.objects().put(PREFIX, new byte[0]);
        server.objects().put(PREFIX + "deeper/latest", new byte[1]);
        server.objects().put(PREFIX + "strange +&\u00e4", new byte[1]);
        open();
        put(store, "latest", new byte[] {7});

        assertArrayEquals(new byte[] {7}, server.objects().get(PREFIX + "latest"));
        final List<String> names = new ArrayList<>(store.names());
        names.sort(null);
        assertEquals(List.of("latest", "strange +&\u00e4"), names);
        assertEquals("s3://kv-bucket/kv/snapshots/c/ at " + server.endpoint(), store.toString());
    }

    @Test
    void shouldSendWhatFitsIntoAPartInOneRequestAndMoreInParts() throws IOException {
        open();
        server.log().clear();
        put(store, "small", new byte[PART]);
        assertEquals(List.of("PUT " + PREFIX + "small"), server.log());
        put(store, "large", new byte[2 * PART + 1]);
        assertEquals(6, server.log().size(), "begun, three parts, completed: " + server.log());
        assertEquals(2 * PART + 1, server.objects().get(PREFIX + "large").length);
        assertEquals(0, server.uploads());
    }

    @Test
    void shouldGiveUpPartsOfWhatIsNotCommitted() throws IOException {
        open();
        try (SnapshotStore.Writing out = store.create("large")) {
            out.write(new byte[3 * PART], 3 * PART);
            assertEquals(1, server.uploads());
        }
        assertEquals(0, server.uploads());
        assertEquals(List.of(), store.names());
    }

    @Test
    void shouldGiveUpWhatAMasterThatDiedHasSentInParts() throws IOException {
        open();
        try (SnapshotStore.Writing out = store.create("large")) {
            out.write(new byte[3 * PART], 3 * PART);
            // As if it died: what would give them up fails.
            server.instead(line -> line.startsWith("DELETE"), 1, real -> Answer.error(403, "AccessDenied", ""));
        }
        assertEquals(1, server.uploads());
        store.close();
        open();
        assertEquals(0, server.uploads());
    }

    @Test
    void shouldBeginAllTheSameWhenItMayNotGiveUpWhatWasSentInParts() throws IOException {
        server.instead(line -> line.contains("uploads"), 1, real -> Answer.error(403, "AccessDenied", ""));
        try (LogLines log = new LogLines(S3Store.class)) {
            open();
            assertEquals(1, log.with("takes room").size());
        }
        put(store, "a", new byte[1]);
        assertEquals(List.of("a"), store.names());
    }

    /** What goes well another time is not heard of; each kind of failure strikes each kind of request. */
    @ParameterizedTest
    @ValueSource(strings = {"503 SlowDown", "500 InternalError", "429 TooManyRequests", "400 RequestTimeout", "drop",
        "done and dropped"})
    void shouldTryAgainWhatMayGoWellAnotherTime(final String kind) throws IOException {
        open();
        final BucketServer.Instead fault = switch (kind) {
            case "drop" -> real -> null;
            case "done and dropped" -> real -> {
                real.answer();
                return null;
            };
            default -> real -> Answer.error(Integer.parseInt(kind.substring(0, 3)), kind.substring(4), "");
        };
        final byte[] large = PatternBytes.of(1, 2 * PART + 5);
        for (final String of : List.of("POST .*uploads.*", "PUT .*partNumber=2.*", "POST .*uploadId.*", "PUT .*small",
            "GET .*small", "GET \\?.*prefix.*", "DELETE .*small")) {
            server.instead(line -> line.matches(of), ATTEMPTS - 1, fault);
        }
        put(store, "large", large);
        put(store, "small", new byte[] {3});
        assertArrayEquals(new byte[] {3}, get("small"));
        assertArrayEquals(large, get("large"));
        assertEquals(2, store.names().size());
        store.delete("small");
        assertEquals(List.of("large"), store.names());
        assertEquals(0, server.faults(), "each request was struck as often as it was to be");
        if (kind.contains("drop")) {
            // The JDK's client asks again by itself, once, where a connection that it has used before ends at a GET.
            assertTrue(pauses.size() <= 7 * (ATTEMPTS - 1) && pauses.size() >= 4 * (ATTEMPTS - 1), () -> "" + pauses);
            return;
        }
        assertEquals(7 * (ATTEMPTS - 1), pauses.size(), "one pause before each further try");
        for (int i = 0; i < pauses.size(); i++) {
            final long longest = i % 2 == 0 ? 200 : 400;
            assertTrue(pauses.get(i) >= longest / 2 && pauses.get(i) <= longest, () -> "" + pauses);
        }
    }

    @Test
    void shouldSayHowOftenItHasTried() throws IOException {
        open();
        server.instead(ANY, ATTEMPTS, real -> Answer.error(503, "SlowDown", ""));
        final String why = assertThrows(IOException.class, () -> put(store, "a", new byte[1])).getMessage();
        assertTrue(why.contains("PUT of s3://kv-bucket/kv/snapshots/c/ at ") && why.contains("object " + PREFIX + "a")
            && why.contains("was tried 3 times (snapshot_s3_attempts), the last time: answered by 503 SlowDown (told); "
            + "look at the store's own log"), why);
    }

    @Test
    void shouldNotWaitForAnAnswerForever() throws Exception {
        open().close();
        final CountDownLatch end = new CountDownLatch(1);
        server.instead(line -> line.startsWith("PUT"), ATTEMPTS - 1, real -> {
            try {
                end.await();
            } catch (final InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            return null;
        });
        open(settings(300), BucketServer.SECRET, HttpClient.newBuilder());
        put(store, "a", new byte[] {5});
        end.countDown();
        assertArrayEquals(new byte[] {5}, get("a"));
        assertEquals(ATTEMPTS - 1, pauses.size());
    }

    @Test
    void shouldSayThatNobodyAnswers() {
        final String endpoint = server.endpoint();
        server.close();
        final String why = refused(settings(LONG_MS), BucketServer.SECRET);
        assertTrue(why.contains(endpoint) && why.contains("nobody takes connections at 127.0.0.1:")
            && why.contains("look whether the store runs and this host reaches it"), why);
    }

    /** Names that end in 'invalid' lead nowhere, by RFC 6761. */
    @Test
    void shouldSayThatItsNameLeadsNowhere() {
        final String why = refused(new S3Settings(URI.create("http://store.invalid"), BucketServer.REGION,
            BucketServer.BUCKET, PREFIX, false, LONG_MS, ATTEMPTS), BucketServer.SECRET);
        assertTrue(why.contains("the name kv-bucket.store.invalid leads nowhere")
            && why.contains("snapshot_s3_addressing"), why);
    }

    @Test
    void shouldSpeakTlsToWhomItTrusts(@TempDir final Path directory) throws Exception {
        final Path pair = Certificates.pair(directory, "store");
        try (BucketServer secure = new BucketServer(Certificates.context(pair, pair))) {
            final S3Settings settings = new S3Settings(URI.create(secure.endpoint()), BucketServer.REGION,
                BucketServer.BUCKET, PREFIX, true, LONG_MS, ATTEMPTS);
            open(settings, BucketServer.SECRET, HttpClient.newBuilder().sslContext(Certificates.context(null, pair)));
            put(store, "a", new byte[] {4});
            assertArrayEquals(new byte[] {4}, get("a"));

            final String why = refused(settings, BucketServer.SECRET);
            assertTrue(why.contains("its certificate is not trusted here")
                && why.contains("-Djavax.net.ssl.trustStore"), why);
            final String plain = refused(new S3Settings(URI.create(secure.endpoint().replace("https", "http")),
                BucketServer.REGION, BucketServer.BUCKET, PREFIX, true, LONG_MS, 1), BucketServer.SECRET);
            assertTrue(plain.contains("look "), plain);
            assertEquals(List.of(), pauses);
        }
    }

    @Test
    void shouldEndByAnInterrupt() throws IOException {
        open();
        server.instead(ANY, 1, real -> Answer.error(503, "SlowDown", ""));
        Thread.currentThread().interrupt();
        assertThrows(InterruptedIOException.class, () -> store.names());
        assertTrue(Thread.interrupted());
    }

    @Test
    void shouldSayThatTheSecretIsWrong() {
        final String why = refused(settings(LONG_MS), BucketServer.SECRET + 'x');
        assertTrue(why.contains("403 SignatureDoesNotMatch")
            && why.contains("look at snapshot_s3_credentials_file or AWS_SECRET_ACCESS_KEY"), why);
        assertFalse(why.contains(BucketServer.SECRET));
        assertEquals(List.of(), pauses, "that does not go well another time");
    }

    @Test
    void shouldSayThatTheClockIsWrong() {
        final String why = assertThrows(S3Failure.class, () -> S3Store.open(new S3Client(settings(LONG_MS),
            credentials(BucketServer.SECRET), Clock.offset(Clock.systemUTC(), Duration.ofMinutes(-16)), pauses::add,
            HttpClient.newBuilder()), PART)).getMessage();
        assertTrue(why.contains("403 RequestTimeTooSkewed") && why.contains("clocks"), why);
        assertEquals(List.of(), pauses);
    }

    @Test
    void shouldSayWhichRegionTheBucketIsIn() {
        final String why = refused(new S3Settings(URI.create(server.endpoint()), "us-east-1", BucketServer.BUCKET,
            PREFIX, true, LONG_MS, ATTEMPTS), BucketServer.SECRET);
        assertTrue(why.contains("the bucket is in region eu-test-1 and snapshot_s3_region is us-east-1"), why);
    }

    @Test
    void shouldSayThatThereIsNoSuchBucket() {
        final String why = refused(new S3Settings(URI.create(server.endpoint()), BucketServer.REGION, "another", PREFIX,
            true, LONG_MS, ATTEMPTS), BucketServer.SECRET);
        assertTrue(why.contains("404 NoSuchBucket") && why.contains("let snapshot_s3_bucket name another one"), why);
    }

    @ParameterizedTest
    @CsvSource({"403,RequestTimeTooSkewed,clocks", "403,AccessDenied,s3:PutObject", "403,ExpiredToken,renew",
        "400,EntityTooLarge,use another store", "418,Odd,snapshot_s3_"})
    void shouldSayWhatToDo(final int status, final String code, final String remedy) throws IOException {
        open();
        server.instead(ANY, 1, real -> Answer.error(status, code, ""));
        final String why = assertThrows(S3Failure.class, () -> put(store, "a", new byte[1])).getMessage();
        assertTrue(why.contains(status + " " + code + " (told)") && why.contains(remedy), why);
    }

    @Test
    void shouldTakeLittleOfWhatAStoreSays() throws IOException {
        open();
        server.instead(ANY, 1, real -> new Answer(400, Map.of(), ("<Error><Code>Odd</Code><Message>a\nforged line"
            + "x".repeat(1 << 20) + "</Message></Error>").getBytes(StandardCharsets.UTF_8)));
        final String why = assertThrows(S3Failure.class, () -> put(store, "a", new byte[1])).getMessage();
        assertTrue(why.contains("Odd (a forged linexxx") && why.length() < 1000 && !why.contains("\n"), why);
    }

    @Test
    void shouldTakeNoListThatIsLargerThanAnyOfS3() {
        server.instead(ANY, ATTEMPTS, real -> new Answer(200, Map.of(), new byte[S3Request.MOST_XML + 1]));
        final String why = refused(settings(LONG_MS), BucketServer.SECRET);
        assertTrue(why.contains("more than 16777216 bytes") && why.contains("speaks S3"), why);
        assertEquals(List.of(), pauses, "that does not go well another time");
    }

    @Test
    void shouldNotTakeAPlaceThatIsFullOfOtherObjects() {
        final StringBuilder page = new StringBuilder("<ListBucketResult>");
        for (int i = 0; i < 100_001; i++) {
            page.append("<Contents><Key>").append(PREFIX).append(i).append("</Key></Contents>");
        }
        final byte[] list = page.append("</ListBucketResult>").toString().getBytes(StandardCharsets.UTF_8);
        server.instead(ANY, 1, real -> new Answer(200, Map.of(), list));
        final String why = refused(settings(LONG_MS), BucketServer.SECRET);
        assertTrue(why.contains("more than 100000 objects") && why.contains("snapshot_s3_prefix"), why);
    }

    /** What is not reached now may be whole: a master that took an older one would put that in its place. */
    @ParameterizedTest
    @CsvSource({"503,SlowDown", "403,AccessDenied"})
    void shouldNotPassOverASnapshotThatTheStoreDoesNotGive(final int status, final String code) throws IOException {
        open();
        SnapshotStoreContract.writeSnapshots(store, 2);
        server.instead(line -> line.matches("GET [^?]*-0000000002\\.payload"), ATTEMPTS, real ->
            Answer.error(status, code, ""));
        final String why = assertThrows(StoreUnavailableException.class, () ->
            SnapshotStoreContract.newest(store)).getMessage();
        assertTrue(why.contains(code), why);
    }

    /** Aborting asks for the id of an upload: without one the same request deletes the object. */
    @Test
    void shouldGiveUpNothingThatIsNotItsOwn() throws IOException {
        server.objects().put("other", new byte[1]);
        server.objects().put(PREFIX + "latest", new byte[1]);
        server.instead(line -> line.contains("uploads"), 1, real -> new Answer(200, Map.of(),
            ("<ListMultipartUploadsResult><Upload><Key>other</Key><UploadId>1</UploadId></Upload><Upload><Key>" + PREFIX
                + "latest</Key></Upload></ListMultipartUploadsResult>").getBytes(StandardCharsets.UTF_8)));
        open();
        assertEquals(2, server.objects().size());
        assertTrue(server.log().stream().noneMatch(line -> line.startsWith("DELETE")), () -> "" + server.log());
    }

    /** A server that only redirects, or is none of S3, gives no reason in XML. */
    @ParameterizedTest
    @CsvSource({"301,name its own one", "404,look at snapshot_s3_endpoint", "200,not XML as S3 has it"})
    void shouldSayThatThisIsNoStore(final int status, final String remedy) {
        server.instead(ANY, ATTEMPTS, real -> new Answer(status, Map.of("Location", "http://127.0.0.1:1/"),
            "<html><p>hello".getBytes(StandardCharsets.UTF_8)));
        assertTrue(refused(settings(LONG_MS), BucketServer.SECRET).contains(remedy));
    }

    /** A store begins to answer that it is well before it knows. */
    @Test
    void shouldNotTakeAnErrorForAnObjectThatIsComplete() throws IOException {
        open();
        server.instead(line -> line.matches("POST .*uploadId.*"), 1, real ->
            new Answer(200, Map.of(), Answer.error(200, "InternalError", "").body()));
        put(store, "large", new byte[2 * PART]);
        assertEquals(1, pauses.size());
        server.instead(line -> line.matches("POST .*uploadId.*"), 1, real ->
            new Answer(200, Map.of(), Answer.error(200, "InvalidPart", "").body()));
        assertThrows(S3Failure.class, () -> put(store, "other", new byte[2 * PART]));
        assertEquals(List.of("large"), store.names());
        assertEquals(0, server.uploads());
    }

    /** Completed, not heard, and not there: somebody else has given the upload up. */
    @Test
    void shouldNotTakeAnUploadThatIsGoneForOneThatIsComplete() throws IOException {
        open();
        server.instead(line -> line.matches("POST .*uploadId.*"), 1, real -> Answer.error(404, "NoSuchUpload", ""));
        server.objects().put(PREFIX + "large", new byte[3]);
        assertThrows(S3Failure.class, () -> put(store, "large", new byte[2 * PART]));
    }

    @Test
    void shouldNotMixTwoObjectsOfAName() throws IOException {
        open();
        put(store, "a", PatternBytes.of(1, 2 * PART));
        try (InputStream in = store.read("a")) {
            in.readNBytes(PART);
            put(store, "a", PatternBytes.of(2, 2 * PART));
            assertTrue(assertThrows(IOException.class, () -> in.readNBytes(PART)).getMessage()
                .contains("a was replaced or deleted while it was read, at byte 4096"));
        }
        try (InputStream in = store.read("a")) {
            in.readNBytes(PART);
            store.delete("a");
            final IOException why = assertThrows(IOException.class, () -> in.readNBytes(PART));
            assertFalse(why instanceof NoSuchFileException, "it was there");
        }
    }

    @Test
    void shouldRefuseMoreThanItHasAskedFor() throws IOException {
        open();
        put(store, "large", new byte[3 * PART]);
        server.withoutRanges();
        assertTrue(assertThrows(IOException.class, () -> store.read("large")).getMessage()
            .contains("more than 4096 bytes"));
        put(store, "small", new byte[] {1, 2});
        assertArrayEquals(new byte[] {1, 2}, get("small"), "the whole is what it has asked for");
    }

    @Test
    void shouldReadNoDocumentThatAnAnswerNames() {
        server.instead(ANY, ATTEMPTS, real -> new Answer(200, Map.of(), ("<!DOCTYPE a [<!ENTITY e SYSTEM "
            + "\"file:///etc/hostname\">]><ListBucketResult><Contents><Key>&e;</Key></Contents></ListBucketResult>")
            .getBytes(StandardCharsets.UTF_8)));
        assertTrue(refused(settings(LONG_MS), BucketServer.SECRET).contains("not XML as S3 has it"));
    }

    @Test
    void shouldNotListForeverWhatDoesNotEnd() {
        server.instead(ANY, 2, real -> new Answer(200, Map.of(), ("<ListBucketResult><IsTruncated>true</IsTruncated>"
            + "<NextContinuationToken>x</NextContinuationToken></ListBucketResult>").getBytes(StandardCharsets.UTF_8)));
        assertTrue(refused(settings(LONG_MS), BucketServer.SECRET).contains("does not say where"));
    }

    @Test
    void shouldAskForCredentialsEachTime() throws IOException {
        final String[] secret = {BucketServer.SECRET};
        store = S3Store.open(new S3Client(settings(LONG_MS), () -> new S3Credentials(BucketServer.KEY_ID, secret[0],
            ""), InstantSource.system(), pauses::add, HttpClient.newBuilder()), PART);
        secret[0] = "out of date";
        assertThrows(S3Failure.class, () -> store.names());
        secret[0] = BucketServer.SECRET;
        assertEquals(List.of(), store.names());
    }
}
