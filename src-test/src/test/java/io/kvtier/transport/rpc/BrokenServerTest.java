package io.kvtier.transport.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client of a server that stops in the middle, or tells what is no use. */
@Timeout(value = 1, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class BrokenServerTest {
    private static final long LIMIT_MS = 600_000;
    private static final int LARGE = 16 << 20;
    /** Sent by a server, one after the other, they take more than a minute. */
    private static final int TRICKLED = 4000;

    private final CountDownLatch over = new CountDownLatch(1);
    private final ServerSocket listener;
    private RpcClient client;

    /** What the server does on a connection. */
    private interface Script {
        void run(Socket socket, FrameInput in, FrameOutput out) throws IOException, InterruptedException;
    }

    BrokenServerTest() throws IOException {
        listener = new ServerSocket();
        listener.setReceiveBufferSize(4096);
    }

    @BeforeEach
    void listen() throws IOException {
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    }

    @AfterEach
    void close() throws IOException {
        over.countDown();
        client.close();
        listener.close();
    }

    private void serve(final long connectMs, final Script script) {
        Threads.start(() -> {
            try {
                while (true) {
                    final Socket socket = listener.accept();
                    Threads.start(() -> run(script, socket));
                }
            } catch (final IOException e) {
                assertTrue(listener.isClosed(), e.toString());
            }
        });
        client = new RpcClient(RpcClientConfig.of(listener.getInetAddress().getHostAddress(), listener.getLocalPort(),
            "test").withTimes(connectMs, 1, 1));
    }

    private void run(final Script script, final Socket socket) {
        try (socket) {
            script.run(socket, new FrameInput(socket.getInputStream()), new FrameOutput(socket.getOutputStream(),
                Integer.MAX_VALUE));
        } catch (final IOException | InterruptedException e) {
            // The client has gone.
            over.countDown();
        }
    }

    private static void welcome(final FrameInput in, final FrameOutput out) throws IOException {
        new Handshake(in, out, null, LARGE).answer();
    }

    /** A byte now and then; how many could be sent. */
    private static void trickle(final Socket socket, final AtomicInteger sent) throws IOException {
        final OutputStream out = socket.getOutputStream();
        while (sent.get() < TRICKLED) {
            out.write(0);
            sent.incrementAndGet();
            LockSupport.parkNanos(20_000_000);
        }
    }

    private RpcStatus failure(final int length, final long limitMs) {
        return assertThrows(RpcException.class, () -> client.call(1, new byte[length], limitMs)).status();
    }

    /** The sockets' buffers hold a part of a large call, and nobody takes the rest. */
    @Test
    void shouldGiveACallUpInItsTimeThatTheServerDoesNotRead() {
        serve(5000, (socket, in, out) -> {
            welcome(in, out);
            over.await();
        });
        assertEquals(RpcStatus.DISCONNECTED, failure(LARGE, 300));
    }

    @Test
    void shouldGiveACallUpInItsTimeBehindOneThatTheServerDoesNotRead() throws Exception {
        final CountDownLatch coming = new CountDownLatch(1);
        serve(5000, (socket, in, out) -> {
            welcome(in, out);
            assertEquals('K', socket.getInputStream().read());
            coming.countDown();
            over.await();
        });
        final CompletableFuture<RpcStatus> first = Threads.start(() -> failure(LARGE, LIMIT_MS));
        coming.await();

        assertEquals(RpcStatus.TIMEOUT, failure(10, 300));
        client.close();
        assertEquals(RpcStatus.DISCONNECTED, first.join());
    }

    @Test
    void shouldGiveACallUpInItsTimeWhoseReplyTricklesIn() {
        final AtomicInteger sent = new AtomicInteger();
        serve(5000, (socket, in, out) -> {
            welcome(in, out);
            in.next(100);
            final byte[] header = new byte[RpcFrame.HEADER_BYTES];
            RpcFrame.put(header, 0, RpcFrame.REPLY, 0, in.id());
            RpcFrame.putSizes(header, 0, 0, TRICKLED);
            socket.getOutputStream().write(header);
            trickle(socket, sent);
        });
        assertEquals(RpcStatus.TIMEOUT, failure(10, 2000));
        assertTrue(sent.get() < TRICKLED, "all of it has come");
    }

    @Test
    void shouldGiveAConnectionUpInItsTimeWhoseHandshakeTricklesIn() {
        final AtomicInteger sent = new AtomicInteger();
        serve(1000, (socket, in, out) -> {
            final byte[] header = new byte[RpcFrame.HEADER_BYTES];
            RpcFrame.put(header, 0, RpcFrame.CHALLENGE, 0, 0);
            RpcFrame.putSizes(header, 0, 0, TRICKLED);
            socket.getOutputStream().write(header);
            trickle(socket, sent);
        });
        assertEquals(RpcStatus.UNREACHABLE, failure(10, LIMIT_MS));
        assertTrue(sent.get() < TRICKLED, "all of it has come");
    }

    /** In a log it would be several lines, and the last ones anything that the server likes. */
    @Test
    void shouldTellWhatTheServerSaysInOneLineOfText() {
        serve(5000, (socket, in, out) -> {
            welcome(in, out);
            while (true) {
                in.next(100);
                final byte[] text = Handshake.failureBody(in.code() == 1 ? "no\nSEVERE: \u001b[2J\u202eon"
                    : "x".repeat(1 << 20));
                out.add(RpcFrame.FAILURE, RpcStatus.INTERNAL.code(), in.id(), 0, text);
                out.flush();
            }
        });
        final String text = assertThrows(RpcException.class, () -> client.call(1, new byte[0], LIMIT_MS)).getMessage();
        assertTrue(text.endsWith("no\\u000aSEVERE: \\u001b[2J\\u202eon"), text);
        final String longText =
            assertThrows(RpcException.class, () -> client.call(2, new byte[0], LIMIT_MS)).getMessage();
        assertTrue(longText.length() < 10_000, "of " + longText.length() + " characters");
    }
}
