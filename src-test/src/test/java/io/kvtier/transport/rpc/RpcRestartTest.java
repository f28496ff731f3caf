package io.kvtier.transport.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.kvtier.kit.LeakCheck;
import java.io.IOException;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A server that is closed has given its port back. */
@ExtendWith(LeakCheck.class)
class RpcRestartTest {
    /** Not of those that the system gives to whoever names none: between two servers somebody could get the port. */
    private static final int FIRST_PORT = 20_000;
    private static final int LAST_PORT = 32_000;
    private static final int RESTARTS = 300;

    private static RpcServer start(final int port) throws IOException {
        return RpcServer.start(RpcServerConfig.loopback(port), call -> call.reply(call.body()));
    }

    private static RpcServer startSomewhere() throws IOException {
        for (int port = ThreadLocalRandom.current().nextInt(FIRST_PORT, LAST_PORT);; port++) {
            try {
                return start(port);
            } catch (final IOException e) {
                if (port >= LAST_PORT) {
                    throw e;
                }
            }
        }
    }

    @Test
    void shouldListenAgainWhereAnotherWasClosed() throws IOException {
        RpcServer server = startSomewhere();
        try {
            final int port = server.address().getPort();
            for (int i = 0; i < RESTARTS; i++) {
                if (i % 2 == 0) {
                    try (RpcClient client = new RpcClient(RpcClientConfig.of("127.0.0.1", port, "test"))) {
                        assertArrayEquals(new byte[] {5}, client.call(1, new byte[] {5}, 30_000));
                        server.close();
                    }
                } else {
                    server.close();
                }
                server = start(port);
            }
        } finally {
            server.close();
        }
    }
}
