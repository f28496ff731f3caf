package io.kvtier.store.master;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.LongSupplier;

/**
 * The state with all that goes on around it: its clock, its effects, and those who wait for them.
 *
 * <p><b>Threading:</b> one thread at a time, as the conductor sees to. <b>Lifetime:</b> closing frees the state;
 * commands afterwards are refused.
 */
final class Stage {
    private final StateMachine state;
    private final PendingEffects effects;
    private final LongSupplier clockMs;
    private final Parked parked;
    private List<Entry> over = new ArrayList<>();
    private long nowMs = Long.MIN_VALUE;
    private boolean closed;

    Stage(final StateMachine state, final PendingEffects effects, final LongSupplier clockMs, final int maxParked) {
        this.state = state;
        this.effects = effects;
        this.clockMs = clockMs;
        this.parked = new Parked(maxParked);
    }

    /** Reads the clock; a step back is held at the last reading. */
    void readClock() {
        nowMs = Math.max(nowMs, clockMs.getAsLong());
    }

    long nowMs() {
        return nowMs;
    }

    Parked parked() {
        return parked;
    }

    <R> R apply(final Command<R> command) {
        if (closed) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "the master is closed");
        }
        return state.apply(command, nowMs);
    }

    /** Lets an entry happen, and then whatever it brought about for those who wait. */
    void enter(final Entry entry) {
        if (entry.apply(this)) {
            over.add(entry);
        }
        settle();
    }

    /** Lets time pass; whether there is more to be done soon. */
    boolean tick() {
        if (closed) {
            return false;
        }
        final boolean busy = apply(new AdminCommand.Tick()).busy();
        settle();
        parked.expire(nowMs, over);
        return busy;
    }

    void disconnected(final long connection) {
        parked.disconnected(connection, over);
    }

    void endWaits() {
        parked.endAll(over);
    }

    void close() {
        if (!closed) {
            closed = true;
            state.close();
        }
    }

    /** Those that are over and not told yet; they are the caller's to tell, outside. */
    List<Entry> takeOver() {
        if (over.isEmpty()) {
            return List.of();
        }
        final List<Entry> all = over;
        over = new ArrayList<>();
        return all;
    }

    private void settle() {
        if (!effects.work().isEmpty()) {
            for (final var work : effects.work().entrySet()) {
                final UUID clientId = work.getKey();
                parked.announce(clientId, work.getValue(), over);
            }
            effects.work().clear();
        }
        if (effects.takeSpaceFreed() && parked.puts() > 0) {
            // What this frees in its turn is for the next time: it may be no more than what was just taken back.
            parked.roomFreed(this, over);
        }
    }
}
