package io.kvtier.store.client.owner;

import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsStorageInfo;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.replica.Locality;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Where the owners of files for GDS replicas answer reads: their descriptors do not say so. The master is asked when a
 * file is met that is not known, and what it says is remembered. A file that another client takes over is another one
 * here: what is remembered goes by the owner, too.
 *
 * <p>That a file is not registered is remembered as well, but only of replicas that the master named before it was
 * asked for the owners: many of them are met at a time, when their owner goes. One that it named since may be of an
 * owner that has just come, and has it asked again.
 *
 * <p><b>Threading:</b> thread-safe; what is remembered is replaced as a whole. <b>Blocking:</b> on the master.
 */
public final class GdsOwners {
    private static final Answer NONE = new Answer(Map.of(), 0);

    private final Master master;
    private final AtomicLong asked = new AtomicLong();
    private volatile Answer last = NONE;

    /** A file, and whose it is. */
    private record Place(UUID owner, Locality.GdsFile file) {
        static Place of(final UUID owner, final UUID storageId, final long generation) {
            return new Place(owner, new Locality.GdsFile(storageId, generation));
        }
    }

    /** All that the master knew when it was asked for the n-th time; n is 0 for what it was not asked. */
    private record Answer(Map<Place, String> endpoints, long n) {
    }

    /** Nobody has been asked for yet. */
    public GdsOwners(final Master master) {
        this.master = master;
    }

    /** How often the master has been asked, to be noted whenever it has named replicas. */
    public long asked() {
        return asked.get();
    }

    /**
     * Where the owner of a replica answers; empty when it does not, or is not registered any more.
     *
     * @param askedBefore what {@link #asked} was when the master had named the replica, or less.
     */
    public String endpoint(final ReplicaDescriptor.Gds replica, final long askedBefore) {
        final Place place = Place.of(replica.ownerClientId(), replica.storageId(), replica.storageGeneration());
        final Answer known = last;
        if (known.n() > askedBefore || known.endpoints().containsKey(place)) {
            return known.endpoints().getOrDefault(place, "");
        }
        final long n = asked.incrementAndGet();
        final Map<Place, String> all = new HashMap<>();
        for (final GdsStorageInfo one : master.apply(new GdsCommand.GdsStorages())) {
            all.put(Place.of(one.clientId(), one.storageId(), one.generation()), one.endpoint());
        }
        last = new Answer(Map.copyOf(all), n);
        return all.getOrDefault(place, "");
    }

    /** An owner could not be asked: he may answer elsewhere by now. */
    void forget() {
        last = NONE;
    }
}
