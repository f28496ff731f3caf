package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.kit.DeviceBuffers;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedCuFile;
import io.kvtier.kit.SimulatedDevices;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RegisteredRegion;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.gds.SimulatedGds;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Over a simulated cuFile and real files; and what only a simulation shows: which way bytes went, and failures. */
class GdsGpuSimulatedTest extends GdsGpuContract {
    /** An address of nothing in this process. */
    private static final long FREED = 1L << 20;

    @TempDir
    private Path folder;
    private final SimulatedCuFile simulated = new SimulatedCuFile();
    private final SimulatedDevices devices = new SimulatedDevices(simulated.memory());
    private final SimulatedBuffers buffers = new SimulatedBuffers(simulated.memory());

    @BeforeEach
    void useRealFiles() {
        simulated.realFiles();
    }

    @AfterEach
    void closeGpu() {
        buffers.close();
        assertEquals(List.of(0, 0, 0), List.of(devices.openStreams(), simulated.live(), simulated.opens()));
    }

    @Override
    DeviceBuffers gpu() {
        return buffers;
    }

    @Override
    StoreHooks hooks() {
        return new StoreHooks(StoreHooks.SYSTEM.clockMs(), FileOpener.POSIX, ENVIRONMENT,
            gds -> SimulatedGds.open(simulated, gds), devices);
    }

    @Override
    Path folder() {
        return folder;
    }

    @Override
    int largest() {
        return 1 << 20;
    }

    @Override
    int crowdSeconds() {
        return 0;
    }

    /**
     * What system calls and GPUDirect Storage write at the same time must not meet within a block, which the latter
     * reads, changes and writes back: such values go through memory of the host.
     */
    @ParameterizedTest
    @ValueSource(ints = {1, 4095, 4096, 4097, 8192})
    void shouldWriteGpuAndHostMemorySideBySideOnlyInWholeBlocks(final int first) {
        final byte[] value = PatternBytes.of(first, 4 * UNIT);
        final DeviceRegion gpu = onGpu(value);
        try (EmbeddedStore store = openAlone(64 * UNIT);
            HostRegion host = HostRegion.allocate(NativeTag.TEST, value.length)) {
            host.segment().asSlice(0, value.length).copyFrom(MemorySegment.ofArray(value));
            final long before = simulated.count("batchSubmit");
            assertEquals(PutOutcome.STORED, put(store, KEY, List.of(gpu.slice(0, first),
                host.slice(first, 2 * UNIT), gpu.slice(first + 2 * UNIT, 2 * UNIT - first))));
            assertEquals(first % UNIT == 0, simulated.count("batchSubmit") > before);
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
        }
    }

    @Test
    void shouldWriteNothingOfTheHostsInPartOfABlock() {
        final byte[] value = PatternBytes.of(1, 2 * UNIT + 5);
        final DeviceRegion gpu = onGpu(value);
        try (EmbeddedStore store = openAlone(64 * UNIT); HostRegion host = HostRegion.allocate(NativeTag.TEST, UNIT)) {
            host.segment().asSlice(0, 5).copyFrom(MemorySegment.ofArray(PatternBytes.of(2, 5)));
            final long before = simulated.count("batchSubmit");
            put(store, KEY, List.of(gpu.slice(0, UNIT), host.slice(0, 5), host.slice(5, 0)));
            assertEquals(before, simulated.count("batchSubmit"));
            put(store, ObjectKey.of("other"), List.of(host.slice(0, UNIT), gpu.slice(0, 5), host.slice(5, 0)));
            assertTrue(simulated.count("batchSubmit") > before, "the end of a value may be a part of a block of a GPU");
        }
    }

