package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.SegmentInfo;
import io.kvtier.store.protocol.SegmentCommand.Status;
import io.kvtier.store.snapshot.SavedSegment;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * The segments that clients lend, and the ranges allocated in them: placed, resting, freed.
 *
 * <p>A range rests when somebody may still read or write it by a descriptor that he was given: until the end of the
 * last lease on it, or of the time that a writer is given. Only then is it allocated again.
 */
final class Segments implements AutoCloseable {
    /** So many unmounts later no writer and no command is under way any more. */
    private static final int MAX_PAST = 65_536;

    private final Map<UUID, LentSegment> mounted = new LinkedHashMap<>();
    /** Those being swept, which nothing may be allocated or read in. */
    private final Map<UUID, LentSegment> dying = new LinkedHashMap<>();
    /** Ids of the last ones that have been swept. */
    private final Set<UUID> past = new LinkedHashSet<>();
    private final PriorityQueue<PlacedReplica> resting =
        new PriorityQueue<>((a, b) -> Long.compare(a.restUntilMs(), b.restUntilMs()));
    private final Map<Medium, Totals> totals = new EnumMap<>(Medium.class);
    private final Placement placement;
    private final long reopenAfterMs;
    private final long deviceReopenAfterMs;
    /** Those that are closed until their owners say that all that comes back is back. */
    private final Set<LentSegment> returning = new LinkedHashSet<>();
    /** Whether these open soon: their owners may still bring something back. */
    private boolean returnsEnd;
    /** When the next segment opens that rests as a whole; at the end of time when there is none. */
    private long nextOpenMs = Long.MAX_VALUE;

    /** Sums over the mounted segments of a medium, kept so that no put adds them up. */
    private static final class Totals {
        private long capacity;
        private long used;
        private long largest;
        private long resting;
    }

    /**
     * No segments.
     *
     * @param placement      where to allocate.
     * @param reopenAfterMs  how long memory rests that was lent before.
     * @param deviceReopenAfterMs how long a block device does: nobody can keep who was sent there before from writing.
     */
    Segments(final Placement placement, final long reopenAfterMs, final long deviceReopenAfterMs) {
        for (final Medium medium : Medium.values()) {
            totals.put(medium, new Totals());
        }
        this.placement = placement;
        this.reopenAfterMs = reopenAfterMs;
        this.deviceReopenAfterMs = deviceReopenAfterMs;
    }

