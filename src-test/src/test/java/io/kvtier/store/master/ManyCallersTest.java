package io.kvtier.store.master;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.ManualClock;
import io.kvtier.kit.Threads;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.master.state.MasterSettings;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.AdminCommand.TenantInfo;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.FindReply;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;
import java.util.function.IntToLongFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Many threads that give a master commands at the same time: what they were told adds up to what there is. */
@ExtendWith(LeakCheck.class)
class ManyCallersTest {
    private static final UUID OWNER = new UUID(1, 1);
    private static final long UNIT = 64;
    private static final int ROUNDS = 400;

    private final AtomicLong attempts = new AtomicLong();
    private Conductor conductor;

    @AfterEach
    void close() {
        conductor.close();
    }

    private void open(final boolean strictTenants) {
        final MasterSettings settings = new MasterSettings(new MasterSettings.Eviction(1, 0, 1, 0, true), 1000, true,
            50, new MasterSettings.Liveness(10_000, 30_000, 600_000, 3), MasterSettings.Pins.DEFAULT,
            MasterSettings.Tasks.DEFAULT, strictTenants, MasterSettings.Strategy.RANDOM);
        conductor = new Conductor(Running.empty(settings, 1, new ManualClock(1000)), Conductor.Limits.DEFAULT);
    }

    private Ack mount(final UUID segment, final String name, final long capacity) {
        return conductor.apply(new SegmentCommand.Mount(OWNER, new SegmentCommand.SegmentSpec(name, Medium.MEMORY,
            capacity, UNIT, new SegmentAddress(segment, "tcp://" + name, AccessToken.NONE), true)));
    }

    private PutStartReply start(final ObjectKey key, final long size, final PutOptions options) {
        return conductor.apply(new ObjectCommand.PutStart(OWNER, attempts.incrementAndGet(), key, size, options,
            false));
    }

    private MasterStats stats() {
        return conductor.apply(new AdminCommand.Statistics());
    }

    private void settle() {
        while (conductor.apply(new AdminCommand.Tick()).busy()) {
            // Another part.
        }
    }

