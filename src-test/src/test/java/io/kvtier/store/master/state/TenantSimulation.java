package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.AdminCommand.TenantInfo;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.SegmentInfo;
import io.kvtier.store.protocol.SegmentCommand.Status;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.TaskCommand.DrainInfo;
import io.kvtier.store.protocol.TaskCommand.DrainStatus;
import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.protocol.TaskCommand.Task;
import io.kvtier.store.protocol.TaskCommand.TaskStatus;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;

/**
 * Tenants that write, copy, move and drain in any order, with segments that come and go. What it expects it knows from
 * the answers it was given, not from the state. After every command the invariants are checked.
 */
final class TenantSimulation implements AutoCloseable {
    private static final List<UUID> CLIENTS = List.of(TenantRig.ANN, TenantRig.BEN, TenantRig.CEM);
    private static final List<String> SEGMENTS = List.of("s0", "s1", "s2", "s3", "s4");
    private static final List<String> KEYS = List.of("t0/a", "t0/b", "t0/c", "t1/a", "t1/b", "t1/c", "t2/a");
    private static final List<String> TENANTS = List.of("t0", "t1", "t2");
    private static final long CAPACITY = 16 * TenantRig.UNIT;
    private static final Set<ErrorCode> ORDINARY = EnumSet.of(ErrorCode.TENANT_QUOTA_EXCEEDED,
        ErrorCode.OBJECT_HAS_REPLICATION_TASK, ErrorCode.OBJECT_NOT_FOUND, ErrorCode.REPLICA_NOT_FOUND,
        ErrorCode.SEGMENT_NOT_FOUND, ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, ErrorCode.REPLICA_IS_NOT_READY,
        ErrorCode.NO_AVAILABLE_HANDLE, ErrorCode.REPLICA_IS_GONE, ErrorCode.OBJECT_NO_REPLICATION_TASK,
        ErrorCode.TASK_PENDING_LIMIT_EXCEEDED, ErrorCode.INVALID_PARAMS);

    /** A put or copy that was started; {@code key} is charged for its ranges unless another put took its place. */
    private static final class Open {
        private final String key;
        private final UUID client;
        private final long version;
        private final Kind kind;
        private final List<ReplicaDescriptor.Memory> ranges;
        private final long startMs;
        private boolean discarded;

        Open(final String key, final UUID client, final long version, final Kind kind, final List<Replica> replicas,
            final long startMs) {
            this.key = key;
            this.client = client;
            this.version = version;
            this.kind = kind;
            this.startMs = startMs;
            ranges = replicas.stream().map(replica -> (ReplicaDescriptor.Memory) replica.descriptor()).toList();
        }
    }

    /** A range that somebody may still read. */
    private record Leased(ReplicaDescriptor.Memory range, long untilMs) {
    }

    private final SplittableRandom random;
    private final TenantRig rig;
    private final boolean strict;
    private final List<Open> writes = new ArrayList<>();
    private final List<Open> copies = new ArrayList<>();
    private final List<Map.Entry<UUID, Task>> fetched = new ArrayList<>();
    private final Map<Long, TaskStatus> tasks = new HashMap<>();
    private final Map<Long, DrainInfo> drains = new HashMap<>();
    /** Ends of leases by version. */
    private final Map<Long, Long> leases = new HashMap<>();
    private final Map<Long, Leased> visible = new HashMap<>();
    private final List<Leased> resting = new ArrayList<>();
    private long nowMs;

    TenantSimulation(final long seed, final boolean strict, final MasterSettings.Eviction eviction) {
        random = new SplittableRandom(seed);
        this.strict = strict;
        rig = new TenantRig(strict, TenantRig.FEW, eviction);
        SEGMENTS.forEach(this::mount);
        if (strict) {
            TENANTS.forEach(tenant -> rig.quota(tenant, 40 * TenantRig.UNIT));
        }
    }

    void step() {
        switch (random.nextInt(24)) {
            case 0, 1, 2, 3, 4 -> startPut();
            case 5, 6, 7 -> endPut();
            case 8 -> read();
            case 9 -> remove();
            case 10, 11 -> startCopy();
            case 12, 13 -> endCopy();
            case 14 -> createTask();
            case 15, 16 -> fetch();
            case 17, 18 -> carryOut();
            case 19 -> drain();
            case 20 -> pass(random.nextInt(10) == 0 ? random.nextInt(8000) : random.nextInt(600));
            case 21 -> pass(random.nextInt(20));
            case 22 -> operate();
            default -> comeOrGo();
        }
        check();
    }

