package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.AdminCommand.TenantInfo;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.SegmentInfo;
import io.kvtier.store.protocol.SegmentCommand.Status;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.protocol.TaskCommand.ReplicationReply;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.UUID;

/** A master's state for tests about tenants, copies and drains: keys are {@code tenant/key}, segments have names. */
final class TenantRig implements AutoCloseable {
    static final UUID ANN = new UUID(0xA, 1);
    static final UUID BEN = new UUID(0xB, 2);
    static final UUID CEM = new UUID(0xC, 3);
    /** What every range is a multiple of; a value is charged by its own bytes. */
    static final long UNIT = 64;
    static final long LEASE_MS = 1000;
    static final long TTL_MS = 10_000;
    static final long DISCARD_MS = 30_000;
    static final long RELEASE_MS = 600_000;
    static final MasterSettings.Tasks FEW = new MasterSettings.Tasks(3, 2, 2, 5000, 7000, 3);

    private final MasterState state;
    private final List<String> announced = new ArrayList<>();
    private final Map<String, UUID> segments = new HashMap<>();
    private long nowMs = 50_000;
    private long attempts;
    private long ids;

    TenantRig(final boolean strict) {
        this(strict, MasterSettings.Tasks.DEFAULT);
    }

    TenantRig(final boolean strict, final MasterSettings.Tasks tasks) {
        this(strict, tasks, new MasterSettings.Eviction(1, 0, 1, 0, true));
    }

    TenantRig(final boolean strict, final MasterSettings.Tasks tasks, final MasterSettings.Eviction eviction) {
        state = new MasterState(new MasterSettings(eviction, LEASE_MS, true, 50,
            new MasterSettings.Liveness(TTL_MS, DISCARD_MS, RELEASE_MS, 3), MasterSettings.Pins.DEFAULT, tasks, strict,
            MasterSettings.Strategy.RANDOM), 1, new Effects() {
                @Override
                public void workQueued(final UUID clientId, final WorkKind kind) {
                    announced.add(clientId.getLeastSignificantBits() + " " + kind);
                }

                @Override
                public void spaceFreed() {
                    // Nobody waits here.
                }
            });
    }

    <R> R apply(final Command<R> command) {
        return state.apply(command, nowMs);
    }

    String refused(final ErrorCode code, final Command<?> command) {
        final StoreException refusal = assertThrows(StoreException.class, () -> apply(command), command::toString);
        assertEquals(code, refusal.code(), refusal.getMessage());
        return refusal.getMessage();
    }

    /** Lets time pass in which nobody says anything. */
    void pass(final long ms) {
        nowMs += ms;
    }

    /** Lets time pass with all clients alive, and all that is to be done be done. */
    void advance(final long ms) {
        advanceWith(ms, ANN, BEN, CEM);
    }

    /** Lets time pass in which these clients alone give signs of life, often enough. */
    void advanceWith(final long ms, final UUID... alive) {
        for (long left = ms; left > 0; left -= TTL_MS / 2) {
            nowMs += Math.min(left, TTL_MS / 2);
            List.of(alive).forEach(client -> apply(new SegmentCommand.Ping(client, "", "", "")));
        }
        settle();
    }

    void settle() {
        while (apply(new AdminCommand.Tick()).busy()) {
            // Another part.
        }
    }

    /** What has been announced since the last call, as "client kind". */
    List<String> announced() {
        final List<String> since = List.copyOf(announced);
        announced.clear();
        return since;
    }

    // Segments.

    void memory(final UUID client, final String name, final long capacity) {
        mount(client, name, Medium.MEMORY, capacity);
    }

    void mount(final UUID client, final String name, final Medium medium, final long capacity) {
        final UUID id = new UUID(5, ++ids);
        segments.put(name, id);
        assertEquals(Ack.OK, apply(new SegmentCommand.Mount(client, spec(id, name, medium, capacity))));
    }

    static SegmentCommand.SegmentSpec spec(final UUID id, final String name, final Medium medium,
        final long capacity) {
        return new SegmentCommand.SegmentSpec(name, medium, capacity, UNIT,
            new SegmentAddress(id, "tcp://" + name, AccessToken.NONE), true);
    }

    UUID id(final String segment) {
        return segments.get(segment);
    }

    /** Takes a segment back without sweeping it yet. */
    void unmount(final String name) {
        final UUID id = segments.get(name);
        final UUID owner = apply(new SegmentCommand.Segments()).stream().filter(info -> info.segmentId().equals(id))
            .findFirst().orElseThrow().clientId();
        assertEquals(Ack.OK, apply(new SegmentCommand.Unmount(owner, id, 0)));
    }

    Status status(final String name) {
        return info(name).status();
    }

    SegmentInfo info(final String name) {
        return apply(new SegmentCommand.Segments()).stream().filter(info -> info.segmentId().equals(segments.get(name)))
            .findFirst().orElseThrow();
    }

    // Objects.

    static ObjectKey key(final String name) {
        final int slash = name.indexOf('/');
        return slash < 0 ? ObjectKey.of(name) : ObjectKey.of(name.substring(0, slash), name.substring(slash + 1));
    }

