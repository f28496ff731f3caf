package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.DiskCommand.StoredObject;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.FindReply;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.SegmentInfo;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.Snapshot;
import io.kvtier.store.snapshot.SnapshotHead;
import io.kvtier.store.snapshot.SnapshotSource;
import io.kvtier.transport.AccessToken;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.UUID;

/** A master's state with a clock that is moved by hand, and short words for what clients send it. */
final class MasterRig implements AutoCloseable {
    /** What every range is a multiple of. */
    static final long UNIT = 1024;
    static final long LEASE_MS = 10_000;
    static final long CLIENT_TTL_MS = 20_000;
    static final long DISCARD_MS = 30_000;
    static final long RELEASE_MS = 600_000;
    static final long SOFT_PIN_MS = 1_800_000;
    static final UUID ALICE = new UUID(0xA11CE, 1);
    static final UUID BOB = new UUID(0xB0B, 2);
    static final UUID CAROL = new UUID(0xCA01, 3);

    private final MasterState state;
    private final Map<UUID, Integer> work = new HashMap<>();
    /** Clients that give signs of life whenever time passes, and their hosts. */
    private final Map<UUID, String> alive = new LinkedHashMap<>();
    private long nowMs;
    private long attempts;
    private long segments;
    private long freed;

    /** Settings under which many clients lend memory, eviction happens only for want of room, and reads lease. */
    static MasterSettings settings() {
        return new MasterSettings(new MasterSettings.Eviction(1, 0, 1, 0, true), LEASE_MS, true, 50,
            new MasterSettings.Liveness(CLIENT_TTL_MS, DISCARD_MS, RELEASE_MS, 3),
            new MasterSettings.Pins(SOFT_PIN_MS, 86_400_000), MasterSettings.Tasks.DEFAULT, false,
            MasterSettings.Strategy.RANDOM);
    }

    static MasterSettings withEviction(final MasterSettings.Eviction eviction) {
        final MasterSettings plain = settings();
        return new MasterSettings(eviction, plain.leaseMs(), true, plain.diskRetryMs(), plain.liveness(),
            plain.pins(), plain.tasks(), false, plain.strategy());
    }

    static MasterSettings withStrategy(final MasterSettings.Strategy strategy) {
        final MasterSettings plain = settings();
        return new MasterSettings(plain.eviction(), plain.leaseMs(), true, plain.diskRetryMs(), plain.liveness(),
            plain.pins(), plain.tasks(), false, strategy);
    }

    MasterRig() {
        this(settings());
    }

    MasterRig(final MasterSettings settings) {
        this(settings, 7, 1_000_000);
    }

    /** A master of a later term, from a time on. */
    MasterRig(final MasterSettings settings, final long term, final long fromMs) {
        nowMs = fromMs;
        state = new MasterState(settings, term, new Effects() {
            @Override
            public void workQueued(final UUID clientId, final WorkKind kind) {
                work.merge(clientId, kind.bit(), (a, b) -> a | b);
            }

            @Override
            public void spaceFreed() {
                freed++;
            }
        });
    }

    /** Another master, of the next term, that has restored a snapshot. */
    static MasterRig restored(final MasterSettings settings, final Snapshot snapshot, final long waitMs) {
        return restored(settings, snapshot, waitMs, snapshot.head().term() + 1);
    }

    /** Another master, of a term beyond all before, that has restored a snapshot. */
    static MasterRig restored(final MasterSettings settings, final Snapshot snapshot, final long waitMs,
        final long term) {
        final MasterRig rig = new MasterRig(settings, term, 1_000_000);
        rig.state.restore(snapshot, rig.nowMs, waitMs);
        return rig;
    }

    SnapshotSource snapshots() {
        return state.snapshots();
    }

    /** A whole snapshot, taken with nobody between. */
    Snapshot snapshot() {
        final SnapshotHead head = snapshots().begin();
        final List<SavedObject> objects = new ArrayList<>();
        SnapshotSource.Slice slice;
        do {
            slice = snapshots().next(1000);
            objects.addAll(slice.objects());
        } while (!slice.last());
        snapshots().end();
        return Snapshot.of(head, objects);
    }

    /** For what is no command. */
    MasterState state() {
        return state;
    }

    <R> R apply(final Command<R> command) {
        return state.apply(command, nowMs);
    }

    /** The command is refused with this code, and the dump of the state is what it was. */
    void assertRefused(final ErrorCode code, final Command<?> command) {
        final String before = dump();
        assertEquals(code, assertThrows(StoreException.class, () -> apply(command)).code());
        assertEquals(before, dump(), "a refused command leaves no trace");
    }

    // Time.

    long nowMs() {
        return nowMs;
    }

    /** Lets time pass in which nobody says anything. */
    void pass(final long ms) {
        nowMs += ms;
    }

    /** Lets time pass in which clients that lend something say often enough that they are alive. */
    void passAlive(final long ms) {
        for (long left = ms; left > 0; left -= CLIENT_TTL_MS / 2) {
            pass(Math.min(left, CLIENT_TTL_MS / 2));
            alive.forEach(this::ping);
        }
    }

