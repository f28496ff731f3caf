package io.kvtier.store.master.state;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.function.LongSupplier;

/**
 * What the master's state costs with many objects: heap for each, reads a second, and an eviction of a thousand.
 *
 * <p>Counts the thread's processor time, so that what else runs on the machine matters little. Run with the numbers of
 * objects as arguments, and {@code -Xmx12g} for ten million. All keys of a row are made before it is timed, as a server
 * has them from the wire: their hashes are not known yet.
 */
public final class CatalogueReport implements AutoCloseable {
    private static final UUID CLIENT = new UUID(1, 1);
    private static final long UNIT = 64;
    private static final int SEGMENTS = 16;
    private static final int ROUNDS = 15;
    private static final int READS = 200_000;
    private static final int EVICTED = 1000;
    private static final int WARM_UP = 100_000;
    private static final int NANOS = 1_000_000_000;

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final MasterState state;
    private final int objects;
    private long next;
    private long nowMs;

    private CatalogueReport(final int objects) {
        this.objects = objects;
        state = new MasterState(new MasterSettings(new MasterSettings.Eviction(1, 0, 1, 0, true), 10_000, true, 50,
            new MasterSettings.Liveness(Long.MAX_VALUE, 30_000, 600_000, 3), MasterSettings.Pins.DEFAULT,
            MasterSettings.Tasks.DEFAULT, false, MasterSettings.Strategy.RANDOM), 1, new Effects() {
                @Override
                public void workQueued(final UUID clientId, final WorkKind kind) {
                    // Nobody fetches anything here.
                }

                @Override
                public void spaceFreed() {
                    // Nobody waits here.
                }
            });
        state.apply(new SegmentCommand.Ping(CLIENT, "client", "host", ""), nowMs);
        final long units = objects / SEGMENTS * 5L / 4 + EVICTED;
        for (int i = 0; i < SEGMENTS; i++) {
            state.apply(new SegmentCommand.Mount(CLIENT, new SegmentCommand.SegmentSpec("memory" + i, Medium.MEMORY,
                units * UNIT, UNIT, new SegmentAddress(new UUID(2, i), "", AccessToken.NONE), true)), nowMs);
        }
    }

    /**
     * Prints the rows.
     *
     * @param args numbers of objects, smallest first.
     */
    public static void main(final String[] args) {
        try (CatalogueReport warm = new CatalogueReport(WARM_UP)) {
            warm.row(0);
        }
        System.out.println("|  objects | heap bytes each | puts/s | reads/s | evict 1000, us | best |");
        for (final String arg : args) {
            final long before = heap();
            try (CatalogueReport report = new CatalogueReport(Integer.parseInt(arg))) {
                System.out.println(report.row(before));
            }
        }
    }

    private String row(final long heapBefore) {
        final long start = threads.getCurrentThreadCpuTime();
        put(objects);
        final long puts = threads.getCurrentThreadCpuTime() - start;
        final double heap = (double) (heap() - heapBefore) / objects;
        // Warm, and without what the collector moved.
        reads();
        final double reads = median(this::reads);
        nowMs += 20_000;
        while (state.apply(new AdminCommand.Tick(), nowMs).busy()) {
            // Another part of the leases that have ended.
        }
        final long[] evictions = new long[4 * ROUNDS];
        for (int i = 0; i < evictions.length; i++) {
            evictions[i] = evict();
            put(EVICTED);
        }
        Arrays.sort(evictions);
        return String.format(Locale.ROOT, "| %8d | %15.0f | %6.0f k | %6.0f k | %8.0f | %6.0f |", objects,
            heap, (double) objects * NANOS / puts / 1e3, READS * (double) NANOS / reads / 1e3,
            evictions[evictions.length / 2] / 1e3, evictions[0] / 1e3);
    }

    private void put(final int count) {
        for (int i = 0; i < count; i++) {
            final ObjectKey key = key(next);
            final PutStartReply.Started started = (PutStartReply.Started) state.apply(
                new ObjectCommand.PutStart(CLIENT, next, key, UNIT, PutOptions.DEFAULT, false), nowMs);
            state.apply(new ObjectCommand.PutEnd(CLIENT, key, started.version(), Scope.ALL, true, next), nowMs);
            next++;
        }
    }

    /** Nanoseconds of one round of reads of random objects. */
    private long reads() {
        final SplittableRandom random = new SplittableRandom(next + nowMs);
        final ObjectKey[] keys = new ObjectKey[READS];
        for (int i = 0; i < READS; i++) {
            keys[i] = key(random.nextLong(objects));
        }
        final long start = threads.getCurrentThreadCpuTime();
        long found = 0;
        for (int i = 0; i < READS; i++) {
            found += state.apply(new ObjectCommand.ReadStart(keys[i], false), nowMs + i / 1000).found() ? 1 : 0;
        }
        final long nanos = threads.getCurrentThreadCpuTime() - start;
        if (found != READS) {
            throw new IllegalStateException(found + " of " + READS + " objects were found");
        }
        nowMs += READS / 1000;
        return nanos;
    }

    private long evict() {
        final long start = threads.getCurrentThreadCpuTime();
        final double share = (double) EVICTED / objects;
        final long evicted = state.apply(new AdminCommand.Evict(share, 0), nowMs).objects();
        final long nanos = threads.getCurrentThreadCpuTime() - start;
        if (evicted != EVICTED) {
            throw new IllegalStateException(evicted + " objects were evicted, not " + EVICTED);
        }
        return nanos;
    }

    private static double median(final LongSupplier round) {
        final long[] nanos = new long[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            nanos[i] = round.getAsLong();
        }
        Arrays.sort(nanos);
        return nanos[ROUNDS / 2];
    }

    /** Like the hash of a block of tokens: 32 hexadecimal digits behind the name of a model. */
    private static ObjectKey key(final long number) {
        final long mixed = (number + 1) * 0x9E3779B97F4A7C15L;
        return ObjectKey.of("model/" + hex(mixed) + hex(Long.rotateLeft(mixed, 32) ^ number));
    }

    private static String hex(final long bits) {
        return Long.toHexString(bits | Long.MIN_VALUE);
    }

    private static long heap() {
        System.gc();
        final Runtime runtime = Runtime.getRuntime();
        return runtime.totalMemory() - runtime.freeMemory();
    }

    @Override
    public void close() {
        state.close();
    }
}
