package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.BucketServer;
import io.kvtier.kit.Certificates;
import io.kvtier.kit.Commands;
import io.kvtier.kit.Crowd;
import io.kvtier.kit.Json;
import io.kvtier.kit.PrometheusText;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.wire.RemoteMaster;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.SharedSecret;
import io.kvtier.transport.rpc.RpcClientConfig;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A master as a process: started, asked over both of its ports, and ended. */
class MasterProcessTest {
    /** Of each crowd; ten thousand come to the servers themselves, in tests without processes between. */
    private static final int ATTEMPTS = 600;
    private static final Pattern READY = Pattern.compile("kvtier master ready: calls "
        + "(127\\.0\\.0\\.1|0\\.0\\.0\\.0):(\\d+), https?://(127\\.0\\.0\\.1|0\\.0\\.0\\.0):(\\d+), cluster (\\S+)");
    private static final UUID CLIENT = new UUID(1, 2);
    private static final String SECRET = "a secret of a test, long enough";

    @TempDir
    private Path directory;

    /** A running master. */
    private record Running(Process process, BufferedReader out, Path err, Matcher ready) implements AutoCloseable {
        RpcClientConfig rpc() {
            return RpcClientConfig.of("127.0.0.1", Integer.parseInt(ready.group(2)), "test");
        }

        String http(final String path) {
            return (ready.group().contains("https") ? "https" : "http") + "://127.0.0.1:" + ready.group(4) + path;
        }

        /** The exit status after a signal. */
        int signal(final String name) throws IOException, InterruptedException {
            assertEquals(0, Commands.run("kill", "-" + name, String.valueOf(process.pid())).code());
            return process.waitFor();
        }

        @Override
        public void close() throws IOException {
            process.destroyForcibly();
            out.close();
        }
    }

    private static List<String> command(final List<String> more, final String... arguments) {
        final List<String> flags = new ArrayList<>(Commands.NATIVE_FLAGS);
        if (Runtime.version().feature() > 22) {
            flags.add("--sun-misc-unsafe-memory-access=allow");
        }
        flags.addAll(more);
        final List<String> all = new ArrayList<>(List.of("master", "--rpc_port=0", "--metrics-port", "0"));
        all.addAll(List.of(arguments));
        return Commands.javaCommand(flags, Main.class, all.toArray(String[]::new));
    }

    private Running start(final String... arguments) throws IOException {
        return start(Map.of(), List.of(), arguments);
    }

    private Running start(final Map<String, String> environment, final List<String> flags, final String... arguments)
        throws IOException {
        return launch(environment, command(flags, arguments));
    }

    private Running launch(final Map<String, String> environment, final List<String> command) throws IOException {
        final Path err = directory.resolve("err");
        final ProcessBuilder builder = new ProcessBuilder(command).redirectError(err.toFile());
        builder.environment().putAll(environment);
        final Process process = builder.start();
        final BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
        final String line = out.readLine();
        final Matcher ready = READY.matcher(String.valueOf(line));
        assertTrue(ready.matches(), () -> line + "\n" + read(err));
        return new Running(process, out, err, ready);
    }

    private static String read(final Path file) {
        try {
            return Files.readString(file);
        } catch (final IOException e) {
            return e.toString();
        }
    }

    private static HttpResponse<String> get(final HttpClient client, final String uri)
        throws IOException, InterruptedException {
        return client.send(HttpRequest.newBuilder(URI.create(uri)).build(), HttpResponse.BodyHandlers.ofString());
    }

