package io.kvtier.store.client.request;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MappedRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedDevices;
import io.kvtier.kit.SimulatedMemory;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.StoreContract;
import io.kvtier.store.client.transfer.ScatterGather;
import io.kvtier.store.client.transfer.Staging;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What the parts of a store see of a caller's memory. */
@ExtendWith(LeakCheck.class)
class ValueMemoryTest {
    private static final int PAGE = 4096;

    @TempDir
    private Path directory;
    private final SimulatedDevices devices = new SimulatedDevices(new SimulatedMemory());
    private final SimulatedBuffers buffers = new SimulatedBuffers(devices.memory());
    private final GpuCopies gpus = new GpuCopies(devices, 30_000);
    private final HostRegion host = HostRegion.allocate(NativeTag.TEST, 2 * PAGE);

    @AfterEach
    void close() {
        gpus.close();
        gpus.close();
        assertEquals(0, devices.openStreams());
        devices.pinned().forEach(one -> assertFalse(one.segment().scope().isAlive()));
        host.close();
        buffers.close();
    }

    private static byte[] join(final List<MemorySegment> pieces) {
        return StoreContract.join(pieces.toArray(MemorySegment[]::new));
    }

    private ValueMemory entered(final List<MemorySegment> pieces) {
        return ValueMemory.enter(pieces.stream().map(RegionSlice::of).toList(), gpus);
    }

    @Test
    void shouldSayWhoCanTouchTheMemory() {
        final DeviceRegion device = buffers.pattern(1, 100);
        try (Arena shared = Arena.ofShared(); Arena confined = Arena.ofConfined()) {
            final List<MemorySegment> any = List.of(shared.allocate(10), shared.allocate(5));
            try (ValueMemory straight = entered(any)) {
                assertTrue(straight.isHost() && straight.isStraight());
                assertEquals(15, straight.byteSize());
                assertEquals(any, straight.slices(15).stream().map(RegionSlice::segment).toList());
                assertEquals(any, straight.target(15));
            }
            for (final MemorySegment other : List.of(confined.allocate(10), MemorySegment.ofArray(new byte[10]))) {
                try (ValueMemory crooked = entered(List.of(any.getFirst(), other))) {
                    assertTrue(crooked.isHost() && !crooked.isStraight());
                    assertEquals(List.of(any.getFirst(), other), crooked.target(20));
                }
            }
        }
        final List<RegionSlice> mixed = List.of(device.slice(1, 99), host.slice(3, 5));
        try (ValueMemory memory = ValueMemory.enter(mixed, gpus)) {
            assertTrue(!memory.isHost() && memory.isStraight());
            assertEquals(104, memory.byteSize());
            assertEquals(mixed, memory.slices(104));
            assertEquals(List.of(device.slice(1, 99)), memory.slices(99));
            assertEquals(List.of(device.slice(1, 99), host.slice(3, 2)), memory.slices(101));
            assertEquals(List.of(), memory.slices(0));
            assertEquals(0, gpus.size(), "nothing was asked of the GPU");
        }
    }

    /** What needs the host's memory is given the same as before, and nothing is made for it. */
    @Test
    void shouldHandSegmentsOnAsTheyAre() {
        final List<MemorySegment> pieces = List.of(host.segment());
        final ReadRequest read = ReadRequest.whole(ObjectKey.of("key"), pieces);
        assertSame(pieces, read.target(7));
        assertNull(read.regions());
        final PutRequest value = PutRequest.of(ObjectKey.of("key"), pieces, PutOptions.DEFAULT, false);
        assertSame(pieces, value.source());
        assertEquals(2 * PAGE, value.byteSize());
        assertNull(value.regions());
    }

    /** One piece for what lies on GPUs one behind the other: a block device takes one as it is. */
    @Test
    void shouldJoinWhatIsOnGpus() {
        final DeviceRegion first = buffers.pattern(1, 1000);
        final DeviceRegion second = buffers.pattern(2, 1000);
        PatternBytes.fill(host.segment(), 3);
        try (ValueMemory memory = ValueMemory.enter(List.of(first.slice(10, 990), second.slice(0, 500),
            host.slice(7, 20), second.slice(500, 500)), gpus)) {
            final List<MemorySegment> source = memory.source();
            assertEquals(List.of(1490L, 20L, 500L), source.stream().map(MemorySegment::byteSize).toList());
            assertEquals(host.segment().address() + 7, source.get(1).address());
            final byte[] expected = new byte[2010];
            System.arraycopy(PatternBytes.of(1, 1000), 10, expected, 0, 990);
            System.arraycopy(PatternBytes.of(2, 1000), 0, expected, 990, 500);
            System.arraycopy(PatternBytes.of(3, 2 * PAGE), 7, expected, 1490, 20);
            System.arraycopy(PatternBytes.of(2, 1000), 500, expected, 1510, 500);
            assertArrayEquals(expected, join(source));
            assertSame(source, memory.source());
        }
    }

