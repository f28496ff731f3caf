package io.kvtier.store.client.disk;

import io.kvtier.alloc.HostMemory;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.storage.BlockHash;
import io.kvtier.store.storage.StorageBackend.ReadLease;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferException;
import java.lang.foreign.MemorySegment;

/**
 * One value on its way from this client's disk to whoever asked, and back into the memory tier where there is room.
 *
 * <p>The whole value is read even for a part of it: its checksum is over the whole. It is read into memory of the
 * store, never into the caller's, so that wrong bytes never reach the caller and any kind of memory can be filled.
 *
 * <p>A read that is lost (see {@link Transfer#isSettled}) says nothing about the value, which stays, and its memory is
 * nobody else's until the process ends.
 *
 * <p><b>Threading:</b> one thread; {@link #finish} waits for the disk. <b>Lifetime:</b> finish is called exactly once;
 * it gives back the hold on the disk and the memory, whatever happens, but for memory of a read that is lost.
 */
final class DiskRead implements Move {
    private static final System.Logger LOG = System.getLogger(DiskRead.class.getName());

    private final DiskTier tier;
    private final ObjectKey key;
    private final long replicaId;
    private final ReadLease lease;
    private final DiskRoom room;
    private final Receiver receiver;
    private Transfer transfer;

    /** Takes a value that is there and right. */
    interface Receiver {
        /** It is read to be promoted, and for nobody who asked. */
        Receiver NOBODY = value -> { };

        /** Called while the memory is still the value's. */
        void accept(MemorySegment value);
    }

    private DiskRead(final DiskTier tier, final ObjectKey key, final long replicaId, final ReadLease lease,
        final DiskRoom room, final Receiver receiver) {
        this.tier = tier;
        this.key = key;
        this.replicaId = replicaId;
        this.lease = lease;
        this.room = room;
        this.receiver = receiver;
    }

    /**
     * Starts to read.
     *
     * @param lease    on the value; closed at the end of the read, or when this throws.
     * @param given    where to; null for memory of the memory tier or staging memory.
     * @param receiver takes the value.
     * @param alone    whether the caller finishes this read before it starts another.
     */
    static Move start(final DiskTier tier, final ObjectKey key, final long replicaId, final ReadLease lease,
        final DiskRoom given, final Receiver receiver, final boolean alone) {
        DiskRead read = null;
        try {
            final DiskRoom room = given != null ? given
                : DiskRoom.take(tier, key, lease.value().version(), lease.value().size());
            read = new DiskRead(tier, key, replicaId, lease, room, receiver);
            return read.begin(alone);
        } catch (final RuntimeException | Error e) {
            // An Error too: no memory is left for staging, say.
            if (read == null) {
                lease.close();
            } else {
                read.end(false);
            }
            throw e;
        }
    }

    /** A file that cannot be opened is a copy that cannot be read; only one that is not there any more is given up. */
    private Move begin(final boolean alone) {
        try {
            transfer = lease.read(room.slice(), alone);
            return this;
        } catch (final ErrnoException e) {
            tier.counters().ioErrors().increment();
            if (e.errno() == Errno.ENOENT) {
                drop();
            } else {
                end(false);
            }
            return Move.failed("its file cannot be opened: " + e.getMessage());
        }
    }

    @Override
    public String finish() {
        final long size = lease.value().size();
        String problem = "the caller's memory could not be filled";
        try {
            problem = arrived(size);
            if (problem == null) {
                receiver.accept(room.slice().segment().asSlice(0, size));
            }
        } catch (final RuntimeException | Error e) {
            // What is wrong with the caller's memory is not wrong with the value.
            end(problem == null);
            throw e;
        }
        if (problem == null) {
            end(true);
            if (receiver != Receiver.NOBODY) {
                tier.counters().diskHits().increment();
            }
            tier.counters().diskReadBytes().add(size);
        } else if (!isSettled()) {
            LOG.log(System.Logger.Level.WARNING, "{0} bytes of memory are out of use until the process ends: {1}",
                room.slice().length(), problem);
            end(false);
        } else {
            LOG.log(System.Logger.Level.WARNING, "value {0} is dropped from the disk: {1}", key, problem);
            drop();
        }
        return problem;
    }

    /** With the hold, which says which copy it is. */
    private void drop() {
        try (lease) {
            room.end(false, true);
            tier.dropUnreadable(lease, replicaId);
        }
    }

    private String arrived(final long size) {
        try {
            transfer.await();
        } catch (final TransferException e) {
            if (isSettled()) {
                tier.counters().ioErrors().increment();
            }
            return "it could not be read: " + e.getMessage();
        }
        if (!tier.settings().verify()) {
            return null;
        }
        final long expected = lease.value().checksum();
        final long found = BlockHash.xxh64(room.slice().segment().asSlice(0, size));
        // Memory that is gone says nothing about what is on the disk.
        ((HostMemory) room.slice().region()).raiseFault();
        if (found != expected) {
            tier.counters().checksumMismatches().increment();
            return "it has checksum " + Long.toHexString(found) + ", written was " + Long.toHexString(expected);
        }
        return null;
    }

    @Override
    public boolean isSettled() {
        return transfer == null || transfer.isSettled();
    }

    private void end(final boolean good) {
        lease.close();
        room.end(good, isSettled());
    }
}
