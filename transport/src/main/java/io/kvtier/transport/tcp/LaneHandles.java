package io.kvtier.transport.tcp;

import java.util.BitSet;
import java.util.IdentityHashMap;
import java.util.Map;

/** What the server knows segments by on one connection. <b>Threading:</b> one loop's. */
final class LaneHandles {
    private final Map<TcpSegment, Handle> open = new IdentityHashMap<>();
    private final BitSet numbers = new BitSet();

    /** A number for a segment, from the request to open it on. */
    static final class Handle {
        private final int number;
        /** Why the server did not open it; null while it has not refused. */
        private PeerException refusal;

        private Handle(final int number) {
            this.number = number;
        }

        int number() {
            return number;
        }

        PeerException refusal() {
            return refusal;
        }
    }

    /** The handle of a segment; null when it has none here. */
    Handle of(final TcpSegment segment) {
        return open.get(segment);
    }

    /** A new handle for a segment; null when the server allows no more. */
    Handle add(final TcpSegment segment, final int most) {
        final int number = numbers.nextClearBit(0);
        if (number >= most) {
            return null;
        }
        numbers.set(number);
        final Handle handle = new Handle(number);
        open.put(segment, handle);
        return handle;
    }

    /** Takes a handle from its segment; null when it has none. Its number stays taken until {@link #free}. */
    Handle remove(final TcpSegment segment) {
        return open.remove(segment);
    }

    /** The server does not know the handle any more. */
    void free(final Handle handle) {
        numbers.clear(handle.number);
    }

    /** The server did not open it: those that asked for it get to know why, and the next one asks anew. */
    void refused(final TcpSegment segment, final Handle handle, final PeerException why) {
        handle.refusal = why;
        // One that was released meanwhile is free when the server has answered that, and may be another's until then.
        if (open.remove(segment, handle)) {
            free(handle);
        }
    }
}