    ObjectCommand.PutStart put(final UUID client, final String key, final long size, final PutOptions options,
        final boolean replace) {
        return new ObjectCommand.PutStart(client, ++attempts, key(key), size, options, replace);
    }

    ObjectCommand.PutStart put(final String key, final long size) {
        return put(ANN, key, size, PutOptions.DEFAULT, false);
    }

    PutStartReply.Started started(final String key, final long size) {
        return started(put(key, size));
    }

    PutStartReply.Started started(final ObjectCommand.PutStart put) {
        return assertInstanceOf(PutStartReply.Started.class, apply(put), put.toString());
    }

    void ended(final String key, final PutStartReply.Started started) {
        assertEquals(Ack.OK, apply(end(key, started, Scope.ALL)));
    }

    static ObjectCommand.PutEnd end(final String key, final PutStartReply.Started started, final Scope scope) {
        return new ObjectCommand.PutEnd(ANN, key(key), started.version(), scope, false, 0);
    }

    static ObjectCommand.PutRevoke revoke(final String key, final PutStartReply.Started started, final Scope scope) {
        return new ObjectCommand.PutRevoke(ANN, key(key), started.version(), scope);
    }

    void store(final String key, final long size) {
        store(key, size, PutOptions.DEFAULT);
    }

    void store(final String key, final long size, final PutOptions options) {
        ended(key, started(put(ANN, key, size, options, false)));
    }

    /** Stores a value in memory segments of these names. */
    void storeIn(final String key, final long size, final String... names) {
        store(key, size, PutOptions.DEFAULT.withReplicas(names.length).withPreferredSegments(names));
    }

    ReadReply query(final String key) {
        return apply(new ObjectCommand.Query(key(key)));
    }

    boolean has(final String key) {
        return query(key).found();
    }

    void read(final String key) {
        apply(new ObjectCommand.ReadStart(key(key), false));
    }

    void remove(final String key) {
        apply(new ObjectCommand.Remove(key(key), true));
    }

    /** Names of the segments that an object can be read from. */
    TreeSet<String> places(final String key) {
        return places(query(key).replicas());
    }

    TreeSet<String> places(final List<Replica> replicas) {
        final TreeSet<String> names = new TreeSet<>();
        for (final Replica replica : replicas) {
            if (replica.descriptor() instanceof ReplicaDescriptor.Memory memory) {
                names.add(memory.segment().endpoint().substring("tcp://".length()));
            } else if (replica.descriptor() instanceof ReplicaDescriptor.Nof nof) {
                names.add(nof.namespace());
            } else {
                names.add("disk");
            }
        }
        return names;
    }

    // Tenants.

    void quota(final String tenant, final long bytes) {
        assertEquals(Ack.OK, apply(new AdminCommand.SetQuota(tenant, bytes)));
    }

    TenantInfo tenant(final String name) {
        return apply(new AdminCommand.Quotas()).stream().filter(info -> info.tenant().equals(name)).findFirst()
            .orElse(new TenantInfo(name, 0, 0, 0, 0, 0, 0));
    }

    long charged(final String name) {
        return tenant(name).charged();
    }

    // Copies.

    static TaskCommand.ReplicationStart copy(final String key, final String source, final String... targets) {
        return new TaskCommand.ReplicationStart(ANN, key(key), Kind.COPY, source, List.of(targets));
    }

    static TaskCommand.ReplicationStart move(final String key, final String source, final String target) {
        return new TaskCommand.ReplicationStart(ANN, key(key), Kind.MOVE, source, List.of(target));
    }

    static TaskCommand.ReplicationEnd endCopy(final String key, final boolean success) {
        return new TaskCommand.ReplicationEnd(ANN, key(key), Kind.COPY, success);
    }

    static TaskCommand.ReplicationEnd endMove(final String key, final boolean success) {
        return new TaskCommand.ReplicationEnd(ANN, key(key), Kind.MOVE, success);
    }

    /** Carries a fetched task out as its client would, and marks it. */
    void carryOut(final UUID client, final TaskCommand.Task task) {
        final ReplicationReply reply = apply(new TaskCommand.ReplicationStart(client, task.key(), task.kind(),
            task.source(), task.targets()));
        assertEquals(true, reply.size() >= 0);
        assertEquals(Ack.OK, apply(new TaskCommand.ReplicationEnd(client, task.key(), task.kind(), true)));
        assertEquals(Ack.OK, apply(new TaskCommand.MarkTask(client, task.id(), true, "")));
    }

    /** Nothing is allocated, held or charged any more. */
    void assertEmpty() {
        final var stats = apply(new AdminCommand.Statistics());
        assertEquals(List.of(0L, 0L, 0L, 0L, 0L, 0L), List.of(stats.objects(), stats.memoryUsed(), stats.nofUsed(),
            stats.memoryReplicas(), stats.heldReplicas(), stats.pendingWrites()), stats.toString());
        apply(new AdminCommand.Quotas()).forEach(info -> assertEquals(0, info.charged() + info.objects()));
    }

    @Override
    public void close() {
        state.close();
    }
}
