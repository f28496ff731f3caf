package io.kvtier.store.client.device;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.NofConfig;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.nof.DeviceLabel;
import io.kvtier.store.nof.NofDevice;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Closings;
import io.kvtier.transport.ThreadEnds;
import io.kvtier.transport.file.FileOpener;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/**
 * The block devices that this client lends: told to the master, and looked at from time to time.
 *
 * <p>One device is lent by one client at a time, however many were given it: who finds it lent already goes on trying,
 * and takes over when the other one has gone. What the master takes out of use because it could not be read is lent
 * again when it can.
 *
 * <p><b>Threading:</b> thread-safe; {@code kvtier-nof} looks at the devices, each time by a thread that may hang.
 * <b>Lifetime:</b> {@link #stop} ends the looking, {@link #close} lets go of the devices. <b>Blocking:</b> on the
 * master.
 */
public final class LentDevices implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(LentDevices.class.getName());
    /** How often a device is tried that is to be lent and is not. */
    private static final long RETRY_MS = 1_000;

    private final UUID clientId;
    private final Master master;
    private final NofConfig config;
    private final FileOpener files;
    private final List<Lent> devices;
    private final CountDownLatch stop = new CountDownLatch(1);
    private final Thread thread = Thread.ofPlatform().daemon().name("kvtier-nof").unstarted(this::run);
    private final ReentrantLock lock = new ReentrantLock();
    private BooleanSupplier mayLendAlone;

    /** A device, and what the master knows of it; written under the lock, but for the probe, which is the thread's. */
    private static final class Lent {
        private final NofDevice device;
        /** Null while the master does not know it as this client's. */
        private volatile UUID segmentId;
        private boolean before;
        private boolean told;
        private FutureTask<UUID> probe;
        private boolean failing;
        /** Whether the last probe was not answered in time. */
        private boolean late;

        Lent(final NofDevice device) {
            this.device = device;
            this.before = !device.fresh();
        }
    }

    private LentDevices(final UUID clientId, final Master master, final NofConfig config, final FileOpener files,
        final List<Lent> devices) {
        this.clientId = clientId;
        this.master = master;
        this.config = config;
        this.files = files;
        this.devices = devices;
    }

    /** Opens the devices; the master is not told yet. */
    public static LentDevices open(final UUID clientId, final Master master, final NofConfig config,
        final FileOpener files) {
        final List<Lent> devices = new ArrayList<>();
        try (Closings opened = new Closings()) {
            for (final NofConfig.Device one : config.devices()) {
                devices.add(new Lent(opened.keep(NofDevice.open(one.path(), one.bytes(), files), NofDevice::close)));
            }
            opened.stayOpen();
        }
        return new LentDevices(clientId, master, config, files, devices);
    }

    /** Whether the master knows one of them as this client's. Never blocks. */
    public boolean isLending() {
        return devices.stream().anyMatch(one -> one.segmentId != null);
    }

    /** Addresses of the devices by their names. */
    public Map<String, String> endpoints() {
        final Map<String, String> all = new LinkedHashMap<>();
        devices.forEach(one -> all.put(one.device.namespace(), one.device.endpoint()));
        return all;
    }

    /**
     * Begins to look at the devices.
     *
     * @param settled whether the master knows all else that this client lends, so that a device may be lent alone.
     */
    public void start(final BooleanSupplier settled) {
        mayLendAlone = settled;
        if (!devices.isEmpty()) {
            thread.start();
        }
    }

    /** Lends all devices that the master does not know. One that somebody else lends is left to him for now. */
    public void mount() {
        lock.lock();
        try {
            final Set<UUID> known = isLending() ? known() : Set.of();
            for (final Lent one : devices) {
                if (one.segmentId == null || !known.contains(one.segmentId)) {
                    one.segmentId = null;
                    mount(one);
                }
            }
        } finally {
            lock.unlock();
        }
    }

    private Set<UUID> known() {
        return master.apply(new SegmentCommand.Segments()).stream()
            .filter(segment -> segment.status() != SegmentCommand.Status.UNMOUNTING)
            .map(SegmentCommand.SegmentInfo::segmentId).collect(Collectors.toSet());
    }

    /** Takes them all back. */
    public void unmount() {
        lock.lock();
        try {
            devices.forEach(this::unmount);
        } finally {
            lock.unlock();
        }
    }

    private void mount(final Lent one) {
        final UUID id = UUID.randomUUID();
        final NofDevice device = one.device;
        try {
            master.apply(new SegmentCommand.Mount(clientId, new SegmentSpec(device.namespace(), Medium.NOF,
                device.capacity(), StoreConfig.UNIT_BYTES, new SegmentAddress(id, device.endpoint(), AccessToken.NONE),
                !one.before)));
            one.segmentId = id;
            one.told = false;
            LOG.log(System.Logger.Level.INFO, "block device {0} is lent as {1}, {2} bytes", device.path(),
                device.namespace(), Long.toString(device.capacity()));
        } catch (final StoreException e) {
            if (e.code() != ErrorCode.SEGMENT_ALREADY_EXISTS && e.code() != ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS) {
                // It may be mounted, and only the answer was lost: the next probe is told which it is.
                one.segmentId = id;
                throw e;
            }
            if (!one.told) {
                LOG.log(System.Logger.Level.INFO, "block device {0} is not lent by this client for now, it is tried "
                    + "again: {1}", device.path(), e.getMessage());
                one.told = true;
            }
        } finally {
            // Even when the answer was lost: somebody may have been sent there.
            one.before = true;
        }
    }

    private void unmount(final Lent one) {
        final UUID id = one.segmentId;
        if (id == null) {
            return;
        }
        one.segmentId = null;
        try {
            master.apply(new SegmentCommand.Unmount(clientId, id, 0));
        } catch (final StoreException e) {
            if (e.code() != ErrorCode.SEGMENT_NOT_FOUND) {
                throw e;
            }
            // Forgotten already.
        }
    }

    private void run() {
        try {
            while (!stop.await(pauseMs(), TimeUnit.MILLISECONDS)) {
                lookAtAll();
            }
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void lookAtAll() throws InterruptedException {
        for (final Lent one : devices) {
            try {
                look(one);
            } catch (final RuntimeException | Error e) {
                LOG.log(System.Logger.Level.ERROR, "a look at a block device ended in an unforeseen way", e);
            }
        }
    }

    private long pauseMs() {
        lock.lock();
        try {
            return devices.stream().anyMatch(one -> one.segmentId == null) ? Math.min(RETRY_MS, config.probeMs())
                : config.probeMs();
        } finally {
            lock.unlock();
        }
    }

    private void look(final Lent one) throws InterruptedException {
        final boolean healthy = probe(one);
        lock.lock();
        try {
            if (stop.getCount() == 0) {
                return;
            }
            if (one.segmentId != null) {
                report(one, healthy);
            } else if (healthy && mayLendAlone.getAsBoolean()) {
                mount(one);
            }
        } catch (final StoreException e) {
            // The pings say that the master does not answer; whatever else it is, the next look tries again.
            LOG.log(System.Logger.Level.DEBUG, "the master was not told of block device {0}: {1}", one.device.path(),
                e.getMessage());
        } finally {
            lock.unlock();
        }
    }

    private void report(final Lent one, final boolean healthy) {
        if (master.apply(new SegmentCommand.Probed(one.segmentId, healthy, one.late)) == Ack.STALE) {
            // It has been started anew, took this client for dead, or counted too many failures.
            LOG.log(System.Logger.Level.WARNING, "the master does not use block device {0} any more; it is lent again "
                + "when it can be read", one.device.path());
            one.segmentId = null;
        }
    }

    /** Whether the label can be read in time and is that of the device. One read at a time, however long it takes. */
    private boolean probe(final Lent one) throws InterruptedException {
        if (one.probe == null || one.probe.isDone()) {
            final FutureTask<UUID> next = new FutureTask<>(() -> DeviceLabel.read(files, one.device.path()));
            Thread.ofPlatform().daemon().name("kvtier-nof-probe").start(next);
            // Only now: one that no thread could be had for would never end, and no other be begun.
            one.probe = next;
        }
        String problem;
        one.late = false;
        try {
            final UUID found = one.probe.get(config.probeTimeoutMs(), TimeUnit.MILLISECONDS);
            problem = found.equals(one.device.id()) ? null : "it is block device " + found + " now";
        } catch (final TimeoutException e) {
            one.late = true;
            problem = "nothing was read within " + config.probeTimeoutMs() + " ms";
        } catch (final ExecutionException e) {
            problem = String.valueOf(e.getCause().getMessage());
        }
        if (problem != null && !one.failing) {
            LOG.log(System.Logger.Level.WARNING, "block device {0} failed a probe: {1}", one.device.path(), problem);
        }
        one.failing = problem != null;
        return problem == null;
    }

    /** Ends the looking, and waits for a look under way. */
    public void stop() {
        stop.countDown();
        ThreadEnds.await(thread);
    }

    @Override
    public void close() {
        stop();
        try (Closings closings = new Closings()) {
            devices.forEach(one -> closings.keep(one.device, NofDevice::close));
        }
    }
}