    /** The same, and all that is to be done is done. */
    void advance(final long ms) {
        passAlive(ms);
        settle();
    }

    /** A client is not heard of from now on. */
    void silence(final UUID client) {
        alive.remove(client);
    }

    /** Does all that takes long. */
    void settle() {
        while (apply(new AdminCommand.Tick()).busy()) {
            // Another part.
        }
    }

    // Clients and what they lend.

    SegmentCommand.ClientStatus ping(final UUID client, final String host) {
        alive.put(client, host);
        return apply(new SegmentCommand.Ping(client, "client", host, "")).status();
    }

    UUID memory(final UUID client, final String name, final long capacity) {
        return mount(client, name, Medium.MEMORY, capacity);
    }

    UUID nof(final UUID client, final String name, final long capacity) {
        return mount(client, name, Medium.NOF, capacity);
    }

    UUID mount(final UUID client, final String name, final Medium medium, final long capacity) {
        final UUID id = new UUID(0x5E6, ++segments);
        assertEquals(Ack.OK, apply(new SegmentCommand.Mount(client, spec(id, name, medium, capacity, true))));
        alive.putIfAbsent(client, "");
        return id;
    }

    static SegmentCommand.SegmentSpec spec(final UUID id, final String name, final Medium medium,
        final long capacity, final boolean fresh) {
        return new SegmentCommand.SegmentSpec(name, medium, capacity, UNIT,
            new SegmentAddress(id, "tcp://" + name, AccessToken.NONE), fresh);
    }

    Ack unmount(final UUID client, final UUID segment, final long graceMs) {
        return apply(new SegmentCommand.Unmount(client, segment, graceMs));
    }

    /** What is known of a mounted segment; null when it is none. */
    SegmentInfo segment(final UUID id) {
        return apply(new SegmentCommand.Segments()).stream().filter(info -> info.segmentId().equals(id)).findFirst()
            .orElse(null);
    }

    void disk(final UUID client) {
        assertEquals(Ack.OK, apply(new DiskCommand.MountDisk(client, "host:1", 1 << 30)));
        alive.putIfAbsent(client, "");
    }

    // Puts.

    static ObjectKey key(final String name) {
        return ObjectKey.of(name);
    }

    PutStartReply start(final UUID client, final String key, final long size, final PutOptions options,
        final boolean replace) {
        return apply(new ObjectCommand.PutStart(client, ++attempts, key(key), size, options, replace));
    }

    PutStartReply start(final UUID client, final String key, final long size) {
        return start(client, key, size, PutOptions.DEFAULT, false);
    }

    PutStartReply.Started started(final UUID client, final String key, final long size, final PutOptions options) {
        return assertInstanceOf(PutStartReply.Started.class, start(client, key, size, options, false), key);
    }

    PutStartReply.Started started(final UUID client, final String key, final long size) {
        return started(client, key, size, PutOptions.DEFAULT);
    }

    PutStartReply.Started replacing(final UUID client, final String key, final long size,
        final PutOptions options) {
        return assertInstanceOf(PutStartReply.Started.class, start(client, key, size, options, true), key);
    }

    PutStartReply.Started replacing(final UUID client, final String key, final long size) {
        return replacing(client, key, size, PutOptions.DEFAULT);
    }

    Ack end(final UUID client, final String key, final long version) {
        return end(client, key, version, Scope.ALL);
    }

    Ack end(final UUID client, final String key, final long version, final Scope scope) {
        return apply(new ObjectCommand.PutEnd(client, key(key), version, scope, false, 0));
    }

    Ack revoke(final UUID client, final String key, final long version) {
        return revoke(client, key, version, Scope.ALL);
    }

    Ack revoke(final UUID client, final String key, final long version, final Scope scope) {
        return apply(new ObjectCommand.PutRevoke(client, key(key), version, scope));
    }

    /** A whole put; its version. */
    long put(final UUID client, final String key, final long size, final PutOptions options) {
        final long version = started(client, key, size, options).version();
        assertEquals(Ack.OK, end(client, key, version));
        return version;
    }

    long put(final UUID client, final String key, final long size) {
        return put(client, key, size, PutOptions.DEFAULT);
    }

    /** Puts of {@code prefix0} to {@code prefix(count - 1)}, in that order. */
    void putMany(final UUID client, final String prefix, final int count, final PutOptions options) {
        for (int i = 0; i < count; i++) {
            put(client, prefix + i, UNIT, options);
        }
    }

    // Reads and removals.

    ReadReply read(final String key) {
        return apply(new ObjectCommand.ReadStart(key(key), false));
    }

    ReadReply hold(final String key) {
        return apply(new ObjectCommand.ReadStart(key(key), true));
    }

    ReadReply query(final String key) {
        return apply(new ObjectCommand.Query(key(key)));
    }

    boolean exists(final String key) {
        return query(key).found();
    }

    ObjectCommand.RemoveReply remove(final String key, final boolean force) {
        return apply(new ObjectCommand.Remove(key(key), force));
    }

