package io.kvtier.store.simulation;

/** Times of a run, in milliseconds, short enough that every one of them runs out many times. */
final class Times {
    static final long LEASE = 400;
    static final long TTL = 1000;
    static final long DISCARD = 600;
    /** Longer than a writer goes on, plus a delay on the way, plus the longest that an owner of memory is silent. */
    static final long RELEASE = 4000;
    static final long WRITE_LIMIT = 1500;
    static final long PING = 100;
    static final long LOOK = 2000;
    static final long CALL_TIMEOUT = 60;
    static final long ACCESS_TIMEOUT = 150;
    static final long DISK_RETRY = 200;
    static final long TICK = 10;
    /** For how long a write to a shared file is under way at most; a zombie's is longer. */
    static final long KERNEL = 250;
    /** What a restored snapshot names may take so long to come back. */
    static final long REMOUNT = 1500;
    /** Clocks run this much too fast or too slow, per mille. */
    static final int DRIFT = 10;

    private Times() {
    }

    /** For how long a reader relies on a lease: not longer than the fastest master keeps it, and a whole one less. */
    static long reliable(final long leaseMs) {
        return leaseMs - leaseMs * DRIFT * 2 / 1000 - 2;
    }
}
