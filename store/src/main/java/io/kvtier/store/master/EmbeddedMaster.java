package io.kvtier.store.master;

import io.kvtier.store.master.state.Effects;
import io.kvtier.store.master.state.MasterSettings;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.WorkKind;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;

/**
 * A master in the process of its only client: the calling thread applies its command under one lock.
 *
 * <p><b>Threading:</b> thread-safe. A command linearizes at its application under the lock; effects are delivered by
 * the same thread after the lock is released, also when the command was refused, so a listener may call back. Time
 * passes with the commands: there is no thread for it, and nothing that ends with time matters before the next command.
 * <b>Blocking:</b> for other callers' commands, which move no bytes and wait for nothing. A {@link ReentrantLock}
 * rather than a monitor: a virtual thread that waits for it does not pin its carrier on any JDK.
 */
public final class EmbeddedMaster implements Master, AutoCloseable {
    private final ReentrantLock lock = new ReentrantLock();
    private final Effects listener;
    private final Running running;

    /**
     * A master with an empty state.
     *
     * @param settings what the state is told once.
     * @param clockMs  milliseconds of any clock; a step back is held at the last reading.
     * @param listener told of effects, on the thread that applied the command, without the lock.
     */
    public EmbeddedMaster(final MasterSettings settings, final LongSupplier clockMs, final Effects listener) {
        this(Running.empty(settings, 1, clockMs), listener);
    }

    /** Over any state. */
    EmbeddedMaster(final Running running, final Effects listener) {
        this.running = running;
        this.listener = listener;
    }

    @Override
    public <R> R apply(final Command<R> command) {
        lock.lock();
        try {
            running.readClock();
            return running.apply(command);
        } finally {
            final Map<UUID, Integer> work = running.takeWork();
            final boolean space = running.takeSpaceFreed();
            lock.unlock();
            tell(work, space);
        }
    }

    private void tell(final Map<UUID, Integer> work, final boolean space) {
        if (!work.isEmpty()) {
            work.forEach(this::tell);
        }
        if (space) {
            listener.spaceFreed();
        }
    }

    /** Frees the state. A second call does nothing; a command afterwards is refused. */
    @Override
    public void close() {
        lock.lock();
        try {
            running.close();
        } finally {
            lock.unlock();
        }
    }

    private void tell(final UUID clientId, final int kinds) {
        for (final WorkKind kind : WorkKind.values()) {
            if ((kinds & kind.bit()) != 0) {
                listener.workQueued(clientId, kind);
            }
        }
    }
}
