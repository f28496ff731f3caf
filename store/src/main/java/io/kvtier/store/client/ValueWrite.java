package io.kvtier.store.client;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.storage.PieceHash;
import java.util.ArrayList;
import java.util.List;

/**
 * A value on its way into the memory that the master gave it.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> {@link #finish} is called once after {@link #start}, whatever
 * happened; before it the caller's memory is in use.
 */
final class ValueWrite {
    private final int index;
    private final Writer.Value value;
    private final PutStartReply.Started started;
    private final long size;
    private final List<ReplicaDescriptor.Memory> memories;
    private long checksum;
    private Move move;
    private Throwable failure;

    ValueWrite(final int index, final Writer.Value value, final PutStartReply.Started started, final long size) {
        this.index = index;
        this.value = value;
        this.started = started;
        this.size = size;
        this.memories = memories(started.replicas());
    }

    private static List<ReplicaDescriptor.Memory> memories(final List<Replica> replicas) {
        if (replicas.size() == 1 && replicas.getFirst().descriptor() instanceof ReplicaDescriptor.Memory only) {
            return List.of(only);
        }
        final List<ReplicaDescriptor.Memory> found = new ArrayList<>(replicas.size());
        for (final Replica replica : replicas) {
            if (replica.descriptor() instanceof ReplicaDescriptor.Memory one) {
                found.add(one);
            }
        }
        return found;
    }

    void start(final ReplicaMemory memory, final long leftMs) {
        try {
            if (memories.isEmpty()) {
                throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE, "the master gave " + value.key()
                    + " room on block devices only, which this client does not reach; ask for a replica in memory");
            }
            if (leftMs > 0) {
                checksum = value.options().checksum() ? PieceHash.xxh64(value.source(), size) : 0;
                move = memory.startWrite(memories, value.source(), leftMs);
            }
        } catch (final RuntimeException | Error e) {
            // An error too (memory mapped from a file that was cut): the room must be given back.
            failure = e;
        }
    }

    /** Waits for the bytes; {@code leftMs} is what is left of the time to write them. */
    void finish(final long leftMs) {
        if (failure != null) {
            return;
        }
        if (move != null) {
            final String problem = move.finish();
            if (problem != null) {
                failure = new StoreException(ErrorCode.TRANSFER_FAIL, "value " + value.key() + " of " + size
                    + " bytes could not be written to all of its " + memories.size() + " replicas in memory: "
                    + problem);
            }
        }
        if (failure == null && (move == null || leftMs <= 0)) {
            failure = new StoreException(ErrorCode.TRANSFER_FAIL, "value " + value.key() + " of " + size
                + " bytes was not written in time; raise transferTimeoutMs, or cut the value");
        }
    }

    boolean isGood() {
        return failure == null;
    }

    /** Why the bytes are not there; thrown by the caller when the room has been given back. */
    Throwable failure() {
        return failure;
    }

    RuntimeException thrown() {
        if (failure instanceof Error error) {
            throw error;
        }
        return (RuntimeException) failure;
    }

    int index() {
        return index;
    }

    Writer.Value value() {
        return value;
    }

    PutStartReply.Started started() {
        return started;
    }

    long size() {
        return size;
    }

    long checksum() {
        return checksum;
    }

    /** Whether nothing of it is written any more. */
    boolean isSettled() {
        return move == null || move.isSettled();
    }

    /** What has been written. */
    Scope scope() {
        return memories.size() == started.replicas().size() ? Scope.ALL : Scope.MEMORY;
    }
}