    /** What so many threads have counted that begin together. */
    private static long together(final int threads, final IntToLongFunction body) {
        final CyclicBarrier begin = new CyclicBarrier(threads);
        final List<CompletableFuture<Long>> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            final int number = i;
            all.add(Threads.start(() -> {
                await(begin);
                return body.applyAsLong(number);
            }));
        }
        return all.stream().mapToLong(CompletableFuture::join).sum();
    }

    private static void await(final CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (final Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** 1 when a command was carried out, 0 when it was refused with this code. */
    private long accepted(final Command<?> command, final ErrorCode code) {
        try {
            conductor.apply(command);
            return 1;
        } catch (final StoreException e) {
            assertEquals(code, e.code(), e.getMessage());
            return 0;
        }
    }

    @Test
    void shouldAdmitExactlyTenOfTwentyPutsOfATenthOfTheQuotaEach() {
        open(true);
        mount(new UUID(2, 2), "memory", 1 << 16);
        conductor.apply(new AdminCommand.SetQuota("acme", 1000));
        assertEquals(10, together(20, thread -> accepted(new ObjectCommand.PutStart(new UUID(3, thread), 1,
            ObjectKey.of("acme", "key" + thread), 100, PutOptions.DEFAULT, false), ErrorCode.TENANT_QUOTA_EXCEEDED)));
        assertEquals(List.of(new TenantInfo("acme", 1000, 1000, 1000, 10, 10, 0)),
            conductor.apply(new AdminCommand.Quotas()));
    }

    /** Every value that was stored is removed by exactly one of all who remove everything. */
    @Test
    void shouldRemoveEachValueOnceHoweverManyWriteReadAndRemoveAll() {
        open(false);
        mount(new UUID(2, 2), "memory", 1 << 20);
        final AtomicLong stored = new AtomicLong();
        final long removed = together(6, thread -> switch (thread) {
            case 0, 1 -> repeat(i -> stored.addAndGet(put("key" + (thread * ROUNDS + i))));
            case 2 -> repeat(i -> stored.addAndGet(put("key" + i)));
            case 3 -> repeat(i -> {
                final ReadReply read = conductor.apply(new ObjectCommand.ReadStart(ObjectKey.of("key" + i), false));
                assertTrue(read.equals(ReadReply.NOT_FOUND) || read.size() == UNIT && read.replicas().size() == 1);
            });
            default -> removeAll(ROUNDS / 8);
        });
        final long left = stats().objects();
        assertEquals(stored.get(), removed + left);
        assertEquals(left, removeAll(1));
        assertTrue(stored.get() >= 2L * ROUNDS, "stored: " + stored);
        assertEquals(List.of(0L, 0L, 0L, 0L), List.of(stats().objects(), stats().pendingWrites(),
            stats().heldReplicas(), stats().memoryEvictions()));
    }

    private static long repeat(final IntConsumer body) {
        for (int i = 0; i < ROUNDS; i++) {
            body.accept(i);
        }
        return 0;
    }

    /** 1 when the value was stored, 0 when the key was taken, or there was no room, or what there was is gone. */
    private long put(final String name) {
        final ObjectKey key = ObjectKey.of(name);
        return start(key, UNIT, PutOptions.DEFAULT) instanceof PutStartReply.Started started
            && conductor.apply(new ObjectCommand.PutEnd(OWNER, key, started.version(), Scope.ALL, false, 0)) == Ack.OK
            ? 1 : 0;
    }

    private long removeAll(final int times) {
        long removed = 0;
        for (int i = 0; i < times; i++) {
            for (long cursor = 0; cursor != FindReply.END;) {
                final ObjectCommand.RemoveMatchingReply part =
                    conductor.apply(new ObjectCommand.RemoveMatching("", "", true, cursor));
                removed += part.removed();
                cursor = part.cursor();
            }
        }
        return removed;
    }

    /** Each thread lends, fills and takes back segments of its own, and all of them one more that is the same. */
    @Test
    void shouldBeEmptyWhenManyHaveLentAndTakenBackSegments() {
        open(false);
        final int threads = 6;
        final UUID shared = new UUID(9, 9);
        final long sharedMounts = together(threads, thread -> {
            final long mounted = accepted(mountOf(shared), ErrorCode.SEGMENT_ALREADY_EXISTS);
            for (int i = 0; i < ROUNDS / 8; i++) {
                final UUID segment = new UUID(thread + 10, i);
                final String name = "of-" + thread;
                assertEquals(Ack.OK, mount(segment, name, 16 * UNIT));
                final PutOptions here = PutOptions.DEFAULT.withPreferredSegments(name);
                start(ObjectKey.of(name + i), UNIT, here);
                put("stays-" + name + i);
                if (i % 8 == thread) {
                    settle();
                }
                assertEquals(Ack.OK, conductor.apply(new SegmentCommand.Unmount(OWNER, segment, 0)));
            }
            return mounted;
        });
        assertEquals(1, sharedMounts);
        settle();
        assertEquals(List.of(shared), conductor.apply(new SegmentCommand.Segments()).stream()
            .map(SegmentCommand.SegmentInfo::segmentId).toList());
        assertEquals(16 * UNIT, stats().memoryCapacity());
        assertEquals(1, together(threads, thread -> accepted(new SegmentCommand.Unmount(OWNER, shared, 0),
            ErrorCode.SEGMENT_NOT_FOUND)));
        settle();
        final MasterStats stats = stats();
        assertEquals(List.of(0L, 0L, 0L, 0L, 0L, 0L), List.of(stats.objects(), stats.memoryCapacity(),
            stats.memoryUsed(), stats.memoryReplicas(), stats.heldReplicas(), stats.pendingWrites()), stats.toString());
    }

    private static SegmentCommand.Mount mountOf(final UUID segment) {
        return new SegmentCommand.Mount(OWNER, new SegmentCommand.SegmentSpec("shared", Medium.MEMORY, 16 * UNIT, UNIT,
            new SegmentAddress(segment, "tcp://shared", AccessToken.NONE), true));
    }
}
