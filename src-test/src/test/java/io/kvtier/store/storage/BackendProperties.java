package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.store.storage.StorageBackend.ReadLease;
import io.kvtier.store.storage.StorageBackend.Result;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
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
import net.jqwik.api.constraints.IntRange;

/** Any sequence of calls and restarts does what a map in order of use does. */
class BackendProperties {
    private static final int UNIT = Value.UNIT;
    private static final int UNITS = 24;
    private static final int KEYS = 10;

    /** One call: what, on which key, with which size. */
    record Step(Kind kind, int key, int size) {
    }

    enum Kind {
        STORE, STORE_TWO, READ, REMOVE, HOLD, LET_GO, PIN, RESTART
    }

    @Provide
    Arbitrary<List<Step>> steps() {
        final Arbitrary<Kind> kinds = Arbitraries.frequencyOf(
            Tuple.of(8, Arbitraries.just(Kind.STORE)),
            Tuple.of(3, Arbitraries.just(Kind.STORE_TWO)),
            Tuple.of(5, Arbitraries.just(Kind.READ)),
            Tuple.of(4, Arbitraries.just(Kind.REMOVE)),
            Tuple.of(2, Arbitraries.just(Kind.HOLD)),
            Tuple.of(2, Arbitraries.just(Kind.LET_GO)),
            Tuple.of(1, Arbitraries.just(Kind.PIN)),
            Tuple.of(1, Arbitraries.just(Kind.RESTART)));
        final Arbitrary<Integer> sizes = Arbitraries.oneOf(Arbitraries.integers().between(0, 3 * UNIT),
            Arbitraries.of(0, 1, UNIT - 1, UNIT, UNIT + 1, 8 * UNIT, 23 * UNIT, 24 * UNIT, 25 * UNIT));
        return Combinators.combine(kinds, Arbitraries.integers().between(0, KEYS - 1), sizes).as(Step::new).list()
            .ofMinSize(1).ofMaxSize(60);
    }

    @Property(tries = 240, edgeCases = EdgeCasesMode.NONE)
    void doesWhatAMapInOrderOfUseDoes(@ForAll("steps") final List<Step> steps,
        @ForAll @IntRange(min = 6, max = 10) final int high, @ForAll final DiskBackend kind) throws IOException {
        final Path directory = MemoryDirectory.create();
        try {
            LeakCheck.around(() -> {
                try (World world = new World(kind, directory, high / 10.0)) {
                    steps.forEach(world::step);
                }
            });
        } finally {
            Directories.delete(directory);
        }
    }

    /** The backend and the map beside it. */
    private static final class World implements AutoCloseable {
        private final BackendRig.Setup setup;
        private final ModelOwner owner = new ModelOwner();
        private final Map<ObjectKey, Value> model = new LinkedHashMap<>(16, 0.75f, true);
        /** Holds on values, of which some have been removed since. */
        private final Map<ReadLease, Value> leases = new LinkedHashMap<>();
        private final List<ObjectKey> pinned = new ArrayList<>();
        private BackendRig rig;
        private long version;

        World(final DiskBackend kind, final Path directory, final double high) {
            setup = new BackendRig.Setup(BackendRig.of(kind), directory, UNITS, high, high / 2,
                FileOpener.POSIX, false);
            owner.allow(victim -> !pinned.contains(victim.key()));
            rig = setup.open();
        }

        void step(final Step step) {
            final ObjectKey key = ObjectKey.of("k" + step.key());
            switch (step.kind()) {
                case STORE -> store(List.of(new Value(key, ++version, step.size())));
                case STORE_TWO -> store(List.of(new Value(key, ++version, step.size()),
                    new Value(ObjectKey.of("k" + (step.key() + 1) % KEYS), ++version, 2 * UNIT - 1)));
                case READ -> read(key);
                case REMOVE -> remove(key);
                case HOLD -> hold(key);
                case LET_GO -> letGo();
                case PIN -> pin(key);
                case RESTART -> restart();
                default -> throw new AssertionError(step);
            }
            check();
        }

