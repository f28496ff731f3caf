package io.kvtier.store.client;

import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Replica;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * A get under way: what is asked for, what the master said last, and which replicas could not be read.
 *
 * <p><b>Threading:</b> one thread.
 */
final class ObjectRead {
    /** Of a lease that is lost to clocks: each may be wrong by a hundredth, which is much even while it is slewed. */
    private static final long DRIFT_PART = 50;

    private final ReadRequest request;
    private final int index;
    private long askedNanos;
    private long listsBefore;
    private ReadReply object;
    private Set<Long> failed = Set.of();
    private int asked;
    private int late;
    private boolean stale;

    /** A get, and its place in a batch. */
    ObjectRead(final ReadRequest request, final int index) {
        this.request = request;
        this.index = index;
    }

    int index() {
        return index;
    }

    ReadRequest request() {
        return request;
    }

    /** What the master said when it was asked at a time. */
    void answered(final long when, final ReadReply reply) {
        askedNanos = when;
        object = reply;
        stale = false;
        asked++;
    }

    /** How often the owners of files had been asked for when the master answered, see {@link GdsOwners#asked}. */
    void listsBefore(final long count) {
        listsBefore = count;
    }

    long listsBefore() {
        return listsBefore;
    }

    ReadReply object() {
        return object;
    }

    Set<Long> failed() {
        return failed;
    }

    /** How often the master has answered. */
    int asked() {
        return asked;
    }

    /**
     * A replica could not be read.
     *
     * @param forgotten whether the master has been told, so that asking it again tells more.
     */
    void failed(final Replica replica, final boolean forgotten) {
        if (failed.isEmpty()) {
            failed = new HashSet<>();
        }
        failed.add(replica.id());
        stale |= forgotten;
    }

    /** Whether the master is to be asked again, since it may know of other replicas by now. */
    boolean isStale() {
        return stale;
    }

    /** What was read is void, or the replicas are no longer those that the master named: it is to be asked again. */
    void again() {
        stale = true;
    }

    /** Milliseconds for which the replicas surely stay where they are; counted from before the master was asked. */
    long leaseLeftMs() {
        return reliableMs(object.leaseMs()) - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - askedNanos);
    }

    /**
     * For how long a lease is relied on that somebody else's clock ends. That clock may go faster than this one; and it
     * counts from the beginning of the millisecond in which this one may have asked.
     */
    static long reliableMs(final long leaseMs) {
        return Math.max(0, leaseMs - Math.ceilDiv(leaseMs, DRIFT_PART) - 1);
    }

    /** Counts a read whose lease ended before its bytes were there. */
    int late() {
        late++;
        return late;
    }
}
