package io.kvtier.store.client;

import io.kvtier.alloc.RegionSlice;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.storage.BlockHash;
import io.kvtier.store.storage.StorageBackend.ReadLease;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferException;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * One value on its way from disk to a caller, and back into the memory tier where there is room.
 *
 * <p>The whole value is read even for a part of it: its checksum is over the whole. It is read into memory of the
 * store, never into the caller's, so that wrong bytes never reach the caller and any kind of memory can be filled.
 *
 * <p><b>Threading:</b> one thread; {@link #finish} waits for the disk. <b>Lifetime:</b> finish is called exactly once;
 * it gives back the hold on the disk, the staging memory and the promotion, whatever happens.
 */
final class DiskRead {
    private static final System.Logger LOG = System.getLogger(DiskRead.class.getName());

    private final DiskTier tier;
    private final ObjectKey key;
    private final ReadReply object;
    private final long replicaId;
    private final ReadLease lease;
    private final PromotionReply promotion;
    private final Staging.Piece piece;
    private final RegionSlice memory;
    private Transfer transfer;

    private DiskRead(final DiskTier tier, final ObjectKey key, final ReadReply object, final long replicaId,
        final ReadLease lease) {
        this.tier = tier;
        this.key = key;
        this.object = object;
        this.replicaId = replicaId;
        this.lease = lease;
        this.promotion = tier.config().promoteOnHit()
            ? tier.master().apply(new DiskCommand.PromotionStart(tier.clientId(), key, object.version()))
            : PromotionReply.DECLINED;
        if (promotion.accepted()) {
            piece = null;
            memory = tier.memory().slice(promotion.memory().offset(), Units.padded(object.size()));
        } else {
            piece = tier.staging().take(object.size());
            memory = piece.slice();
        }
    }

    static DiskRead start(final DiskTier tier, final ObjectKey key, final ReadReply object, final long replicaId,
        final ReadLease lease, final boolean alone) {
        DiskRead read = null;
        try {
            read = new DiskRead(tier, key, object, replicaId, lease);
            read.transfer = lease.read(read.memory, alone);
            return read;
        } catch (final RuntimeException e) {
            if (read == null) {
                lease.close();
            } else {
                read.end(false);
            }
            throw e;
        }
    }

    /**
     * Waits for the bytes and gives them to the caller.
     *
     * @param offset first byte of the part.
     * @param length bytes of the part.
     * @param target the caller's memory.
     * @return false when the bytes could not be read or are wrong; the replica is then forgotten.
     */
    boolean finish(final long offset, final long length, final List<MemorySegment> target) {
        boolean good = false;
        try {
            good = arrived();
            if (good) {
                ScatterGather.scatter(memory.segment(), offset, length, target);
            }
        } finally {
            end(good);
        }
        if (good) {
            tier.counters().diskHits.increment();
            tier.counters().diskReadBytes.add(object.size());
        } else {
            tier.dropUnreadable(key, object.version(), replicaId);
        }
        return good;
    }

    /** Waits and gives everything back, without using the bytes. */
    void abandon() {
        try {
            end(arrived());
        } catch (final RuntimeException e) {
            end(false);
            throw e;
        }
    }

    private boolean arrived() {
        try {
            transfer.await();
        } catch (final TransferException e) {
            tier.counters().ioErrors.increment();
            LOG.log(System.Logger.Level.WARNING, "value {0} could not be read from disk and is dropped there: {1}", key,
                e.getMessage());
            return false;
        }
        if (!tier.config().verifyDiskReads()) {
            return true;
        }
        final long expected = lease.value().checksum();
        final long found = BlockHash.xxh64(memory.segment().asSlice(0, object.size()));
        if (found != expected) {
            tier.counters().checksumMismatches.increment();
            LOG.log(System.Logger.Level.WARNING, "value {0} read from disk has checksum {1}, written was {2}; it is "
                + "dropped there", key, Long.toHexString(found), Long.toHexString(expected));
            return false;
        }
        return true;
    }

    private void end(final boolean good) {
        lease.close();
        if (promotion.accepted()) {
            tier.master().apply(new DiskCommand.PromotionEnd(tier.clientId(), key, promotion.replicaId(), good));
            if (good) {
                tier.counters().memoryWrittenBytes.add(object.size());
            }
        } else {
            piece.close();
        }
    }
}
