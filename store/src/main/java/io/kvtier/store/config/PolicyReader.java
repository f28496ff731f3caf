package io.kvtier.store.config;

import io.kvtier.alloc.MemoryKind;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SelectionRule;
import io.kvtier.transport.TransportKind;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Reads one entry of {@code policy}: a rule for each kind of segment that its {@code segment_type} stands for and that
 * one of its transports can serve. Of the others it says nothing: a policy for TCP alone does not forbid shared memory,
 * which {@code transports/shm/enable} does.
 */
final class PolicyReader {
    /** Transports of other machines and vendors, which a configuration that is shared with them may name. */
    private static final Set<String> ELSEWHERE =
        Set.of("rdma", "mnnvl", "nvlink", "ascend", "ascend_direct", "sunrise_link", "tpu", "ub", "mpcomm");

    /** Which transports there are for each kind of segment. */
    private static final Map<Segment.Kind, Set<TransportKind>> SERVED_BY = Map.of(
        Segment.Kind.FILE, EnumSet.of(TransportKind.POSIX, TransportKind.IO_URING, TransportKind.GDS),
        Segment.Kind.MEMORY, EnumSet.of(TransportKind.MEMORY),
        Segment.Kind.SHARED, EnumSet.of(TransportKind.SHM),
        Segment.Kind.REMOTE, EnumSet.of(TransportKind.TCP));

    private final Settings settings;
    private final String source;
    private final int index;
    private final List<String> warnings;

    PolicyReader(final Map<?, ?> policy, final String source, final int index, final List<String> warnings) {
        final Map<String, Object> values = new HashMap<>();
        policy.forEach((key, value) -> values.put(String.valueOf(key), value));
        this.settings = new Settings(values, source);
        this.source = source;
        this.index = index;
        this.warnings = warnings;
    }

    List<SelectionRule> read() {
        final String name = settings.text("name", "policy-" + index);
        final List<Segment.Kind> segments = segments();
        final Set<MemoryKind> memory = memory();
        final long min = settings.number("min_size", 0, 0, Long.MAX_VALUE);
        final long max = settings.number("max_size", Long.MAX_VALUE, min, Long.MAX_VALUE);
        final List<TransportKind> transports = transports();
        settings.unasked().forEach(key -> warnings.add(source + ": '" + key + "' has no effect here"));
        final List<SelectionRule> rules = segments.stream()
            .filter(kind -> !Collections.disjoint(SERVED_BY.get(kind), transports))
            .map(kind -> new SelectionRule(name, kind, memory, min, max, transports)).toList();
        if (rules.isEmpty()) {
            warnings.add(source + " names no transport that exists here for such segments and is left out");
        }
        return rules;
    }

    private List<Segment.Kind> segments() {
        final String type = settings.text("segment_type", "");
        return switch (type) {
            case "file" -> List.of(Segment.Kind.FILE);
            case "memory" -> List.of(Segment.Kind.MEMORY, Segment.Kind.SHARED, Segment.Kind.REMOTE);
            default -> throw settings.wrong("segment_type", type.isEmpty() ? "not given" : type, "file or memory");
        };
    }

    private Set<MemoryKind> memory() {
        final String kind = settings.text("local_memory", "*");
        return switch (kind) {
            case "*" -> EnumSet.allOf(MemoryKind.class);
            case "cpu" -> Capability.HOST_MEMORY;
            case "cuda" -> Set.of(MemoryKind.DEVICE);
            default -> throw settings.wrong("local_memory", kind, "cpu, cuda or *");
        };
    }

    private List<TransportKind> transports() {
        final List<TransportKind> kinds = new ArrayList<>();
        for (final Object entry : settings.list("transports")) {
            if (ELSEWHERE.contains(String.valueOf(entry))) {
                warnings.add(source + ": transport '" + entry + "' does not exist here and is passed over");
            } else {
                kinds.add(kind(entry));
            }
        }
        return kinds;
    }

    private TransportKind kind(final Object name) {
        try {
            return TransportKind.of(String.valueOf(name));
        } catch (final IllegalArgumentException e) {
            throw new IllegalArgumentException(source + ": " + e.getMessage(), e);
        }
    }
}
