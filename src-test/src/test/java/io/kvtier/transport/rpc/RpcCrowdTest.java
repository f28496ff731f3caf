package io.kvtier.transport.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Certificates;
import io.kvtier.kit.Commands;
import io.kvtier.kit.Crowd;
import io.kvtier.kit.LogLines;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** More clients than a server takes, and clients that keep it waiting. */
@Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RpcCrowdTest {
    private static final long LIMIT_MS = 30_000;
    private static final byte[] BODY = {7};
    private static final int HOLD = 2;
    private static final int LARGE = 3;
    private static final int LARGE_BYTES = 8 << 20;
    /** Lines that a log has of something that happened ten thousand times: the 1st, 2nd, 4th, ... 8,192nd. */

    @TempDir
    private Path directory;

    private final ConcurrentLinkedQueue<RpcCall> held = new ConcurrentLinkedQueue<>();
    private final List<RpcClient> clients = new ArrayList<>();
    private RpcServer server;

    @AfterEach
    void close() {
        clients.forEach(RpcClient::close);
        if (server != null) {
            server.close();
        }
    }

    private void start(final RpcServerConfig config) throws IOException {
        server = RpcServer.start(config, call -> {
            switch (call.method()) {
                case HOLD -> held.add(call);
                case LARGE -> call.reply(new byte[LARGE_BYTES]);
                default -> call.reply(call.body());
            }
        });
    }

    private RpcClientConfig config() {
        return RpcClientConfig.of("127.0.0.1", server.address().getPort(), "test").withTimes(20_000, 1, 20);
    }

    private RpcClient client(final RpcClientConfig config) {
        final RpcClient client = new RpcClient(config);
        clients.add(client);
        return client;
    }

    private static void assertServed(final RpcClient client) {
        assertArrayEquals(BODY, client.call(1, BODY, LIMIT_MS));
    }

    /** Tries until it is let in. */
    private static void awaitServed(final RpcClient client) {
        boolean served = false;
        while (!served) {
            try {
                served = client.call(1, BODY, LIMIT_MS).length == 1;
            } catch (final RpcException e) {
                assertTrue(e.status() == RpcStatus.BUSY || e.status() == RpcStatus.UNREACHABLE, e.getMessage());
            }
        }
    }

    private static byte[] hello() {
        final byte[] body = new MessageWriter().array(4).number(1).number(1).bytes(new byte[32]).text("crowd")
            .toBytes();
        final byte[] frame = new byte[RpcFrame.HEADER_BYTES + body.length];
        RpcFrame.put(frame, 0, RpcFrame.HELLO, 0, 0);
        RpcFrame.putSizes(frame, 0, 0, body.length);
        System.arraycopy(body, 0, frame, RpcFrame.HEADER_BYTES, body.length);
        return frame;
    }

    @Test
    void shouldTellWhoIsOneTooManyAndLetHimInWhenOthersGo() throws IOException {
        start(RpcServerConfig.loopback(0).withMaxConnections(1));
        final RpcClient first = client(config());
        assertServed(first);
        final RpcClient second = client(config());
        for (int attempt = 0; attempt < 100; attempt++) {
            final RpcException refused = assertThrows(RpcException.class, () -> second.call(1, BODY, LIMIT_MS));
            assertEquals(RpcStatus.BUSY, refused.status(), refused.getMessage());
            assertTrue(refused.getMessage().contains("all of its 1 connections")
                && refused.getMessage().contains("rpc_max_connections"), refused.getMessage());
        }
        assertEquals(100, server.refused());
        assertServed(first);
        first.close();
        awaitServed(second);
    }

    @Test
    void shouldEndWhoIsOneTooManyOverTls() throws Exception {
        final Path pair = Certificates.pair(directory, "server");
        final SSLContext context = Certificates.context(pair, pair);
        start(RpcServerConfig.loopback(0).withTls(context, true).withMaxConnections(1));
        final RpcClient first = client(config().withTls(context));
        assertServed(first);
        final RpcClient second = client(config().withTls(context));

        final RpcException refused = assertThrows(RpcException.class, () -> second.call(1, BODY, LIMIT_MS));
        assertEquals(RpcStatus.UNREACHABLE, refused.status());
        assertTrue(refused.getMessage().contains("too many"), refused.getMessage());
        assertServed(first);
        first.close();
        awaitServed(second);
    }

    @Test
    void shouldServeThoseItHasWhileTenThousandOthersComeAndNewOnesAfterThem() throws IOException {
        try (LogLines log = new LogLines(RpcServer.class)) {
            start(RpcServerConfig.loopback(0).withLimits(200, 4096, 2000, 1000));
            final RpcClient known = client(config());
            assertServed(known);
            try (Crowd crowd = new Crowd(server.address(), hello())) {
                for (int i = 1; i <= Crowd.ATTEMPTS; i++) {
                    crowd.join();
                    if (i % 50 == 0) {
                        assertServed(known);
                        assertTrue(server.connections() <= 200);
                    }
                }
                assertTrue(server.refused() > 0);
                // The crowd is still there, and does nothing: its handshakes are not over in time.
                awaitServed(client(config()));
                while (server.connections() > 2) {
                    assertServed(known);
                }
            }
            LogLines.assertDoubling(log.with("too many connections; the limit is 200"));
            LogLines.assertDoubling(log.with("a handshake was not over in time"));
        }
    }

    /** Its process may open fewer files than it takes connections: nobody can be told, but those it has are served. */
    @Test
    void shouldServeThoseItHasWithoutADescriptorForMore() throws Exception {
        final Path err = directory.resolve("err");
        final List<String> command = new ArrayList<>(List.of("sh", "-c", "ulimit -n 150; exec \"$@\"", "sh"));
        command.addAll(Commands.javaCommand(List.of("-XX:TieredStopAtLevel=1"), StarvedServer.class));
        final Process process = new ProcessBuilder(command).redirectError(err.toFile()).start();
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            final String port = out.readLine();
            assertNotNull(port, () -> read(err));
            final RpcClientConfig config =
                RpcClientConfig.of("127.0.0.1", Integer.parseInt(port), "test").withTimes(500, 1, 20);
            final RpcClient known = client(config);
            assertServed(known);
            final List<Socket> crowd = new ArrayList<>();
            for (int i = 0; i < 400; i++) {
                crowd.add(new Socket("127.0.0.1", Integer.parseInt(port)));
            }
            assertEquals(RpcStatus.UNREACHABLE,
                assertThrows(RpcException.class, () -> client(config).call(1, BODY, LIMIT_MS)).status());
            while (read(err).lines().filter(line -> line.contains("could not be accepted")).count() < 2) {
                assertServed(known);
            }
            for (final Socket socket : crowd) {
                socket.close();
            }
            awaitServed(client(config));
            assertServed(known);
            process.getOutputStream().close();
            assertEquals(0, process.waitFor());
            final List<String> said =
                read(err).lines().filter(line -> line.contains("could not be accepted")).toList();
            assertTrue(said.getFirst().contains("ulimit -n"), said.toString());
            LogLines.assertDoubling(said);
        } finally {
            process.destroyForcibly();
        }
    }

    private static String read(final Path file) {
        try {
            return Files.readString(file);
        } catch (final IOException e) {
            return e.toString();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldEndAClientThatDoesNotReadAndServeOthersMeanwhile(final boolean tls) throws Exception {
        final SSLContext context = tls ? context() : null;
        start(RpcServerConfig.loopback(0).withTls(context, false).withStallTimeoutMs(500));
        final RpcClient known = client(config().withTls(context));
        assertServed(known);
        try (LogLines log = new LogLines(RpcServer.class); Socket greedy = greedy(context)) {
            final FrameOutput out = greet(greedy);
            for (int i = 1; i <= 3; i++) {
                out.add(RpcFrame.CALL, LARGE, i, 0, new byte[0]);
            }
            out.flush();
            while (server.connections() > 1) {
                assertServed(known);
            }
            assertEquals(1, log.with("did not read its answers for 500 ms").size());
        }
        assertEquals(0, server.answers().taken());
        assertServed(known);
    }

    /** Whoever answers ends the connection, while its own thread is in the middle of a write. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldNotMakeWhoAnswersWaitForAClientThatDoesNotRead(final boolean tls) throws Exception {
        final SSLContext context = tls ? context() : null;
        start(RpcServerConfig.loopback(0).withTls(context, false).withStallTimeoutMs(600_000));
        try (Socket greedy = greedy(context)) {
            final FrameOutput out = greet(greedy);
            final int calls = 200;
            for (int i = 1; i <= calls; i++) {
                out.add(RpcFrame.CALL, HOLD, i, 0, new byte[0]);
            }
            out.add(RpcFrame.CALL, LARGE, calls + 1, 0, new byte[0]);
            out.add(RpcFrame.CALL, LARGE, calls + 2, 0, new byte[0]);
            out.flush();
            while (held.size() < calls) {
                Thread.onSpinWait();
            }
            final byte[] answer = new byte[1 << 20];
            held.forEach(call -> call.reply(answer));
            while (server.connections() > 0) {
                Thread.onSpinWait();
            }
        }
        assertEquals(0, server.answers().taken());
        assertServed(client(config().withTls(context)));
    }

    private SSLContext context() throws Exception {
        final Path pair = Certificates.pair(directory, "server");
        return Certificates.context(pair, pair);
    }

    private Socket greedy(final SSLContext context) throws IOException {
        final Socket plain = new Socket();
        plain.setReceiveBufferSize(4096);
        plain.connect(server.address());
        return context == null ? plain
            : context.getSocketFactory().createSocket(plain, "127.0.0.1", server.address().getPort(), true);
    }

    private static FrameOutput greet(final Socket greedy) throws IOException {
        final FrameInput in = new FrameInput(greedy.getInputStream());
        final FrameOutput out = new FrameOutput(greedy.getOutputStream(), Integer.MAX_VALUE);
        new Handshake(in, out, null, 1 << 20).greet("greedy");
        return out;
    }
}
