package io.kvtier.transport;

import java.util.ArrayList;
import java.util.List;

/**
 * The transports that may move a request, in the order in which they are tried, with what each has open for the
 * segment.
 *
 * <p><b>Threading:</b> immutable; made when the segment is opened, so that choosing allocates nothing.
 */
final class Route {
    private final String rule;
    private final List<Hop> hops;
    private final Route[] hinted = new Route[TransportKind.values().length];

    /** One transport of a route. */
    record Hop(Transport transport, TransportSegment handle, TransportCounts counts) {
        TransportKind kind() {
            return transport.capability().kind();
        }
    }

    Route(final String rule, final List<Hop> hops) {
        this(rule, hops, true);
    }

    private Route(final String rule, final List<Hop> hops, final boolean withHints) {
        this.rule = rule;
        this.hops = List.copyOf(hops);
        if (withHints) {
            for (final Hop first : hops) {
                final List<Hop> order = new ArrayList<>(hops.size());
                order.add(first);
                hops.stream().filter(hop -> hop != first).forEach(order::add);
                hinted[first.kind().ordinal()] = new Route(rule + ", hinted", order, false);
            }
        }
    }

    String rule() {
        return rule;
    }

    int size() {
        return hops.size();
    }

    Hop hop(final int index) {
        return hops.get(index);
    }

    /** The same with the hinted transport first; null when that is not one of them. */
    Route hinted(final TransportKind hint) {
        return hinted[hint.ordinal()];
    }
}
