package io.kvtier.store.config;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportStats;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** An engine over what a configuration asks for. */
@ExtendWith(LeakCheck.class)
class TransportSetTest {
    @TempDir
    private Path directory;

    private static TransferEngine engine(final String json) {
        final TentConfig config = TentConfig.parse(json);
        return TransferEngine.open(config.transfer(TransferConfig.DEFAULT),
            TransportSet.open(config, 1, true, List.of()));
    }

    private static Set<TransportKind> kinds(final TransferEngine engine) {
        return engine.capabilities().stream().map(Capability::kind).collect(Collectors.toSet());
    }

    @Test
    void shouldOpenWhatIsOnByDefaultAndWhatWasSwitchedOn() {
        try (TransferEngine engine = engine("{}")) {
            assertEquals(Set.of(TransportKind.MEMORY, TransportKind.IO_URING, TransportKind.POSIX, TransportKind.TCP),
                kinds(engine));
        }
        try (TransferEngine engine = engine("""
            {"transports": {"gds": {"enable": true}, "shm": {"enable": true}, "io_uring": {"enable": false},
             "tcp": {"enable": false}}}""")) {
            assertEquals(Set.of(TransportKind.MEMORY, TransportKind.GDS, TransportKind.POSIX, TransportKind.SHM),
                kinds(engine));
            assertTrue(engine.hasTransport(TransportKind.POSIX));
            assertFalse(engine.availability(TransportKind.GDS).reason().isEmpty());
        }
    }

    @Test
    void shouldMoveFilesByTheTransportThatAPolicyNames() throws IOException {
        final byte[] content = PatternBytes.of(1, 50_000);
        final Path file = Files.write(directory.resolve("f"), content);
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, content.length);
            TransferEngine engine = engine("""
                {"policy": [{"segment_type": "file", "max_size": 1000, "transports": ["posix"]}]}""")) {
            final Segment segment = engine.openSegment(file.toUri().toString());
            engine.submit(engine.newTransfer().read(memory, 0, 1000, segment, 0)
                .read(memory, 1000, content.length - 1000, segment, 1000));
            segment.close();

            assertArrayEquals(content, PatternBytes.copyOf(memory.segment()));
            final long byPosix = engine.stats().stream().filter(one -> one.kind() == TransportKind.POSIX)
                .mapToLong(TransportStats::readBytes).sum();
            assertTrue(byPosix == 1000 || !engine.hasTransport(TransportKind.IO_URING), engine.stats().toString());
        }
    }
}
