package io.kvtier.transport.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.BorrowedRegion;
import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MappedRegion;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedDevices;
import io.kvtier.kit.SimulatedMemory;
import io.kvtier.kit.Threads;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferRequest;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What goes wrong with copies of device memory, over a simulated device. */
@ExtendWith(LeakCheck.class)
class DeviceCopiesTest {
    private static final int SIZE = 300_000;

    @TempDir
    private Path directory;
    private final SimulatedDevices devices = new SimulatedDevices(new SimulatedMemory());
    private final SimulatedBuffers buffers = new SimulatedBuffers(devices.memory());
    private final HostRegion host = HostRegion.allocate(NativeTag.TEST, SIZE);
    private final TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT,
        List.of(SimulatedDeviceContract.transport(devices, 1)));

    @AfterEach
    void close() {
        engine.close();
        assertFalse(engine.abandoned());
        assertEquals(0, devices.openStreams());
        host.close();
        buffers.close();
    }

    private TransferFailure refusal(final TransferRequest request) {
        final TransferFailure failure =
            assertThrows(TransferException.class, () -> engine.submit(List.of(request))).failure();
        assertEquals(TransferFailure.Kind.INVALID, failure.kind());
        return failure;
    }

    @Test
    void shouldClaimDeviceMemoryOnlyWithADevice() {
        final Capability without = new MemoryTransport().capability();
        assertEquals(Capability.HOST_MEMORY, without.memory());
        assertTrue(without.availability().reason().contains("host memory only"), without.availability().reason());
        assertTrue(engine.capabilities().getFirst().memory().contains(MemoryKind.DEVICE));
        assertThrows(IllegalArgumentException.class, () -> new MemoryTransport(List.of()));
        final DeviceRegion region = buffers.pattern(1, 10);
        try (TransferEngine hostOnly = TransferEngine.open(TransferConfig.DEFAULT, List.of(new MemoryTransport()))) {
            final IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> hostOnly.register("gpu", region));
            assertTrue(refused.getMessage().contains("context of that device"), refused.getMessage());
        }
    }

    @Test
    void shouldStageMemoryThatIsMappedFromAFile() throws IOException {
        final Path path = Files.write(directory.resolve("mapped"), PatternBytes.of(1, SIZE));
        final DeviceRegion region = buffers.pattern(2, SIZE);
        final Segment segment = engine.register("gpu", region);
        try (MappedRegion mapped = MappedRegion.map(path.toString(), 0, SIZE, true)) {
            engine.submit(List.of(TransferRequest.write(mapped.slice(1, SIZE - 1), segment, 1))).await();
            assertArrayEquals(PatternBytes.of(1, SIZE), concat(PatternBytes.of(2, 1),
                SimulatedBuffers.content(region)));

            PatternBytes.fill(SimulatedBuffers.bytes(region, 0, SIZE), 3);
            engine.submit(List.of(TransferRequest.read(mapped.slice(0, SIZE), segment, 0))).await();
            assertArrayEquals(PatternBytes.of(3, SIZE), Files.readAllBytes(path));
        }
    }

    /** The first byte of the model and all but the first of the content, which must have kept its own. */
    private static byte[] concat(final byte[] first, final byte[] content) {
        assertEquals(first[0], content[0]);
        final byte[] bytes = content.clone();
        bytes[0] = PatternBytes.of(1, 1)[0];
        return bytes;
    }

    @Test
    void shouldFailAndNotCrashWhenAMappedFileWasCut() throws IOException {
        final Path path = Files.write(directory.resolve("mapped"), PatternBytes.of(1, SIZE));
        final Segment segment = engine.register("gpu", buffers.pattern(2, SIZE));
        try (MappedRegion mapped = MappedRegion.map(path.toString(), 0, SIZE, true);
            PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE)) {
            file.resize(4096);
            for (int round = 0; round < 2; round++) {
                final Transfer transfer = engine.submit(List.of(round == 0
                    ? TransferRequest.write(mapped.slice(0, SIZE), segment, 0)
                    : TransferRequest.read(mapped.slice(0, SIZE), segment, 0)));
                assertEquals(TransferFailure.Kind.FAILED,
                    assertThrows(TransferException.class, transfer::await).failure().kind());
            }
        }
        engine.submit(List.of(TransferRequest.write(host.slice(0, SIZE), segment, 0))).await();
    }

    @Test
    void shouldFailTheSliceWhenACopyOrTheWaitForItFails() {
        final DeviceRegion region = buffers.pattern(1, SIZE);
        final Segment segment = engine.register("gpu", region);
        devices.failCopy(new IllegalStateException("no copy"));
        final Transfer first = engine.submit(List.of(TransferRequest.read(host.slice(0, SIZE), segment, 0)));
        assertEquals("no copy", assertThrows(TransferException.class, first::await).failure().message());
        devices.failWait(new IllegalStateException("no wait"));
        final Transfer second = engine.submit(List.of(TransferRequest.read(host.slice(0, SIZE), segment, 0)));
        assertEquals("no wait", assertThrows(TransferException.class, second::await).failure().message());

        engine.submit(List.of(TransferRequest.read(host.slice(0, SIZE), segment, 0))).await();
        assertArrayEquals(SimulatedBuffers.content(region), PatternBytes.copyOf(host.segment()));
    }

    @Test
    void shouldLeaveNoStreamBehindWhenOneCannotBeMade() {
        final int before = devices.openStreams();
        devices.failStreamsAfter(2, new IllegalStateException("no stream"));
        assertThrows(IllegalStateException.class, () -> SimulatedDeviceContract.transport(devices, 3));
        assertEquals(before, devices.openStreams());
    }

    @ParameterizedTest
    @CsvSource({"0, 0, 1, true", "0, 100, 101, true", "100, 0, 101, true", "0, 100, 100, false", "100, 0, 100, false"})
    void shouldRefuseRangesOfOneAllocationThatOverlap(final long from, final long to, final long length,
        final boolean overlap) {
        final DeviceRegion region = buffers.pattern(1, 1000);
        final byte[] model = SimulatedBuffers.content(region);
        final Segment segment = engine.register("gpu", region);
        final TransferRequest request = TransferRequest.write(region.slice(from, length), segment, to);
        if (overlap) {
            assertTrue(refusal(request).message().contains("overlap"));
        } else {
            engine.submit(List.of(request)).await();
            System.arraycopy(model.clone(), (int) from, model, (int) to, (int) length);
        }
        assertArrayEquals(model, SimulatedBuffers.content(region));
    }

    @Test
    void shouldRefuseWhatCannotBeCopiedByAnotherThread() {
        final Segment segment = engine.register("gpu", buffers.pattern(1, 100));
        try (Arena arena = Arena.ofConfined()) {
            final MemoryRegion confined = new BorrowedRegion(arena.allocate(100));
            assertTrue(refusal(TransferRequest.read(confined.slice(0, 100), segment, 0)).message()
                .contains("shared arena"));
        }
        assertTrue(refusal(TransferRequest.read(host.slice(0, 101), segment, 0)).message()
            .contains("not inside the segment of 100 bytes"));
        final Segment constant =
            engine.register("constant", new BorrowedRegion(host.segment().asReadOnly()));
        assertTrue(refusal(TransferRequest.write(buffers.pattern(2, 10).slice(0, 10), constant, 0)).message()
            .contains("read-only"));
    }

    @Test
    void shouldRefuseBorrowedMemoryThatWasFreed() {
        final DeviceRegion region = buffers.pattern(1, 100);
        final Segment segment = engine.register("gpu", region);
        devices.memory().freed(region.pointer().address());
        assertTrue(refusal(TransferRequest.read(host.slice(0, 100), segment, 0)).message()
            .contains("is no device memory"));
        devices.memory().allocated(region.pointer());
    }

    /** Who lends memory says how long it is; whether the part that is asked for is there, the driver is asked. */
    @Test
    void shouldLookForBorrowedMemoryWhereTheSliceIs() {
        final DeviceRegion half = buffers.pattern(1, SIZE / 2);
        final Segment segment = engine.register("gpu", DeviceRegion.borrow(null,
            new DevicePointer(half.pointer().address(), SIZE)));
        engine.submit(List.of(TransferRequest.read(host.slice(0, SIZE / 2), segment, 0))).await();
        assertArrayEquals(PatternBytes.of(1, SIZE / 2), PatternBytes.copyOf(host.segment().asSlice(0, SIZE / 2)));

        assertTrue(refusal(TransferRequest.read(host.slice(0, 100), segment, SIZE / 2)).message()
            .contains("is no device memory"));
        assertTrue(refusal(TransferRequest.write(host.slice(0, 100), segment, SIZE / 2 - 99)).message()
            .contains("reaches 1 bytes past"));
    }

    private void holdWaits(final CountDownLatch inside, final CountDownLatch go) {
        devices.beforeWait(() -> {
            inside.countDown();
            try {
                go.await();
            } catch (final InterruptedException e) {
                throw new AssertionError(e);
            }
        });
    }

    @Test
    void shouldKeepTheMemoryOfTheSegmentUntilTheCopyHasEndedWhenItsRegionIsClosed() throws Exception {
        final DeviceRegion local = buffers.pattern(1, SIZE);
        final HostRegion remote = HostRegion.allocate(NativeTag.TEST, SIZE);
        final Segment segment = engine.register("memory", remote);
        final CountDownLatch inside = new CountDownLatch(1);
        final CountDownLatch go = new CountDownLatch(1);
        holdWaits(inside, go);
        final Transfer running = engine.submit(List.of(TransferRequest.write(local.slice(0, SIZE), segment, 0)));
        final Transfer behind = engine.submit(List.of(TransferRequest.write(local.slice(0, SIZE), segment, 0)));
        inside.await();

        remote.close();
        final boolean alive = remote.segment().scope().isAlive();
        go.countDown();

        assertTrue(alive, "freed memory that the device is to write");
        running.await();
        final TransferFailure failure = assertThrows(TransferException.class, behind::await).failure();
        assertTrue(failure.message().contains("closed"), failure.message());
        assertFalse(remote.segment().scope().isAlive());
    }

    @Test
    void shouldEndOnlyAfterTheCopyWhenCancelledOrClosedUnderIt() throws Exception {
        final DeviceRegion region = buffers.pattern(1, SIZE);
        final Segment segment = engine.register("gpu", region);
        final CountDownLatch inside = new CountDownLatch(1);
        final CountDownLatch go = new CountDownLatch(1);
        holdWaits(inside, go);
        final Transfer running = engine.submit(List.of(TransferRequest.read(host.slice(0, 1000), segment, 0)));
        inside.await();
        final Transfer waiting = engine.submit(List.of(TransferRequest.write(host.slice(0, SIZE), segment, 0)));
        running.cancel();
        waiting.cancel();
        assertFalse(running.await(0), "a copy is still using the memory");
        final Thread closer = Thread.ofPlatform().start(engine::close);
        assertTrue(Threads.awaitWaiting(closer), "closed the engine under a copy");
        go.countDown();
        closer.join();

        assertEquals(TransferFailure.Kind.CANCELED,
            assertThrows(TransferException.class, running::await).failure().kind());
        assertArrayEquals(PatternBytes.of(1, SIZE), SimulatedBuffers.content(region));
        assertEquals(-1, MemorySegment.ofArray(PatternBytes.of(1, SIZE)).asSlice(0, 1000).mismatch(
            host.segment().asSlice(0, 1000)));
    }
}