    /** Ends everything and removes every key; then nothing may be left. */
    void finish() {
        while (!writes.isEmpty()) {
            endPut();
        }
        while (!copies.isEmpty()) {
            endCopy();
        }
        pass(TenantRig.RELEASE_MS);
        KEYS.forEach(rig::remove);
        pass(TenantRig.LEASE_MS);
        rig.assertEmpty();
        apply(new TaskCommand.FetchTasks(CLIENTS.getFirst(), 99));
        if (strict) {
            TENANTS.forEach(tenant -> assertEquals(Ack.OK, apply(new AdminCommand.DeleteQuota(tenant))));
        }
        assertEquals(List.of(), apply(new AdminCommand.Quotas()));
    }

    @Override
    public void close() {
        rig.close();
    }

    // What happens.

    private void startPut() {
        final String key = any(KEYS);
        final UUID client = any(CLIENTS);
        final long size = random.nextLong(0, 5 * TenantRig.UNIT);
        final int replicas = 1 + random.nextInt(2);
        final boolean replace = random.nextBoolean();
        final Map<String, TenantInfo> before = tenants();
        final Map<String, Set<String>> places = places();
        final PutStartReply reply;
        try {
            reply = apply(rig.put(client, key, size, PutOptions.DEFAULT.withReplicas(replicas), replace));
        } catch (final StoreException e) {
            refusedPut(key, size * replicas, e, before);
            assertEquals(places, places(), "a refused put leaves no trace");
            return;
        }
        if (reply instanceof PutStartReply.Started started) {
            final Open other = open(writes, key);
            if (other != null) {
                other.discarded = true;
            }
            final Open write = new Open(key, client, started.version(), null, started.replicas(), nowMs);
            writes.add(write);
            placed(write, size * replicas);
        }
    }

    private void refusedPut(final String key, final long bytes, final StoreException e,
        final Map<String, TenantInfo> before) {
        if (e.code() == ErrorCode.OBJECT_HAS_REPLICATION_TASK) {
            assertTrue(open(copies, key) != null, e.getMessage());
            return;
        }
        assertEquals(ErrorCode.TENANT_QUOTA_EXCEEDED, e.code(), e.getMessage());
        final TenantInfo tenant = before.get(tenant(key));
        final Open other = open(writes, key);
        final long credit = other == null ? 0 : bytes(other);
        assertTrue(tenant.charged() - credit + bytes > tenant.effective(), "it would have fitted");
    }

    /** Something was placed: on open segments only, and within the quota unless it was there already. */
    private void placed(final Open open, final long bytes) {
        for (final ReplicaDescriptor.Memory range : open.ranges) {
            assertEquals(Status.OK, segment(range.segment().segmentId()).status());
        }
        final TenantInfo tenant = tenants().get(tenant(open.key));
        if (strict && open.kind != null && bytes > 0) {
            assertTrue(tenant.charged() <= tenant.effective(), "a copy exceeds the quota");
        }
    }

    private void endPut() {
        if (writes.isEmpty()) {
            return;
        }
        final Open write = writes.remove(random.nextInt(writes.size()));
        final boolean end = random.nextInt(4) > 0;
        final boolean alive = !write.discarded && write.ranges.stream().anyMatch(this::isThere);
        final Ack ack = end
            ? apply(new ObjectCommand.PutEnd(write.client, TenantRig.key(write.key), write.version, Scope.ALL, false,
                0))
            : apply(new ObjectCommand.PutRevoke(write.client, TenantRig.key(write.key), write.version, Scope.ALL));
        assertEquals(alive ? Ack.OK : Ack.STALE, ack, write.key);
        if (end && alive) {
            assertEquals(write.version, rig.query(write.key).version());
        }
    }

    private void read() {
        final String key = any(KEYS);
        if (rig.has(key)) {
            rig.read(key);
            leases.put(rig.query(key).version(), nowMs + TenantRig.LEASE_MS);
        }
    }

    private void remove() {
        final String key = any(KEYS);
        final boolean there = rig.has(key);
        try {
            apply(new ObjectCommand.Remove(TenantRig.key(key), random.nextBoolean()));
        } catch (final StoreException e) {
            final Open copy = open(copies, key);
            assertEquals(copy.ranges.stream().anyMatch(this::isThere) ? ErrorCode.REPLICA_IS_NOT_READY
                : ErrorCode.OBJECT_HAS_REPLICATION_TASK, e.code());
            assertEquals(there, rig.has(key));
            return;
        }
        assertTrue(!there || rig.has(key) || open(copies, key) == null, "it was removed while it was copied");
    }

