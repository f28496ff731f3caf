package io.kvtier.store.master.state;

import io.kvtier.store.config.MasterSettings.Strategy;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * Where new replicas go: segments that the put names; then, when it wants that, those of the writer's host, and those
 * of the hosts whose names come next, so that what one writer has lies on few; otherwise by strategy. Replicas of one
 * object are on segments of their own. Files that all clients mount have an order of their own, see {@link PageSpace}.
 *
 * <p>The random numbers are the state's own, so that the same commands place the same way.
 */
final class Placement {
    /** How many segments are looked at for each replica before the best of them is taken. */
    private static final int SAMPLE = 6;
    private static final Kind ANY = segment -> true;
    private static final Comparator<LentSegment> EMPTIEST = Comparator.comparingDouble(Placement::ratio);

    private final Strategy strategy;
    /** The best place for memory comes first. */
    private final Comparator<LentSegment> ranking;
    private final List<LentSegment> memory = new ArrayList<>();
    private final List<LentSegment> nof = new ArrayList<>();
    /** Memory by its owner's host. */
    private final NavigableMap<String, List<LentSegment>> hosts = new TreeMap<>();
    private final PageSpace pages;
    private long random = 0x9E3779B97F4A7C15L;

    /**
     * What is to be placed.
     *
     * @param owner     the object.
     * @param size      bytes of the value.
     * @param medium    the kind of segment.
     * @param preferred names of segments that are tried first.
     * @param host      the writer's host, for memory; empty when it does not matter.
     * @param only      whether nothing but the preferred segments will do.
     */
    record Wish(ObjectEntry owner, long size, Medium medium, List<String> preferred, String host, boolean only) {
    }

    Placement(final Strategy strategy, final DiskReplicas disk, final PageSpace pages) {
        this.strategy = strategy;
        this.pages = pages;
        ranking = strategy == Strategy.SSD_FREE_RATIO_FIRST
            ? Comparator.<LentSegment>comparingDouble(segment -> -disk.freeRatio(segment.clientId()))
                .thenComparing(EMPTIEST) : EMPTIEST;
    }

    void add(final LentSegment segment) {
        segments(segment.medium()).add(segment);
        if (segment.medium() == Medium.MEMORY) {
            hosts.computeIfAbsent(segment.host(), host -> new ArrayList<>()).add(segment);
        }
    }

    void remove(final LentSegment segment) {
        segments(segment.medium()).remove(segment);
        if (segment.medium() == Medium.MEMORY) {
            hosts.computeIfPresent(segment.host(), (host, there) -> there.remove(segment) && there.isEmpty() ? null
                : there);
        }
    }

    /** How many segments that may be allocated in are large enough, were they empty; no more than {@code count}. */
    int places(final Wish wish, final int count, final long nowMs) {
        if (wish.medium() == Medium.DISTRIBUTED_DISK) {
            return pages.places(wish.size(), count, nowMs);
        }
        final List<LentSegment> segments = segments(wish.medium());
        int places = 0;
        for (int i = 0; i < segments.size() && places < count; i++) {
            final LentSegment segment = segments.get(i);
            if (segment.isOpen(nowMs) && wish.size() <= segment.capacity()
                && (!wish.only() || wish.preferred().contains(segment.name()))) {
                places++;
            }
        }
        return places;
    }

