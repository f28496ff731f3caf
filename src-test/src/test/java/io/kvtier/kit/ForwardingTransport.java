package io.kvtier.kit;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.transport.Capability;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportSegment;

/**
 * Another transport, closed with this; what a test wants otherwise is overridden. {@link #run} hands a slice to this
 * transport's own {@link #submit}.
 */
abstract class ForwardingTransport implements Transport {
    private final Transport real;

    ForwardingTransport(final Transport real) {
        this.real = real;
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
        real.submit(slice);
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
