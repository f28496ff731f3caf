package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.memory.MemoryTransport;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Segments that could not be opened, and are asked for all the time. */
@ExtendWith(LeakCheck.class)
class RemoteSegmentsTest {
    private static final SegmentAddress ADDRESS = new SegmentAddress(new UUID(1, 2), "tcp://127.0.0.1:1/s",
        AccessToken.NONE);

    @Test
    void shouldTryAgainThoughSomebodyAsksWithoutPause() {
        final AtomicInteger opens = new AtomicInteger();
        try (TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(new MemoryTransport()));
            HostRegion memory = HostRegion.allocate(NativeTag.TEST, 4096)) {
            final Segment good = engine.register("good", memory);
            final RemoteSegments segments = new RemoteSegments(address -> {
                if (opens.incrementAndGet() == 1) {
                    throw new IllegalStateException("nobody listens");
                }
                return good;
            });
            final RemoteSegments.Opened first = segments.enter(ADDRESS);
            assertNull(first.segment());
            assertEquals("nobody listens", first.problem());
            first.leave();

            RemoteSegments.Opened next = segments.enter(ADDRESS);
            while (next.segment() == null) {
                next.leave();
                next = segments.enter(ADDRESS);
            }

            assertNotNull(next.segment());
            assertEquals(2, opens.get(), "once, not with each request");
            next.leave();
            segments.close();
            good.close();
        }
    }
}
