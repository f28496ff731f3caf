package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MappedRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.CallerMemory;
import io.kvtier.kit.CallerMemory.Kind;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RegionItem;
import io.kvtier.store.RegisteredRegion;
import io.kvtier.store.StoreException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.AbstractList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What becomes of regions that are closed, too small or gone, of a GPU that fails, and of what was registered. */
abstract class RegionFaultContract extends RegionStoreContract {
    /** Of a value on another client's disk, too, where the batch asks for all at once. */
    @Test
    void shouldFailAnItemOfABatchFromDiskAloneWhenItsMemoryCannotBeFilled() {
        final byte[] value = PatternBytes.of(4, REGION_BYTES);
        try (ClientStore store = open(64 * StoreContract.UNIT, 256 * StoreContract.UNIT)) {
            StoreContract.put(store, REGION_KEY, value);
            StoreContract.fillUntilOnDisk(store, REGION_KEY, 64 * StoreContract.UNIT);
            final MemorySegment good = StoreContract.room(REGION_BYTES);
            final RegionSlice target = onGpu(new byte[REGION_BYTES]);
            final List<BatchResult<GetOutcome>> results = store.getRegionBatch(List.of(
                RegionItem.of(REGION_KEY, RegionSlice.of(StoreContract.room(REGION_BYTES).asReadOnly())),
                RegionItem.of(REGION_KEY, RegionSlice.of(good)), RegionItem.of(REGION_KEY, target)));
            assertInstanceOf(IllegalArgumentException.class, results.get(0).failure().getCause());
            assertTrue(results.get(1).orThrow().hit());
            assertTrue(results.get(2).orThrow().hit());
            assertArrayEquals(value, PatternBytes.copyOf(good));
            assertArrayEquals(value, content(target));
            assertEquals(0, store.masterStats().heldReplicas());
        }
    }

    @Test
    void shouldRefuseRangesThatAreSmallerThanTheValueAndLeaveThemAlone() {
        try (ClientStore store = open(64 * StoreContract.UNIT, 0); CallerMemory memory = memory(REGION_BYTES - 1)) {
            StoreContract.put(store, REGION_KEY, PatternBytes.of(7, REGION_BYTES));
            for (final Kind kind : Kind.values()) {
                memory.clear();
                final StoreException e =
                    assertThrows(StoreException.class, () -> store.get(REGION_KEY, memory.ranges(kind)));
                assertEquals(ErrorCode.BUFFER_OVERFLOW, e.code());
                assertTrue(e.getMessage().contains(REGION_BYTES + " bytes")
                    && e.getMessage().contains("it " + (REGION_BYTES - 1)), e.getMessage());
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
                assertThrows(IllegalStateException.class, () -> put(store, REGION_KEY, ranges)).getMessage());
            assertFalse(store.exists(REGION_KEY));
            StoreContract.put(store, REGION_KEY, value);
            assertThrows(IllegalStateException.class, () -> store.upsert(REGION_KEY, PutOptions.DEFAULT, ranges));
            assertThrows(IllegalStateException.class, () -> store.get(REGION_KEY, ranges));
            assertThrows(IllegalStateException.class, () -> store.getRange(REGION_KEY, 1, ranges));
            assertArrayEquals(value, store.getBytes(REGION_KEY).orElseThrow());
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
                RegionItem.of(keyOf(0), source.slice(1, 69_999)),
                new RegionItem(keyOf(1), closing(source, onGpu(value)))), PutOptions.DEFAULT);
            puts.forEach(one -> assertEquals(PutOutcome.STORED, one.orThrow()));
            assertFalse(source.segment().scope().isAlive(), "released when the call has ended");
            assertArrayEquals(Arrays.copyOfRange(value, 1, 70_000), store.getBytes(keyOf(0)).orElseThrow());

            final HostRegion target = HostRegion.allocate(NativeTag.TEST, 70_000);
            final RegionSlice other = onGpu(new byte[70_000]);
            final List<BatchResult<GetOutcome>> gets = store.getRegionBatch(List.of(
                RegionItem.of(keyOf(0), target.slice(0, 70_000)), new RegionItem(keyOf(1), closing(target, other))));
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
    void shouldFailAPutWhoseBytesCannotBeCopiedFromTheGpuAndNoOther() {
        final byte[] value = PatternBytes.of(11, REGION_BYTES);
        try (ClientStore store = open(16 * StoreContract.UNIT, 0)) {
            devices().failCopy(new IllegalStateException("no copy"));
            final StoreException e =
                assertThrows(StoreException.class, () -> put(store, REGION_KEY, List.of(onGpu(value))));
            assertEquals(ErrorCode.TRANSFER_FAIL, e.code());
            assertTrue(e.getMessage().contains(REGION_BYTES + " bytes") && e.getMessage().contains("no copy"),
                e.getMessage());
            assertFalse(store.exists(REGION_KEY));
            assertEquals(0, store.masterStats().pendingWrites());
            assertEquals(PutOutcome.STORED, put(store, REGION_KEY, List.of(onGpu(value))));

            devices().failWait(new IllegalStateException("no wait"));
            final RegionSlice target = onGpu(new byte[REGION_BYTES]);
            assertEquals(ErrorCode.TRANSFER_FAIL,
                assertThrows(StoreException.class, () -> store.get(REGION_KEY, List.of(target))).code());
            assertEquals(0, store.masterStats().heldReplicas());
            assertTrue(store.get(REGION_KEY, List.of(target)).hit());
            assertArrayEquals(value, content(target));
        }
    }

