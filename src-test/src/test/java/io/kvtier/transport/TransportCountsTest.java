package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.HeldTransport;
import io.kvtier.kit.LeakCheck;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What the figures of a transport say while slices are under way, and what they say afterwards. */
@ExtendWith(LeakCheck.class)
class TransportCountsTest {
    private static final int PAGE = 4096;

    private final HeldTransport files = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);

    @Test
    void shouldCountASliceAsInFlightUntilItHasEndedWellOrNot() {
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, 4 * PAGE);
            TransferEngine engine = TransferEngine.open(new TransferConfig(PAGE, 30_000), List.of(files));
            Segment segment = engine.openSegment("file:///data")) {
            final Transfer read = engine.newTransfer().read(memory, 0, 2 * PAGE, segment, 0);
            final Transfer write = engine.newTransfer().write(memory, 2 * PAGE, 100, segment, 0);
            engine.submit(read);
            engine.submit(write);
            final List<Slice> slices = files.slices();
            check(engine, 0, 0, 3, 0, Map.of());

            slices.get(1).completed();
            check(engine, PAGE, 0, 2, 1, Map.of());
            assertEquals(PAGE, read.movedBytes());

            slices.get(0).failed(slices.get(0).failure(TransferFailure.Kind.SHORT, "told to"));
            check(engine, PAGE, 0, 1, 2, Map.of(TransferFailure.Kind.SHORT, 1L));
            assertEquals(PAGE, read.movedBytes());

            slices.get(2).completed();
            check(engine, PAGE, 100, 0, 3, Map.of(TransferFailure.Kind.SHORT, 1L));
            assertEquals(100, write.movedBytes());
        }
    }

    private static void check(final TransferEngine engine, final long read, final long written, final long inFlight,
        final long latencies, final Map<TransferFailure.Kind, Long> failures) {
        final TransportStats stats = engine.stats().getFirst();
        assertEquals(3, stats.operations());
        assertEquals(read, stats.readBytes());
        assertEquals(written, stats.writtenBytes());
        assertEquals(inFlight, stats.inFlight());
        assertEquals(latencies, stats.latency().count());
        assertEquals(failures, stats.failures());
    }
}
