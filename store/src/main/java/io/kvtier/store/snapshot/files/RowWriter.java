package io.kvtier.store.snapshot.files;

import io.kvtier.store.protocol.TaskCommand.DrainInfo;
import io.kvtier.store.protocol.TaskCommand.TaskInfo;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.snapshot.SavedFile;
import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.SavedRemovals;
import io.kvtier.store.snapshot.SavedSegment;
import io.kvtier.store.snapshot.SavedTasks;
import io.kvtier.store.snapshot.SavedTenant;
import io.kvtier.store.snapshot.SnapshotHead;
import io.kvtier.transport.rpc.MessageWriter;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Records as rows, as {@code store/FORMAT.md} has them. <b>Threading:</b> one thread. */
final class RowWriter {
    static final int PINNED_HARD = 1;

    private final PayloadWriter out;
    /** Replicas name segments by number: an address has more than a hundred bytes. */
    private final Map<UUID, Integer> segments = new HashMap<>();

    RowWriter(final PayloadWriter out) {
        this.out = out;
    }

    /** Everything but the objects that are not away; comes first. */
    void head(final SnapshotHead head) throws IOException {
        final MessageWriter numbers = out.row(Section.NUMBERS).array(6).number(head.term()).number(head.lastVersion())
            .number(head.lastReplicaId()).number(head.tasks().lastTask()).number(head.tasks().lastDrain());
        if (head.sharedVolume() == null) {
            numbers.nothing();
        } else {
            numbers.uuid(head.sharedVolume());
        }
        for (final SavedSegment segment : head.segments()) {
            segment(segment);
        }
        for (final SavedFile file : head.files()) {
            out.row(Section.FILES).array(8).uuid(file.clientId()).text(file.host()).uuid(file.spec().storageId())
                .number(file.spec().generation()).text(file.spec().endpoint()).number(file.spec().capacity())
                .number(file.spec().highBytes()).number(file.spec().lowBytes());
        }
        for (final SavedTenant tenant : head.tenants()) {
            out.row(Section.TENANTS).array(4).text(tenant.tenant()).number(tenant.quota())
                .number(tenant.rejections()).number(tenant.evictedBytes());
        }
        for (final SavedTasks.SavedTask task : head.tasks().tasks()) {
            task(task.clientId(), task.info());
        }
        for (final DrainInfo drain : head.tasks().drains()) {
            texts(out.row(Section.DRAINS).array(5).number(drain.drainId()), drain.segments())
                .text(drain.status().name()).number(drain.moved()).number(drain.failed());
        }
        removals(head.removals());
        objects(head.away());
    }

    private void segment(final SavedSegment segment) throws IOException {
        final UUID id = segment.spec().address().segmentId();
        segments.put(id, segments.size());
        out.row(Section.SEGMENTS).array(10).number(segments.size() - 1L).uuid(id).uuid(segment.clientId())
            .text(segment.spec().name()).text(segment.host()).text(segment.spec().medium().name())
            .number(segment.spec().capacity()).number(segment.spec().unit())
            .text(segment.spec().address().endpoint()).bytes(segment.spec().address().accessToken().bytes());
    }

    private void task(final UUID clientId, final TaskInfo info) throws IOException {
        texts(out.row(Section.TASKS).array(9).number(info.task().id()).text(info.task().kind().name())
            .text(info.task().key().tenant()).text(info.task().key().key()).text(info.task().source()),
            info.task().targets()).uuid(clientId).text(info.status().name()).text(info.message());
    }

    private void removals(final SavedRemovals removals) throws IOException {
        for (final SavedRemovals.Page page : removals.pages()) {
            final MessageWriter row = out.row(Section.REMOVED).array(3).number(removals.slots()).number(page.index())
                .array(page.versions().length);
            for (final long version : page.versions()) {
                row.number(version);
            }
        }
        for (final SavedRemovals.Matching matching : removals.patterns()) {
            out.row(Section.PATTERNS).array(3).text(matching.tenant()).text(matching.pattern())
                .number(matching.version());
        }
    }

    void objects(final List<SavedObject> objects) throws IOException {
        for (final SavedObject object : objects) {
            object(object);
        }
    }

    private void object(final SavedObject object) throws IOException {
        final MessageWriter row = out.row(Section.OBJECTS).array(11).text(object.key().tenant())
            .text(object.key().key()).number(object.version()).number(object.size());
        if (object.checksummed()) {
            row.number(object.checksum());
        } else {
            row.nothing();
        }
        row.number(object.dataType().number()).uuid(object.writer()).number(object.hardPinned() ? PINNED_HARD : 0)
            .text(object.group()).number(object.softPinMs()).array(object.replicas().size());
        for (final Replica replica : object.replicas()) {
            replica(row, replica);
        }
    }

    private void replica(final MessageWriter row, final Replica replica) {
        row.array(3).number(replica.id());
        switch (replica.descriptor()) {
            case ReplicaDescriptor.Memory memory -> row.number(memory.type().number()).array(3)
                .number(segments.getOrDefault(memory.segment().segmentId(), RowReader.NO_SEGMENT))
                .number(memory.offset()).number(memory.size());
            case ReplicaDescriptor.LocalDisk disk -> row.number(disk.type().number()).array(3).uuid(disk.clientId())
                .number(disk.objectSize()).text(disk.transportEndpoint());
            case ReplicaDescriptor.Nof nof -> row.number(nof.type().number()).array(3).text(nof.namespace())
                .number(nof.offset()).number(nof.objectSize());
            case ReplicaDescriptor.Gds gds -> row.number(gds.type().number()).array(6).uuid(gds.ownerClientId())
                .uuid(gds.storageId()).number(gds.storageGeneration()).number(gds.valueOffset())
                .number(gds.valueSize()).number(gds.allocatedSize());
            case ReplicaDescriptor.DistributedDisk file -> row.number(file.type().number()).array(3)
                .text(file.filePath()).number(file.offset()).number(file.objectSize());
            case ReplicaDescriptor.Disk file -> row.number(file.type().number()).array(2).text(file.filePath())
                .number(file.objectSize());
            case ReplicaDescriptor.Unknown unknown -> row.number(unknown.number()).raw(unknown.fields());
        }
    }

    private static MessageWriter texts(final MessageWriter row, final List<String> texts) {
        row.array(texts.size());
        texts.forEach(row::text);
        return row;
    }
}
