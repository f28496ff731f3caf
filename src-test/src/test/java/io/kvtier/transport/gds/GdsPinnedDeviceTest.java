package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.PinnedRegion;
import io.kvtier.bindings.NativeTag;
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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Host memory to file and back by the real library, where it was asked for: in direct mode. In compatibility mode it is
 * refused. A hang is a failure.
 */
@ExtendWith(LeakCheck.class)
@Timeout(value = 90, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class GdsPinnedDeviceTest {
    private Path folder;
    private CudaBuffers buffers;
    private TransferEngine engine;

    @BeforeEach
    void open() throws IOException {
        folder = GdsFolder.require();
    }

    private void openDirect() {
        buffers = CudaBuffers.ofFirst();
        engine = TransferEngine.open(TransferConfig.DEFAULT,
            List.of(RealHostMemory.require(GdsConfig.DEFAULT, buffers)));
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

    private HostMemory memory(final boolean pinned, final long bytes) {
        return pinned ? PinnedRegion.allocate(buffers.context(), bytes) : HostRegion.allocate(NativeTag.TEST, bytes);
    }

    @ParameterizedTest
    @EnumSource(GdsConfig.Mode.class)
    void shouldTakeNoHostMemoryUnlessCompatibilityModeIsRuledOut(final GdsConfig.Mode mode) throws IOException {
        RealHostMemory.assertRefused(mode == GdsConfig.Mode.BATCH ? GdsConfig.DEFAULT : GdsRig.calls(2), folder);
    }

    @ParameterizedTest
    @CsvSource({"128, 64, true", "128, 64, false", "128, 1024, true", "128, 1024, false", "16, 16384, true",
        "16, 16384, false"})
    void shouldBringBackWhatWasWrittenWhenInEntriesOfOneSubmit(final int entries, final int kib,
        final boolean pinned) throws IOException {
        final int length = kib << 10;
        openDirect();
        final byte[] bytes = PatternBytes.of(entries, entries * length);
        try (HostMemory region = memory(pinned, bytes.length); Registration registration = engine.register(region)) {
            System.out.println("seen: " + region.kind() + ": " + registration.results());
            assertTrue(registration.results().get(TransportKind.GDS).available(), registration.results().toString());
            PatternBytes.fill(region.segment(), entries);
            final Segment segment =
                engine.openSegment(Files.write(folder.resolve("f"), new byte[0]).toUri().toString());
            final Transfer transfer = engine.newTransfer();
            for (int i = 0; i < entries; i++) {
                transfer.write(region, (long) i * length, length, segment, (long) i * length);
            }
            engine.submit(transfer);
            transfer.await();
            assertArrayEquals(bytes, Files.readAllBytes(folder.resolve("f")));

            region.segment().fill((byte) 0);
            transfer.clear();
            for (int i = entries - 1; i >= 0; i--) {
                transfer.read(region, (long) i * length, length, segment, (long) i * length);
            }
            engine.submit(transfer);
            transfer.await();
            assertArrayEquals(bytes, PatternBytes.copyOf(region.segment()));
        }
    }

    @Test
    void shouldRefuseHostMemoryThatIsNotRegistered() throws IOException {
        openDirect();
        final Segment segment = engine.openSegment(Files.write(folder.resolve("f"), new byte[4096]).toUri().toString());
        try (HostMemory region = memory(true, 4096)) {
            final TransferFailure failure = assertThrows(TransferException.class,
                () -> engine.submit(List.of(TransferRequest.read(region.slice(0, 4096), segment, 0)))).failure();
            assertEquals(TransferFailure.Kind.INVALID, failure.kind());
            assertTrue(failure.message().contains("has to be registered"), failure.message());
        }
    }
}
