package io.kvtier.store.client.read;

import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.call.Counters;
import io.kvtier.store.client.device.BlockDevices;
import io.kvtier.store.client.disk.DiskTier;
import io.kvtier.store.client.gds.GdsTier;
import io.kvtier.store.client.owner.OwnerReads;
import io.kvtier.store.client.request.ObjectRead;
import io.kvtier.store.client.request.ReadRequest;
import io.kvtier.store.client.request.ReadTerms;
import io.kvtier.store.client.shared.KeyFileTier;
import io.kvtier.store.client.shared.SharedDiskTier;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.ReadDone;
import io.kvtier.store.protocol.ObjectCommand.ReadStart;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.Locality;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaSelection;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.storage.PieceHash;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Supplier;

/**
 * Gets: asks the master, picks a replica, copies; when it cannot be read, the next one, and in the end a miss.
 *
 * <p>In the master's own process a memory replica is held from the answer to the end of the copy. Elsewhere a lease
 * says for how long it stays, or one on a block device: it counts from before the master was asked, and is looked at
 * when the bytes are there. After its end they may be another value's, are not given out, and the master is asked
 * again.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class Reader {
    private static final System.Logger LOG = System.getLogger(Reader.class.getName());
    /** Values of a batch that the master is asked for at once; what is read last must be read within its lease. */
    private static final int CHUNK_ITEMS = 1024;
    private static final long CHUNK_BYTES = 256L << 20;
    /** Reads in a row that may take longer than their lease. */
    private static final int MOST_LATE = 3;
    /** How often the master is asked for one value: each time it knows of fewer replicas. */
    private static final int MOST_ASKED = 64;

    private final Sources sources;
    private final ReadTerms terms;

    /**
     * Where values come from.
     *
     * @param locality what is near.
     * @param master   knows the replicas.
     * @param memory   reaches those in memory.
     * @param devices  reaches those on block devices; null where there are none.
     * @param disk     this client's own; null without one.
     * @param file     this client's own for GDS replicas; null without one.
     * @param shared   the shared disk; null without one.
     * @param keyFiles files of single values; null without any.
     * @param owners   reach other clients' disks; null where there are none.
     * @param counters of the store.
     */
    public record Sources(Supplier<Locality> locality, Master master, ReplicaMemory memory, BlockDevices devices,
                   DiskTier disk, GdsTier file, SharedDiskTier shared, KeyFileTier keyFiles, OwnerReads owners,
                   Counters counters) {
    }

    /** A copy of a replica under way. */
    record Copy(ObjectRead read, Replica replica, long length, Move move) {
    }

    /** A reader of these sources. */
    public Reader(final Sources sources, final ReadTerms terms) {
        this.sources = sources;
        this.terms = terms;
    }

    Sources sources() {
        return sources;
    }

    ReadTerms terms() {
        return terms;
    }

    /** Gets one value; blocks until its bytes are in the memory, or none can be read. */
    public GetOutcome get(final ReadRequest request) {
        return get(new ObjectRead(request, 0));
    }

    GetOutcome get(final ObjectRead read) {
        while (true) {
            final long now = System.nanoTime();
            answered(read, now, sources.master().apply(new ReadStart(read.request().key(), terms.hold())));
            GetOutcome outcome;
            try {
                outcome = attempt(read);
            } finally {
                letGo(read);
            }
            if (outcome != null) {
                return outcome;
            }
            if (read.asked() >= MOST_ASKED) {
                // It names others each time, and none of them can be read.
                sources.counters().misses().increment();
                return GetOutcome.MISS;
            }
        }
    }

    void answered(final ObjectRead read, final long when, final ReadReply reply) {
        read.answered(when, reply);
        if (sources.owners() != null) {
            read.listsBefore(sources.owners().files().asked());
        }
    }

    /** Null when the master must be asked again. */
    private GetOutcome attempt(final ObjectRead read) {
        while (true) {
            final Replica best = best(read);
            if (best == null) {
                return none(read);
            }
            final GetOutcome outcome = finish(start(read, best, true));
            if (outcome != null) {
                return outcome;
            }
            if (read.isStale()) {
                return null;
            }
        }
    }

    /** No replica is left: a miss, unless the master may know of others. */
    GetOutcome none(final ObjectRead read) {
        if (read.isStale() && read.asked() < MOST_ASKED) {
            return null;
        }
        sources.counters().misses().increment();
        return GetOutcome.MISS;
    }

    Replica best(final ObjectRead read) {
        final ReadReply object = read.object();
        return object.found()
            ? ReplicaSelection.best(object.replicas(), sources.locality().get(), read.failed()) : null;
    }

    Copy start(final ObjectRead read, final Replica replica, final boolean alone) {
        final ReadRequest request = read.request();
        final ReadReply object = read.object();
        final long length = request.lengthOf(object.size());
        final Move move = switch (replica.descriptor()) {
            case ReplicaDescriptor.Memory memory -> sources.memory().startRead(memory, request.offset(), length,
                request.target(length), terms.timeoutMs(), alone);
            case ReplicaDescriptor.Nof nof when sources.devices() != null -> sources.devices().startRead(nof,
                request.offset(), length, request.target(length), terms.timeoutMs(), alone);
            case ReplicaDescriptor.LocalDisk own when isOwn(own) ->
                sources.disk().startRead(new DiskTier.Wanted(request, object, replica.id()), length, alone);
            case ReplicaDescriptor.Gds own when isOwn(own) ->
                sources.file().startRead(own, read, replica.id(), length, alone);
            case ReplicaDescriptor.DistributedDisk place when sources.shared() != null ->
                sources.shared().startRead(place, read, length, terms, alone);
            case ReplicaDescriptor.LocalDisk other when sources.owners() != null ->
                readFrom(other.transportEndpoint(), read, replica, length);
            case ReplicaDescriptor.Gds other when sources.owners() != null ->
                readFrom(sources.owners().files().endpoint(other, read.listsBefore()), read, replica, length);
            case ReplicaDescriptor.Disk own when sources.keyFiles() != null ->
                sources.keyFiles().startRead(own, read, replica.id(), length);
            default -> Move.failed("this client does not reach replicas of kind " + replica.type());
        };
        return new Copy(read, replica, length, move);
    }

    private Move readFrom(final String endpoint, final ObjectRead read, final Replica replica, final long length) {
        return endpoint.isEmpty() ? Move.failed("its owner does not answer reads")
            : sources.owners().read(endpoint, List.of(new OwnerReads.Wanted(read, replica, length))).getFirst();
    }

    /** Where the owner of a replica that another client has answers; null for any other replica. */
    String ownerOf(final ObjectRead read, final Replica replica) {
        return switch (replica.descriptor()) {
            case ReplicaDescriptor.LocalDisk disk when !isOwn(disk) -> disk.transportEndpoint();
            case ReplicaDescriptor.Gds gds when !isOwn(gds) ->
                sources.owners().files().endpoint(gds, read.listsBefore());
            default -> null;
        };
    }

    private boolean isOwn(final ReplicaDescriptor.Gds replica) {
        return sources.file() != null && sources.file().isOwn(replica);
    }

    private boolean isOwn(final ReplicaDescriptor.LocalDisk replica) {
        return sources.disk() != null && replica.clientId().equals(sources.disk().clientId());
    }

    /** Waits for the bytes; null when they are not there: it failed, or the master is to be asked again. */
    GetOutcome finish(final Copy copy) {
        final ObjectRead read = copy.read();
        final String problem = copy.move().finish();
        final boolean memory = copy.replica().type() == ReplicaType.MEMORY;
        if (problem != null) {
            LOG.log(System.Logger.Level.DEBUG, "{0} could not be read from a {1} replica: {2}", read.request().key(),
                copy.replica().type(), problem);
            // The master has been told of a value that is gone from a disk or a file, and may have another one by now;
            // and where others are is not sure when the lease is over.
            read.failed(copy.replica(), isOwn(copy.replica()) || isOver(read));
            return null;
        }
        if (isKeptByLease(copy.replica().type()) && isOver(read)) {
            tooLate(read);
            return null;
        }
        // A value from this client's own disk has been compared.
        if (!isOwnDisk(copy.replica()) && !isStraight(copy)
            && !isIntact(read, copy)) {
            wrong(copy);
            return null;
        }
        read.request().deliver(copy.length());
        if (memory) {
            sources.counters().memoryHits().increment();
            sources.counters().memoryReadBytes().add(copy.length());
        } else if (isOwnFile(copy.replica())) {
            sources.file().answered(copy.length());
        }
        return new GetOutcome(true, read.object().size(), copy.replica().type());
    }

    /** Whether its place is given to others when the lease is over: a range of memory, a device or a shared file. */
    private static boolean isKeptByLease(final ReplicaType type) {
        return type == ReplicaType.MEMORY || type == ReplicaType.NOF || type == ReplicaType.DISTRIBUTED_DISK;
    }

    /** The bytes of a replica were wrong. */
    private void wrong(final Copy copy) {
        final ObjectRead read = copy.read();
        if (copy.move().isElsewhereNow()) {
            // They were those of a file that has been replaced since it was opened.
            read.again();
            return;
        }
        final ReplicaType type = copy.replica().type();
        if (type == ReplicaType.DISTRIBUTED_DISK && !read.wrongAgain()) {
            // What a mount has read ahead of what another host wrote there, it may give to direct reads too (seen on
            // MooseFS), until the file is opened anew, as it is for this.
            read.again();
            return;
        }
        final boolean sameForAll = type == ReplicaType.NOF || type == ReplicaType.GDS
            || type == ReplicaType.DISTRIBUTED_DISK || type == ReplicaType.DISK;
        if (sameForAll) {
            // It is the right device or file, so nobody else would find better bytes there.
            sources.master().apply(new ObjectCommand.ReplicaUnreadable(read.request().key(),
                read.object().version(), copy.replica().id()));
        }
        read.failed(copy.replica(), sameForAll);
    }

    private boolean isOver(final ObjectRead read) {
        return !terms.hold() && read.leaseLeftMs() <= 0;
    }

    private void tooLate(final ObjectRead read) {
        sources.counters().lateReads().increment();
        if (read.late() == MOST_LATE) {
            throw new StoreException(ErrorCode.LEASE_EXPIRED, "value " + read.request().key() + " of "
                + read.object().size() + " bytes took longer to read than its lease of " + read.object().leaseMs()
                + " ms, " + MOST_LATE + " times; give the master a longer lease, or read the value in parts");
        }
        read.again();
    }

    /** Whether it lies where only this client reads. */
    private boolean isOwn(final Replica replica) {
        return isOwnDisk(replica) || isOwnFile(replica);
    }

    private boolean isOwnFile(final Replica replica) {
        return replica.descriptor() instanceof ReplicaDescriptor.Gds gds && isOwn(gds);
    }

    private boolean isOwnDisk(final Replica replica) {
        return replica.descriptor() instanceof ReplicaDescriptor.LocalDisk disk && isOwn(disk);
    }

    /** Whether the bytes went where no processor can look at them. */
    private boolean isStraight(final Copy copy) {
        return isOwnFile(copy.replica()) && sources.file().goesStraight(copy.read().request().regions());
    }

    /**
     * Whether the bytes are those that were written, as far as that can be told: of a part of a value it cannot, unless
     * all of it was read.
     */
    private boolean isIntact(final ObjectRead read, final Copy copy) {
        final ReadReply object = read.object();
        final ReadRequest request = read.request();
        final long length = copy.length();
        final boolean wanted = copy.replica().type() == ReplicaType.GDS ? terms.verifyFile() : terms.verify();
        final OptionalLong ofAll = copy.move().checksumOfAll();
        if (!object.checksummed() || !wanted || length != object.size() && ofAll.isEmpty()) {
            return true;
        }
        final long found = ofAll.isPresent() ? ofAll.getAsLong()
            : PieceHash.xxh64(request.target(length), object.size());
        if (found == object.checksum()) {
            return true;
        }
        sources.counters().checksumMismatches().increment();
        LOG.log(System.Logger.Level.WARNING, "value {0} has checksum {1}, written was {2}; another replica is tried",
            request.key(), Long.toHexString(found), Long.toHexString(object.checksum()));
        return false;
    }

    private void letGo(final ObjectRead read) {
        if (read.object().held() != 0) {
            sources.master().apply(new ReadDone(read.request().key(), read.object().held()));
        }
    }

    /** Gets many values, each of which may fail alone; blocks as {@link #get}. */
    public List<BatchResult<GetOutcome>> getBatch(final List<ReadRequest> requests) {
        @SuppressWarnings({"unchecked", "rawtypes"}) // An array of a generic type cannot be made otherwise.
        final BatchResult<GetOutcome>[] results = new BatchResult[requests.size()];
        int from = 0;
        while (from < requests.size()) {
            long bytes = 0;
            int to = from;
            while (to < requests.size() && to - from < CHUNK_ITEMS && (to == from || bytes <= CHUNK_BYTES)) {
                bytes += requests.get(to).room();
                to++;
            }
            new BatchRead(this, requests, results, from, to).run();
            from = to;
        }
        return Arrays.asList(results);
    }
}
