package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.AddGdsReplicaStart;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.simulation.SimulatedMaster.Answer;
import io.kvtier.store.simulation.Tally.Kind;
import java.util.ArrayList;
import java.util.List;

/** A put: room in the client's own file, start, bytes in steps, end. */
final class PutFlow {
    private static final int MAX_UNITS = 6;
    private static final int REVOKE_ONE_IN = 15;
    private static final int WITHOUT_FILE_ONE_IN = 3;
    private static final int WITHOUT_SUM_ONE_IN = 3;

    private final SimulatedClient client;
    private final World world;
    private final Runnable then;
    private final History.Put put;
    private final boolean replace;
    private final ObjectCommand.PutStart command;
    private final List<Step> steps = new ArrayList<>();
    private long startUs;
    /** In the file; null for none. */
    private FileOwner.Room room;
    private boolean inMemory;

    /** A unit of the value; {@code range} is null for the file. */
    private record Step(ReplicaDescriptor.Memory range, int place) {
    }

    PutFlow(final SimulatedClient client, final ObjectKey key, final Runnable then) {
        this.client = client;
        this.world = client.world();
        this.then = then;
        put = world.history().put(key, (int) world.timeline().between(1, MAX_UNITS), client.name());
        replace = world.timeline().oneIn(3);
        final PutOptions options = PutOptions.DEFAULT.withReplicas(world.timeline().oneIn(3) ? 2 : 1);
        command = new ObjectCommand.PutStart(client.id(), client.nextAttempt(), put.key(),
            (long) put.units() * SimulatedClient.UNIT, options, replace);
    }

    void start() {
        if (world.timeline().oneIn(WITHOUT_FILE_ONE_IN)) {
            ask();
        } else {
            client.files().reserve(put.key(), put.units(), given -> {
                room = given;
                ask();
            });
        }
    }

