package io.kvtier.transport;

import java.lang.foreign.MemorySegment;

/**
 * A piece of a request, small enough for one transport operation; what a transport works on.
 *
 * <p><b>Threading:</b> a transport may start and complete it on any thread, but only one at a time.
 */
public final class Slice {
    private final Transfer transfer;
    private final Direction direction;
    private final MemorySegment local;
    private final Segment segment;
    private final TransportSegment handle;
    private final long offset;

    Slice(final Transfer transfer, final Direction direction, final MemorySegment local, final Segment segment,
        final TransportSegment handle, final long offset) {
        this.transfer = transfer;
        this.direction = direction;
        this.local = local;
        this.segment = segment;
        this.handle = handle;
        this.offset = offset;
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
     * The memory.
     *
     * @return as long as the slice.
     */
    public MemorySegment local() {
        return local;
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
        return handle;
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
        return local.byteSize();
    }

    /**
     * Asks whether the slice is still wanted. A transport asks before it touches memory or segment; when the answer
     * is no it completes the slice by {@link #failed(TransferFailure)} or just by {@link #canceled()}.
     *
     * @return false when its transfer was cancelled or has failed already.
     */
    public boolean wanted() {
        return transfer.wanted();
    }

    void added() {
        transfer.sliceAdded();
    }

    /** Completes the slice: all its bytes were moved. */
    public void completed() {
        transfer.sliceEnded(length(), null);
    }

    /** Completes the slice without having touched anything. */
    public void canceled() {
        transfer.sliceEnded(0, new TransferFailure(TransferFailure.Kind.CANCELED, "", 0, false, segment.name(), offset,
            length(), "cancelled before it was started"));
    }

    /**
     * Completes the slice as failed.
     *
     * @param failure why.
     */
    public void failed(final TransferFailure failure) {
        transfer.sliceEnded(0, failure);
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
     * Completes the slice as failed because the segment ended.
     *
     * @param count bytes that were there.
     */
    public void endedShort(final long count) {
        failed(new TransferFailure(TransferFailure.Kind.SHORT, "", 0, false, segment.name(), offset, length(),
            "only " + count + " bytes were there; the segment ends early"));
    }
}
