package io.kvtier.store.master.state;

import io.kvtier.store.protocol.MasterStats.EvictionRuns;

/** What evictions have done. */
final class EvictionCounts {
    private long evictions;
    private long withoutCopy;
    private long bytes;
    private long runs;
    private long successfulRuns;

    /** Room was to be made. */
    void run(final Evicted evicted) {
        runs++;
        successfulRuns += evicted.objects() > 0 ? 1 : 0;
    }

    /** A replica is dropped to make room. */
    void evicted(final PlacedReplica replica) {
        evictions++;
        bytes += replica.allocated();
    }

    /** It was the last one of its object. */
    void lostLastCopy() {
        withoutCopy++;
    }

    long evictions() {
        return evictions;
    }

    long withoutCopy() {
        return withoutCopy;
    }

    long bytes() {
        return bytes;
    }

    EvictionRuns runs() {
        return new EvictionRuns(runs, successfulRuns, bytes);
    }
}
