package io.kvtier.store.replica;

import java.util.Set;
import java.util.UUID;

/**
 * What is near to a reader.
 *
 * @param clientId   the reader itself.
 * @param segments   segments of its own process.
 * @param namespaces block devices that it has been given.
 * @param gds        its own file for GDS replicas; null without one.
 * @param asksForGds whether it asks other clients for what is in their files.
 */
public record Locality(UUID clientId, Set<UUID> segments, Set<String> namespaces, GdsFile gds, boolean asksForGds) {
    /**
     * A file for GDS replicas as it is now.
     *
     * @param storageId  which file.
     * @param generation since when: another one each time that it is made anew.
     */
    public record GdsFile(UUID storageId, long generation) {
        /**
         * Whether a replica lies in this very file.
         *
         * @param replica a descriptor.
         * @return false for one of another file, or of this one as it was before.
         */
        public boolean isOf(final ReplicaDescriptor.Gds replica) {
            return storageId.equals(replica.storageId()) && generation == replica.storageGeneration();
        }
    }

    /**
     * Without anything of GDS.
     *
     * @param clientId   the reader itself.
     * @param segments   segments of its own process.
     * @param namespaces block devices that it has been given.
     */
    public Locality(final UUID clientId, final Set<UUID> segments, final Set<String> namespaces) {
        this(clientId, segments, namespaces, null, false);
    }
}