        private void store(final List<Value> values) {
            final List<ObjectKey> order = List.copyOf(model.keySet());
            final int evictedBefore = owner.evicted().size();
            final List<Result> results = rig.store(owner, version % 2 == 0, values);
            final List<StoredValue> evicted = owner.evicted().subList(evictedBefore, owner.evicted().size());
            assertEquals(order.stream().filter(key -> evicted.stream().anyMatch(victim -> victim.key().equals(key)))
                .toList(), evicted.stream().map(StoredValue::key).toList(), "oldest first");
            for (final StoredValue victim : evicted) {
                final Value gone = model.remove(victim.key());
                assertTrue(gone != null && gone.version() == victim.version(), () -> "evicted unknown " + victim);
            }
            for (int i = 0; i < values.size(); i++) {
                final Value value = values.get(i);
                final Outcome outcome = results.get(i).outcome();
                if (outcome == Outcome.STORED) {
                    assertEquals(value.checksum(), results.get(i).checksum());
                    model.put(value.key(), value);
                } else {
                    assertEquals(value.extent() > UNITS * UNIT ? Outcome.TOO_LARGE : Outcome.NO_SPACE, outcome);
                    final Value before = model.get(value.key());
                    owner.forget(value);
                    if (before != null) {
                        owner.want(before);
                    }
                }
            }
        }

        private void read(final ObjectKey key) {
            final Value value = model.get(key);
            if (value == null) {
                assertNull(rig.backend().acquire(key, version));
            } else {
                rig.assertReadable(value);
            }
        }

        private void remove(final ObjectKey key) {
            final Value value = model.remove(key);
            if (value != null) {
                rig.remove(owner, value);
            } else {
                rig.backend().remove(key, version);
            }
        }

        private void hold(final ObjectKey key) {
            final Value value = model.get(key);
            if (value != null) {
                leases.put(rig.backend().acquire(key, value.version()), value);
            }
        }

        private void letGo() {
            if (!leases.isEmpty()) {
                final ReadLease lease = leases.keySet().iterator().next();
                leases.remove(lease);
                lease.close();
            }
        }

        private void pin(final ObjectKey key) {
            if (!pinned.remove(key)) {
                pinned.add(key);
            }
        }

        private void restart() {
            leases.keySet().forEach(ReadLease::close);
            leases.clear();
            rig.close();
            rig = setup.open();
            // check() has used every value in the order of the map, which is therefore the order on disk.
            assertEquals(List.copyOf(model.keySet()),
                rig.backend().recovered().stream().map(StoredValue::key).toList());
            Ledger.assertNoOverlap(rig.backend().recovered());
            assertEquals(model.values().stream().mapToLong(Value::extent).sum(), rig.backend().usedBytes());
        }

        private void check() {
            leases.forEach((lease, value) ->
                assertArrayEquals(value.bytes(), rig.read(lease, value.size() % 2 == 0), () -> "held " + value));
            final List<StoredValue> there = new ArrayList<>();
            for (final Value value : model.values()) {
                try (ReadLease lease = rig.backend().acquire(value.key(), value.version())) {
                    assertTrue(lease != null, () -> "lost " + value);
                    there.add(lease.value());
                }
            }
            Ledger.assertNoOverlap(there);
            final long least = model.values().stream().mapToLong(Value::extent).sum();
            assertTrue(rig.backend().usedBytes() >= least, "less in use than is there");
            assertTrue(rig.backend().usedBytes() <= (long) UNITS * UNIT, "more in use than there is");
        }

        @Override
        public void close() {
            leases.keySet().forEach(ReadLease::close);
            rig.close();
            rig = setup.open();
            try {
                model.values().forEach(value -> assertArrayEquals(value.bytes(), rig.read(value, true)));
                assertEquals(model.values().stream().mapToLong(Value::extent).sum(), rig.backend().usedBytes());
                assertEquals(model.size(), rig.backend().recovered().size());
            } finally {
                rig.close();
            }
        }
    }
}
