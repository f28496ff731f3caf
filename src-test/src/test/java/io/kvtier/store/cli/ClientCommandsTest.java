package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Certificates;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.Store;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.config.SecurityFiles;
import io.kvtier.store.master.MasterServer;
import io.kvtier.transport.rpc.RpcServerConfig;
import java.io.IOException;
import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The commands of a client, against a master and a node of this process. */
@ExtendWith(LeakCheck.class)
class ClientCommandsTest {
    private static final long LEASE_MS = 600_000;
    private static final MasterSettings SETTINGS = new MasterSettings(new MasterSettings.Eviction(1, 0, 1, 0, true),
        LEASE_MS, true, 1_000, new MasterSettings.Liveness(10_000, 30_000, 600_000, 3), MasterSettings.Pins.DEFAULT,
        MasterSettings.Tasks.DEFAULT, false, MasterSettings.Strategy.RANDOM);

    @TempDir
    private Path directory;
    private MasterServer master;
    private Store node;

    @BeforeEach
    void start() throws IOException {
        master = MasterServer.start(RpcServerConfig.loopback(0), SETTINGS);
        node = Store.connect(ConnectConfig.builder("127.0.0.1", master.address().getPort()).memoryBytes(64 << 20)
            .shm(false).build());
    }

    @AfterEach
    void close() {
        node.close();
        master.close();
    }

    @Test
    void shouldStoreAFileAndGiveItBack() throws IOException {
        final byte[] value = PatternBytes.of(1, 20 << 20);
        final Path file = Files.write(directory.resolve("value"), value);
        assertEquals("", run("put", "key", file.toString(), "--checksum", "--replicas", "3").done().out());
        final Path back = directory.resolve("back");
        Files.write(back, new byte[] {1});
        assertEquals("", run("get", "key", back.toString()).done().out());
        assertArrayEquals(value, Files.readAllBytes(back));
        try (Stream<Path> files = Files.list(directory)) {
            assertEquals(2, files.count(), "no part is left");
        }
    }

    @Test
    void shouldSayWhatIsWrongInTheConfigurationOfTheTransports() {
        System.setProperty("MC_TENT_CONF", "{\"transports\": {\"tcp\": {\"max_retry_count\": \"often\"}}}");
        try {
            final CommandRun command = run("stat", "key");
            assertEquals(2, command.status());
            assertEquals("kvtier stat: INVALID_PARAMS: MC_TENT_CONF: 'transports/tcp/max_retry_count' is often; it "
                + "must be a whole number from 0 to 1000\n", command.err());
        } finally {
            System.clearProperty("MC_TENT_CONF");
        }
    }

    @Test
    void shouldSayInAWordWhyItDidNot() throws IOException {
        final Path file = Files.write(directory.resolve("value"), PatternBytes.of(1, 10));
        run("put", "key", file.toString()).done();
        assertFailure("ALREADY_EXISTS", run("put", "key", file.toString()));
        run("put", "--replace", "key", file.toString()).done();
        assertFailure("OBJECT_NOT_FOUND", run("get", "nothing", "-"));
        assertFailure("OBJECT_NOT_FOUND", run("stat", "nothing"));
        assertFailure("OBJECT_NOT_FOUND", run("rm", "nothing"));
        run("exists", "key").done();
        assertFailure("LEASED", run("rm", "key"));
        run("rm", "--force", "key").done();
        assertFailure("no-such-file: there is no such file", run("put", "key",
            directory.resolve("no-such-file").toString()));
        assertFalse(node.exists(ObjectKey.of("key")));
        node.close();
        assertFailure("NO_SPACE", run("put", "key", file.toString()));
    }

    @Test
    void shouldListAndCountAndRemove() throws IOException {
        final Path file = Files.write(directory.resolve("value"), PatternBytes.of(1, 10));
        for (final String key : List.of("b", "a", "c")) {
            run("put", key, file.toString()).done();
        }
        run("put", "--tenant", "other", "d", file.toString()).done();
        assertEquals("10\ta\n10\tb\n10\tc\n", run("ls").done().out());
        assertEquals("10\tb\n", run("ls", "^b").done().out());
        assertEquals("10\tdefault\ta\n10\tdefault\tb\n10\tdefault\tc\n10\tother\td\n",
            run("ls", "--all-tenants").done().out());
        assertEquals("10\tMEMORY\n", run("stat", "a").done().out());
        assertEquals("3\n", run("rm", "--match", "").done().out());
        assertEquals("true\nfalse\n", run("exists", "--tenant", "other", "d", "a").out());
        assertEquals(1, run("exists", "--tenant", "other", "d", "a").status());
    }

    /** A line is a value, and a terminal shows it, whatever its name is. */
    @Test
    void shouldShowANameThatWouldControlATerminal() {
        final String key = "a\n99\tforged\u001b]0;title\u0007\u202e";
        try (Arena arena = Arena.ofConfined()) {
            node.put(ObjectKey.of(key), arena.allocate(10));
        }
        assertEquals("10\ta\\u000a99\\u0009forged\\u001b]0;title\\u0007\\u202e\n", run("ls").done().out());
        final CommandRun get = run("get", key + "x", "-");
        assertEquals(1, get.status());
        assertTrue(get.err().contains("default/a\\u000a99"), get.err());
        assertEquals(1, get.err().lines().count(), get.err());
    }

