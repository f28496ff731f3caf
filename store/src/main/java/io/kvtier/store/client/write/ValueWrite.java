package io.kvtier.store.client.write;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.device.BlockDevices;
import io.kvtier.store.client.gds.GdsWrite;
import io.kvtier.store.client.request.PutRequest;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.storage.PieceHash;
import java.util.ArrayList;
import java.util.List;

/**
 * A value on its way to the places that the master gave it, in memory and on block devices, and to this client's own
 * file.
 *
 * <p>Where one replica of memory and one of block devices were asked for, either is enough; else all that there are
 * have to be written, and always that in the file, once the master has taken it.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> {@link #finish} is called once after {@link #start}, whatever
 * happened; before it the caller's memory is in use.
 */
final class ValueWrite {
    private static final System.Logger LOG = System.getLogger(ValueWrite.class.getName());

    private final int index;
    private final PutRequest value;
    private final PutStartReply.Started started;
    private final long size;
    private final List<ReplicaDescriptor.Memory> memories;
    private final List<ReplicaDescriptor.Nof> places;
    /** Null when it does not go to a file. */
    private final GdsWrite file;
    private long checksum;
    private Move toMemory;
    private Move toDevices;
    private Move toFile;
    private boolean inMemory;
    private boolean onDevices;
    private boolean inFile;
    private Throwable failure;

    /**
     * A value that has room.
     *
     * @param file the room in this client's own file; null for none. Its owner closes it.
     */
    ValueWrite(final int index, final PutRequest value, final PutStartReply.Started started, final long size,
        final GdsWrite file) {
        this.index = index;
        this.value = value;
        this.started = started;
        this.size = size;
        this.file = file;
        this.memories = memories(started.replicas());
        this.places = memories.size() == started.replicas().size() ? List.of() : places(started.replicas());
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

    private static List<ReplicaDescriptor.Nof> places(final List<Replica> replicas) {
        final List<ReplicaDescriptor.Nof> found = new ArrayList<>(replicas.size());
        for (final Replica replica : replicas) {
            if (replica.descriptor() instanceof ReplicaDescriptor.Nof one) {
                found.add(one);
            }
        }
        return found;
    }

    /**
     * Brings the bytes to where the processor can touch them, if they are on a GPU and it has to: before it is asked
     * what is left of the time to write them.
     */
    void prepare() {
        if (memories.isEmpty() && places.isEmpty() && !isChecksummed()) {
            return;
        }
        try {
            value.source();
        } catch (final RuntimeException | Error e) {
            failure = e;
        }
    }

    /**
     * Begins to write.
     *
     * @param memory  reaches the replicas in memory.
     * @param devices reaches those on block devices; null where there are none.
     * @param leftMs  milliseconds for it; 0 when it is too late.
     * @param alone   whether the caller finishes this write before it starts another.
     */
    void start(final ReplicaMemory memory, final BlockDevices devices, final long leftMs, final boolean alone) {
        if (failure != null) {
            return;
        }
        try {
            if (memories.size() + places.size() < placed() || devices == null && !places.isEmpty()) {
                throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE, "the master gave " + value.key()
                    + " room of a kind that this client does not reach; ask for replicas in memory");
            }
            if (leftMs > 0) {
                // The slower ones first: the rest is done while they are at it.
                toDevices = places.isEmpty() ? null : devices.startWrite(places, value.source(), leftMs);
                toFile = goesToFile() ? file.start(value) : null;
                checksum = isChecksummed() ? PieceHash.xxh64(value.source(), size) : 0;
                toMemory = memories.isEmpty() ? null : memory.startWrite(memories, value.source(), leftMs,
                    alone && toDevices == null && toFile == null);
                value.raiseFault();
            }
        } catch (final RuntimeException | Error e) {
            // An error too (memory mapped from a file that was cut): the room must be given back.
            failure = e;
        }
    }

