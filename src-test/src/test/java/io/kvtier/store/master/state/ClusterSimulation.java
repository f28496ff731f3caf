package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.SoftPin;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.FindReply;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.regex.Pattern;

/**
 * Several clients of the master's state that lend memory, devices and disks, put, read, copy, vanish and come back,
 * with many calls open at a time; a seed gives the same run again. What each of them may touch, and which versions may
 * be seen, is kept beside it, and compared after every step.
 */
final class ClusterSimulation implements AutoCloseable {
    static final long UNIT = 1024;
    static final long LEASE_MS = 60;
    static final long TTL_MS = 300;
    static final long DISCARD_MS = 150;
    static final long RELEASE_MS = 1200;
    private static final int KEYS = 12;
    private static final int CLIENTS = 4;

    final SplittableRandom random;
    final Claims claims = new Claims(UNIT);
    private final Journal state;
    private final List<SimulatedClient> clients = new ArrayList<>();
    private final List<Write> writes = new ArrayList<>();
    private final List<Read> reads = new ArrayList<>();
    /** The version of each key that may be seen; none for a key that was removed. */
    private final Map<ObjectKey, Long> current = new HashMap<>();
    /** Versions of each key up to this one were removed or replaced. */
    private final Map<ObjectKey, Long> gone = new HashMap<>();
    private final Map<Long, Long> sizes = new HashMap<>();
    /** When the leases of keys end that clients were told of. */
    private final Map<ObjectKey, Long> leases = new HashMap<>();
    private final Set<ObjectKey> hardPinned = new HashSet<>();
    /** What was seen after the step before. */
    private Map<ObjectKey, ReadReply> seen = new HashMap<>();
    /** Keys that this step is about. */
    private final Set<ObjectKey> touched = new HashSet<>();
    private long nowMs = 1000;
    private long attempts;
    private long ids;

    private static final class Write {
        private final ObjectCommand.PutStart put;
        private final long version;
        private final long startMs;
        private final Map<Scope, List<Claims.Claim>> open = new HashMap<>();

        Write(final ObjectCommand.PutStart put, final long version, final long startMs) {
            this.put = put;
            this.version = version;
            this.startMs = startMs;
        }

        /** The writer is done with the replicas of a scope; true when none is left. */
        boolean done(final Scope scope) {
            for (final Scope medium : List.of(Scope.MEMORY, Scope.NOF)) {
                if (scope == Scope.ALL || scope == medium) {
                    open.getOrDefault(medium, List.of()).forEach(Claims.Claim::giveUp);
                    open.remove(medium);
                }
            }
            return open.isEmpty();
        }
    }

    private record Read(ObjectKey key, long replicaId, Claims.Claim claim) {
    }

    ClusterSimulation(final long seed, final MasterSettings.Eviction eviction,
        final MasterSettings.Strategy strategy) {
        random = new SplittableRandom(seed);
        state = new Journal(new MasterSettings(eviction, LEASE_MS, true, 50,
            new MasterSettings.Liveness(TTL_MS, DISCARD_MS, RELEASE_MS, 2), new MasterSettings.Pins(500, 2000),
            MasterSettings.Tasks.DEFAULT, false, strategy));
        for (int i = 0; i < CLIENTS; i++) {
            clients.add(new SimulatedClient(this, i));
        }
    }

    long nowMs() {
        return nowMs;
    }

    UUID nextId() {
        return new UUID(77, ++ids);
    }

    <R> R apply(final Command<R> command) {
        return state.apply(command, nowMs);
    }

    /** Applies what may be refused; null when it was, which must leave no trace. */
    <R> R tryApply(final Command<R> command) {
        final String before = dump();
        try {
            return apply(command);
        } catch (final StoreException e) {
            assertEquals(before, dump(), "refused: " + e.getMessage());
            return null;
        }
    }

    void step() {
        touched.clear();
        letTimePass();
        final SimulatedClient client = clients.get(random.nextInt(CLIENTS));
        client.signOfLife();
        switch (random.nextInt(20)) {
            case 0, 1, 2, 3 -> startPut(client);
            case 4, 5, 6 -> endPut();
            case 7, 8 -> read();
            case 9 -> endRead();
            case 10 -> search();
            case 11, 12 -> remove();
            case 13, 14 -> client.offload();
            case 15, 16 -> client.promote();
            case 17 -> client.tidyDisk();
            case 18 -> client.comeOrGo();
            default -> evict();
        }
        if (random.nextInt(3) > 0) {
            settle();
        }
        check();
    }

