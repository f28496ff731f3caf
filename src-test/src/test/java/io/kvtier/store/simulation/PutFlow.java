package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.simulation.SimulatedMaster.Answer;
import io.kvtier.store.simulation.Tally.Kind;
import java.util.ArrayList;
import java.util.List;

/** A put: start, bytes in steps, end. */
final class PutFlow {
    private static final int MAX_UNITS = 6;
    private static final int REVOKE_ONE_IN = 15;

    private final SimulatedClient client;
    private final World world;
    private final Runnable then;
    private final History.Put put;
    private final boolean replace;
    private final long startUs;
    private final List<Step> steps = new ArrayList<>();

    private record Step(ReplicaDescriptor.Memory range, int place) {
    }

    PutFlow(final SimulatedClient client, final ObjectKey key, final Runnable then) {
        this.client = client;
        this.world = client.world();
        this.then = then;
        put = world.history().put(key, (int) world.timeline().between(1, MAX_UNITS), client.name());
        replace = world.timeline().oneIn(3);
        // From before it is asked for: the master cannot have begun to count earlier.
        startUs = client.clock().us();
    }

    void start() {
        final PutOptions options = PutOptions.DEFAULT.withReplicas(world.timeline().oneIn(3) ? 2 : 1);
        world.network().call(client, new ObjectCommand.PutStart(client.id(), client.nextAttempt(), put.key(),
            (long) put.units() * SimulatedClient.UNIT, options, replace), 3, this::started);
    }

    private void started(final Answer<PutStartReply> answer) {
        if (answer == null) {
            over(Kind.PUTS_UNCERTAIN);
            return;
        }
        if (answer.refusal() != null) {
            over(Kind.PUTS_REFUSED);
            return;
        }
        switch (answer.reply()) {
            case PutStartReply.Started started -> {
                put.started(started.version(), answer.term());
                for (final Replica replica : started.replicas()) {
                    for (int place = 0; place < put.units(); place++) {
                        steps.add(new Step((ReplicaDescriptor.Memory) replica.descriptor(), place));
                    }
                }
                client.writing(1);
                write(0);
            }
            case PutStartReply.Taken ignored -> over(Kind.PUTS_TAKEN);
            case PutStartReply.NoSpace ignored -> over(Kind.PUTS_WITHOUT_ROOM);
            case PutStartReply.TooLarge ignored -> over(Kind.PUTS_WITHOUT_ROOM);
        }
    }

    private void write(final int index) {
        if (world.keeps(Rule.LIMIT_WRITES)
            && client.clock().us() - startUs > Times.WRITE_LIMIT * Timeline.MS) {
            revoke(Kind.PUTS_OVER_TIME);
        } else if (index == steps.size() || !world.keeps(Rule.END_WHAT_IS_WRITTEN) && index > steps.size() / 2) {
            finish();
        } else {
            final Step step = steps.get(index);
            client.write(step.range(), step.place(), put.unit(step.place()), written -> written(index, written));
        }
    }

    private void written(final int index, final Boolean written) {
        if (written == null) {
            world.tally().count(Kind.WRITES_UNCERTAIN);
            if (world.keeps(Rule.KEEP_WHAT_IS_UNCERTAIN)) {
                // It may yet be written, so the range must stay ours until the master gives the put up.
                client.writing(-1);
                then.run();
            } else {
                revoke(Kind.PUTS_REVOKED);
            }
        } else if (written) {
            client.later(client.thinkUs() / 4, () -> write(index + 1));
        } else {
            revoke(Kind.WRITES_REFUSED);
        }
    }

    private void finish() {
        if (world.timeline().oneIn(REVOKE_ONE_IN)) {
            revoke(Kind.PUTS_REVOKED);
            return;
        }
        client.writing(-1);
        put.endSent(world.timeline().nowUs());
        world.network().call(client, new ObjectCommand.PutEnd(client.id(), put.key(), put.version(), Scope.ALL, false,
            0), 5, this::ended);
    }

    private void ended(final Answer<Ack> answer) {
        if (answer == null) {
            over(Kind.PUTS_UNCERTAIN);
        } else if (answer.refusal() != null) {
            over(Kind.PUTS_REFUSED);
        } else if (answer.reply() == Ack.STALE) {
            over(Kind.PUTS_STALE);
        } else {
            world.history().stored(put, answer.term(), world.timeline().nowUs());
            over(replace ? Kind.PUTS_REPLACED : Kind.PUTS_STORED);
        }
    }

    private void revoke(final Kind why) {
        client.writing(-1);
        world.network().call(client, new ObjectCommand.PutRevoke(client.id(), put.key(), put.version(), Scope.ALL), 3,
            answer -> over(why));
    }

    private void over(final Kind kind) {
        world.tally().count(kind);
        then.run();
    }
}
