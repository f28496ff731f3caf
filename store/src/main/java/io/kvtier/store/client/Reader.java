package io.kvtier.store.client;

import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Batch;
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
import io.kvtier.transport.Direction;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
final class Reader {
    private static final System.Logger LOG = System.getLogger(Reader.class.getName());
    /** Copies of one batch that are under way at the same time; bounds the memory they take. */
    private static final int WINDOW = 32;
    /** Values of a batch that the master is asked for at once; what is read last must be read within its lease. */
    private static final int CHUNK_ITEMS = 1024;
    private static final long CHUNK_BYTES = 256L << 20;
    /** Reads in a row that may take longer than their lease. */
    private static final int MOST_LATE = 3;
    /** How often the master is asked for one value: each time it knows of fewer replicas. */
    private static final int MOST_ASKED = 64;

    private final Sources sources;
    private final Terms terms;

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
     * @param owners   reach other clients' disks; null where there are none.
     * @param counters of the store.
     */
    record Sources(Supplier<Locality> locality, Master master, ReplicaMemory memory, BlockDevices devices,
                   DiskTier disk, GdsTier file, SharedDiskTier shared, OwnerReads owners, Counters counters) {
    }

    /**
     * How values are read.
     *
     * @param hold       whether memory replicas are held, instead of leased.
     * @param verify     whether values that have a checksum are compared with it.
     * @param verifyFile the same of values in this client's own file.
     * @param timeoutMs  milliseconds for a transfer.
     */
    record Terms(boolean hold, boolean verify, boolean verifyFile, long timeoutMs) {
        /**
         * In the process of the master. Memory of this process that nobody else writes is not compared: it would cost a
         * hit more than its copy.
         */
        static Terms held(final boolean verifyFile) {
            return new Terms(true, false, verifyFile, 0);
        }
    }

    /** A copy of a replica under way. */
    private record Copy(ObjectRead read, Replica replica, long length, Move move) {
    }

    Reader(final Sources sources, final Terms terms) {
        this.sources = sources;
        this.terms = terms;
    }

    GetOutcome get(final ReadRequest request) {
        return get(new ObjectRead(request, 0));
    }

