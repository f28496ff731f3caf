package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.CallerMemory;
import io.kvtier.kit.CallerMemory.Kind;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedDevices;
import io.kvtier.kit.SimulatedMemory;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RegionItem;
import io.kvtier.store.RegionPart;
import io.kvtier.store.StoreException;
import io.kvtier.store.replica.ReplicaType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a user of any store relies on whose values are in regions, some of them of a GPU, which is simulated. */
abstract class RegionStoreContract {
    static final int REGION_BYTES = 3 * StoreContract.UNIT + 17;
    static final ObjectKey REGION_KEY = ObjectKey.of("regions");

    @TempDir
    private Path folder;
    private final SimulatedDevices devices = new SimulatedDevices(new SimulatedMemory());
    private final SimulatedBuffers gpu = new SimulatedBuffers(devices.memory());

    /** A store with so much memory, which evicts only what it must, and so much disk; over the simulated GPU. */
    abstract ClientStore open(long memoryBytes, long diskBytes);

    final SimulatedDevices devices() {
        return devices;
    }

    final Path folder() {
        return folder;
    }

    @AfterEach
    void closeGpu() {
        gpu.close();
        assertEquals(0, devices.openStreams());
    }

    final CallerMemory memory(final int size) {
        return new CallerMemory(gpu, size, folder);
    }

    static ObjectKey keyOf(final Object name) {
        return ObjectKey.of("regions/" + name);
    }

    static PutOutcome put(final ClientStore store, final ObjectKey key, final List<RegionSlice> source) {
        return store.put(key, PutOptions.DEFAULT, source);
    }

    /** A range on the GPU that holds a value. */
    final RegionSlice onGpu(final byte[] value) {
        final DeviceRegion region = gpu.allocate(value.length);
        gpu.put(MemorySegment.ofArray(value), region, 0);
        return region.slice(0, value.length);
    }

    static byte[] content(final RegionSlice slice) {
        return PatternBytes.copyOf(SimulatedBuffers.bytes((DeviceRegion) slice.region(), slice.offset(),
            slice.length()));
    }

