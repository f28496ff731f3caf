package io.kvtier.store.client.lending;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.SharedRegion;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.Threads;
import io.kvtier.store.client.StoreContract;
import io.kvtier.store.client.engine.Exports;
import io.kvtier.store.client.engine.SharedMemory;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.tcp.SegmentServerConfig;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is lent at one time, and what is lent next. */
@ExtendWith(LeakCheck.class)
class LentMemoryTest {
    private static final int UNIT = StoreContract.UNIT;

    private final Exports exports = new Exports(SegmentServerConfig.DEFAULT, null);

    @AfterEach
    void close() {
        exports.close();
    }

    private LentMemory memory(final boolean shared) {
        return new LentMemory(exports, "lent", 4 * UNIT, shared
            ? new SharedMemory(SharedRegion.DEFAULT_DIRECTORY) : null);
    }

    /** The same memory would be given to others while a value is written to it or read from it. */
    @Test
    void shouldNotBeLentAnewWhileSomebodyIsInside() throws InterruptedException {
        try (LentMemory lent = memory(false)) {
            final UUID first = lent.renew().address().segmentId();
            final LentMemory.Generation inside = lent.enter(first);
            final Thread renewing = Thread.ofPlatform().start(lent::renew);
            try {
                assertTrue(Threads.awaitWaiting(renewing));
                assertNull(lent.enter(first), "nobody else comes in");
                assertNull(lent.address());
            } finally {
                inside.leave();
                renewing.join();
            }
            assertNotEquals(first, lent.address().segmentId());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldHaveAnotherIdentityEachTime(final boolean shared) {
        try (LentMemory lent = memory(shared)) {
            final SegmentAddress first = lent.renew().address();
            final SegmentAddress second = lent.renew().address();
            assertNotEquals(first.segmentId(), second.segmentId());
            assertNotEquals(first.endpoint(), second.endpoint());
            assertNotEquals(first.accessToken(), second.accessToken());
            assertNull(lent.enter(first.segmentId()));
            final LentMemory.Generation inside = lent.enter(second.segmentId());
            assertNotNull(inside);
            inside.leave();
        }
    }

    /** Others may still read what they were told of while the master lets it rest; a new shared file nobody knows. */
    @Test
    void shouldSayWhetherItWasLentBefore() {
        for (final boolean shared : new boolean[] {false, true}) {
            try (LentMemory lent = memory(shared)) {
                final SegmentSpec first = lent.renew();
                assertTrue(first.fresh());
                assertEquals(4 * UNIT, first.capacity());
                assertEquals(shared, lent.renew().fresh());
            }
        }
    }

    @Test
    void shouldNotStayInsideMemoryWhoseRangeIsNone() {
        try (LentMemory lent = memory(false)) {
            final SegmentSpec spec = lent.renew();
            final ConnectedMemory memory = new ConnectedMemory(lent, null, null, null);
            for (final long offset : new long[] {4 * UNIT, Long.MAX_VALUE}) {
                assertNull(memory.own(new ReplicaDescriptor.Memory(spec.address(), offset, UNIT), UNIT));
            }
            try (ReplicaMemory.OwnRange inside =
                memory.own(new ReplicaDescriptor.Memory(spec.address(), 3 * UNIT, UNIT), UNIT)) {
                assertEquals(UNIT, inside.slice().length());
            }
        }
    }
}
