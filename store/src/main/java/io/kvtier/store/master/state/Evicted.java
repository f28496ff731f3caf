package io.kvtier.store.master.state;

/** The objects that an eviction took, and the bytes that will be free for that. */
final class Evicted {
    private long objects;
    private long bytes;
    private long valueBytes;

    void object() {
        objects++;
    }

    /** A replica went, or goes when it has been copied. */
    void replica(final long freed, final long value) {
        bytes += freed;
        valueBytes += value;
    }

    long objects() {
        return objects;
    }

    /** Bytes that the replicas took. */
    long bytes() {
        return bytes;
    }

    /** Bytes of their values. */
    long valueBytes() {
        return valueBytes;
    }
}
