package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.kit.Jvm;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.cli.Main;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.config.Environment;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportSegment;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.gds.GdsConfig;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Stores of every kind move their bytes as {@code MC_TENT_CONF} says. */
@ExtendWith(LeakCheck.class)
class ConfiguredTransportsTest {
    private static final int UNIT = 4096;
    private static final ObjectKey KEY = ObjectKey.of("key");
    private static final String NO_TCP = "{'transports': {'tcp': {'enable': false}}}";
    private static final String NO_SHM = "{'transports': {'shm': {'enable': false}}}";

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;
    private final Deque<AutoCloseable> open = new ArrayDeque<>();
    private Cluster cluster;

    @AfterEach
    void close() throws Exception {
        while (!open.isEmpty()) {
            open.pop().close();
        }
    }

    private static Environment environment(final String variable) {
        return Environment.of(Map.of("MC_TENT_CONF", variable.replace('\'', '"')));
    }

    private Cluster cluster() {
        if (cluster == null) {
            cluster = new Cluster(Cluster.settings(1, 0));
            open.push(cluster);
        }
        return cluster;
    }

    private ConnectedStore join(final String variable, final long memoryBytes) {
        final ConnectedStore store = ConnectedStore.open(cluster().config().memoryBytes(memoryBytes).build(),
            new StoreHooks(() -> 0, FileOpener.POSIX, environment(variable)));
        open.push(store);
        return store;
    }

    private static void assertReaches(final Store reader, final byte[] value) {
        assertArrayEquals(value, reader.getBytes(KEY).orElseThrow());
    }

    private static void assertMisses(final Store reader, final byte[] value) {
        assertEquals(GetOutcome.MISS, reader.get(KEY, MemorySegment.ofArray(new byte[value.length])));
    }

    @Test
    void shouldLendOverSharedMemoryAloneWhereTcpIsOff() {
        final ConnectedStore node = join("{'transports': {'tcp': {'enable': false}, 'shm': {'enable': true, "
            + "'cxl_mount_path': '" + directory + "'}}}", 1 << 20);
        final byte[] value = PatternBytes.of(1, 3 * UNIT + 5);
        StoreContract.put(node, KEY, value);

        final List<String> addresses = node.addresses();
        assertEquals(1, addresses.size(), addresses.toString());
        assertTrue(addresses.getFirst().startsWith("shm://" + directory + "/kvtier-"), addresses.toString());
        assertReaches(join("{}", 0), value);
        assertReaches(join(NO_TCP, 0), value);
        assertMisses(join(NO_SHM, 0), value);
    }

    @Test
    void shouldLendOverTcpAloneWhereSharedMemoryIsOff() {
        final ConnectedStore node = join(NO_SHM, 1 << 20);
        final byte[] value = PatternBytes.of(1, 3 * UNIT + 5);
        StoreContract.put(node, KEY, value);

        final List<String> addresses = node.addresses();
        assertEquals(1, addresses.size(), addresses.toString());
        assertTrue(addresses.getFirst().startsWith("tcp://127.0.0.1:"), addresses.toString());
        assertReaches(join("{}", 0), value);
        assertMisses(join(NO_TCP, 0), value);
    }

    /** A policy says by what, not whether: an address that no transport of it serves is another rule's. */
    @Test
    void shouldGoOnWithSharedMemoryWhenAPolicyNamesTcpAlone() {
        final byte[] value = PatternBytes.of(1, 3 * UNIT + 5);
        StoreContract.put(join(NO_TCP, 1 << 20), KEY, value);

        assertReaches(join("{'policy': [{'segment_type': 'memory', 'transports': ['rdma', 'tcp']}]}", 0), value);
    }

    @Test
    void shouldReadTheDiskOfANodeThatIsReachedOverSharedMemoryAlone() {
        final ConnectedStore node = ConnectedStore.open(cluster().config().memoryBytes(64 * UNIT)
            .disk(directory.resolve("disk"), 4 << 20).stagingBytes(8 * UNIT).build(),
            new StoreHooks(() -> 0, FileOpener.POSIX, environment(NO_TCP)));
        open.push(node);
        final byte[] value = PatternBytes.of(1, 3 * UNIT + 5);
        StoreContract.put(node, KEY, value);
        StoreContract.fillUntilOnDisk(node, KEY, 64 * UNIT);

        assertReaches(join("{}", 0), value);
    }

    @Test
    void shouldTellANodeProcess() {
        try (ClusterProcesses processes = new ClusterProcesses();
             Jvm node = Jvm.start(List.of("-DMC_TENT_CONF={\"transports\": {\"tcp/enable\": false, "
                 + "\"shm/cxl_mount_path\": \"" + directory + "\"}}"), ProcessBuilder.Redirect.INHERIT, Main.class,
                 "node", "--master=127.0.0.1:" + processes.port(), "--memory-bytes=1M")) {
            assertTrue(node.ready().matches("kvtier node ready: shm://" + directory + "/kvtier-\\S+"), node.ready());
            assertEquals(0, node.stop());
        }
    }

