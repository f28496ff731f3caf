package io.kvtier.kit;

import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import java.util.concurrent.atomic.AtomicLong;

/** A transport that hears nothing of slices while a test says so; the others are another one's. */
public final class LosingTransport extends ForwardingTransport {
    private final AtomicLong losing = new AtomicLong();

    public LosingTransport(final Transport real) {
        super(real);
    }

    /** Whether slices are lost from now on. */
    public void losing(final boolean now) {
        losing.set(now ? Long.MAX_VALUE : 0);
    }

    /** So many slices are lost from now on. */
    public void losingNext(final long count) {
        losing.set(count);
    }

    @Override
    public void submit(final Slice slice) {
        if (losing.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            slice.lost("lost by a test");
        } else {
            super.submit(slice);
        }
    }
}
