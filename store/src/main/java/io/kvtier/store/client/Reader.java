package io.kvtier.store.client;

import io.kvtier.alloc.HostRegion;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Locality;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaSelection;
import io.kvtier.store.replica.ReplicaType;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.List;
import java.util.Set;

/**
 * Gets: asks the master, picks a replica, copies. A memory replica is held from the answer to the end of the copy, so
 * no lease has to be long enough for it.
 *
 * <p><b>Threading:</b> stateless.
 */
final class Reader {
    /** Disk reads of one batch that are under way at the same time; bounds the memory they take. */
    private static final int BATCH_WINDOW = 32;

    private final Locality locality;
    private final Master master;
    private final HostRegion memory;
    private final DiskTier disk;
    private final Counters counters;

    /** A get that is either over or waits for the disk. */
    private record Started(ReadRequest request, long valueSize, GetOutcome outcome, DiskRead read) {
    }

    /** A batch's disk read and where its result goes. */
    private record Waiting(int index, Started started) {
    }

    /**
     * A reader.
     *
     * @param disk null without a disk tier.
     */
    Reader(final Locality locality, final Master master, final HostRegion memory, final DiskTier disk,
        final Counters counters) {
        this.locality = locality;
        this.master = master;
        this.memory = memory;
        this.disk = disk;
        this.counters = counters;
    }

    GetOutcome get(final ReadRequest request) {
        while (true) {
            final GetOutcome outcome = finish(start(request, true));
            if (outcome != null) {
                return outcome;
            }
        }
    }

    List<BatchResult<GetOutcome>> getBatch(final List<ReadRequest> requests) {
        @SuppressWarnings({"unchecked", "rawtypes"}) // An array of a generic type cannot be made otherwise.
        final BatchResult<GetOutcome>[] results = new BatchResult[requests.size()];
        final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
        try {
            for (int i = 0; i < requests.size(); i++) {
                startOne(requests.get(i), i, results, waiting);
                if (waiting.size() == BATCH_WINDOW) {
                    finishOne(waiting.remove(), results);
                }
            }
            while (!waiting.isEmpty()) {
                finishOne(waiting.remove(), results);
            }
        } finally {
            waiting.forEach(left -> left.started().read().abandon());
        }
        return Arrays.asList(results);
    }

    private void startOne(final ReadRequest request, final int index, final BatchResult<GetOutcome>[] results,
        final ArrayDeque<Waiting> waiting) {
        try {
            final Started started = start(request, false);
            if (started.read() == null) {
                results[index] = new BatchResult<>(started.outcome(), null);
            } else {
                waiting.add(new Waiting(index, started));
            }
        } catch (final RuntimeException e) {
            results[index] = failed(e);
        }
    }

    private void finishOne(final Waiting next, final BatchResult<GetOutcome>[] results) {
        try {
            final GetOutcome outcome = finish(next.started());
            results[next.index()] = new BatchResult<>(outcome == null ? get(next.started().request()) : outcome, null);
        } catch (final RuntimeException e) {
            results[next.index()] = failed(e);
        }
    }

    static <T> BatchResult<T> failed(final RuntimeException e) {
        return new BatchResult<>(null, e instanceof StoreException known ? known
            : new StoreException(ErrorCode.INTERNAL_ERROR, String.valueOf(e.getMessage()), e));
    }

    private Started start(final ReadRequest request, final boolean alone) {
        while (true) {
            final ReadReply object = master.apply(new ObjectCommand.ReadStart(request.key(), true));
            final Replica best = ReplicaSelection.best(object.replicas(), locality, Set.of());
            if (!object.found() || best == null) {
                counters.misses.increment();
                return new Started(request, 0, GetOutcome.MISS, null);
            }
            if (best.descriptor() instanceof ReplicaDescriptor.Memory range) {
                return new Started(request, object.size(), copy(request, object, range), null);
            }
            request.lengthOf(object.size());
            final DiskRead read = disk.startRead(request.key(), object, best.id(), alone);
            if (read != null) {
                return new Started(request, object.size(), null, read);
            }
            // Evicted since the master answered; it has been told, so asking again ends.
        }
    }

    private GetOutcome copy(final ReadRequest request, final ReadReply object, final ReplicaDescriptor.Memory range) {
        try {
            final long length = request.lengthOf(object.size());
            ScatterGather.scatter(memory.segment(), range.offset() + request.offset(), length, request.target());
            counters.memoryReadBytes.add(length);
        } finally {
            master.apply(new ObjectCommand.ReadDone(request.key(), object.held()));
        }
        counters.memoryHits.increment();
        return new GetOutcome(true, object.size(), ReplicaType.MEMORY);
    }

    /** Null when the bytes could not be read, and the replica has been forgotten: try again. */
    private static GetOutcome finish(final Started started) {
        if (started.read() == null) {
            return started.outcome();
        }
        final ReadRequest request = started.request();
        final boolean good = started.read().finish(request.offset(), request.lengthOf(started.valueSize()),
            request.target());
        return good ? new GetOutcome(true, started.valueSize(), ReplicaType.LOCAL_DISK) : null;
    }
}
