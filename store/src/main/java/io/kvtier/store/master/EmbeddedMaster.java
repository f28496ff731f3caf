package io.kvtier.store.master;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.master.state.MasterSettings;
import io.kvtier.store.master.state.MasterState;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.WorkKind;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * A master in the process of its only client: the calling thread applies its command under one lock.
 *
 * <p><b>Threading:</b> thread-safe. A command linearizes at its application under the lock; effects are delivered by
 * the same thread after the lock is released, so a listener may call back. <b>Blocking:</b> for other callers'
 * commands, which move no bytes and wait for nothing. A {@link ReentrantLock} rather than a monitor: a virtual thread
 * that waits for it does not pin its carrier on any JDK.
 */
public final class EmbeddedMaster implements Master, AutoCloseable {
    private final ReentrantLock lock = new ReentrantLock();
    private final LongSupplier clockMs;
    private final Effects listener;
    private final PendingEffects pending = new PendingEffects();
    private final MasterState state;
    private long lastMs = Long.MIN_VALUE;
    private boolean closed;

    /** Effects of the command being applied; guarded by the lock. */
    private static final class PendingEffects implements Effects {
        private UUID offloads;
        private boolean space;

        @Override
        public void workQueued(final UUID clientId, final WorkKind kind) {
            if (kind == WorkKind.OFFLOADS) {
                offloads = clientId;
            }
        }

        @Override
        public void spaceFreed() {
            space = true;
        }
    }

    /**
     * A master with an empty state.
     *
     * @param settings what the state is told once.
     * @param clockMs  milliseconds of any clock; a step back is held at the last reading.
     * @param listener told of effects, on the thread that applied the command, without the lock.
     */
    public EmbeddedMaster(final MasterSettings settings, final LongSupplier clockMs, final Effects listener) {
        this.clockMs = clockMs;
        this.listener = listener;
        this.state = new MasterState(settings, 1, pending);
    }

    @Override
    public <R> R apply(final Command<R> command) {
        final R reply;
        final UUID offloads;
        final boolean space;
        lock.lock();
        try {
            if (closed) {
                throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "the store is closed");
            }
            lastMs = Math.max(lastMs, clockMs.getAsLong());
            reply = state.apply(command, lastMs);
            offloads = pending.offloads;
            space = pending.space;
            pending.offloads = null;
            pending.space = false;
        } finally {
            lock.unlock();
        }
        if (offloads != null) {
            listener.workQueued(offloads, WorkKind.OFFLOADS);
        }
        if (space) {
            listener.spaceFreed();
        }
        return reply;
    }

    /** Frees the state. A second call does nothing; a command afterwards is refused. */
    @Override
    public void close() {
        lock.lock();
        try {
            if (!closed) {
                closed = true;
                state.close();
            }
        } finally {
            lock.unlock();
        }
    }
}