    @Test
    void shouldRefuseBeforeTheMasterIsAsked() {
        final StoreException e = assertThrows(StoreException.class, () -> {
            final Cluster gone = cluster();
            gone.closeMaster();
            join("{'transports': {'tcp': {'enable': 'no'}}}", 0);
        });
        assertEquals(ErrorCode.INVALID_PARAMS, e.code());
        assertTrue(e.getMessage().contains("'transports/tcp/enable' is no; it must be true or false"), e.getMessage());
    }

    /** Also where there is no disk, and so nothing that would use it. */
    @Test
    void shouldRefuseAnEmbeddedStore() {
        final StoreException e = assertThrows(StoreException.class, () -> EmbeddedStore.open(StoreConfig.builder()
            .memoryBytes(UNIT).build(), new StoreHooks(() -> 0, FileOpener.POSIX, environment("{'policy': 7}"))));
        assertEquals(ErrorCode.INVALID_PARAMS, e.code());
        assertTrue(e.getMessage().contains("'policy' is 7; it must be a list"), e.getMessage());
    }

    /** GPUDirect Storage as far as a store knows it: it moves registered memory alone; calls of the system do it. */
    private static final class RegisteredOnly implements Transport {
        private final PosixTransport calls = new PosixTransport(FileOpener.POSIX, 1, false);
        private final Set<MemoryRegion> known = ConcurrentHashMap.newKeySet();
        private final AtomicLong bytes = new AtomicLong();
        private GdsConfig config;
        private boolean closed;

        RegisteredOnly openedWith(final GdsConfig given) {
            config = given;
            return this;
        }

        @Override
        public Capability capability() {
            return new Capability(TransportKind.GDS, Set.of(Segment.Kind.FILE),
                Set.of(MemoryKind.DEVICE, MemoryKind.HOST), Availability.yes("a test's"));
        }

        @Override
        public TransportSegment open(final SegmentTarget target) {
            return calls.open(target);
        }

        @Override
        public String check(final Slice slice) {
            return known.contains(slice.region()) ? calls.check(slice) : "it is not registered";
        }

        @Override
        public void submit(final Slice slice) {
            bytes.addAndGet(slice.length());
            calls.submit(slice);
        }

        @Override
        public void sync(final Slice slice) {
            calls.sync(slice);
        }

        @Override
        public Availability attach(final MemoryRegion region) {
            known.add(region);
            return Availability.yes("registered");
        }

        @Override
        public void detach(final MemoryRegion region) {
            known.remove(region);
        }

        @Override
        public void close() {
            closed = true;
            calls.close();
        }
    }

    /** What is not registered would have no way, and values that are read through it would be lost. */
    @Test
    void shouldRefuseToMoveFilesByGdsAlone() {
        final RegisteredOnly gds = new RegisteredOnly();
        final StoreHooks hooks = new StoreHooks(() -> 0, FileOpener.POSIX, environment("{'transports': {'gds': "
            + "{'enable': true, 'host_memory': true}}, 'policy': [{'segment_type': 'file', 'transports': ['gds']}]}"),
            gds::openedWith);

        final StoreException e = assertThrows(StoreException.class, () -> EmbeddedStore.open(StoreConfig.builder()
            .memoryBytes(UNIT).disk(directory, 1 << 20).build(), hooks));

        assertEquals(ErrorCode.INVALID_PARAMS, e.code());
        assertTrue(e.getMessage().endsWith("gds: it does not move all memory of the host; add posix behind them"),
            e.getMessage());
        assertTrue(gds.closed);
    }

    @Test
    void shouldMoveAnEmbeddedStoresMemoryByGdsWhereItIsAskedFor() {
        final RegisteredOnly gds = new RegisteredOnly();
        final StoreHooks hooks = new StoreHooks(() -> 0, FileOpener.POSIX, environment("{'transports': {'gds': "
            + "{'enable': true, 'host_memory': true, 'io_batch_depth': 7}, 'io_uring/enable': false}, "
            + "'policy': [{'segment_type': 'file', 'transports': ['gds', 'posix']}]}"), gds::openedWith);
        final byte[] value = PatternBytes.of(1, 3 * UNIT + 5);
        try (EmbeddedStore store = EmbeddedStore.open(StoreConfig.builder().memoryBytes(64 * UNIT)
            .disk(directory, 4 << 20).build(), hooks)) {
            assertEquals(new GdsConfig(true, 7, GdsConfig.Mode.BATCH, 0, 4, false, true, 1000, true), gds.config);
            assertEquals(2, gds.known.size(), "the memory tier and the pool that disk reads go through");
            StoreContract.put(store, KEY, value);
            StoreContract.fillUntilOnDisk(store, KEY, 64 * UNIT);
            assertReaches(store, value);
            assertTrue(gds.bytes.get() >= 2L * value.length, "written and read: " + gds.bytes);
        }
        assertEquals(Set.of(), gds.known);
        assertTrue(gds.closed);
    }
}
