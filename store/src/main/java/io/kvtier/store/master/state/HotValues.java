package io.kvtier.store.master.state;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.DiskCommand.DiskPromotion;
import io.kvtier.store.protocol.PageCommand.PromotionTask;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * Values that are on disks alone and read often, and are to be copied to memory: those in the shared files by any
 * client that has them mounted, others by a client that has them on its own disk.
 *
 * <p>A value waits in a queue, is given to one client, and leaves when anybody asks for memory for it; what becomes of
 * it then is known to {@link Promotions}. One that was given and not begun in the time in which a client is taken for
 * dead goes back into a queue, as often as a few times; so does at once what a client had that is gone. Nothing is
 * pinned here: what goes meanwhile is passed over when it is its turn.
 */
final class HotValues {
    /** How often a value is given to clients that do not begin it. */
    private static final int TRIES = 3;
    /** Whose queue that of the shared files is. */
    private static final UUID ANYBODY = PageSpace.NOBODY;

    private final MasterSettings settings;
    private final Segments segments;
    private final DiskReplicas disks;
    private final Effects effects;
    private final HitCounts hits = new HitCounts();
    /** Clients that have the files mounted, the one that was told longest ago first. */
    private final Set<UUID> clients = new LinkedHashSet<>();
    /** Oldest first. */
    private final Map<ObjectKey, Waiting> waiting = new LinkedHashMap<>();
    /** The same by who is to copy it: in the order in which they are given. None of them is empty. */
    private final Map<UUID, Set<ObjectKey>> queues = new HashMap<>();
    /** In the order in which they were given. */
    private final Map<ObjectKey, Given> given = new LinkedHashMap<>();
    private long queued;
    private long rejected;

    /** Who is to copy it, and since when he has been told. */
    private record Waiting(ObjectEntry entry, long version, UUID copier, int tries, long toldMs) {
    }

    private record Given(Waiting value, UUID clientId, long atMs) {
    }

    HotValues(final MasterSettings settings, final Segments segments, final DiskReplicas disks,
        final Effects effects) {
        this.settings = settings;
        this.segments = segments;
        this.disks = disks;
        this.effects = effects;
    }

    void mount(final UUID clientId) {
        clients.add(clientId);
    }

    /** Whether a client has the files mounted. */
    boolean isMounted(final UUID clientId) {
        return clients.contains(clientId);
    }

    /** A client is gone: what it had and has not begun waits again. */
    void clientGone(final UUID clientId, final long nowMs) {
        clients.remove(clientId);
        for (final Given one : List.copyOf(given.values())) {
            if (one.clientId().equals(clientId)) {
                giveBack(one, nowMs);
            }
        }
    }

    /** A value that is not in memory was found by somebody who wants to read it. */
    void read(final ObjectEntry entry, final long nowMs) {
        final MasterSettings.Promotion when = settings.pages().promotion();
        if (!when.onHit() || !isOnDisk(entry) || hits.read(entry.key()) < when.threshold()
            || !isWanted(entry, entry.record().version()) || waiting.containsKey(entry.key())
            || given.containsKey(entry.key())) {
            return;
        }
        final UUID copier = copier(entry);
        if (waiting.size() + given.size() >= when.queueLimit() || copier == null || isMemoryFull(entry)) {
            rejected++;
            return;
        }
        queued++;
        enqueue(new Waiting(entry, entry.record().version(), copier, 0, nowMs));
    }

    private boolean isOnDisk(final ObjectEntry entry) {
        return entry.residency(Medium.DISTRIBUTED_DISK) != null || disks.first(entry) != null;
    }

    /** Who could copy it to memory; null for nobody. */
    private UUID copier(final ObjectEntry entry) {
        if (entry.residency(Medium.DISTRIBUTED_DISK) != null && !clients.isEmpty()) {
            return ANYBODY;
        }
        final Replica own = disks.first(entry);
        return own != null && own.descriptor() instanceof ReplicaDescriptor.LocalDisk disk ? disk.clientId() : null;
    }

    /** It would make others go that were written or read as lately. */
    private boolean isMemoryFull(final ObjectEntry entry) {
        return segments.used(Medium.MEMORY) + entry.record().size()
            > settings.eviction().highWatermark() * segments.capacity(Medium.MEMORY);
    }

