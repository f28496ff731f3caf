package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.DiskCommand.StoredObject;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.replica.SegmentAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.UUID;

/**
 * A client of the state machine that has many calls open at a time and ends them in any order, as threads and lost
 * messages do, but without threads: a seed gives the same run again. After every command the invariants are checked.
 */
final class MasterSimulation implements AutoCloseable {
    private static final UUID CLIENT = new UUID(1, 1);
    private static final long UNIT = 4096;
    private static final int KEYS = 10;

    private record Write(ObjectKey key, long version, ReplicaDescriptor.Memory range) {
    }

    private record Read(ObjectKey key, long replicaId, ReplicaDescriptor.Memory range) {
    }

    private record Promotion(ObjectKey key, long version, long replicaId, ReplicaDescriptor.Memory range) {
    }

    private final SplittableRandom random;
    private final MasterState state;
    private final List<Write> writes = new ArrayList<>();
    private final List<Read> reads = new ArrayList<>();
    private final List<OffloadTask> tasks = new ArrayList<>();
    private final List<Promotion> promotions = new ArrayList<>();
    /** What the client's disk has: key and version. */
    private final Map<ObjectKey, Long> onDisk = new HashMap<>();
    private long nowMs;
    private long attempt;

    MasterSimulation(final long seed, final double watermark, final double ratio, final long leaseMs) {
        random = new SplittableRandom(seed);
        state = new MasterState(MasterSettings.embedded(watermark, ratio, leaseMs, 50), 1, new Effects() {
            @Override
            public void workQueued(final UUID clientId, final WorkKind kind) {
                assertEquals(CLIENT, clientId);
            }

            @Override
            public void spaceFreed() {
                // Nobody waits here.
            }
        });
        apply(new SegmentCommand.Mount(CLIENT, spec(16 * UNIT)));
        assertEquals(ErrorCode.SEGMENT_ALREADY_EXISTS, assertThrows(StoreException.class,
            () -> apply(new SegmentCommand.Mount(CLIENT, spec(UNIT)))).code());
        apply(new DiskCommand.MountDisk(CLIENT, "", 1 << 20));
    }

    void step() {
        nowMs += random.nextInt(20);
        switch (random.nextInt(13)) {
            case 0, 1, 2 -> startPut();
            case 3, 4 -> endPut();
            case 5 -> startRead();
            case 6 -> endRead();
            case 7 -> remove();
            case 8 -> fetchOffloads();
            case 9 -> endOffload();
            case 10 -> startPromotion();
            case 11 -> endPromotion();
            default -> evictOrReport();
        }
        check();
    }

    /** Ends everything that is open and removes every key: then nothing may be left. */
    void finish() {
        while (!writes.isEmpty()) {
            endPut();
        }
        while (!reads.isEmpty()) {
            endRead();
        }
        while (!promotions.isEmpty()) {
            endPromotion();
        }
        do {
            while (!tasks.isEmpty()) {
                endOffload();
            }
            tasks.addAll(apply(new DiskCommand.FetchOffloads(CLIENT, Long.MAX_VALUE)));
        } while (!tasks.isEmpty());
        for (int i = 0; i < KEYS; i++) {
            apply(new ObjectCommand.Remove(key(i), true));
        }
        final MasterStats stats = apply(new AdminCommand.Statistics());
        assertEquals(0, stats.objects());
        assertEquals(0, stats.memoryUsed());
        assertEquals(0, stats.memoryReplicas());
        assertEquals(0, stats.heldReplicas());
        assertEquals(0, stats.diskReplicas());
        assertEquals(0, stats.offloadsPending());
    }

    @Override
    public void close() {
        state.close();
    }

    private void startPut() {
        final ObjectKey key = key(random.nextInt(KEYS));
        final PutStartReply reply = apply(new ObjectCommand.PutStart(CLIENT, ++attempt, key,
            random.nextLong(0, 5 * UNIT), PutOptions.DEFAULT, false));
        if (reply instanceof PutStartReply.Started started) {
            assertFalse(isKnown(key), "a put was started though the key has a value");
            writes.add(new Write(key, started.version(),
                (ReplicaDescriptor.Memory) started.replicas().getFirst().descriptor()));
        }
    }

