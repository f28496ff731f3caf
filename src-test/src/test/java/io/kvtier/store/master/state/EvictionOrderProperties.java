package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.kvtier.store.ObjectKey;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** The order of eviction against a plain list that is sorted anew for every answer. */
class EvictionOrderProperties {
    private static final int REPLICAS = 12;

    /** What the order should know of a replica: when its lease ends, and when it came to where it stands. */
    private static final class Place {
        private final Residency replica = replica();
        private boolean in;
        private boolean leased;
        private long rank;
    }

    @Property(tries = 300)
    void victimsComeInOrderOfLeaseEndAndUse(@ForAll final long seed) {
        final SplittableRandom random = new SplittableRandom(seed);
        final EvictionOrder order = new EvictionOrder();
        final List<Place> places = new ArrayList<>();
        for (int i = 0; i < REPLICAS; i++) {
            places.add(new Place());
        }
        long now = 0;
        long moves = 0;
        for (int step = 0; step < 200; step++) {
            now += random.nextInt(5);
            final Place place = places.get(random.nextInt(REPLICAS));
            if (place.in) {
                order.remove(place.replica);
                place.in = false;
            } else {
                place.replica.entry().lease(now + random.nextInt(12) - 4);
                order.append(place.replica, now);
                place.in = true;
                place.leased = place.replica.entry().isLeased(now);
                place.rank = ++moves;
            }
            order.expireLeases(now);
            moves = expire(places, now, moves);
            assertSame(oldest(places), order.oldest(true, now));
            assertEquals(places.stream().filter(one -> one.in).count(), order.size());
        }
    }

    @Example
    void aLeaseThatEndsFirstIsNotKeptByOneThatWasLetGoBefore() {
        final EvictionOrder order = new EvictionOrder();
        final Residency longRead = replica();
        final Residency shortRead = replica();
        longRead.entry().lease(10);
        shortRead.entry().lease(15);
        order.append(shortRead, 6);
        order.append(longRead, 9);
        order.expireLeases(10);
        assertSame(longRead, order.oldest(true, 10));
        order.remove(longRead);
        assertNull(order.oldest(true, 10));
    }

    @Example
    void aLeaseThatEndsBeforeManyOthersIsNoticedWithThem() {
        final EvictionOrder order = new EvictionOrder();
        for (int i = 0; i < 10_000; i++) {
            final Residency other = replica();
            other.entry().lease(100);
            order.append(other, 1);
        }
        final Residency late = replica();
        late.entry().lease(50);
        order.append(late, 2);
        order.expireLeases(50);
        assertNull(order.oldest(true, 50), "it is not looked for a place among ten thousand");
        while (order.expireLeases(100)) {
            // Another part.
        }
        assertEquals(10_001, order.size());
        int before = 0;
        while (order.oldest(true, 100) != late) {
            order.remove(order.oldest(true, 100));
            before++;
        }
        assertEquals(9_744, before, "256 places before the end");
    }

    @Example
    void leasesThatEndTogetherAreNoticedInParts() {
        final EvictionOrder order = new EvictionOrder();
        leaseMany(order, 2 * EvictionOrder.PART + 1, 10);
        assertEquals(List.of(true, true, false),
            List.of(order.expireLeases(10), order.expireLeases(10), order.expireLeases(10)));
    }

    @Example
    void anEvictionFindsThoseWhoseTurnHasNotCome() {
        final EvictionOrder order = new EvictionOrder();
        final List<Residency> all = leaseMany(order, 2 * EvictionOrder.PART, 10);
        order.expireLeases(10);
        for (final Residency next : all) {
            assertSame(next, order.oldest(true, 10));
            order.remove(next);
        }
        assertNull(order.oldest(true, 10));
    }

    @Example
    void whatIsPinnedSoftlyIsNotEvictedForThoseWhoseTurnHasNotCome() {
        final EvictionOrder order = new EvictionOrder();
        final Residency pinned = replica();
        pinned.entry().softPin(1000);
        order.append(pinned, 1);
        final Residency plain = leaseMany(order, 1, 10).getFirst();
        assertSame(pinned, order.oldest(true, 9));
        assertNull(order.oldest(false, 9));
        assertSame(plain, order.oldest(true, 10));
    }

    @Example
    void aTenantLosesItsOwnWhoseTurnHasNotCome() {
        final EvictionOrder order = new EvictionOrder(new TenantOrders());
        leaseMany(order, EvictionOrder.PART, 10);
        final Residency own = new Residency(new ObjectEntry(ObjectKey.of("acme", "key")));
        own.entry().lease(10);
        order.append(own, 1);
        order.expireLeases(10);
        assertSame(own, order.oldestOf("acme", true, 10));
    }

    /** Appends so many whose leases end together. */
    private static List<Residency> leaseMany(final EvictionOrder order, final int count, final long untilMs) {
        final List<Residency> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(replica());
            all.getLast().entry().lease(untilMs);
            order.append(all.getLast(), 1);
        }
        return all;
    }

    /** Leases that have ended become evictable in the order in which they ended, equal ones as they came. */
    private static long expire(final List<Place> places, final long now, final long moves) {
        final List<Place> ended = new ArrayList<>(places.stream().filter(place -> place.in && place.leased
            && !place.replica.entry().isLeased(now)).toList());
        ended.sort((a, b) -> a.replica.entry().leaseUntilMs() != b.replica.entry().leaseUntilMs()
            ? Long.compare(a.replica.entry().leaseUntilMs(), b.replica.entry().leaseUntilMs())
            : Long.compare(a.rank, b.rank));
        long rank = moves;
        for (final Place place : ended) {
            place.leased = false;
            place.rank = ++rank;
        }
        return rank;
    }

    private static Residency oldest(final List<Place> places) {
        Place oldest = null;
        for (final Place place : places) {
            if (place.in && !place.leased && (oldest == null || place.rank < oldest.rank)) {
                oldest = place;
            }
        }
        return oldest == null ? null : oldest.replica;
    }

    private static Residency replica() {
        return new Residency(new ObjectEntry(ObjectKey.of("key")));
    }
}
