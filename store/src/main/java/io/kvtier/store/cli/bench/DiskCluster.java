package io.kvtier.store.cli.bench;

import io.kvtier.alloc.HostRegion;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.SharedDiskConfig;
import io.kvtier.store.Store;
import io.kvtier.store.ValueInfo;
import io.kvtier.store.config.SharedDiskVariables;
import io.kvtier.store.config.SharedDiskVariables.FileSystem;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.HostPort;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * A master and a node, each a process of its own, and a store of this process that lends nothing: what it reads lies
 * elsewhere. Once {@link #settle} has returned, that is on a disk alone: in shared files, and the node that wrote them
 * has ended; or on the disk of the node, through which alone they are reached.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> all of it ends with the rig.
 */
final class DiskCluster {
    private static final long LEAST_MEMORY = 64L << 20;
    private static final long FILLER_BYTES = 1L << 20;
    /** Fillers go on until the last value has left memory; there is room for them on the disk. */
    private static final int MOST_FILLERS = 4;
    private static final int MOST_FILES = 256;
    private static final long PAGE_BYTES = 64L << 10;
    /** Whose pages are all used is evicted from. */
    private static final int ROOM = 2;
    private static final long SETTLE_SECONDS = 120;
    private static final long LOOK_MS = 5;

    private final Workspace workspace;
    private final ReplicaType tier;
    private final PageLayout layout;
    private final String master;
    private final Programs.Background node;
    private final long memoryBytes;
    private final Store store;

    private DiskCluster(final Rig rig, final Workspace workspace, final ValueBatches.Shape shape) throws IOException {
        this.workspace = workspace;
        this.tier = shape.from();
        this.memoryBytes = Math.max(LEAST_MEMORY, ROOM * shape.count() * shape.bytes());
        this.layout = tier == ReplicaType.DISTRIBUTED_DISK ? layout(rig, shape) : null;
        final List<String> options = new ArrayList<>();
        if (layout != null) {
            options.addAll(MasterProgram.paged(layout));
            options.add("--distributed_offload_at_put");
        }
        this.master = MasterProgram.start(rig, workspace, options);
        this.node = node(rig);
        this.store = rig.keep(Store.connect(ConnectConfig.builder(HostPort.parse(master)).gds(GdsConfig.NONE)
            .shm(false).timeouts(MasterProgram.TIMEOUT_MS, MasterProgram.TIMEOUT_MS).sharedDisk(sharedDisk()).build()),
            Store::close);
    }

    /**
     * Starts one whose values go to where those of a load have to come from, DISTRIBUTED_DISK or LOCAL_DISK.
     *
     * @param rig       keeps it.
     * @param workspace its directories.
     * @param shape     of the load.
     * @return with no values yet.
     */
    static DiskCluster start(final Rig rig, final Workspace workspace, final ValueBatches.Shape shape)
        throws IOException {
        return new DiskCluster(rig, workspace, shape);
    }

    private PageLayout layout(final Rig rig, final ValueBatches.Shape shape) throws IOException {
        final String folder = DirectFolders.make(rig, workspace.directory(), "shared-").toString();
        final int files = Math.clamp(workspace.fileBytes() / shape.bytes(), 1, MOST_FILES);
        final long pages = Math.ceilDiv(ROOM * workspace.fileBytes() / files, PAGE_BYTES);
        return new PageLayout(folder, files, PAGE_BYTES, pages * PAGE_BYTES);
    }

    private SharedDiskConfig sharedDisk() {
        return layout == null ? SharedDiskConfig.NONE : SharedDiskConfig.NONE.in(layout.rootDir(), layout.buckets(),
            layout.pageBytes(), layout.bucketBytes())
            // The node has looked at it.
            .withFileSystem(FileSystem.POSIX).withHealthCheck(false);
    }

    private Programs.Background node(final Rig rig) throws IOException {
        final List<String> command = new ArrayList<>(workspace.self());
        command.addAll(List.of("node", "--master", master, "--memory-bytes", Long.toString(memoryBytes), "--no-shm"));
        if (layout == null) {
            command.addAll(List.of("--dir", DirectFolders.make(rig, workspace.ownerDirectory(), "owner-").toString(),
                "--disk-bytes", Long.toString(ROOM * workspace.fileBytes() + MOST_FILLERS * memoryBytes)));
        }
        // In good order: then the master knows that its memory is gone.
        final Programs.Background started =
            rig.keep(Programs.start(command, environment()), Programs.Background::end);
        started.line("kvtier node ready");
        return started;
    }

    private Map<String, String> environment() {
        return layout == null ? Map.of() : Map.of(SharedDiskVariables.PAGE_MODE, "1",
            SharedDiskVariables.ROOT_DIR, layout.rootDir(),
            SharedDiskVariables.FS_TYPE, FileSystem.POSIX.configName(),
            SharedDiskVariables.BUCKET_COUNT, Integer.toString(layout.buckets()),
            SharedDiskVariables.PAGE_SIZE, Long.toString(layout.pageBytes()),
            SharedDiskVariables.BUCKET_SIZE, Long.toString(layout.bucketBytes()));
    }

    /** Values are put and fetched here. */
    Store store() {
        return store;
    }

    /** Host and port of the master. */
    String master() {
        return master;
    }

    /** How its shared files are laid out; null where there are none. */
    PageLayout layout() {
        return layout;
    }

    /**
     * Waits until values lie on the disk and in no memory.
     *
     * @param values how many, of the names that loads give.
     */
    void settle(final long values) throws IOException, InterruptedException {
        final long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SETTLE_SECONDS);
        if (layout != null) {
            await(values, deadline, found -> found.contains(tier));
            node.end();
        } else {
            crowdOut(ValueBatches.key(values - 1));
        }
        await(values, deadline, found -> found.equals(List.of(tier)));
    }

    /** The oldest values leave memory first. */
    private void crowdOut(final ObjectKey last) throws IOException {
        try (HostRegion filler = workspace.filled(FILLER_BYTES, memoryBytes)) {
            for (long i = 0; i < MOST_FILLERS * memoryBytes / FILLER_BYTES && tiers(last).contains(ReplicaType.MEMORY);
                 i++) {
                put(i, filler.segment());
            }
        }
    }

    private void put(final long number, final MemorySegment value) throws IOException {
        final PutOutcome outcome = store.put(ObjectKey.of("filler-" + number), value);
        if (outcome != PutOutcome.STORED) {
            throw new IOException("the store does not take a filler of " + value.byteSize() + " bytes: " + outcome);
        }
    }

    private List<ReplicaType> tiers(final ObjectKey key) {
        return store.stat(key).map(ValueInfo::tiers).orElse(List.of());
    }

    private void await(final long values, final long deadline, final Predicate<List<ReplicaType>> wanted)
        throws IOException, InterruptedException {
        for (long i = 0; i < values; i++) {
            final ObjectKey key = ValueBatches.key(i);
            List<ReplicaType> found = tiers(key);
            while (!wanted.test(found)) {
                if (System.nanoTime() - deadline > 0) {
                    throw new IOException(key + " is in " + found + " and not in " + tier + " alone after "
                        + SETTLE_SECONDS + " s");
                }
                TimeUnit.MILLISECONDS.sleep(LOOK_MS);
                found = tiers(key);
            }
        }
    }
}
