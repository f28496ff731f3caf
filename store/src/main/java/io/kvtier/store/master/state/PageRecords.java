package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The complete values in the shared files as records, for a snapshot; and back again, where the pages that are taken
 * are made from what the records say.
 */
final class PageRecords {
    private final MasterSettings settings;
    private final Tiers tiers;
    private final PageSpace space;

    /**
     * A value in the shared files.
     *
     * @param key      the object.
     * @param version  the object's version.
     * @param place    where.
     * @param checksum XXH64 of the value.
     */
    record PageRecord(ObjectKey key, long version, ReplicaDescriptor.DistributedDisk place, long checksum) {
    }

    PageRecords(final MasterSettings settings, final Tiers tiers, final PageSpace space) {
        this.settings = settings;
        this.tiers = tiers;
        this.space = space;
    }

    /** All complete values: by file, and in each in the order in which they came. What is written or rests is none. */
    List<PageRecord> all() {
        final List<PageRecord> records = new ArrayList<>();
        for (final LentSegment bucket : space.buckets()) {
            final int first = records.size();
            for (PlacedReplica replica = bucket.first(); replica != null; replica = replica.nextInSegment()) {
                if (replica.isComplete()) {
                    final ObjectRecord object = replica.owner().record();
                    records.add(new PageRecord(replica.owner().key(), object.version(), replica.place(),
                        object.checksum()));
                }
            }
            Collections.reverse(records.subList(first, records.size()));
        }
        return records;
    }

    /**
     * Takes records into files in which nothing is. Their objects can be read at once, by any client. Pages that are in
     * no record may be those of a writer whom the master of before sent there: nothing is allocated before he has
     * stopped, and a lease is over, as after a reaping.
     *
     * @return how many were taken; a record whose object has another version, or may have been removed, is not.
     * @throws StoreException when two lie on the same pages, or one where there are none: the snapshot is not whole, or
     *                        of other settings. Nothing has changed then.
     */
    int restore(final List<PageRecord> records, final long nowMs) {
        if (tiers.segments().used(Medium.DISTRIBUTED_DISK) > 0) {
            throw new IllegalStateException("pages are in use already; records are restored before the first command");
        }
        for (int i = 0; i < records.size(); i++) {
            final String problem = reserve(records.get(i).place());
            if (problem != null) {
                records.subList(0, i).forEach(before -> giveBack(before.place()));
                throw new StoreException(ErrorCode.INVALID_PARAMS, "object " + records.get(i).key() + " cannot lie at "
                    + records.get(i).place() + ": " + problem);
            }
        }
        tiers.disk().look();
        int taken = 0;
        for (final PageRecord record : records) {
            if (take(record, nowMs)) {
                taken++;
            } else {
                giveBack(record.place());
            }
        }
        final long openMs = PageWrites.quietFromMs(settings, nowMs);
        space.buckets().forEach(bucket -> tiers.segments().openFrom(bucket, openMs));
        return taken;
    }

    /** Takes a record's pages; why that cannot be, or null. */
    private String reserve(final ReplicaDescriptor.DistributedDisk place) {
        final LentSegment bucket = space.bucket(place.filePath());
        if (bucket == null) {
            return "the settings of this master know no such file";
        }
        if (place.offset() % space.layout().pageBytes() != 0) {
            return "no page of " + space.layout().pageBytes() + " bytes begins there";
        }
        if (place.objectSize() > bucket.capacity() - place.offset()) {
            return "the file ends at " + bucket.capacity();
        }
        return bucket.reserve(place.offset(), bucket.allocatedBytes(place.objectSize())) ? null
            : "another object lies on the same pages";
    }

    private void giveBack(final ReplicaDescriptor.DistributedDisk place) {
        final LentSegment bucket = space.bucket(place.filePath());
        bucket.giveBack(place.offset(), bucket.allocatedBytes(place.objectSize()));
    }

    private boolean take(final PageRecord record, final long nowMs) {
        final ReplicaDescriptor.DistributedDisk place = record.place();
        final ObjectEntry entry = tiers.disk().entryFor(new DiskReplicas.Offer(PageSpace.NOBODY, record.key(),
            record.version(), place.objectSize(), true, record.checksum()));
        if (entry == null || entry.residency(Medium.DISTRIBUTED_DISK) != null) {
            return false;
        }
        final LentSegment bucket = space.bucket(place.filePath());
        final PlacedReplica replica = bucket.reserved(tiers.catalogue().nextReplicaId(), entry, place.objectSize(),
            place.offset(), bucket.allocatedBytes(place.objectSize()));
        tiers.pages().marked(replica, nowMs);
        tiers.pages().completed(replica, nowMs);
        return true;
    }
}
