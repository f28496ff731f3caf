package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;

/** Who may touch which range of which segment until when, as clients understand what the master told them. */
final class Claims {
    private final Map<UUID, Long> mounted = new HashMap<>();
    private final Map<String, UUID> devices = new HashMap<>();
    private final List<Claim> claims = new ArrayList<>();
    private final long unit;

    /** A range of a segment. */
    record Range(UUID segment, long offset, long length) {
        boolean overlaps(final Range other) {
            return segment.equals(other.segment) && offset < other.offset + other.length
                && other.offset < offset + length;
        }
    }

    /** A right to touch a range until a time, or until it is given up. */
    static final class Claim {
        private final String why;
        private final Range range;
        private final long untilMs;
        private boolean over;

        Claim(final String why, final Range range, final long untilMs) {
            this.why = why;
            this.range = range;
            this.untilMs = untilMs;
        }

        void giveUp() {
            over = true;
        }

        Range range() {
            return range;
        }

        @Override
        public String toString() {
            return why + " of " + range + " until " + untilMs;
        }
    }

    Claims(final long unit) {
        this.unit = unit;
    }

    void mounted(final UUID segment, final String device, final long capacity) {
        mounted.put(segment, capacity);
        if (device != null) {
            devices.put(device, segment);
        }
    }

    /** Nothing that is known of a segment means anything any more. */
    void unmounted(final UUID segment) {
        mounted.remove(segment);
    }

    boolean isMounted(final UUID segment) {
        return mounted.containsKey(segment);
    }

    /** The range of a replica in a segment, or null for one on a disk. */
    Range range(final Replica replica) {
        return switch (replica.descriptor()) {
            case ReplicaDescriptor.Memory memory -> range(memory);
            case ReplicaDescriptor.Nof nof -> range(devices.get(nof.namespace()), nof.offset(), nof.objectSize());
            default -> null;
        };
    }

    Range range(final ReplicaDescriptor.Memory memory) {
        return range(memory.segment().segmentId(), memory.offset(), memory.size());
    }

    private Range range(final UUID segment, final long offset, final long size) {
        return new Range(segment, offset, Math.max(unit, (size + unit - 1) / unit * unit));
    }

    Claim claim(final String why, final Range range, final long untilMs) {
        final Claim claim = new Claim(why, range, untilMs);
        claims.add(claim);
        return claim;
    }

    /** The master has given a range out to be written: nobody else may be touching it. */
    void assertFree(final String who, final Range range, final long nowMs) {
        claims.removeIf(claim -> claim.over || claim.untilMs <= nowMs || !isMounted(claim.range.segment()));
        assertTrue(isMounted(range.segment()), who + " was given room in a segment that is not mounted");
        assertTrue(range.offset() >= 0 && range.offset() + range.length() <= mounted.get(range.segment()),
            who + " was given room outside of the segment");
        for (final Claim claim : claims) {
            if (claim.range.overlaps(range)) {
                fail(who + " was given " + range + " at " + nowMs + ", but there is " + claim);
            }
        }
    }

    /** Bytes of mounted segments that are claimed or live; live ranges must not overlap. */
    long claimed(final Set<Range> live, final long nowMs) {
        final Set<Range> all = new HashSet<>(live);
        for (final Claim claim : claims) {
            if (!claim.over && claim.untilMs > nowMs && isMounted(claim.range.segment())) {
                all.add(claim.range);
            }
        }
        final Map<UUID, TreeMap<Long, Range>> sorted = new HashMap<>();
        long bytes = 0;
        for (final Range range : all) {
            final Range before = sorted.computeIfAbsent(range.segment(), id -> new TreeMap<>())
                .put(range.offset(), range);
            assertTrue(before == null, "two ranges begin at one place: " + before + " and " + range);
            bytes += range.length();
        }
        for (final TreeMap<Long, Range> ranges : sorted.values()) {
            Range last = null;
            for (final Range range : ranges.values()) {
                assertTrue(last == null || !last.overlaps(range), "two ranges overlap: " + last + " and " + range);
                last = range;
            }
        }
        return bytes;
    }
}
