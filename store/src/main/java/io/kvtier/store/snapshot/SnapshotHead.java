package io.kvtier.store.snapshot;

import java.util.List;
import java.util.UUID;

/**
 * All of a snapshot but what can be there by the million.
 *
 * @param term          of the master.
 * @param lastVersion   objects that there were have this version or a smaller one.
 * @param lastReplicaId the same of replicas.
 * @param segments      those that were lent.
 * @param files         those for GDS replicas.
 * @param tenants       those with quotas.
 * @param tasks         tasks and drains.
 * @param removals      versions that must not come back.
 * @param away          objects of an earlier snapshot that have not come back yet, or have replicas that have not.
 * @param sharedVolume  which folder of which file system the shared files are in; null when nobody has said so.
 */
public record SnapshotHead(long term, long lastVersion, long lastReplicaId, List<SavedSegment> segments,
                           List<SavedFile> files, List<SavedTenant> tenants, SavedTasks tasks, SavedRemovals removals,
                           List<SavedObject> away, UUID sharedVolume) {
}
