package io.kvtier.transport;

import io.kvtier.bindings.Availability;
import java.util.Set;

/**
 * What a transport can do here, as its probe found it.
 *
 * @param kind         the transport.
 * @param segments     kinds of segment it serves.
 * @param availability whether it works, and if not, why and what to do.
 */
public record Capability(TransportKind kind, Set<Segment.Kind> segments, Availability availability) {
}
