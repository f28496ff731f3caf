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
import io.kvtier.store.snapshot.SavedTenant;
import io.kvtier.store.snapshot.Snapshot;
import io.kvtier.store.snapshot.SnapshotHead;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.rpc.MessageReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * Rows as records. What a later version has added is passed over: sections, fields, and rows with a value of an
 * enumeration that is not known here; replicas of types that are not known are carried along.
 *
 * <p><b>Threading:</b> one thread.
 */
final class RowReader {
    /** The number of no segment: what lay there went while the snapshot was being taken. */
    static final int NO_SEGMENT = -1;
    private static final int MAX_TEXT = 64 << 10;
    private static final int MAX_UNKNOWN = 16 << 10;

    private final MessageReader in = new MessageReader();
    private long[] numbers;
    private UUID volume;
    private final List<SavedSegment> segments = new ArrayList<>();
    private final Map<Integer, SegmentAddress> addresses = new HashMap<>();
    private final List<SavedFile> files = new ArrayList<>();
    private final List<SavedTenant> tenants = new ArrayList<>();
    private final List<SavedTasks.SavedTask> tasks = new ArrayList<>();
    private final List<DrainInfo> drains = new ArrayList<>();
    private int slots;
    private final List<SavedRemovals.Page> pages = new ArrayList<>();
    private final List<SavedRemovals.Matching> patterns = new ArrayList<>();
    private final List<SavedObject> objects = new ArrayList<>();
    /** One of all that are equal: there are few of them, and many objects. */
    private final Map<Object, Object> shared = new HashMap<>();

    /** Reads all rows of a chunk; whatever is wrong with them throws some RuntimeException. */
    void chunk(final Section section, final int rows, final byte[] content) {
        in.reset(content);
        for (int i = 0; i < rows; i++) {
            in.begin();
            row(section);
            in.end();
        }
        in.endMessage();
        in.clear();
    }

    private void row(final Section section) {
        switch (section) {
            case NUMBERS -> {
                numbers = new long[] {in.number(), count(), count(), count(), count()};
                // Came later.
                volume = in.has() && !in.nothing() ? uuid() : null;
            }
            case SEGMENTS -> segment();
            case FILES -> files.add(new SavedFile(uuid(), text(), new GdsStorageSpec(uuid(), count(), text(), count(),
                count(), count())));
            case TENANTS -> tenants.add(new SavedTenant(text(), count(), count(), count()));
            case TASKS -> task();
            case DRAINS -> drain();
            case REMOVED -> page();
            case PATTERNS -> patterns.add(new SavedRemovals.Matching(text(), text(), count()));
            case OBJECTS -> objects.add(object());
            default -> throw new IllegalArgumentException("rows of " + section);
        }
    }

    private void segment() {
        final int number = (int) in.number(0, Integer.MAX_VALUE);
        final UUID id = uuid();
        final UUID clientId = uuid();
        final String name = text();
        final String host = text();
        final Medium medium = constant(Medium.class, text());
        final long capacity = count();
        final long unit = count();
        final SegmentAddress address = new SegmentAddress(id, text(), AccessToken.of(in.bytes(AccessToken.BYTES)));
        if (medium != null) {
            addresses.put(number, address);
            segments.add(new SavedSegment(clientId, host, new SegmentSpec(name, medium, capacity, unit, address,
                false)));
        }
    }

    private void task() {
        final long id = count();
        final Kind kind = constant(Kind.class, text());
        final ObjectKey key = key();
        final String source = text();
        final List<String> targets = texts();
        final UUID clientId = uuid();
        final TaskStatus status = constant(TaskStatus.class, text());
        final String message = text();
        if (kind != null && status != null) {
            tasks.add(new SavedTasks.SavedTask(clientId,
                new TaskInfo(new Task(id, kind, key, source, targets), status, message)));
        }
    }

    private void drain() {
        final long id = count();
        final List<String> names = texts();
        final DrainStatus status = constant(DrainStatus.class, text());
        final long moved = count();
        final long failed = count();
        if (status != null) {
            drains.add(new DrainInfo(id, names, status, moved, failed, 0));
        }
    }

