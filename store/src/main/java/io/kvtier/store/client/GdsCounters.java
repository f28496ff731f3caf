package io.kvtier.store.client;

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
    /** Puts that found no room in the file, and went to memory alone. */
    final LongAdder noRoom = new LongAdder();
    /** Puts whose extent the master refused, or did not answer about. */
    final LongAdder refused = new LongAdder();
    /** Reads by a descriptor that leads nowhere any more. */
    final LongAdder stale = new LongAdder();
}
