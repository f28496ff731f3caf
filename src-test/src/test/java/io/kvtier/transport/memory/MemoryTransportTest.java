package io.kvtier.transport.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.BorrowedRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MappedRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportContract;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MemoryTransportTest extends TransportContract {
    @TempDir
    private Path directory;
    private final Map<String, HostRegion> contents = new HashMap<>();

    @Override
    protected TransportKind kind() {
        return TransportKind.MEMORY;
    }

    @Override
    protected Transport newTransport() {
        return new MemoryTransport();
    }

    @Override
    protected Segment open(final TransferEngine with, final String name, final byte[] content) {
        final HostRegion region = region(content.length);
        region.segment().copyFrom(MemorySegment.ofArray(content));
        contents.put(name, region);
        return with.register(name, region);
    }

    @Override
    protected byte[] content(final String name) {
        return PatternBytes.copyOf(contents.get(name).segment());
    }

    private static TransferFailure refusal(final Runnable call) {
        final TransferFailure failure = assertThrows(TransferException.class, call::run).failure();
        assertEquals(TransferFailure.Kind.INVALID, failure.kind());
        return failure;
    }

    @ParameterizedTest
    @CsvSource({"0, 10001", "9999, 2", "10000, 1", "20000, 1", "9223372036854770000, 1"})
    void shouldMoveNothingWhenTheRangeEndsOutsideTheSegment(final long offset, final long length) {
        final byte[] model = PatternBytes.of(1, 10_000);
        // The first slices of the request are inside.
        final TransferEngine engine = engine(new TransferConfig(4096, 30_000));
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(20_000);
        PatternBytes.fill(local.segment(), 2);

        refusal(() -> engine.submit(List.of(TransferRequest.write(local.slice(0, length), segment, offset))));
        refusal(() -> engine.submit(List.of(TransferRequest.read(local.slice(0, length), segment, offset))));

        assertArrayEquals(model, content("s"));
        assertArrayEquals(PatternBytes.of(2, 20_000), PatternBytes.copyOf(local.segment()));
    }

    @Test
    void shouldTakeConfinedMemoryOnlyFromItsOwnThread() {
        final byte[] model = PatternBytes.of(1, 100);
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final Segment segment = open(engine, "s", model);
        try (Arena arena = Arena.ofConfined()) {
            final RegionSlice confined = RegionSlice.of(arena.allocate(100));
            engine.submit(List.of(TransferRequest.read(confined, segment, 0))).await();
            assertArrayEquals(model, PatternBytes.copyOf(confined.segment()));

            Threads.start(() -> {
                refusal(() -> engine.submit(List.of(TransferRequest.read(confined, segment, 0))));
            }).join();
        }
    }

    @Test
    void shouldRefuseToWriteARegionThatIsReadOnly() {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final HostRegion bytes = region(100);
        final Segment segment = engine.register("constant", new BorrowedRegion(bytes.segment().asReadOnly()));
        final HostRegion local = region(100);
        PatternBytes.fill(local.segment(), 1);

        refusal(() -> engine.submit(List.of(TransferRequest.write(local.slice(0, 100), segment, 0))));
        assertArrayEquals(new byte[100], PatternBytes.copyOf(bytes.segment()));
        engine.submit(List.of(TransferRequest.read(local.slice(0, 100), segment, 0))).await();
        assertArrayEquals(new byte[100], PatternBytes.copyOf(local.segment()));
    }

    @Test
    void shouldRefuseARegionThatWasClosedUnderTheSegment() {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final HostRegion gone = region(100);
        final Segment segment = engine.register("gone", gone);
        gone.close();
        final HostRegion local = region(100);

        refusal(() -> engine.submit(List.of(TransferRequest.read(local.slice(0, 100), segment, 0))));
    }

    @Test
    void shouldMoveWithinOneRegionAsIfThroughACopyWhenRangesOverlap() {
        final byte[] model = PatternBytes.of(1, 10_000);
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final Segment segment = open(engine, "s", model);
        final HostRegion same = contents.get("s");

        engine.submit(List.of(TransferRequest.write(same.slice(0, 9000), segment, 500))).await();

        final byte[] expected = model.clone();
        System.arraycopy(model, 0, expected, 500, 9000);
        assertArrayEquals(expected, content("s"));
    }

    @Test
    void shouldFailAndNotCrashWhenAMappedFileIsCutUnderTheSegment() throws IOException {
        final int page = 4096;
        final Path path = Files.write(directory.resolve("mapped"), PatternBytes.of(1, 4 * page));
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        try (MappedRegion mapped = MappedRegion.map(path.toString(), 0, 4 * page, true);
            PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE)) {
            final Segment segment = engine.register("mapped", mapped);
            final HostRegion local = region(4 * page);
            engine.submit(List.of(TransferRequest.read(local.slice(0, 4 * page), segment, 0))).await();
            assertArrayEquals(PatternBytes.of(1, 4 * page), PatternBytes.copyOf(local.segment()));
            file.resize(page);

            // Often enough for the compiler: the JVM tells compiled code of the fault later than interpreted code.
            for (int round = 0; round < 20_000; round++) {
                final Transfer transfer =
                    engine.submit(List.of(TransferRequest.read(local.slice(0, 4 * page), segment, 0)));

                assertTrue(transfer.isDone());
                assertEquals(TransferFailure.Kind.FAILED,
                    assertThrows(TransferException.class, transfer::await).failure().kind());
            }
            segment.close();
        }
    }

    /** Whose memory it is, and so whether it is mapped from a file, nobody says. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldFailAndNotCrashWhenTheFileOfACallersMemoryWasCut(final boolean reads) throws IOException {
        final int page = 4096;
        final Path path = Files.write(directory.resolve("mapped"), PatternBytes.of(1, 2 * page));
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final Segment segment = open(engine, "s", PatternBytes.of(2, 2 * page));
        try (MappedRegion mapped = MappedRegion.map(path.toString(), 0, 2 * page, true);
            PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE)) {
            final RegionSlice local = RegionSlice.of(mapped.segment());
            file.resize(page);

            for (int round = 0; round < 20_000; round++) {
                final Transfer transfer = engine.submit(List.of(reads ? TransferRequest.read(local, segment, 0)
                    : TransferRequest.write(local, segment, 0)));

                assertEquals(TransferFailure.Kind.FAILED,
                    assertThrows(TransferException.class, transfer::await).failure().kind());
            }
        }
    }
}
