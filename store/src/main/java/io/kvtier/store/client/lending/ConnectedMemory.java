package io.kvtier.store.client.lending;

import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.RemoteSegments;
import io.kvtier.store.client.transfer.RemoteTransfer;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.client.transfer.ScatterGather;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.transport.Direction;
import io.kvtier.transport.TransferEngine;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * Memory that many processes lend: what this one lends is copied, the rest goes through the transfer engine.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> the parts are the store's, which closes them.
 *
 * @param lent     what this process lends, maybe nothing.
 * @param segments of other processes.
 * @param engine   moves the bytes.
 * @param staging  for memory of callers that a transfer cannot use.
 */
public record ConnectedMemory(LentMemory lent, RemoteSegments segments, TransferEngine engine, Staging staging)
    implements ReplicaMemory {
    private static final String CUT = "a page of shared memory is gone: its file was cut while it was mapped";
    private static final String OUTSIDE = "the master named a range that is not inside the segment";

    /** A replica in this process's memory, entered. */
    private record Mine(LentMemory.Generation generation, long offset) {
    }

    @Override
    public Move startRead(final ReplicaDescriptor.Memory replica, final long offset, final long length,
        final List<MemorySegment> target, final long timeoutMs, final boolean alone) {
        final LentMemory.Generation mine = enter(replica);
        if (mine != null) {
            return scatter(mine, replica.offset() + offset, length, target);
        }
        RemoteTransfer.check(target, Direction.READ);
        if (length == 0) {
            return Move.DONE;
        }
        final RemoteTransfer transfer = new RemoteTransfer(engine, segments, staging, Direction.READ);
        transfer.add(segments.enter(replica.segment()), replica.offset() + offset, length, target);
        transfer.start(timeoutMs, alone);
        return transfer;
    }

    private static Move scatter(final LentMemory.Generation mine, final long offset, final long length,
        final List<MemorySegment> target) {
        try {
            if (!mine.has(offset, length)) {
                return Move.failed(OUTSIDE);
            }
            ScatterGather.scatter(mine.region().segment(), offset, length, target);
            mine.region().raiseFault();
            return Move.DONE;
        } catch (final InternalError e) {
            return Move.failed(CUT);
        } finally {
            mine.leave();
        }
    }

    @Override
    public Move startWrite(final List<ReplicaDescriptor.Memory> replicas, final List<MemorySegment> source,
        final long timeoutMs, final boolean alone) {
        RemoteTransfer.check(source, Direction.WRITE);
        final long size = ScatterGather.byteSize(source);
        if (size == 0) {
            return Move.DONE;
        }
        final List<Mine> mine = new ArrayList<>(1);
        RemoteTransfer others = null;
        try {
            for (final ReplicaDescriptor.Memory replica : replicas) {
                final LentMemory.Generation generation = enter(replica);
                if (generation != null) {
                    mine.add(new Mine(generation, replica.offset()));
                } else {
                    others = others != null ? others : new RemoteTransfer(engine, segments, staging, Direction.WRITE);
                    others.add(segments.enter(replica.segment()), replica.offset(), size, source);
                }
            }
            if (others != null) {
                others.start(timeoutMs, alone && mine.isEmpty());
            }
        } catch (final RuntimeException | Error e) {
            // Memory that stays entered could never be taken back.
            mine.forEach(one -> one.generation().leave());
            if (others != null) {
                others.finish();
            }
            throw e;
        }
        // While the others' bytes are under way.
        final String problem = gather(mine, source);
        if (others == null) {
            return problem == null ? Move.DONE : Move.failed(problem);
        }
        return new Both(problem, others);
    }

    /** What became of this process's replicas, and the way to those of others. */
    private record Both(String problem, RemoteTransfer others) implements Move {
        @Override
        public String finish() {
            final String theirs = others.finish();
            return problem == null ? theirs : problem;
        }

        @Override
        public boolean isSettled() {
            return others.isSettled();
        }
    }

    /** Null when the bytes are in all of this process's replicas, else why not. */
    private static String gather(final List<Mine> mine, final List<MemorySegment> source) {
        try {
            final long size = ScatterGather.byteSize(source);
            for (final Mine one : mine) {
                if (!one.generation().has(one.offset(), size)) {
                    return OUTSIDE;
                }
                ScatterGather.gather(source, one.generation().region().segment(), one.offset());
                one.generation().region().raiseFault();
            }
            return null;
        } catch (final InternalError e) {
            return CUT;
        } catch (final RuntimeException e) {
            // Not thrown: transfers to others use the caller's memory, and must be waited for.
            return "the caller's memory could not be read: " + e;
        } finally {
            mine.forEach(one -> one.generation().leave());
        }
    }

    private LentMemory.Generation enter(final ReplicaDescriptor.Memory replica) {
        return lent.enter(replica.segment().segmentId());
    }

    @Override
    public OwnRange own(final ReplicaDescriptor.Memory replica, final long bytes) {
        final LentMemory.Generation mine = enter(replica);
        return mine == null ? null : mine.range(replica.offset(), bytes);
    }

    @Override
    public void close() {
        // The store closes the parts.
    }
}
