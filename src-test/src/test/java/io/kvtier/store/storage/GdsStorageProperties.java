package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.store.ObjectKey;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.Tuple;

/** Any sequence of steps of writers, readers, master and restarts does what a list of values and their states does. */
class GdsStorageProperties {
    private static final int UNIT = Value.UNIT;
    private static final int UNITS = 16;
    private static final int KEYS = 3;

    /** One step: what, with which of those that it could be done with, and how large. */
    record Step(Kind kind, int which, int size) {
    }

    enum Kind {
        RESERVE, WRITE, OFFER, ACCEPT, DECLINE, COMMIT, CLOSE, PUT, DROP, DROP_EARLY, DROP_OTHER, ACQUIRE, RELEASE,
        SETTLE_GONE, SETTLE_COMPLETE, SETTLE_WAIT, ADOPT, ADOPT_AS, REFUSE, FLUSH, REOPEN
    }

    enum State {
        RESERVED, OFFERED, ACCEPTED, COMMITTED, UNSETTLED, RECOVERED, GONE
    }

    @Provide
    Arbitrary<List<Step>> steps() {
        final Arbitrary<Kind> kinds = Arbitraries.frequencyOf(
            Tuple.of(24, Arbitraries.of(Kind.RESERVE, Kind.WRITE, Kind.OFFER, Kind.ACCEPT, Kind.COMMIT, Kind.CLOSE)),
            Tuple.of(6, Arbitraries.just(Kind.PUT)),
            Tuple.of(10, Arbitraries.of(Kind.DROP, Kind.DROP_EARLY, Kind.DROP_OTHER, Kind.DECLINE)),
            Tuple.of(6, Arbitraries.of(Kind.ACQUIRE, Kind.RELEASE)),
            Tuple.of(6, Arbitraries.of(Kind.SETTLE_GONE, Kind.SETTLE_COMPLETE, Kind.SETTLE_WAIT)),
            Tuple.of(5, Arbitraries.of(Kind.ADOPT, Kind.ADOPT_AS, Kind.REFUSE)),
            Tuple.of(4, Arbitraries.of(Kind.FLUSH, Kind.REOPEN)));
        final Arbitrary<Integer> sizes = Arbitraries.oneOf(Arbitraries.integers().between(1, 3 * UNIT),
            Arbitraries.of(1, UNIT - 1, UNIT, UNIT + 1, 5 * UNIT, 15 * UNIT, 16 * UNIT, 17 * UNIT));
        return Combinators.combine(kinds, Arbitraries.integers().between(0, 1000), sizes).as(Step::new).list()
            .ofMinSize(1).ofMaxSize(90);
    }

    @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
    void doesWhatAListOfStatesDoes(@ForAll("steps") final List<Step> steps, @ForAll final boolean warm)
        throws IOException {
        final Path directory = MemoryDirectory.create();
        try {
            LeakCheck.around(() -> {
                try (World world = new World(directory.resolve("gds"), warm)) {
                    steps.forEach(world::step);
                }
            });
        } finally {
            for (final String name : List.of("gds", "gds.lock", "gds.index")) {
                Files.deleteIfExists(directory.resolve(name));
            }
            Files.delete(directory);
        }
    }

    /** One value, on its way. */
    private static final class Item {
        private final Value value;
        private final Extent extent;
        private GdsReservation reservation;
        private State state = State.RESERVED;
        private boolean written;
        private long id;
        private boolean dropped;
        private boolean checksummed;
        private long droppedEarly;
        private final List<GdsLease> leases = new ArrayList<>();

        Item(final Value value, final GdsReservation reservation) {
            this.value = value;
            this.reservation = reservation;
            this.extent = reservation.extent();
        }

        StoredExtent stored() {
            return new StoredExtent(value.key(), value.version(), extent, value.size(), checksummed,
                checksummed ? value.checksum() : 0, id);
        }
    }

