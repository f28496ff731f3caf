package io.kvtier.transport;

import io.kvtier.alloc.MemoryKind;
import io.kvtier.bindings.Availability;
import java.util.EnumSet;
import java.util.Set;

/**
 * What a transport can do here, as its probe found it.
 *
 * @param kind         the transport.
 * @param segments     kinds of segment it serves.
 * @param memory       kinds of local memory it moves to and from them.
 * @param availability whether it works, and if not, why and what to do.
 * @param detour       whether bytes of a device's memory pass through memory of the host.
 */
public record Capability(TransportKind kind, Set<Segment.Kind> segments, Set<MemoryKind> memory,
                         Availability availability, HostDetour detour) {
    /** All memory that the processor can read and write. */
    public static final Set<MemoryKind> HOST_MEMORY =
        Set.copyOf(EnumSet.complementOf(EnumSet.of(MemoryKind.DEVICE)));

    /**
     * A transport for memory that the processor can read and write.
     *
     * @param kind         the transport.
     * @param segments     kinds of segment it serves.
     * @param availability whether it works, and if not, why and what to do.
     */
    public Capability(final TransportKind kind, final Set<Segment.Kind> segments, final Availability availability) {
        this(kind, segments, HOST_MEMORY, availability);
    }

    /**
     * A transport that makes no detour.
     *
     * @param kind         the transport.
     * @param segments     kinds of segment it serves.
     * @param memory       kinds of local memory it moves to and from them.
     * @param availability whether it works, and if not, why and what to do.
     */
    public Capability(final TransportKind kind, final Set<Segment.Kind> segments, final Set<MemoryKind> memory,
        final Availability availability) {
        this(kind, segments, memory, availability, HostDetour.NONE);
    }
}
