package io.kvtier.store.client.gds;

import io.kvtier.store.protocol.GdsCommand.GdsWork;
import java.util.concurrent.atomic.LongAdder;

/** What a client counts of its own file for GDS replicas. */
final class GdsCounters {
    /** Values written beside memory. */
    final LongAdder puts = new LongAdder();
    /** Values written there alone. */
    final LongAdder onlyPuts = new LongAdder();
    /** Value bytes of both. */
    final LongAdder writtenBytes = new LongAdder();
    /** Gets answered from the file, of this client and of others. */
    final LongAdder hits = new LongAdder();
    /** Value bytes read from it. */
    final LongAdder readBytes = new LongAdder();
    /** Writes that the file, or the memory they came from, failed. */
    final LongAdder writeFailures = new LongAdder();
    /** Reads that did. */
    final LongAdder readFailures = new LongAdder();
    /** Puts that found no room in the file, in time, and went to memory alone or nowhere. */
    final LongAdder noRoom = new LongAdder();
    /** Puts whose extent the master refused, or did not answer about. */
    final LongAdder refused = new LongAdder();
    /** Reads by a descriptor that leads nowhere any more. */
    final LongAdder stale = new LongAdder();

    /** All of them, as the master is told; none is ever less than before. */
    GdsWork sums() {
        return new GdsWork(puts.sum(), onlyPuts.sum(), writtenBytes.sum(), hits.sum(), readBytes.sum(), noRoom.sum(),
            refused.sum(), writeFailures.sum(), readFailures.sum(), stale.sum());
    }
}
