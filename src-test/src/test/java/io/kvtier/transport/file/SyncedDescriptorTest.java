package io.kvtier.transport.file;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferRequest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** By which descriptor a file is made durable: MooseFS writes back only what was written by the one that is synced. */
@ExtendWith(LeakCheck.class)
class SyncedDescriptorTest {
    private static final int BLOCK = 4096;

    @TempDir
    private Path directory;
    /** What was done by each descriptor. */
    private final Map<OpenMode, Faults> done = new EnumMap<>(OpenMode.class);

    private BlockFile open(final String path, final OpenMode mode) {
        return new FaultyFile(FileOpener.POSIX.open(path, mode), done.computeIfAbsent(mode, any -> new Faults()));
    }

    private List<Long> counts(final OpenMode mode) {
        return List.of(done.get(mode).count(Faults.Call.WRITE), done.get(mode).count(Faults.Call.SYNC));
    }

    @Test
    void shouldSyncTheDescriptorByWhichBlocksAreWritten() throws IOException {
        final Path file = Files.write(directory.resolve("file"), new byte[BLOCK]);
        try (TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT,
            List.of(new PosixTransport(this::open, 1, true)));
            Segment segment = engine.openSegment(file.toUri().toString());
            HostRegion memory = HostRegion.allocate(NativeTag.BOUNCE, BLOCK)) {
            engine.submit(List.of(TransferRequest.write(memory.slice(0, BLOCK), segment, 0))).await();
            engine.sync(segment).await();
            assertEquals(List.of(1L, 1L), counts(OpenMode.READ_WRITE_DIRECT));
            assertEquals(List.of(0L, 0L), counts(OpenMode.READ_WRITE));
        }
    }
}