    private void startCopy() {
        final Kind kind = random.nextBoolean() ? Kind.COPY : Kind.MOVE;
        final List<String> targets = kind == Kind.MOVE || random.nextBoolean() ? List.of(any(SEGMENTS))
            : List.of(any(SEGMENTS), any(SEGMENTS));
        final String key = any(KEYS);
        final Set<String> there = rig.places(key);
        startCopy(any(CLIENTS), key, kind, there.isEmpty() || random.nextInt(8) == 0 ? any(SEGMENTS)
            : any(List.copyOf(there)), targets);
    }

    private boolean startCopy(final UUID client, final String key, final Kind kind, final String source,
        final List<String> targets) {
        final Map<String, Set<String>> places = places();
        final TaskCommand.ReplicationReply reply;
        try {
            reply = apply(new TaskCommand.ReplicationStart(client, TenantRig.key(key), kind, source, targets));
        } catch (final StoreException e) {
            assertTrue(ORDINARY.contains(e.code()), e.getMessage());
            assertEquals(e.code() == ErrorCode.OBJECT_HAS_REPLICATION_TASK, open(copies, key) != null
                && ofObject(e.code()), e.getMessage());
            if (e.code() != ErrorCode.NO_AVAILABLE_HANDLE) {
                assertEquals(places, places(), "a refused copy leaves no trace");
            }
            return false;
        }
        assertEquals(null, open(copies, key), "two copies at a time");
        assertEquals(Set.of(source), rig.places(List.of(reply.source())));
        final Open copy = new Open(key, client, rig.query(key).version(), kind, reply.targets(), nowMs);
        copies.add(copy);
        placed(copy, reply.size() * reply.targets().size());
        return true;
    }

    /** Whether an error is about the object, and so comes only when names and targets are right. */
    private static boolean ofObject(final ErrorCode code) {
        return code != ErrorCode.SEGMENT_NOT_FOUND && code != ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS
            && code != ErrorCode.INVALID_PARAMS;
    }

    private void endCopy() {
        if (!copies.isEmpty()) {
            endCopy(copies.get(random.nextInt(copies.size())), random.nextInt(4) > 0);
        }
    }

    private boolean endCopy(final Open copy, final boolean success) {
        copies.remove(copy);
        final ReadReply before = rig.query(copy.key);
        try {
            apply(new TaskCommand.ReplicationEnd(copy.client, TenantRig.key(copy.key), copy.kind, success));
        } catch (final StoreException e) {
            assertTrue(success);
            assertEquals(ErrorCode.REPLICA_IS_GONE, e.code(), e.getMessage());
            assertEquals(before.replicas(), rig.query(copy.key).replicas());
            return false;
        }
        final int change = !success ? 0 : copy.ranges.size() - (copy.kind == Kind.MOVE ? 1 : 0);
        assertEquals(before.replicas().size() + change, rig.query(copy.key).replicas().size());
        return true;
    }

    private void createTask() {
        final String key = any(KEYS);
        final Set<String> there = rig.places(key);
        if (there.isEmpty()) {
            return;
        }
        try {
            tasks.put(apply(new TaskCommand.CreateTask(Kind.MOVE, TenantRig.key(key), any(List.copyOf(there)),
                List.of(any(SEGMENTS)))), TaskStatus.PENDING);
        } catch (final StoreException e) {
            assertTrue(ORDINARY.contains(e.code()), e.getMessage());
        }
    }

    private void fetch() {
        final UUID client = any(CLIENTS);
        for (final Task task : apply(new TaskCommand.FetchTasks(client, 1 + random.nextInt(3)))) {
            assertNotEquals(TaskStatus.PROCESSING, tasks.put(task.id(), TaskStatus.PROCESSING), "given out twice");
            fetched.add(Map.entry(client, task));
        }
    }

    private void carryOut() {
        if (fetched.isEmpty()) {
            return;
        }
        final Map.Entry<UUID, Task> next = fetched.remove(random.nextInt(fetched.size()));
        final Task task = next.getValue();
        final String key = task.key().tenant() + "/" + task.key().key();
        boolean success = random.nextInt(6) > 0
            && startCopy(next.getKey(), key, task.kind(), task.source(), task.targets());
        if (success) {
            check();
            success = endCopy(open(copies, key), random.nextInt(6) > 0);
        }
        final Ack ack = apply(new TaskCommand.MarkTask(next.getKey(), task.id(), success, ""));
        final boolean open = tasks.get(task.id()) == TaskStatus.PROCESSING;
        assertTrue(!open || ack == Ack.OK);
        if (open) {
            tasks.put(task.id(), success ? TaskStatus.SUCCESS : TaskStatus.FAILED);
        }
    }

