package io.kvtier.transport;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Memory that an engine has prepared for many transfers, as far as its transports could.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> keeps the region from being released until it is closed; close it
 * before the engine, and when no transfer uses the region.
 */
public final class Registration implements AutoCloseable {
    private final MemoryRegion region;
    private final Map<TransportKind, Availability> results;
    private final List<Transport> transports;
    private final AtomicBoolean closed = new AtomicBoolean();

    Registration(final MemoryRegion region, final Map<TransportKind, Availability> results,
        final List<Transport> transports) {
        this.region = region;
        this.results = Map.copyOf(results);
        this.transports = List.copyOf(transports);
    }

    /**
     * The memory.
     *
     * @return the region.
     */
    public MemoryRegion region() {
        return region;
    }

    /**
     * Which transports prepared the memory, and why the others did not. Transfers work either way.
     *
     * @return one answer for each transport that works here.
     */
    public Map<TransportKind, Availability> results() {
        return results;
    }

    /** Undoes it. A second call does nothing. */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        try (Closings closings = new Closings()) {
            closings.add(region::release);
            transports.forEach(transport -> closings.add(() -> transport.detach(region)));
        }
    }
}
