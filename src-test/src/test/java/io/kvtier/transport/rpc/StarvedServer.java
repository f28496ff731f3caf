package io.kvtier.transport.rpc;

import java.io.IOException;
import java.lang.System.Logger;

/** The main class of a server whose process may open few files; ends with its standard input. */
final class StarvedServer {
    private StarvedServer() {
    }

    public static void main(final String[] arguments) throws IOException {
        // The logging that it will need opens files when it begins.
        System.getLogger(StarvedServer.class.getName()).log(Logger.Level.WARNING, "started");
        try (RpcServer server = RpcServer.start(RpcServerConfig.loopback(0).withLimits(1024, 4096, 600_000, 1000),
            call -> call.reply(call.body()))) {
            System.out.println(server.address().getPort());
            while (System.in.read() >= 0) {
                Thread.onSpinWait();
            }
        }
    }
}
