package io.kvtier.transport;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.MemoryRegion;
import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A piece of a request, small enough for one transport operation; what a transport works on. A slice belongs to its
 * transfer and is used again with it.
 *
 * <p><b>Threading:</b> a transport may start and complete it on any thread, but only one at a time; it hands the slice
 * from one thread to another through a queue, a lock or a volatile field.
 */
public final class Slice {
    private final Transfer transfer;
    private int request;
    private Direction direction;
    private MemoryRegion region;
    private long localOffset;
    private long length;
    private Segment segment;
    private long offset;
    private Route route;
    private boolean strict;
    private int hop;
    private long startedNanos;
    private Object attachment;
    private final AtomicBoolean underWay = new AtomicBoolean();

    Slice(final Transfer transfer) {
        this.transfer = transfer;
    }

    void set(final Direction way, final MemoryRegion local, final Segment target, final Route by, final boolean only,
        final int index) {
        direction = way;
        region = local;
        segment = target;
        route = by;
        strict = only;
        request = index;
    }

    void setRange(final long localStart, final long bytes, final long start) {
        localOffset = localStart;
        length = bytes;
        offset = start;
        hop = 0;
        attachment = null;
    }

    void clear() {
        region = null;
        segment = null;
        route = null;
        attachment = null;
    }

    /**
     * Which way.
     *
     * @return the direction.
     */
    public Direction direction() {
        return direction;
    }

    /**
     * The region of the local memory; it stays open until the slice is completed, unless it is borrowed.
     *
     * @return the region.
     */
    public MemoryRegion region() {
        return region;
    }

    /**
     * First byte in the region.
     *
     * @return bytes.
     */
    public long localOffset() {
        return localOffset;
    }

    /**
     * The local memory, where the processor can reach it. Makes a small object a call.
     *
     * @return as long as the slice.
     */
    public MemorySegment local() {
        return ((HostMemory) region).segment().asSlice(localOffset, length);
    }

    /**
     * The segment.
     *
     * @return the segment.
     */
    public Segment segment() {
        return segment;
    }

    /**
     * What the transport opened for the segment.
     *
     * @return the handle.
     */
    public TransportSegment handle() {
        return hop().handle();
    }

    /**
     * First byte in the segment.
     *
     * @return bytes.
     */
    public long offset() {
        return offset;
    }

    /**
     * How many bytes.
     *
     * @return bytes.
     */
    public long length() {
        return length;
    }

    /**
     * What the transport that has the slice keeps with it.
     *
     * @return what was attached; null at first.
     */
    public Object attachment() {
        return attachment;
    }

    /**
     * Keeps something with the slice while a transport has it.
     *
     * @param kept the transport's own; null for nothing.
     */
    public void attach(final Object kept) {
        attachment = kept;
    }

    /**
     * Asks whether the slice is still wanted. A transport asks before it touches memory or segment; when the answer
     * is no it completes the slice by {@link #failed(TransferFailure)} or just by {@link #canceled()}.
     *
     * @return false when its transfer was cancelled, is late or has failed already.
     */
    public boolean wanted() {
        return transfer.wanted();
    }

    /** Completes the slice: all its bytes were moved. */
    public void completed() {
        transfer.sliceEnded(this, null);
    }

    /** Completes the slice without having touched anything. */
    public void canceled() {
        failed(failure(TransferFailure.Kind.CANCELED, "cancelled before it was started"));
    }

    /**
     * Completes the slice as failed.
     *
     * @param failure why.
     */
    public void failed(final TransferFailure failure) {
        transfer.sliceEnded(this, failure);
    }

    /**
     * Completes the slice as failed by an exception.
     *
     * @param error what was thrown under it.
     */
    public void failed(final Throwable error) {
        failed(TransferFailure.of(this, error));
    }

    /**
     * Completes the slice for those who wait for it, though nobody can say that nothing moves bytes of it any more: its
     * transfer never counts as settled, and its regions are kept until the process ends. The slice may not be tried
     * again by another transport.
     *
     * @param why what is known of it.
     */
    public void lost(final String why) {
        transfer.sliceLost(this, failure(TransferFailure.Kind.FAILED, why));
    }

    /**
     * Completes the slice as failed because the segment ended.
     *
     * @param count bytes that were there.
     */
    public void endedShort(final long count) {
        failed(failure(TransferFailure.Kind.SHORT, "only " + count + " bytes were there; the segment ends early"));
    }

    /**
     * A failure of this slice that no native code stands behind and that no other transport would mend.
     *
     * @param kind    the kind.
     * @param message what happened, in words.
     * @return the failure.
     */
    public TransferFailure failure(final TransferFailure.Kind kind, final String message) {
        return new TransferFailure(kind, "", 0, false, segment.name(), offset, length, message);
    }

    Route.Hop hop() {
        return route.hop(hop);
    }

    Route route() {
        return route;
    }

    int request() {
        return request;
    }


    /** Whether another transport may be tried after the present one. */
    boolean hasNextHop(final int maxFailovers) {
        return !strict && hop < maxFailovers && hop + 1 < route.size();
    }

    void nextHop() {
        hop++;
        attachment = null;
    }

    void started(final long nowNanos) {
        startedNanos = nowNanos;
        underWay.set(true);
    }

    long startedNanos() {
        return startedNanos;
    }

    /** True for the call that ended it. Completing twice is a fault, and must not end the transfer early. */
    boolean end() {
        final boolean was = underWay.get();
        // Who asks meanwhile cancels a slice that has ended, which every transport puts up with.
        underWay.setRelease(false);
        return was;
    }

    boolean isUnderWay() {
        return underWay.get();
    }
}
