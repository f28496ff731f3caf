package io.kvtier.store.client.work;

import io.kvtier.bindings.NativeException;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.protocol.DiskCommand.PromotionEnd;
import io.kvtier.store.protocol.DiskCommand.PromotionStart;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.PageCommand.FetchPromotions;
import io.kvtier.store.protocol.PageCommand.PromotionTask;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.storage.BlockHash;
import io.kvtier.store.storage.shared.DistributedDiskReader;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * Copies values that are read often from the shared disk to memory, this client's or another one's, when the master
 * asks for it. The master gives a value to one client at a time, and memory to whoever begins first.
 *
 * <p><b>Threading:</b> {@link #run} by one thread at a time, {@link #stop} by any. <b>Blocking:</b> on the file system,
 * on owners of memory and on the master.
 */
public final class Promoter {
    private static final System.Logger LOG = System.getLogger(Promoter.class.getName());
    private static final int STEP = 32;

    private final UUID clientId;
    private final Master master;
    private final DistributedDiskReader reader;
    private final ReplicaMemory memory;
    private final Staging staging;
    private final long timeoutMs;
    private volatile boolean stopped;

    /** Nothing is copied before {@link #run}. */
    public Promoter(final UUID clientId, final Master master, final DistributedDiskReader reader,
        final ReplicaMemory memory, final Staging staging, final long timeoutMs) {
        this.clientId = clientId;
        this.master = master;
        this.reader = reader;
        this.memory = memory;
        this.staging = staging;
        this.timeoutMs = timeoutMs;
    }

    /** Carries out what waits. */
    public void run() {
        List<PromotionTask> tasks;
        do {
            tasks = stopped ? List.of() : master.apply(new FetchPromotions(clientId, STEP));
            tasks.forEach(this::carryOut);
        } while (!tasks.isEmpty());
    }

    /** Ends {@link #run} after the copy that is under way; what was fetched beyond it is given to others in time. */
    public void stop() {
        stopped = true;
    }

    private void carryOut(final PromotionTask task) {
        if (stopped) {
            return;
        }
        final long askedNanos = System.nanoTime();
        final PromotionReply reply;
        try {
            reply = master.apply(new PromotionStart(clientId, task.key(), task.version()));
        } catch (final StoreException e) {
            LOG.log(System.Logger.Level.WARNING, "memory for {0} could not be asked for: {1}", task.key(),
                e.getMessage());
            return;
        }
        if (!reply.accepted()) {
            return;
        }
        CopyOutcome outcome = CopyOutcome.failed("it was not copied");
        try {
            outcome = copy(task, reply.memory(), askedNanos);
        } catch (final StoreException | NativeException e) {
            outcome = CopyOutcome.failed(e.getMessage());
        } finally {
            end(task, reply.replicaId(), outcome);
        }
    }

    private CopyOutcome copy(final PromotionTask task, final ReplicaDescriptor.Memory target, final long askedNanos) {
        final long size = task.place().objectSize();
        try (Staging.Piece room = staging.take(size)) {
            final MemorySegment value = room.slice().segment().asSlice(0, size);
            reader.start(task.place(), 0, List.of(value), timeoutMs, true).await();
            final long found = BlockHash.xxh64(value);
            if (found != task.checksum()) {
                // Its pages may be another value's by now. Who gets it next finds out, and says so.
                return CopyOutcome.failed("it has checksum " + Long.toHexString(found) + ", written was "
                    + Long.toHexString(task.checksum()));
            }
            final long leftMs = timeoutMs - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - askedNanos);
            if (leftMs <= 0) {
                return CopyOutcome.failed("it was not read within " + timeoutMs + " ms; raise transferTimeoutMs");
            }
            final Move move = memory.startWrite(List.of(target), List.of(value), leftMs, true);
            final String problem = move.finish();
            return new CopyOutcome(problem, move.isSettled());
        }
    }

    private void end(final PromotionTask task, final long replicaId, final CopyOutcome outcome) {
        if (outcome.problem() != null) {
            LOG.log(System.Logger.Level.WARNING, "{0} was not copied from the shared disk to memory: {1}", task.key(),
                outcome.problem());
        }
        try {
            master.apply(new PromotionEnd(clientId, task.key(), replicaId, outcome.problem() == null,
                outcome.settled()));
        } catch (final StoreException e) {
            LOG.log(System.Logger.Level.WARNING, "the master could not be told that {0} was copied up; it frees the "
                + "memory after a while by itself: {1}", task.key(), e.getMessage());
        }
    }
}
