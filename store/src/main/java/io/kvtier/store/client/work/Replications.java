package io.kvtier.store.client.work;

import io.kvtier.store.StoreException;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.TaskCommand.Task;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * Copies and moves of memory replicas that the master asks this client to carry out.
 *
 * <p>As with a put, bytes are written by a deadline that counts from before the master was asked: long after it the
 * master may give the memory to others.
 *
 * <p><b>Threading:</b> one thread at a time; {@link #stop} from any. <b>Blocking:</b> on the master and on transfers.
 */
public final class Replications {
    private static final System.Logger LOG = System.getLogger(Replications.class.getName());
    private static final int STEP = 16;
    private static final String CLOSED = "this client is being closed";

    private final UUID clientId;
    private final Master master;
    private final ReplicaMemory memory;
    private final Staging staging;
    private final long timeoutMs;
    private volatile boolean stopped;

    /** Nothing is copied before {@link #run}. */
    public Replications(final UUID clientId, final Master master, final ReplicaMemory memory, final Staging staging,
        final long timeoutMs) {
        this.clientId = clientId;
        this.master = master;
        this.memory = memory;
        this.staging = staging;
        this.timeoutMs = timeoutMs;
    }

    /** Carries out what waits. */
    public void run() {
        List<Task> tasks;
        do {
            tasks = stopped ? List.of() : master.apply(new TaskCommand.FetchTasks(clientId, STEP));
            tasks.forEach(this::carryOut);
        } while (!tasks.isEmpty());
    }

    /** Ends {@link #run} after the copy that is under way; what was fetched beyond it has failed. */
    public void stop() {
        stopped = true;
    }

    private void carryOut(final Task task) {
        String problem;
        try {
            problem = stopped ? CLOSED : replicate(task);
        } catch (final RuntimeException e) {
            problem = String.valueOf(e.getMessage());
        }
        if (problem != null) {
            LOG.log(System.Logger.Level.WARNING, "task {0}, {1} of {2}, failed: {3}", task.id(), task.kind(),
                task.key(), problem);
        }
        try {
            master.apply(new TaskCommand.MarkTask(clientId, task.id(), problem == null,
                problem == null ? "" : problem));
        } catch (final StoreException e) {
            // Those that were fetched with it are carried out all the same: nobody else will.
            LOG.log(System.Logger.Level.WARNING, "the master could not be told how task {0} ended; it gives it up in "
                + "time: {1}", task.id(), e.getMessage());
        }
    }

    private String replicate(final Task task) {
        final long askedNanos = System.nanoTime();
        final TaskCommand.ReplicationReply reply = master.apply(new TaskCommand.ReplicationStart(clientId, task.key(),
            task.kind(), task.source(), task.targets()));
        CopyOutcome outcome = CopyOutcome.failed("it was not copied");
        try {
            outcome = copy(reply, askedNanos);
        } catch (final RuntimeException e) {
            outcome = CopyOutcome.failed(String.valueOf(e.getMessage()));
        } finally {
            outcome = end(task, outcome);
        }
        return outcome.problem();
    }

    private CopyOutcome end(final Task task, final CopyOutcome outcome) {
        try {
            master.apply(new TaskCommand.ReplicationEnd(clientId, task.key(), task.kind(), outcome.problem() == null,
                outcome.settled()));
            return outcome;
        } catch (final StoreException e) {
            return outcome.problem() == null ? CopyOutcome.failed(e.getMessage()) : outcome;
        }
    }

    private CopyOutcome copy(final TaskCommand.ReplicationReply reply, final long askedNanos) {
        final List<ReplicaDescriptor.Memory> targets = new ArrayList<>();
        for (final Replica target : reply.targets()) {
            if (!(target.descriptor() instanceof ReplicaDescriptor.Memory to)) {
                return CopyOutcome.failed("target " + target.id() + " is not memory");
            }
            targets.add(to);
        }
        if (targets.isEmpty() || reply.size() == 0) {
            return new CopyOutcome(null, true);
        }
        if (!(reply.source().descriptor() instanceof ReplicaDescriptor.Memory from)) {
            return CopyOutcome.failed("its source is not memory");
        }
        final ReplicaMemory.OwnRange own = memory.own(from, reply.size());
        if (own != null) {
            try (own) {
                return write(targets, List.of(own.slice().segment()), askedNanos);
            }
        }
        try (Staging.Piece room = staging.take(reply.size())) {
            final List<MemorySegment> bytes = List.of(room.slice().segment().asSlice(0, reply.size()));
            final String problem = memory.startRead(from, 0, reply.size(), bytes, Math.max(1, leftMs(askedNanos)),
                true).finish();
            return problem == null ? write(targets, bytes, askedNanos) : CopyOutcome.failed(problem);
        }
    }

    private CopyOutcome write(final List<ReplicaDescriptor.Memory> targets, final List<MemorySegment> bytes,
        final long askedNanos) {
        final long leftMs = leftMs(askedNanos);
        if (leftMs <= 0) {
            return CopyOutcome.failed("it was not copied within " + timeoutMs + " ms; raise transferTimeoutMs");
        }
        final Move move = memory.startWrite(targets, bytes, leftMs, true);
        final String problem = move.finish();
        return new CopyOutcome(problem, move.isSettled());
    }

    /** Milliseconds until the bytes must be written. */
    private long leftMs(final long askedNanos) {
        return timeoutMs - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - askedNanos);
    }
}