    private void drain() {
        try {
            if (drains.isEmpty() || random.nextInt(3) > 0) {
                final long id = apply(new TaskCommand.CreateDrain(List.of(any(SEGMENTS))));
                drains.put(id, apply(new TaskCommand.QueryDrain(id)));
            } else {
                apply(new TaskCommand.CancelDrain(any(List.copyOf(drains.keySet()))));
            }
        } catch (final StoreException e) {
            assertTrue(ORDINARY.contains(e.code()) || e.code() == ErrorCode.JOB_NOT_FOUND, e.getMessage());
        }
    }

    private void operate() {
        if (random.nextInt(3) == 0) {
            apply(new AdminCommand.Evict(0.5, 0.25));
        } else if (strict) {
            rig.quota(any(TENANTS), random.nextInt(5) == 0 ? Long.MAX_VALUE : 1 + random.nextInt(4000));
        }
    }

    private void comeOrGo() {
        final String name = any(SEGMENTS);
        final boolean there = rig.apply(new SegmentCommand.Segments()).stream()
            .anyMatch(info -> info.segmentId().equals(rig.id(name)));
        if (!there) {
            mount(name);
        } else if (random.nextInt(3) == 0) {
            rig.unmount(name);
            rig.settle();
        }
    }

    private void mount(final String name) {
        rig.memory(CLIENTS.get(SEGMENTS.indexOf(name) % CLIENTS.size()), name, CAPACITY);
    }

    private void pass(final long ms) {
        nowMs += ms;
        rig.advance(ms);
        writes.removeIf(write -> nowMs - write.startMs >= TenantRig.RELEASE_MS);
        copies.removeIf(copy -> nowMs - copy.startMs >= TenantRig.RELEASE_MS);
    }

    // What must hold.

    private void check() {
        final Map<String, ReadReply> objects = new HashMap<>();
        KEYS.forEach(key -> objects.put(key, rig.query(key)));
        checkCharges(objects);
        checkRanges(objects);
        checkCopies(objects);
        checkTasks();
        checkDrains();
    }

    /** A tenant is charged for what its objects have and are being given, and quotas fit the memory. */
    private void checkCharges(final Map<String, ReadReply> objects) {
        final Map<String, Long> charges = new HashMap<>();
        objects.forEach((key, object) -> charges.merge(tenant(key), object.size() * object.replicas().size(),
            Long::sum));
        for (final List<Open> opens : List.of(writes, copies)) {
            for (final Open open : opens) {
                charges.merge(tenant(open.key), open.discarded ? 0 : bytes(open), Long::sum);
            }
        }
        BigInteger requested = BigInteger.ZERO;
        BigInteger effective = BigInteger.ZERO;
        for (final TenantInfo tenant : tenants().values()) {
            assertEquals(charges.remove(tenant.tenant()), tenant.charged(), tenant.tenant());
            requested = requested.add(BigInteger.valueOf(tenant.requested()));
            effective = effective.add(BigInteger.valueOf(tenant.effective()));
        }
        charges.values().forEach(left -> assertEquals(0, left));
        final BigInteger memory = BigInteger.valueOf(apply(new AdminCommand.Statistics()).memoryCapacity());
        assertEquals(requested.min(memory), effective, "quotas use up what there is");
    }

    /** No byte belongs to two, be they written, readable or still leased by somebody. */
    private void checkRanges(final Map<String, ReadReply> objects) {
        final Map<Long, Leased> now = new HashMap<>();
        objects.forEach((key, object) -> object.replicas().forEach(replica -> now.put(replica.id(),
            new Leased((ReplicaDescriptor.Memory) replica.descriptor(), leases.getOrDefault(object.version(), 0L)))));
        visible.forEach((id, before) -> {
            if (!now.containsKey(id)) {
                resting.add(before);
            }
        });
        visible.clear();
        visible.putAll(now);
        resting.removeIf(gone -> gone.untilMs() <= nowMs || !isThere(gone.range()));
        final Map<UUID, TreeMap<Long, Long>> ranges = new HashMap<>();
        now.values().forEach(replica -> claim(ranges, replica.range()));
        writes.forEach(write -> write.ranges.forEach(range -> claim(ranges, range)));
        copies.forEach(copy -> copy.ranges.forEach(range -> claim(ranges, range)));
        resting.forEach(gone -> claim(ranges, gone.range()));
    }

