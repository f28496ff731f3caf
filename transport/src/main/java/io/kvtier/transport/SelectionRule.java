package io.kvtier.transport;

import io.kvtier.alloc.MemoryKind;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * One row of the table that chooses transports: what a request must be like, and which transports then may do it, the
 * first one first.
 *
 * @param name       what statistics call it.
 * @param segment    kind of segment.
 * @param memory     kinds of local memory.
 * @param minBytes   least length of the request.
 * @param maxBytes   greatest length, inclusive.
 * @param transports in order; those that are not here, or cannot serve the segment, are passed over.
 */
public record SelectionRule(String name, Segment.Kind segment, Set<MemoryKind> memory, long minBytes, long maxBytes,
                            List<TransportKind> transports) {
    /**
     * Validates and copies.
     *
     * @param name       what statistics call it.
     * @param segment    kind of segment.
     * @param memory     kinds of local memory.
     * @param minBytes   least length.
     * @param maxBytes   greatest length.
     * @param transports in order.
     */
    public SelectionRule {
        Objects.requireNonNull(name, "name");
        Objects.requireNonNull(segment, "segment");
        memory = Set.copyOf(memory);
        transports = List.copyOf(transports);
        if (memory.isEmpty() || transports.isEmpty()) {
            throw new IllegalArgumentException("rule '" + name + "' names no " + (memory.isEmpty() ? "kind of memory"
                : "transport") + "; it would never apply");
        }
        if (minBytes < 0 || maxBytes < minBytes) {
            throw new IllegalArgumentException("rule '" + name + "': minBytes is " + minBytes + " and maxBytes is "
                + maxBytes + "; it must be 0 <= minBytes <= maxBytes");
        }
        if (transports.stream().distinct().count() < transports.size()) {
            throw new IllegalArgumentException("rule '" + name + "' names a transport twice: " + transports);
        }
    }

    /**
     * A rule for requests of any length.
     *
     * @param name       what statistics call it.
     * @param segment    kind of segment.
     * @param memory     kinds of local memory.
     * @param transports in order.
     */
    public SelectionRule(final String name, final Segment.Kind segment, final Set<MemoryKind> memory,
        final TransportKind... transports) {
        this(name, segment, memory, 0, Long.MAX_VALUE, List.of(transports));
    }

    boolean applies(final MemoryKind kind, final long length) {
        return length >= minBytes && length <= maxBytes && memory.contains(kind);
    }
}
