package io.kvtier.store.client.disk;

import io.kvtier.alloc.RegionSlice;
import io.kvtier.alloc.Units;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.ReplicaMemory;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.PromotionReply;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Memory that a value is read into from disk. <b>Lifetime:</b> ended exactly once. */
interface DiskRoom {
    /** The memory, whole units where there is room for the padding. */
    RegionSlice slice();

    /**
     * Gives it back.
     *
     * @param good    whether the value is in it.
     * @param settled without the value: whether nothing is written there any more. Otherwise what is of this client
     *                stays in use until the process ends.
     */
    void end(boolean good, boolean settled);

    /** Memory of the memory tier when the master gives some, so that the read promotes the value; else staging. */
    static DiskRoom take(final DiskTier tier, final ObjectKey key, final long version, final long size) {
        final DiskRoom memory = tier.settings().disk().promoteOnHit() ? promoted(tier, key, version, size) : null;
        return memory != null ? memory : new Staged(tier.staging().take(size));
    }

    /** Memory of the memory tier, so that the read promotes the value; null when the master gives none. */
    static DiskRoom promoted(final DiskTier tier, final ObjectKey key, final long version, final long size) {
        // From before the master is asked: it cannot have begun to count earlier.
        final long askedNanos = System.nanoTime();
        final PromotionReply promotion = promotion(tier, key, version);
        if (!promotion.accepted()) {
            return null;
        }
        DiskRoom room = null;
        try {
            final ReplicaMemory.OwnRange range = tier.memory().own(promotion.memory(),
                Units.taken(size, StoreConfig.UNIT_BYTES));
            room = range != null ? new Promoted(tier, key, promotion.replicaId(), range, size)
                : new PromotedElsewhere(tier, key, promotion, tier.staging().take(size), size, askedNanos);
            return room;
        } finally {
            if (room == null) {
                // No memory is left for staging, say: nothing was written there, nor will be.
                tier.endPromotion(key, promotion.replicaId(), false, true);
            }
        }
    }

    private static PromotionReply promotion(final DiskTier tier, final ObjectKey key, final long version) {
        try {
            return tier.master().apply(new DiskCommand.PromotionStart(tier.clientId(), key, version));
        } catch (final StoreException e) {
            // The value can be read all the same.
            return PromotionReply.DECLINED;
        }
    }

    /** Memory of whoever asked. */
    static DiskRoom of(final RegionSlice slice) {
        return new Given(slice);
    }

    /**
     * In the memory tier. Devices are told of that of an embedded store alone ({@link ReplicaMemory#lasting}), whose
     * master never gives to others what is not settled.
     */
    record Promoted(DiskTier tier, ObjectKey key, long replicaId, ReplicaMemory.OwnRange range, long size)
        implements DiskRoom {
        @Override
        public RegionSlice slice() {
            return range.slice();
        }

        @Override
        public void end(final boolean good, final boolean settled) {
            range.close();
            tier.endPromotion(key, replicaId, good, settled);
            if (good) {
                tier.counters().memoryWrittenBytes().add(size);
            }
        }
    }

    /**
     * On its way to memory that another process lends: it is sent there when it has been given to the caller. As with a
     * put by a deadline, long after which the master may give the memory to others.
     */
    record PromotedElsewhere(DiskTier tier, ObjectKey key, PromotionReply promotion, Staging.Piece piece, long size,
                             long askedNanos) implements DiskRoom {
        @Override
        public RegionSlice slice() {
            return piece.slice();
        }

        @Override
        public void end(final boolean good, final boolean settled) {
            boolean there = false;
            boolean sent = true;
            try {
                final long leftMs = tier.settings().transferTimeoutMs()
                    - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - askedNanos);
                if (good && leftMs > 0) {
                    final Move move = tier.memory().startWrite(List.of(promotion.memory()),
                        List.of(piece.slice().segment().asSlice(0, size)), leftMs, true);
                    sent = false;
                    there = move.finish() == null;
                    sent = move.isSettled();
                }
            } finally {
                if (settled) {
                    piece.close();
                }
                tier.endPromotion(key, promotion.replicaId(), there, sent);
            }
        }
    }

    /** For one read. */
    record Staged(Staging.Piece piece) implements DiskRoom {
        @Override
        public RegionSlice slice() {
            return piece.slice();
        }

        @Override
        public void end(final boolean good, final boolean settled) {
            if (settled) {
                piece.close();
            }
        }
    }

    /** The caller's, who gives it back. */
    record Given(RegionSlice slice) implements DiskRoom {
        @Override
        public void end(final boolean good, final boolean settled) {
            // The caller knows, and asks the move.
        }
    }
}
