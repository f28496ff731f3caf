package io.kvtier.store.cli.bench;

import io.kvtier.store.protocol.wire.RemoteMaster;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.transport.HostPort;
import io.kvtier.transport.rpc.RpcClientConfig;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * {@code kvtier master} in a process of its own, which ends with the rig. It forgets nobody, and leases and limits of
 * time are long: that a machine was busy for a while is no failure.
 */
final class MasterProgram {
    /** Of a call, and of a transfer of whoever uses it. */
    static final long TIMEOUT_MS = 60_000;

    private static final String READY = "kvtier master ready: calls ";

    private MasterProgram() {
    }

    /**
     * Starts it.
     *
     * @param rig       keeps it.
     * @param workspace knows how this program is started.
     * @param options   what it is told beside where to listen.
     * @return its host and port.
     */
    static String start(final Rig rig, final Workspace workspace, final List<String> options) throws IOException {
        final List<String> command = new ArrayList<>(workspace.self());
        // Lines of metrics would fill a pipe that nobody reads.
        command.addAll(List.of("master", "--rpc_port=0", "--metrics_port=0", "--enable_metric_reporting=false",
            "--client_ttl=24h", "--default_kv_lease_ttl=60s"));
        command.addAll(options);
        final Programs.Background server = rig.keep(Programs.start(command), Programs.Background::end);
        final String line = server.line(READY);
        return line.substring(READY.length(), line.indexOf(','));
    }

    /** Asks it. */
    static RemoteMaster connect(final Rig rig, final String hostAndPort) {
        final HostPort where = HostPort.parse(hostAndPort);
        return rig.keep(new RemoteMaster(RpcClientConfig.of(where.host(), where.port(), "bench"), TIMEOUT_MS),
            RemoteMaster::close);
    }

    /** The options of page mode. */
    static List<String> paged(final PageLayout layout) {
        return List.of("--distributed_page_mode", "--distributed_root_dir=" + layout.rootDir(),
            "--distributed_bucket_count=" + layout.buckets(), "--distributed_page_size=" + layout.pageBytes(),
            "--distributed_bucket_size=" + layout.bucketBytes());
    }
}
