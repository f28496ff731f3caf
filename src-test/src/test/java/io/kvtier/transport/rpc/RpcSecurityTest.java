package io.kvtier.transport.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LogLines;
import io.kvtier.transport.SharedSecret;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Peers that are not who they should be, and the server that goes on. */
class RpcSecurityTest {
    private static final long LIMIT_MS = 20_000;
    /** With TLS 1.3 a client hears that it was refused after its own side is done. */
    private static final Set<RpcStatus> NO_TLS = Set.of(RpcStatus.UNREACHABLE, RpcStatus.DISCONNECTED);
    private static final char[] PASSWORD = "changeit".toCharArray();
    private static final SharedSecret SECRET = secret("0123456789abcdef0123456789abcdef");
    private static final SharedSecret OTHER = secret("fedcba9876543210fedcba9876543210");

    @TempDir
    private Path directory;

    private RpcServer server;
    private final List<RpcClient> clients = new ArrayList<>();

    private static SharedSecret secret(final String text) {
        return SharedSecret.of(text.getBytes(StandardCharsets.UTF_8));
    }

    @AfterEach
    void close() {
        clients.forEach(RpcClient::close);
        if (server != null) {
            server.close();
        }
    }

    private void start(final RpcServerConfig config) throws IOException {
        server = RpcServer.start(config, call -> call.reply(call.body()));
    }

    private RpcClientConfig config() {
        return RpcClientConfig.of("localhost", server.address().getPort(), "test").withTimes(5000, 1, 1);
    }

    private byte[] echo(final RpcClientConfig config) {
        final RpcClient client = new RpcClient(config);
        clients.add(client);
        return client.call(1, new byte[] {7}, LIMIT_MS);
    }

    private RpcException refusal(final RpcClientConfig config) {
        return assertThrows(RpcException.class, () -> echo(config));
    }

    @Test
    void shouldLetInWhoKnowsTheSecretAndNobodyElse() throws IOException {
        start(RpcServerConfig.loopback(0).withSecret(SECRET));

        assertArrayEquals(new byte[] {7}, echo(config().withSecret(SECRET)));
        for (final SharedSecret wrong : new SharedSecret[] {OTHER, null}) {
            final RpcException e = refusal(config().withSecret(wrong));
            assertEquals(RpcStatus.UNAUTHENTICATED, e.status());
            assertFalse(e.getMessage().contains("0123456789"), e.getMessage());
        }
        assertArrayEquals(new byte[] {7}, echo(config().withSecret(SECRET)));
    }

    private static void say(final FrameOutput out, final int type, final MessageWriter body) throws IOException {
        out.add(type, 0, 0, 0, body.toBytes());
        out.flush();
    }

    /** A client of this library does not even try without the secret. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 31, 32})
    void shouldRefuseAProofThatIsNone(final int length) throws IOException {
        start(RpcServerConfig.loopback(0).withSecret(SECRET));
        try (Socket socket = new Socket("127.0.0.1", server.address().getPort())) {
            final FrameInput in = new FrameInput(socket.getInputStream());
            final FrameOutput out = new FrameOutput(socket.getOutputStream(), Integer.MAX_VALUE);
            say(out, RpcFrame.HELLO, new MessageWriter().array(4).number(1).number(1).bytes(new byte[32]).text("no"));
            in.next(4096);
            assertEquals(RpcFrame.CHALLENGE, in.type());
            say(out, RpcFrame.PROOF, new MessageWriter().array(1).bytes(new byte[length]));

            in.next(4096);

            assertEquals(RpcFrame.FAILURE, in.type());
            assertEquals(RpcStatus.UNAUTHENTICATED.code(), in.code());
        }
    }

    @Test
    void shouldNotTalkToAServerThatDoesNotKnowTheSecret() throws IOException {
        start(RpcServerConfig.loopback(0));

        assertEquals(RpcStatus.UNAUTHENTICATED, refusal(config().withSecret(SECRET)).status());
    }

    @Test
    void shouldWantAWordBeforeItListensBeyondLoopback() {
        final InetSocketAddress everywhere = new InetSocketAddress("0.0.0.0", 0);
        final IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
            () -> new RpcServerConfig(everywhere, null, null, false, false, 10, 4096, 1000, 0, 1000));
        assertTrue(e.getMessage().contains("0.0.0.0") && e.getMessage().contains("shared secret"), e.getMessage());

        new RpcServerConfig(everywhere, null, null, false, true, 10, 4096, 1000, 0, 1000);
        new RpcServerConfig(everywhere, SECRET, null, false, false, 10, 4096, 1000, 0, 1000);
        assertThrows(IllegalArgumentException.class, () -> SharedSecret.of(new byte[15]));
        assertEquals("SharedSecret[hidden]", SECRET.toString());
    }

    /** A self-signed pair, which may sign others. */
    private void pair(final String name) throws IOException, InterruptedException {
        keytool("-genkeypair", "-alias", name, "-keyalg", "EC", "-dname", "CN=" + name, "-ext", "san=dns:localhost",
            "-ext", "bc:c", "-validity", "100", "-keystore", store(name).toString());
    }

