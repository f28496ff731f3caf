package io.kvtier.transport;

import io.kvtier.alloc.MemoryKind;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * The table that chooses transports: the first rule that fits a request decides.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param rules in order.
 */
public record Selection(List<SelectionRule> rules) {
    /**
     * Files: host memory by io_uring and then by the C library, memory of a GPU by GPUDirect Storage. Memory: where it
     * is, as near as can be.
     */
    public static final Selection DEFAULT = new Selection(List.of(
        new SelectionRule("file-device", Segment.Kind.FILE, Set.of(MemoryKind.DEVICE), TransportKind.GDS,
            TransportKind.IO_URING, TransportKind.POSIX),
        new SelectionRule("file-host", Segment.Kind.FILE, Capability.HOST_MEMORY, TransportKind.IO_URING,
            TransportKind.POSIX, TransportKind.GDS),
        new SelectionRule("memory", Segment.Kind.MEMORY, EnumSet.allOf(MemoryKind.class), TransportKind.MEMORY),
        new SelectionRule("shared", Segment.Kind.SHARED, EnumSet.allOf(MemoryKind.class), TransportKind.SHM),
        new SelectionRule("remote", Segment.Kind.REMOTE, EnumSet.allOf(MemoryKind.class), TransportKind.TCP)));

    /**
     * Copies.
     *
     * @param rules in order.
     */
    public Selection {
        rules = List.copyOf(rules);
    }
}
