package io.kvtier.store.master.state;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.PageCommand.PromotionTask;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.WorkKind;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * Values in the shared files that are read often and are to be copied to memory: by any client that has the files
 * mounted, since they are no client's own.
 *
 * <p>A value waits in the queue, is given to one client, and leaves when anybody asks for memory for it; what becomes
 * of it then is known to {@link Promotions}. One that was given and not begun in the time in which a client is taken
 * for dead goes back into the queue, as often as a few times; so does at once what a client had that is gone. Nothing
 * is pinned here: what goes meanwhile is passed over when it is its turn.
 */
final class HotValues {
    /** How often a value is given to clients that do not begin it. */
    private static final int TRIES = 3;

    private final MasterSettings settings;
    private final Segments segments;
    private final Effects effects;
    private final HitCounts hits = new HitCounts();
    /** Clients that have the files mounted, the one that was told longest ago first. */
    private final Set<UUID> clients = new LinkedHashSet<>();
    /** In the order in which they are given. */
    private final Map<ObjectKey, Waiting> waiting = new LinkedHashMap<>();
    /** In the order in which they were given. */
    private final Map<ObjectKey, Given> given = new LinkedHashMap<>();
    private long queued;
    private long rejected;

    /** Since when somebody has been told of it. */
    private record Waiting(ObjectEntry entry, long version, int tries, long toldMs) {
    }

    private record Given(Waiting value, UUID clientId, long atMs) {
    }

    HotValues(final MasterSettings settings, final Segments segments, final Effects effects) {
        this.settings = settings;
        this.segments = segments;
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

    /** A value was found by somebody who wants to read it. */
    void read(final ObjectEntry entry, final long nowMs) {
        final MasterSettings.Promotion when = settings.pages().promotion();
        if (!when.onHit() || entry.residency(Medium.DISTRIBUTED_DISK) == null
            || hits.read(entry.key()) < when.threshold() || !isWanted(entry, entry.record().version())
            || waiting.containsKey(entry.key()) || given.containsKey(entry.key())) {
            return;
        }
        if (waiting.size() + given.size() >= when.queueLimit() || clients.isEmpty() || isMemoryFull(entry)) {
            rejected++;
            return;
        }
        queued++;
        enqueue(new Waiting(entry, entry.record().version(), 0, nowMs));
    }

    /** It would make others go that were written or read as lately. */
    private boolean isMemoryFull(final ObjectEntry entry) {
        return segments.used(Medium.MEMORY) + entry.record().size()
            > settings.eviction().highWatermark() * segments.capacity(Medium.MEMORY);
    }

    private static boolean isWanted(final ObjectEntry entry, final long version) {
        return entry.record() != null && entry.record().version() == version
            && entry.residency(Medium.DISTRIBUTED_DISK) != null && entry.residency(Medium.MEMORY) == null
            && entry.promotion() == null && entry.pending() == null && !entry.isReplicating();
    }

    private void enqueue(final Waiting value) {
        waiting.put(value.entry().key(), value);
        tell();
    }

    /** One client after the other is told that there is something. */
    private void tell() {
        if (!clients.isEmpty()) {
            final UUID next = clients.iterator().next();
            clients.remove(next);
            clients.add(next);
            effects.workQueued(next, WorkKind.PROMOTIONS);
        }
    }

    /** Values for a client to copy; each is given to nobody else. */
    List<PromotionTask> fetch(final UUID clientId, final int max, final long nowMs) {
        final List<PromotionTask> tasks = new ArrayList<>();
        while (clients.contains(clientId) && tasks.size() < max && !waiting.isEmpty()) {
            final Waiting next = waiting.remove(waiting.keySet().iterator().next());
            if (isWanted(next.entry(), next.version())) {
                given.put(next.entry().key(), new Given(next, clientId, nowMs));
                tasks.add(new PromotionTask(next.entry().key(), next.version(),
                    next.entry().residency(Medium.DISTRIBUTED_DISK).first().place(),
                    next.entry().record().checksum()));
            }
        }
        return tasks;
    }

    /** Somebody has asked for memory for a value: it is not for others any more, whatever the answer. */
    void begun(final ObjectKey key) {
        waiting.remove(key);
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
        waiting.remove(value.entry().key());
        if (value.tries() + 1 < TRIES && isWanted(value.entry(), value.version())) {
            enqueue(new Waiting(value.entry(), value.version(), value.tries() + 1, nowMs));
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
