package io.kvtier.store.client;

import io.kvtier.store.master.MasterServer;
import io.kvtier.transport.rpc.RpcServerConfig;

/** A master as a process: prints its port, and ends when its standard input does. */
final class MasterMain {
    private MasterMain() {
    }

    public static void main(final String[] arguments) throws Exception {
        try (MasterServer master = MasterServer.start(RpcServerConfig.loopback(Integer.parseInt(arguments[0])),
            Cluster.settings(1, 0, 2_000))) {
            System.out.println("port " + master.address().getPort());
            while (System.in.read() >= 0) {
                continue;
            }
        }
    }
}
