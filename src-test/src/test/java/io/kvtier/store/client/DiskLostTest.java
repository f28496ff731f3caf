package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedCuFile;
import io.kvtier.kit.Threads;
import io.kvtier.kit.WriteOff;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.client.engine.EngineSettings;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.gds.SimulatedGds;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * Reads of a store's own disk, by GPUDirect Storage, of which nothing is heard any more, and with which the device goes
 * on much later. What they use stays, so that nothing here is looked through for what was left behind.
 */
@ExtendWith(WriteOff.class)
@Timeout(value = 2, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class DiskLostTest {
    private static final int UNIT = StoreContract.UNIT;
    private static final ObjectKey KEY = StoreContract.KEY;
    private static final int MEMORY_UNITS = 16;
    private static final byte[] VALUE = PatternBytes.of(99, 2 * UNIT - 7);
    private static final String GDS = "{'transports': {'gds': {'enable': true, 'allow_compat': false, "
        + "'host_memory': true}, 'io_uring': {'enable': false}}, "
        + "'policy': [{'segment_type': 'file', 'transports': ['gds', 'posix']}]}";

    @TempDir
    private Path folder;
    private final AtomicLong aheadMs = new AtomicLong();
    private final SimulatedCuFile simulated = new SimulatedCuFile();

    @BeforeEach
    void moveHostMemory() {
        simulated.realFiles();
        simulated.compatible(false);
    }

    private EmbeddedStore open(final boolean promote) {
        return EmbeddedStore.open(StoreConfig.builder().memoryBytes((long) MEMORY_UNITS * UNIT).eviction(1, 0)
            .leaseMs(0).disk(folder, 4 << 20).promoteOnHit(promote).build(), new StoreHooks(
            () -> StoreHooks.SYSTEM.clockMs().getAsLong() + aheadMs.get(), FileOpener.POSIX,
            EngineSettings.environment(GDS), gds -> SimulatedGds.open(simulated, gds)));
    }

    /** The value is on the disk and nowhere else, memory is empty, and nothing moves. */
    private static void bringToDisk(final EmbeddedStore store) {
        assertEquals(PutOutcome.STORED, StoreContract.put(store, KEY, VALUE));
        StoreContract.fillUntilOnDisk(store, KEY, MEMORY_UNITS * UNIT);
        Threads.awaitUntil(() -> store.removeAll("push", true) >= 0
            && store.stats().memory().usedBytes() == 0, () -> store.stats().toString());
    }

    private void loseARead(final EmbeddedStore store) {
        simulated.movesOn(true);
        simulated.stalled(true);
        simulated.refuse("batchStatus", CuFileTypes.CU_FILE_INVALID_VALUE(), 0);
        assertFalse(store.getBytes(KEY).isPresent());
        simulated.stalled(false);
        assertEquals(1, store.stats().lostTransfers());
        assertEquals(0, store.stats().unreadable().ioErrors());
    }

    /** Were it given to other values, the device would write over them. */
    @Test
    void shouldNotGiveMemoryOfALostReadToOtherValues() {
        try (EmbeddedStore store = open(true)) {
            bringToDisk(store);
            loseARead(store);
            // Whatever is given to others after a while has been by now.
            aheadMs.set(TimeUnit.DAYS.toMillis(1));
            assertEquals(2 * UNIT, store.stats().memory().usedBytes());
            for (int i = 0; i < MEMORY_UNITS - 2; i++) {
                assertEquals(PutOutcome.STORED,
                    StoreContract.put(store, StoreContract.key(i), PatternBytes.of(i, UNIT)));
            }
            assertEquals(MEMORY_UNITS * UNIT, store.stats().memory().usedBytes());
            assertEquals(1, simulated.moveLate());
            for (int i = 0; i < MEMORY_UNITS - 2; i++) {
                assertArrayEquals(PatternBytes.of(i, UNIT), store.getBytes(StoreContract.key(i)).orElseThrow());
            }
            assertEquals(MEMORY_UNITS - 2, store.stats().memory().hits());
        }
    }

    @Test
    void shouldPromoteAValueWhoseReadWasLostBefore() {
        try (EmbeddedStore store = open(true)) {
            bringToDisk(store);
            loseARead(store);
            assertArrayEquals(VALUE, store.getBytes(KEY).orElseThrow(), "the value is good");
            assertEquals(1, store.stats().promotions());
            assertEquals(1, store.stats().disk().hits());
            assertArrayEquals(VALUE, store.getBytes(KEY).orElseThrow());
            assertEquals(1, store.stats().memory().hits());
        }
    }

    @Test
    void shouldNotUseStagingMemoryOfALostReadAgain() {
        try (EmbeddedStore store = open(false)) {
            bringToDisk(store);
            loseARead(store);
            final Staging staging = store.parts().disk().staging();
            try (Staging.Piece all = staging.take(Staging.POOL_BYTES)) {
                assertNotSame(staging.pool(), all.slice().region(), "not all of it is free");
            }
            assertTrue(store.getBytes(KEY).isPresent());
        }
        // Also when the store is closed.
        assertEquals(1, simulated.moveLate());
    }
}