    /** The manager and the list beside it. */
    private static final class World implements AutoCloseable {
        private final GdsRig.Setup setup;
        private final boolean warm;
        /** All that have something of the file, in the order in which they would be listed. */
        private final Map<Integer, Item> items = new LinkedHashMap<>();
        /** Bytes of extents that were given up since the last flush and may rest. */
        private long resting;
        private GdsRig rig;
        private int numbers;
        private long ids = 1000;
        private long generation;

        World(final Path file, final boolean warm) {
            this.warm = warm;
            setup = GdsRig.Setup.of(file, UNITS, warm);
            rig = setup.open();
            generation = rig.storage().generation();
        }

        private Item pick(final int which, final State... states) {
            final List<Item> all =
                items.values().stream().filter(item -> List.of(states).contains(item.state)).toList();
            return all.isEmpty() ? null : all.get(which % all.size());
        }

        /** It is the last of its list from now on. */
        private void last(final Item item) {
            final int number = items.entrySet().stream().filter(one -> one.getValue() == item).findFirst()
                .orElseThrow().getKey();
            items.remove(number);
            items.put(++numbers, item);
        }

        private void gone(final Item item) {
            item.state = State.GONE;
            if (item.leases.isEmpty()) {
                forget(item);
            }
        }

        private void forget(final Item item) {
            items.values().remove(item);
            resting += item.extent.bytes();
        }

        void step(final Step step) {
            switch (step.kind()) {
                case RESERVE -> reserve(step);
                case PUT -> put(step);
                case ACQUIRE -> acquire(step.which());
                case RELEASE -> release(step.which());
                case FLUSH -> flush();
                case REOPEN -> reopen();
                case SETTLE_GONE, SETTLE_COMPLETE, SETTLE_WAIT -> settle(step);
                case ADOPT, ADOPT_AS, REFUSE -> answer(step);
                case DROP, DROP_EARLY, DROP_OTHER -> drop(step);
                default -> own(step);
            }
            check();
        }

        private Item reserve(final Step step) {
            final Value value = new Value(ObjectKey.of("k" + step.which() % KEYS), ++ids, step.size());
            final GdsReservation reservation = rig.storage().reserve(value.key(), value.size());
            if (reservation == null) {
                final long live = items.values().stream().mapToLong(item -> item.extent.bytes()).sum();
                assertTrue(value.extent() > UNITS * UNIT || live + resting > 0, "an empty file has room");
                return null;
            }
            assertTrue(value.extent() <= UNITS * UNIT);
            final Item item = new Item(value, reservation);
            items.put(++numbers, item);
            return item;
        }

        private void put(final Step step) {
            final Item item = reserve(step);
            if (item != null) {
                GdsRig.write(item.reservation, item.value);
                item.reservation.offered();
                item.id = ++ids;
                item.reservation.accepted(item.value.version(), item.id);
                item.checksummed = true;
                assertTrue(item.reservation.commit(true, item.value.checksum()));
                item.reservation.close();
                item.state = State.COMMITTED;
                last(item);
            }
        }

        /** What the owner of a reservation does. */
        private void own(final Step step) {
            final Item item = pick(step.which(), State.RESERVED, State.OFFERED, State.ACCEPTED);
            if (item == null) {
                return;
            }
            switch (step.kind()) {
                case WRITE -> {
                    if (item.written) {
                        assertThrows(IllegalStateException.class, () -> GdsRig.write(item.reservation, item.value));
                    } else {
                        GdsRig.write(item.reservation, item.value);
                        item.written = true;
                    }
                }
                case OFFER -> {
                    if (item.state == State.ACCEPTED) {
                        assertThrows(IllegalStateException.class, item.reservation::offered);
                    } else {
                        item.reservation.offered();
                        item.state = State.OFFERED;
                    }
                }
                case ACCEPT -> accept(item);
                case DECLINE -> {
                    item.reservation.declined();
                    item.state = State.RESERVED;
                    item.id = 0;
                    item.droppedEarly = 0;
                    item.dropped = false;
                }
                case COMMIT -> commit(item, step.size() % 2 == 0);
                case CLOSE -> close(item);
                default -> throw new AssertionError(step);
            }
        }