    @Test
    void shouldNeedStagingMemoryForWhatIsReadAlone() {
        final DeviceRegion device = buffers.pattern(1, 1 << 20);
        try (ValueMemory memory = ValueMemory.enter(List.of(device.slice(0, 1 << 20), host.slice(0, 8)), gpus)) {
            final List<MemorySegment> small = memory.target(100);
            assertEquals(100, small.getFirst().byteSize());
            assertSame(small, memory.target(50), "there is room enough already");
            final List<MemorySegment> larger = memory.target(200);
            assertNotSame(small, larger);
            assertEquals(200, larger.getFirst().byteSize());
            larger.getFirst().copyFrom(MemorySegment.ofArray(PatternBytes.of(2, 200)));

            memory.deliver(150);

            final byte[] expected = PatternBytes.of(1, 1 << 20);
            System.arraycopy(PatternBytes.of(2, 200), 0, expected, 0, 150);
            assertArrayEquals(expected, SimulatedBuffers.content(device));
        }
    }

    /** As when a file was read straight into the GPU after an attempt over the host has failed. */
    @Test
    void shouldDeliverNothingThatWasLetGo() {
        final DeviceRegion device = buffers.pattern(1, 100);
        try (ValueMemory memory = ValueMemory.enter(List.of(device.slice(0, 100)), gpus)) {
            memory.target(100).getFirst().fill((byte) 1);
            memory.unstage();
            memory.deliver(100);
            assertArrayEquals(PatternBytes.of(1, 100), SimulatedBuffers.content(device));
        }
    }

    /** A value that the pool of pinned memory does not hold has staging memory of its own. */
    @Test
    void shouldMoveMoreThanThePoolHolds() {
        final int size = (int) Staging.POOL_BYTES + 12_345;
        final DeviceRegion device = buffers.pattern(1, size);
        final byte[] value = PatternBytes.of(1, size);
        try (ValueMemory memory = ValueMemory.enter(List.of(device.slice(0, size)), gpus)) {
            assertArrayEquals(value, PatternBytes.copyOf(memory.source().getFirst()));
        }
        try (ValueMemory memory = ValueMemory.enter(List.of(device.slice(0, size)), gpus)) {
            final byte[] other = PatternBytes.of(2, size);
            memory.target(size).getFirst().copyFrom(MemorySegment.ofArray(other));
            memory.deliver(size);
            assertTrue(Arrays.equals(other, SimulatedBuffers.content(device)));
        }
    }

    @Test
    void shouldGiveStagingMemoryBackWhenACopyFails() {
        final int size = 16 << 20;
        final DeviceRegion device = buffers.pattern(1, size);
        // More often than the pool would have room, were any of it kept.
        for (int round = 0; round < 2 * Staging.POOL_BYTES / size; round++) {
            try (ValueMemory memory = ValueMemory.enter(List.of(device.slice(0, size)), gpus)) {
                devices.failCopy(new IllegalStateException("no copy"));
                assertEquals(ErrorCode.TRANSFER_FAIL, assertThrows(StoreException.class, memory::source).code());
                devices.failWait(new IllegalStateException("no wait"));
                assertEquals(ErrorCode.TRANSFER_FAIL, assertThrows(StoreException.class, memory::source).code());
            }
        }
        try (ValueMemory memory = ValueMemory.enter(List.of(device.slice(0, size)), gpus)) {
            final MemorySegment found = memory.source().getFirst();
            assertTrue(devices.pinned().getFirst().segment().asOverlappingSlice(found).isPresent());
            assertArrayEquals(PatternBytes.of(1, size), PatternBytes.copyOf(found), "copied when asked again");
        }
    }

    @Test
    void shouldLetGoOfAllWhenOneRegionIsClosed() {
        final HostRegion open = HostRegion.allocate(NativeTag.TEST, PAGE);
        final HostRegion closed = HostRegion.allocate(NativeTag.TEST, PAGE);
        closed.close();
        assertThrows(IllegalStateException.class,
            () -> ValueMemory.enter(List.of(open.slice(0, 1), new RegionSlice(closed, 0, 1)), gpus));
        open.close();
        assertFalse(open.segment().scope().isAlive(), "nobody holds it");
    }

    /** Bytes that were not there must not be stored, or given out, as if they had been. */
    @Test
    void shouldTellWhenAMappedFileWasCut() throws IOException {
        final Path path = Files.write(directory.resolve("mapped"), new byte[2 * PAGE]);
        try (MappedRegion mapped = MappedRegion.map(path.toString(), 0, 2 * PAGE, true);
            PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE);
            ValueMemory memory = ValueMemory.enter(List.of(mapped.slice(0, 2 * PAGE)), gpus)) {
            file.resize(PAGE);
            assertThrows(InternalError.class, () -> {
                ScatterGather.gather(memory.source(), host.segment(), 0);
                memory.raiseFault();
            });
            assertThrows(InternalError.class, () -> {
                ScatterGather.scatter(host.segment(), 0, 2 * PAGE, memory.target(2 * PAGE));
                memory.deliver(2 * PAGE);
            });
        }
    }
}
