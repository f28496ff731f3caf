package io.kvtier.store.master.state;

import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.MasterStats.Gets;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.FindReply;
import io.kvtier.store.protocol.ObjectCommand.Found;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.replica.Replica;
import java.util.ArrayList;
import java.util.List;

/** Questions about objects, and the leases and holds that they leave behind. */
final class Reads {
    /** Objects that one part of a scan looks at, more or less: about a millisecond. */
    static final int SCAN_OBJECTS = 4096;

    private final long leaseMs;
    private final Tiers tiers;
    private final HotValues hot;
    private final GetCounts counts = new GetCounts();

    Reads(final long leaseMs, final Tiers tiers, final HotValues hot) {
        this.leaseMs = leaseMs;
        this.tiers = tiers;
        this.hot = hot;
    }

    ReadReply start(final ObjectCommand.ReadStart read, final long nowMs) {
        counts.asked();
        final ObjectEntry entry = tiers.catalogue().find(read.key());
        if (entry == null || !tiers.isReadable(entry)) {
            return ReadReply.NOT_FOUND;
        }
        counts.found(entry);
        entry.lease(nowMs + leaseMs);
        entry.used(nowMs);
        if (entry.residency(Medium.MEMORY) == null) {
            hot.read(entry, nowMs);
        }
        final PlacedReplica held = read.hold() ? firstReadable(entry) : null;
        if (held == null) {
            tiers.used(entry, nowMs);
            return reply(entry, 0, leaseMs);
        }
        held.used();
        tiers.memory().hold(held);
        return reply(entry, held.id(), leaseMs);
    }

    private static PlacedReplica firstReadable(final ObjectEntry entry) {
        final Residency memory = entry.residency(Medium.MEMORY);
        PlacedReplica replica = memory == null ? null : memory.first();
        while (replica != null && !replica.segment().isReadable()) {
            replica = replica.sibling();
        }
        return replica;
    }

    Gets counted() {
        return counts.counted();
    }

    Ack done(final ObjectCommand.ReadDone done, final long nowMs) {
        final PlacedReplica replica = tiers.memory().find(tiers.catalogue().find(done.key()), done.replicaId());
        if (replica == null || !replica.isHeld()) {
            return Ack.STALE;
        }
        tiers.memory().release(replica, nowMs);
        return Ack.OK;
    }

    boolean exists(final ObjectCommand.Exists exists, final long nowMs) {
        final ObjectEntry entry = tiers.catalogue().find(exists.key());
        if (entry == null || !tiers.isReadable(entry)) {
            return false;
        }
        entry.lease(nowMs + leaseMs);
        entry.used(nowMs);
        tiers.used(entry, nowMs);
        return true;
    }

    ReadReply query(final ObjectCommand.Query query) {
        final ObjectEntry entry = tiers.catalogue().find(query.key());
        return entry == null || !tiers.isReadable(entry) ? ReadReply.NOT_FOUND : reply(entry, 0, 0);
    }

    FindReply find(final ObjectCommand.Find find, final long nowMs) {
        final KeyPattern pattern = KeyPattern.of(find.pattern());
        final List<ObjectEntry> matching = new ArrayList<>();
        int bucket = Removals.bucket(find.cursor());
        int looked = 0;
        while (bucket < ObjectCatalogue.BUCKETS && looked < SCAN_OBJECTS && !pattern.isUsedUp()) {
            for (final ObjectEntry entry : tiers.catalogue().bucket(bucket)) {
                looked++;
                if (Removals.matches(entry, find.tenant(), pattern) && tiers.isReadable(entry)) {
                    matching.add(entry);
                }
            }
            bucket++;
        }
        // Nothing is leased before the whole part is known not to be refused.
        final List<Found> found = new ArrayList<>(matching.size());
        for (final ObjectEntry entry : matching) {
            if (find.lease()) {
                entry.lease(nowMs + leaseMs);
                entry.used(nowMs);
                tiers.used(entry, nowMs);
            }
            found.add(new Found(entry.key(), reply(entry, 0, find.lease() ? leaseMs : 0)));
        }
        return new FindReply(found, bucket == ObjectCatalogue.BUCKETS ? FindReply.END : bucket);
    }

    private ReadReply reply(final ObjectEntry entry, final long held, final long leased) {
        final ObjectRecord object = entry.record();
        return new ReadReply(object.version(), object.size(), readable(entry), held, object.checksummed(),
            object.checksum(), leased, object.dataType());
    }

    /** Without what lies on segments and disks that are just being swept. */
    private List<Replica> readable(final ObjectEntry entry) {
        final List<Replica> replicas = entry.record().replicas();
        if (!tiers.segments().hasDying() && !tiers.disk().hasGone()) {
            return replicas;
        }
        final List<Replica> there = new ArrayList<>(replicas.size());
        for (int i = 0; i < replicas.size(); i++) {
            if (tiers.isThere(entry, i)) {
                there.add(replicas.get(i));
            }
        }
        return there;
    }
}
