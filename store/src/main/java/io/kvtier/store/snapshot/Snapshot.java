package io.kvtier.store.snapshot;

import io.kvtier.store.ObjectKey;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A whole snapshot, to be restored.
 *
 * @param head    all but the objects.
 * @param objects the objects, each once.
 */
public record Snapshot(SnapshotHead head, List<SavedObject> objects) {
    /**
     * Makes one of what was read.
     *
     * @param head all but the objects; what is away in it is taken as objects.
     * @param rows objects, of some perhaps two.
     * @return the snapshot.
     */
    public static Snapshot of(final SnapshotHead head, final Collection<SavedObject> rows) {
        final Map<ObjectKey, SavedObject> byKey = LinkedHashMap.newLinkedHashMap(rows.size());
        rows.forEach(row -> byKey.merge(row.key(), row, SavedObject::with));
        head.away().forEach(row -> byKey.merge(row.key(), row, SavedObject::with));
        return new Snapshot(new SnapshotHead(head.term(), head.lastVersion(), head.lastReplicaId(), head.segments(),
            head.files(), head.tenants(), head.tasks(), head.removals(), List.of(), head.sharedVolume()),
            List.copyOf(byKey.values()));
    }
}