    /** Ranges on as many segments as have room, up to {@code count}. */
    List<PlacedReplica> allocate(final Wish wish, final int count, final long nowMs, final ObjectCatalogue ids) {
        if (wish.medium() == Medium.DISTRIBUTED_DISK) {
            return pages.allocate(wish, nowMs, ids);
        }
        final List<PlacedReplica> placed = new ArrayList<>(count);
        final List<LentSegment> segments = segments(wish.medium());
        for (int i = 0; i < wish.preferred().size(); i++) {
            final String name = wish.preferred().get(i);
            tryAll(segments, segment -> segment.name().equals(name), wish, count, nowMs, ids, placed);
        }
        if (wish.only()) {
            return placed;
        }
        final boolean ranked =
            strategy == Strategy.FREE_RATIO_FIRST || strategy == Strategy.SSD_FREE_RATIO_FIRST;
        if (!wish.host().isEmpty()) {
            tryHosts(hosts.subMap(wish.host(), true, wish.host(), true), wish, count, nowMs, ids, placed);
            if (!ranked) {
                tryHosts(hosts.tailMap(wish.host(), false), wish, count, nowMs, ids, placed);
                tryHosts(hosts.headMap(wish.host(), false), wish, count, nowMs, ids, placed);
                return placed;
            }
        }
        if (ranked) {
            tryRanked(segments, wish, count, nowMs, ids, placed);
        }
        tryAll(segments, ANY, wish, count, nowMs, ids, placed);
        return placed;
    }

    /** Hosts one after the other, on each of them all segments. */
    private void tryHosts(final NavigableMap<String, List<LentSegment>> some, final Wish wish, final int count,
        final long nowMs, final ObjectCatalogue ids, final List<PlacedReplica> placed) {
        for (final List<LentSegment> segments : some.values()) {
            if (placed.size() == count) {
                return;
            }
            tryAll(segments, ANY, wish, count, nowMs, ids, placed);
        }
    }

    /** One of a kind of segment. */
    private interface Kind {
        boolean has(LentSegment segment);
    }

    /** All segments of a kind, beginning anywhere. */
    private void tryAll(final List<LentSegment> segments, final Kind kind, final Wish wish, final int count,
        final long nowMs, final ObjectCatalogue ids, final List<PlacedReplica> placed) {
        final int size = segments.size();
        final int start = size > 1 ? next(size) : 0;
        for (int i = 0; i < size && placed.size() < count; i++) {
            final LentSegment segment = segments.get((start + i) % size);
            if (kind.has(segment)) {
                tryOne(segment, wish, nowMs, ids, placed);
            }
        }
    }

    private void tryRanked(final List<LentSegment> segments, final Wish wish, final int count, final long nowMs,
        final ObjectCatalogue ids, final List<PlacedReplica> placed) {
        final int looks = Math.min(segments.size(), SAMPLE * (count - placed.size()));
        if (looks <= 0) {
            return;
        }
        final int start = next(segments.size());
        final List<LentSegment> sample = new ArrayList<>(looks);
        for (int i = 0; i < looks; i++) {
            sample.add(segments.get((start + i) % segments.size()));
        }
        sample.sort(wish.medium() == Medium.MEMORY ? ranking : EMPTIEST);
        for (int i = 0; i < looks && placed.size() < count; i++) {
            tryOne(sample.get(i), wish, nowMs, ids, placed);
        }
    }

    private static void tryOne(final LentSegment segment, final Wish wish, final long nowMs, final ObjectCatalogue ids,
        final List<PlacedReplica> placed) {
        if (!segment.isOpen(nowMs) || isUsed(segment, placed)) {
            return;
        }
        final PlacedReplica replica = segment.allocate(ids.nextReplicaId(), wish.owner(), wish.size());
        if (replica != null) {
            placed.add(replica);
        }
    }

    /** Whether one of those that are being placed is there; the value that they replace may be too. */
    private static boolean isUsed(final LentSegment segment, final List<PlacedReplica> placed) {
        for (int i = 0; i < placed.size(); i++) {
            if (placed.get(i).segment() == segment) {
                return true;
            }
        }
        return false;
    }

    private static double ratio(final LentSegment segment) {
        return (double) segment.used() / segment.capacity();
    }

    private List<LentSegment> segments(final Medium medium) {
        return medium == Medium.MEMORY ? memory : nof;
    }

    /** Xorshift64 (Marsaglia, 2003). */
    private int next(final int bound) {
        random ^= random << 13;
        random ^= random >>> 7;
        random ^= random << 17;
        return (int) Long.remainderUnsigned(random, bound);
    }
}
