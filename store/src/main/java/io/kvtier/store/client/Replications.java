package io.kvtier.store.client;

import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.TaskCommand.Task;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * Copies and moves of memory replicas that the master asks this client to carry out.
 *
 * <p><b>Threading:</b> one thread at a time. <b>Blocking:</b> on the master and on transfers.
 */
final class Replications {
    private static final System.Logger LOG = System.getLogger(Replications.class.getName());
    private static final int STEP = 16;

    private final UUID clientId;
    private final Master master;
    private final ReplicaMemory memory;
    private final Staging staging;
    private final long timeoutMs;

    Replications(final UUID clientId, final Master master, final ReplicaMemory memory, final Staging staging,
        final long timeoutMs) {
        this.clientId = clientId;
        this.master = master;
        this.memory = memory;
        this.staging = staging;
        this.timeoutMs = timeoutMs;
    }

    /** Carries out what waits. */
    void run() {
        List<Task> tasks;
        do {
            tasks = master.apply(new TaskCommand.FetchTasks(clientId, STEP));
            tasks.forEach(this::carryOut);
        } while (!tasks.isEmpty());
    }

    private void carryOut(final Task task) {
        String problem;
        try {
            problem = replicate(task);
        } catch (final RuntimeException e) {
            problem = String.valueOf(e.getMessage());
        }
        if (problem != null) {
            LOG.log(System.Logger.Level.WARNING, "task {0}, {1} of {2}, failed: {3}", task.id(), task.kind(),
                task.key(), problem);
        }
        master.apply(new TaskCommand.MarkTask(clientId, task.id(), problem == null, problem == null ? "" : problem));
    }

    private String replicate(final Task task) {
        final TaskCommand.ReplicationReply reply = master.apply(new TaskCommand.ReplicationStart(clientId, task.key(),
            task.kind(), task.source(), task.targets()));
        String problem = "it was not copied";
        try {
            problem = copy(reply);
        } finally {
            final boolean good = problem == null;
            try {
                master.apply(new TaskCommand.ReplicationEnd(clientId, task.key(), task.kind(), good));
            } catch (final StoreException e) {
                problem = problem == null ? e.getMessage() : problem;
            }
        }
        return problem;
    }

    private String copy(final TaskCommand.ReplicationReply reply) {
        final List<ReplicaDescriptor.Memory> targets = new ArrayList<>();
        for (final Replica target : reply.targets()) {
            if (!(target.descriptor() instanceof ReplicaDescriptor.Memory to)) {
                return "target " + target.id() + " is not memory";
            }
            targets.add(to);
        }
        if (targets.isEmpty() || reply.size() == 0) {
            return null;
        }
        if (!(reply.source().descriptor() instanceof ReplicaDescriptor.Memory from)) {
            return "its source is not memory";
        }
        final ReplicaMemory.OwnRange own = memory.own(from, reply.size());
        if (own != null) {
            try (own) {
                return memory.startWrite(targets, List.of(own.slice().segment()), timeoutMs).finish();
            }
        }
        try (Staging.Piece room = staging.take(reply.size())) {
            final List<MemorySegment> bytes = List.of(room.slice().segment().asSlice(0, reply.size()));
            final String problem = memory.startRead(from, 0, reply.size(), bytes, timeoutMs).finish();
            return problem != null ? problem : memory.startWrite(targets, bytes, timeoutMs).finish();
        }
    }
}
