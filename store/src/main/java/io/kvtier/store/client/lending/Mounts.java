package io.kvtier.store.client.lending;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.device.LentDevices;
import io.kvtier.store.client.disk.DiskTier;
import io.kvtier.store.client.gds.GdsTier;
import io.kvtier.store.client.shared.KeyFileTier;
import io.kvtier.store.client.shared.SharedDiskTier;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Returning;
import io.kvtier.store.replica.Locality;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.RareLog;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/**
 * What this client lends to the store, as the master knows it.
 *
 * <p><b>Threading:</b> {@link #locality} from any thread; the rest by one at a time. <b>Blocking:</b> on the master,
 * and on requests of others that end before memory is lent anew.
 */
public final class Mounts {
    private static final System.Logger LOG = System.getLogger(Mounts.class.getName());

    private final UUID clientId;
    private final Master master;
    private final LentMemory memory;
    private final LentDevices devices;
    private final Own own;
    private final String endpoint;
    private volatile Locality locality;
    /** What memory was lent as in which values lie that are to be brought back; null when there are none. */
    private SegmentAddress former;
    /** Everything was lent at least once. */
    private boolean lent;
    private final AtomicBoolean sharedMissing = new AtomicBoolean();
    /** Memory of which the master has not heard that all that comes back into it is back; null when there is none. */
    private final AtomicReference<SegmentAddress> unended = new AtomicReference<>();
    private final RareLog notes = new RareLog(LOG);

    /**
     * What this client has for itself.
     *
     * @param disk       null without one.
     * @param file       for GDS replicas; null without one.
     * @param shared     files that all hosts mount; null without any.
     * @param keyFiles   files of single values that all hosts mount.
     * @param asksForGds whether it asks others for what is in their files.
     */
    public record Own(DiskTier disk, GdsTier file, SharedDiskTier shared, KeyFileTier keyFiles, boolean asksForGds) {
    }

    /**
     * What may be lent.
     *
     * @param memory   memory, maybe none.
     * @param devices  block devices, maybe none.
     * @param own      what this client has for itself, and others read through it.
     * @param endpoint where that is.
     */
    public Mounts(final UUID clientId, final Master master, final LentMemory memory, final LentDevices devices,
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
    public Locality locality() {
        return locality;
    }

    /** Lends everything, for the first time or anew: memory under a new identity. */
    public void mount() {
        // When this has failed half-way, values still lie there as they were lent before that.
        former = former == null ? memory.address() : former;
        final Returning returning = former == null ? Returning.NONE : ValuesReturning.first(clientId, master, former);
        final boolean returns = !returning.replicas().isEmpty();
        former = returns ? former : null;
        if (memory.isAny()) {
            mountMemory(returns);
        }
        devices.mount();
        mountDisk();
        if (own.file() != null) {
            own.file().mount(own.file().isReadByOthers() ? endpoint : "");
        }
        mountShared();
        if (memory.isAny()) {
            own.keyFiles().mount();
        }
        if (returns) {
            final SegmentAddress now = memory.address();
            if (!new ValuesReturning(clientId, master, memory, former).bringBack(returning)) {
                unended.set(now);
            }
            former = null;
        }
        lent = true;
    }

    /**
     * Says that this client has the shared disk. Once everything was lent, a failure is not that of the lending, which
     * would be done over and over, each time without what lies in memory: it is tried again alone.
     */
    public void mountShared() {
        if (own.shared() == null) {
            return;
        }
        try {
            own.shared().mount();
        } catch (final StoreException e) {
            if (!lent || e.code() == ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS) {
                throw e;
            }
            sharedMissing.set(true);
            notes.warn("this client is without its shared disk, and tries again", e::getMessage);
        }
    }

    /** Whether the shared disk could not be had when it was last tried; asked once for each try. */
    public boolean takeSharedMissing() {
        return sharedMissing.getAndSet(false);
    }

    /** Memory of which the master is to be told once more that all is back; null for none. Asked once for each try. */
    public SegmentAddress takeUnended() {
        return unended.getAndSet(null);
    }

    /** Tells the master once more; nothing when the memory was lent anew meanwhile. */
    public void endReturn(final SegmentAddress returned) {
        if (returned.equals(memory.address()) && !ValuesReturning.end(clientId, master, returned)) {
            unended.set(returned);
        }
    }

    private void mountMemory(final boolean returns) {
        unended.set(null);
        unmountMemory();
        locality = near(Set.of());
        final SegmentCommand.SegmentSpec spec = memory.renew(returns);
        locality = near(Set.of(spec.address().segmentId()));
        // Without memory of before nothing comes back, and the segment need not wait for that.
        master.apply(new SegmentCommand.Mount(clientId, spec, returns && memory.former() != null ? former : null));
    }

    /** Offers the disk and what is on it, which changes nothing where the master knows it. */
    public void mountDisk() {
        if (own.disk() != null) {
            own.disk().mount(endpoint);
        }
    }

    /** Takes everything back. A master that does not answer finds out by itself when nobody pings it any more. */
    public void unmount() {
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
            own.keyFiles().unmount();
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
