package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.HeldTransport;
import io.kvtier.kit.LeakCheck;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What a flight recording has of transfers. */
@ExtendWith(LeakCheck.class)
class TransferEventTest {
    @TempDir
    private Path directory;

    @Test
    void shouldRecordOneEventATransfer() throws IOException {
        final HeldTransport posix = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);
        final Path file = directory.resolve("transfers.jfr");
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, 16 << 10);
            TransferEngine engine = TransferEngine.open(new TransferConfig(4096, 30_000), List.of(posix));
            Recording recording = new Recording()) {
            final Segment segment = engine.openSegment("file:///data");
            recording.enable("io.kvtier.Transfer");
            recording.start();
            final Transfer good = engine.submit(List.of(TransferRequest.read(memory.slice(0, 5000), segment, 7),
                TransferRequest.write(memory.slice(0, 10), segment, 7)));
            posix.slices().forEach(Slice::completed);
            good.await();
            final Transfer bad = engine.submit(List.of(TransferRequest.read(memory.slice(0, 5000), segment, 0)));
            posix.slices().get(3).completed();
            posix.slices().get(4).endedShort(3);
            assertThrows(TransferException.class, bad::await);
            recording.stop();
            recording.dump(file);
        }

        final List<RecordedEvent> events = RecordingFile.readAllEvents(file).stream()
            .filter(event -> event.getEventType().getName().equals("io.kvtier.Transfer")).toList();

        assertEquals(List.of("OK", "SHORT"), events.stream().map(event -> event.getString("outcome")).toList());
        final RecordedEvent first = events.getFirst();
        assertEquals("file:///data", first.getString("segment"));
        assertEquals("POSIX", first.getString("transport"));
        assertEquals("file-host", first.getString("rule"));
        assertEquals(2, first.getInt("requests"));
        assertEquals(3, first.getInt("slices"));
        assertEquals(5010, first.getLong("bytes"));
        assertEquals(5010, first.getLong("movedBytes"));
        assertEquals(4096, events.getLast().getLong("movedBytes"));
        assertTrue(events.getLast().getString("failure").contains("only 3 bytes"));
    }
}
