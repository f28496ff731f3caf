package io.kvtier.store.client;

import java.util.concurrent.atomic.LongAdder;

/** What a client counts of its own calls. */
final class Counters {
    /** Gets answered from memory. */
    final LongAdder memoryHits = new LongAdder();
    /** Value bytes copied out of memory. */
    final LongAdder memoryReadBytes = new LongAdder();
    /** Value bytes copied into memory by puts and promotions. */
    final LongAdder memoryWrittenBytes = new LongAdder();
    /** Gets answered from disk. */
    final LongAdder diskHits = new LongAdder();
    /** Value bytes read from disk. */
    final LongAdder diskReadBytes = new LongAdder();
    /** Value bytes written to disk. */
    final LongAdder diskWrittenBytes = new LongAdder();
    /** Gets that found nothing. */
    final LongAdder misses = new LongAdder();
    /** Disk reads that the device failed. */
    final LongAdder ioErrors = new LongAdder();
    /** Disk reads whose bytes were wrong. */
    final LongAdder checksumMismatches = new LongAdder();
    /** Reads whose lease was over when their bytes were there. */
    final LongAdder lateReads = new LongAdder();
    /** Puts that waited for room. */
    final LongAdder putWaits = new LongAdder();
}
