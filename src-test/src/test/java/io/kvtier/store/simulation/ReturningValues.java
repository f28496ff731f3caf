package io.kvtier.store.simulation;

import io.kvtier.store.protocol.SegmentCommand.FetchReturning;
import io.kvtier.store.protocol.SegmentCommand.ReturnReplicas;
import io.kvtier.store.protocol.SegmentCommand.Returning;
import io.kvtier.store.protocol.SegmentCommand.ReturningReplica;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.simulation.Tally.Kind;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * Values in a client's memory that are brought back to a master that was restored: it says what lay in memory that is
 * lent anew, the client compares each value's checksum with what is there, and gives back what is right.
 */
final class ReturningValues {
    private static final int MOST = 1000;

    private final SimulatedClient client;
    private final World world;
    private final List<Part> parts = new ArrayList<>();

    /** Memory as it was lent before, and what the master says lay there. */
    private static final class Part {
        private final SegmentAddress former;
        private final long[] units;
        private List<ReturningReplica> lying = List.of();

        Part(final SegmentAddress former, final long[] units) {
            this.former = former;
            this.units = units;
        }
    }

    ReturningValues(final SimulatedClient client) {
        this.client = client;
        this.world = client.world();
    }

    /** Memory of which the master is asked. */
    void add(final SegmentAddress former, final long[] units) {
        parts.add(new Part(former, units));
    }

    /** Asks the master; {@code then} is run when it has answered, unless memory is lent anew before. */
    void fetch(final long of, final Runnable then) {
        fetch(0, of, then);
    }

    private void fetch(final int index, final long of, final Runnable then) {
        if (index == parts.size()) {
            then.run();
            return;
        }
        world.network().call(client, new FetchReturning(client.id(), parts.get(index).former, 0, MOST), 1, answer -> {
            if (of != client.incarnation()) {
                return;
            }
            if (answer == null) {
                fetch(index, of, then);
                return;
            }
            if (answer.reply().cursor() != Returning.END) {
                throw new IllegalStateException("more than " + MOST + " values in a segment of the simulation");
            }
            parts.get(index).lying = answer.reply().replicas();
            fetch(index + 1, of, then);
        });
    }

    /** As what the memory of a number was lent before, when something is to come back there; null otherwise. */
    SegmentAddress former(final int index) {
        return index >= parts.size() || parts.get(index).lying.isEmpty() ? null : parts.get(index).former;
    }

    /** Brings everything back, to memory that is lent as this now; then it is at its end, whatever came of it. */
    void bringBack(final List<UUID> segments, final long of, final Runnable then) {
        bringBack(0, segments, of, then);
    }

    private void bringBack(final int index, final List<UUID> segments, final long of, final Runnable then) {
        if (of != client.incarnation()) {
            return;
        }
        if (index >= parts.size()) {
            then.run();
        } else if (former(index) == null) {
            bringBack(index + 1, segments, of, then);
        } else {
            compare(parts.get(index), 0, new ArrayList<>(), client.exported(segments.get(index)), right ->
                give(segments.get(index), right, false, () -> give(segments.get(index), List.of(), true, () ->
                    bringBack(index + 1, segments, of, then))));
        }
    }

    private void compare(final Part part, final int at, final List<Long> right, final long[] now,
        final Consumer<List<Long>> then) {
        if (at == part.lying.size()) {
            then.accept(right);
            return;
        }
        final ReturningReplica one = part.lying.get(at);
        final int from = (int) (one.offset() / SimulatedClient.UNIT);
        final long[] units = new long[(int) (one.size() / SimulatedClient.UNIT)];
        // Of memory that neighbours still have mapped a copy counts, which they cannot reach.
        System.arraycopy(part.units, from, now, from, units.length);
        System.arraycopy(now, from, units, 0, units.length);
        if (!world.keeps(Rule.COMPARE_WHAT_RETURNS) || History.checksum(units) == one.checksum()) {
            right.add(one.replicaId());
        } else {
            world.tally().count(Kind.RETURNS_FOUND_WRONG);
        }
        client.later(client.thinkUs() / 4, () -> compare(part, at + 1, right, now, then));
    }

    private void give(final UUID segmentId, final List<Long> right, final boolean last, final Runnable then) {
        world.network().call(client, new ReturnReplicas(client.id(), segmentId, right, last), 1, answer -> {
            if (answer != null && answer.refusal() == null) {
                answer.reply().forEach(taken ->
                    world.tally().count(taken ? Kind.RETURNED : Kind.RETURNS_REFUSED));
            }
            then.run();
        });
    }
}