    @Test
    void shouldTellWrongUse() {
        assertEquals(2, run("rm").status());
        assertEquals(2, run("rm", "key", "--match", "x").status());
        assertEquals(2, run("ls", "(").status());
        assertEquals(2, run("put", "key").status());
        assertEquals(2, run("put", "", "-").status());
        assertEquals(2, run("put", "key", "-", "--replicas", "0").status());
        assertEquals(2, run("node", "--memory-bytes", "0").status());
        assertEquals(2, run("node", "--disk-bytes", "1G").status());
        assertEquals(2, run("node", "--nof-device", "/x:17T").status());
        assertEquals(2, run("node", "--gds-transport", "rdma").status());
        assertEquals(2, run("put", "key", "-", "--replicas", "0", "--nof-replicas", "0").status());
        final CommandRun unnamed = CommandRun.of("ls", "--master", "nowhere:x");
        assertEquals(2, unnamed.status());
        assertTrue(unnamed.err().contains("--master: 'nowhere:x' is not host:port"), unnamed.err());
        final CommandRun secret = run("ls", "--secret-file", directory.resolve("absent").toString());
        assertEquals(2, secret.status());
        assertTrue(secret.err().contains("absent cannot be read (there is no such file)"), secret.err());
        final CommandRun open = run("node", "--listen", "0.0.0.0", "--advertise", "127.0.0.1");
        assertEquals(2, open.status());
        assertTrue(open.err().contains("0.0.0.0") && open.err().contains("secret"), open.err());
        for (final String all : List.of("0.0.0.0", "::")) {
            final CommandRun nowhere = run("node", "--listen", all, "--insecure");
            assertEquals(2, nowhere.status());
            assertTrue(nowhere.err().contains("bindHost is " + all) && nowhere.err().contains("--advertise"),
                nowhere.err());
        }
    }

    /** Who lends nothing is called by nobody, so it needs no certificate unless the master asks for one. */
    @Test
    void shouldTrustAMasterAndShowNoCertificate() throws IOException, InterruptedException {
        final Path authority = Certificates.authority(directory, "authority");
        final Path password = Files.writeString(directory.resolve("password"), Certificates.PASSWORD);
        final RpcServerConfig plain = RpcServerConfig.loopback(0);
        final RpcServerConfig secure = new RpcServerConfig(plain.address(), null,
            SecurityFiles.tls(Certificates.signed(authority, "server", 100), password, null), false, false,
            plain.maxConnections(), plain.maxBodyBytes(), plain.handshakeTimeoutMs(), plain.drainTimeoutMs(),
            plain.stallTimeoutMs());
        try (MasterServer another = MasterServer.start(secure, SETTINGS)) {
            final String[] trusting = {"--master", "127.0.0.1:" + another.address().getPort(), "--tls-truststore",
                authority.toString(), "--tls-password-file", password.toString()};
            assertEquals("", CommandRun.of(with(trusting, "ls")).done().out());
            final CommandRun node = CommandRun.of(with(trusting, "node"));
            assertEquals(2, node.status());
            assertTrue(node.err().contains("--tls-truststore needs --tls-keystore"), node.err());
        }
    }

    private static String[] with(final String[] options, final String... command) {
        return Stream.concat(Stream.of(command), Stream.of(options)).toArray(String[]::new);
    }

    /** A literal without brackets was taken for a host and a port. */
    @Test
    void shouldReachAMasterByAnIpv6Address() throws IOException {
        NotExercised.require("IPv6", hasIpv6(), "this machine has no address ::1");
        final RpcServerConfig four = RpcServerConfig.loopback(0);
        final String address;
        try (MasterServer six = MasterServer.start(new RpcServerConfig(new InetSocketAddress("::1", 0), null, null,
            false, false, four.maxConnections(), four.maxBodyBytes(), four.handshakeTimeoutMs(), four.drainTimeoutMs(),
            four.stallTimeoutMs()), SETTINGS)) {
            address = "[::1]:" + six.address().getPort();
            assertFailure("OBJECT_NOT_FOUND", CommandRun.of("stat", "nothing", "--no-shm", "--master", address));
        }
        assertFailure("the master at " + address + " does not answer",
            CommandRun.of("stat", "nothing", "--no-shm", "--rpc-timeout-ms=200", "--master", address));
        final CommandRun bare = CommandRun.of("stat", "key", "--master", "::1");
        assertEquals(2, bare.status());
        assertTrue(bare.err().contains("--master: '::1' is not host:port"), bare.err());
    }

    private static boolean hasIpv6() throws IOException {
        return NetworkInterface.networkInterfaces().flatMap(NetworkInterface::inetAddresses)
            .anyMatch(one -> one instanceof Inet6Address && one.isLoopbackAddress());
    }

    private CommandRun run(final String name, final String... arguments) {
        return CommandRun.of(Stream.concat(Stream.of(name, "--no-shm", "--master",
            "127.0.0.1:" + master.address().getPort()), Stream.of(arguments)).toArray(String[]::new));
    }

    private static void assertFailure(final String word, final CommandRun run) {
        assertEquals(1, run.status(), run.out() + run.err());
        assertTrue(run.err().contains(word), run.err());
        assertEquals("", run.out());
    }
}