    private void endPut() {
        if (!writes.isEmpty()) {
            final Write write = writes.remove(random.nextInt(writes.size()));
            final boolean revoked = random.nextInt(4) == 0;
            assertEquals(Command.Ack.OK, revoked ? apply(revoke(write)) : apply(end(write)));
            assertEquals(revoked ? Command.Ack.STALE : Command.Ack.OK, apply(end(write)),
                "an end that is repeated is told what came of it");
            assertEquals(Command.Ack.STALE, apply(revoke(write)));
        }
    }

    private void startRead() {
        final ObjectKey key = key(random.nextInt(KEYS));
        final ReadReply reply = apply(new ObjectCommand.ReadStart(key, true));
        if (reply.held() != 0) {
            reads.add(new Read(key, reply.held(), range(reply)));
        }
    }

    private void endRead() {
        if (!reads.isEmpty()) {
            final Read read = reads.remove(random.nextInt(reads.size()));
            assertEquals(Command.Ack.OK, apply(new ObjectCommand.ReadDone(read.key(), read.replicaId())));
        }
    }

    private void remove() {
        apply(new ObjectCommand.Remove(key(random.nextInt(KEYS)), random.nextBoolean()));
    }

    /** What has not been answered is named again. */
    private void fetchOffloads() {
        final List<OffloadTask> fetched =
            new ArrayList<>(apply(new DiskCommand.FetchOffloads(CLIENT, random.nextLong(1, 6 * UNIT))));
        fetched.removeAll(tasks);
        tasks.addAll(fetched);
    }

    private void endOffload() {
        if (tasks.isEmpty()) {
            return;
        }
        final OffloadTask task = tasks.remove(random.nextInt(tasks.size()));
        final OffloadResult[] results = OffloadResult.values();
        final OffloadResult result = random.nextInt(3) > 0 ? OffloadResult.STORED
            : results[random.nextInt(results.length)];
        final Command.Ack ack = apply(new DiskCommand.OffloadDone(CLIENT, task, result, 99));
        if (result == OffloadResult.STORED) {
            final boolean current = apply(new ObjectCommand.Query(task.key())).version() == task.version();
            assertEquals(current ? Command.Ack.OK : Command.Ack.STALE, ack);
            if (current) {
                onDisk.put(task.key(), task.version());
            }
        }
        assertEquals(result == OffloadResult.STORED ? ack : Command.Ack.STALE,
            apply(new DiskCommand.OffloadDone(CLIENT, task, result, 99)), "answered twice");
    }

    private void startPromotion() {
        final ObjectKey key = key(random.nextInt(KEYS));
        final ReadReply object = apply(new ObjectCommand.Query(key));
        if (object.found()) {
            final PromotionReply reply = apply(new DiskCommand.PromotionStart(CLIENT, key, object.version()));
            if (reply.accepted()) {
                promotions.add(new Promotion(key, object.version(), reply.replicaId(), reply.memory()));
            }
        }
    }

    private void endPromotion() {
        if (!promotions.isEmpty()) {
            final Promotion promotion = promotions.remove(random.nextInt(promotions.size()));
            final ReadReply object = apply(new ObjectCommand.Query(promotion.key()));
            final Command.Ack ack = apply(new DiskCommand.PromotionEnd(CLIENT, promotion.key(), promotion.replicaId(),
                random.nextInt(4) > 0));
            // Not found: removed, or its disk copy went meanwhile and the promotion is all that is left of it.
            if (object.found()) {
                assertEquals(object.version() == promotion.version() ? Command.Ack.OK : Command.Ack.STALE, ack);
            }
        }
    }

    private void evictOrReport() {
        final ObjectKey key = key(random.nextInt(KEYS));
        final Long version = onDisk.get(key);
        if (version == null) {
            return;
        }
        if (random.nextBoolean()) {
            final boolean allowed = apply(new DiskCommand.EvictDisk(CLIENT,
                List.of(new StoredObject(key, version, 0, 99)))).getFirst();
            if (!allowed) {
                return;
            }
        } else {
            final ReadReply object = apply(new ObjectCommand.Query(key));
            object.replicas().stream().filter(replica -> replica.type() == ReplicaType.LOCAL_DISK).forEach(replica ->
                apply(new ObjectCommand.ReplicaUnreadable(key, object.version(), replica.id())));
        }
        onDisk.remove(key);
    }

