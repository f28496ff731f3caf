package io.kvtier.kit;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.transport.Capability;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportSegment;
import java.util.LinkedHashSet;
import java.util.Set;

/** Lets tests that register no memory run over a transport that moves registered host memory only. */
public final class Registering implements Transport {
    private final Transport real;
    private final AutoCloseable afterwards;
    private final Set<MemoryRegion> attached = new LinkedHashSet<>();

    /**
     * Over a transport.
     *
     * @param real       closed with this.
     * @param afterwards closed behind it.
     */
    public Registering(final Transport real, final AutoCloseable afterwards) {
        this.real = real;
        this.afterwards = afterwards;
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
        final MemoryRegion region = slice.region();
        synchronized (attached) {
            if (region instanceof HostRegion && !attached.contains(region)) {
                final Availability answer = real.attach(region);
                if (!answer.available()) {
                    throw new AssertionError(answer.toString());
                }
                attached.add(region);
            }
        }
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
    public void abort() {
        real.abort();
    }

    @Override
    public void close() {
        synchronized (attached) {
            attached.forEach(real::detach);
            attached.clear();
        }
        real.close();
        try {
            afterwards.close();
        } catch (final Exception e) {
            throw new AssertionError(e);
        }
    }
}