    LentSegment mount(final UUID clientId, final String host, final SegmentCommand.SegmentSpec spec,
        final long nowMs) {
        final UUID id = spec.address().segmentId();
        if (dying.containsKey(id) || past.contains(id)) {
            // Writers that were sent there may still be at it, and a copy of the command that was late comes too late.
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "segment " + id
                + " has been unmounted; lend the memory under a new id");
        }
        if (mounted.containsKey(id)) {
            throw new StoreException(ErrorCode.SEGMENT_ALREADY_EXISTS, "segment " + id + " is mounted already");
        }
        checkDevice(spec);
        final LentSegment segment;
        try {
            segment = new LentSegment(clientId, host, spec, openFromMs(spec, nowMs));
        } catch (final IllegalArgumentException e) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "segment " + spec.name() + " of " + spec.capacity()
                + " bytes in units of " + spec.unit() + " cannot be mounted: " + e.getMessage(), e);
        }
        mounted.put(id, segment);
        if (!segment.isOpen(nowMs)) {
            nextOpenMs = Math.min(nextOpenMs, segment.openFromMs());
        }
        placement.add(segment);
        recount(spec.medium());
        return segment;
    }

    /** Adds a file that is not placed in: a client's own, or one that all clients mount and that is placed in apart. */
    void mount(final LentSegment file) {
        mounted.put(file.id(), file);
        recount(file.medium());
    }

    /** Nothing is allocated in a segment before a time; when that is over, with the next one that passes. */
    void openFrom(final LentSegment segment, final long atMs) {
        segment.openFrom(atMs);
        nextOpenMs = Math.min(nextOpenMs, atMs);
    }

    /** A segment is closed until its owner has said its last word, or takes it back, or is gone. */
    void returns(final LentSegment segment, final AwayObjects.Segment former) {
        segment.former(former);
        returning.add(segment);
        returnsEnd = true;
    }

    /** Its owner has said its last word: it opens when it has rested. */
    void returned(final LentSegment segment) {
        segment.former(null);
        returning.remove(segment);
        nextOpenMs = Math.min(nextOpenMs, segment.openFromMs());
    }

    /** Nothing is brought back any more; what is closed stays so, for its owners may still be copying into it. */
    void returnsAreOver() {
        returning.forEach(segment -> segment.former(AwayObjects.Segment.NOTHING));
        returnsEnd = false;
    }

    /** Something takes its room in a segment without having been allocated by this. */
    void marked(final PlacedReplica replica) {
        totals.get(replica.segment().medium()).used += replica.allocated();
    }

    /** Memory and devices that may be read, for a snapshot. */
    List<SavedSegment> save() {
        final List<SavedSegment> saved = new ArrayList<>(mounted.size());
        for (final LentSegment segment : mounted.values()) {
            if (segment.medium() == Medium.MEMORY || segment.medium() == Medium.NOF) {
                saved.add(new SavedSegment(segment.clientId(), segment.host(), segment.spec()));
            }
        }
        return saved;
    }

    /** Names of segments that are being swept, and up to which id replicas by that name lie in those. */
    Map<Object, Long> gone() {
        final Map<Object, Long> places = new HashMap<>();
        for (final LentSegment segment : dying.values()) {
            final Object place = switch (segment.medium()) {
                case MEMORY, DISTRIBUTED_DISK -> segment.id();
                case NOF -> segment.name();
                case GDS -> segment.gds().place();
            };
            places.put(place, Long.MAX_VALUE);
        }
        for (final LentSegment segment : mounted.values()) {
            if (segment.gds() != null) {
                // The same file may be registered anew: its segment then has a number that came after theirs.
                places.computeIfPresent(segment.gds().place(), (place, all) -> segment.id().getLeastSignificantBits());
            }
        }
        return places;
    }

    private long openFromMs(final SegmentCommand.SegmentSpec spec, final long nowMs) {
        final long restMs = spec.medium() == Medium.NOF ? deviceReopenAfterMs : reopenAfterMs;
        return spec.fresh() ? nowMs : nowMs > Long.MAX_VALUE - restMs ? Long.MAX_VALUE : nowMs + restMs;
    }

    /** A block device is one and the same for all who reach it: lent twice, its ranges would be given out twice. */
    private void checkDevice(final SegmentCommand.SegmentSpec spec) {
        if (spec.medium() != Medium.NOF) {
            return;
        }
        if (!named(spec.name(), Medium.NOF).isEmpty()) {
            throw new StoreException(ErrorCode.SEGMENT_ALREADY_EXISTS, "block device " + spec.name()
                + " is mounted already, by this client or another one");
        }
        if (dying.values().stream().anyMatch(segment -> segment.medium() == Medium.NOF
            && segment.name().equals(spec.name()))) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "block device " + spec.name()
                + " is being unmounted; try again when that has ended");
        }
    }

    /** The mounted segment, or null. */
    LentSegment find(final UUID id) {
        return mounted.get(id);
    }

    /** The mounted segments of a name and medium. */
    List<LentSegment> named(final String name, final Medium medium) {
        return mounted.values().stream()
            .filter(segment -> segment.medium() == medium && segment.name().equals(name)).toList();
    }

    /** The open memory segment with the largest share free that has room for another copy of a replica; or null. */
    LentSegment emptiestFor(final PlacedReplica replica, final long nowMs) {
        LentSegment best = null;
        for (final LentSegment segment : mounted.values()) {
            if (segment.medium() == Medium.MEMORY && segment.isOpen(nowMs)
                && !segment.name().equals(replica.segment().name())
                && segment.allocatedBytes(replica.size()) <= segment.capacity() - segment.used()
                && !isIn(replica.owner(), segment) && (best == null || freer(segment, best))) {
                best = segment;
            }
        }
        return best;
    }

    private static boolean freer(final LentSegment segment, final LentSegment than) {
        return (double) segment.used() / segment.capacity() < (double) than.used() / than.capacity();
    }

    private static boolean isIn(final ObjectEntry entry, final LentSegment segment) {
        final Residency memory = entry.residency(Medium.MEMORY);
        for (PlacedReplica replica = memory == null ? null : memory.first(); replica != null;
            replica = replica.sibling()) {
            if (replica.segment().name().equals(segment.name())) {
                return true;
            }
        }
        return false;
    }

    /** What a client lends; the files that all mount are nobody's, whatever a client calls itself. */
    List<LentSegment> of(final UUID clientId) {
        return mounted.values().stream().filter(segment -> segment.clientId().equals(clientId)
            && segment.medium() != Medium.DISTRIBUTED_DISK).toList();
    }

    /** Hides all that lies in a segment at once; it is gone when it has been swept. */
    void unmount(final LentSegment segment) {
        mounted.remove(segment.id());
        returning.remove(segment);
        segment.former(null);
        segment.status(Status.UNMOUNTING);
        // They rest for nobody any more: the segment is never allocated in again.
        if (resting.removeIf(replica -> replica.segment() == segment)) {
            totals.get(segment.medium()).resting -= segment.resting();
        }
        if (segment.gds() == null) {
            placement.remove(segment);
        }
        recount(segment.medium());
        dying.put(segment.id(), segment);
    }

    /** Whether a replica that stands in a record may lie in a segment that is being swept. */
    boolean hasDying() {
        return !dying.isEmpty();
    }

    /** A segment to be swept, or null. */
    LentSegment nextDying() {
        return dying.isEmpty() ? null : dying.values().iterator().next();
    }

    /** A segment has been swept. */
    void swept(final LentSegment segment) {
        dying.remove(segment.id());
        segment.close();
        past.add(segment.id());
        if (past.size() > MAX_PAST) {
            past.remove(past.iterator().next());
        }
    }

    /** How many segments that may be allocated in are large enough, were they empty; no more than {@code count}. */
    int places(final Placement.Wish wish, final int count, final long nowMs) {
        return placement.places(wish, count, nowMs);
    }

    /** Ranges for one value on segments of their own: as many as there is room for, up to {@code count}. */
    List<PlacedReplica> allocate(final Placement.Wish wish, final int count, final long nowMs,
        final ObjectCatalogue ids) {
        final List<PlacedReplica> placed = placement.allocate(wish, count, nowMs, ids);
        for (final PlacedReplica replica : placed) {
            totals.get(replica.segment().medium()).used += replica.allocated();
        }
        return placed;
    }

    /** Gives a range back that nobody owns or holds, now or when its rest is over. */
    void free(final PlacedReplica replica, final long nowMs) {
        if (replica.restUntilMs() > nowMs && replica.segment().isReadable()) {
            resting.add(replica);
            rests(replica, replica.allocated());
        } else {
            freeNow(replica);
        }
    }

    /** Frees what has rested long enough; true when there was any, or when a segment opened that rested as a whole. */
    boolean wake(final long nowMs) {
        boolean woken = nowMs >= nextOpenMs;
        if (woken) {
            nextOpenMs = mounted.values().stream().mapToLong(LentSegment::openFromMs).filter(at -> at > nowMs).min()
                .orElse(Long.MAX_VALUE);
        }
        while (!resting.isEmpty() && resting.peek().restUntilMs() <= nowMs) {
            final PlacedReplica rested = resting.remove();
            rests(rested, -rested.allocated());
            freeNow(rested);
            woken = true;
        }
        return woken;
    }

    private void rests(final PlacedReplica replica, final long bytes) {
        replica.segment().rests(bytes);
        totals.get(replica.segment().medium()).resting += bytes;
    }

    /** Whether ranges of a medium, or whole segments, rest that will be free in time, or when values are back. */
    boolean hasResting(final Medium medium) {
        return totals.get(medium).resting > 0 || nextOpenMs != Long.MAX_VALUE
            || medium == Medium.MEMORY && returnsEnd && !returning.isEmpty();
    }

    private void freeNow(final PlacedReplica replica) {
        final LentSegment segment = replica.segment();
        if (replica.isGone()) {
            return;
        }
        segment.free(replica);
        if (segment.isReadable()) {
            totals.get(segment.medium()).used -= replica.allocated();
        }
        if (segment.gds() != null) {
            segment.gds().freed(replica);
        }
    }

    long largestSegment(final Medium medium) {
        return totals.get(medium).largest;
    }

    long capacity(final Medium medium) {
        return totals.get(medium).capacity;
    }

    long used(final Medium medium) {
        return totals.get(medium).used;
    }

    /** Bytes on a medium that will be free as time passes. */
    long resting(final Medium medium) {
        return totals.get(medium).resting;
    }

    /** Replicas on a medium, those that are being swept included. */
    long replicas(final Medium medium) {
        return Stream.concat(mounted.values().stream(), dying.values().stream())
            .filter(segment -> segment.medium() == medium).mapToLong(LentSegment::replicas).sum();
    }

    List<SegmentInfo> list() {
        final List<SegmentInfo> infos = new ArrayList<>();
        // Clients of earlier versions know no other media than these.
        Stream.concat(mounted.values().stream(), dying.values().stream())
            .filter(segment -> segment.medium() == Medium.MEMORY || segment.medium() == Medium.NOF)
            .forEach(segment -> infos.add(info(segment)));
        return infos;
    }

    private static SegmentInfo info(final LentSegment segment) {
        return new SegmentInfo(segment.id(), segment.clientId(), segment.name(), segment.host(), segment.medium(),
            segment.address().endpoint(), segment.status(), segment.capacity(), segment.used(), segment.replicas(),
            segment.former() != null);
    }

    private void recount(final Medium medium) {
        final Totals sums = totals.get(medium);
        sums.capacity = 0;
        sums.used = 0;
        sums.largest = 0;
        for (final LentSegment segment : mounted.values()) {
            if (segment.medium() == medium) {
                sums.capacity += segment.capacity();
                sums.used += segment.used();
                sums.largest = Math.max(sums.largest, segment.capacity());
            }
        }
    }

    @Override
    public void close() {
        mounted.values().forEach(LentSegment::close);
        dying.values().forEach(LentSegment::close);
        mounted.clear();
        dying.clear();
        returning.clear();
    }
}