    private void check() {
        final TreeMap<Long, Long> ranges = new TreeMap<>();
        final Map<Long, Long> complete = new HashMap<>();
        long objects = 0;
        long diskReplicas = 0;
        for (int i = 0; i < KEYS; i++) {
            final ReadReply object = apply(new ObjectCommand.Query(key(i)));
            if (!object.found()) {
                continue;
            }
            objects++;
            for (final Replica replica : object.replicas()) {
                if (replica.descriptor() instanceof ReplicaDescriptor.Memory memory) {
                    complete.put(replica.id(), memory.offset());
                    claim(ranges, memory);
                } else {
                    diskReplicas++;
                }
            }
        }
        writes.forEach(write -> claim(ranges, write.range()));
        promotions.forEach(promotion -> claim(ranges, promotion.range()));
        // A range that is only held, because its object is gone, is nobody else's either; two holds may share it.
        final Map<Long, ReplicaDescriptor.Memory> held = new HashMap<>();
        reads.forEach(read -> held.put(read.replicaId(), read.range()));
        tasks.forEach(task -> held.put(task.replicaId(), task.source()));
        held.forEach((id, range) -> {
            if (!complete.containsKey(id)) {
                claim(ranges, range);
            }
        });
        final MasterStats stats = apply(new AdminCommand.Statistics());
        // An object whose disk copy went while it is being promoted lives on in the promotion, not yet readable.
        assertTrue(objects + writes.size() <= stats.objects()
            && stats.objects() <= objects + writes.size() + promotions.size(), "objects are lost or left over");
        assertEquals(diskReplicas, stats.diskReplicas());
        // Tasks that nobody has fetched hold ranges of removed objects that this client cannot see.
        final long seen = ranges.values().stream().mapToLong(Long::longValue).sum();
        final long unseen = stats.offloadsPending() - tasks.size();
        assertTrue(seen <= stats.memoryUsed(), "a range is in use that the allocator thinks free");
        if (unseen == 0) {
            assertEquals(seen, stats.memoryUsed());
        }
    }

    private static void claim(final TreeMap<Long, Long> ranges, final ReplicaDescriptor.Memory memory) {
        final long length = Math.max(UNIT, (memory.size() + UNIT - 1) / UNIT * UNIT);
        final Map.Entry<Long, Long> before = ranges.floorEntry(memory.offset());
        final Map.Entry<Long, Long> after = ranges.ceilingEntry(memory.offset());
        assertTrue(before == null || before.getKey() + before.getValue() <= memory.offset(), "two replicas overlap");
        assertTrue(after == null || memory.offset() + length <= after.getKey(), "two replicas overlap");
        assertTrue(memory.offset() >= 0 && memory.offset() + length <= 16 * UNIT, "a replica is outside its segment");
        ranges.put(memory.offset(), length);
    }

    private boolean isKnown(final ObjectKey key) {
        return apply(new ObjectCommand.Query(key)).found()
            || writes.stream().anyMatch(write -> write.key().equals(key));
    }

    private static ReplicaDescriptor.Memory range(final ReadReply reply) {
        return reply.replicas().stream().filter(replica -> replica.id() == reply.held())
            .map(replica -> (ReplicaDescriptor.Memory) replica.descriptor()).findFirst().orElseThrow();
    }

    private <R> R apply(final Command<R> command) {
        return state.apply(command, nowMs);
    }

    private static ObjectCommand.PutEnd end(final Write write) {
        return new ObjectCommand.PutEnd(CLIENT, write.key(), write.version(), ObjectCommand.Scope.ALL, false, 0);
    }

    private static ObjectCommand.PutRevoke revoke(final Write write) {
        return new ObjectCommand.PutRevoke(CLIENT, write.key(), write.version(), ObjectCommand.Scope.ALL);
    }

    private static SegmentCommand.SegmentSpec spec(final long capacity) {
        return new SegmentCommand.SegmentSpec("memory", SegmentCommand.Medium.MEMORY, capacity, UNIT,
            SegmentAddress.local(new UUID(0, 7)), true);
    }

    private static ObjectKey key(final int i) {
        return ObjectKey.of("key" + i);
    }
}
