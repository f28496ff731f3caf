package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.SegmentCommand.FetchReturning;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.Mount;
import io.kvtier.store.protocol.SegmentCommand.ReturnReplicas;
import io.kvtier.store.protocol.SegmentCommand.Returning;
import io.kvtier.store.protocol.SegmentCommand.ReturningReplica;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.snapshot.SavedObject;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * Values in memory that come back after a restore: a client that lent a segment to the master before lends the same
 * memory under a new identity, and gives back what it found to be as it should be.
 *
 * <p>Until it has said that it is done nothing is allocated in the segment, so that between its look at the bytes and
 * its word nobody can have been sent there. No time replaces that word: an owner whose memory is shared copies values
 * of before into the segment, and may stand still in the middle of one. When the time to come back is over what it
 * gives is refused, which ends it; one that lives and says nothing keeps its segment closed, which the list of segments
 * shows, and one that does not is gone with its segment.
 */
final class Returns {
    private static final int MAX_PART = 65_536;

    private final Tiers tiers;
    private final AwayObjects away;
    private final Removals removals;

    Returns(final Tiers tiers, final AwayObjects away, final Removals removals) {
        this.tiers = tiers;
        this.away = away;
        this.removals = removals;
    }

    /** What lay in a segment, for who lent it: its token shows that. */
    Returning fetch(final FetchReturning fetch) {
        final AwayObjects.Segment segment = own(fetch.clientId(), fetch.former());
        if (segment == null) {
            return Returning.NONE;
        }
        final int from = (int) Math.max(0, Math.min(fetch.cursor(), segment.lying().size()));
        final int count = Math.clamp(fetch.max(), 0, Math.min(MAX_PART, segment.lying().size() - from));
        final List<ReturningReplica> replicas = new ArrayList<>(count);
        for (final AwayObjects.Lying one : segment.lying().subList(from, from + count)) {
            replicas.add(new ReturningReplica(one.replicaId(), one.offset(), one.object().size(),
                one.object().checksum()));
        }
        return new Returning(replicas, from + count == segment.lying().size() ? Returning.END : from + count);
    }

    /**
     * Finds what lay in memory that a client is about to lend anew; null for memory in which nothing shall come back.
     *
     * @throws StoreException when nothing is known of it (any more): the segment would be open at once, while its owner
     *                        goes on copying values into it of which another master has told it.
     */
    AwayObjects.Segment former(final Mount mount) {
        if (mount.former() == null) {
            return null;
        }
        final AwayObjects.Segment former = own(mount.clientId(), mount.former());
        if (former == null || mount.spec().medium() != Medium.MEMORY
            || former.saved().spec().capacity() != mount.spec().capacity()) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "nothing comes back into segment "
                + mount.spec().name() + " from " + mount.former().segmentId() + ": client " + mount.clientId()
                + " lent no memory of " + mount.spec().capacity() + " bytes under that id and token to a master whose "
                + "snapshot this one began with, or the time is over; lend it without a former identity");
        }
        return former;
    }

    private AwayObjects.Segment own(final UUID clientId, final SegmentAddress former) {
        final AwayObjects.Segment segment = away.segment(former.segmentId());
        return segment != null && segment.saved().clientId().equals(clientId)
            && segment.saved().spec().address().hasTokenOf(former) ? segment : null;
    }

    /** Takes back what a client says is there. */
    List<Boolean> give(final ReturnReplicas give, final long nowMs) {
        final LentSegment segment = tiers.segments().find(give.segmentId());
        final AwayObjects.Segment former =
            segment != null && segment.clientId().equals(give.clientId()) ? segment.former() : null;
        final List<Boolean> given = new ArrayList<>(give.replicas().size());
        tiers.disk().look();
        for (final long id : give.replicas()) {
            given.add(former != null && giveOne(segment, former.find(id), nowMs));
        }
        if (give.last() && former != null) {
            tiers.segments().returned(segment);
        }
        return given;
    }

    private boolean giveOne(final LentSegment segment, final AwayObjects.Lying lying, final long nowMs) {
        if (lying == null) {
            return false;
        }
        final SavedObject object = lying.object();
        final DiskReplicas.Offer offer = new DiskReplicas.Offer(segment.clientId(), object.key(), object.version(),
            object.size(), object.checksummed(), object.checksum());
        removals.makeWay(offer, nowMs);
        final ObjectEntry entry = tiers.disk().entryFor(offer);
        if (entry == null) {
            return false;
        }
        final long bytes = segment.allocatedBytes(object.size());
        final PlacedReplica replica = segment.mark(tiers.catalogue().nextReplicaId(), entry, object.size(),
            lying.offset(), bytes);
        if (replica == null) {
            tiers.catalogue().removeIfEmpty(entry);
            return false;
        }
        tiers.memory().returned(replica, nowMs);
        return true;
    }

    /** Ends what has not been given back in time; segments stay closed until their owners say that they have ended. */
    void expire(final long nowMs) {
        if (nowMs >= away.untilMs()) {
            away.forget();
            tiers.segments().returnsAreOver();
        }
    }
}