    static HostRegion host(final byte[] value) {
        final HostRegion region = HostRegion.allocate(NativeTag.TEST, value.length);
        region.segment().copyFrom(MemorySegment.ofArray(value));
        return region;
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 4095, 4097, 100_001, 8 << 20})
    void shouldGiveBackToRegionsWhatWasPutFromRegions(final int size) {
        final byte[] value = PatternBytes.of(size, size);
        try (ClientStore store = open(40 << 20, 0); CallerMemory memory = memory(size)) {
            for (final Kind from : Kind.values()) {
                memory.fill(memory.ranges(from), value);
                assertEquals(PutOutcome.STORED, put(store, keyOf(from), memory.ranges(from)));
                assertArrayEquals(value, store.getBytes(keyOf(from)).orElseThrow(), from.name());
            }
            for (final Kind to : Kind.values()) {
                memory.clear();
                assertEquals(new GetOutcome(true, size, ReplicaType.MEMORY),
                    store.get(keyOf(Kind.DEVICE), memory.ranges(to)));
                assertArrayEquals(value, memory.content(memory.ranges(to)), to.name());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldFillNothingButTheFirstBytesOfTheRanges(final Kind kind) {
        final byte[] value = PatternBytes.of(1, REGION_BYTES);
        try (ClientStore store = open(64 * StoreContract.UNIT, 0); CallerMemory memory = memory(2 * REGION_BYTES)) {
            StoreContract.put(store, REGION_KEY, value);
            memory.clear();
            final List<RegionSlice> target = memory.ranges(kind);
            final byte[] rest = Arrays.copyOfRange(memory.content(target), REGION_BYTES, 2 * REGION_BYTES);

            assertTrue(store.get(REGION_KEY, target).hit());

            final byte[] found = memory.content(target);
            assertArrayEquals(value, Arrays.copyOf(found, REGION_BYTES));
            assertArrayEquals(rest, Arrays.copyOfRange(found, REGION_BYTES, 2 * REGION_BYTES));
            assertEquals(0, memory.spoiled(target));
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldReadPartsIntoRegions(final Kind kind) {
        final byte[] value = PatternBytes.of(2, REGION_BYTES);
        try (ClientStore store = open(64 * StoreContract.UNIT, 0); CallerMemory memory = memory(4001)) {
            StoreContract.put(store, REGION_KEY, value);
            final List<RegionSlice> target = memory.ranges(kind);
            final GetOutcome outcome = store.getRange(REGION_KEY, 5000, target);
            assertEquals(new GetOutcome(true, REGION_BYTES, ReplicaType.MEMORY), outcome);
            assertArrayEquals(Arrays.copyOfRange(value, 5000, 9001), memory.content(target));
            final StoreException tooFar =
                assertThrows(StoreException.class, () -> store.getRange(REGION_KEY, REGION_BYTES - 4000, target));
            assertEquals(ErrorCode.INVALID_PARAMS, tooFar.code());
            assertTrue(tooFar.getMessage().contains(String.valueOf(REGION_BYTES)), tooFar.getMessage());
        }
    }

    @Test
    void shouldReadFromDiskIntoRegions() {
        final byte[] value = PatternBytes.of(3, REGION_BYTES);
        try (ClientStore store = open(64 * StoreContract.UNIT, 256 * StoreContract.UNIT);
            CallerMemory memory = memory(REGION_BYTES); CallerMemory part = memory(4001)) {
            memory.fill(memory.ranges(Kind.MIXED), value);
            put(store, REGION_KEY, memory.ranges(Kind.MIXED));
            StoreContract.fillUntilOnDisk(store, REGION_KEY, 64 * StoreContract.UNIT);
            for (final Kind to : Kind.values()) {
                memory.clear();
                assertTrue(store.get(REGION_KEY, memory.ranges(to)).hit());
                assertArrayEquals(value, memory.content(memory.ranges(to)), to.name());
                assertTrue(store.getRange(REGION_KEY, 5000, part.ranges(to)).hit());
                assertArrayEquals(Arrays.copyOfRange(value, 5000, 9001), part.content(part.ranges(to)), to.name());
                memory.clear();
                assertTrue(store.getRegionBatch(List.of(new RegionItem(REGION_KEY, memory.ranges(to)))).getFirst()
                    .orThrow().hit());
                assertArrayEquals(value, memory.content(memory.ranges(to)), to.name());
            }
        }
    }

    @Test
    void shouldTakeRegionsOverACallersOwnMemory() {
        final byte[] value = PatternBytes.of(5, 10_000);
        try (ClientStore store = open(64 * StoreContract.UNIT, 0); Arena confined = Arena.ofConfined()) {
            final MemorySegment own = confined.allocate(1234);
            final MemorySegment heap = MemorySegment.ofArray(new byte[value.length - 1234]);
            StoreContract.scatter(value, own, heap);
            assertEquals(PutOutcome.STORED, put(store, REGION_KEY, List.of(RegionSlice.of(own), RegionSlice.of(heap))));
            assertArrayEquals(value, store.getBytes(REGION_KEY).orElseThrow());
            assertTrue(store.get(REGION_KEY, List.of(RegionSlice.of(heap), RegionSlice.of(own))).hit());
            assertArrayEquals(value, StoreContract.join(heap, own));
        }
    }

    @Test
    void shouldReplaceByUpsertFromRegions() {
        try (ClientStore store = open(64 * StoreContract.UNIT, 0)) {
            for (int i = 0; i < 4; i++) {
                final byte[] value = PatternBytes.of(i, i < 2 ? 5000 : 9000);
                assertEquals(PutOutcome.STORED, store.upsert(REGION_KEY, PutOptions.DEFAULT, List.of(onGpu(value))));
                assertArrayEquals(value, store.getBytes(REGION_KEY).orElseThrow());
            }
            final byte[] last = PatternBytes.of(9, 30);
            assertEquals(List.of(PutOutcome.STORED, PutOutcome.STORED), store.upsertRegionBatch(List.of(
                RegionItem.of(REGION_KEY, onGpu(PatternBytes.of(8, 20))), RegionItem.of(REGION_KEY, onGpu(last))),
                PutOptions.DEFAULT).stream().map(BatchResult::orThrow).toList());
            assertArrayEquals(last, store.getBytes(REGION_KEY).orElseThrow());
        }
    }

    @Test
    void shouldTreatEachItemOfABatchOfRegionsAlone() {
        final byte[] value = PatternBytes.of(6, 5000);
        final HostRegion closed = host(value);
        closed.close();
        try (ClientStore store = open(64 * StoreContract.UNIT, 0); HostRegion host = host(value)) {
            final List<BatchResult<PutOutcome>> puts = store.putRegionBatch(List.of(
                RegionItem.of(keyOf(0), onGpu(value)), RegionItem.of(keyOf(1), new RegionSlice(closed, 0, 0)),
                RegionItem.of(keyOf(2), onGpu(new byte[65 * StoreContract.UNIT])),
                RegionItem.of(keyOf(0), onGpu(new byte[1])), RegionItem.of(keyOf(3), host.slice(1, 4999))),
                PutOptions.DEFAULT);
            assertEquals(PutOutcome.STORED, puts.get(0).orThrow());
            assertInstanceOf(IllegalStateException.class, puts.get(1).failure().getCause());
            assertEquals(ErrorCode.INVALID_PARAMS, puts.get(2).failure().code());
            assertEquals(PutOutcome.ALREADY_EXISTS, puts.get(3).orThrow());
            assertEquals(PutOutcome.STORED, puts.get(4).orThrow());

            final RegionSlice whole = onGpu(new byte[5000]);
            final RegionSlice rest = onGpu(new byte[4999]);
            final List<BatchResult<GetOutcome>> gets = store.getRegionBatch(List.of(RegionItem.of(keyOf(0), whole),
                RegionItem.of(keyOf(0), onGpu(new byte[4999])), RegionItem.of(keyOf(1), onGpu(new byte[1])),
                RegionItem.of(keyOf(0), new RegionSlice(closed, 0, 0)), RegionItem.of(keyOf(3), rest)));
            assertArrayEquals(value, content(whole));
            assertEquals(5000, gets.get(0).orThrow().valueSize());
            assertEquals(ErrorCode.BUFFER_OVERFLOW, gets.get(1).failure().code());
            assertEquals(GetOutcome.MISS, gets.get(2).orThrow());
            assertInstanceOf(IllegalStateException.class, gets.get(3).failure().getCause());
            assertArrayEquals(Arrays.copyOfRange(value, 1, 5000), content(rest));

            final RegionSlice part = onGpu(new byte[100]);
            final List<BatchResult<GetOutcome>> parts = store.getRegionRangeBatch(List.of(
                new RegionPart(keyOf(0), 4901, List.of(onGpu(new byte[100]))),
                new RegionPart(keyOf(0), 4900, List.of(part))));
            assertEquals(ErrorCode.INVALID_PARAMS, parts.get(0).failure().code());
            assertTrue(parts.get(1).orThrow().hit());
            assertArrayEquals(Arrays.copyOfRange(value, 4900, 5000), content(part));
            assertEquals(0, store.masterStats().pendingWrites());
        }
    }

    /** More values than are moved at the same time, and more bytes than the staging memory has. */
    @Test
    void shouldMoveManyValuesOfAGpuInOneBatch() {
        final List<RegionItem> items = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            items.add(RegionItem.of(keyOf(i), onGpu(PatternBytes.of(i, (1 << 20) + i))));
        }
        try (ClientStore store = open(128 << 20, 0)) {
            store.putRegionBatch(items, PutOptions.DEFAULT).forEach(one -> assertEquals(PutOutcome.STORED,
                one.orThrow()));
            final List<RegionItem> targets = items.stream().map(item -> RegionItem.of(item.key(),
                onGpu(new byte[(int) item.memory().getFirst().length()]))).toList();
            store.getRegionBatch(targets).forEach(one -> assertTrue(one.orThrow().hit()));
            for (int i = 0; i < targets.size(); i++) {
                assertArrayEquals(PatternBytes.of(i, (1 << 20) + i), content(targets.get(i).memory().getFirst()));
            }
        }
    }

    @Test
    void shouldCopyAValueFromTheGpuOnceAndOnlyWhenThereIsRoomForIt() {
        final byte[] value = PatternBytes.of(10, REGION_BYTES);
        final AtomicInteger copies = new AtomicInteger();
        devices.beforeWait(copies::incrementAndGet);
        try (ClientStore store = open(64 * StoreContract.UNIT, 0)) {
            final RegionSlice source = onGpu(value);
            assertEquals(PutOutcome.STORED,
                store.put(REGION_KEY, PutOptions.DEFAULT.withChecksum(true), List.of(source)));
            assertEquals(1, copies.get());
            assertEquals(PutOutcome.ALREADY_EXISTS, put(store, REGION_KEY, List.of(source)));
            assertEquals(GetOutcome.MISS, store.get(keyOf("none"), List.of(source)));
            assertEquals(1, copies.get());
            final RegionSlice target = onGpu(new byte[REGION_BYTES]);
            assertTrue(store.get(REGION_KEY, List.of(target)).hit());
            assertArrayEquals(value, content(target));
            assertEquals(2, copies.get());
            assertEquals(0, store.stats().unreadable().checksumMismatches());
        }
    }
}