        private void accept(final Item item) {
            if (item.state != State.OFFERED) {
                assertThrows(IllegalStateException.class, () -> item.reservation.accepted(1, 1));
                return;
            }
            item.id = item.droppedEarly != 0 ? item.droppedEarly : ++ids;
            item.dropped = item.droppedEarly != 0;
            item.reservation.accepted(item.value.version(), item.id);
            item.state = State.ACCEPTED;
        }

        private void commit(final Item item, final boolean checksummed) {
            if (item.state != State.ACCEPTED || !item.written) {
                assertThrows(IllegalStateException.class, () -> item.reservation.commit(false, 0));
                return;
            }
            item.checksummed = checksummed;
            assertEquals(!item.dropped, item.reservation.commit(checksummed, item.value.checksum()));
            if (item.dropped) {
                gone(item);
            } else {
                item.state = State.COMMITTED;
                last(item);
            }
            item.reservation.close();
        }

        private void close(final Item item) {
            item.reservation.close();
            if (item.state == State.RESERVED || item.dropped) {
                gone(item);
            } else {
                item.state = State.UNSETTLED;
                last(item);
            }
        }

        private void drop(final Step step) {
            final Item item = pick(step.which(), State.values());
            if (item == null) {
                return;
            }
            final long offset = item.extent.offset();
            if (step.kind() == Kind.DROP_OTHER) {
                rig.storage().drop(offset, 7);
                rig.storage().drop(offset + UNIT, 7);
            } else if (step.kind() == Kind.DROP_EARLY) {
                // The id that the master is about to tell of.
                if (item.state == State.OFFERED && item.droppedEarly == 0) {
                    item.droppedEarly = ++ids;
                    rig.storage().drop(offset, item.droppedEarly);
                }
            } else if (item.state != State.OFFERED && item.state != State.RESERVED && item.id != 0) {
                rig.storage().drop(offset, item.id);
                item.dropped = true;
                if (item.state != State.ACCEPTED && item.state != State.GONE) {
                    gone(item);
                }
            }
        }

        private void acquire(final int which) {
            final Item item = pick(which, State.values());
            if (item != null) {
                final GdsLease lease = rig.acquire(item.stored());
                assertEquals(item.state == State.COMMITTED, lease != null, () -> item.value + " is " + item.state);
                if (lease != null) {
                    item.leases.add(lease);
                }
            }
        }

        private void release(final int which) {
            final List<Item> held = items.values().stream().filter(item -> !item.leases.isEmpty()).toList();
            if (!held.isEmpty()) {
                final Item item = held.get(which % held.size());
                item.leases.removeFirst().close();
                if (item.leases.isEmpty() && item.state == State.GONE) {
                    forget(item);
                }
            }
        }

        private void settle(final Step step) {
            final Item item = pick(step.which(), State.UNSETTLED);
            if (item == null) {
                return;
            }
            final UnsettledExtent listed = rig.storage().unsettled(UNITS).stream()
                .filter(one -> one.extent().equals(item.extent)).findFirst().orElseThrow();
            switch (step.kind()) {
                case SETTLE_WAIT -> {
                    assertFalse(rig.storage().settle(listed, Verdict.WAIT));
                    last(item);
                }
                case SETTLE_GONE -> {
                    assertFalse(rig.storage().settle(listed, Verdict.GONE));
                    gone(item);
                }
                default -> {
                    final boolean early = item.droppedEarly != 0;
                    item.id = early ? item.droppedEarly : item.id != 0 ? item.id : ++ids;
                    final boolean readable = item.written && !early;
                    assertEquals(readable,
                        rig.storage().settle(listed, Verdict.complete(item.id, item.value.version())));
                    item.checksummed = false;
                    if (readable) {
                        item.state = State.COMMITTED;
                        last(item);
                    } else {
                        gone(item);
                    }
                }
            }
        }

