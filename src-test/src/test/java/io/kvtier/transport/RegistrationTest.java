package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.HeldTransport;
import io.kvtier.kit.LeakCheck;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Memory that an engine prepares for many transfers. */
@ExtendWith(LeakCheck.class)
class RegistrationTest {
    private final HeldTransport files = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);
    private final HeldTransport pinning = new HeldTransport(TransportKind.IO_URING, Segment.Kind.FILE);
    private final HeldTransport absent = new HeldTransport(TransportKind.GDS, Availability.no("no GPU", "add one"),
        Segment.Kind.FILE);
    private final TransferEngine engine =
        TransferEngine.open(TransferConfig.DEFAULT, List.of(files, pinning, absent));

    @Test
    void shouldTellWhatEachTransportMadeOfIt() {
        final HostRegion region = HostRegion.allocate(NativeTag.TEST, 4096);
        final Availability refused = Availability.no("the limit on locked memory is 8 MiB", "raise it");
        files.answerAttach(refused);
        final Registration registration = engine.register(region);

        assertEquals(Map.of(TransportKind.POSIX, refused, TransportKind.IO_URING,
            Availability.yes("held by a test")), registration.results());
        final List<MemoryRegion> attached = List.of(region);
        assertEquals(attached, pinning.attached());
        assertEquals(List.of(), files.attached());
        registration.close();
        registration.close();
        assertEquals(List.of(), pinning.attached());
        region.close();
        engine.close();
    }

    @Test
    void shouldKeepTheRegionUntilItIsClosed() {
        final HostRegion region = HostRegion.allocate(NativeTag.TEST, 4096);
        final Registration registration = engine.register(region);

        region.close();
        assertTrue(region.segment().scope().isAlive());
        registration.close();

        assertFalse(region.segment().scope().isAlive());
        final IllegalStateException e = assertThrows(IllegalStateException.class, () -> engine.register(region));
        assertTrue(e.getMessage().contains("closed"), e.getMessage());
        engine.close();
    }

    @Test
    void shouldUndoWhatWasPreparedWhenATransportFailsOverIt() {
        final HostRegion region = HostRegion.allocate(NativeTag.TEST, 4096);
        // No answer at all: what a transport with a fault does.
        pinning.answerAttach(null);

        assertThrows(NullPointerException.class, () -> engine.register(region));

        assertEquals(List.of(), files.attached());
        region.close();
        assertFalse(region.segment().scope().isAlive(), "the region is still held");
        engine.close();
    }
}
