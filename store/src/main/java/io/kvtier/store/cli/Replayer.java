package io.kvtier.store.cli;

import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreStats;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.agrona.collections.LongHashSet;

/**
 * Replays a trace against a store: get every block of every request in order, check its bytes, put it on a miss.
 *
 * <p>The trace is read whole before the store is opened: a bad last line is reported at once, and reading is not part
 * of what is measured. Latency is that of the store's call alone; blocks a second count making and checking the bytes
 * too.
 *
 * <p><b>Threading:</b> one thread, one {@link #run()}.
 */
final class Replayer {
    private static final double NS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

    private final ReplayPlan plan;
    private final Console console;
    private final StoreOpener opener;
    private final LatencyRecorder gets = new LatencyRecorder();
    private final LatencyRecorder puts = new LatencyRecorder();
    private final LongHashSet distinct = new LongHashSet();
    private long blocks;
    private long memoryHits;
    private long diskHits;
    private long prefixHits;
    private long withoutSpace;

    Replayer(final ReplayPlan plan, final Console console, final StoreOpener opener) {
        this.plan = plan;
        this.console = console;
        this.opener = opener;
    }

    /**
     * Runs the replay.
     *
     * @return what came of it.
     * @throws IOException          naming file, line and cause, when the trace cannot be read.
     * @throws InterruptedException when the thread was interrupted; everything is given back all the same.
     */
    Report run() throws IOException, InterruptedException {
        final List<TraceRequest> requests = TraceReader.readAll(plan.trace(), plan.limit());
        if (plan.diskBytes() == 0) {
            try (Store store = opener.open(plan.settings())) {
                return replay(requests, store);
            }
        }
        try (WorkDirectory directory = plan.dir() == null ? WorkDirectory.temporary("--dir", null)
                 : WorkDirectory.kept(plan.dir());
             Store store = directory.open(opener, withDisk(directory))) {
            return replay(requests, store);
        }
    }

    private StoreConfig withDisk(final WorkDirectory directory) {
        return plan.settings().toBuilder().disk(directory.path(), plan.diskBytes()).build();
    }

    private Report replay(final List<TraceRequest> requests, final Store store) throws InterruptedException {
        final long total = requests.stream().mapToLong(request -> request.hashIds().length).sum();
        try (Arena arena = Arena.ofConfined();
             Progress progress = Progress.start(console, "replay", "blocks", total)) {
            final MemorySegment block = arena.allocate(plan.blockBytes(), StoreConfig.UNIT_BYTES);
            // Not counting the time that a terminal takes to be set up.
            final long start = System.nanoTime();
            for (final TraceRequest request : requests) {
                if (Thread.interrupted()) {
                    throw new InterruptedException("the replay was interrupted");
                }
                replay(request, store, block);
                progress.advance(request.hashIds().length);
            }
            return report(requests.size(), store.stats(), (System.nanoTime() - start) / NS_PER_SECOND);
        }
    }

    private void replay(final TraceRequest request, final Store store, final MemorySegment block) {
        boolean prefix = true;
        for (final long id : request.hashIds()) {
            final ObjectKey key = ObjectKey.of("block/" + id);
            final long seed = PatternBytes.seed(id, plan.blockBytes());
            distinct.add(id);
            blocks++;
            final boolean hit = get(store, key, block, seed);
            prefix &= hit;
            if (!hit) {
                put(store, key, block, seed);
            } else if (prefix) {
                prefixHits++;
            }
        }
    }

    private boolean get(final Store store, final ObjectKey key, final MemorySegment block, final long seed) {
        PatternBytes.spoil(block, seed);
        final long start = System.nanoTime();
        final GetOutcome outcome = store.get(key, block);
        gets.since(start);
        if (!outcome.hit()) {
            return false;
        }
        ValueCheck.require(key, outcome, block, seed);
        if (outcome.tier() == ReplicaType.MEMORY) {
            memoryHits++;
        } else {
            diskHits++;
        }
        return true;
    }

    private void put(final Store store, final ObjectKey key, final MemorySegment block, final long seed) {
        PatternBytes.fill(block, seed);
        final long start = System.nanoTime();
        final PutOutcome outcome = store.put(key, block);
        puts.since(start);
        switch (outcome) {
            case STORED -> {
            }
            case NO_SPACE -> withoutSpace++;
            default -> throw new CommandFailure("key " + key + " was missed, and putting it came to " + outcome
                + ", though nobody else uses this store");
        }
    }

    private Report report(final long requests, final StoreStats stats, final double seconds) {
        final long hits = memoryHits + diskHits;
        return new Report("replay")
            .count("requests", "requests", requests)
            .count("blocks", "blocks", blocks)
            .count("distinct_blocks", "different blocks", distinct.size())
            .count("memory_hits", "hits in memory", memoryHits)
            .count("disk_hits", "hits on SSD", diskHits)
            .count("misses", "misses", blocks - hits)
            .ratio("hit_ratio", "hit ratio", hits, blocks)
            .ratio("prefix_hit_ratio", "hit ratio of prefixes", prefixHits, blocks)
            .count("puts_without_space", "puts that found no room", withoutSpace)
            .count("memory_evictions", "evictions from memory", stats.memory().evictions())
            .count("disk_evictions", "evictions from SSD", stats.disk().evictions())
            .count("offloads", "offloads to SSD", stats.offloads())
            .count("promotions", "promotions to memory", stats.promotions())
            .count("put_waits", "puts that waited for room", stats.putWaits())
            .count("unreadable", "unreadable replicas dropped",
                stats.unreadable().ioErrors() + stats.unreadable().checksumMismatches())
            .bytes("memory_read_bytes", "read from memory", stats.memory().readBytes())
            .bytes("memory_written_bytes", "written to memory", stats.memory().writtenBytes())
            .bytes("disk_read_bytes", "read from SSD", stats.disk().readBytes())
            .bytes("disk_written_bytes", "written to SSD", stats.disk().writtenBytes())
            .rate("blocks_per_second", "blocks", Report.Kind.PER_SECOND, blocks, seconds)
            .seconds("seconds", "time", seconds)
            .latency("get", gets.summary())
            .latency("put", puts.summary());
    }
}