    private static boolean isWanted(final ObjectEntry entry, final long version) {
        return entry.record() != null && entry.record().version() == version
            && entry.residency(Medium.MEMORY) == null && entry.promotion() == null && entry.pending() == null
            && !entry.isReplicating();
    }

    private void enqueue(final Waiting value) {
        waiting.put(value.entry().key(), value);
        queues.computeIfAbsent(value.copier(), copier -> new LinkedHashSet<>()).add(value.entry().key());
        if (value.copier() != ANYBODY) {
            effects.workQueued(value.copier(), WorkKind.DISK_PROMOTIONS);
        } else if (!clients.isEmpty()) {
            // One client after the other is told that there is something.
            final UUID next = clients.iterator().next();
            clients.remove(next);
            clients.add(next);
            effects.workQueued(next, WorkKind.PROMOTIONS);
        }
    }

    /** Null when it does not wait. */
    private Waiting dequeue(final ObjectKey key) {
        final Waiting value = waiting.remove(key);
        if (value != null) {
            final Set<ObjectKey> queue = queues.get(value.copier());
            queue.remove(key);
            if (queue.isEmpty()) {
                queues.remove(value.copier());
            }
        }
        return value;
    }

    /** Values in the shared files for a client to copy; each is given to nobody else. */
    List<PromotionTask> fetch(final UUID clientId, final int max, final long nowMs) {
        final List<PromotionTask> tasks = new ArrayList<>();
        while (clients.contains(clientId) && tasks.size() < max && queues.containsKey(ANYBODY)) {
            final Waiting next = dequeue(queues.get(ANYBODY).iterator().next());
            final Residency shared = next.entry().residency(Medium.DISTRIBUTED_DISK);
            if (shared != null && isWanted(next.entry(), next.version())) {
                given.put(next.entry().key(), new Given(next, clientId, nowMs));
                tasks.add(new PromotionTask(next.entry().key(), next.version(), shared.first().place(),
                    next.entry().record().checksum()));
            }
        }
        return tasks;
    }

    /** Values on a client's own disk for it to copy. */
    List<DiskPromotion> fetchOwn(final UUID clientId, final int max, final long nowMs) {
        final List<DiskPromotion> tasks = new ArrayList<>();
        while (tasks.size() < max && queues.containsKey(clientId)) {
            final Waiting next = dequeue(queues.get(clientId).iterator().next());
            final Replica own = isWanted(next.entry(), next.version()) ? disks.own(next.entry(), clientId) : null;
            if (own != null) {
                given.put(next.entry().key(), new Given(next, clientId, nowMs));
                tasks.add(new DiskPromotion(next.entry().key(), next.version(), own.id()));
            }
        }
        return tasks;
    }

    /** Somebody has asked for memory for a value: it is not for others any more, whatever the answer. */
    void begun(final ObjectKey key) {
        dequeue(key);
        given.remove(key);
    }

    /** Gives what was not begun to others, and tells others of what nobody has fetched. */
    void expire(final long nowMs) {
        while (!given.isEmpty()) {
            final Given oldest = given.values().iterator().next();
            if (nowMs - oldest.atMs() < settings.liveness().clientTtlMs()) {
                break;
            }
            giveBack(oldest, nowMs);
        }
        while (!waiting.isEmpty()) {
            final Waiting oldest = waiting.values().iterator().next();
            if (nowMs - oldest.toldMs() < settings.liveness().clientTtlMs()) {
                break;
            }
            again(oldest, nowMs);
        }
    }

    private void giveBack(final Given one, final long nowMs) {
        given.remove(one.value().entry().key());
        again(one.value(), nowMs);
    }

    private void again(final Waiting value, final long nowMs) {
        final ObjectEntry entry = value.entry();
        dequeue(entry.key());
        final UUID copier = value.tries() + 1 < TRIES && isWanted(entry, value.version()) ? copier(entry) : null;
        if (copier != null) {
            enqueue(new Waiting(entry, value.version(), copier, value.tries() + 1, nowMs));
        }
    }

    /** Values that wait, or were given and not begun. */
    long size() {
        return waiting.size() + given.size();
    }

    /** Values that were queued. */
    long queued() {
        return queued;
    }

    /** Values that were read often enough and could not be queued. */
    long rejected() {
        return rejected;
    }
}
