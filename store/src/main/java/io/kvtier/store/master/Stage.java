package io.kvtier.store.master;

import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import java.util.ArrayList;
import java.util.List;

/**
 * The state with those who wait for what happens to it.
 *
 * <p><b>Threading:</b> one thread at a time, as the conductor sees to.
 */
final class Stage {
    private final RunningState state;
    private final Parked parked;
    private List<Entry> over = new ArrayList<>();

    Stage(final RunningState state, final int maxParked) {
        this.state = state;
        this.parked = new Parked(maxParked);
    }

    void readClock() {
        state.readClock();
    }

    long nowMs() {
        return state.nowMs();
    }

    Parked parked() {
        return parked;
    }

    <R> R apply(final Command<R> command) {
        return state.apply(command);
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
        if (state.isClosed()) {
            return false;
        }
        final boolean busy = state.apply(new AdminCommand.Tick()).busy();
        settle();
        parked.expire(nowMs(), over);
        return busy;
    }

    void disconnected(final long connection) {
        parked.disconnected(connection, over);
    }

    void endWaits() {
        parked.endAll(over);
    }

    void close() {
        state.close();
    }

    /** Those that are over and not told yet; they are the caller's to tell, outside. */
    List<Entry> takeOver() {
        if (over.isEmpty()) {
            return List.of();
        }
        if (over.size() == 1) {
            return List.of(over.removeLast());
        }
        final List<Entry> all = over;
        over = new ArrayList<>();
        return all;
    }

    private void settle() {
        state.effects().takeWork().forEach((clientId, kinds) -> parked.announce(clientId, kinds, over));
        if (state.effects().takeSpaceFreed() && parked.puts() > 0) {
            // What this frees in its turn is for the next time: it may be no more than what was just taken back.
            parked.roomFreed(this, over);
        }
    }
}
