package io.kvtier.store.master;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.PutStartReply;
import java.lang.System.Logger;

/**
 * A command and, once it is over, its answer or why it has none.
 *
 * @param <R> what it is answered with.
 */
abstract class CommandEntry<R> implements Entry {
    private static final Logger LOG = System.getLogger(Conductor.class.getName());

    private final Command<R> command;
    private final long waitMs;
    private R reply;
    private StoreException refusal;
    private boolean late;
    private long parkedUntilMs;

    /** {@code waitMs} is for a put that finds no room. */
    CommandEntry(final Command<R> command, final long waitMs) {
        this.command = command;
        this.waitMs = waitMs;
    }

    /** Whether nobody waits any more, so that it is not to be carried out. */
    abstract boolean isLate();

    /** The connection with which it ends; 0 for none. */
    abstract long connection();

    @Override
    public final int weight() {
        return command instanceof Batch<?> batch ? batch.items().size() : 1;
    }

    @Override
    public final boolean apply(final Running running, final Parked parked) {
        if (isLate()) {
            late = true;
            return true;
        }
        attempt(running);
        if (waitMs == 0 || !(reply instanceof PutStartReply.NoSpace none) || !none.mayComeFree()) {
            return true;
        }
        parkedUntilMs = running.nowMs() + waitMs;
        return !parked.park(this);
    }

    /** Once more, when room was freed; whether it is over. */
    final boolean again(final Running running) {
        if (isLate()) {
            late = true;
            return true;
        }
        attempt(running);
        return !(reply instanceof PutStartReply.NoSpace none) || !none.mayComeFree();
    }

    private void attempt(final Running running) {
        reply = null;
        refusal = null;
        try {
            reply = running.apply(command);
        } catch (final StoreException e) {
            refusal = e;
        } catch (final RuntimeException | Error e) {
            LOG.log(Logger.Level.ERROR, () -> "the state machine failed on " + command, e);
            refusal = new StoreException(ErrorCode.INTERNAL_ERROR, "the master failed: " + e, e);
        }
    }

    final Command<R> command() {
        return command;
    }

    final long parkedUntilMs() {
        return parkedUntilMs;
    }

    /** Whether it was not carried out because nobody waited any more. */
    final boolean wasLate() {
        return late;
    }

    /** Why it was refused; null when it was answered. */
    final StoreException refusal() {
        return refusal;
    }

    final R reply() {
        return reply;
    }
}
