package io.kvtier.transport;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;

/**
 * Memory, or a file, that this process has opened in its transfer engine and that requests address by offset.
 *
 * <p>Opening the same name twice gives two of these over one set of descriptors, which is closed with the last of them.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> until it or its engine is closed; a request on a closed segment is
 * refused. <b>Blocking:</b> {@link #close()} waits for the transfers that were submitted on it.
 */
public final class Segment implements AutoCloseable {
    /** What a segment is made of. */
    public enum Kind {
        /** A memory region of this process. */
        MEMORY,
        /** A file. */
        FILE,
        /** Memory of another process on this host, shared with it. */
        SHARED,
        /** A segment that another process serves over a connection. */
        REMOTE
    }

    private final TransferEngine engine;
    private final SegmentRegistry registry;
    private final OpenSegment open;
    private final Gate gate = new Gate();

    Segment(final TransferEngine engine, final SegmentRegistry registry, final OpenSegment open) {
        this.engine = engine;
        this.registry = registry;
        this.open = open;
    }

    /**
     * Its name: an address, or the name that a region was registered under.
     *
     * @return the name.
     */
    public String name() {
        return open.address().name();
    }

    /**
     * What it is made of.
     *
     * @return the kind.
     */
    public Kind kind() {
        return open.address().kind();
    }

    /**
     * The region of a memory segment.
     *
     * @return the region; null for what is not this process's memory.
     */
    public MemoryRegion region() {
        return open.region();
    }

    /**
     * Whether a transport has it open, and if not, why.
     *
     * @param transport which.
     * @return what its probe said where it has it open, or where it cannot be used here at all; else why it could not
     *         open this one.
     */
    public Availability availability(final TransportKind transport) {
        final Availability here = engine.availability(transport);
        if (!here.available() || open.handles().containsKey(transport)) {
            return here;
        }
        final String refusal = open.refusal(transport);
        return Availability.no(name() + " is open without " + transport + ": " + (refusal == null
            ? "that serves no " + kind() + " segments" : refusal), refusal == null ? "use another transport"
            : "mend that, and open the segment again");
    }

    /**
     * Closes it after its running transfers have ended; new requests on it are refused at once. A second call, or one
     * after the engine was closed, does nothing.
     */
    @Override
    public void close() {
        if (gate.close()) {
            gate.awaitEmpty(Long.MAX_VALUE);
            registry.giveBack(open);
        }
    }

    @Override
    public String toString() {
        return name();
    }

    TransferEngine engine() {
        return engine;
    }

    OpenSegment open() {
        return open;
    }

    Gate gate() {
        return gate;
    }
}
