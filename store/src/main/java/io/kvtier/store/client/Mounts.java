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
    private final Own own;
    private final String endpoint;
    private volatile Locality locality;

    /**
     * What this client has for itself.
     *
     * @param disk       null without one.
     * @param file       for GDS replicas; null without one.
     * @param shared     files that all hosts mount; null without any.
     * @param asksForGds whether it asks others for what is in their files.
     */
    record Own(DiskTier disk, GdsTier file, SharedDiskTier shared, boolean asksForGds) {
    }

    /**
     * What may be lent.
     *
     * @param memory   memory, maybe none.
     * @param devices  block devices, maybe none.
     * @param own      what this client has for itself, and others read through it.
     * @param endpoint where that is.
     */
    Mounts(final UUID clientId, final Master master, final LentMemory memory, final LentDevices devices,
        final Own own, final String endpoint) {
        this.clientId = clientId;
        this.master = master;
        this.memory = memory;
        this.devices = devices;
        this.own = own;
        this.endpoint = endpoint;
        this.locality = near(Set.of());
    }

    private Locality near(final Set<UUID> segments) {
        return new Locality(clientId, segments, devices.endpoints().keySet(),
            own.file() == null ? null : own.file().file(), own.asksForGds());
    }

    /** What is near. */
    Locality locality() {
        return locality;
    }

    /** Lends everything, for the first time or anew: memory under a new identity. */
    void mount() {
        if (memory.isAny()) {
            unmountMemory();
            locality = near(Set.of());
            final SegmentCommand.SegmentSpec spec = memory.renew();
            locality = near(Set.of(spec.address().segmentId()));
            master.apply(new SegmentCommand.Mount(clientId, spec));
        }
        devices.mount();
        mountDisk();
        if (own.file() != null) {
            own.file().mount(own.file().isReadByOthers() ? endpoint : "");
        }
        if (own.shared() != null) {
            own.shared().mount();
        }
    }

    /** Offers the disk and what is on it, which changes nothing where the master knows it. */
    void mountDisk() {
        if (own.disk() != null) {
            own.disk().mount(endpoint);
        }
    }

    /** Takes everything back. A master that does not answer finds out by itself when nobody pings it any more. */
    void unmount() {
        try {
            if (own.disk() != null) {
                master.apply(new DiskCommand.UnmountDisk(clientId));
            }
            if (own.file() != null) {
                own.file().unmount();
            }
            if (own.shared() != null) {
                own.shared().unmount();
            }
            devices.unmount();
            unmountMemory();
        } catch (final StoreException e) {
            LOG.log(System.Logger.Level.WARNING, "the master could not be told that this client leaves; it takes it "
                + "for dead after a while: {0}", e.getMessage());
        }
    }

    private void unmountMemory() {
        final SegmentAddress address = memory.address();
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