    /** Not with every step: what takes long is under way until it does. */
    private void letTimePass() {
        if (random.nextBoolean()) {
            nowMs += random.nextInt(15) == 0 ? random.nextInt(400) : random.nextInt(1, 24);
            clients.forEach(SimulatedClient::notice);
        }
    }

    void settle() {
        while (apply(new AdminCommand.Tick()).busy()) {
            // Another part.
        }
        clients.forEach(SimulatedClient::notice);
    }

    ObjectKey anyKey() {
        final ObjectKey key = ObjectKey.of("key" + random.nextInt(KEYS));
        touched.add(key);
        return key;
    }

    ReadReply query(final ObjectKey key) {
        return apply(new ObjectCommand.Query(key));
    }

    /**
     * A value was taken in from a disk: it must be one that nobody removed, and that nobody replaced while it was
     * there. What was lost before a later value came, which was lost in turn, may come back.
     */
    void adopted(final ObjectKey key, final long version) {
        assertTrue(version > gone.getOrDefault(key, 0L), key + " of version " + version + " came back");
        assertEquals(version, query(key).version(), "a key has one version");
        current.put(key, version);
        touched.add(key);
    }

    /** A segment is gone, and may have been the last place of anything. */
    void lost(final UUID segment) {
        claims.unmounted(segment);
    }

    long size(final long version) {
        return sizes.get(version);
    }

    private PutOptions options(final ObjectKey key) {
        final int nof = random.nextInt(3);
        PutOptions options = PutOptions.DEFAULT.withNofReplicas(nof)
            .withReplicas(nof > 0 ? random.nextInt(4) : 1 + random.nextInt(3)).withSameHost(random.nextBoolean())
            .withHardPin(random.nextInt(12) == 0)
            // Every third key is in one of two groups.
            .withGroup(key.hashCode() % 3 == 0 ? "group" + key.hashCode() % 2 : "");
        if (random.nextInt(3) == 0) {
            options = options.withSoftPin(List.of(SoftPin.ENABLE, SoftPin.DISABLE, SoftPin.forMillis(100))
                .get(random.nextInt(3)));
        }
        return random.nextInt(4) == 0 ? options.withPreferredSegments("memory" + random.nextInt(CLIENTS)) : options;
    }

    private void startPut(final SimulatedClient client) {
        final ObjectKey key = anyKey();
        final boolean repeat = !writes.isEmpty() && random.nextInt(10) == 0;
        final ObjectCommand.PutStart put = repeat ? writes.get(random.nextInt(writes.size())).put
            : new ObjectCommand.PutStart(client.id(), ++attempts, key, random.nextLong(0, 5 * UNIT), options(key),
                random.nextBoolean());
        touched.add(put.key());
        final PutStartReply reply = tryApply(put);
        if (!(reply instanceof PutStartReply.Started started)
            || writes.stream().anyMatch(write -> write.version == started.version())) {
            return;
        }
        final Write write = new Write(put, started.version(), nowMs);
        sizes.put(started.version(), put.size());
        assertTrue(started.replicas().size() <= put.options().replicas() + put.options().nofReplicas());
        final Set<UUID> segments = new HashSet<>();
        for (final Replica replica : started.replicas()) {
            final Claims.Range range = claims.range(replica);
            claims.assertFree("a put of " + put.key(), range, nowMs);
            assertTrue(segments.add(range.segment()), "two replicas in one segment");
            write.open.computeIfAbsent(replica.type() == ReplicaType.MEMORY ? Scope.MEMORY : Scope.NOF,
                medium -> new ArrayList<>()).add(claims.claim("a put", range, nowMs + RELEASE_MS));
        }
        writes.add(write);
    }

    private void endPut() {
        if (writes.isEmpty()) {
            return;
        }
        final Write write = writes.get(random.nextInt(writes.size()));
        final ObjectKey key = write.put.key();
        touched.add(key);
        final Scope scope = random.nextInt(3) > 0 ? Scope.ALL : Scope.values()[random.nextInt(3)];
        final boolean own = random.nextInt(10) > 0;
        final UUID client = own ? write.put.clientId() : new UUID(0, 0);
        if (random.nextInt(4) == 0) {
            final Ack ack = tryApply(new ObjectCommand.PutRevoke(client, key, write.version, scope));
            if (own) {
                assertNotNull(ack);
            }
        } else {
            final long before = query(key).version();
            final Ack ack = tryApply(new ObjectCommand.PutEnd(client, key, write.version, scope, true, write.version));
            if (own && ack == Ack.OK && current.getOrDefault(key, 0L) != write.version) {
                assertTrue(write.version > gone.getOrDefault(key, 0L), "an older write took a newer one's place");
                gone.merge(key, before, Math::max);
                current.put(key, write.version);
                if (write.put.options().hardPin()) {
                    hardPinned.add(key);
                }
            }
        }
        if (own && write.done(scope)) {
            writes.remove(write);
        }
    }

