package io.kvtier.store.snapshot.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.config.Environment;
import io.kvtier.store.snapshot.files.SnapshotStore;
import io.kvtier.store.snapshot.files.SnapshotStoreContract;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.InstantSource;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The contract with a server that is nobody's of this project: the one that {@code -Dkvtier.s3.endpoint} names, with
 * {@code -Dkvtier.s3.bucket}, {@code -Dkvtier.s3.region} and the environment's credentials. Each test has a prefix of
 * its own, and leaves nothing there.
 */
@ExtendWith(LeakCheck.class)
class S3ServerTest extends SnapshotStoreContract {
    /** The least that S3 takes for a part that is not the last. */
    private static final int PART = 5 << 20;
    private static final long TIMEOUT_MS = 60_000;
    private static final int ATTEMPTS = 3;

    private static S3Settings base;
    private static S3Credentials.Source credentials;

    private S3Store store;

    @BeforeAll
    static void begin() {
        final String endpoint = System.getProperty("kvtier.s3.endpoint", "");
        NotExercised.require("s3", !endpoint.isEmpty(), "no server of S3 is named; -Dkvtier.s3.endpoint=URL does");
        base = new S3Settings(URI.create(endpoint), System.getProperty("kvtier.s3.region", "us-east-1"),
            System.getProperty("kvtier.s3.bucket", "kvtier"), "", true, TIMEOUT_MS, ATTEMPTS);
        credentials = S3Credentials.of(Environment.system());
    }

    private static S3Settings below(final String prefix) {
        return new S3Settings(base.endpoint(), base.region(), base.bucket(), prefix, base.pathStyle(), base.timeoutMs(),
            base.attempts());
    }

    private static S3Store open(final S3Settings settings, final S3Credentials.Source who) throws IOException {
        return S3Store.open(new S3Client(settings, who, InstantSource.system(), S3Client.Pause.SLEEP,
            HttpClient.newBuilder()), PART);
    }

    @BeforeEach
    void openStore() throws IOException {
        store = open(below("kvtier-test/" + UUID.randomUUID() + '/'), credentials);
    }

    @AfterEach
    void closeStore() throws IOException {
        if (store != null) {
            for (final String name : store.names()) {
                store.delete(name);
            }
            store.close();
        }
    }

    @Override
    protected SnapshotStore store() {
        return store;
    }

    @Override
    protected int unit() {
        return PART;
    }

    @Test
    void shouldGiveUpWhatWasSentInPartsAndNotCommitted() throws IOException {
        final S3Settings settings = below("kvtier-test/" + UUID.randomUUID() + '/');
        try (S3Store first = open(settings, credentials)) {
            final SnapshotStore.Writing left = first.create("left");
            left.write(new byte[2 * PART], 2 * PART);
            // As if the master had died: it is not closed.
            try (S3Store next = open(settings, credentials)) {
                assertEquals(List.of(), next.names());
                // Some stores see it at the next part, some at the end.
                assertThrows(IOException.class, () -> {
                    left.write(new byte[1], 1);
                    left.commit();
                }, "its parts are gone");
                assertEquals(List.of(), next.names());
            }
        }
    }

    @Test
    void shouldBeRefusedWithAWrongSecret() {
        final IOException why = assertThrows(IOException.class, () -> open(below("kvtier-test/"), () ->
            new S3Credentials(credentials.get().accessKeyId(), "wrong", "")));
        assertTrue(why.getMessage().contains("SignatureDoesNotMatch"), why::getMessage);
    }

    @Test
    void shouldTakeNamesThatAreOnesOfAFileOnly() throws IOException {
        final byte[] bytes = PatternBytes.of(7, 100);
        put("a-B_9.x%2F +~=&", bytes);
        assertArrayEquals(bytes, get("a-B_9.x%2F +~=&"));
        assertEquals(List.of("a-B_9.x%2F +~=&"), store.names());
    }
}
