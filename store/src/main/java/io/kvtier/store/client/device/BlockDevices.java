package io.kvtier.store.client.device;

import io.kvtier.store.client.call.Refusals;
import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.RemoteSegments;
import io.kvtier.store.client.transfer.RemoteTransfer;
import io.kvtier.store.client.transfer.ScatterGather;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.nof.DeviceLabel;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.SegmentInfo;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferOptions;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * Block devices as this process reaches them: by the path that it was given itself, else by the one that the lender
 * told the master, which is the same on all hosts. A path on which the device's label is not found is not the device.
 *
 * <p>The engine is made when the first device is met; most clients meet none.
 *
 * <p><b>Threading:</b> thread-safe. <b>Errors:</b> what is wrong with the caller's memory is thrown as the JDK throws
 * it; a device that cannot be reached is what {@link Move#finish()} says. <b>Lifetime:</b> closed after the last move
 * on it. <b>Blocking:</b> where a device is opened, on it and on the master; a device that does not answer is waited
 * for, since it may still touch the memory.
 */
public final class BlockDevices implements AutoCloseable {
    private final Master master;
    private final Map<String, String> given;
    private final Supplier<TransferEngine> opener;
    private final Staging staging;
    private final long timeoutMs;
    private final RemoteSegments segments = new RemoteSegments(this::open);
    private final ReentrantLock lock = new ReentrantLock();
    private volatile TransferEngine engine;
    private boolean closed;

    /**
     * No device is open yet.
     *
     * @param master    knows where devices are.
     * @param given     addresses of those that this process was given itself, by namespace.
     * @param opener    makes an engine for files.
     * @param staging   memory for what a device cannot take from a caller.
     * @param timeoutMs milliseconds for reading a label.
     */
    public BlockDevices(final Master master, final Map<String, String> given, final Supplier<TransferEngine> opener,
        final Staging staging, final long timeoutMs) {
        this.master = master;
        this.given = given;
        this.opener = opener;
        this.staging = staging;
        this.timeoutMs = timeoutMs;
    }

    /**
     * Starts to read a part of a replica into a caller's memory.
     *
     * @param replica   where it is.
     * @param offset    first byte of the value.
     * @param length    bytes.
     * @param target    room for them.
     * @param limitMs   milliseconds after which the transfer is given up.
     * @param alone     whether the caller finishes this read before it starts another.
     */
    public Move startRead(final ReplicaDescriptor.Nof replica, final long offset, final long length,
        final List<MemorySegment> target, final long limitMs, final boolean alone) {
        RemoteTransfer.check(target, Direction.READ);
        if (length == 0) {
            return Move.DONE;
        }
        try {
            final RemoteTransfer transfer = new RemoteTransfer(engine(), segments, staging, Direction.READ);
            transfer.add(enter(replica), DeviceLabel.BYTES + replica.offset() + offset, length, target);
            transfer.start(limitMs, alone);
            return transfer;
        } catch (final RuntimeException e) {
            // An engine that cannot be opened, for one: another replica may do.
            return Move.failed(String.valueOf(e.getMessage()));
        }
    }

    /**
     * Starts to write a value to all of its replicas on devices.
     *
     * @param replicas where they are.
     * @param source   the value's bytes.
     * @param limitMs  milliseconds after which transfers are given up.
     */
    public Move startWrite(final List<ReplicaDescriptor.Nof> replicas, final List<MemorySegment> source,
        final long limitMs) {
        RemoteTransfer.check(source, Direction.WRITE);
        if (ScatterGather.byteSize(source) == 0) {
            return Move.DONE;
        }
        DeviceWrite write = null;
        try {
            write = new DeviceWrite(engine(), segments, staging, source);
            for (final ReplicaDescriptor.Nof replica : replicas) {
                write.hold(enter(replica));
                write.add(enter(replica), DeviceLabel.BYTES + replica.offset());
            }
            write.start(limitMs);
            return write;
        } catch (final RuntimeException e) {
            giveUp(write);
            return Move.failed(String.valueOf(e.getMessage()));
        } catch (final Error e) {
            giveUp(write);
            throw e;
        }
    }

    private static void giveUp(final DeviceWrite write) {
        if (write != null) {
            write.finish();
        }
    }

    private RemoteSegments.Opened enter(final ReplicaDescriptor.Nof replica) {
        return segments.enter(new SegmentAddress(id(replica.namespace()), "", AccessToken.NONE));
    }

    /** Namespaces that are not ids of labels get one that no device has, and so are not found. */
    private static UUID id(final String namespace) {
        try {
            return UUID.fromString(namespace);
        } catch (final IllegalArgumentException e) {
            return new UUID(0, 0);
        }
    }

    private Segment open(final SegmentAddress address) {
        final UUID id = address.segmentId();
        final String endpoint = endpoint(id.toString());
        final io.kvtier.transport.SegmentAddress parsed = io.kvtier.transport.SegmentAddress.parse(endpoint);
        if (parsed.kind() != Segment.Kind.FILE) {
            throw new IllegalStateException("block device " + id + " is said to be at " + endpoint
                + ", which is neither a block device nor a file");
        }
        final Path path = Path.of(parsed.path());
        DeviceLabel.requireDevice(path);
        final Segment segment = engine().openSegment(endpoint);
        boolean good = false;
        try {
            final UUID found = label(segment, path);
            if (!found.equals(id)) {
                throw new IllegalStateException("on this host " + path + " leads to block device " + found + ", not to "
                    + id + "; give devices by a path that is the same on all hosts, such as one in /dev/disk/by-id");
            }
            good = true;
            return segment;
        } finally {
            if (!good) {
                segment.close();
            }
        }
    }

    /** By the descriptors that values are read and written with, so that no other device can slip in. */
    private UUID label(final Segment segment, final Path path) {
        final Transfer read = engine().newTransfer();
        final Staging.Piece room = staging.take(DeviceLabel.BYTES);
        try {
            read.read(room.slice().region(), room.slice().offset(), DeviceLabel.BYTES, segment, 0);
            engine().submit(read, TransferOptions.within(timeoutMs));
            read.await();
            return DeviceLabel.idIn(room.slice().segment(), path);
        } finally {
            // Not memory that a device may still write to.
            if (!read.isDone() || read.isSettled()) {
                room.close();
            }
        }
    }

    private String endpoint(final String namespace) {
        final String mine = given.get(namespace);
        if (mine != null) {
            return mine;
        }
        for (final SegmentInfo segment : master.apply(new SegmentCommand.Segments())) {
            if (segment.medium() == Medium.NOF && segment.name().equals(namespace)) {
                return segment.endpoint();
            }
        }
        throw new IllegalStateException("the master knows no block device " + namespace + " any more");
    }

    private TransferEngine engine() {
        final TransferEngine made = engine;
        if (made != null) {
            return made;
        }
        lock.lock();
        try {
            if (closed) {
                throw Refusals.closed();
            }
            if (engine == null) {
                engine = opener.get();
            }
            return engine;
        } finally {
            lock.unlock();
        }
    }

    /** Closes devices that were not used for some time. */
    public void sweep() {
        segments.sweep();
    }

    /** Whether transfers were left running when it was closed: staging memory must then stay mapped. */
    public boolean isAbandoned() {
        return engine != null && engine.abandoned();
    }

    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
        } finally {
            lock.unlock();
        }
        segments.close();
        if (engine != null) {
            engine.close();
        }
    }
}