    private void page() {
        slots = (int) in.number(1, Integer.MAX_VALUE);
        final int index = (int) in.number(0, slots);
        final long[] versions = new long[in.begin()];
        for (int i = 0; i < versions.length; i++) {
            versions[i] = count();
        }
        in.end();
        pages.add(new SavedRemovals.Page(index, versions));
    }

    private SavedObject object() {
        final ObjectKey key = key();
        final long version = count();
        final long size = count();
        final boolean checksummed = !in.nothing();
        final long checksum = checksummed ? in.number() : 0;
        final DataType type = DataType.of((int) in.number(0, Integer.MAX_VALUE));
        final UUID writer = uuid();
        final boolean hardPinned = (in.number() & RowWriter.PINNED_HARD) != 0;
        final String group = text();
        final long softPinMs = count();
        final int count = in.begin();
        final List<Replica> replicas = new ArrayList<>(Math.min(count, 16));
        for (int i = 0; i < count; i++) {
            in.begin();
            final Replica replica = replica();
            in.end();
            if (replica != null) {
                replicas.add(replica);
            }
        }
        in.end();
        return new SavedObject(key, version, size, checksummed, checksum, type, writer, hardPinned, group, softPinMs,
            List.copyOf(replicas));
    }

    /** Null for one in a segment that is not there. */
    private Replica replica() {
        final long id = in.number();
        final int type = (int) in.number(Integer.MIN_VALUE, Integer.MAX_VALUE);
        final ReplicaDescriptor descriptor;
        if (type == ReplicaType.MEMORY.number()) {
            in.begin();
            final SegmentAddress address = addresses.get((int) in.number(NO_SEGMENT, Integer.MAX_VALUE));
            descriptor = address == null ? null : new ReplicaDescriptor.Memory(address, count(), count());
            in.end();
        } else if (type == ReplicaType.DISK.number()) {
            in.begin();
            descriptor = new ReplicaDescriptor.Disk(text(), count());
            in.end();
        } else if (type == ReplicaType.LOCAL_DISK.number()) {
            in.begin();
            descriptor = new ReplicaDescriptor.LocalDisk(uuid(), count(), text());
            in.end();
        } else if (type == ReplicaType.NOF.number()) {
            in.begin();
            descriptor = new ReplicaDescriptor.Nof(text(), count(), count());
            in.end();
        } else if (type == ReplicaType.GDS.number()) {
            in.begin();
            descriptor = new ReplicaDescriptor.Gds(uuid(), uuid(), count(), count(), count(), count());
            in.end();
        } else if (type == ReplicaType.DISTRIBUTED_DISK.number()) {
            in.begin();
            descriptor = new ReplicaDescriptor.DistributedDisk(text(), count(), count());
            in.end();
        } else {
            descriptor = new ReplicaDescriptor.Unknown(type, in.raw(MAX_UNKNOWN));
        }
        return descriptor == null ? null : new Replica(id, ReplicaStatus.COMPLETE, descriptor);
    }

    /** What was read, when all was. */
    Snapshot snapshot() {
        if (numbers == null) {
            throw new IllegalArgumentException("it has no numbers");
        }
        return Snapshot.of(new SnapshotHead(numbers[0], numbers[1], numbers[2], List.copyOf(segments),
            List.copyOf(files), List.copyOf(tenants), new SavedTasks(numbers[3], List.copyOf(tasks), numbers[4],
            List.copyOf(drains)), new SavedRemovals(slots, List.copyOf(pages), List.copyOf(patterns)), List.of(),
            volume), objects);
    }

    private ObjectKey key() {
        return new ObjectKey(text(), in.text(ObjectKey.MAX_KEY_BYTES));
    }

    private long count() {
        return in.number(0, Long.MAX_VALUE);
    }

    private UUID uuid() {
        return (UUID) shared.computeIfAbsent(in.uuid(), same -> same);
    }

    private String text() {
        final String text = in.text(MAX_TEXT);
        return (String) shared.computeIfAbsent(text, same -> same);
    }

    private List<String> texts() {
        final int count = in.begin();
        final List<String> texts = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            texts.add(text());
        }
        in.end();
        return List.copyOf(texts);
    }

    /** Null for one that only a later version knows. */
    private static <E extends Enum<E>> E constant(final Class<E> type, final String name) {
        for (final E one : type.getEnumConstants()) {
            if (one.name().equals(name)) {
                return one;
            }
        }
        return null;
    }
}
