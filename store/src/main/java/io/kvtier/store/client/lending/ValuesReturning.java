package io.kvtier.store.client.lending;

import io.kvtier.alloc.HostMemory;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.SegmentCommand.FetchReturning;
import io.kvtier.store.protocol.SegmentCommand.ReturnReplicas;
import io.kvtier.store.protocol.SegmentCommand.Returning;
import io.kvtier.store.protocol.SegmentCommand.ReturningReplica;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.storage.BlockHash;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * Brings values in this client's memory back to a master that was started anew from a snapshot.
 *
 * <p>The snapshot says what lay where; meanwhile the master before may have given the room to something else. So each
 * value is compared with its checksum. That is done when the memory has been lent anew: by then the ways in that were
 * known before have ended, and the master sends nobody there until all is brought back. What is found to be right stays
 * right. Shared memory cannot be taken from who has mapped it, and is other memory after it was lent anew: there values
 * are copied first, and the copy is compared.
 *
 * <p><b>Threading:</b> one thread. <b>Blocking:</b> for the time of reading all these values.
 */
final class ValuesReturning {
    private static final System.Logger LOG = System.getLogger(ValuesReturning.class.getName());
    /** As many as the master deals with in a millisecond or two. */
    private static final int PAGE = 1024;

    private final UUID clientId;
    private final Master master;
    private final LentMemory memory;
    private final SegmentAddress former;
    private long returned;
    private long offered;
    private long wrong;

    /** Values that lay in memory when it was lent as {@code former}; it has been lent anew since. */
    ValuesReturning(final UUID clientId, final Master master, final LentMemory memory, final SegmentAddress former) {
        this.clientId = clientId;
        this.master = master;
        this.memory = memory;
        this.former = former;
    }

    /** Whether the master knows of values, and the first of them; nothing from one of an earlier version. */
    static Returning first(final UUID clientId, final Master master, final SegmentAddress former) {
        try {
            return master.apply(new FetchReturning(clientId, former, 0, PAGE));
        } catch (final StoreException e) {
            if (e.code() == ErrorCode.UNAVAILABLE_IN_CURRENT_MODE) {
                return Returning.NONE;
            }
            throw e;
        }
    }

    /**
     * Brings back all that is right; a failure costs what has not come back, and nothing else.
     *
     * @return whether the master has heard that it is over; until then it allocates nothing in the memory.
     */
    boolean bringBack(final Returning first) {
        boolean heard = false;
        final SegmentAddress now = memory.address();
        try {
            Returning page = first;
            boolean more = memory.former() != null;
            while (more) {
                more = offer(now, page) && page.cursor() != Returning.END;
                if (more) {
                    page = master.apply(new FetchReturning(clientId, former, page.cursor(), PAGE));
                }
            }
        } catch (final RuntimeException e) {
            LOG.log(System.Logger.Level.WARNING, "not all values in memory could be brought back to the master: {0}",
                String.valueOf(e));
        } finally {
            memory.letGo();
            heard = end(clientId, master, now);
        }
        LOG.log(System.Logger.Level.INFO, "the master was started anew: {0} values in memory are back, {1} were "
            + "removed, replaced or have no room any more, {2} had been overwritten", String.valueOf(returned),
            String.valueOf(offered - returned), String.valueOf(wrong));
        return heard;
    }

    /** False when the memory is taken back meanwhile. */
    private boolean offer(final SegmentAddress now, final Returning page) {
        final LentMemory.Generation generation = memory.enter(now.segmentId());
        if (generation == null) {
            return false;
        }
        final List<Long> right = new ArrayList<>(page.replicas().size());
        try {
            for (final ReturningReplica one : page.replicas()) {
                if (generation.has(one.offset(), one.size()) && isRight(generation.region(), one)) {
                    right.add(one.replicaId());
                } else {
                    wrong++;
                }
            }
            offered += right.size();
            for (final boolean taken : master.apply(new ReturnReplicas(clientId, now.segmentId(), right, false))) {
                returned += taken ? 1 : 0;
            }
        } finally {
            generation.leave();
        }
        return true;
    }

    private boolean isRight(final HostMemory region, final ReturningReplica one) {
        final MemorySegment bytes = region.slice(one.offset(), one.size()).segment();
        if (memory.former() != region) {
            bytes.copyFrom(memory.former().slice(one.offset(), one.size()).segment());
        }
        return BlockHash.xxh64(bytes) == one.checksum();
    }

    /** Says that the rest of the memory may be used; false when the master has not heard it: to be said again. */
    static boolean end(final UUID clientId, final Master master, final SegmentAddress now) {
        try {
            master.apply(new ReturnReplicas(clientId, now.segmentId(), List.of(), true));
            return true;
        } catch (final StoreException e) {
            LOG.log(System.Logger.Level.WARNING, "the master could not be told that all values in memory are back, and "
                + "is told again: {0}", e.getMessage());
            return false;
        }
    }
}
