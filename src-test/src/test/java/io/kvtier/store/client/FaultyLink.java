package io.kvtier.store.client;

import io.kvtier.store.ConnectConfig;
import io.kvtier.store.client.master.MasterLink;
import io.kvtier.store.client.master.RemoteLink;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import java.util.UUID;
import java.util.function.UnaryOperator;

/** A connection to a real master, whose answers to some commands are changed on their way. */
final class FaultyLink implements MasterLink {
    private final RemoteLink real;
    private volatile Fault fault = Exchange::pass;

    /** A command and the way to its answer. */
    static final class Exchange<R> {
        private final Command<R> command;
        private final MasterLink real;

        Exchange(final Command<R> command, final MasterLink real) {
            this.command = command;
            this.real = real;
        }

        Command<R> command() {
            return command;
        }

        R pass() {
            return real.apply(command);
        }

        /** The answer, changed when it is of a type. */
        <T> R change(final Class<T> type, final UnaryOperator<T> change) {
            final R reply = pass();
            @SuppressWarnings("unchecked") // The change keeps the type of the answer.
            final R changed = type.isInstance(reply) ? (R) change.apply(type.cast(reply)) : reply;
            return changed;
        }
    }

    /** What becomes of a command. */
    interface Fault {
        <R> R apply(Exchange<R> exchange);
    }

    FaultyLink(final ConnectConfig config) {
        real = new RemoteLink(config);
    }

    void fault(final Fault next) {
        fault = next;
    }

    @Override
    public <R> R apply(final Command<R> command) {
        return fault.apply(new Exchange<>(command, real));
    }

    @Override
    public PutStartReply putStart(final ObjectCommand.PutStart command, final long waitMs) {
        return real.putStart(command, waitMs);
    }

    @Override
    public int awaitWork(final UUID clientId, final long timeoutMs) {
        return real.awaitWork(clientId, timeoutMs);
    }

    @Override
    public void endWaits() {
        real.endWaits();
    }

    @Override
    public void close() {
        real.close();
    }
}
