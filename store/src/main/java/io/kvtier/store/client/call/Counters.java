package io.kvtier.store.client.call;

import java.util.concurrent.atomic.LongAdder;

/** What a client counts of its own calls. */
public final class Counters {
    /** Gets answered from memory. */
    public final LongAdder memoryHits = new LongAdder();
    /** Value bytes copied out of memory. */
    public final LongAdder memoryReadBytes = new LongAdder();
    /** Value bytes copied into memory by puts and promotions. */
    public final LongAdder memoryWrittenBytes = new LongAdder();
    /** Gets answered from disk. */
    public final LongAdder diskHits = new LongAdder();
    /** Value bytes read from disk. */
    public final LongAdder diskReadBytes = new LongAdder();
    /** Value bytes written to disk. */
    public final LongAdder diskWrittenBytes = new LongAdder();
    /** Gets that found nothing. */
    public final LongAdder misses = new LongAdder();
    /** Disk reads that the device failed. */
    public final LongAdder ioErrors = new LongAdder();
    /** Disk reads whose bytes were wrong. */
    public final LongAdder checksumMismatches = new LongAdder();
    /** Reads whose lease was over when their bytes were there. */
    public final LongAdder lateReads = new LongAdder();
    /** Puts that waited for room. */
    public final LongAdder putWaits = new LongAdder();
}