    /** All readable keys of all tenants that have a match, found part by part. */
    TreeSet<String> find(final String tenant, final String pattern, final boolean lease) {
        final TreeSet<String> keys = new TreeSet<>();
        long cursor = 0;
        while (cursor != FindReply.END) {
            final FindReply part = apply(new ObjectCommand.Find(tenant, pattern, lease, cursor));
            part.found().forEach(found -> assertEquals(true, keys.add(found.key().toString()), "found twice"));
            cursor = part.cursor();
        }
        return keys;
    }

    long removeMatching(final String tenant, final String pattern, final boolean force) {
        long removed = 0;
        long cursor = 0;
        while (cursor != FindReply.END) {
            final ObjectCommand.RemoveMatchingReply part =
                apply(new ObjectCommand.RemoveMatching(tenant, pattern, force, cursor));
            removed += part.removed();
            cursor = part.cursor();
        }
        return removed;
    }

    int count(final String prefix, final int count) {
        int there = 0;
        for (int i = 0; i < count; i++) {
            there += exists(prefix + i) ? 1 : 0;
        }
        return there;
    }

    AdminCommand.EvictReply evict(final double share, final double least) {
        return apply(new AdminCommand.Evict(share, least));
    }

    // Disks.

    List<OffloadTask> fetch(final UUID client) {
        return apply(new DiskCommand.FetchOffloads(client, Long.MAX_VALUE));
    }

    Ack offloaded(final UUID client, final OffloadTask task, final OffloadResult result) {
        return apply(new DiskCommand.OffloadDone(client, task, result, 99));
    }

    /** Evicts everything evictable and stores it on the disk; how many values that were. */
    int offloadAll(final UUID client) {
        evict(1, 1);
        final List<OffloadTask> tasks = fetch(client);
        tasks.forEach(task -> assertEquals(Ack.OK, offloaded(client, task, OffloadResult.STORED)));
        return tasks.size();
    }

    PromotionReply promote(final UUID client, final String key, final long version) {
        return apply(new DiskCommand.PromotionStart(client, key(key), version));
    }

    Ack promoted(final UUID client, final String key, final PromotionReply reply, final boolean success) {
        return apply(new DiskCommand.PromotionEnd(client, key(key), reply.replicaId(), success));
    }

    boolean adopt(final UUID client, final String key, final long version, final long size) {
        return apply(new DiskCommand.AdoptDisk(client, List.of(new StoredObject(key(key), version, size, 99))))
            .getFirst();
    }

    boolean evictDisk(final UUID client, final String key, final long version) {
        return apply(new DiskCommand.EvictDisk(client, List.of(new StoredObject(key(key), version, 0, 99))))
            .getFirst();
    }

    List<DiskCommand.StoredVersion> drops(final UUID client) {
        return apply(new DiskCommand.FetchDrops(client, Integer.MAX_VALUE, DiskCommand.FetchDrops.ALL_NAMED)).values();
    }

    // What there is.

    MasterStats stats() {
        return apply(new AdminCommand.Statistics());
    }

    /** Kinds of work announced to a client since the last call, as bits. */
    int announced(final UUID client) {
        final Integer bits = work.remove(client);
        return bits == null ? 0 : bits;
    }

    long spaceFreed() {
        return freed;
    }

    /** Everything that can be asked without changing anything. */
    String dump() {
        final List<String> lines = new ArrayList<>();
        lines.add(stats().toString());
        apply(new SegmentCommand.Segments()).forEach(info -> lines.add(info.toString()));
        apply(new SegmentCommand.Clients()).forEach(info -> lines.add(info.toString()));
        long cursor = 0;
        final TreeSet<String> objects = new TreeSet<>();
        while (cursor != FindReply.END) {
            final FindReply part = apply(new ObjectCommand.Find("", "", false, cursor));
            part.found().forEach(found -> objects.add(found.toString()));
            cursor = part.cursor();
        }
        lines.addAll(objects);
        return String.join("\n", lines);
    }

    /** Nobody holds, writes, promotes or offloads anything, and nothing is allocated. */
    void assertEmpty() {
        final MasterStats stats = stats();
        assertEquals(List.of(0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L),
            List.of(stats.pages().used(), stats.pages().replicas(), stats.pages().writing(), stats.objects(),
                stats.memoryUsed(), stats.nofUsed(), stats.memoryReplicas(), stats.heldReplicas(),
                stats.diskReplicas(), stats.offloadsPending(), stats.pendingWrites(), stats.activePromotions(),
                stats.softPinned(), stats.groups()), stats.toString());
    }

    static long memoryReplicas(final ReadReply object) {
        return object.replicas().stream().filter(replica -> replica.type() == ReplicaType.MEMORY).count();
    }

    static long replicas(final ReadReply object, final ReplicaType type) {
        return object.replicas().stream().filter(replica -> replica.type() == type).count();
    }

    /** Ids of the segments that memory replicas are in. */
    static List<UUID> places(final List<Replica> replicas) {
        return replicas.stream().filter(replica -> replica.descriptor() instanceof ReplicaDescriptor.Memory)
            .map(replica -> ((ReplicaDescriptor.Memory) replica.descriptor()).segment().segmentId()).toList();
    }

    @Override
    public void close() {
        state.close();
    }
}
