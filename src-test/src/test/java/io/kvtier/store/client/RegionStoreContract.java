package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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
import io.kvtier.store.RegisteredRegion;
import io.kvtier.store.StoreException;
import io.kvtier.store.replica.ReplicaType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.AbstractList;
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
    private static final int SIZE = 3 * StoreContract.UNIT + 17;
    private static final ObjectKey KEY = ObjectKey.of("regions");

    @TempDir
    private Path files;
    private final SimulatedDevices devices = new SimulatedDevices(new SimulatedMemory());
    private final SimulatedBuffers gpu = new SimulatedBuffers(devices.memory());

    /** A store with so much memory, which evicts only what it must, and so much disk; over the simulated GPU. */
    abstract ClientStore open(long memoryBytes, long diskBytes);

    final SimulatedDevices devices() {
        return devices;
    }

    @AfterEach
    void closeGpu() {
        gpu.close();
        assertEquals(0, devices.openStreams());
    }

    private CallerMemory memory(final int size) {
        return new CallerMemory(gpu, size, files);
    }

    private static ObjectKey key(final Object name) {
        return ObjectKey.of("regions/" + name);
    }

    private static PutOutcome put(final ClientStore store, final ObjectKey key, final List<RegionSlice> source) {
        return store.put(key, PutOptions.DEFAULT, source);
    }

    /** A range on the GPU that holds a value. */
    private RegionSlice onGpu(final byte[] value) {
        final DeviceRegion region = gpu.allocate(value.length);
        gpu.put(MemorySegment.ofArray(value), region, 0);
        return region.slice(0, value.length);
    }

    private byte[] content(final RegionSlice slice) {
        return PatternBytes.copyOf(SimulatedBuffers.bytes((DeviceRegion) slice.region(), slice.offset(),
            slice.length()));
    }

    private static HostRegion host(final byte[] value) {
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
                assertEquals(PutOutcome.STORED, put(store, key(from), memory.ranges(from)));
                assertArrayEquals(value, store.getBytes(key(from)).orElseThrow(), from.name());
            }
            for (final Kind to : Kind.values()) {
                memory.clear();
                assertEquals(new GetOutcome(true, size, ReplicaType.MEMORY),
                    store.get(key(Kind.DEVICE), memory.ranges(to)));
                assertArrayEquals(value, memory.content(memory.ranges(to)), to.name());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldFillNothingButTheFirstBytesOfTheRanges(final Kind kind) {
        final byte[] value = PatternBytes.of(1, SIZE);
        try (ClientStore store = open(64 * StoreContract.UNIT, 0); CallerMemory memory = memory(2 * SIZE)) {
            StoreContract.put(store, KEY, value);
            memory.clear();
            final List<RegionSlice> target = memory.ranges(kind);
            final byte[] rest = Arrays.copyOfRange(memory.content(target), SIZE, 2 * SIZE);

            assertTrue(store.get(KEY, target).hit());

            final byte[] found = memory.content(target);
            assertArrayEquals(value, Arrays.copyOf(found, SIZE));
            assertArrayEquals(rest, Arrays.copyOfRange(found, SIZE, 2 * SIZE));
            assertEquals(0, memory.spoiled(target));
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldReadPartsIntoRegions(final Kind kind) {
        final byte[] value = PatternBytes.of(2, SIZE);
        try (ClientStore store = open(64 * StoreContract.UNIT, 0); CallerMemory memory = memory(4001)) {
            StoreContract.put(store, KEY, value);
            final List<RegionSlice> target = memory.ranges(kind);
            final GetOutcome outcome = store.getRange(KEY, 5000, target);
            assertEquals(new GetOutcome(true, SIZE, ReplicaType.MEMORY), outcome);
            assertArrayEquals(Arrays.copyOfRange(value, 5000, 9001), memory.content(target));
            final StoreException tooFar =
                assertThrows(StoreException.class, () -> store.getRange(KEY, SIZE - 4000, target));
            assertEquals(ErrorCode.INVALID_PARAMS, tooFar.code());
            assertTrue(tooFar.getMessage().contains(String.valueOf(SIZE)), tooFar.getMessage());
        }
    }

    @Test
    void shouldReadFromDiskIntoRegions() {
        final byte[] value = PatternBytes.of(3, SIZE);
        try (ClientStore store = open(64 * StoreContract.UNIT, 256 * StoreContract.UNIT);
            CallerMemory memory = memory(SIZE); CallerMemory part = memory(4001)) {
            memory.fill(memory.ranges(Kind.MIXED), value);
            put(store, KEY, memory.ranges(Kind.MIXED));
            StoreContract.fillUntilOnDisk(store, KEY, 64 * StoreContract.UNIT);
            for (final Kind to : Kind.values()) {
                memory.clear();
                assertTrue(store.get(KEY, memory.ranges(to)).hit());
                assertArrayEquals(value, memory.content(memory.ranges(to)), to.name());
                assertTrue(store.getRange(KEY, 5000, part.ranges(to)).hit());
                assertArrayEquals(Arrays.copyOfRange(value, 5000, 9001), part.content(part.ranges(to)), to.name());
                memory.clear();
                assertTrue(store.getRegionBatch(List.of(new RegionItem(KEY, memory.ranges(to)))).getFirst()
                    .orThrow().hit());
                assertArrayEquals(value, memory.content(memory.ranges(to)), to.name());
            }
        }
    }

    /** Of a value on another client's disk, too, where the batch asks for all at once. */
    @Test
    void shouldFailAnItemOfABatchFromDiskAloneWhenItsMemoryCannotBeFilled() {
        final byte[] value = PatternBytes.of(4, SIZE);
        try (ClientStore store = open(64 * StoreContract.UNIT, 256 * StoreContract.UNIT)) {
            StoreContract.put(store, KEY, value);
            StoreContract.fillUntilOnDisk(store, KEY, 64 * StoreContract.UNIT);
            final MemorySegment good = StoreContract.room(SIZE);
            final RegionSlice target = onGpu(new byte[SIZE]);
            final List<BatchResult<GetOutcome>> results = store.getRegionBatch(List.of(
                RegionItem.of(KEY, RegionSlice.of(StoreContract.room(SIZE).asReadOnly())),
                RegionItem.of(KEY, RegionSlice.of(good)), RegionItem.of(KEY, target)));
            assertInstanceOf(IllegalArgumentException.class, results.get(0).failure().getCause());
            assertTrue(results.get(1).orThrow().hit());
            assertTrue(results.get(2).orThrow().hit());
            assertArrayEquals(value, PatternBytes.copyOf(good));
            assertArrayEquals(value, content(target));
            assertEquals(0, store.masterStats().heldReplicas());
        }
    }

    @Test
    void shouldTakeRegionsOverACallersOwnMemory() {
        final byte[] value = PatternBytes.of(5, 10_000);
        try (ClientStore store = open(64 * StoreContract.UNIT, 0); Arena confined = Arena.ofConfined()) {
            final MemorySegment own = confined.allocate(1234);
            final MemorySegment heap = MemorySegment.ofArray(new byte[value.length - 1234]);
            StoreContract.scatter(value, own, heap);
            assertEquals(PutOutcome.STORED, put(store, KEY, List.of(RegionSlice.of(own), RegionSlice.of(heap))));
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
            assertTrue(store.get(KEY, List.of(RegionSlice.of(heap), RegionSlice.of(own))).hit());
            assertArrayEquals(value, StoreContract.join(heap, own));
        }
    }

    @Test
    void shouldReplaceByUpsertFromRegions() {
        try (ClientStore store = open(64 * StoreContract.UNIT, 0)) {
            for (int i = 0; i < 4; i++) {
                final byte[] value = PatternBytes.of(i, i < 2 ? 5000 : 9000);
                assertEquals(PutOutcome.STORED, store.upsert(KEY, PutOptions.DEFAULT, List.of(onGpu(value))));
                assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
            }
            final byte[] last = PatternBytes.of(9, 30);
            assertEquals(List.of(PutOutcome.STORED, PutOutcome.STORED), store.upsertRegionBatch(List.of(
                RegionItem.of(KEY, onGpu(PatternBytes.of(8, 20))), RegionItem.of(KEY, onGpu(last))),
                PutOptions.DEFAULT).stream().map(BatchResult::orThrow).toList());
            assertArrayEquals(last, store.getBytes(KEY).orElseThrow());
        }
    }

    @Test
    void shouldTreatEachItemOfABatchOfRegionsAlone() {
        final byte[] value = PatternBytes.of(6, 5000);
        final HostRegion closed = host(value);
        closed.close();
        try (ClientStore store = open(64 * StoreContract.UNIT, 0); HostRegion host = host(value)) {
            final List<BatchResult<PutOutcome>> puts = store.putRegionBatch(List.of(
                RegionItem.of(key(0), onGpu(value)), RegionItem.of(key(1), new RegionSlice(closed, 0, 0)),
                RegionItem.of(key(2), onGpu(new byte[65 * StoreContract.UNIT])),
                RegionItem.of(key(0), onGpu(new byte[1])), RegionItem.of(key(3), host.slice(1, 4999))),
                PutOptions.DEFAULT);
            assertEquals(PutOutcome.STORED, puts.get(0).orThrow());
            assertInstanceOf(IllegalStateException.class, puts.get(1).failure().getCause());
            assertEquals(ErrorCode.INVALID_PARAMS, puts.get(2).failure().code());
            assertEquals(PutOutcome.ALREADY_EXISTS, puts.get(3).orThrow());
            assertEquals(PutOutcome.STORED, puts.get(4).orThrow());

            final RegionSlice whole = onGpu(new byte[5000]);
            final RegionSlice rest = onGpu(new byte[4999]);
            final List<BatchResult<GetOutcome>> gets = store.getRegionBatch(List.of(RegionItem.of(key(0), whole),
                RegionItem.of(key(0), onGpu(new byte[4999])), RegionItem.of(key(1), onGpu(new byte[1])),
                RegionItem.of(key(0), new RegionSlice(closed, 0, 0)), RegionItem.of(key(3), rest)));
            assertArrayEquals(value, content(whole));
            assertEquals(5000, gets.get(0).orThrow().valueSize());
            assertEquals(ErrorCode.BUFFER_OVERFLOW, gets.get(1).failure().code());
            assertEquals(GetOutcome.MISS, gets.get(2).orThrow());
            assertInstanceOf(IllegalStateException.class, gets.get(3).failure().getCause());
            assertArrayEquals(Arrays.copyOfRange(value, 1, 5000), content(rest));

            final RegionSlice part = onGpu(new byte[100]);
            final List<BatchResult<GetOutcome>> parts = store.getRegionRangeBatch(List.of(
                new RegionPart(key(0), 4901, List.of(onGpu(new byte[100]))),
                new RegionPart(key(0), 4900, List.of(part))));
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
            items.add(RegionItem.of(key(i), onGpu(PatternBytes.of(i, (1 << 20) + i))));
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
    void shouldRefuseRangesThatAreSmallerThanTheValueAndLeaveThemAlone() {
        try (ClientStore store = open(64 * StoreContract.UNIT, 0); CallerMemory memory = memory(SIZE - 1)) {
            StoreContract.put(store, KEY, PatternBytes.of(7, SIZE));
            for (final Kind kind : Kind.values()) {
                memory.clear();
                final StoreException e =
                    assertThrows(StoreException.class, () -> store.get(KEY, memory.ranges(kind)));
                assertEquals(ErrorCode.BUFFER_OVERFLOW, e.code());
                assertTrue(e.getMessage().contains(SIZE + " bytes") && e.getMessage().contains("it " + (SIZE - 1)),
                    e.getMessage());
                assertEquals(0, memory.spoiled(List.of()));
            }
            assertEquals(0, store.masterStats().heldReplicas());
        }
    }

    @Test
    void shouldRefuseRegionsThatAreClosedBeforeTheMasterIsAsked() {
        final byte[] value = PatternBytes.of(8, 100);
        final HostRegion closed = host(value);
        closed.close();
        final List<RegionSlice> ranges = List.of(onGpu(value), new RegionSlice(closed, 0, 0));
        try (ClientStore store = open(16 * StoreContract.UNIT, 0)) {
            assertEquals("Already closed",
                assertThrows(IllegalStateException.class, () -> put(store, KEY, ranges)).getMessage());
            assertFalse(store.exists(KEY));
            StoreContract.put(store, KEY, value);
            assertThrows(IllegalStateException.class, () -> store.upsert(KEY, PutOptions.DEFAULT, ranges));
            assertThrows(IllegalStateException.class, () -> store.get(KEY, ranges));
            assertThrows(IllegalStateException.class, () -> store.getRange(KEY, 1, ranges));
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
            assertEquals(0, store.masterStats().pendingWrites());
        }
    }

    /** The ranges of the second item are looked at when the first one has been: that is in the middle of the call. */
    @Test
    void shouldKeepARegionThatIsClosedDuringTheCall() {
        final byte[] value = PatternBytes.of(9, 70_000);
        try (ClientStore store = open(64 * StoreContract.UNIT, 0)) {
            final HostRegion source = host(value);
            final List<BatchResult<PutOutcome>> puts = store.putRegionBatch(List.of(
                RegionItem.of(key(0), source.slice(1, 69_999)),
                new RegionItem(key(1), closing(source, onGpu(value)))), PutOptions.DEFAULT);
            puts.forEach(one -> assertEquals(PutOutcome.STORED, one.orThrow()));
            assertFalse(source.segment().scope().isAlive(), "released when the call has ended");
            assertArrayEquals(Arrays.copyOfRange(value, 1, 70_000), store.getBytes(key(0)).orElseThrow());

            final HostRegion target = HostRegion.allocate(NativeTag.TEST, 70_000);
            final RegionSlice other = onGpu(new byte[70_000]);
            final List<BatchResult<GetOutcome>> gets = store.getRegionBatch(List.of(
                RegionItem.of(key(0), target.slice(0, 70_000)), new RegionItem(key(1), closing(target, other))));
            gets.forEach(one -> assertTrue(one.orThrow().hit()));
            assertFalse(target.segment().scope().isAlive(), "released when the call has ended");
            assertArrayEquals(value, content(other));
        }
    }

    private static List<RegionSlice> closing(final HostRegion region, final RegionSlice only) {
        return new AbstractList<>() {
            @Override
            public RegionSlice get(final int index) {
                region.close();
                return only;
            }

            @Override
            public int size() {
                return 1;
            }
        };
    }

    @Test
    void shouldCopyAValueFromTheGpuOnceAndOnlyWhenThereIsRoomForIt() {
        final byte[] value = PatternBytes.of(10, SIZE);
        final AtomicInteger copies = new AtomicInteger();
        devices.beforeWait(copies::incrementAndGet);
        try (ClientStore store = open(64 * StoreContract.UNIT, 0)) {
            final RegionSlice source = onGpu(value);
            assertEquals(PutOutcome.STORED,
                store.put(KEY, PutOptions.DEFAULT.withChecksum(true), List.of(source)));
            assertEquals(1, copies.get());
            assertEquals(PutOutcome.ALREADY_EXISTS, put(store, KEY, List.of(source)));
            assertEquals(GetOutcome.MISS, store.get(key("none"), List.of(source)));
            assertEquals(1, copies.get());
            final RegionSlice target = onGpu(new byte[SIZE]);
            assertTrue(store.get(KEY, List.of(target)).hit());
            assertArrayEquals(value, content(target));
            assertEquals(2, copies.get());
            assertEquals(0, store.stats().unreadable().checksumMismatches());
        }
    }

    @Test
    void shouldFailAPutWhoseBytesCannotBeCopiedFromTheGpuAndNoOther() {
        final byte[] value = PatternBytes.of(11, SIZE);
        try (ClientStore store = open(16 * StoreContract.UNIT, 0)) {
            devices.failCopy(new IllegalStateException("no copy"));
            final StoreException e =
                assertThrows(StoreException.class, () -> put(store, KEY, List.of(onGpu(value))));
            assertEquals(ErrorCode.TRANSFER_FAIL, e.code());
            assertTrue(e.getMessage().contains(SIZE + " bytes") && e.getMessage().contains("no copy"),
                e.getMessage());
            assertFalse(store.exists(KEY));
            assertEquals(0, store.masterStats().pendingWrites());
            assertEquals(PutOutcome.STORED, put(store, KEY, List.of(onGpu(value))));

            devices.failWait(new IllegalStateException("no wait"));
            final RegionSlice target = onGpu(new byte[SIZE]);
            assertEquals(ErrorCode.TRANSFER_FAIL,
                assertThrows(StoreException.class, () -> store.get(KEY, List.of(target))).code());
            assertEquals(0, store.masterStats().heldReplicas());
            assertTrue(store.get(KEY, List.of(target)).hit());
            assertArrayEquals(value, content(target));
        }
    }

    @Test
    void shouldRefuseMemoryThatIsNoneOfAGpu() {
        final RegionSlice freed = onGpu(PatternBytes.of(12, 100));
        final DeviceRegion region = (DeviceRegion) freed.region();
        try (ClientStore store = open(16 * StoreContract.UNIT, 0)) {
            devices.memory().freed(region.pointer().address());
            final IllegalArgumentException e =
                assertThrows(IllegalArgumentException.class, () -> put(store, KEY, List.of(freed)));
            assertTrue(e.getMessage().contains("is no device memory"), e.getMessage());
            devices.memory().allocated(region.pointer());
            assertFalse(store.exists(KEY));
            assertEquals(PutOutcome.STORED, put(store, KEY, List.of(freed)));
        }
    }

    @Test
    void shouldGoOnWithAGpuThatCouldNotBeOpenedAtFirst() {
        final byte[] value = PatternBytes.of(13, SIZE);
        try (ClientStore store = open(16 * StoreContract.UNIT, 0)) {
            devices.failStreamsAfter(1, new IllegalStateException("no stream"));
            final StoreException e =
                assertThrows(StoreException.class, () -> put(store, KEY, List.of(onGpu(value))));
            assertEquals(ErrorCode.TRANSFER_FAIL, e.code());
            assertTrue(e.getMessage().contains("no stream"), e.getMessage());
            assertEquals(0, devices.openStreams());
            devices.failStreamsAfter(0, null);
            assertEquals(PutOutcome.STORED, put(store, KEY, List.of(onGpu(value))));
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
        }
    }

    @Test
    void shouldKeepARegisteredRegionUntilItIsTakenBack() {
        final byte[] value = PatternBytes.of(14, SIZE);
        try (ClientStore store = open(16 * StoreContract.UNIT, 64 * StoreContract.UNIT)) {
            final HostRegion region = host(value);
            final RegisteredRegion registered = store.register(region);
            final RegisteredRegion again = store.register(region);
            assertEquals(PutOutcome.STORED, put(store, KEY, List.of(region.slice(0, SIZE))));
            region.close();
            assertThrows(IllegalStateException.class, () -> put(store, key(1), List.of(region.slice(0, SIZE))));
            assertThrows(IllegalStateException.class, () -> store.register(region));
            registered.close();
            registered.close();
            assertTrue(region.segment().scope().isAlive(), "the second registration keeps it");
            again.close();
            assertFalse(region.segment().scope().isAlive());
            final RegionSlice onGpu = onGpu(value);
            store.register(onGpu.region()).close();
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow());
        }
    }

    @Test
    void shouldTakeBackWhatIsRegisteredWhenTheStoreIsClosed() {
        final ClientStore store = open(16 * StoreContract.UNIT, 64 * StoreContract.UNIT);
        final HostRegion closed = host(new byte[SIZE]);
        final RegisteredRegion first = store.register(closed);
        closed.close();
        final HostRegion open = host(new byte[SIZE]);
        final RegisteredRegion second = store.register(open);
        store.close();
        assertFalse(closed.segment().scope().isAlive());
        assertTrue(open.segment().scope().isAlive());
        first.close();
        second.close();
        assertTrue(open.segment().scope().isAlive(), "its owner's hold was given back twice");
        assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
            assertThrows(StoreException.class, () -> store.register(open)).code());
        open.close();
        assertFalse(open.segment().scope().isAlive());
    }

    @Test
    void shouldRefuseRegionsOnceClosed() {
        final ClientStore store = open(4 * StoreContract.UNIT, 0);
        store.close();
        try (HostRegion region = host(new byte[1])) {
            final List<RegionSlice> ranges = List.of(region.slice(0, 1));
            assertThrows(StoreException.class, () -> put(store, KEY, ranges));
            assertThrows(StoreException.class, () -> store.get(KEY, ranges));
            assertThrows(StoreException.class, () -> store.getRegionBatch(List.of(new RegionItem(KEY, ranges))));
        }
    }
}
