package io.kvtier.store.client.master;

import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.call.Refusals;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.transport.Gate;
import java.util.concurrent.TimeUnit;

/**
 * Starts puts at a master elsewhere, which keeps a call that finds no room until there is some. The wait is cut into
 * short ones, so that closing the store ends it, and an interrupt of the thread that waits.
 *
 * @param master       the master.
 * @param gate         the store's.
 * @param counters     of the store.
 * @param putTimeoutMs milliseconds that a put waits at most.
 */
public record WaitingStarts(MasterLink master, Gate gate, Counters counters, long putTimeoutMs) implements PutStarts {
    private static final long SHORT_WAIT_MS = 500;

    @Override
    public Answer start(final ObjectCommand.PutStart command) {
        long asked = System.nanoTime();
        PutStartReply reply = master.apply(command);
        if (!waits(reply)) {
            return new Answer(reply, asked);
        }
        counters.putWaits().increment();
        final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(putTimeoutMs);
        while (waits(reply)) {
            if (gate.isClosed()) {
                throw Refusals.closed();
            }
            asked = System.nanoTime();
            final long left = TimeUnit.NANOSECONDS.toMillis(deadline - asked);
            if (left <= 0) {
                break;
            }
            if (Thread.currentThread().isInterrupted()) {
                throw Refusals.interrupted(command.key());
            }
            reply = master.putStart(command, Math.min(left, SHORT_WAIT_MS));
        }
        return new Answer(reply, asked);
    }

    private static boolean waits(final PutStartReply reply) {
        return reply instanceof PutStartReply.NoSpace none && none.mayComeFree();
    }
}
