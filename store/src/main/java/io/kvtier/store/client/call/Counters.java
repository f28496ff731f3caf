package io.kvtier.store.client.call;

import java.util.concurrent.atomic.LongAdder;

/** What a client counts of its own calls. */
public final class Counters {
    private final LongAdder memoryHits = new LongAdder();
    private final LongAdder memoryReadBytes = new LongAdder();
    private final LongAdder memoryWrittenBytes = new LongAdder();
    private final LongAdder diskHits = new LongAdder();
    private final LongAdder diskReadBytes = new LongAdder();
    private final LongAdder diskWrittenBytes = new LongAdder();
    private final LongAdder misses = new LongAdder();
    private final LongAdder ioErrors = new LongAdder();
    private final LongAdder checksumMismatches = new LongAdder();
    private final LongAdder lateReads = new LongAdder();
    private final LongAdder putWaits = new LongAdder();

    /** Gets answered from memory. */
    public LongAdder memoryHits() {
        return memoryHits;
    }

    /** Value bytes copied out of memory. */
    public LongAdder memoryReadBytes() {
        return memoryReadBytes;
    }

    /** Value bytes copied into memory by puts and promotions. */
    public LongAdder memoryWrittenBytes() {
        return memoryWrittenBytes;
    }

    /** Gets answered from disk. */
    public LongAdder diskHits() {
        return diskHits;
    }

    /** Value bytes read from disk. */
    public LongAdder diskReadBytes() {
        return diskReadBytes;
    }

    /** Value bytes written to disk. */
    public LongAdder diskWrittenBytes() {
        return diskWrittenBytes;
    }

    /** Gets that found nothing. */
    public LongAdder misses() {
        return misses;
    }

    /** Disk reads that the device failed. */
    public LongAdder ioErrors() {
        return ioErrors;
    }

    /** Disk reads whose bytes were wrong. */
    public LongAdder checksumMismatches() {
        return checksumMismatches;
    }

    /** Reads whose lease was over when their bytes were there. */
    public LongAdder lateReads() {
        return lateReads;
    }

    /** Puts that waited for room. */
    public LongAdder putWaits() {
        return putWaits;
    }
}
