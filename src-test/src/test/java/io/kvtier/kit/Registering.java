package io.kvtier.kit;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import java.util.LinkedHashSet;
import java.util.Set;

/** Lets tests that register no memory run over a transport that moves registered host memory only. */
public final class Registering extends ForwardingTransport {
    private final AutoCloseable afterwards;
    private final Set<MemoryRegion> attached = new LinkedHashSet<>();

    /**
     * Over a transport.
     *
     * @param real       closed with this.
     * @param afterwards closed behind it.
     */
    public Registering(final Transport real, final AutoCloseable afterwards) {
        super(real);
        this.afterwards = afterwards;
    }

    @Override
    public String check(final Slice slice) {
        final MemoryRegion region = slice.region();
        synchronized (attached) {
            if (region instanceof HostRegion && !attached.contains(region)) {
                final Availability answer = super.attach(region);
                if (!answer.available()) {
                    throw new AssertionError(answer.toString());
                }
                attached.add(region);
            }
        }
        return super.check(slice);
    }

    @Override
    public Availability attach(final MemoryRegion region) {
        return Availability.no("all memory is registered when it is first used", "nothing need be done");
    }

    @Override
    public void detach(final MemoryRegion region) {
        // It stays until this is closed.
    }

    @Override
    public void close() {
        synchronized (attached) {
            attached.forEach(super::detach);
            attached.clear();
        }
        super.close();
        try {
            afterwards.close();
        } catch (final Exception e) {
            throw new AssertionError(e);
        }
    }
}