    private void ask() {
        // From before it is asked for: the master cannot have begun to count earlier.
        startUs = client.clock().us();
        world.network().call(client, command, 3, this::started);
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
            case PutStartReply.Started started -> begin(started, answer.term());
            case PutStartReply.Taken ignored -> over(Kind.PUTS_TAKEN);
            case PutStartReply.NoSpace ignored -> withoutMemory();
            case PutStartReply.TooLarge ignored -> withoutMemory();
        }
    }

    private void begin(final PutStartReply.Started started, final long term) {
        world.history().started(put, started.version(), term);
        for (final Replica replica : started.replicas()) {
            if (replica.descriptor() instanceof ReplicaDescriptor.Memory range) {
                inMemory = true;
                addSteps(range);
            }
        }
        client.writing(1);
        if (room == null) {
            write(0);
        } else {
            offer();
        }
    }

    private void addSteps(final ReplicaDescriptor.Memory range) {
        for (int place = 0; place < put.units(); place++) {
            steps.add(new Step(range, place));
        }
    }

    /** Room in the file beside what the master gave. */
    private void offer() {
        client.files().offered(room);
        world.network().call(client, new AddGdsReplicaStart(client.id(), put.key(), put.version(),
            client.files().extent(room.first(), room.count())), 1, answer -> {
                if (answer != null && (answer.refusal() != null || answer.reply() == AddGdsReplicaStart.STALE)) {
                    client.files().declined(room);
                } else if (answer != null) {
                    client.files().accepted(room, put.version(), answer.reply());
                    addSteps(null);
                }
                write(0);
            });
    }

    /** The master has no memory for it. */
    private void withoutMemory() {
        if (room == null) {
            over(Kind.PUTS_WITHOUT_ROOM);
            return;
        }
        client.files().offered(room);
        startUs = client.clock().us();
        world.network().call(client, new ObjectCommand.CreateGdsOnlyObject(command,
            client.files().extent(room.first(), room.count())), 2, this::created);
    }

    private void created(final Answer<PutStartReply> answer) {
        if (answer == null) {
            over(Kind.PUTS_UNCERTAIN);
            return;
        }
        if (answer.refusal() != null || !(answer.reply() instanceof PutStartReply.Started started)) {
            client.files().declined(room);
            over(Kind.PUTS_WITHOUT_ROOM);
            return;
        }
        for (final Replica replica : started.replicas()) {
            if (replica.descriptor() instanceof ReplicaDescriptor.Gds) {
                client.files().accepted(room, started.version(), replica.id());
            }
        }
        if (!room.isAccepted()) {
            // An earlier start of the same put in memory, after all.
            client.files().declined(room);
            over(Kind.PUTS_UNCERTAIN);
            return;
        }
        world.history().started(put, started.version(), answer.term());
        client.writing(1);
        addSteps(null);
        write(0);
    }

    private void write(final int index) {
        if (world.keeps(Rule.LIMIT_WRITES)
            && client.clock().us() - startUs > Times.WRITE_LIMIT * Timeline.MS) {
            revoke(Kind.PUTS_OVER_TIME);
        } else if (index == steps.size() || !world.keeps(Rule.END_WHAT_IS_WRITTEN) && index > steps.size() / 2) {
            finish();
        } else {
            final Step step = steps.get(index);
            if (step.range() == null) {
                client.files().write(room, step.place(), put.unit(step.place()));
                written(index, true);
            } else {
                client.write(step.range(), step.place(), put.unit(step.place()), written -> written(index, written));
            }
        }
    }

    private void written(final int index, final Boolean written) {
        if (written == null) {
            world.tally().count(Kind.WRITES_UNCERTAIN);
            if (!world.keeps(Rule.KEEP_WHAT_IS_UNCERTAIN)) {
                revoke(Kind.PUTS_REVOKED);
            } else if (world.timeline().oneIn(2)) {
                revoke(Kind.REVOKED_AND_MAY_ARRIVE, false);
            } else {
                // It may yet be written, so the range must stay ours until the master gives the put up.
                client.writing(-1);
                closeRoom();
                then.run();
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
        // In doubt the master may have the room, and would take it for written if all were said to be.
        final Scope scope = room != null && room.isDoubtful() ? Scope.MEMORY : Scope.ALL;
        final boolean summed = !world.timeline().oneIn(WITHOUT_SUM_ONE_IN);
        world.network().call(client, new ObjectCommand.PutEnd(client.id(), put.key(), put.version(), scope, summed,
            summed ? put.checksum() : 0), 5, answer -> ended(answer, scope));
    }

    private void ended(final Answer<Ack> answer, final Scope scope) {
        if (answer == null) {
            over(Kind.PUTS_UNCERTAIN);
        } else if (answer.refusal() != null) {
            over(Kind.PUTS_REFUSED);
        } else if (answer.reply() == Ack.STALE) {
            over(Kind.PUTS_STALE);
        } else {
            world.history().stored(put, !replace, answer.term(), world.timeline().nowUs());
            if (room != null && room.isAccepted()) {
                world.tally().count(inMemory ? Kind.PUTS_TO_MEMORY_AND_FILE : Kind.PUTS_TO_FILE_ALONE);
                client.files().commit(room);
            }
            if (scope == Scope.MEMORY) {
                world.network().call(client, new ObjectCommand.PutRevoke(client.id(), put.key(), put.version(),
                    Scope.GDS), 3, revoked -> over(replace ? Kind.PUTS_REPLACED : Kind.PUTS_STORED));
            } else {
                over(replace ? Kind.PUTS_REPLACED : Kind.PUTS_STORED);
            }
        }
    }

    private void revoke(final Kind why) {
        revoke(why, true);
    }

    /** Gives it up; {@code settled} when nothing of it can be written any more. */
    private void revoke(final Kind why, final boolean settled) {
        client.writing(-1);
        world.network().call(client, new ObjectCommand.PutRevoke(client.id(), put.key(), put.version(), Scope.ALL,
            settled), 3, answer -> over(why));
    }

    private void closeRoom() {
        if (room != null) {
            client.files().close(room);
        }
    }

    private void over(final Kind kind) {
        world.tally().count(kind);
        closeRoom();
        then.run();
    }
}
