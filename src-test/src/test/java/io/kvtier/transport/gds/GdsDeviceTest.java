package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.kit.CudaBuffers;
import io.kvtier.kit.GdsFolder;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** GPU to file to GPU through the engine, where it was asked for. A hang is a failure. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 90, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GdsDeviceTest {
    private static final int KIB = 1 << 10;
    private static final int MIB = 1 << 20;

    private Path folder;
    private CudaBuffers buffers;
    private TransferEngine engine;

    @BeforeEach
    void open() throws IOException {
        folder = GdsFolder.require();
        buffers = CudaBuffers.ofFirst();
        final GdsTransport transport = GdsTransport.open(GdsConfig.DEFAULT, List.of(buffers.context()));
        System.out.println("seen: " + transport.mode() + ", " + transport.capability().availability().reason());
        engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(transport));
        assertTrue(engine.hasTransport(TransportKind.GDS), engine.availability(TransportKind.GDS).toString());
    }

    @AfterEach
    void close() throws IOException {
        if (engine != null) {
            engine.close();
            assertFalse(engine.abandoned());
            buffers.close();
        }
        GdsFolder.remove(folder);
    }

    private Segment file(final String name, final byte[] content) throws IOException {
        return engine.openSegment(Files.write(folder.resolve(name), content).toUri().toString());
    }

    private void put(final byte[] bytes, final DeviceRegion region) {
        try (Arena arena = Arena.ofConfined()) {
            buffers.put(arena.allocate(bytes.length).copyFrom(MemorySegment.ofArray(bytes)), region, 0);
        }
    }

    private byte[] get(final DeviceRegion region, final int length) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment bytes = arena.allocate(length);
            buffers.get(region, 0, bytes);
            return PatternBytes.copyOf(bytes);
        }
    }

    @ParameterizedTest
    @CsvSource({"128, 64, true", "128, 64, false", "300, 64, true", "128, 1024, true", "200, 1024, false",
        "16, 16384, true"})
    void shouldBringBackWhatWasWrittenWhenInEntriesOfOneSubmit(final int entries, final int kib,
        final boolean registered) throws IOException {
        final int length = kib * KIB;
        final byte[] bytes = PatternBytes.of(entries, entries * length);
        final DeviceRegion region = buffers.allocate(bytes.length);
        final Registration registration = registered ? engine.register(region) : null;
        put(bytes, region);
        final Segment segment = file("f", new byte[0]);
        final Transfer transfer = engine.newTransfer();
        for (int i = 0; i < entries; i++) {
            transfer.write(region, (long) i * length, length, segment, (long) i * length);
        }
        engine.submit(transfer);
        transfer.await();
        engine.sync(segment).await();
        assertArrayEquals(bytes, Files.readAllBytes(folder.resolve("f")));

        put(new byte[bytes.length], region);
        transfer.clear();
        for (int i = entries - 1; i >= 0; i--) {
            transfer.read(region, (long) i * length, length, segment, (long) i * length);
        }
        engine.submit(transfer);
        transfer.await();
        assertArrayEquals(bytes, get(region, bytes.length));
        if (registered) {
            assertTrue(registration.results().get(TransportKind.GDS).available(), registration.results().toString());
            registration.close();
        }
    }

    @Test
    void shouldServeBorrowedMemoryFromInsideARegistration() throws IOException {
        final byte[] bytes = PatternBytes.of(1, 4 * MIB);
        final DeviceRegion region = buffers.allocate(4 * MIB);
        put(bytes, region);
        final DeviceRegion inside = DeviceRegion.borrow(null, region.pointer().slice(MIB, 2 * MIB));
        final Segment segment = file("f", new byte[0]);
        try (Registration registration = engine.register(region)) {
            assertTrue(registration.results().get(TransportKind.GDS).available(), registration.results().toString());
            engine.submit(List.of(TransferRequest.write(inside.slice(100, MIB), segment, 512))).await();
        }
        engine.submit(List.of(TransferRequest.write(inside.slice(MIB, MIB), segment, 512 + MIB))).await();

        final byte[] content = Files.readAllBytes(folder.resolve("f"));
        assertEquals(512 + 2 * MIB, content.length);
        assertEquals(-1, MemorySegment.ofArray(bytes).asSlice(MIB + 100, MIB).mismatch(
            MemorySegment.ofArray(content).asSlice(512, MIB)));
        assertEquals(-1, MemorySegment.ofArray(bytes).asSlice(2 * MIB, MIB).mismatch(
            MemorySegment.ofArray(content).asSlice(512 + MIB, MIB)));
    }

    @Test
    void shouldRefuseMemoryThatWasFreed() throws IOException {
        final Segment segment = file("f", new byte[MIB]);
        final DeviceRegion gone = DeviceRegion.allocate(buffers.context(), MIB);
        final DeviceRegion borrowed = DeviceRegion.borrow(buffers.context(), gone.pointer());
        gone.close();

        for (final DeviceRegion region : List.of(gone, borrowed)) {
            final TransferFailure failure = assertThrows(TransferException.class,
                () -> engine.submit(List.of(TransferRequest.read(region.slice(0, MIB), segment, 0)))).failure();
            assertEquals(TransferFailure.Kind.INVALID, failure.kind());
            System.out.println("seen: " + failure.message());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 4096, 1000})
    void shouldEndShortWhenTheFileEnds(final int there) throws IOException {
        final Segment segment = file("f", PatternBytes.of(1, there));
        final DeviceRegion region = buffers.allocate(MIB);

        final Transfer transfer = engine.submit(List.of(TransferRequest.read(region.slice(0, MIB), segment, 0)));

        final TransferFailure failure = assertThrows(TransferException.class, transfer::await).failure();
        assertEquals(TransferFailure.Kind.SHORT, failure.kind());
        assertTrue(failure.message().contains("only " + there + " bytes"), failure.message());
    }

    @Test
    void shouldLoseNothingWhenManyWritesMeetInTheMiddleOfBlocks() throws IOException {
        final int length = 1000;
        final int count = 2000;
        final byte[] bytes = PatternBytes.of(1, length * count);
        final DeviceRegion region = buffers.allocate(bytes.length);
        put(bytes, region);
        final Segment segment = file("f", new byte[bytes.length]);
        final List<TransferRequest> requests = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            requests.add(TransferRequest.write(region.slice((long) i * length, length), segment, (long) i * length));
        }

        engine.submit(requests).await();

        assertArrayEquals(bytes, Files.readAllBytes(folder.resolve("f")));
    }

    @Test
    void shouldGoOnWithOtherTransfersWhenOneIsCancelledOnItsWay() throws Exception {
        final byte[] bytes = PatternBytes.of(1, 256 * MIB);
        final DeviceRegion region = buffers.allocate(bytes.length);
        final Segment segment = file("f", bytes);
        engine.sync(segment).await();

        final Transfer cancelled =
            engine.submit(List.of(TransferRequest.read(region.slice(0, bytes.length), segment, 0)));
        while (cancelled.movedBytes() == 0 && !cancelled.isDone()) {
            Thread.onSpinWait();
        }
        cancelled.cancel();
        final long start = System.nanoTime();
        assertThrows(TransferException.class, cancelled::await);
        System.out.println("seen: a cancelled read of 256 MiB ended after " + (System.nanoTime() - start) / 1_000_000
            + " ms with " + cancelled.movedBytes() + " bytes moved: " + cancelled.failure());
        assertEquals(TransferFailure.Kind.CANCELED, cancelled.failure().kind());
        assertEquals(0, engine.outstanding());

        engine.submit(List.of(TransferRequest.read(region.slice(0, bytes.length), segment, 0))).await();
        assertArrayEquals(bytes, get(region, bytes.length));
    }

    @Test
    void shouldEndWhatIsOnItsWayWhenClosed() throws IOException {
        final byte[] bytes = PatternBytes.of(1, 128 * MIB);
        final DeviceRegion region = buffers.allocate(bytes.length);
        put(bytes, region);
        final Segment segment = file("f", new byte[0]);
        final Transfer transfer =
            engine.submit(List.of(TransferRequest.write(region.slice(0, bytes.length), segment, 0)));

        engine.close();

        transfer.await();
        assertArrayEquals(bytes, Files.readAllBytes(folder.resolve("f")));
    }
}
