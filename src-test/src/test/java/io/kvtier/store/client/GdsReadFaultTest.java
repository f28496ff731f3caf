package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedCuFile;
import io.kvtier.kit.SimulatedDevices;
import io.kvtier.kit.Threads;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.gds.SimulatedGds;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Reads of a client's own file that go wrong, though there is nothing wrong with the value. */
@ExtendWith(LeakCheck.class)
class GdsReadFaultTest {
    private static final int UNIT = StoreContract.UNIT;
    private static final ObjectKey KEY = StoreContract.KEY;
    private static final byte[] VALUE = PatternBytes.of(1, 2 * UNIT + 9);

    @TempDir
    private Path directory;
    private final SimulatedCuFile simulated = new SimulatedCuFile();
    private final SimulatedDevices devices = new SimulatedDevices(simulated.memory());
    private final SimulatedBuffers buffers = new SimulatedBuffers(simulated.memory());

    @AfterEach
    void closeGpu() {
        buffers.close();
        assertEquals(List.of(0, 0), List.of(devices.openStreams(), simulated.live()));
    }

    private GdsConfig gds(final GdsConfig.Mover mover) {
        return GdsConfig.NONE.withRoom(directory.resolve("gds"), 64 * UNIT).withTransport(mover).withWatermarks(1, 0.5);
    }

    /** A store whose memory is too small for the value. */
    private EmbeddedStore open(final GdsConfig.Mover mover) {
        simulated.realFiles();
        return EmbeddedStore.open(StoreConfig.builder().memoryBytes(UNIT).gds(gds(mover)).build(),
            new StoreHooks(StoreHooks.SYSTEM.clockMs(), FileOpener.POSIX, GdsGpuContract.ENVIRONMENT,
                settings -> SimulatedGds.open(simulated, settings), devices));
    }

    @Test
    void shouldGiveTheExtentBackOfAValueForWhichThereWasNoMemory() {
        try (EmbeddedStore store = open(GdsConfig.Mover.POSIX)) {
            StoreContract.put(store, KEY, VALUE);
            final DeviceRegion target = buffers.allocate(VALUE.length);
            devices.failOpens(new IllegalStateException("the GPU is lost"));
            final StoreException e =
                assertThrows(StoreException.class, () -> store.get(KEY, List.of(target.slice(0, VALUE.length))));
            assertEquals(ErrorCode.TRANSFER_FAIL, e.code());
            assertArrayEquals(VALUE, store.getBytes(KEY).orElseThrow());
            store.remove(KEY, true);
            assertEquals(0, store.stats().gds().tier().usedBytes(), "nobody holds it any more");
        }
    }

    @Test
    void shouldKeepAValueThatADeviceCouldNotTake() {
        try (EmbeddedStore store = open(GdsConfig.Mover.GDS)) {
            StoreContract.put(store, KEY, VALUE);
            final DeviceRegion target = buffers.allocate(VALUE.length);
            simulated.refuse("batchSubmit", 5030, 0);
            assertEquals(GetOutcome.MISS, store.get(KEY, List.of(target.slice(0, VALUE.length))));
            assertEquals(1, store.stats().gds().faults().readFailures());
            assertEquals(new GetOutcome(true, VALUE.length, ReplicaType.GDS),
                store.get(KEY, List.of(target.slice(0, VALUE.length))));
        }
    }

    /** The key has a value at every moment, and so has the get. */
    @Test
    void shouldReadTheNewValueOfAKeyThatIsReplacedMeanwhile() {
        final byte[] other = PatternBytes.of(2, VALUE.length);
        try (EmbeddedStore store = open(GdsConfig.Mover.GDS)) {
            StoreContract.put(store, KEY, VALUE);
            final DeviceRegion target = buffers.allocate(VALUE.length);
            final CompletableFuture<GetOutcome> getting;
            simulated.stalled(true);
            try {
                final long before = simulated.count("batchSubmit");
                getting = Threads.start(() -> store.get(KEY, List.of(target.slice(0, VALUE.length))));
                while (simulated.count("batchSubmit") == before) {
                    assertFalse(getting.isDone(), "it did not read the file");
                    Thread.onSpinWait();
                }
                // Memory of the host goes by system calls, which are not stalled.
                assertEquals(PutOutcome.STORED, store.upsert(KEY, PutOptions.DEFAULT, MemorySegment.ofArray(other)));
            } finally {
                simulated.stalled(false);
            }
            assertEquals(new GetOutcome(true, VALUE.length, ReplicaType.GDS), getting.join());
            try (Arena arena = Arena.ofConfined()) {
                final MemorySegment got = arena.allocate(VALUE.length);
                buffers.get(target, 0, got);
                assertArrayEquals(other, PatternBytes.copyOf(got));
            }
        }
    }
}
