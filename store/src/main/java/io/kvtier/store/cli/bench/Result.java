package io.kvtier.store.cli.bench;

import io.kvtier.bindings.Availability;
import java.util.OptionalDouble;

/**
 * What came of a row. Where a figure is missing, the words behind the peer's name say why.
 *
 * @param row       what was measured.
 * @param unit      what is counted.
 * @param ours      median of this library.
 * @param peer      with whom it was compared.
 * @param peerValue median of the peer.
 * @param goal      least ratio that is good enough.
 */
record Result(String row, Unit unit, OptionalDouble ours, String peer, OptionalDouble peerValue, double goal) {
    /** Both figures, or ours alone where the peer is not installed. */
    static Result measured(final Row row, final double ours, final OptionalDouble peer) {
        final Availability here = row.peer().availability();
        return new Result(row.name(), row.unit(), OptionalDouble.of(ours), peer.isPresent() ? row.peer().name()
            : row.peer().name() + " (" + here.reason() + ": " + here.remedy() + ')', peer, row.goal());
    }

    /** No figure at all. */
    static Result missing(final Row row, final String why) {
        return new Result(row.name(), row.unit(), OptionalDouble.empty(), row.peer().name() + " (not run: " + why + ')',
            OptionalDouble.empty(), row.goal());
    }

    /** The bigger, the better; empty when a figure is missing. */
    OptionalDouble ratio() {
        return ours.isPresent() && peerValue.isPresent()
            ? OptionalDouble.of(unit.ratio(ours.getAsDouble(), peerValue.getAsDouble())) : OptionalDouble.empty();
    }

    /** Whether the goal was missed; a row without a ratio has missed nothing. */
    boolean missed() {
        return ratio().isPresent() && ratio().getAsDouble() < goal;
    }
}
