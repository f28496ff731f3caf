package io.kvtier.transport;

import io.kvtier.alloc.MemoryRegion;
import java.util.Map;

/**
 * Memory, or a file, that this process has opened in its transfer engine and that requests address by offset.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> until it is closed through {@link TransferEngine#close(Segment)}
 * or with its engine; a request on a closed segment is refused.
 */
public final class Segment {
    /** What a segment is made of. */
    public enum Kind {
        /** A memory region of this process. */
        MEMORY,
        /** A file. */
        FILE
    }

    private final String name;
    private final Kind kind;
    private final MemoryRegion region;
    private Map<TransportKind, TransportSegment> handles = Map.of();

    Segment(final String name, final Kind kind, final MemoryRegion region) {
        this.name = name;
        this.kind = kind;
        this.region = region;
    }

    /**
     * Its name: a {@code file://} address, or the name that a region was registered under.
     *
     * @return the name.
     */
    public String name() {
        return name;
    }

    /**
     * What it is made of.
     *
     * @return the kind.
     */
    public Kind kind() {
        return kind;
    }

    /**
     * The region of a memory segment.
     *
     * @return the region; null for a file.
     */
    public MemoryRegion region() {
        return region;
    }

    @Override
    public String toString() {
        return name;
    }

    // Written once, by the engine, before the segment is published through the engine's map.
    void attach(final Map<TransportKind, TransportSegment> opened) {
        handles = Map.copyOf(opened);
    }

    TransportSegment handle(final TransportKind transport) {
        return handles.get(transport);
    }

    Iterable<TransportSegment> handles() {
        return handles.values();
    }
}
