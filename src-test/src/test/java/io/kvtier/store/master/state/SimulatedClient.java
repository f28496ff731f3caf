package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.DiskCommand.StoredObject;
import io.kvtier.store.protocol.DiskCommand.StoredVersion;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/** A process of the {@link ClusterSimulation}: what it lends, what is on its disk, and the copies it makes. */
final class SimulatedClient {
    private final ClusterSimulation cluster;
    private final int number;
    private UUID id;
    private boolean alive = true;
    private boolean diskMounted;
    private final List<UUID> segments = new ArrayList<>();
    private final Map<StoredVersion, Long> disk = new LinkedHashMap<>();
    private long dropsDone;
    private final List<Task> tasks = new ArrayList<>();
    private final List<Promotion> promotions = new ArrayList<>();

    private record Task(OffloadTask task, Claims.Claim claim) {
    }

    private record Promotion(ObjectKey key, PromotionReply reply, Claims.Claim claim) {
    }

    SimulatedClient(final ClusterSimulation cluster, final int number) {
        this.cluster = cluster;
        this.number = number;
        start();
    }

    UUID id() {
        return id;
    }

    /** A new process: it has other ids, and what its predecessor left on the disk. */
    private void start() {
        id = cluster.nextId();
        cluster.apply(ping());
        lend(Medium.MEMORY, 24);
        if (number % 2 == 0) {
            lend(Medium.NOF, 16);
        }
        mountDisk();
    }

    private SegmentCommand.Ping ping() {
        return new SegmentCommand.Ping(id, "client", "host" + number % 2, "");
    }

    private void lend(final Medium medium, final int units) {
        final UUID segment = cluster.nextId();
        final String name = medium == Medium.MEMORY ? "memory" + number : "device" + segment;
        cluster.apply(new SegmentCommand.Mount(id, new SegmentCommand.SegmentSpec(name, medium,
            units * ClusterSimulation.UNIT, ClusterSimulation.UNIT, new SegmentAddress(segment, "", AccessToken.NONE),
            cluster.random.nextBoolean())));
        cluster.claims.mounted(segment, medium == Medium.NOF ? name : null, units * ClusterSimulation.UNIT);
        segments.add(segment);
    }

    private void mountDisk() {
        cluster.apply(new DiskCommand.MountDisk(id, "host:1", 1 << 20));
        diskMounted = true;
        final List<StoredVersion> values = List.copyOf(disk.keySet());
        final List<Boolean> adopted = cluster.apply(new DiskCommand.AdoptDisk(id, values.stream().map(value ->
            new StoredObject(value.key(), value.version(), disk.get(value), value.version())).toList()));
        for (int i = 0; i < values.size(); i++) {
            if (adopted.get(i)) {
                cluster.adopted(values.get(i).key(), values.get(i).version());
            } else {
                disk.remove(values.get(i));
            }
        }
    }

    /** Pings, now and then; when the master has forgotten it, it lends everything anew. */
    void signOfLife() {
        if (alive && cluster.random.nextInt(8) > 0) {
            isKnown();
        }
    }

    /** Pings; false when the master had forgotten it, and it has lent everything anew. */
    private boolean isKnown() {
        if (cluster.apply(ping()).status() == SegmentCommand.ClientStatus.NEED_REMOUNT) {
            forget();
            start();
            return false;
        }
        return true;
    }

    /** Finds out which of its segments are gone. */
    void notice() {
        final Set<UUID> there = new HashSet<>();
        for (final SegmentCommand.SegmentInfo info : cluster.apply(new SegmentCommand.Segments())) {
            if (info.status() != SegmentCommand.Status.UNMOUNTING) {
                there.add(info.segmentId());
            }
        }
        segments.removeIf(segment -> {
            if (!there.contains(segment)) {
                cluster.lost(segment);
                return true;
            }
            return false;
        });
    }

    /** Nothing of what it lent and did counts any more. */
    private void forget() {
        segments.forEach(cluster::lost);
        segments.clear();
        tasks.forEach(task -> task.claim().giveUp());
        tasks.clear();
        promotions.forEach(promotion -> promotion.claim().giveUp());
        promotions.clear();
        diskMounted = false;
    }

    void comeOrGo() {
        switch (cluster.random.nextInt(8)) {
            case 0 -> alive = false;
            case 1, 2 -> {
                if (!alive) {
                    // Its predecessor, if it is still thought alive, ends by and by.
                    alive = true;
                    if (cluster.random.nextBoolean()) {
                        tasks.clear();
                        promotions.clear();
                        diskMounted = false;
                        start();
                    }
                }
            }
            case 3 -> {
                if (segments.size() < 4 && isKnown()) {
                    lend(cluster.random.nextInt(3) == 0 ? Medium.NOF : Medium.MEMORY, 8 + cluster.random.nextInt(16));
                }
            }
            case 4, 5 -> takeBack();
            case 6 -> probe();
            default -> {
                if (diskMounted) {
                    unmountDisk();
                } else if (isKnown()) {
                    mountDisk();
                }
            }
        }
    }

    private void unmountDisk() {
        cluster.apply(new DiskCommand.UnmountDisk(id));
        diskMounted = false;
        tasks.forEach(task -> task.claim().giveUp());
        tasks.clear();
    }

