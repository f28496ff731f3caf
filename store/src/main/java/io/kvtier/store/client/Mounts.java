package io.kvtier.store.client;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.replica.Locality;
import io.kvtier.store.replica.SegmentAddress;
import java.util.Set;
import java.util.UUID;

/**
 * What this client lends to the store, as the master knows it.
 *
 * <p><b>Threading:</b> {@link #locality} from any thread; the rest by one at a time. <b>Blocking:</b> on the master,
 * and on requests of others that end before memory is lent anew.
 */
final class Mounts {
    private static final System.Logger LOG = System.getLogger(Mounts.class.getName());

    private final UUID clientId;
    private final Master master;
    private final LentMemory memory;
    private final LentDevices devices;
    private final DiskTier disk;
    private final String endpoint;
    private volatile Locality locality;

    /**
     * What may be lent.
     *
     * @param memory   memory; null for none.
     * @param devices  block devices, maybe none.
     * @param disk     a disk; null for none.
     * @param endpoint where it is read by others.
     */
    Mounts(final UUID clientId, final Master master, final LentMemory memory, final LentDevices devices,
        final DiskTier disk, final String endpoint) {
        this.clientId = clientId;
        this.master = master;
        this.memory = memory;
        this.devices = devices;
        this.disk = disk;
        this.endpoint = endpoint;
        this.locality = near(Set.of());
    }

    private Locality near(final Set<UUID> segments) {
        return new Locality(clientId, segments, devices.endpoints().keySet());
    }

    /** What is near. */
    Locality locality() {
        return locality;
    }

    /** Lends everything, for the first time or anew: memory under a new identity. */
    void mount() {
        if (memory != null) {
            unmountMemory();
            locality = near(Set.of());
            final SegmentCommand.SegmentSpec spec = memory.renew();
            locality = near(Set.of(spec.address().segmentId()));
            master.apply(new SegmentCommand.Mount(clientId, spec));
        }
        devices.mount();
        mountDisk();
    }

    /** Offers the disk and what is on it, which changes nothing where the master knows it. */
    void mountDisk() {
        if (disk != null) {
            disk.mount(endpoint);
        }
    }

    /** Takes everything back. A master that does not answer finds out by itself when nobody pings it any more. */
    void unmount() {
        try {
            if (disk != null) {
                master.apply(new DiskCommand.UnmountDisk(clientId));
            }
            devices.unmount();
            unmountMemory();
        } catch (final StoreException e) {
            LOG.log(System.Logger.Level.WARNING, "the master could not be told that this client leaves; it takes it "
                + "for dead after a while: {0}", e.getMessage());
        }
    }

    private void unmountMemory() {
        final SegmentAddress address = memory == null ? null : memory.address();
        if (address == null) {
            return;
        }
        try {
            master.apply(new SegmentCommand.Unmount(clientId, address.segmentId(), 0));
        } catch (final StoreException e) {
            if (e.code() != ErrorCode.SEGMENT_NOT_FOUND) {
                throw e;
            }
            // Forgotten already.
        }
    }
}