    @Test
    void shouldRefuseMemoryThatIsNoneOfAGpu() {
        final RegionSlice freed = onGpu(PatternBytes.of(12, 100));
        final DeviceRegion region = (DeviceRegion) freed.region();
        try (ClientStore store = open(16 * StoreContract.UNIT, 0)) {
            devices().memory().freed(region.pointer().address());
            final IllegalArgumentException e =
                assertThrows(IllegalArgumentException.class, () -> put(store, REGION_KEY, List.of(freed)));
            assertTrue(e.getMessage().contains("is no device memory"), e.getMessage());
            devices().memory().allocated(region.pointer());
            assertFalse(store.exists(REGION_KEY));
            assertEquals(PutOutcome.STORED, put(store, REGION_KEY, List.of(freed)));
        }
    }

    /** By Java's own copies an error, by a system call a failed transfer; never bytes that were not there. */
    @Test
    void shouldNotTakePagesOfAMappedFileThatAreGoneForBytes() throws IOException {
        final byte[] value = PatternBytes.of(15, REGION_BYTES);
        final Path path = Files.write(folder().resolve("cut"), value);
        try (ClientStore store = open(16 * StoreContract.UNIT, 0);
            MappedRegion mapped = MappedRegion.map(path.toString(), 0, REGION_BYTES, true);
            PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE)) {
            final List<RegionSlice> ranges = List.of(mapped.slice(0, REGION_BYTES));
            file.resize(StoreContract.UNIT);
            final Throwable e = assertThrows(Throwable.class, () -> put(store, REGION_KEY, ranges));
            assertTrue(e instanceof InternalError || e instanceof StoreException, e.toString());
            assertFalse(store.exists(REGION_KEY));
            assertEquals(0, store.masterStats().pendingWrites());
            StoreContract.put(store, REGION_KEY, value);
            assertFalse(isHit(store, ranges));
            assertArrayEquals(value, store.getBytes(REGION_KEY).orElseThrow());
            assertEquals(0, store.masterStats().heldReplicas());
        }
    }

    private static boolean isHit(final ClientStore store, final List<RegionSlice> ranges) {
        try {
            return store.get(REGION_KEY, ranges).hit();
        } catch (final InternalError | StoreException e) {
            return false;
        }
    }

    @Test
    void shouldGoOnWithAGpuThatCouldNotBeOpenedAtFirst() {
        final byte[] value = PatternBytes.of(13, REGION_BYTES);
        try (ClientStore store = open(16 * StoreContract.UNIT, 0)) {
            devices().failStreamsAfter(1, new IllegalStateException("no stream"));
            final StoreException e =
                assertThrows(StoreException.class, () -> put(store, REGION_KEY, List.of(onGpu(value))));
            assertEquals(ErrorCode.TRANSFER_FAIL, e.code());
            assertTrue(e.getMessage().contains("no stream"), e.getMessage());
            assertEquals(0, devices().openStreams());
            devices().failStreamsAfter(0, null);
            assertEquals(PutOutcome.STORED, put(store, REGION_KEY, List.of(onGpu(value))));
            assertArrayEquals(value, store.getBytes(REGION_KEY).orElseThrow());
        }
    }

    @Test
    void shouldKeepARegisteredRegionUntilItIsTakenBack() {
        final byte[] value = PatternBytes.of(14, REGION_BYTES);
        try (ClientStore store = open(16 * StoreContract.UNIT, 64 * StoreContract.UNIT)) {
            final HostRegion region = host(value);
            final RegisteredRegion registered = store.register(region);
            final RegisteredRegion again = store.register(region);
            assertEquals(PutOutcome.STORED, put(store, REGION_KEY, List.of(region.slice(0, REGION_BYTES))));
            region.close();
            final List<RegionSlice> ranges = List.of(region.slice(0, REGION_BYTES));
            assertThrows(IllegalStateException.class, () -> put(store, keyOf(1), ranges));
            assertThrows(IllegalStateException.class, () -> store.register(region));
            registered.close();
            registered.close();
            assertTrue(region.segment().scope().isAlive(), "the second registration keeps it");
            again.close();
            assertFalse(region.segment().scope().isAlive());
            final RegionSlice onGpu = onGpu(value);
            store.register(onGpu.region()).close();
            assertArrayEquals(value, store.getBytes(REGION_KEY).orElseThrow());
        }
    }

    @Test
    void shouldTakeBackWhatIsRegisteredWhenTheStoreIsClosed() {
        final ClientStore store = open(16 * StoreContract.UNIT, 64 * StoreContract.UNIT);
        final HostRegion closed = host(new byte[REGION_BYTES]);
        final RegisteredRegion first = store.register(closed);
        closed.close();
        final HostRegion open = host(new byte[REGION_BYTES]);
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
            assertThrows(StoreException.class, () -> put(store, REGION_KEY, ranges));
            assertThrows(StoreException.class, () -> store.get(REGION_KEY, ranges));
            assertThrows(StoreException.class, () -> store.getRegionBatch(List.of(new RegionItem(REGION_KEY, ranges))));
        }
    }
}
