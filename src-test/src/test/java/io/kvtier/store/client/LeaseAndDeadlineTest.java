package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand.PutEnd;
import io.kvtier.store.protocol.ObjectCommand.ReadStart;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bytes that are moved too late count for nothing, in both directions, and the rest goes on. */
@ExtendWith(LeakCheck.class)
class LeaseAndDeadlineTest {
    private static final ObjectKey KEY = ObjectKey.of("key");
    private static final byte[] VALUE = PatternBytes.of(1, 50_000);
    private static final long SHORT_MS = 50;
    private static final long LONG_MS = 600_000;

    private final Cluster cluster = new Cluster(Cluster.settings(1, 0));
    private FaultyLink link;
    private ConnectedStore client;

    @BeforeEach
    void open() {
        cluster.join(config -> config.memoryBytes(1 << 20).shm(false));
        join(cluster.config().build());
    }

    private void join(final ConnectConfig config) {
        link = new FaultyLink(config);
        client = ConnectedStore.open(config, StoreHooks.SYSTEM, link);
    }

    @AfterEach
    void close() {
        client.close();
        cluster.close();
    }

    /** As if the lease had been over when the bytes were there, so many times. */
    private AtomicInteger endLeases(final int times) {
        final AtomicInteger reads = new AtomicInteger();
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                return exchange.change(ReadReply.class, reply -> reads.incrementAndGet() > times ? reply
                    : new ReadReply(reply.version(), reply.size(), reply.replicas(), reply.held(),
                        reply.checksummed(), reply.checksum(), 0, reply.dataType()));
            }
        });
        return reads;
    }

    @Test
    void shouldAskAgainWhenTheLeaseIsOverBeforeTheBytesAreThere() {
        StoreContract.put(client, KEY, VALUE);
        final AtomicInteger reads = endLeases(2);
        final MemorySegment target = StoreContract.room(VALUE.length);
        assertTrue(client.get(KEY, target).hit());
        assertArrayEquals(VALUE, PatternBytes.copyOf(target));
        assertEquals(3, reads.get());
        assertEquals(1, client.stats().memory().hits(), "what came too late is no hit");
        assertEquals(2, client.stats().lateReads());
    }

    /** The master may have begun to count as soon as it was asked. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldCountALeaseFromBeforeTheMasterWasAsked(final boolean batch) {
        StoreContract.put(client, KEY, VALUE);
        final AtomicInteger answers = new AtomicInteger();
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                if (!(exchange.command() instanceof ReadStart || exchange.command() instanceof Batch<?>)) {
                    return exchange.pass();
                }
                final boolean first = answers.incrementAndGet() == 1;
                final long asked = System.nanoTime();
                @SuppressWarnings("unchecked") // The change keeps the type of the answer.
                final R reply = (R) leased(exchange.pass(), first ? SHORT_MS : LONG_MS);
                while (first && System.nanoTime() - asked < TimeUnit.MILLISECONDS.toNanos(SHORT_MS)) {
                    Thread.onSpinWait();
                }
                return reply;
            }
        });
        final MemorySegment target = StoreContract.room(VALUE.length);
        assertTrue(batch ? client.getBatch(List.of(Store.Item.of(KEY, target))).getFirst().orThrow().hit()
            : client.get(KEY, target).hit());
        assertArrayEquals(VALUE, PatternBytes.copyOf(target));
        assertEquals(2, answers.get());
        assertEquals(1, client.stats().lateReads());
    }

    /** Answers to reads, alone or in a batch, with another lease. */
    private static Object leased(final Object reply, final long leaseMs) {
        return switch (reply) {
            case List<?> results -> results.stream().map(result -> new BatchResult<>(
                leased(((BatchResult<?>) result).orThrow(), leaseMs), null)).toList();
            case ReadReply read -> new ReadReply(read.version(), read.size(), read.replicas(), read.held(),
                read.checksummed(), read.checksum(), leaseMs, read.dataType());
            default -> throw new AssertionError(reply);
        };
    }

    @Test
    void shouldGiveUpWhatAlwaysTakesLongerThanItsLease() {
        StoreContract.put(client, KEY, VALUE);
        endLeases(Integer.MAX_VALUE);
        final StoreException e =
            assertThrows(StoreException.class, () -> client.get(KEY, StoreContract.room(VALUE.length)));
        assertEquals(ErrorCode.LEASE_EXPIRED, e.code());
        assertTrue(e.getMessage().contains("50000 bytes") && e.getMessage().contains("longer lease"), e.getMessage());
    }

    @Test
    void shouldRevokeWhatWasNotWrittenInTime() {
        client.close();
        join(cluster.config().timeouts(5_000, 1).build());
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                return exchange.change(PutStartReply.class, reply -> {
                    // The time to write is over when the answer is there.
                    final long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(2);
                    while (System.nanoTime() - until < 0) {
                        Thread.onSpinWait();
                    }
                    return reply;
                });
            }
        });
        final StoreException e = assertThrows(StoreException.class, () -> StoreContract.put(client, KEY, VALUE));
        assertEquals(ErrorCode.TRANSFER_FAIL, e.code());
        assertTrue(e.getMessage().contains("transferTimeoutMs"), e.getMessage());
        assertEquals(0, client.masterStats().pendingWrites());
        assertFalse(client.exists(KEY));
    }

    @Test
    void shouldTellWhenTheMasterHadGivenTheWriteUp() {
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                return exchange.command() instanceof PutEnd ? exchange.change(Ack.class, ack -> Ack.STALE)
                    : exchange.pass();
            }
        });
        assertEquals(ErrorCode.INVALID_WRITE,
            assertThrows(StoreException.class, () -> StoreContract.put(client, KEY, VALUE)).code());
    }

    @Test
    void shouldOvertakeAPutThatIsUnderWay() {
        final Store other = cluster.join(config -> config);
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                if (exchange.command() instanceof PutEnd) {
                    assertEquals(PutOutcome.STORED, other.upsert(KEY, PutOptions.DEFAULT,
                        MemorySegment.ofArray(PatternBytes.of(2, 10))));
                }
                return exchange.pass();
            }
        });
        assertEquals(ErrorCode.INVALID_WRITE,
            assertThrows(StoreException.class, () -> StoreContract.put(client, KEY, VALUE)).code());
        assertArrayEquals(PatternBytes.of(2, 10), client.getBytes(KEY).orElseThrow());
    }

    @Test
    void shouldFailItemsAloneWhenTheMasterIsLostBetweenTheStepsOfABatch() {
        final AtomicInteger batches = new AtomicInteger();
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                if (exchange.command() instanceof Batch<?> && batches.incrementAndGet() == 2) {
                    throw new StoreException(ErrorCode.RPC_FAIL, "lost");
                }
                return exchange.pass();
            }
        });
        final List<Store.Item> items = List.of(Store.Item.of(KEY, MemorySegment.ofArray(VALUE)),
            Store.Item.of(ObjectKey.of("other"), MemorySegment.ofArray(VALUE)));
        client.putBatch(items).forEach(result -> assertEquals(ErrorCode.RPC_FAIL, result.failure().code()));
        assertEquals(2, client.masterStats().pendingWrites(), "only the master knows whether they ended");
    }
}