    /** A read of memory that fails leaves staging memory behind, whose bytes are not those of the value. */
    @Test
    void shouldNotDeliverWhatAnEarlierAttemptHasLeft() {
        final byte[] value = PatternBytes.of(1, 3 * UNIT + 1);
        final DeviceRegion source = onGpu(value);
        final DeviceRegion target = gpu().allocate(value.length);
        try (Cluster cluster = new Cluster(Cluster.settings(1, 0))) {
            final FaultyLink link = new FaultyLink(cluster.config().build());
            try (ConnectedStore store = ConnectedStore.open(cluster.config().name("node").memoryBytes(64 * UNIT)
                .gds(gds(64 * UNIT)).build(), hooks(), link)) {
                put(store, KEY, List.of(source.slice(0, value.length)));
                link.fault(new FaultyLink.Fault() {
                    @Override
                    public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                        return exchange.change(ReadReply.class, GdsGpuSimulatedTest::outsideOfMemory);
                    }
                });
                assertEquals(new GetOutcome(true, value.length, ReplicaType.GDS),
                    store.get(KEY, List.of(target.slice(0, value.length))));
                assertArrayEquals(value, content(target));
            }
        }
    }

    /** The same, but that its place in memory is none. */
    private static ReadReply outsideOfMemory(final ReadReply reply) {
        return new ReadReply(reply.version(), reply.size(), reply.replicas().stream()
            .map(one -> one.descriptor() instanceof ReplicaDescriptor.Memory memory ? new Replica(one.id(),
                one.status(), new ReplicaDescriptor.Memory(memory.segment(), 1L << 40, memory.size())) : one).toList(),
            reply.held(), reply.checksummed(), reply.checksum(), reply.leaseMs(), reply.dataType());
    }

    @Test
    void shouldMoveMemoryThatCannotBeRegistered() {
        final byte[] value = PatternBytes.of(1, 3 * UNIT);
        final DeviceRegion source = onGpu(value);
        try (EmbeddedStore store = openAlone(64 * UNIT)) {
            simulated.refuse("bufferRegister", 5011, 0);
            final RegisteredRegion unknown = store.register(source);
            assertEquals(PutOutcome.STORED, put(store, KEY, List.of(source.slice(0, value.length))));
            unknown.close();
            toGpu(new byte[value.length], source);
            assertEquals(ReplicaType.GDS, store.get(KEY, List.of(source.slice(0, value.length))).tier());
            assertArrayEquals(value, content(source));
            assertEquals(0, simulated.registeredTransfers());
        }
    }

    @Test
    void shouldFailAPutThatTheDeviceFailsAndFreeItsRoom() {
        final DeviceRegion source = onGpu(PatternBytes.of(1, 3 * UNIT));
        final List<RegionSlice> all = List.of(source.slice(0, 3 * UNIT));
        try (EmbeddedStore store = openAlone(64 * UNIT)) {
            simulated.refuse("batchSubmit", 5030, 0);
            final StoreException failed = assertThrows(StoreException.class, () -> put(store, KEY, all));
            assertEquals(ErrorCode.TRANSFER_FAIL, failed.code());
            assertTrue(failed.getMessage().contains("5030"), failed.getMessage());
            GdsStoreContract.awaitUsed(store, 0);
            assertEquals(1, store.stats().gds().faults().writeFailures());
            assertEquals(PutOutcome.STORED, put(store, KEY, all));
        }
    }

    /** What is in flight keeps its memory; for those who come later the region is closed. */
    @Test
    void shouldKeepARegionThatIsClosedWhileItIsWritten() throws Exception {
        final byte[] value = PatternBytes.of(1, 3 * UNIT);
        final DeviceRegion gpu = onGpu(value);
        final HostRegion host = HostRegion.allocate(NativeTag.TEST, value.length);
        host.segment().asSlice(0, value.length).copyFrom(MemorySegment.ofArray(value));
        final List<RegionSlice> all = List.of(gpu.slice(0, UNIT), host.slice(UNIT, 2 * UNIT));
        try (EmbeddedStore store = openAlone(64 * UNIT);
            ExecutorService threads = Executors.newSingleThreadExecutor()) {
            final Future<PutOutcome> putting;
            simulated.stalled(true);
            // Whatever fails: nothing can be closed over a write that never ends.
            try {
                putting = submitted(threads, () -> put(store, KEY, all));
                host.close();
                assertThrows(IllegalStateException.class, () -> put(store, ObjectKey.of("late"), all));
            } finally {
                simulated.stalled(false);
            }
            assertEquals(PutOutcome.STORED, putting.get());
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
            assertThrows(IllegalStateException.class, () -> store.get(KEY, all));
            GdsStoreContract.awaitUsed(store, 3);
        }
    }

    @Test
    void shouldKeepARegionThatIsClosedWhileItIsRead() throws Exception {
        final byte[] value = PatternBytes.of(1, 3 * UNIT);
        final DeviceRegion source = onGpu(value);
        final DeviceRegion gpu = gpu().allocate(UNIT);
        final HostRegion host = HostRegion.allocate(NativeTag.TEST, 2 * UNIT);
        final List<RegionSlice> all = List.of(host.slice(0, 2 * UNIT), gpu.slice(0, UNIT));
        try (EmbeddedStore store = openAlone(64 * UNIT);
            ExecutorService threads = Executors.newSingleThreadExecutor()) {
            put(store, KEY, List.of(source.slice(0, value.length)));
            final Future<GetOutcome> getting;
            simulated.stalled(true);
            try {
                getting = submitted(threads, () -> store.get(KEY, all));
                host.close();
                assertThrows(IllegalStateException.class, () -> store.get(KEY, all));
            } finally {
                simulated.stalled(false);
            }
            assertEquals(new GetOutcome(true, value.length, ReplicaType.GDS), getting.get());
            assertArrayEquals(Arrays.copyOfRange(value, 2 * UNIT, 3 * UNIT), content(gpu));
            assertEquals(0, store.stats().gds().faults().readFailures());
        }
    }

    /** Starts a call whose transfer is under way on return. */
    private <T> Future<T> submitted(final ExecutorService threads, final Callable<T> call) {
        final long before = simulated.count("batchSubmit");
        final Future<T> running = threads.submit(call);
        while (simulated.count("batchSubmit") == before) {
            assertFalse(running.isDone(), "it was not submitted");
            Thread.onSpinWait();
        }
        return running;
    }

    @Test
    void shouldNotTouchMemoryThatItsOwnerHasFreed() {
        final byte[] value = PatternBytes.of(1, 3 * UNIT);
        final DeviceRegion source = onGpu(value);
        final DevicePointer gone = simulated.memory().allocated(new DevicePointer(FREED, 2 * UNIT));
        final DeviceRegion freed = DeviceRegion.borrow(null, gone);
        try (EmbeddedStore store = openAlone(64 * UNIT)) {
            put(store, KEY, List.of(source.slice(0, value.length)));
            simulated.memory().freed(FREED);
            final List<RegionSlice> all = List.of(source.slice(0, UNIT), freed.slice(0, 2 * UNIT));
            assertThrows(IllegalArgumentException.class, () -> put(store, ObjectKey.of("freed"), all));
            assertThrows(IllegalArgumentException.class, () -> store.get(KEY, all));
            assertEquals(List.of(true, 3L * UNIT), List.of(store.exists(KEY),
                store.stats().gds().tier().usedBytes()));
            assertEquals(0, store.masterStats().pendingWrites());
        }
    }

    /** It is there, and a miss would not say what is wrong with the memory. */
    @Test
    void shouldSayWhyMemoryIsRefusedAndKeepTheValue() {
        final byte[] value = PatternBytes.of(1, 3 * UNIT);
        final DeviceRegion source = onGpu(value);
        final DeviceRegion target = gpu().allocate(value.length);
        final DeviceRegion part = DeviceRegion.borrow(null, target.pointer().slice(0, UNIT));
        final MemorySegment readOnly = Arena.ofAuto().allocate(UNIT).asReadOnly();
        try (EmbeddedStore store = openAlone(64 * UNIT)) {
            put(store, KEY, List.of(source.slice(0, value.length)));
            final RegisteredRegion registered = store.register(part);
            final StoreException e =
                assertThrows(StoreException.class, () -> store.get(KEY, List.of(target.slice(0, value.length))));
            assertEquals(ErrorCode.INVALID_PARAMS, e.code());
            assertTrue(e.getMessage().contains("register the whole allocation"), e.getMessage());
            registered.close();
            assertThrows(IllegalArgumentException.class,
                () -> store.get(KEY, List.of(target.slice(0, 2 * UNIT), RegionSlice.of(readOnly))));
            assertEquals(ReplicaType.GDS, store.get(KEY, List.of(target.slice(0, value.length))).tier());
            assertArrayEquals(value, content(target));
            assertEquals(0, store.stats().gds().faults().readFailures());
        }
    }
}
