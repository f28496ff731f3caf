package io.kvtier.store.master;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.state.MasterState;
import io.kvtier.store.protocol.Command;
import java.util.function.LongSupplier;

/**
 * A state machine with its clock, its effects and its end.
 *
 * <p><b>Threading:</b> guarded by who runs it. <b>Lifetime:</b> closing frees the state; commands afterwards are
 * refused.
 */
final class RunningState {
    private final StateMachine state;
    private final PendingEffects effects;
    private final LongSupplier clockMs;
    private long nowMs = Long.MIN_VALUE;
    private boolean closed;

    RunningState(final StateMachine state, final PendingEffects effects, final LongSupplier clockMs) {
        this.state = state;
        this.effects = effects;
        this.clockMs = clockMs;
    }

    /** An empty state of a master. */
    static RunningState empty(final MasterSettings settings, final long term, final LongSupplier clockMs) {
        final PendingEffects effects = new PendingEffects();
        final MasterState state = new MasterState(settings, term, effects);
        return new RunningState(new StateMachine() {
            @Override
            public <R> R apply(final Command<R> command, final long nowMs) {
                return state.apply(command, nowMs);
            }

            @Override
            public void close() {
                state.close();
            }
        }, effects, clockMs);
    }

    /** Reads the clock for the commands that follow; a step back is held at the last reading. */
    void readClock() {
        nowMs = Math.max(nowMs, clockMs.getAsLong());
    }

    long nowMs() {
        return nowMs;
    }

    PendingEffects effects() {
        return effects;
    }

    boolean isClosed() {
        return closed;
    }

    <R> R apply(final Command<R> command) {
        if (closed) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "the store is closed");
        }
        return state.apply(command, nowMs);
    }

    /** A second call does nothing. */
    void close() {
        if (!closed) {
            closed = true;
            state.close();
        }
    }
}
