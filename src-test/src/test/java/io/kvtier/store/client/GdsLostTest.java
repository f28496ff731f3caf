package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedCuFile;
import io.kvtier.kit.SimulatedDevices;
import io.kvtier.kit.Threads;
import io.kvtier.kit.WriteOff;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.gds.SimulatedGds;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Transfers to and from a store's file of which nothing is heard any more, and with which the device goes on much
 * later. What they use stays, so that nothing here is looked through for what was left behind.
 */
@ExtendWith(WriteOff.class)
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GdsLostTest {
    private static final int UNIT = StoreContract.UNIT;
    private static final ObjectKey KEY = StoreContract.KEY;
    /** Of every value. */
    private static final int SIZE = 2 * UNIT;

    @TempDir
    private Path folder;
    private final SimulatedCuFile simulated = new SimulatedCuFile();
    private final SimulatedBuffers gpu = new SimulatedBuffers(simulated.memory());

    @BeforeEach
    void passHostMemory() {
        simulated.realFiles();
        simulated.compatible(false);
    }

    private EmbeddedStore open(final int units) {
        return EmbeddedStore.open(StoreConfig.builder().memoryBytes(UNIT).eviction(1, 0).leaseMs(0)
            .putTimeoutMs(1_000_000_000).gds(GdsConfig.NONE.withRoom(folder.resolve("kv.gds"), (long) units * UNIT)
                .withTransport(GdsConfig.Mover.GDS).withWatermarks(1, 0.5)).build(),
            new StoreHooks(StoreHooks.SYSTEM.clockMs(), FileOpener.POSIX, GdsGpuContract.ENVIRONMENT,
                gds -> SimulatedGds.open(simulated, gds), new SimulatedDevices(simulated.memory())));
    }

    private DeviceRegion onGpu(final byte[] value) {
        final DeviceRegion region = gpu.allocate(value.length);
        gpu.put(MemorySegment.ofArray(value), region, 0);
        return region;
    }

    private PutOutcome put(final EmbeddedStore store, final ObjectKey key, final int seed) {
        return store.put(key, PutOptions.DEFAULT, List.of(onGpu(PatternBytes.of(seed, SIZE)).slice(0, SIZE)));
    }

    /** Nothing is heard of the next batch, and the device goes on with it. */
    private void fallSilent() {
        simulated.movesOn(true);
        simulated.stalled(true);
        simulated.refuse("batchStatus", CuFileTypes.CU_FILE_INVALID_VALUE(), 0);
    }

    private void assertLost(final EmbeddedStore store) {
        Threads.awaitUntil(() -> store.stats().gds().unsettled() == 1 && store.masterStats().gds().replicas() == 0,
            () -> store.stats().gds() + " and " + store.masterStats().gds());
    }

    /** Were its extent used again, the device would write what was given up over the value that lies there then. */
    @Test
    void shouldNotUseThePlaceOfALostWriteAgain() {
        try (EmbeddedStore store = open(8)) {
            fallSilent();
            final StoreException e = assertThrows(StoreException.class, () -> put(store, KEY, 99));
            assertEquals(ErrorCode.TRANSFER_FAIL, e.code());
            assertTrue(e.getMessage().contains("may still move its bytes"), e.getMessage());
            simulated.stalled(false);
            assertLost(store);
            for (int i = 0; i < 6; i++) {
                assertEquals(PutOutcome.STORED, put(store, StoreContract.key(i), i), "others made way");
            }
            assertEquals(8 * UNIT, store.stats().gds().tier().usedBytes());
            assertEquals(1, simulated.moveLate());
            for (int i = 3; i < 6; i++) {
                assertArrayEquals(PatternBytes.of(i, SIZE), store.getBytes(StoreContract.key(i)).orElseThrow());
            }
            final GdsCommand.GdsStorageInfo told =
                store.parts().master().apply(new GdsCommand.GdsStorages()).getFirst();
            assertEquals(List.of(1L, 1L, 8L * UNIT), List.of(told.state().uncertain(), told.work().writeFailures(),
                told.state().used()));
        }
    }

    @Test
    void shouldRefuseAtOnceWhereOnlyALostWriteIsInTheWay() {
        try (EmbeddedStore store = open(2)) {
            fallSilent();
            assertThrows(StoreException.class, () -> put(store, KEY, 99));
            simulated.stalled(false);
            assertLost(store);
            assertEquals(PutOutcome.NO_SPACE, put(store, KEY, 1));
        }
    }

    /** Another replica would be read into memory that the device may still write to: the caller has to know. */
    @Test
    void shouldFailALostReadAndKeepTheExtent() {
        try (EmbeddedStore store = open(4)) {
            assertEquals(PutOutcome.STORED, put(store, KEY, 1));
            final DeviceRegion target = gpu.allocate(SIZE);
            final List<RegionSlice> slices = List.of(target.slice(0, SIZE));
            fallSilent();
            final StoreException e = assertThrows(StoreException.class, () -> store.get(KEY, slices));
            assertEquals(ErrorCode.TRANSFER_FAIL, e.code());
            simulated.stalled(false);
            assertTrue(store.get(KEY, List.of(gpu.allocate(SIZE).slice(0, SIZE))).hit(), "the value is good");
            assertEquals(1, store.stats().gds().unsettled());
            assertEquals(RemoveOutcome.REMOVED, store.remove(KEY, true));
            for (int i = 0; i < 3; i++) {
                assertEquals(PutOutcome.STORED, put(store, StoreContract.key(i), i + 2), "in the rest of the file");
            }
            assertEquals(4 * UNIT, store.stats().gds().tier().usedBytes());
            assertEquals(1, simulated.moveLate());
            final byte[] read = new byte[SIZE];
            gpu.get(target, 0, MemorySegment.ofArray(read));
            assertArrayEquals(PatternBytes.of(1, SIZE), read, "what the device reads late is what was there");
        }
    }
}
