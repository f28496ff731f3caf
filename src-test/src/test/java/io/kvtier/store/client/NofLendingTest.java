package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Faults;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.NofConfig;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.device.LentDevices;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.SegmentInfo;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Block devices that are lent: looked at, taken out of use and lent again, taken over, evicted from. */
@ExtendWith(LeakCheck.class)
class NofLendingTest {
    private static final ObjectKey KEY = ObjectKey.of("key");
    private static final byte[] VALUE = PatternBytes.of(1, 3 * 4096 + 5);
    private static final long DEVICE_BYTES = 1 << 20;
    private static final PutOptions NOF_ONLY = PutOptions.DEFAULT.withNofReplicas(1).withReplicas(0);
    /** How long a device rests that is lent again: until no writer that was sent there before can still be at it. */
    private static final long REST_MS = 1_000;
    private static final long LONG_MS = 600_000;

    @TempDir
    private Path directory;
    private Cluster cluster;

    private void start(final double nofHighWatermark, final double nofRatio, final long releaseMs) {
        cluster = new Cluster(settings(nofHighWatermark, nofRatio, releaseMs));
    }

    /** Puts that were not ended are given up after {@code releaseMs}, and for so long a device rests. */
    private static MasterSettings settings(final double nofHighWatermark, final double nofRatio,
        final long releaseMs) {
        return new MasterSettings(new MasterSettings.Eviction(1, 0, nofHighWatermark, nofRatio, true),
            Cluster.LEASE_MS, true, 1_000, new MasterSettings.Liveness(10_000, releaseMs - 1, releaseMs, 3),
            MasterSettings.Pins.DEFAULT, MasterSettings.Tasks.DEFAULT, false, MasterSettings.Strategy.RANDOM);
    }

    @AfterEach
    void close() {
        if (cluster != null) {
            cluster.close();
        }
    }

    private Path device() {
        return directory.resolve("device");
    }

    private ConnectedStore lend(final Faults faults, final long probeTimeoutMs) {
        return cluster.join(config -> config.nofDevice(device(), DEVICE_BYTES).nofProbe(10, probeTimeoutMs), faults);
    }

    /** Stores a value; on a busy machine that may take longer than the master gives it here, and is tried again. */
    private static void store(final Store store, final ObjectKey key, final byte[] value) {
        while (true) {
            try {
                assertEquals(PutOutcome.STORED, store.put(key, NOF_ONLY, MemorySegment.ofArray(value)));
                return;
            } catch (final StoreException e) {
                assertEquals(ErrorCode.INVALID_WRITE, e.code(), e.getMessage());
            }
        }
    }

    private static UUID segmentId(final ConnectedStore client) {
        final List<SegmentInfo> all = client.parts().master().apply(new SegmentCommand.Segments());
        assertEquals(1, all.size());
        return all.getFirst().segmentId();
    }

    @Test
    void shouldUnmountADeviceThatCannotBeReadAndLendItAgainWhenItCan() throws IOException {
        start(1, 0, REST_MS);
        final ConnectedStore lender = lend(new Faults(), 10_000);
        store(lender, KEY, VALUE);
        final UUID first = segmentId(lender);
        ConnectedStoreTest.await(() -> lender.masterStats().probes().successes() > 3);
        assertEquals(0, lender.masterStats().probes().failures());
        Files.move(device(), directory.resolve("elsewhere"));
        ConnectedStoreTest.await(() -> lender.masterStats().probes().unmounted() == 1);
        assertEquals(3, lender.masterStats().probes().failures());
        assertEquals(0, lender.masterStats().probes().timeouts());
        assertEquals(0, lender.masterStats().nofCapacity());
        assertEquals(GetOutcome.MISS, lender.get(KEY, StoreContract.room(VALUE.length)));
        Files.move(directory.resolve("elsewhere"), device());
        ConnectedStoreTest.await(() -> lender.masterStats().nofCapacity() == DEVICE_BYTES - 4096);
        assertNotEquals(first, segmentId(lender));
        // It waits for the rest to be over.
        store(lender, KEY, VALUE);
        assertArrayEquals(VALUE, lender.getBytes(KEY).orElseThrow());
    }

    @Test
    void shouldUnmountADeviceThatDoesNotAnswer() throws InterruptedException {
        start(1, 0, REST_MS);
        final Faults faults = new Faults();
        final ConnectedStore lender = lend(faults, 200);
        final ConnectedStore client = cluster.join(config -> config);
        store(client, KEY, VALUE);
        final long before = client.masterStats().probes().unmounted();
        try (Faults.Gate gate = faults.blockNext(Faults.Call.READ)) {
            gate.awaitEntered();
            ConnectedStoreTest.await(() -> client.masterStats().probes().unmounted() > before);
            assertTrue(client.masterStats().probes().timeouts() >= 3);
            assertEquals(GetOutcome.MISS, client.get(KEY, StoreContract.room(VALUE.length)));
        }
        ConnectedStoreTest.await(() -> client.masterStats().nofCapacity() > 0);
        store(client, KEY, VALUE);
    }

    @Test
    void shouldNoticeThatAnotherDeviceIsThereNow() throws IOException {
        start(1, 0, LONG_MS);
        final ConnectedStore lender = lend(new Faults(), 10_000);
        Files.move(device(), directory.resolve("elsewhere"));
        cluster.join(config -> config.nofDevice(device(), DEVICE_BYTES).nofProbe(10, 10_000));
        ConnectedStoreTest.await(() -> lender.masterStats().probes().unmounted() == 1);
        // On the other one.
        store(lender, KEY, VALUE);
        assertArrayEquals(VALUE, lender.getBytes(KEY).orElseThrow());
    }