    private void claim(final Map<UUID, TreeMap<Long, Long>> ranges, final ReplicaDescriptor.Memory memory) {
        if (!isThere(memory)) {
            return;
        }
        final TreeMap<Long, Long> taken = ranges.computeIfAbsent(memory.segment().segmentId(), id -> new TreeMap<>());
        final long length = Math.max(TenantRig.UNIT,
            (memory.size() + TenantRig.UNIT - 1) / TenantRig.UNIT * TenantRig.UNIT);
        final Map.Entry<Long, Long> before = taken.floorEntry(memory.offset());
        final Map.Entry<Long, Long> after = taken.ceilingEntry(memory.offset());
        assertTrue(before == null || before.getKey() + before.getValue() <= memory.offset(), "two replicas overlap");
        assertTrue(after == null || memory.offset() + length <= after.getKey(), "two replicas overlap");
        assertTrue(memory.offset() + length <= CAPACITY, "a replica is outside its segment");
        taken.put(memory.offset(), length);
    }

    /** What is being copied keeps its value. */
    private void checkCopies(final Map<String, ReadReply> objects) {
        for (final Open copy : copies) {
            final ReadReply object = objects.get(copy.key);
            assertTrue(!object.found() || object.version() == copy.version, "it was replaced while it was copied");
        }
    }

    private void checkTasks() {
        int waiting = 0;
        int underWay = 0;
        final List<Long> forgotten = new ArrayList<>();
        for (final Map.Entry<Long, TaskStatus> task : tasks.entrySet()) {
            try {
                final TaskStatus status = apply(new TaskCommand.QueryTask(task.getKey())).status();
                final TaskStatus before = task.getValue();
                assertTrue(status == before || before == TaskStatus.PENDING && status == TaskStatus.FAILED
                    || before == TaskStatus.PROCESSING && status == TaskStatus.FAILED, before + " became " + status);
                task.setValue(status);
                waiting += status == TaskStatus.PENDING ? 1 : 0;
                underWay += status == TaskStatus.PROCESSING ? 1 : 0;
            } catch (final StoreException e) {
                assertEquals(ErrorCode.TASK_NOT_FOUND, e.code());
                forgotten.add(task.getKey());
            }
        }
        tasks.keySet().removeAll(forgotten);
        assertTrue(waiting <= TenantRig.FEW.pending() && underWay <= TenantRig.FEW.processing());
    }

    private void checkDrains() {
        final Map<Long, DrainInfo> before = Map.copyOf(drains);
        boolean forgotten = false;
        for (final Long id : before.keySet()) {
            final DrainInfo drain;
            try {
                drain = apply(new TaskCommand.QueryDrain(id));
            } catch (final StoreException e) {
                assertEquals(ErrorCode.JOB_NOT_FOUND, e.code());
                drains.remove(id);
                forgotten |= before.get(id).status() == DrainStatus.RUNNING;
                continue;
            }
            assertTrue(drain.moved() >= before.get(id).moved() && drain.failed() >= before.get(id).failed());
            final UUID segment = rig.id(drain.segments().getFirst());
            final SegmentInfo info = segment(segment);
            if (drain.status() == DrainStatus.SUCCEEDED && info != null && info.status() == Status.DRAINED) {
                assertEquals(0, info.used(), "drained means empty");
                assertEquals(0, info.replicas());
            }
            drains.put(id, drain);
        }
        final long ended = drains.values().stream().filter(drain -> drain.status() != DrainStatus.RUNNING).count();
        assertTrue(!forgotten || ended == TenantRig.FEW.finished(), "one under way was forgotten, and not for others");
    }

    // Words.

    private <R> R apply(final Command<R> command) {
        return rig.apply(command);
    }

    private <T> T any(final List<T> of) {
        return of.get(random.nextInt(of.size()));
    }

    private static String tenant(final String key) {
        return key.substring(0, key.indexOf('/'));
    }

    private static Open open(final List<Open> opens, final String key) {
        return opens.stream().filter(open -> open.key.equals(key) && !open.discarded).findFirst().orElse(null);
    }

    /** Bytes that the ranges of a put or copy are charged as. */
    private long bytes(final Open open) {
        return open.ranges.stream().filter(this::isThere).mapToLong(ReplicaDescriptor.Memory::size).sum();
    }

    private boolean isThere(final ReplicaDescriptor.Memory range) {
        return segment(range.segment().segmentId()) != null;
    }

    private SegmentInfo segment(final UUID id) {
        return apply(new SegmentCommand.Segments()).stream().filter(info -> info.segmentId().equals(id)).findFirst()
            .orElse(null);
    }

    private Map<String, TenantInfo> tenants() {
        return apply(new AdminCommand.Quotas()).stream().collect(Collectors.toMap(TenantInfo::tenant, info -> info));
    }

    private Map<String, Set<String>> places() {
        return KEYS.stream().collect(Collectors.toMap(key -> key, rig::places));
    }
}
