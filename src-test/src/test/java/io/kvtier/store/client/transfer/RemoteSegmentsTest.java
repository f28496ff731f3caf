package io.kvtier.store.client.transfer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.HeldTransport;
import io.kvtier.kit.LeakCheck;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.memory.MemoryTransport;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Segments of others and transfers with them, over a transport that fails as it is told. */
@ExtendWith(LeakCheck.class)
class RemoteSegmentsTest {
    private static final long POOL_BYTES = 64L << 20;

    private final HeldTransport transport = new HeldTransport(TransportKind.TCP, Segment.Kind.REMOTE);
    private final TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(transport));
    private final RemoteSegments segments = new RemoteSegments(engine);
    private final Staging staging = new Staging();
    private final SegmentAddress address =
        new SegmentAddress(UUID.randomUUID(), "tcp://127.0.0.1:1/s", AccessToken.NONE);

    @AfterEach
    void close() {
        segments.close();
        engine.close();
        staging.close();
    }

    @Test
    void shouldTryAgainAndGoOnSweepingWhenAnErrorEndedAnOpening() {
        transport.failOpen(new LinkageError("a test's error"));

        final RemoteSegments.Opened failed = segments.enter(address);

        assertNull(failed.segment());
        assertEquals("a test's error", failed.problem());
        failed.leave();
        segments.sweep();
        transport.failOpen(null);
        segments.failed(failed);
        final RemoteSegments.Opened opened = segments.enter(address);
        assertNotNull(opened.segment());
        opened.leave();
    }

    /** Whatever the engine throws: who asked is told, and the staging memory is there for others. */
    @Test
    void shouldGiveItsStagingMemoryBackWhenATransferCannotBeBegun() {
        final Staging.Piece any = staging.take(1);
        final MemoryRegion pool = any.slice().region();
        any.close();
        for (final Throwable thrown : List.of(new IllegalArgumentException("a test's exception"),
            new LinkageError("a test's error"))) {
            transport.failCheck(thrown);
            final RemoteTransfer transfer = new RemoteTransfer(engine, segments, staging, Direction.READ);
            transfer.add(segments.enter(address), 0, 100, List.of(MemorySegment.ofArray(new byte[100])));

            transfer.start(1000, false);

            assertEquals(thrown.getMessage(), transfer.finish());
        }
        try (Staging.Piece whole = staging.take(POOL_BYTES)) {
            assertSame(pool, whole.slice().region(), "some of the pool is still taken");
        }
    }

    @Test
    void shouldTryAgainThoughSomebodyAsksWithoutPause() {
        final AtomicInteger opens = new AtomicInteger();
        try (TransferEngine other = TransferEngine.open(TransferConfig.DEFAULT, List.of(new MemoryTransport()));
            HostRegion memory = HostRegion.allocate(NativeTag.TEST, 4096)) {
            final Segment good = other.register("good", memory);
            final RemoteSegments mine = new RemoteSegments(any -> {
                if (opens.incrementAndGet() == 1) {
                    throw new IllegalStateException("nobody listens");
                }
                return good;
            });
            final RemoteSegments.Opened first = mine.enter(address);
            assertNull(first.segment());
            assertEquals("nobody listens", first.problem());
            first.leave();

            RemoteSegments.Opened next = mine.enter(address);
            while (next.segment() == null) {
                next.leave();
                next = mine.enter(address);
            }

            assertNotNull(next.segment());
            assertEquals(2, opens.get(), "once, not with each request");
            next.leave();
            mine.close();
            good.close();
        }
    }
}
