package io.kvtier.transport;

import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.MemoryRegion;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What an engine has open under one name: a handle of each transport that serves it, and the routes over them. All
 * {@link Segment}s of the name share it.
 *
 * <p><b>Threading:</b> immutable after {@link SegmentRegistry} has published it, but for the count of owners, which is
 * the registry's, under its lock, and for who has written, which any thread may say.
 */
final class OpenSegment {
    private final SegmentAddress address;
    private final MemoryRegion region;
    private final Object identity;
    private final Map<TransportKind, TransportSegment> handles;
    private final Map<TransportKind, String> refusals;
    private final List<RuleRoute> routes = new ArrayList<>();
    private final Map<TransportKind, Route> syncs = new EnumMap<>(TransportKind.class);
    /** Transports by which something was written since the segment was opened: a bit each, by ordinal. */
    private final AtomicInteger writers = new AtomicInteger();
    private long owners;

    private record RuleRoute(SelectionRule rule, MemoryKind memory, Route route) {
    }

    OpenSegment(final SegmentTarget target, final Object identity,
        final Map<TransportKind, TransportSegment> handles, final Map<TransportKind, String> refusals) {
        this.address = target.address();
        this.region = target.region();
        this.identity = identity;
        this.refusals = Map.copyOf(refusals);
        this.handles = new EnumMap<>(TransportKind.class);
        this.handles.putAll(handles);
    }

    /** Lays the routes; called once, before the segment is published. */
    void lay(final Selection selection, final Map<TransportKind, Transport> transports,
        final Map<TransportKind, TransportCounts> counts) {
        handles.forEach((kind, handle) -> syncs.put(kind, new Route("sync", List.of(
            new Route.Hop(transports.get(kind), handle, counts.get(kind))))));
        for (final SelectionRule rule : selection.rules()) {
            if (rule.segment() == address.kind()) {
                for (final MemoryKind memory : rule.memory()) {
                    final List<Route.Hop> hops = new ArrayList<>();
                    for (final TransportKind kind : rule.transports()) {
                        final TransportSegment handle = handles.get(kind);
                        if (handle != null && transports.get(kind).capability().memory().contains(memory)) {
                            hops.add(new Route.Hop(transports.get(kind), handle, counts.get(kind)));
                        }
                    }
                    routes.add(new RuleRoute(rule, memory, new Route(rule.name(), hops)));
                }
            }
        }
    }

    /** The route of the first rule that fits; null when no rule does. It may be empty. */
    Route route(final MemoryKind memory, final long length) {
        for (int i = 0; i < routes.size(); i++) {
            final RuleRoute candidate = routes.get(i);
            if (candidate.memory() == memory && candidate.rule().applies(memory, length)) {
                return candidate.route();
            }
        }
        return null;
    }

    /** Something is written by a transport. */
    void writtenBy(final TransportKind kind) {
        final int bit = 1 << kind.ordinal();
        for (int before = writers.get(); (before & bit) == 0; before = writers.get()) {
            if (writers.compareAndSet(before, before | bit)) {
                return;
            }
        }
    }

    /**
     * The transports that make the segment durable: those by which something was written, since not every file system
     * makes durable by one descriptor what was written by another. While nothing was, the first that has it open, for
     * what others may have written.
     */
    List<Route> syncRoutes() {
        final int written = writers.get();
        final List<Route> routes = syncs.entrySet().stream()
            .filter(entry -> (written & 1 << entry.getKey().ordinal()) != 0).map(Map.Entry::getValue).toList();
        return routes.isEmpty() ? syncs.values().stream().limit(1).toList() : routes;
    }

    SegmentAddress address() {
        return address;
    }

    MemoryRegion region() {
        return region;
    }

    Object identity() {
        return identity;
    }

    Map<TransportKind, TransportSegment> handles() {
        return handles;
    }

    /** Why a transport that works here could not open this segment; null when it could, or was not asked. */
    String refusal(final TransportKind kind) {
        return refusals.get(kind);
    }

    long owners() {
        return owners;
    }

    void addOwners(final long more) {
        owners += more;
    }
}