    private void takeBack() {
        if (segments.size() > 1) {
            final UUID segment = segments.get(cluster.random.nextInt(segments.size()));
            final long graceMs = cluster.random.nextBoolean() ? 0 : cluster.random.nextInt(200);
            final Ack ack = cluster.tryApply(new SegmentCommand.Unmount(id, segment, graceMs));
            if (graceMs == 0 && ack != null) {
                segments.remove(segment);
                cluster.lost(segment);
            }
        }
    }

    private void probe() {
        if (!segments.isEmpty()) {
            cluster.tryApply(new SegmentCommand.Probed(segments.get(cluster.random.nextInt(segments.size())),
                cluster.random.nextInt(3) == 0));
            notice();
        }
    }

    void offload() {
        if (tasks.isEmpty() || cluster.random.nextInt(3) == 0) {
            for (final OffloadTask task : cluster.apply(new DiskCommand.FetchOffloads(id,
                cluster.random.nextLong(1, 8 * ClusterSimulation.UNIT)))) {
                if (tasks.stream().anyMatch(known -> known.task().equals(task))) {
                    // Named again because it is not answered yet.
                    continue;
                }
                tasks.add(new Task(task, cluster.claims.claim("a copy to a disk",
                    cluster.claims.range(task.source()), cluster.nowMs() + ClusterSimulation.RELEASE_MS)));
            }
        } else {
            answer(tasks.remove(cluster.random.nextInt(tasks.size())));
        }
    }

    private void answer(final Task task) {
        final OffloadResult[] results = OffloadResult.values();
        final OffloadResult result = cluster.random.nextInt(4) > 0 ? OffloadResult.STORED
            : results[cluster.random.nextInt(results.length)];
        task.claim().giveUp();
        final StoredVersion stored = new StoredVersion(task.task().key(), task.task().version());
        final Ack ack = cluster.apply(new DiskCommand.OffloadDone(id, task.task(), result, stored.version()));
        if (ack == Ack.OK && result == OffloadResult.STORED) {
            disk.put(stored, cluster.size(stored.version()));
            assertTrue(ClusterSimulation.isOnDisk(cluster.query(stored.key())), "it was recorded");
        }
        final boolean recorded = ack == Ack.OK && result == OffloadResult.STORED;
        assertEquals(recorded ? Ack.OK : Ack.STALE,
            cluster.apply(new DiskCommand.OffloadDone(id, task.task(), result, stored.version())));
    }

    void promote() {
        if (!promotions.isEmpty() && cluster.random.nextInt(3) > 0) {
            final Promotion promotion = promotions.remove(cluster.random.nextInt(promotions.size()));
            cluster.apply(new DiskCommand.PromotionEnd(id, promotion.key(), promotion.reply().replicaId(),
                cluster.random.nextInt(4) > 0));
            promotion.claim().giveUp();
            return;
        }
        final ObjectKey key = cluster.anyKey();
        final ReadReply object = cluster.query(key);
        final PromotionReply reply = cluster.apply(new DiskCommand.PromotionStart(id, key, object.version()));
        if (reply.accepted()) {
            final Claims.Range range = cluster.claims.range(reply.memory());
            cluster.claims.assertFree("a promotion of " + key, range, cluster.nowMs());
            promotions.add(new Promotion(key, reply, cluster.claims.claim("a promotion", range,
                cluster.nowMs() + ClusterSimulation.RELEASE_MS)));
        }
    }

    /** Removes from its disk what the master wants gone, evicts something, or finds something unreadable. */
    void tidyDisk() {
        final DiskCommand.Drops drops =
            cluster.apply(new DiskCommand.FetchDrops(id, cluster.random.nextInt(3), dropsDone));
        if (cluster.random.nextInt(4) > 0) {
            drops.values().forEach(disk::remove);
            dropsDone = drops.last();
        }
        if (disk.isEmpty() || !diskMounted) {
            return;
        }
        final StoredVersion value = List.copyOf(disk.keySet()).get(cluster.random.nextInt(disk.size()));
        if (cluster.random.nextBoolean()) {
            if (cluster.apply(new DiskCommand.EvictDisk(id, List.of(new StoredObject(value.key(), value.version(),
                disk.get(value), 0)))).getFirst()) {
                disk.remove(value);
            }
            return;
        }
        for (final Replica replica : cluster.query(value.key()).replicas()) {
            if (replica.descriptor() instanceof ReplicaDescriptor.LocalDisk on && on.clientId().equals(id)) {
                cluster.apply(new ObjectCommand.ReplicaUnreadable(value.key(), value.version(), replica.id()));
                disk.remove(value);
            }
        }
    }

    void finish() {
        alive = true;
        while (!promotions.isEmpty()) {
            final Promotion promotion = promotions.removeFirst();
            cluster.apply(new DiskCommand.PromotionEnd(id, promotion.key(), promotion.reply().replicaId(), true));
            promotion.claim().giveUp();
        }
        do {
            while (!tasks.isEmpty()) {
                answer(tasks.removeFirst());
            }
            for (final OffloadTask task : cluster.apply(new DiskCommand.FetchOffloads(id, Long.MAX_VALUE))) {
                tasks.add(new Task(task, cluster.claims.claim("a copy to a disk",
                    cluster.claims.range(task.source()), Long.MAX_VALUE)));
            }
        } while (!tasks.isEmpty());
    }
}