    /** A pair signed by another; the days begin ten days ago. */
    private void signed(final String name, final String by, final int days) throws IOException, InterruptedException {
        pair(name);
        final String request = directory.resolve(name + ".csr").toString();
        final String certificate = directory.resolve(name + ".crt").toString();
        final String issuer = directory.resolve(by + ".crt").toString();
        keytool("-certreq", "-alias", name, "-keystore", store(name).toString(), "-file", request);
        keytool("-gencert", "-alias", by, "-keystore", store(by).toString(), "-infile", request, "-outfile",
            certificate, "-startdate", "-10d", "-validity", String.valueOf(days));
        keytool("-exportcert", "-alias", by, "-keystore", store(by).toString(), "-file", issuer);
        keytool("-importcert", "-noprompt", "-alias", by, "-keystore", store(name).toString(), "-file", issuer);
        keytool("-importcert", "-noprompt", "-alias", name, "-keystore", store(name).toString(), "-file", certificate);
        keytool("-delete", "-alias", by, "-keystore", store(name).toString());
    }

    private static void keytool(final String... arguments) throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
        command.addAll(List.of(arguments));
        command.addAll(List.of("-storepass", new String(PASSWORD)));
        final Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
        final String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, keytool.waitFor(), said);
    }

    private Path store(final String name) {
        return directory.resolve(name + ".p12");
    }

    private static KeyStore load(final Path path) throws IOException, GeneralSecurityException {
        final KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = new FileInputStream(path.toFile())) {
            store.load(in, PASSWORD);
        }
        return store;
    }

    private static SSLContext context(final Path own, final Path... trusted)
        throws IOException, GeneralSecurityException {
        final KeyStore trust = KeyStore.getInstance("PKCS12");
        trust.load(null, null);
        for (final Path path : trusted) {
            final KeyStore theirs = load(path);
            final String alias = theirs.aliases().nextElement();
            trust.setCertificateEntry(alias, theirs.getCertificate(alias));
        }
        final KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(load(own), PASSWORD);
        final TrustManagerFactory trusts = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trusts.init(trust);
        final SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), trusts.getTrustManagers(), null);
        return context;
    }

    @Test
    void shouldTalkOverMutualTlsAndRefuseStrangersAndExpiredCertificates() throws Exception {
        pair("client");
        pair("stranger");
        pair("server");
        signed("fresh", "client", 30);
        signed("expired", "client", 5);
        final SSLContext serverSide = context(store("server"), store("client"));
        start(RpcServerConfig.loopback(0).withTls(serverSide, true));

        assertArrayEquals(new byte[] {7}, echo(config().withTls(context(store("client"), store("server")))));
        assertArrayEquals(new byte[] {7}, echo(config().withTls(context(store("fresh"), store("server")))));
        for (final String wrong : new String[] {"stranger", "expired"}) {
            final RpcException e = refusal(config().withTls(context(store(wrong), store("server"))));
            assertTrue(NO_TLS.contains(e.status()), e.getMessage());
        }
        assertEquals(RpcStatus.UNREACHABLE,
            refusal(config().withTls(context(store("client"), store("stranger")))).status(),
            "the client does not trust this server");
        assertTrue(NO_TLS.contains(refusal(config()).status()), "without TLS");
        assertArrayEquals(new byte[] {7}, echo(config().withTls(context(store("client"), store("server")))));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void shouldGoOnServingWhateverBytesCome(final int seed) throws IOException {
        start(RpcServerConfig.loopback(0).withSecret(SECRET));
        final SplittableRandom random = new SplittableRandom(seed);
        for (int i = 0; i < 20; i++) {
            final byte[] bytes = new byte[1 + random.nextInt(3000)];
            random.nextBytes(bytes);
            if (random.nextBoolean() && bytes.length > 24) {
                // Like a frame, as far as its header goes.
                RpcFrame.put(bytes, 0, random.nextInt(20), random.nextInt(), random.nextLong());
                RpcFrame.putSizes(bytes, 0, 0, random.nextInt(bytes.length));
            }
            try (Socket socket = new Socket("localhost", server.address().getPort())) {
                socket.getOutputStream().write(bytes);
                socket.shutdownOutput();
                socket.getInputStream().readAllBytes();
            } catch (final IOException e) {
                // Reset by the server, which has seen enough.
                assertFalse(String.valueOf(e.getMessage()).isEmpty());
            }
        }

        assertArrayEquals(new byte[] {7}, echo(config().withSecret(SECRET)));
    }

    /** Several lines in the log would be, but for the first one, whatever the client likes. */
    @Test
    void shouldNotLetAClientWriteIntoTheLogByItsName() throws IOException {
        start(RpcServerConfig.loopback(0));
        try (LogLines log = new LogLines(RpcServer.class);
            Socket socket = new Socket("localhost", server.address().getPort())) {
            new Handshake(new FrameInput(socket.getInputStream()), new FrameOutput(socket.getOutputStream(), 1 << 20),
                null, 1 << 20).greet("x\nSEVERE: all is lost\u001b[2J\u202e");
            socket.getOutputStream().write(new byte[RpcFrame.HEADER_BYTES]);
            while (log.with("MALFORMED").isEmpty()) {
                Thread.onSpinWait();
            }
            final String line = log.with("MALFORMED").getFirst();
            assertTrue(line.contains("x\\u000aSEVERE: all is lost\\u001b[2J\\u202e@"), line);
        }
    }

    @Test
    void shouldEndAHandshakeThatTakesTooLongHoweverManyBytesTrickleIn() throws IOException {
        start(RpcServerConfig.loopback(0).withLimits(10, 4096, 2000, 1000));
        try (Socket silent = new Socket("localhost", server.address().getPort());
            Socket trickling = new Socket("localhost", server.address().getPort())) {
            final byte[] hello = new byte[RpcFrame.HEADER_BYTES];
            RpcFrame.put(hello, 0, RpcFrame.HELLO, 0, 0);
            RpcFrame.putSizes(hello, 0, 0, 4096);
            trickling.getOutputStream().write(hello);
            int sent = 0;
            try {
                while (sent < 4000) {
                    trickling.getOutputStream().write(0);
                    sent++;
                    LockSupport.parkNanos(20_000_000);
                }
            } catch (final IOException e) {
                assertFalse(String.valueOf(e.getMessage()).isEmpty());
            }
            assertTrue(sent < 4000, "it could send all it wanted");
            assertEquals(-1, silent.getInputStream().read());
        }
        assertArrayEquals(new byte[] {7}, echo(config()));
    }

    @Test
    void shouldRefuseConnectionsBeyondItsLimitAndServeThoseItHas() throws IOException {
        start(RpcServerConfig.loopback(0).withLimits(3, 4096, 60_000, 1000));
        assertArrayEquals(new byte[] {7}, echo(config()));
        final List<Socket> idle = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            idle.add(new Socket("localhost", server.address().getPort()));
        }
        while (server.refused() < 28) {
            Thread.onSpinWait();
        }

        assertEquals(3, server.connections());
        assertArrayEquals(new byte[] {7}, clients.getFirst().call(1, new byte[] {7}, LIMIT_MS));
        for (final Socket socket : idle) {
            socket.close();
        }
        while (server.connections() > 1) {
            Thread.onSpinWait();
        }
        assertArrayEquals(new byte[] {7}, echo(config()));
    }

    @Test
    void shouldDropAClientThatDoesNotReadItsAnswersAndServeOthers() throws IOException {
        final int calls = 200;
        final ConcurrentLinkedQueue<RpcCall> held = new ConcurrentLinkedQueue<>();
        server = RpcServer.start(RpcServerConfig.loopback(0), call -> {
            if (call.peer().startsWith("greedy")) {
                held.add(call);
            } else {
                call.reply(call.body());
            }
        });
        try (Socket greedy = new Socket("localhost", server.address().getPort())) {
            final FrameInput in = new FrameInput(greedy.getInputStream());
            final FrameOutput out = new FrameOutput(greedy.getOutputStream(), Integer.MAX_VALUE);
            new Handshake(in, out, null, 1 << 20).greet("greedy");
            for (int i = 1; i <= calls; i++) {
                out.add(RpcFrame.CALL, 1, i, 0, new byte[0]);
            }
            out.flush();
            while (held.size() < calls) {
                Thread.onSpinWait();
            }
            final byte[] answer = new byte[1 << 20];

            held.forEach(call -> call.reply(answer));

            while (server.connections() > 0) {
                Thread.onSpinWait();
            }
            assertArrayEquals(new byte[] {7}, echo(config()));
            assertThrows(IOException.class, () -> {
                for (int i = 1; i <= calls; i++) {
                    in.next(1 << 20);
                }
            }, "not all answers can have come");
        }
    }
}
