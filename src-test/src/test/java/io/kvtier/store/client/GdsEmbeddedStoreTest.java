package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.config.Environment;
import io.kvtier.store.replica.ReplicaType;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** In one process, by the C library. */
class GdsEmbeddedStoreTest extends GdsStoreContract {
    private static final long LEASE_MS = 50;

    @Override
    ClientStore open(final long memoryBytes, final GdsConfig gds) {
        return EmbeddedStore.open(StoreConfig.builder().memoryBytes(memoryBytes).eviction(1, 0).leaseMs(LEASE_MS)
            .gds(gds).build(), new StoreHooks(() -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime()),
                new FaultyFiles(faults), Environment.of(Map.of())));
    }

    @Override
    GdsConfig.Mover mover() {
        return GdsConfig.Mover.POSIX;
    }

    /** Nobody else has the thread look: the put has ended well, and nothing is dropped. */
    @Test
    void shouldAskTheMasterAboutWhatAFailedSyncMayHaveLost() {
        final GdsConfig cold = gds(4);
        final GdsConfig warm = new GdsConfig(cold.file(), cold.bytes(), cold.transport(), cold.highWatermark(),
            cold.lowWatermark(), true, cold.remoteReads());
        try (ClientStore store = open(64 * UNIT, warm)) {
            faults.failAlways(Faults.Call.SYNC, Errno.EIO);
            assertEquals(PutOutcome.STORED, StoreContract.put(store, KEY, PatternBytes.of(1, UNIT)));
            Threads.awaitUntil(() -> store.stats().gds().values() == 0, store::stats);
            faults.heal();
            Threads.awaitUntil(() -> !tiers(store, KEY).contains(ReplicaType.GDS), store::stats);
            awaitUsed(store, 0);
            assertEquals(0, store.stats().gds().unsettled());
        }
    }
}