    private static void lend(final RemoteMaster remote) {
        remote.apply(new SegmentCommand.Ping(CLIENT, "c", "h", ""));
        remote.apply(new SegmentCommand.Mount(CLIENT, new SegmentCommand.SegmentSpec("seg",
            SegmentCommand.Medium.MEMORY, 1 << 20, 4096, SegmentAddress.local(UUID.randomUUID()), true)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"TERM", "INT"})
    void shouldServeClientsAndOperatorsUntilItIsAskedToEnd(final String signal)
        throws IOException, InterruptedException {
        try (Running master = start("--cluster_id=blue"); HttpClient http = HttpClient.newHttpClient();
             RemoteMaster remote = new RemoteMaster(master.rpc())) {
            assertEquals("blue", master.ready().group(5));
            lend(remote);
            final PutStartReply.Started put = (PutStartReply.Started) remote.apply(new ObjectCommand.PutStart(CLIENT, 1,
                ObjectKey.of("k"), 5000, PutOptions.DEFAULT, false));
            remote.apply(new ObjectCommand.PutEnd(CLIENT, ObjectKey.of("k"), put.version(), ObjectCommand.Scope.ALL,
                false, 0));
            assertThrows(StoreException.class, () -> remote.apply(new SegmentCommand.Unmount(CLIENT, CLIENT, 0)));

            assertEquals(Map.of("status", "ok", "cluster_id", "blue"),
                Json.object(get(http, master.http("/health")).body()));
            assertEquals(5000L, Json.object(get(http, master.http("/query_key?key=k")).body()).get("size"));
            final Map<String, PrometheusText.Family> metrics =
                PrometheusText.parse(get(http, master.http("/metrics")).body());
            assertEquals(1, metrics.get("master_put_start_requests_total").value());
            assertEquals(0, metrics.get("master_put_start_failures_total").value());
            assertEquals(1, metrics.get("master_put_end_requests_total").value());
            assertEquals(1, metrics.get("master_unmount_segment_requests_total").value());
            assertEquals(1, metrics.get("master_unmount_segment_failures_total").value());
            assertEquals(1, metrics.get("master_ping_requests_total").value());
            assertEquals(8192, metrics.get("master_allocated_bytes").value());
            assertEquals(1, metrics.get("kvtier_master_connections").value());
            assertTrue(metrics.get("kvtier_master_info").samples().keySet().iterator().next().get("cluster_id")
                .equals("blue"));

            assertEquals(0, master.signal(signal), () -> read(master.err()));
            assertEquals(null, master.out().readLine(), "one line and no more");
            assertEquals("kvtier master: ending\n", read(master.err()));
        }
    }

    private static long put(final RemoteMaster remote, final String key, final long attempt) {
        final PutStartReply.Started put = (PutStartReply.Started) remote.apply(new ObjectCommand.PutStart(CLIENT,
            attempt, ObjectKey.of(key), 5000, PutOptions.DEFAULT, false));
        remote.apply(new ObjectCommand.PutEnd(CLIENT, ObjectKey.of(key), put.version(), ObjectCommand.Scope.ALL, true,
            77));
        return put.version();
    }

    private static SegmentCommand.SegmentSpec memory(final SegmentAddress address) {
        return new SegmentCommand.SegmentSpec("seg", SegmentCommand.Medium.MEMORY, 1 << 20, 4096, address, true);
    }

    private Running startWithSnapshots() throws IOException {
        return start("--enable_snapshot", "--enable_snapshot_restore", "--snapshot_backup_dir="
            + directory.resolve("snapshots"), "--snapshot_interval_seconds=24h");
    }

    @Test
    void shouldGoOnFromItsSnapshotAfterItWasKilled() throws IOException, InterruptedException {
        final SegmentAddress former = new SegmentAddress(UUID.randomUUID(), "", AccessToken.random());
        final long version;
        final long late;
        try (Running master = startWithSnapshots(); HttpClient http = HttpClient.newHttpClient();
             RemoteMaster remote = new RemoteMaster(master.rpc())) {
            remote.apply(new SegmentCommand.Ping(CLIENT, "c", "h", ""));
            remote.apply(new SegmentCommand.Mount(CLIENT, memory(former)));
            version = put(remote, "k", 1);
            final HttpResponse<String> taken = http.send(HttpRequest.newBuilder(
                URI.create(master.http("/api/v1/snapshots"))).POST(HttpRequest.BodyPublishers.noBody()).build(),
                HttpResponse.BodyHandlers.ofString());
            assertEquals(200, taken.statusCode(), taken.body());
            assertEquals(1L, Json.object(taken.body()).get("last_objects"));
            assertEquals(1, PrometheusText.parse(get(http, master.http("/metrics")).body())
                .get("master_snapshot_success").value());
            late = put(remote, "late", 2);
            master.process().destroyForcibly().waitFor();
        }
        try (Running master = startWithSnapshots(); RemoteMaster remote = new RemoteMaster(master.rpc())) {
            assertEquals(false, remote.apply(new ObjectCommand.Query(ObjectKey.of("k"))).found());
            final SegmentAddress now = new SegmentAddress(UUID.randomUUID(), "", AccessToken.random());
            remote.apply(new SegmentCommand.Ping(CLIENT, "c", "h", ""));
            remote.apply(new SegmentCommand.Mount(CLIENT, memory(now), former));
            final SegmentCommand.Returning lying =
                remote.apply(new SegmentCommand.FetchReturning(CLIENT, former, 0, 10));
            assertEquals(List.of(77L), lying.replicas().stream()
                .map(SegmentCommand.ReturningReplica::checksum).toList());
            assertEquals(List.of(true), remote.apply(new SegmentCommand.ReturnReplicas(CLIENT, now.segmentId(),
                List.of(lying.replicas().getFirst().replicaId()), true)));

            assertEquals(version, remote.apply(new ObjectCommand.Query(ObjectKey.of("k"))).version());
            assertEquals(false, remote.apply(new ObjectCommand.Query(ObjectKey.of("late"))).found());
            assertTrue(put(remote, "late", 1) > late, "no version is given out twice");
            assertEquals(0, master.signal("TERM"), () -> read(master.err()));
        }
        try (Running master = startWithSnapshots(); RemoteMaster remote = new RemoteMaster(master.rpc())) {
            remote.apply(new SegmentCommand.Ping(CLIENT, "c", "h", ""));
            assertTrue(read(master.err()).contains("2 objects"), "the last one was taken at the end: "
                + read(master.err()));
        }
    }

    /** Both ends are real: a process, and a server that looks at what comes, over TLS as the manual has it. */
    @Test
    void shouldGoOnFromASnapshotInABucket() throws IOException, InterruptedException, GeneralSecurityException {
        final Path pair = Certificates.pair(directory, "bucket");
        final List<String> trusting = List.of("-Djavax.net.ssl.trustStore=" + pair,
            "-Djavax.net.ssl.trustStorePassword=" + Certificates.PASSWORD);
        try (BucketServer bucket = new BucketServer(Certificates.context(pair, pair))) {
            final String[] options = {"--enable_snapshot", "--enable_snapshot_restore",
                "--snapshot_object_store_type=s3", "--snapshot_s3_endpoint=" + bucket.endpoint(),
                "--snapshot_s3_region=" + BucketServer.REGION, "--snapshot_s3_bucket=" + BucketServer.BUCKET,
                "--snapshot_s3_prefix=kv", "--cluster_id=green", "--snapshot_s3_attempts=1"};
            final Map<String, String> credentials = Map.of("AWS_ACCESS_KEY_ID", BucketServer.KEY_ID,
                "AWS_SECRET_ACCESS_KEY", BucketServer.SECRET);
            final SegmentAddress former = new SegmentAddress(UUID.randomUUID(), "", AccessToken.random());
            try (Running master = start(credentials, trusting, options);
                 RemoteMaster remote = new RemoteMaster(master.rpc())) {
                remote.apply(new SegmentCommand.Ping(CLIENT, "c", "h", ""));
                remote.apply(new SegmentCommand.Mount(CLIENT, memory(former)));
                put(remote, "k", 1);
                assertEquals(0, master.signal("TERM"), () -> read(master.err()));
            }
            assertTrue(bucket.objects().containsKey("kv/green/latest"), () -> "" + bucket.objects().keySet());
            try (Running master = start(credentials, trusting, options);
                 RemoteMaster remote = new RemoteMaster(master.rpc())) {
                assertEquals(1, remote.apply(new SegmentCommand.FetchReturning(CLIENT, former, 0, 10)).replicas()
                    .size());
            }
            final Path file = Files.writeString(directory.resolve("credentials"),
                "[default]\naws_access_key_id=" + BucketServer.KEY_ID + "\naws_secret_access_key=not-the-one\n");
            final List<String> wrong = new ArrayList<>(List.of(options));
            wrong.add("--snapshot_s3_credentials_file=" + file);
            final Commands.Result result = Commands.run(command(trusting, wrong.toArray(String[]::new)));
            assertEquals(1, result.code(), result.output());
            assertTrue(result.output().contains("snapshot_s3_bucket is kv-bucket: ")
                && result.output().contains("SignatureDoesNotMatch"), result.output());
            assertFalse(result.output().contains("not-the-one"), "the secret: " + result.output());
            final Commands.Result untrusting = fails(wrong.toArray(String[]::new));
            assertEquals(1, untrusting.code(), untrusting.output());
            assertTrue(untrusting.output().contains("snapshot_s3_bucket is kv-bucket: ")
                && untrusting.output().contains("-Djavax.net.ssl.trustStore"), untrusting.output());
        }
    }

    @Test
    void shouldSayWhatIsWrongWithItsSnapshots() throws IOException, InterruptedException {
        final Path file = Files.writeString(directory.resolve("no folder"), "");
        final Commands.Result result = fails("--enable_snapshot", "--snapshot_backup_dir=" + file);
        assertEquals(1, result.code(), result.output());
        assertTrue(result.output().contains("snapshot_backup_dir is " + file), result.output());
        final Commands.Result nowhere = fails("--enable_snapshot");
        assertEquals(2, nowhere.code(), nowhere.output());
        assertTrue(nowhere.output().contains("enable_snapshot is true and there is no snapshot_backup_dir"),
            nowhere.output());
    }

    @Test
    void shouldTakeOptionsFromFileAndEnvironment() throws IOException, InterruptedException {
        final Path file = Files.writeString(directory.resolve("m.yaml"), "cluster_id: green\nsnapshot_interval: 3\n");
        try (Running master = start(Map.of("KVTIER_MASTER_CONFIG_PATH", file.toString(), "KVTIER_MASTER_CLUSTER_ID",
            "red"), List.of())) {
            assertEquals("green", master.ready().group(5));
            assertEquals("kvtier master: note: " + file + ": 'snapshot_interval' has no effect; is it misspelt, or of "
                + "another version?\n", read(master.err()));
            assertEquals(0, master.signal("TERM"));
        }
    }

    private static Commands.Result fails(final String... arguments) throws InterruptedException {
        return Commands.run(command(List.of(), arguments));
    }

    @Test
    void shouldNameThePortThatIsTaken() throws IOException, InterruptedException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            final int port = taken.getLocalPort();
            for (final String option : List.of("rpc_port", "metrics_port")) {
                final Path file = Files.writeString(directory.resolve("m.yaml"), option + ": " + port);
                final List<String> command = new ArrayList<>(command(List.of()));
                command.removeAll(List.of(option.equals("rpc_port") ? "--rpc_port=0" : "--metrics-port"));
                if (!option.equals("rpc_port")) {
                    command.remove("0");
                }
                command.add("--config_path=" + file);
                final Commands.Result result = Commands.run(command);
                assertEquals(1, result.code(), result.output());
                assertEquals("kvtier master: " + option + ": cannot listen at /127.0.0.1:" + port
                    + ": Address already in use; is another server there?\n", result.output());
            }
        }
    }

    @Test
    void shouldEndInOneLineWhenItIsStartedWrongly() throws InterruptedException {
        final Commands.Result range = fails("--eviction-ratio", "1.5");
        assertEquals(2, range.code());
        assertEquals("kvtier master: option --eviction_ratio is '1.5'; it must be a number from 0 to below 1\n",
            range.output());
        final Commands.Result open = fails("--rpc_address=0.0.0.0");
        assertEquals(2, open.code());
        assertEquals("kvtier master: rpc_address is 0.0.0.0, which is beyond loopback: give secret_file or "
            + "tls_keystore, or say insecure when neither is wanted\n", open.output());
    }

    @Test
    void shouldListenBeyondLoopbackWhenToldThatNothingIsWanted() throws IOException, InterruptedException {
        try (Running master = start("--rpc_address=0.0.0.0", "--metrics_host=0.0.0.0", "--insecure");
             HttpClient http = HttpClient.newHttpClient(); RemoteMaster remote = new RemoteMaster(master.rpc())) {
            assertEquals("0.0.0.0", master.ready().group(1));
            lend(remote);
            assertEquals(200, get(http, master.http("/health")).statusCode());
        }
    }

    @Test
    void shouldLetInWhoKnowsTheSecretAndTrustsTheCertificate()
        throws IOException, InterruptedException, GeneralSecurityException {
        final Path pair = Certificates.pair(directory, "server");
        final Path secret = Files.writeString(directory.resolve("secret"), SECRET + "\n");
        final Path token = Files.writeString(directory.resolve("token"), "token-0123456789\n");
        final Path password = Files.writeString(directory.resolve("password"), Certificates.PASSWORD + "\n");
        final SSLContext trusting = Certificates.context(null, pair);
        try (Running master = start("--tls_keystore=" + pair, "--tls-password-file=" + password,
            "--secret_file=" + secret, "--admin_token_file=" + token);
             HttpClient http = HttpClient.newBuilder().sslContext(trusting).build();
             RemoteMaster known = new RemoteMaster(master.rpc().withSecret(SharedSecret.of(SECRET)).withTls(trusting));
             RemoteMaster stranger = new RemoteMaster(master.rpc().withTls(trusting))) {
            lend(known);
            assertThrows(StoreException.class, () -> lend(stranger));
            assertEquals(200, get(http, master.http("/health")).statusCode());
            assertEquals(401, get(http, master.http("/metrics")).statusCode());
            assertEquals(200, http.send(HttpRequest.newBuilder(URI.create(master.http("/metrics")))
                .header("Authorization", "Bearer token-0123456789").build(), HttpResponse.BodyHandlers.ofString())
                .statusCode());
            assertEquals(0, master.signal("TERM"));
        }
    }

    /** Header lines that never end hold a thread for the time that the JDK's server is told, and no longer. */
    @Test
    void shouldEndARequestThatDoesNotArrive() throws IOException, InterruptedException {
        try (Running master = start(Map.of(), List.of("-Dsun.net.httpserver.maxReqTime=1"));
             Socket slow = new Socket("127.0.0.1", Integer.parseInt(master.ready().group(4)));
             HttpClient http = HttpClient.newHttpClient()) {
            slow.getOutputStream().write("GET /health HTTP/1.1\r\nHost: a\r\nX-".getBytes(StandardCharsets.US_ASCII));
            assertEquals(-1, slow.getInputStream().read());
            assertEquals(200, get(http, master.http("/health")).statusCode());
        }
    }

    @Test
    void shouldServeCallsAndHttpWhileHundredsOfClientsComeToEither() throws IOException, InterruptedException {
        final byte[] half = "GET /health HTTP/1.1\r\nHost: a\r\n".getBytes(StandardCharsets.US_ASCII);
        try (Running master = start(Map.of(), List.of("-Dsun.net.httpserver.maxReqTime=2",
            "-Dsun.net.httpserver.idleInterval=3"),
            "--rpc_max_connections=100", "--client_ttl=10m");
             HttpClient http = HttpClient.newHttpClient(); RemoteMaster remote = new RemoteMaster(master.rpc())) {
            lend(remote);
            assertEquals(200, get(http, master.http("/health")).statusCode());
            for (final int port : List.of(2, 4)) {
                try (Crowd crowd = new Crowd(new InetSocketAddress("127.0.0.1",
                    Integer.parseInt(master.ready().group(port))), half)) {
                    for (int i = 1; i <= ATTEMPTS; i++) {
                        crowd.join();
                        if (i % 200 == 0) {
                            assertEquals(1, remote.apply(new SegmentCommand.Segments()).size());
                            assertEquals(200, get(http, master.http("/health")).statusCode());
                        }
                    }
                    // While the crowd stands there.
                    try (RemoteMaster late = new RemoteMaster(master.rpc(), 60_000)) {
                        assertEquals(1, late.apply(new SegmentCommand.Segments()).size());
                    }
                    awaitHealth(master.http("/health"));
                }
            }
            final long said = read(master.err()).lines().filter(line -> line.contains("too many connections")).count();
            assertTrue(said > 0 && said <= 14, read(master.err()));
        }
    }

    /** As a client that comes anew, until it is let in. */
    private static void awaitHealth(final String uri) throws InterruptedException {
        int status = 0;
        while (status != 200) {
            try (HttpClient fresh = HttpClient.newHttpClient()) {
                status = get(fresh, uri).statusCode();
            } catch (final IOException e) {
                assertTrue(String.valueOf(e.getMessage()).length() > 0, "hung up on");
            }
        }
    }

    @Test
    void shouldTakeNoMoreConnectionsThanItMayHaveFiles() throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>(List.of("sh", "-c", "ulimit -n 400; exec \"$@\"", "sh"));
        command.addAll(command(List.of()));
        try (Running master = launch(Map.of(), command); RemoteMaster remote = new RemoteMaster(master.rpc())) {
            assertEquals("kvtier master: note: rpc_max_connections is 1024, and the process may have 400 files open: "
                + "it takes 172 connections; raise ulimit -n for more\n", read(master.err()));
            lend(remote);
            final List<Socket> crowd = new ArrayList<>();
            for (int i = 0; i < 600; i++) {
                crowd.add(new Socket("127.0.0.1", Integer.parseInt(master.ready().group(2))));
            }
            assertEquals(1, remote.apply(new SegmentCommand.Segments()).size());
            try (HttpClient http = HttpClient.newHttpClient()) {
                double connections = 0;
                while (connections < 172) {
                    connections = PrometheusText.parse(get(http, master.http("/metrics")).body())
                        .get("kvtier_master_connections").value();
                }
                assertEquals(172, connections);
            }
            for (final Socket socket : crowd) {
                socket.close();
            }
            assertEquals(0, master.signal("TERM"));
        }
    }

    @Test
    void shouldLeaveNothingBehindWhenClientsAreConnected() throws IOException, InterruptedException {
        try (Running master = start("--rpc_conn_timeout_seconds=24h");
             RemoteMaster remote = new RemoteMaster(master.rpc()); HttpClient http = HttpClient.newHttpClient()) {
            lend(remote);
            Thread.ofPlatform().daemon().start(() -> awaitUntilTheEnd(remote));
            while (PrometheusText.parse(get(http, master.http("/metrics")).body()).get("kvtier_master_connections")
                .value() < 2) {
                Thread.onSpinWait();
            }
            assertEquals(0, master.signal("TERM"), () -> read(master.err()));
            assertEquals("kvtier master: ending\n", read(master.err()));
        }
    }

    private static void awaitUntilTheEnd(final RemoteMaster remote) {
        try {
            remote.awaitWork(CLIENT, 60_000);
        } catch (final StoreException expected) {
            // The master or this client has ended.
        }
    }
}
