package io.kvtier.transport.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.Ports;
import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A server that is closed has given its port back. */
@ExtendWith(LeakCheck.class)
class RpcRestartTest {
    private static final int RESTARTS = 300;

    private static RpcServer start(final int port) throws IOException {
        return RpcServer.start(RpcServerConfig.loopback(port), call -> call.reply(call.body()));
    }

    @Test
    void shouldListenAgainWhereAnotherWasClosed() throws IOException {
        RpcServer server = Ports.anywhere(RpcRestartTest::start);
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