        private void answer(final Step step) {
            final Item item = pick(step.which(), State.RECOVERED, State.COMMITTED);
            if (item == null) {
                return;
            }
            final StoredExtent offered = item.stored();
            if (step.kind() == Kind.REFUSE) {
                rig.storage().refuse(offered);
                gone(item);
                return;
            }
            if (step.kind() == Kind.ADOPT_AS) {
                item.id = ++ids;
            }
            assertTrue(rig.storage().adopt(offered, item.id));
            item.state = State.COMMITTED;
        }

        private void flush() {
            rig.storage().flush();
            resting = 0;
        }

        private void reopen() {
            items.values().forEach(item -> item.leases.forEach(GdsLease::close));
            final List<Item> kept = warm ? items.values().stream()
                .filter(item -> item.state == State.COMMITTED || item.state == State.RECOVERED).toList() : List.of();
            rig.close();
            items.values().stream().filter(item -> item.state != State.GONE).forEach(item -> {
                if (item.reservation != null) {
                    item.reservation.close();
                }
            });
            rig = setup.open();
            assertEquals(warm, generation == rig.storage().generation());
            generation = rig.storage().generation();
            items.clear();
            resting = 0;
            for (final Item item : kept) {
                item.state = State.RECOVERED;
                item.leases.clear();
                item.reservation = null;
                items.put(++numbers, item);
            }
        }

        private List<StoredExtent> inState(final State state) {
            return items.values().stream().filter(item -> item.state == state).map(Item::stored).toList();
        }

        private long count(final State... states) {
            return items.values().stream().filter(item -> List.of(states).contains(item.state)).count();
        }

        private void check() {
            final GdsStorageManager storage = rig.storage();
            assertEquals(inState(State.COMMITTED), storage.committed());
            assertEquals(inState(State.RECOVERED), storage.recovered());
            assertEquals(items.values().stream().filter(item -> item.state == State.UNSETTLED)
                .map(item -> item.extent).toList(),
                storage.unsettled(UNITS).stream().map(UnsettledExtent::extent).toList());
            final long live = items.values().stream().mapToLong(item -> item.extent.bytes()).sum();
            final GdsStorageStats stats = storage.stats();
            assertTrue(stats.usedBytes() >= live, () -> "less in use than is there: " + stats + ", " + live);
            assertTrue(stats.usedBytes() <= live + (warm ? resting : 0),
                () -> "too much in use: " + stats + ", " + live);
            assertEquals(count(State.RESERVED, State.OFFERED, State.ACCEPTED), stats.reserved());
            assertEquals(items.values().stream().mapToLong(item -> item.leases.size()).sum(), stats.leases());
            assertNoOverlap();
            for (final Item item : items.values()) {
                for (final GdsLease lease : item.leases) {
                    assertEquals(item.state == State.COMMITTED, lease.isStillValid());
                    assertArrayEquals(item.value.bytes(), GdsRig.read(lease, item.value.size(), true),
                        () -> "held " + item.value);
                }
            }
        }

        private void assertNoOverlap() {
            final Map<Long, Item> units = new HashMap<>();
            for (final Item item : items.values()) {
                for (long at = 0; at < item.extent.bytes(); at += UNIT) {
                    final Item other = units.put(item.extent.offset() + at, item);
                    assertNull(other, () -> item.value + " overlaps " + other.value);
                }
            }
        }

        @Override
        public void close() {
            final List<Item> readable = new ArrayList<>();
            reopen();
            for (final Item item : List.copyOf(items.values())) {
                assertTrue(rig.storage().adopt(item.stored(), item.id));
                item.state = State.COMMITTED;
                rig.assertReadable(item.value, item.stored());
                readable.add(item);
            }
            readable.forEach(item -> rig.storage().drop(item.extent.offset(), item.id));
            rig.assertNothingLeft();
            rig.close();
        }
    }
}
