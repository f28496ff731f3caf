package io.kvtier.store.simulation;

import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.master.state.MasterState;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.WorkKind;
import java.util.UUID;

/** The real state machine, run by a clock of its own; it may be started anew, and has then forgotten everything. */
final class SimulatedMaster implements AutoCloseable {
    /** How many commands go by between two checks of what must hold at any time. */
    private static final int CHECK_EVERY = 40;

    private final World world;
    private final MasterSettings settings;
    private Auditor auditor;
    private Clock clock;
    private MasterState state;
    private long term;
    private int sinceCheck;

    /** What comes back; {@code refusal} is null when the command was carried out. */
    record Answer<R>(R reply, StoreException refusal, long term) {
    }

    SimulatedMaster(final World world, final MasterSettings settings) {
        this.world = world;
        this.settings = settings;
        start();
    }

    long term() {
        return term;
    }

    boolean isUp() {
        return state != null;
    }

    /** It dies, and all that it knew. */
    void stop() {
        if (state != null) {
            remember();
            state.close();
            state = null;
        }
    }

    void start() {
        term++;
        clock = new Clock(world.timeline());
        auditor = new Auditor(world);
        state = new MasterState(settings, term, new Effects() {
            @Override
            public void workQueued(final UUID clientId, final WorkKind kind) {
                world.workQueued(clientId, kind);
            }

            @Override
            public void spaceFreed() {
                // Writers ask again by themselves.
            }
        });
        tick(term);
    }

    private void tick(final long life) {
        if (life == term && state != null) {
            state.apply(new AdminCommand.Tick(), clock.ms());
            world.timeline().in(Times.TICK * Timeline.MS, () -> tick(life));
        }
    }

    /** Applies what a client sent. */
    <R> Answer<R> apply(final Command<R> command) {
        world.tally().count(Tally.Kind.COMMANDS);
        try {
            final R reply = state.apply(command, clock.ms());
            auditor.answered(this, command, reply, clock.ms());
            world.trace(() -> "master: " + command + " -> " + reply);
            if (++sinceCheck >= CHECK_EVERY) {
                sinceCheck = 0;
                auditor.check(this);
            }
            return new Answer<>(reply, null, term);
        } catch (final StoreException e) {
            world.trace(() -> "master: " + command + " refused: " + e.getMessage());
            return new Answer<>(null, e, term);
        }
    }

    /** Looks at the state from outside the simulated world. */
    <R> R look(final Command<R> command) {
        return state.apply(command, clock.ms());
    }

    private void remember() {
        final MasterStats stats = look(new AdminCommand.Statistics());
        world.tally().add(Tally.Kind.WRITES_DISCARDED, stats.discardedWrites());
        world.tally().add(Tally.Kind.WRITES_RELEASED, stats.releasedWrites());
        world.tally().add(Tally.Kind.EVICTIONS, stats.memoryEvictions());
        world.tally().add(Tally.Kind.EVICTIONS_WITHOUT_COPY, stats.evictionsWithoutCopy());
        world.tally().add(Tally.Kind.FILE_EVICTIONS, stats.gds().counts().evictions());
    }

    @Override
    public void close() {
        stop();
    }
}
