package io.kvtier.store.cli;

import io.kvtier.store.ConnectConfig;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.DiskEviction;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.NofConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.admin.NodeMetrics;
import io.kvtier.store.client.ConnectedStore;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.GdsVariables;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.agrona.CloseHelper;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kvtier node}. */
@Command(name = "node", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Lends memory, and perhaps a disk or block devices, to the store until it is asked to end (SIGTERM "
        + "or SIGINT). Prints one line when it is ready.",
    footer = {"", "What is lent is taken back in good order at the end: values in its memory are gone from the store, "
        + "those on its disk are there again when a node is started on the same directory.",
        "A block device is used as a whole: it must be blank (its first MiB all zeros) or have been lent before, and "
            + "must not be mounted. All processes of the store reach it by the same path. Its values go with the node.",
        "Exit status: 0 ended when asked, 1 failed, 2 wrong use."})
final class NodeCommand extends ClientCommand {
    private static final int MAX_PORT = 65_535;

    @Option(names = "--memory-bytes", paramLabel = "BYTES", defaultValue = "1G", converter = ByteSize.class,
        description = "Memory to lend; 0 for none (default: ${DEFAULT-VALUE}).")
    private long memoryBytes;

    @Option(names = "--dir", paramLabel = "DIR", description = "Directory of the disk to lend.")
    private Path dir;

    @Option(names = "--disk-bytes", paramLabel = "BYTES", defaultValue = "0", converter = ByteSize.class,
        description = "Disk to lend; 0 for none (default: ${DEFAULT-VALUE}).")
    private long diskBytes;

    @Option(names = "--disk-backend", paramLabel = "NAME", converter = DiskBackendName.class,
        description = "How values lie in files of the disk: offset_allocator_storage_backend (one file), "
            + "bucket_storage_backend or file_per_key_storage_backend (default: what " + DiskBackend.VARIABLE
            + " says, else the first).")
    private DiskBackend diskBackend;

    @Option(names = "--disk-eviction", paramLabel = "ORDER", converter = DiskEvictionName.class,
        defaultValue = "lru", description = "Which values go first when the disk is full: lru (used longest ago) or "
            + "fifo (there for longest) (default: ${DEFAULT-VALUE}).")
    private DiskEviction diskEviction;

    @Option(names = "--gds-file", paramLabel = "FILE", description = "Backing file of GDS offload, an absolute path.")
    private Path gdsFile;

    @Option(names = "--gds-bytes", paramLabel = "BYTES", defaultValue = "0", converter = ByteSize.class,
        description = "How much it may hold; 0 leaves GDS offload to MOONCAKE_GDS_OFFLOAD_* (default: "
            + "${DEFAULT-VALUE}).")
    private long gdsBytes;

    @Option(names = "--gds-transport", paramLabel = "NAME",
        description = "What moves the bytes: gds, io_uring or posix (default: gds).")
    private GdsConfig.Mover gdsTransport;

    @Option(names = "--staging-bytes", paramLabel = "BYTES", converter = ByteSize.class,
        defaultValue = (ConnectConfig.DEFAULT_STAGING_BYTES >> 20) + "M",
        description = "Memory through which others read the disk (default: ${DEFAULT-VALUE}).")
    private long stagingBytes;

    @Option(names = "--nof-device", paramLabel = "PATH[:BYTES]", converter = NofDeviceArgument.class,
        description = "Block device to lend, an NVMe-oF namespace that the kernel has attached or any other; or a "
            + "file, made when it is absent. Without BYTES all of it; may be given several times.")
    private List<NofConfig.Device> nofDevices = List.of();

    @Option(names = "--nof-probe-ms", paramLabel = "MS", defaultValue = "" + NofConfig.DEFAULT_PROBE_MS,
        description = "Time between two looks at a block device (default: ${DEFAULT-VALUE}).")
    private long nofProbeMs;

    @Option(names = "--nof-probe-timeout-ms", paramLabel = "MS", defaultValue = "" + NofConfig.DEFAULT_PROBE_TIMEOUT_MS,
        description = "Time after which such a look counts as failed (default: ${DEFAULT-VALUE}).")
    private long nofProbeTimeoutMs;

    @Option(names = "--name", paramLabel = "NAME", description = "What the node calls itself (default: pid@host).")
    private String name;

    @Option(names = "--segment-name", paramLabel = "NAME",
        description = "What its memory is called (default: the node's name).")
    private String segmentName;

    @Option(names = "--host-id", paramLabel = "NAME", description = "What the host is called (default: its name).")
    private String hostId;

    @Option(names = "--listen", paramLabel = "HOST", defaultValue = ConnectConfig.DEFAULT_BIND_HOST,
        description = "Address to listen on; beyond this host it needs --secret-file (default: ${DEFAULT-VALUE}).")
    private String listen;

    @Option(names = "--advertise", paramLabel = "HOST",
        description = "Name or address under which others reach this host (default: that of --listen, unless it is "
            + "0.0.0.0 or ::).")
    private String advertise;

    @Option(names = "--metrics-port", paramLabel = "PORT", defaultValue = "0",
        description = "Port of this host alone on which metrics of the shared disk are got over HTTP (/metrics); 0 for "
            + "none (default: ${DEFAULT-VALUE}).")
    private int metricsPort;

    @Option(names = "--insecure", description = "Do without a secret, wherever it listens.")
    private boolean insecure;

    private final Environment environment;

    NodeCommand(final Console console) {
        this(console, Environment.system());
    }

    /** With variables that are not the process's. */
    NodeCommand(final Console console, final Environment environment) {
        super(console);
        this.environment = environment;
    }

    @Override
    ConnectConfig.Builder settings(final ConnectConfig.Builder config) {
        allow(memoryBytes > 0 || diskBytes > 0 || gdsBytes > 0 || !nofDevices.isEmpty()
            || GdsVariables.from(environment).isPresent(), "--memory-bytes, --disk-bytes and --gds-bytes are 0, there "
            + "is no --nof-device, and " + GdsVariables.ENABLED + " is not 1; nothing is lent");
        allow(diskBytes == 0 || dir != null, "--disk-bytes needs --dir");
        allow(diskBackend == null || diskBytes != 0, "--disk-backend needs --dir and --disk-bytes");
        allow(gdsBytes == 0 == (gdsFile == null), "--gds-file and --gds-bytes need each other");
        allow(gdsTransport == null || gdsBytes != 0, "--gds-transport needs --gds-file and --gds-bytes");
        allow(metricsPort >= 0 && metricsPort <= MAX_PORT, "--metrics-port is " + metricsPort + "; allowed is 0 to "
            + MAX_PORT);
        allow(!isNameless(), "--tls-truststore needs --tls-keystore: others call a node, too");
        if (name != null) {
            config.name(name);
        }
        if (hostId != null) {
            config.hostId(hostId);
        }
        if (gdsBytes != 0) {
            config.gds(GdsConfig.NONE.withRoom(gdsFile, gdsBytes).withTransport(gdsTransport == null
                ? GdsConfig.NONE.transport() : gdsTransport));
        }
        nofDevices.forEach(device -> config.nofDevice(device.path(), device.bytes()));
        return config.nofProbe(nofProbeMs, nofProbeTimeoutMs).memoryBytes(memoryBytes).disk(dir, diskBytes)
            .diskBackend(diskBackend).diskEviction(diskEviction).stagingBytes(stagingBytes).segmentName(segmentName)
            .listen(listen, advertise).open(insecure);
    }

    @Override
    int run(final ConnectedStore store) throws InterruptedException {
        final StopSignals signals = StopSignals.listen();
        final NodeMetrics metrics = metrics(store);
        try {
            print("kvtier node ready: " + String.join(" ", store.addresses()));
            console().out().flush();
            signals.await();
            say("ending");
        } finally {
            CloseHelper.close(metrics);
        }
        store.close();
        return Main.DONE;
    }

    /** Null where none are wanted. */
    private NodeMetrics metrics(final ConnectedStore store) {
        try {
            return metricsPort == 0 ? null : NodeMetrics.start(metricsPort, () -> store.stats().sharedDisk());
        } catch (final IOException e) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "--metrics-port " + metricsPort + " cannot be had ("
                + e.getMessage() + "); name another one, or 0 for none");
        }
    }
}
