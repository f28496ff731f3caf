package io.kvtier.store.master.state;

import io.kvtier.store.protocol.SegmentCommand.FetchReturning;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.ReturnReplicas;
import io.kvtier.store.protocol.SegmentCommand.Returning;
import io.kvtier.store.protocol.SegmentCommand.ReturningReplica;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.snapshot.SavedObject;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Values in memory that come back after a restore: a client that lent a segment to the master before lends the same
 * memory under a new identity, and gives back what it found to be as it should be.
 *
 * <p>Until it has said that it is done nothing is allocated in the segment, so that between its look at the bytes and
 * its word nobody can have been sent there.
 */
final class Returns {
    private static final int MAX_PART = 65_536;

    private final Tiers tiers;
    private final AwayObjects away;
    /** What lay in the former segments of those that wait for values to come back, by the new ones' ids. */
    private final Map<UUID, AwayObjects.Segment> waiting = new HashMap<>();

    Returns(final Tiers tiers, final AwayObjects away) {
        this.tiers = tiers;
        this.away = away;
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

    /** A client has lent memory anew in which values of before may lie; it stays closed until these are given back. */
    void begun(final LentSegment segment, final SegmentAddress formerly) {
        final AwayObjects.Segment former = own(segment.clientId(), formerly);
        if (former != null && segment.medium() == Medium.MEMORY
            && former.saved().spec().capacity() == segment.spec().capacity()) {
            waiting.put(segment.id(), former);
            // The rest of memory that others may still be at is not over because the time to come back is.
            tiers.segments().openFrom(segment, Math.max(away.untilMs(), segment.restedAtMs()));
        }
    }

    private AwayObjects.Segment own(final UUID clientId, final SegmentAddress former) {
        final AwayObjects.Segment segment = away.segment(former.segmentId());
        return segment != null && segment.saved().clientId().equals(clientId)
            && segment.saved().spec().address().hasTokenOf(former) ? segment : null;
    }

    /** Takes back what a client says is there. */
    List<Boolean> give(final ReturnReplicas give, final long nowMs) {
        final LentSegment segment = tiers.segments().find(give.segmentId());
        final AwayObjects.Segment former = waiting.get(give.segmentId());
        final boolean known = former != null && segment != null && segment.clientId().equals(give.clientId())
            && nowMs < segment.openFromMs();
        final List<Boolean> given = new ArrayList<>(give.replicas().size());
        tiers.disk().look();
        for (final long id : give.replicas()) {
            given.add(known && giveOne(segment, former.find(id), nowMs));
        }
        if (give.last() && known) {
            waiting.remove(give.segmentId());
            tiers.segments().openFrom(segment, segment.restedAtMs());
        }
        return given;
    }

    private boolean giveOne(final LentSegment segment, final AwayObjects.Lying lying, final long nowMs) {
        if (lying == null) {
            return false;
        }
        final SavedObject object = lying.object();
        final ObjectEntry entry = tiers.disk().entryFor(new DiskReplicas.Offer(segment.clientId(), object.key(),
            object.version(), object.size(), object.checksummed(), object.checksum()));
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

    /** Ends what has not been given back in time; the segments that waited are open from then on. */
    void expire(final long nowMs) {
        if (nowMs >= away.untilMs()) {
            away.forget();
            waiting.clear();
        }
    }
}