    private GetOutcome get(final ObjectRead read) {
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
                sources.counters().misses.increment();
                return GetOutcome.MISS;
            }
        }
    }

    private void answered(final ObjectRead read, final long when, final ReadReply reply) {
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
    private GetOutcome none(final ObjectRead read) {
        if (read.isStale() && read.asked() < MOST_ASKED) {
            return null;
        }
        sources.counters().misses.increment();
        return GetOutcome.MISS;
    }

    private Replica best(final ObjectRead read) {
        final ReadReply object = read.object();
        return object.found()
            ? ReplicaSelection.best(object.replicas(), sources.locality().get(), read.failed()) : null;
    }

    private Copy start(final ObjectRead read, final Replica replica, final boolean alone) {
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
            default -> Move.failed("this client does not reach replicas of kind " + replica.type());
        };
        return new Copy(read, replica, length, move);
    }

    private Move readFrom(final String endpoint, final ObjectRead read, final Replica replica, final long length) {
        return endpoint.isEmpty() ? Move.failed("its owner does not answer reads")
            : sources.owners().read(endpoint, List.of(new OwnerReads.Wanted(read, replica, length))).getFirst();
    }

    /** Where the owner of a replica that another client has answers; null for any other replica. */
    private String ownerOf(final ObjectRead read, final Replica replica) {
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
    private GetOutcome finish(final Copy copy) {
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
            sources.counters().memoryHits.increment();
            sources.counters().memoryReadBytes.add(copy.length());
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
        final boolean sameForAll = type == ReplicaType.NOF || type == ReplicaType.GDS
            || type == ReplicaType.DISTRIBUTED_DISK;
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
        sources.counters().lateReads.increment();
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
        sources.counters().checksumMismatches.increment();
        LOG.log(System.Logger.Level.WARNING, "value {0} has checksum {1}, written was {2}; another replica is tried",
            request.key(), Long.toHexString(found), Long.toHexString(object.checksum()));
        return false;
    }

    private void letGo(final ObjectRead read) {
        if (read.object().held() != 0) {
            sources.master().apply(new ReadDone(read.request().key(), read.object().held()));
        }
    }

    List<BatchResult<GetOutcome>> getBatch(final List<ReadRequest> requests) {
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
            new BatchRead(requests, results, from, to).run();
            from = to;
        }
        return Arrays.asList(results);
    }

    /** A part of a batch that the master is asked for at once. */
    private final class BatchRead {
        private final List<ReadRequest> requests;
        private final BatchResult<GetOutcome>[] results;
        private final int from;
        private final int to;
        private final ObjectRead[] reads;
        private final ArrayDeque<Copy> moving = new ArrayDeque<>();
        /** Of other clients' disks, by owner. */
        private final Map<String, List<Copy>> remote = new LinkedHashMap<>();

        BatchRead(final List<ReadRequest> requests, final BatchResult<GetOutcome>[] results, final int from,
            final int to) {
            this.requests = requests;
            this.results = results;
            this.from = from;
            this.to = to;
            this.reads = new ObjectRead[to];
        }

        void run() {
            if (!ask()) {
                return;
            }
            try {
                for (int i = from; i < to; i++) {
                    startOne(i);
                }
                while (!moving.isEmpty()) {
                    finishOne(moving.remove());
                }
                remote.forEach(this::readFrom);
            } finally {
                // Something is left after an error alone, which is thrown; the same may end these.
                moving.forEach(BatchRead::giveUp);
                letAllGo();
            }
            for (int i = from; i < to; i++) {
                if (results[i] == null) {
                    resume(i);
                }
            }
        }

        private static void giveUp(final Copy copy) {
            try {
                copy.move().finish();
            } catch (final RuntimeException | Error e) {
                LOG.log(System.Logger.Level.DEBUG, "a read that was given up failed", e);
            }
        }

        /** False when nothing came of it. */
        private boolean ask() {
            final List<ReadStart> commands = new ArrayList<>(to - from);
            for (int i = from; i < to; i++) {
                commands.add(new ReadStart(requests.get(i).key(), terms.hold()));
            }
            final long now = System.nanoTime();
            final List<BatchResult<ReadReply>> replies;
            try {
                replies = sources.master().apply(new Batch<ReadReply>(commands));
            } catch (final RuntimeException e) {
                for (int i = from; i < to; i++) {
                    results[i] = BatchCalls.failed(e);
                }
                return false;
            }
            for (int i = from; i < to; i++) {
                final BatchResult<ReadReply> reply = replies.get(i - from);
                if (reply.failure() != null) {
                    results[i] = BatchCalls.failed(reply.failure());
                } else {
                    reads[i] = new ObjectRead(requests.get(i), i);
                    answered(reads[i], now, reply.outcome());
                }
            }
            return true;
        }

        private void startOne(final int index) {
            final ObjectRead read = reads[index];
            if (read == null) {
                return;
            }
            try {
                final Replica best = best(read);
                if (best == null) {
                    results[index] = new BatchResult<>(none(read), null);
                    return;
                }
                final String owner = sources.owners() == null ? null : ownerOf(read, best);
                if (owner != null && !owner.isEmpty()) {
                    remote.computeIfAbsent(owner, any -> new ArrayList<>())
                        .add(new Copy(read, best, read.request().lengthOf(read.object().size()), null));
                    return;
                }
                moving.add(start(read, best, false));
                if (moving.size() == WINDOW) {
                    finishOne(moving.remove());
                }
            } catch (final RuntimeException e) {
                results[index] = BatchCalls.failed(e);
            }
        }

        private void finishOne(final Copy copy) {
            final int index = copy.read().index();
            try {
                final GetOutcome outcome = finish(copy);
                results[index] = outcome == null ? null : new BatchResult<>(outcome, null);
            } catch (final RuntimeException e) {
                results[index] = BatchCalls.failed(e);
            }
        }

        private void readFrom(final String owner, final List<Copy> wanted) {
            for (int at = 0; at < wanted.size(); at += WINDOW) {
                final List<Copy> part = usable(wanted.subList(at, Math.min(wanted.size(), at + WINDOW)));
                final List<Move> moves = part.isEmpty() ? List.of() : sources.owners().read(owner, part.stream()
                    .map(copy -> new OwnerReads.Wanted(copy.read(), copy.replica(), copy.length())).toList());
                for (int i = 0; i < part.size(); i++) {
                    final Copy copy = part.get(i);
                    moving.add(new Copy(copy.read(), copy.replica(), copy.length(), moves.get(i)));
                }
                while (!moving.isEmpty()) {
                    finishOne(moving.remove());
                }
            }
        }

        /** Those whose memory can be filled; the others fail, each alone. */
        private List<Copy> usable(final List<Copy> wanted) {
            final List<Copy> good = new ArrayList<>(wanted.size());
            for (final Copy copy : wanted) {
                try {
                    RemoteTransfer.check(copy.read().request().target(copy.length()), Direction.READ);
                    good.add(copy);
                } catch (final RuntimeException e) {
                    results[copy.read().index()] = BatchCalls.failed(e);
                }
            }
            return good;
        }

        private void letAllGo() {
            final List<ReadDone> held = new ArrayList<>();
            for (int i = from; i < to; i++) {
                if (reads[i] != null && reads[i].object().held() != 0) {
                    held.add(new ReadDone(requests.get(i).key(), reads[i].object().held()));
                }
            }
            if (!held.isEmpty()) {
                sources.master().apply(new Batch<ObjectCommand.Ack>(held));
            }
        }

        /** What could not be read at the first attempt: other replicas, one value at a time. */
        private void resume(final int index) {
            try {
                results[index] = new BatchResult<>(get(reads[index]), null);
            } catch (final RuntimeException e) {
                results[index] = BatchCalls.failed(e);
            }
        }
    }
}
