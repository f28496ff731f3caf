package io.kvtier.store.client;

import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsStorageInfo;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.replica.Locality;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/**
 * Where the owners of files for GDS replicas answer reads: their descriptors do not say so. The master is asked when a
 * file is met that is not known; what it says is remembered, since a file keeps its owner for as long as it is there.
 *
 * <p><b>Threading:</b> thread-safe; what is remembered is replaced as a whole. <b>Blocking:</b> on the master.
 */
final class GdsOwners {
    private final Master master;
    private volatile Map<Place, String> endpoints = Map.of();

    /** A file, and whose it is. */
    private record Place(UUID owner, Locality.GdsFile file) {
        static Place of(final UUID owner, final UUID storageId, final long generation) {
            return new Place(owner, new Locality.GdsFile(storageId, generation));
        }
    }

    GdsOwners(final Master master) {
        this.master = master;
    }

    /** Where the owner of a replica answers; empty when it does not, or is not known any more. */
    String endpoint(final ReplicaDescriptor.Gds replica) {
        final Place place = Place.of(replica.ownerClientId(), replica.storageId(), replica.storageGeneration());
        final String known = endpoints.get(place);
        if (known != null) {
            return known;
        }
        final Map<Place, String> all = new HashMap<>();
        for (final GdsStorageInfo one : master.apply(new GdsCommand.GdsStorages())) {
            all.put(Place.of(one.clientId(), one.storageId(), one.generation()), one.endpoint());
        }
        endpoints = Map.copyOf(all);
        return all.getOrDefault(place, "");
    }

    /** An owner could not be asked: he may answer elsewhere by now. */
    void forget() {
        endpoints = Map.of();
    }
}
