package io.kvtier.store.master;

import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.master.state.StateMachine;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand.Exists;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.ObjectCommand.Remove;
import io.kvtier.store.protocol.ObjectCommand.RemoveReply;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.TaskCommand.CreateDrain;
import io.kvtier.store.protocol.TaskCommand.CreateTask;
import io.kvtier.store.protocol.WorkKind;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.LongSupplier;

/**
 * A state that notes what is applied to it, and fails when two threads are inside at once. Its fields are plain: a
 * conductor that let one thread in before another one's writes are visible would lose counts.
 *
 * <p>Exists answers; PutStart takes one of the places that there are and finds none otherwise; Remove gives one back;
 * CreateTask queues a task for the client that the key names.
 */
final class CountingState implements StateMachine {
    private final List<Command<?>> applied = new ArrayList<>();
    private Effects effects;
    private long inside;
    private long ticks;
    private long lastMs = Long.MIN_VALUE;
    private int places;
    private boolean closed;
    private volatile Runnable onApply = () -> { };
    private volatile Runnable onClose = () -> { };

    CountingState(final int places) {
        this.places = places;
    }

    Running running(final LongSupplier clockMs) {
        return new Running(asked -> {
            effects = asked;
            return this;
        }, clockMs);
    }

    /** Run inside the state, before a command. */
    void onApply(final Runnable hook) {
        onApply = hook;
    }

    /** Run inside the state, at its end. */
    void onClose(final Runnable hook) {
        onClose = hook;
    }

    /** To be read when nothing is under way. */
    List<Command<?>> applied() {
        return applied;
    }

    long ticks() {
        return ticks;
    }

    boolean isClosed() {
        return closed;
    }

    @Override
    @SuppressWarnings("unchecked") // As each case answers what its command is answered with.
    public <R> R apply(final Command<R> command, final long nowMs) {
        if (closed || inside++ != 0 || nowMs < lastMs) {
            throw new IllegalStateException("closed, or entered twice, or time went back");
        }
        lastMs = nowMs;
        try {
            if (command instanceof AdminCommand.Tick) {
                ticks++;
                return (R) new AdminCommand.TickReply(false);
            }
            onApply.run();
            applied.add(command);
            return (R) answer(command);
        } finally {
            inside--;
        }
    }

    private Object answer(final Command<?> command) {
        return switch (command) {
            case Exists ignored -> true;
            case PutStart ignored when places > 0 -> {
                places--;
                yield new PutStartReply.Started(1, List.of());
            }
            case PutStart ignored -> new PutStartReply.NoSpace(true);
            case Remove ignored -> {
                places++;
                effects.spaceFreed();
                yield new RemoveReply(RemoveOutcome.REMOVED, 1);
            }
            case CreateTask task -> {
                effects.workQueued(UUID.fromString(task.key().key()), WorkKind.TASKS);
                yield 1L;
            }
            case CreateDrain ignored -> (long) applied.size();
            case AdminCommand.SetQuota ignored -> Ack.OK;
            case Batch<?> batch -> {
                final List<BatchResult<Object>> results = new ArrayList<>();
                batch.items().forEach(item -> results.add(new BatchResult<>(answer(item), null)));
                yield results;
            }
            case AdminCommand.Statistics ignored -> throw new IllegalStateException("this state is broken");
            default -> throw new StoreException(ErrorCode.INVALID_PARAMS, "no " + command);
        };
    }

    @Override
    public void close() {
        closed = true;
        onClose.run();
    }
}