    private void read() {
        final ObjectKey key = anyKey();
        final boolean hold = random.nextInt(3) == 0;
        final ReadReply reply = apply(new ObjectCommand.ReadStart(key, hold));
        leased(key, reply);
        for (final Replica replica : reply.replicas()) {
            if (replica.id() == reply.held()) {
                reads.add(new Read(key, reply.held(),
                    claims.claim("a held read", claims.range(replica), Long.MAX_VALUE)));
            }
        }
    }

    /** Whoever was given replicas under a lease may read them until it ends. */
    private void leased(final ObjectKey key, final ReadReply reply) {
        if (reply.found()) {
            leases.put(key, nowMs + reply.leaseMs());
            reply.replicas().stream().map(claims::range).filter(range -> range != null)
                .forEach(range -> claims.claim("a lease on " + key, range, nowMs + reply.leaseMs()));
        }
    }

    private void endRead() {
        if (!reads.isEmpty()) {
            final Read read = reads.remove(random.nextInt(reads.size()));
            touched.add(read.key());
            assertEquals(Ack.OK, apply(new ObjectCommand.ReadDone(read.key(), read.replicaId())));
            read.claim().giveUp();
        }
    }

    private void search() {
        if (random.nextBoolean()) {
            final ObjectKey key = anyKey();
            if (apply(new ObjectCommand.Exists(key))) {
                leases.put(key, nowMs + LEASE_MS);
            }
            return;
        }
        final String pattern = List.of("", "key1", "^key[0-4]$", "none")
            .get(random.nextInt(4));
        final boolean lease = random.nextInt(3) == 0;
        final Set<ObjectKey> found = new HashSet<>();
        for (long cursor = 0; cursor != FindReply.END;) {
            final FindReply part = apply(new ObjectCommand.Find("", pattern, lease, cursor));
            for (final ObjectCommand.Found one : part.found()) {
                assertTrue(found.add(one.key()));
                if (lease) {
                    leased(one.key(), one.object());
                }
            }
            cursor = part.cursor();
        }
        for (int i = 0; i < KEYS; i++) {
            final ObjectKey key = ObjectKey.of("key" + i);
            final boolean matches = Pattern.compile(pattern).matcher(key.key()).find();
            assertEquals(matches && query(key).found(), found.contains(key));
        }
    }

    private void remove() {
        final boolean force = random.nextBoolean();
        if (random.nextInt(4) > 0) {
            final ObjectKey key = anyKey();
            final ReadReply before = query(key);
            final ObjectCommand.RemoveReply reply = apply(new ObjectCommand.Remove(key, force));
            if (reply.outcome() == RemoveOutcome.REMOVED || reply.outcome() == RemoveOutcome.NOT_FOUND) {
                assertEquals(before.version(), reply.version());
                removed(key);
            }
            return;
        }
        final Map<ObjectKey, ReadReply> before = look();
        touched.addAll(before.keySet());
        if (random.nextBoolean()) {
            final SimulatedClient client = clients.get(random.nextInt(CLIENTS));
            apply(new ObjectCommand.ReplicaClear(client.id(), List.copyOf(before.keySet()),
                random.nextBoolean() ? "" : "memory" + random.nextInt(CLIENTS)));
            return;
        }
        long count = 0;
        for (long cursor = 0; cursor != FindReply.END;) {
            final ObjectCommand.RemoveMatchingReply part =
                apply(new ObjectCommand.RemoveMatching("default", "[02468]$", force, cursor));
            count += part.removed();
            cursor = part.cursor();
        }
        final Map<ObjectKey, ReadReply> after = look();
        for (final ObjectKey key : before.keySet()) {
            if (!after.containsKey(key)) {
                count--;
                removed(key);
            }
        }
        assertEquals(0, count, "as many are gone as were said to be removed");
    }

    private void removed(final ObjectKey key) {
        if (current.containsKey(key)) {
            gone.merge(key, current.remove(key), Math::max);
        }
    }

    private void evict() {
        final double share = random.nextDouble();
        apply(new AdminCommand.Evict(share, share * random.nextDouble()));
    }

