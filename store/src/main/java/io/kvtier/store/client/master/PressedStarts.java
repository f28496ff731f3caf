package io.kvtier.store.client.master;

import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.call.Pressure;
import io.kvtier.store.client.call.Refusals;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.transport.Gate;
import java.util.concurrent.TimeUnit;

/**
 * Starts puts at a master in this process, which tells when something was freed.
 *
 * @param master       the master.
 * @param pressure     where puts wait.
 * @param gate         the store's.
 * @param counters     of the store.
 * @param putTimeoutMs milliseconds that a put waits at most.
 */
public record PressedStarts(Master master, Pressure pressure, Gate gate, Counters counters, long putTimeoutMs)
    implements PutStarts {
    @Override
    public Answer start(final ObjectCommand.PutStart command) {
        long deadline = 0;
        while (true) {
            final long seen = pressure.epoch();
            final long asked = System.nanoTime();
            final PutStartReply reply = master.apply(command);
            if (!(reply instanceof PutStartReply.NoSpace none)) {
                return new Answer(reply, asked);
            }
            if (deadline == 0) {
                deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(putTimeoutMs);
                counters.putWaits().increment();
            }
            if (!none.mayComeFree() || !await(command, seen, deadline)) {
                return new Answer(reply, asked);
            }
            if (gate.isClosed()) {
                throw Refusals.closed();
            }
        }
    }

    private boolean await(final ObjectCommand.PutStart command, final long seen, final long deadline) {
        try {
            return pressure.await(seen, deadline);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
            throw Refusals.interrupted(command.key());
        }
    }
}
