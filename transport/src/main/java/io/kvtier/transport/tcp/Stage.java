package io.kvtier.transport.tcp;

import io.kvtier.alloc.HostMemory;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.device.CopyStream;
import java.util.function.Consumer;

/**
 * A piece of pinned memory, and the part of a slice that is in it.
 *
 * <p><b>Threading:</b> belongs to one side at a time: {@link Stages}, a copy thread, or a loop and its connection.
 */
final class Stage implements Consumer<CopyStream> {
    private final Stages owner;
    private final long offset;
    private StagedSlice slice;
    private long from;
    private long length;

    Stage(final Stages owner, final long offset) {
        this.owner = owner;
        this.offset = offset;
    }

    /** Takes a part; null for none. */
    void hold(final StagedSlice of, final long start, final long bytes) {
        slice = of;
        from = start;
        length = bytes;
    }

    StagedSlice slice() {
        return slice;
    }

    /** First byte of the part in its slice. */
    long from() {
        return from;
    }

    long length() {
        return length;
    }

    HostMemory memory() {
        return owner.memory();
    }

    /** First byte in the pinned memory. */
    long offset() {
        return offset;
    }

    /** A device's turn: the copy threads run this. */
    @Override
    public void accept(final CopyStream stream) {
        owner.copy(this, stream);
    }

    /** The network's turn is over: neither a socket nor a later attempt uses the memory any more. */
    void moved(final TransferFailure problem) {
        owner.moved(this, problem);
    }
}
