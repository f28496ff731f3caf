package io.kvtier.store.snapshot.files;

import io.kvtier.store.DataType;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.GdsCommand.GdsStorageSpec;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.protocol.TaskCommand.DrainInfo;
import io.kvtier.store.protocol.TaskCommand.DrainStatus;
import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.protocol.TaskCommand.Task;
import io.kvtier.store.protocol.TaskCommand.TaskInfo;
import io.kvtier.store.protocol.TaskCommand.TaskStatus;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.snapshot.SavedFile;
import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.SavedRemovals;
import io.kvtier.store.snapshot.SavedSegment;
import io.kvtier.store.snapshot.SavedTasks;
import io.kvtier.store.snapshot.SavedTasks.SavedTask;
import io.kvtier.store.snapshot.SavedTenant;
import io.kvtier.store.snapshot.SnapshotHead;
import io.kvtier.transport.AccessToken;
import java.io.IOException;
import java.util.List;
import java.util.UUID;

/** A snapshot that has something of everything. */
final class SnapshotSamples {
    static final String CLUSTER = "blue";
    static final long TERM = 1_796_000_000_000L;
    static final long LAST_VERSION = (TERM << 20) + 77;
    private static final UUID CLIENT = new UUID(0x0123456789ABCDEFL, 0xFEDCBA9876543210L);
    private static final UUID OTHER = new UUID(1, 2);
    private static final SegmentAddress ADDRESS = new SegmentAddress(new UUID(3, 4), "tcp://10.0.0.1:7000",
        AccessToken.of(new byte[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
    /** Nil, a text, an array with a map, in MessagePack. */
    private static final byte[] STRANGE = {(byte) 0x94, (byte) 0xC0, (byte) 0xA1, 'x', (byte) 0x91, (byte) 0x81, 1, 2,
        (byte) 0xCB, 0x40, 0x09, 0x21, (byte) 0xFB, 0x54, 0x44, 0x2D, 0x18};

    private SnapshotSamples() {
    }

    static SnapshotHead head() {
        return inVolume(new UUID(9, 10));
    }

    /** With shared files there; null for none. */
    static SnapshotHead inVolume(final UUID volume) {
        final long[] versions = new long[1024];
        versions[0] = 5;
        versions[1023] = LAST_VERSION;
        return new SnapshotHead(TERM, LAST_VERSION, (TERM << 20) + 99,
            List.of(new SavedSegment(CLIENT, "host-a", new SegmentSpec("memory", Medium.MEMORY, 1L << 40, 4096,
                ADDRESS, false)), new SavedSegment(OTHER, "", new SegmentSpec("device", Medium.NOF, 1 << 20, 4096,
                new SegmentAddress(new UUID(5, 6), "file:///dev/x", AccessToken.NONE), false))),
            List.of(new SavedFile(CLIENT, "host-a", new GdsStorageSpec(new UUID(7, 8), 9, "host:1", 1 << 20, 900_000,
                800_000))),
            List.of(new SavedTenant("tenant-\u00e4", 1L << 41, 3, 4)),
            new SavedTasks(12, List.of(
                new SavedTask(CLIENT, new TaskInfo(new Task(11, Kind.COPY, ObjectKey.of("t", "k"), "s",
                    List.of("a", "b")), TaskStatus.FAILED, "no room")),
                new SavedTask(OTHER, new TaskInfo(new Task(12, Kind.MOVE, ObjectKey.of("k"), "s", List.of("a")),
                    TaskStatus.PENDING, ""))), 3,
                List.of(new DrainInfo(2, List.of("memory"), DrainStatus.SUCCEEDED, 5, 1, 0))),
            new SavedRemovals(1 << 20, List.of(new SavedRemovals.Page(17, versions)),
                List.of(new SavedRemovals.Matching("", "", 4), new SavedRemovals.Matching("t", "a.*", 6))), List.of(),
            volume);
    }

    static List<SavedObject> objects() {
        return List.of(
            new SavedObject(ObjectKey.of("key"), LAST_VERSION, 3000, true, 0xFEDCBA9876543210L, DataType.KVCACHE,
                CLIENT, true, "group", 1234, List.of(
                    new Replica(1, ReplicaStatus.COMPLETE, new ReplicaDescriptor.Memory(ADDRESS, 4096, 3000)),
                    new Replica(2, ReplicaStatus.COMPLETE, new ReplicaDescriptor.LocalDisk(CLIENT, 3000, "host:1")),
                    new Replica(3, ReplicaStatus.COMPLETE, new ReplicaDescriptor.Nof("device", 8192, 3000)),
                    new Replica(4, ReplicaStatus.COMPLETE, new ReplicaDescriptor.Gds(CLIENT, new UUID(7, 8), 9, 4096,
                        3000, 4096)),
                    new Replica(7, ReplicaStatus.COMPLETE, new ReplicaDescriptor.DistributedDisk(
                        "/mnt/kv/bucket_0f.data", 65_536, 3000)),
                    new Replica(8, ReplicaStatus.COMPLETE, new ReplicaDescriptor.Disk(
                        "/mnt/kv/c/3f/3f00000000000001-0000000000000002.kv", 3000)),
                    new Replica(5, ReplicaStatus.COMPLETE, new ReplicaDescriptor.Unknown(9, STRANGE)))),
            new SavedObject(ObjectKey.of("tenant-\u00e4", "\u20ac"), 1, 0, false, 0, DataType.UNKNOWN, OTHER, false,
                "", 0, List.of(new Replica(6, ReplicaStatus.COMPLETE,
                    new ReplicaDescriptor.LocalDisk(OTHER, 0, "")))));
    }

    /** The same without the replica in a file of its own. */
    static List<SavedObject> objectsWithoutFile() {
        return objects().stream().map(object -> new SavedObject(object.key(), object.version(), object.size(),
            object.checksummed(), object.checksum(), object.dataType(), object.writer(), object.hardPinned(),
            object.group(), object.softPinMs(), object.replicas().stream()
            .filter(replica -> replica.type() != ReplicaType.DISK).toList())).toList();
    }

    /** Writes a snapshot of this head and these objects. */
    static Manifest write(final SnapshotArchive archive, final SnapshotHead head, final List<SavedObject> objects)
        throws IOException {
        try (SnapshotArchive.Writer writer = archive.begin(head.term(), 1_796_000_123_456L)) {
            writer.head(head);
            writer.objects(objects);
            return writer.commit(42);
        }
    }

    /** The head of another term. */
    static SnapshotHead ofTerm(final long term) {
        final SnapshotHead head = head();
        return new SnapshotHead(term, head.lastVersion(), head.lastReplicaId(), head.segments(), head.files(),
            head.tenants(), head.tasks(), head.removals(), head.away(), head.sharedVolume());
    }
}
