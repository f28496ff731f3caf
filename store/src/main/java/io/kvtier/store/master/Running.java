package io.kvtier.store.master;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.master.state.MasterState;
import io.kvtier.store.master.state.StateMachine;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.snapshot.Snapshot;
import io.kvtier.store.snapshot.SnapshotSource;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.LongSupplier;

/**
 * A state machine that runs: at the time of a clock, until its end. What it asks for while it applies a command is kept
 * until whoever runs it takes that: a {@link Conductor} for those who wait at it, an {@link EmbeddedMaster} for its
 * listener.
 *
 * <p><b>Threading:</b> guarded by who runs it. <b>Lifetime:</b> closing frees the state; commands afterwards are
 * refused.
 */
final class Running {
    private final StateMachine state;
    private final LongSupplier clockMs;
    private long nowMs = Long.MIN_VALUE;
    private boolean closed;
    private Map<UUID, Integer> work = new HashMap<>();
    private boolean space;

    private final class Asked implements Effects {
        @Override
        public void workQueued(final UUID clientId, final WorkKind kind) {
            work.merge(clientId, kind.bit(), (a, b) -> a | b);
        }

        @Override
        public void spaceFreed() {
            space = true;
        }
    }

    /**
     * Begins to run.
     *
     * @param machine makes the state, given what to tell its effects.
     * @param clockMs milliseconds of any clock; a step back is held at the last reading.
     */
    Running(final Function<Effects, StateMachine> machine, final LongSupplier clockMs) {
        this.state = machine.apply(new Asked());
        this.clockMs = clockMs;
    }

    /** An empty state of a master. */
    static Running empty(final MasterSettings settings, final long term, final LongSupplier clockMs) {
        return new Running(effects -> new MasterState(settings, term, effects), clockMs);
    }

    /** A state of a master that has restored a snapshot. */
    static Running restored(final MasterSettings settings, final long term, final Snapshot snapshot, final long waitMs,
        final LongSupplier clockMs) {
        return new Running(effects -> {
            final MasterState state = new MasterState(settings, term, effects);
            try {
                state.restore(snapshot, clockMs.getAsLong(), waitMs);
            } catch (final StoreException e) {
                state.close();
                throw e;
            }
            return state;
        }, clockMs);
    }

    /** What the state is saved by; refused after the end. */
    SnapshotSource snapshots() {
        checkOpen();
        return state.snapshots();
    }

    /** Reads the clock for the commands that follow. */
    void readClock() {
        nowMs = Math.max(nowMs, clockMs.getAsLong());
    }

    /** The last reading of the clock. */
    long nowMs() {
        return nowMs;
    }

    <R> R apply(final Command<R> command) {
        checkOpen();
        return state.apply(command, nowMs);
    }

    private void checkOpen() {
        if (closed) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "the store is closed");
        }
    }

    /** For whom work was queued since this was asked last, by kinds as bits. */
    Map<UUID, Integer> takeWork() {
        if (work.isEmpty()) {
            return Map.of();
        }
        final Map<UUID, Integer> taken = work;
        work = new HashMap<>();
        return taken;
    }

    /** Whether space was freed since this was asked last. */
    boolean takeSpaceFreed() {
        final boolean freed = space;
        space = false;
        return freed;
    }

    /** A second call does nothing. */
    void close() {
        if (!closed) {
            closed = true;
            state.close();
        }
    }
}
