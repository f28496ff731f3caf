package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.master.state.MasterState;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.UUID;

/** The real state machine, run by a clock of its own; it may be started anew, empty or from an earlier snapshot. */
final class SimulatedMaster implements AutoCloseable {
    /** How many commands go by between two checks of what must hold at any time. */
    private static final int CHECK_EVERY = 40;

    private final World world;
    private final MasterSettings settings;
    private final SimulatedSnapshots snapshots;
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
        snapshots = world.snapshots();
        start();
    }

    long term() {
        return term;
    }

    boolean isUp() {
        return state != null;
    }

    /** Whether the master of that term lives. */
    boolean isUp(final long ofTerm) {
        return state != null && term == ofTerm;
    }

    /** It is asked to end, and saves all that it knows. */
    void end() {
        if (snapshots != null) {
            world.tally().count(Tally.Kind.MASTERS_ENDED);
            snapshots.takeLast(this, state.snapshots());
        }
        stop();
    }

    /** It dies, and all that it knew beyond its last snapshot. */
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
        final SimulatedSnapshots.Restorable from = snapshots == null ? null : snapshots.restorable();
        if (from == null) {
            world.shared().startedEmpty(term);
        } else {
            restore(from);
        }
        if (snapshots != null) {
            snapshots.takeOf(this, state.snapshots());
        }
        if (world.folder() != null) {
            world.folder().masterStarted();
        }
        tick(term);
    }

    private void restore(final SimulatedSnapshots.Restorable from) {
        world.tally().count(Tally.Kind.RESTORED);
        world.trace(() -> "master: goes on from what that of term " + from.term() + " knew at " + from.takenUs());
        state.restore(from.snapshot(), clock.ms(), Times.REMOUNT);
        world.history().restored(term, from.term(), from.takenUs());
        for (final ObjectKey key : world.keys()) {
            final ReadReply object = look(new ObjectCommand.Query(key));
            for (final Replica replica : object.replicas()) {
                if (replica.descriptor() instanceof ReplicaDescriptor.DistributedDisk place) {
                    world.shared().restored(object.version(), place);
                }
            }
        }
        auditor.check(this, clock.ms());
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
        auditor.before(this, command, clock.ms());
        try {
            final R reply = state.apply(command, clock.ms());
            auditor.answered(this, command, reply, clock.ms());
            world.trace(() -> "master: " + command + " -> " + reply);
            if (++sinceCheck >= CHECK_EVERY) {
                sinceCheck = 0;
                auditor.check(this, clock.ms());
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
        world.tally().add(Tally.Kind.PAGE_EVICTIONS, stats.pages().evictions());
        world.tally().add(Tally.Kind.PAGES_REAPED, stats.pages().reaped());
    }

    @Override
    public void close() {
        stop();
    }
}
