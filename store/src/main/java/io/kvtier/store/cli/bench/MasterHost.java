package io.kvtier.store.cli.bench;

import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.MasterServer;
import io.kvtier.transport.HostPort;
import io.kvtier.transport.rpc.RpcServerConfig;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/**
 * The other process of a bench over RPC: a master that runs until standard input ends, as it also does with the process
 * that started this one.
 *
 * <p><b>Threading:</b> one thread; the server has its own.
 */
public final class MasterHost {
    /** What the line with host and port begins with. */
    static final String SCHEME = "rpc://";

    private static final double HIGH_WATERMARK = 0.95;
    private static final double RATIO = 0.05;
    private static final long LEASE_MS = 5000;
    private static final long DISK_RETRY_MS = 10_000;

    private MasterHost() {
    }

    /** Starts it as a process, which ends with the rig; its host and port. */
    static String start(final Rig rig, final Workspace workspace) throws IOException {
        final List<String> command = new ArrayList<>(workspace.self());
        command.addAll(List.of("bench", "master"));
        final Programs.Background server = rig.keep(Programs.start(command), Programs.Background::end);
        return server.line(SCHEME).substring(SCHEME.length());
    }

    /** Readers are in other processes, and a client that says nothing is not forgotten. */
    static MasterSettings settings() {
        return settings(LEASE_MS);
    }

    /** The same, with leases of that many milliseconds. */
    static MasterSettings settings(final long leaseMs) {
        final MasterSettings.Eviction eviction =
            new MasterSettings.Eviction(HIGH_WATERMARK, RATIO, HIGH_WATERMARK, RATIO, true);
        return new MasterSettings(eviction, leaseMs, true, DISK_RETRY_MS, MasterSettings.Liveness.FOREVER,
            MasterSettings.Pins.DEFAULT, MasterSettings.Tasks.DEFAULT, false, MasterSettings.Strategy.RANDOM);
    }

    /**
     * Runs a master on this machine; prints where on one line.
     *
     * @param in  goes on until this ends.
     * @param out takes the line.
     * @throws IOException when {@code in} cannot be read.
     */
    public static void serve(final InputStream in, final PrintStream out) throws IOException {
        try (MasterServer server = MasterServer.start(RpcServerConfig.loopback(0), settings())) {
            out.println(SCHEME + HostPort.of(null, server.address()));
            out.flush();
            in.transferTo(OutputStream.nullOutputStream());
        }
    }
}
