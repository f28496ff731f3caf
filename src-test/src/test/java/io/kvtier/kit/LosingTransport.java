package io.kvtier.kit;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.transport.Capability;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportSegment;
import java.util.concurrent.atomic.AtomicLong;

/** A transport that hears nothing of slices while a test says so; the others are another one's. */
public final class LosingTransport implements Transport {
    private final Transport real;
    private final AtomicLong losing = new AtomicLong();

    public LosingTransport(final Transport real) {
        this.real = real;
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
    public Capability capability() {
        return real.capability();
    }

    @Override
    public TransportSegment open(final SegmentTarget target) {
        return real.open(target);
    }

    @Override
    public String check(final Slice slice) {
        return real.check(slice);
    }

    @Override
    public void submit(final Slice slice) {
        if (losing.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
            slice.lost("lost by a test");
        } else {
            real.submit(slice);
        }
    }

    @Override
    public void flush() {
        real.flush();
    }

    @Override
    public void cancel(final Slice slice) {
        real.cancel(slice);
    }

    @Override
    public void sync(final Slice slice) {
        real.sync(slice);
    }

    @Override
    public Availability attach(final MemoryRegion region) {
        return real.attach(region);
    }

    @Override
    public void detach(final MemoryRegion region) {
        real.detach(region);
    }

    @Override
    public void abort() {
        real.abort();
    }

    @Override
    public void close() {
        real.close();
    }
}
