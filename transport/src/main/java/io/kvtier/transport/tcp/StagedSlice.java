package io.kvtier.transport.tcp;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Slice;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;

/**
 * A slice whose local memory is a GPU's, and how far it has got. Used again.
 *
 * <p><b>Threading:</b> guarded by the lock of {@link Stages}, but for what a slice does not change while it is under
 * way.
 */
final class StagedSlice {
    /** One part is on the network while the next one is copied; more would only be stages that others lack. */
    private static final int MOST_PARTS = 2;

    private Slice slice;
    private DeviceRegion region;
    private long partBytes;
    private long begun;
    private int parts;
    private Throwable problem;
    private boolean waiting;

    StagedSlice of(final Slice one, final long mostBytes) {
        slice = one;
        region = (DeviceRegion) one.region();
        partBytes = mostBytes;
        begun = 0;
        parts = 0;
        problem = null;
        waiting = false;
        return this;
    }

    void clear() {
        slice = null;
        region = null;
        problem = null;
    }

    Slice slice() {
        return slice;
    }

    DeviceRegion region() {
        return region;
    }

    Peer peer() {
        return ((TcpSegment) slice.handle()).peer();
    }

    boolean isWrite() {
        return slice.direction() == Direction.WRITE;
    }

    /** Whether it stands in the queue for a stage. */
    boolean isWaiting() {
        return waiting;
    }

    void waiting(final boolean now) {
        waiting = now;
    }

    /** Gives a stage its next part. */
    void begin(final Stage stage) {
        final long length = Math.min(partBytes, slice.length() - begun);
        stage.hold(this, begun, length);
        begun += length;
        parts++;
    }

    /** One of its parts has let go of its stage. */
    void ended(final Throwable why) {
        parts--;
        fail(why);
    }

    /** Begins nothing more; the first reason counts. */
    void fail(final Throwable why) {
        if (problem == null) {
            problem = why;
        }
    }

    void fail(final TransferFailure why) {
        if (problem == null) {
            problem = new TransferException(why);
        }
    }

    /** Whether a further part is to be begun now. */
    boolean mayBegin() {
        return problem == null && begun < slice.length() && parts < MOST_PARTS;
    }

    /** Whether nothing of it is under way, and nothing is to follow. */
    boolean isOver() {
        return parts == 0 && (problem != null || begun == slice.length());
    }

    Throwable problem() {
        return problem;
    }
}