    /** Who was sent to it before may still write; nobody was to one that has got its label just now. */
    @Test
    void shouldLetOnlyADeviceRestThatWasLentBefore() {
        start(1, 0, LONG_MS);
        try (ConnectedStore lender = lend(new Faults(), 10_000)) {
            store(lender, KEY, VALUE);
        }
        final ConnectedStore again = cluster.join(config -> config.nofDevice(device(), 0).nofProbe(10, 10_000)
            .putTimeoutMs(0));
        ConnectedStoreTest.await(() -> again.masterStats().nofCapacity() == DEVICE_BYTES - 4096);
        assertEquals(PutOutcome.NO_SPACE, again.put(KEY, NOF_ONLY, MemorySegment.ofArray(VALUE)));
    }

    /** Somebody may have been sent to it meanwhile. */
    @Test
    void shouldLetADeviceRestThoughTheAnswerToItsFirstLendingWasLost() {
        final List<Boolean> fresh = new ArrayList<>();
        final Master master = new Master() {
            @Override
            @SuppressWarnings("unchecked") // Each command is given the answer of its type.
            public <R> R apply(final Command<R> command) {
                if (!(command instanceof SegmentCommand.Mount mount)) {
                    return (R) List.of();
                }
                fresh.add(mount.spec().fresh());
                if (fresh.size() == 1) {
                    throw new StoreException(ErrorCode.RPC_FAIL, "lost");
                }
                return (R) Ack.OK;
            }
        };
        try (LentDevices devices = LentDevices.open(new UUID(1, 2), master,
            new NofConfig(List.of(new NofConfig.Device(device(), DEVICE_BYTES)), 10_000, 1_000), FileOpener.POSIX)) {
            assertThrows(StoreException.class, devices::mount);
            devices.mount();
        }
        assertEquals(List.of(true, false), fresh);
    }

    @Test
    void shouldEvictFromDevicesByTheirOwnWatermark() {
        start(0.5, 0.25, LONG_MS);
        lend(new Faults(), 10_000);
        cluster.join(config -> config.memoryBytes(1 << 20).shm(false));
        final ConnectedStore client = cluster.join(config -> config);
        final byte[] value = PatternBytes.of(3, 64 << 10);
        for (int i = 0; i < 12; i++) {
            assertEquals(PutOutcome.STORED, StoreContract.put(client, ObjectKey.of("m" + i), value));
        }
        for (int i = 0; i < 40; i++) {
            store(client, ObjectKey.of("n" + i), value);
        }
        assertTrue(client.masterStats().nofEvictions() >= 32, client.masterStats()::toString);
        assertEquals(0, client.masterStats().memoryEvictions());
        assertArrayEquals(value, client.getBytes(ObjectKey.of("m0")).orElseThrow());
        assertArrayEquals(value, client.getBytes(ObjectKey.of("n39")).orElseThrow());
        assertEquals(GetOutcome.MISS, client.get(ObjectKey.of("n0"), StoreContract.room(value.length)));
    }

    @Test
    void shouldLendADeviceAgainToAMasterThatWasStartedAnew() {
        start(1, 0, REST_MS);
        final ConnectedStore lender = cluster.join(config -> config.nofDevice(device(), DEVICE_BYTES)
            .nofProbe(10, 10_000).memoryBytes(1 << 20).shm(false));
        store(lender, KEY, VALUE);
        cluster.restartMaster(settings(1, 0, REST_MS));
        ConnectedStoreTest.await(() -> lender.masterStats().nofCapacity() > 0
            && lender.masterStats().memoryCapacity() > 0);
        assertEquals(GetOutcome.MISS, lender.get(KEY, StoreContract.room(VALUE.length)));
        store(lender, KEY, VALUE);
        assertArrayEquals(VALUE, lender.getBytes(KEY).orElseThrow());
    }

    /** As on several hosts, where nobody sees the others' locks: one lends, the next takes over when it has gone. */
    @Test
    void shouldTakeOverADeviceFromALenderThatHasGone() {
        start(1, 0, REST_MS);
        final StoreHooks unlocked = new StoreHooks(StoreHooks.SYSTEM.clockMs(), new FileOpener() {
            @Override
            public BlockFile open(final String path, final OpenMode mode) {
                return PosixFile.open(path, mode);
            }

            @Override
            public PosixFile descriptor(final BlockFile file) {
                return null;
            }
        }, Environment.of(Map.of()));
        final ConnectedStore first = ConnectedStore.open(cluster.config().nofDevice(device(), DEVICE_BYTES).build(),
            unlocked);
        try (ConnectedStore second = ConnectedStore.open(cluster.config().nofDevice(device(), 0).nofProbe(10, 10_000)
            .build(), unlocked)) {
            final UUID lent;
            try (first) {
                store(second, KEY, VALUE);
                assertArrayEquals(VALUE, first.getBytes(KEY).orElseThrow());
                lent = segmentId(second);
            }
            ConnectedStoreTest.await(() -> second.masterStats().nofCapacity() == DEVICE_BYTES - 4096);
            assertNotEquals(lent, segmentId(second));
            store(second, KEY, VALUE);
        }
    }

    @Test
    void shouldRefuseToJoinWithADeviceThatCannotBeLent() throws IOException {
        start(1, 0, LONG_MS);
        Files.write(device(), PatternBytes.of(1, 1 << 20));
        final StoreException e = assertThrows(StoreException.class, () -> lend(new Faults(), 1_000));
        assertEquals(ErrorCode.FILE_OPEN_FAIL, e.code());
        assertTrue(e.getMessage().contains("not of this store"), e.getMessage());
        Files.delete(device());
        lend(new Faults(), 1_000);
        assertEquals(ErrorCode.FILE_LOCK_FAIL,
            assertThrows(StoreException.class, () -> lend(new Faults(), 1_000)).code());
    }
}
