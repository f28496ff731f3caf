package io.kvtier.transport.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;

/** Connections on which nothing happens. */
class RpcIdleTest {
    private static final long LIMIT_MS = 30_000;
    private static final long IDLE_MS = 20;

    private final BlockingQueue<RpcCall> held = new LinkedBlockingQueue<>();
    private final BlockingQueue<Long> gone = new LinkedBlockingQueue<>();

    private final RpcHandler handler = new RpcHandler() {
        @Override
        public void handle(final RpcCall call) {
            if (call.method() == 1) {
                call.reply(call.body());
            } else {
                held.add(call);
            }
        }

        @Override
        public void disconnected(final long connection) {
            gone.add(connection);
        }
    };

    @Test
    void shouldEndAnIdleConnectionAndNotOneWithACallUnderWay() throws IOException, InterruptedException {
        try (RpcServer server = RpcServer.start(RpcServerConfig.loopback(0), handler);
             RpcClient waiting = client(server);
             RpcClient idle = client(server)) {
            final CompletableFuture<byte[]> answer =
                Threads.start(() -> waiting.call(2, new byte[] {1}, LIMIT_MS));
            final RpcCall call = held.take();
            server.endIdle(IDLE_MS);
            // Each round takes at least as long as the call has been under way without being ended.
            for (int round = 0; round < 3; round++) {
                assertArrayEquals(new byte[] {2}, callBeforeItIsIdle(idle));
                assertNotEquals(call.connection(), gone.take());
                assertEquals(RpcStatus.DISCONNECTED,
                    assertThrows(RpcException.class, () -> idle.call(1, new byte[] {2}, LIMIT_MS)).status());
            }
            call.reply(new byte[] {3});
            assertArrayEquals(new byte[] {3}, answer.join());
            gone.take();
        }
    }

    /** On a slow machine a connection can be idle before its first call is there, or before it was greeted. */
    private byte[] callBeforeItIsIdle(final RpcClient idle) throws InterruptedException {
        while (true) {
            try {
                return idle.call(1, new byte[] {2}, LIMIT_MS);
            } catch (final RpcException e) {
                assertTrue(Set.of(RpcStatus.DISCONNECTED, RpcStatus.UNREACHABLE).contains(e.status()), e::toString);
                gone.take();
            }
        }
    }

    private static RpcClient client(final RpcServer server) {
        return new RpcClient(RpcClientConfig.of("127.0.0.1", server.address().getPort(), "test"));
    }
}