    /** Waits for the bytes; {@code leftMs} is what is left of the time to write them. */
    void finish(final long leftMs) {
        final String first = finished(toMemory);
        final String second = finished(toDevices);
        final String third = finished(toFile);
        value.letGo();
        if (failure != null) {
            return;
        }
        inMemory = toMemory != null && first == null;
        onDevices = toDevices != null && second == null;
        inFile = toFile != null && third == null;
        final boolean failed = first != null || second != null;
        if (third != null) {
            failure = problem("could not be written to the GDS file: " + third);
        } else if (failed && !(isEitherEnough() && (inMemory || onDevices))) {
            failure = problem("could not be written to all of its " + memories.size() + " replicas in memory"
                + (places.isEmpty() ? "" : " and " + places.size() + " on block devices") + ": " + both(first, second));
        } else if (leftMs <= 0 || toMemory == null && toDevices == null && toFile == null) {
            failure = problem("was not written in time; raise transferTimeoutMs, or cut the value");
        } else if (failed) {
            LOG.log(System.Logger.Level.DEBUG, "{0} was stored {1} only: {2}", value.key(),
                inMemory ? "in memory" : "on a block device", both(first, second));
        }
    }

    private static String finished(final Move move) {
        return move == null ? null : move.finish();
    }

    private StoreException problem(final String what) {
        return new StoreException(ErrorCode.TRANSFER_FAIL,
            "value " + value.key() + " of " + size + " bytes " + what);
    }

    private static String both(final String first, final String second) {
        return first == null ? second : second == null ? first : first + "; " + second;
    }

    private boolean isEitherEnough() {
        return value.options().replicas() == 1 && value.options().nofReplicas() == 1;
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

    PutRequest value() {
        return value;
    }

    PutStartReply.Started started() {
        return started;
    }

    long size() {
        return size;
    }

    /** Whether the value is to be written to the file. */
    private boolean goesToFile() {
        return file != null && file.isAccepted();
    }

    /** Replicas that are to be written beside that in the file. */
    private int placed() {
        int placed = 0;
        for (int i = 0; i < started.replicas().size(); i++) {
            placed += started.replicas().get(i).type() == ReplicaType.GDS ? 0 : 1;
        }
        return placed;
    }

    /**
     * Whether a checksum is taken: also unasked where a device or a file takes the bytes, which may give others back.
     * What only a GPU and the file have seen has none.
     */
    boolean isChecksummed() {
        return value.options().checksum() || !places.isEmpty() || goesToFile() && file.isHost(value);
    }

    long checksum() {
        return checksum;
    }

    /** Whether nothing of it is written any more. A write to the file has ended when it was finished. */
    boolean isSettled() {
        return (toMemory == null || toMemory.isSettled()) && (toDevices == null || toDevices.isSettled());
    }

    boolean isInMemory() {
        return inMemory;
    }

    /** The put has ended: what is in the file can be read. */
    void committed() {
        if (inFile) {
            file.committed(size, isChecksummed(), checksum);
        }
    }

    /** What has been written; one for all where that is everything that the master may know of. */
    List<Scope> written() {
        final List<Scope> missing = missing();
        if (missing.isEmpty()) {
            return List.of(Scope.ALL);
        }
        final List<Scope> written = new ArrayList<>(2);
        if (inMemory) {
            written.add(Scope.MEMORY);
        }
        if (onDevices) {
            written.add(Scope.NOF);
        }
        if (inFile) {
            written.add(Scope.GDS);
        }
        return written;
    }

    /** What has not, and is to be given up. */
    List<Scope> missing() {
        final List<Scope> missing = new ArrayList<>(2);
        if (!inMemory && !memories.isEmpty()) {
            missing.add(Scope.MEMORY);
        }
        if (!onDevices && !places.isEmpty()) {
            missing.add(Scope.NOF);
        }
        if (!inFile && file != null && (file.isAccepted() || file.isDoubtful())) {
            // In doubt the master may have it, and would take it for written if all were said to be.
            missing.add(Scope.GDS);
        }
        return missing;
    }
}
