package io.kvtier.store.client.request;

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
public final class ObjectRead {
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
    private boolean wrong;
    private boolean stale;

    /** A get, and its place in a batch. */
    public ObjectRead(final ReadRequest request, final int index) {
        this.request = request;
        this.index = index;
    }

    /** Its place in a batch. */
    public int index() {
        return index;
    }

    /** What is asked for. */
    public ReadRequest request() {
        return request;
    }

    /** What the master said when it was asked at a time. */
    public void answered(final long when, final ReadReply reply) {
        askedNanos = when;
        object = reply;
        stale = false;
        asked++;
    }

    /** How often the owners of files had been asked for when the master answered, as {@code GdsOwners} counts. */
    public void listsBefore(final long count) {
        listsBefore = count;
    }

    /** What was said last to {@link #listsBefore(long)}. */
    public long listsBefore() {
        return listsBefore;
    }

    /** What the master said last. */
    public ReadReply object() {
        return object;
    }

    /** Ids of the replicas that could not be read. */
    public Set<Long> failed() {
        return failed;
    }

    /** How often the master has answered. */
    public int asked() {
        return asked;
    }

    /**
     * A replica could not be read.
     *
     * @param forgotten whether the master has been told, so that asking it again tells more.
     */
    public void failed(final Replica replica, final boolean forgotten) {
        if (failed.isEmpty()) {
            failed = new HashSet<>();
        }
        failed.add(replica.id());
        stale |= forgotten;
    }

    /** Whether the master is to be asked again, since it may know of other replicas by now. */
    public boolean isStale() {
        return stale;
    }

    /** What was read is void, or the replicas are no longer those that the master named: it is to be asked again. */
    public void again() {
        stale = true;
    }

    /** Milliseconds for which the replicas surely stay where they are; counted from before the master was asked. */
    public long leaseLeftMs() {
        return reliableMs(object.leaseMs()) - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - askedNanos);
    }

    /**
     * For how long a lease is relied on that somebody else's clock ends. That clock may go faster than this one; and it
     * counts from the beginning of the millisecond in which this one may have asked.
     */
    public static long reliableMs(final long leaseMs) {
        return Math.max(0, leaseMs - Math.ceilDiv(leaseMs, DRIFT_PART) - 1);
    }

    /** The bytes of a shared file were wrong; true when they were before. */
    public boolean wrongAgain() {
        final boolean before = wrong;
        wrong = true;
        return before;
    }

    /** Counts a read whose lease ended before its bytes were there. */
    public int late() {
        late++;
        return late;
    }
}
