package io.kvtier.transport.file;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.OpenDescriptors;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Direct I/O is asked for, and opening for it fails. */
@ExtendWith(LeakCheck.class)
class FallbackPosixTransportTest {
    private static final int SIZE = 100_000;

    @TempDir
    private Path directory;
    private final Faults faults = new Faults();
    private final TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT,
        List.of(new PosixTransport(new FaultyFiles(faults), 1, true)));

    @AfterEach
    void closeEngine() {
        engine.close();
    }

    private Path file() throws IOException {
        return Files.write(directory.toRealPath().resolve("file"), PatternBytes.of(1, SIZE));
    }

    private void moveThroughThePageCache() throws IOException {
        final Path path = file();
        final Segment segment = engine.openSegment(path.toUri().toString());
        assertEquals(1, OpenDescriptors.of(path.toString()).size());
        try (HostRegion local = HostRegion.allocate(NativeTag.TEST, SIZE)) {
            engine.submit(List.of(TransferRequest.read(local.slice(0, SIZE), segment, 0))).await();
            assertArrayEquals(PatternBytes.of(1, SIZE), PatternBytes.copyOf(local.segment()));
            PatternBytes.fill(local.segment(), 2);
            engine.submit(List.of(TransferRequest.write(local.slice(0, SIZE), segment, 0))).await();
        }
        assertArrayEquals(PatternBytes.of(2, SIZE), Files.readAllBytes(path));
        segment.close();
        assertEquals(List.of(), OpenDescriptors.of(path.toString()));
    }

    @Test
    void shouldUseThePageCacheWhenTheFileSystemRefusesDirect() throws IOException {
        faults.refuseDirect();

        moveThroughThePageCache();
    }

    @Test
    void shouldUseThePageCacheWhenTheFileSystemDoesNotKnowDirect() throws IOException {
        faults.failNth(Call.OPEN, 2, Errno.EOPNOTSUPP);

        moveThroughThePageCache();
    }

    @Test
    void shouldFailAndLeaveNothingOpenWhenDirectFailsForAnotherReason() throws IOException {
        final Path path = file();
        faults.failNth(Call.OPEN, 2, Errno.EACCES);

        assertEquals(13, assertThrows(ErrnoException.class,
            () -> engine.openSegment(path.toUri().toString())).errno());
        assertEquals(List.of(), OpenDescriptors.of(path.toString()));
    }
}
