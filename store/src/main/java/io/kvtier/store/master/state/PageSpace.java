package io.kvtier.store.master.state;

import io.kvtier.store.protocol.PageCommand.BucketInfo;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.SegmentAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * The files that all clients mount, as segments that nobody lends: each has pages of its own, and none of them ever
 * goes. A value's pages are looked for in the file that its key names, and when that has no run long enough, in those
 * that follow, round to the first.
 *
 * <p><b>Lifetime:</b> the files' allocators are closed by {@link Segments}, in which they are mounted.
 */
final class PageSpace {
    /** Whose these files are. */
    static final UUID NOBODY = new UUID(0, 0);

    private final PageLayout layout;
    private final List<LentSegment> buckets = new ArrayList<>();
    private final Map<String, LentSegment> byPath = new HashMap<>();
    private long failures;

    private PageSpace(final PageLayout layout) {
        this.layout = layout;
    }

    /**
     * Empty files.
     *
     * @param layout null for none.
     * @param ids    gives each segment a number.
     */
    static PageSpace create(final PageLayout layout, final ObjectCatalogue ids) {
        final PageSpace space = new PageSpace(layout);
        for (int i = 0; layout != null && i < layout.buckets(); i++) {
            final SegmentSpec spec = new SegmentSpec(layout.path(i), Medium.DISTRIBUTED_DISK, layout.bucketBytes(),
                layout.pageBytes(), SegmentAddress.local(new UUID(0, ids.nextReplicaId())), true);
            try {
                final LentSegment bucket = LentSegment.ofPages(NOBODY, spec);
                space.buckets.add(bucket);
                space.byPath.put(spec.name(), bucket);
            } catch (final RuntimeException | Error e) {
                space.buckets.forEach(LentSegment::close);
                throw e;
            }
        }
        return space;
    }

    /** How the files are laid out; null when there are none. */
    PageLayout layout() {
        return layout;
    }

    List<LentSegment> buckets() {
        return buckets;
    }

    /** The file of that path, or null. */
    LentSegment bucket(final String path) {
        return byPath.get(path);
    }

    /** Whether anything is given out: all files are closed together, for a while after a restore. */
    boolean isOpen(final long nowMs) {
        return !buckets.isEmpty() && buckets.getFirst().isOpen(nowMs);
    }

    /** How many files would have room for a value, were they empty; no more than {@code count}. */
    int places(final long size, final int count, final long nowMs) {
        int places = 0;
        for (int i = 0; i < buckets.size() && places < count; i++) {
            places += buckets.get(i).isOpen(nowMs) && size <= layout.bucketBytes() ? 1 : 0;
        }
        return places;
    }

    /** Pages for a value; none when no file has a run that is long enough. */
    List<PlacedReplica> allocate(final Placement.Wish wish, final long nowMs, final ObjectCatalogue ids) {
        final int home = layout.home(wish.owner().key().key());
        for (int i = 0; i < buckets.size(); i++) {
            final LentSegment bucket = buckets.get((home + i) % buckets.size());
            // A number is taken for a file that may have the room alone: a full disk would use up hundreds a try.
            if (bucket.isOpen(nowMs) && bucket.hasRoom(wish.size())) {
                final PlacedReplica replica = bucket.allocate(ids.nextReplicaId(), wish.owner(), wish.size());
                if (replica != null) {
                    return List.of(replica);
                }
            }
        }
        return List.of();
    }

    /** There was no room for a value. */
    void failed() {
        failures++;
    }

    long failures() {
        return failures;
    }

    /** Runs that were allocated. */
    long allocations() {
        return buckets.stream().mapToLong(LentSegment::allocations).sum();
    }

    /** Runs that were freed. */
    long frees() {
        return buckets.stream().mapToLong(LentSegment::frees).sum();
    }

    List<BucketInfo> list() {
        return buckets.stream().map(bucket -> new BucketInfo(bucket.name(), bucket.capacity() / layout.pageBytes(),
            bucket.used() / layout.pageBytes())).toList();
    }
}