    private Map<ObjectKey, ReadReply> look() {
        final Map<ObjectKey, ReadReply> objects = new HashMap<>();
        for (int i = 0; i < KEYS; i++) {
            final ObjectKey key = ObjectKey.of("key" + i);
            final ReadReply object = query(key);
            if (object.found()) {
                objects.put(key, object);
            }
        }
        return objects;
    }

    private void check() {
        writes.removeIf(write -> write.startMs + RELEASE_MS <= nowMs);
        final Map<ObjectKey, ReadReply> objects = look();
        final Set<Claims.Range> live = new HashSet<>();
        objects.forEach((key, object) -> {
            assertEquals(current.get(key), object.version(), key + ": a version that is not the last one");
            assertEquals(sizes.get(object.version()), object.size());
            assertFalse(object.replicas().isEmpty());
            for (final Replica replica : object.replicas()) {
                assertTrue(replica.isComplete());
                final Claims.Range range = claims.range(replica);
                if (range != null) {
                    assertTrue(claims.isMounted(range.segment()), key + " lies in a segment that is gone");
                    assertTrue(live.add(range), "two replicas in one place");
                }
            }
        });
        final long claimed = claims.claimed(live, nowMs);
        final MasterStats stats = apply(new AdminCommand.Statistics());
        long used = 0;
        for (final SegmentCommand.SegmentInfo info : apply(new SegmentCommand.Segments())) {
            used += info.status() == SegmentCommand.Status.UNMOUNTING ? 0 : info.used();
        }
        assertEquals(used, stats.memoryUsed() + stats.nofUsed());
        assertTrue(claimed <= used, "something is in use that the allocators take for free");
        assertTrue(objects.size() <= stats.objects());
        assertTrue(stats.pendingWrites() >= 0 && stats.heldReplicas() >= 0 && stats.activePromotions() >= 0);
        checkProtected(objects);
        seen = objects;
    }

    /** What is leased or pinned hard loses no replica but by its own removal, or with a segment or disk. */
    private void checkProtected(final Map<ObjectKey, ReadReply> objects) {
        hardPinned.retainAll(objects.keySet());
        seen.forEach((key, before) -> {
            final boolean kept = leases.getOrDefault(key, 0L) > nowMs || hardPinned.contains(key);
            if (!kept || touched.contains(key)) {
                return;
            }
            final ReadReply after = objects.getOrDefault(key, ReadReply.NOT_FOUND);
            for (final Replica replica : before.replicas()) {
                final Claims.Range range = claims.range(replica);
                if (range != null && claims.isMounted(range.segment())) {
                    assertTrue(after.replicas().contains(replica), key + " lost " + replica + " at " + nowMs);
                }
            }
        });
    }

    /** Ends everything that is open and removes every key: then, in time, nothing may be left. */
    void finish() {
        clients.forEach(SimulatedClient::finish);
        while (!reads.isEmpty()) {
            endRead();
        }
        nowMs += 3 * RELEASE_MS;
        clients.forEach(SimulatedClient::signOfLife);
        settle();
        for (int i = 0; i < KEYS; i++) {
            final ObjectKey key = ObjectKey.of("key" + i);
            final RemoveOutcome outcome = apply(new ObjectCommand.Remove(key, true)).outcome();
            assertTrue(outcome == RemoveOutcome.REMOVED || outcome == RemoveOutcome.NOT_FOUND, outcome.toString());
        }
        nowMs += 3 * RELEASE_MS;
        settle();
        final MasterStats stats = apply(new AdminCommand.Statistics());
        assertEquals(List.of(0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L),
            List.of(stats.objects(), stats.memoryUsed(), stats.nofUsed(), stats.memoryReplicas(),
                stats.heldReplicas(), stats.diskReplicas(), stats.offloadsPending(), stats.pendingWrites(),
                stats.activePromotions(), stats.softPinned(), stats.groups()), stats.toString());
    }

    private String dump() {
        final StringBuilder text = new StringBuilder(apply(new AdminCommand.Statistics()).toString());
        text.append(apply(new SegmentCommand.Segments())).append(apply(new SegmentCommand.Clients()));
        for (int i = 0; i < KEYS; i++) {
            text.append(query(ObjectKey.of("key" + i)));
        }
        return text.toString();
    }

    void assertRepeatable() {
        state.assertRepeatable();
    }

    static boolean isOnDisk(final ReadReply object) {
        return object.replicas().stream().anyMatch(replica ->
            replica.descriptor() instanceof ReplicaDescriptor.LocalDisk);
    }

    @Override
    public void close() {
        state.close();
    }
}
