package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Certificates;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.config.SecurityFiles;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.SharedSecret;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** A store whose processes prove to one another who they are, and who does not get in. */
@ExtendWith(LeakCheck.class)
class SecureClusterTest {
    private static final ObjectKey KEY = ObjectKey.of("key");
    private static final String SECRET = "the secret of a test, long enough";
    private static final int MEMORY = 256 << 10;

    @TempDir
    private Path directory;

    private Path file(final String name, final String line) throws IOException {
        return Files.writeString(directory.resolve(name), line + "\n");
    }

    private Path log() {
        return directory.resolve("log");
    }

    private static void assertValue(final ConnectedStore client, final byte[] value, final ReplicaType tier) {
        final MemorySegment target = StoreContract.room(value.length);
        assertEquals(new GetOutcome(true, value.length, tier), client.get(KEY, target));
        assertArrayEquals(value, PatternBytes.copyOf(target));
    }

    /** Who is refused is told in words that name the place and what may be wrong, and never the secret. */
    private static void assertRefused(final String word, final ConnectConfig.Builder config) {
        final StoreException e = assertThrows(StoreException.class,
            () -> ConnectedStore.open(config.timeouts(1_000, 1_000).build(), StoreHooks.SYSTEM));
        assertFalse(e.getMessage().contains(SECRET), e.getMessage());
        assertTrue(e.getMessage().contains(word) && e.getMessage().contains("the master at 127.0.0.1:"),
            e.getMessage());
    }

    @Test
    void shouldServeWhoHasSecretAndCertificateAndRefuseOthersWithAWord() throws IOException, InterruptedException {
        final Path authority = Certificates.authority(directory, "authority");
        final Path server = Certificates.signed(authority, "server", 100);
        final Path member = Certificates.signed(authority, "member", 100);
        final Path expired = Certificates.signed(authority, "expired", 5);
        final Path stranger = Certificates.pair(directory, "stranger");
        final Path password = file("password", Certificates.PASSWORD);
        final Path secret = file("secret", SECRET);
        final SSLContext good = SecurityFiles.tls(member, password, authority);
        final SharedSecret known = SharedSecret.of(SECRET);
        try (ClusterProcesses cluster = new ClusterProcesses(log(), good, "--tls_keystore=" + server,
            "--tls_password_file=" + password, "--tls_truststore=" + authority, "--secret_file=" + secret)) {
            cluster.startNode("one", "--memory-bytes=" + MEMORY, "--disk-bytes=16M", "--dir",
                directory.resolve("disk").toString(), "--no-shm", "--secret-file=" + secret, "--tls-keystore=" + member,
                "--tls-password-file=" + password, "--tls-truststore=" + authority);
            final ConnectedStore client = cluster.join(cluster.config().secret(known).tls(good));
            final byte[] value = PatternBytes.of(1, 50_000);
            StoreContract.put(client, KEY, value);
            assertValue(client, value, ReplicaType.MEMORY);
            // The owner of the disk is asked over TLS too.
            StoreContract.fillUntilOnDisk(client, KEY, MEMORY);
            assertValue(client, value, ReplicaType.LOCAL_DISK);
            assertTrue(cluster.lends("one"), "over HTTPS");

            for (int i = 0; i < 3; i++) {
                assertRefused("the same secret",
                    cluster.config().secret(SharedSecret.of("another one, also long enough")).tls(good));
            }
            assertRefused("the same secret", cluster.config().tls(good));
            for (final Path other : List.of(expired, stranger)) {
                assertRefused("this client's certificate",
                    cluster.config().secret(known).tls(SecurityFiles.tls(other, password, authority)));
            }
            assertRefused("do not agree on TLS",
                cluster.config().secret(known).tls(SecurityFiles.tls(member, password, stranger)));
            assertRefused("if it wants TLS", cluster.config().secret(known));
            assertValue(client, value, ReplicaType.LOCAL_DISK);
            assertEquals(0, cluster.node("one").stop());
        }
        final String said = Files.readString(log());
        assertFalse(said.contains(SECRET), said);
        for (final String once : List.of("UNAUTHENTICATED (1 so far)", "a connection broke (1 so far)")) {
            assertEquals(2, said.split(Pattern.quote(once), -1).length, said);
        }
        assertFalse(said.contains("UNAUTHENTICATED (3 so far)"), said);
        assertTrue(said.contains("validity check failed"), said);
    }
}
