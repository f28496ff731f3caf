package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.StoredObject;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsValue;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.protocol.SegmentCommand.FetchReturning;
import io.kvtier.store.protocol.SegmentCommand.Mount;
import io.kvtier.store.protocol.SegmentCommand.ReturnReplicas;
import io.kvtier.store.protocol.SegmentCommand.Returning;
import io.kvtier.store.protocol.SegmentCommand.ReturningReplica;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.Snapshot;
import io.kvtier.transport.AccessToken;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;

/** Clients that have all that a snapshot says that they have, and come back to a master that has restored it. */
final class SnapshotOwners {
    private final MasterRig rig;
    private final Snapshot snapshot;
    private final TreeMap<String, String> attributes = new TreeMap<>();
    private long bytes;

    SnapshotOwners(final MasterRig rig, final Snapshot snapshot) {
        this.rig = rig;
        this.snapshot = snapshot;
    }

    /** One client with its memory, which was lent as {@code former}, its disk and its file. */
    void comeBack(final UUID client, final SegmentAddress former) {
        rig.ping(client, "host");
        rig.disk(client);
        assertEquals(Ack.OK, rig.apply(new GdsCommand.RegisterGdsStorage(client, SnapshotCommands.file(client))));
        final SegmentAddress now = new SegmentAddress(UUID.randomUUID(), "tcp://new", AccessToken.random());
        final boolean any = !rig.apply(new FetchReturning(client, former, 0, 1)).replicas().isEmpty();
        rig.apply(new Mount(client, SnapshotCommands.memory(client, now), any ? former : null));
        long cursor = 0;
        while (cursor != Returning.END) {
            final Returning part = rig.apply(new FetchReturning(client, former, cursor, 3));
            final List<Long> ids = part.replicas().stream().map(ReturningReplica::replicaId).toList();
            rig.apply(new ReturnReplicas(client, now.segmentId(), ids, part.cursor() == Returning.END));
            cursor = part.cursor();
        }
        for (final SavedObject object : snapshot.objects()) {
            for (final Replica replica : object.replicas()) {
                offer(client, object, replica.descriptor());
            }
        }
    }

    private void offer(final UUID client, final SavedObject object, final ReplicaDescriptor descriptor) {
        if (descriptor instanceof ReplicaDescriptor.LocalDisk disk && disk.clientId().equals(client)) {
            rig.apply(new DiskCommand.AdoptDisk(client, List.of(new StoredObject(object.key(), object.version(),
                object.size(), object.checksum()))));
        } else if (descriptor instanceof ReplicaDescriptor.Gds gds && gds.ownerClientId().equals(client)) {
            rig.apply(new GdsCommand.AdoptGdsReplicas(client, List.of(new GdsValue(object.key(), object.version(),
                object.size(), new GdsExtent(gds.storageId(), gds.storageGeneration(), gds.valueOffset(),
                gds.allocatedSize()), object.checksummed(), object.checksum()))));
        }
    }

    private static String place(final ReplicaDescriptor descriptor) {
        return switch (descriptor) {
            case ReplicaDescriptor.Memory memory -> "memory at " + memory.offset() + " of " + memory.size();
            case ReplicaDescriptor.Gds gds -> gds.toString();
            case ReplicaDescriptor.LocalDisk disk -> "disk of " + disk.clientId();
            case ReplicaDescriptor.Nof nof -> nof.toString();
            case ReplicaDescriptor.DistributedDisk file -> file.toString();
            case ReplicaDescriptor.Disk file -> file.toString();
            case ReplicaDescriptor.Unknown unknown -> unknown.toString();
        };
    }

    private static String line(final long version, final long size, final boolean checksummed, final long checksum,
        final Object type, final List<ReplicaDescriptor> descriptors) {
        final TreeSet<String> places = new TreeSet<>();
        descriptors.forEach(descriptor -> places.add(place(descriptor)));
        return version + " " + size + " " + checksummed + " " + (checksummed ? checksum : 0) + " " + type + " "
            + places;
    }

    /** What lies on devices is not back, nor what lies in memory without a checksum, or in memory that is not lent. */
    private boolean isBack(final SavedObject object, final ReplicaDescriptor descriptor,
        final SnapshotCommands commands) {
        return switch (descriptor) {
            case ReplicaDescriptor.Memory memory -> object.checksummed() && SnapshotCommands.CLIENTS.stream()
                .anyMatch(client -> commands.address(client).segmentId().equals(memory.segment().segmentId()));
            case ReplicaDescriptor.Nof ignored -> false;
            default -> true;
        };
    }

    TreeMap<String, String> expected(final SnapshotCommands commands) {
        final TreeMap<String, String> all = new TreeMap<>();
        bytes = 0;
        attributes.clear();
        final RemovedVersions removed = new RemovedVersions();
        removed.restore(snapshot.head().removals(), 0);
        for (final SavedObject object : snapshot.objects()) {
            if (removed.mayContain(object.key(), object.version())) {
                // A put that had begun before a removal and ended after it: nobody can tell it from one that is late.
                continue;
            }
            final List<ReplicaDescriptor> back = object.replicas().stream().map(Replica::descriptor)
                .filter(descriptor -> isBack(object, descriptor, commands)).toList();
            if (back.isEmpty()) {
                continue;
            }
            all.put(object.key().toString(), line(object.version(), object.size(), object.checksummed(),
                object.checksum(), object.dataType(), back));
            attributes.put(object.key().toString(), object.writer() + " " + object.hardPinned() + " " + object.group()
                + " " + object.softPinMs());
            for (final ReplicaDescriptor descriptor : back) {
                bytes += descriptor instanceof ReplicaDescriptor.Memory memory
                    ? (memory.size() + MasterRig.UNIT - 1) / MasterRig.UNIT * MasterRig.UNIT : 0;
            }
        }
        return all;
    }

    /** After {@link #expected}: what is allocated in memory. */
    long expectedBytes() {
        return bytes;
    }

    /** After {@link #expected}. */
    TreeMap<String, String> expectedAttributes() {
        return attributes;
    }

    /** What can be read now. */
    TreeMap<String, String> found() {
        final TreeMap<String, String> all = new TreeMap<>();
        final List<String> keys = new ArrayList<>(rig.find("", "", false));
        for (final String key : keys) {
            final var object = rig.query(key.substring(key.indexOf('/') + 1));
            all.put(key, line(object.version(), object.size(), object.checksummed(), object.checksum(),
                object.dataType(), object.replicas().stream().map(Replica::descriptor).toList()));
        }
        return all;
    }
}
