package io.kvtier.transport.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An interrupt ends no call: not while a connection is made, nor while the caller waits for its turn to make it. */
class RpcInterruptTest {
    private static final long LIMIT_MS = 30_000;
    private static final byte[] BODY = {1, 2, 3};

    /** The JDK closes the socket with which an interrupted virtual thread connects. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldConnectForACallerWhoIsInterrupted(final boolean virtual) throws Exception {
        try (RpcServer server = echo(0);
             RpcClient client = new RpcClient(RpcClientConfig.of("127.0.0.1", server.address().getPort(), "test"))) {
            assertAnswered(client, virtual);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldWaitOutThePauseAfterAFailureForACallerWhoIsInterrupted(final boolean virtual) throws Exception {
        final int port;
        try (RpcServer server = echo(0)) {
            port = server.address().getPort();
        }
        try (RpcClient client = new RpcClient(RpcClientConfig.of("127.0.0.1", port, "test")
            .withTimes(LIMIT_MS, 200, 200))) {
            assertThrows(RpcException.class, () -> client.call(1, BODY, LIMIT_MS));
            try (RpcServer server = echo(port)) {
                assertEquals(port, server.address().getPort());
                assertAnswered(client, virtual);
                assertEquals(1, server.connections());
            }
        }
    }

    private static RpcServer echo(final int port) throws IOException {
        return RpcServer.start(RpcServerConfig.loopback(port), call -> call.reply(call.body()));
    }

    private static void assertAnswered(final RpcClient client, final boolean virtual)
        throws ExecutionException, InterruptedException {
        final FutureTask<byte[]> call = new FutureTask<>(() -> {
            Thread.currentThread().interrupt();
            final byte[] reply = client.call(1, BODY, LIMIT_MS);
            assertTrue(Thread.interrupted(), "it is kept");
            return reply;
        });
        (virtual ? Thread.ofVirtual() : Thread.ofPlatform().daemon()).start(call);
        assertArrayEquals(BODY, call.get());
    }
}
