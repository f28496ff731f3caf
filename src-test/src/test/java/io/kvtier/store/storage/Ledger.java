package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.store.storage.StorageBackend.Result;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What was asked of a backend and what it answered, to be held against what a later backend finds. One thread. */
final class Ledger {
    private final ModelOwner owner = new ModelOwner();
    private final Map<ObjectKey, List<Value>> tried = new LinkedHashMap<>();
    private final Map<ObjectKey, Value> stored = new LinkedHashMap<>();
    /** Values whose removal was acknowledged. */
    private final Set<Value> removed = new HashSet<>();
    /** Values of which nobody was told whether they are stored. */
    private final Set<Value> doubtful = new HashSet<>();
    private final List<RuntimeException> failures = new ArrayList<>();

    ModelOwner owner() {
        return owner;
    }

    /** What calls failed with. */
    List<RuntimeException> failures() {
        return failures;
    }

    void store(final BackendRig rig, final boolean padded, final List<Value> values) {
        values.forEach(this::tried);
        final List<Result> results;
        try {
            results = rig.store(owner, padded, values);
        } catch (final RuntimeException e) {
            failures.add(e);
            doubtful.addAll(values);
            return;
        }
        for (int i = 0; i < values.size(); i++) {
            final Outcome outcome = results.get(i).outcome();
            if (outcome == Outcome.STORED) {
                assertEquals(values.get(i).checksum(), results.get(i).checksum());
                stored(values.get(i));
            } else if (outcome == Outcome.FAILED) {
                failures.add((RuntimeException) results.get(i).cause());
                doubtful.add(values.get(i));
            }
        }
    }

    /** The value was reported as stored. */
    void stored(final Value value) {
        stored.put(value.key(), value);
    }

    /** The value is about to be stored. */
    void tried(final Value value) {
        // From now on the older version is not wanted, whether or not the newer one comes to be stored.
        tried.computeIfAbsent(value.key(), key -> new ArrayList<>()).add(value);
        stored.remove(value.key());
    }

    /** The value is about to be removed. */
    void removing(final Value value) {
        stored.remove(value.key(), value);
    }

    /** Its removal was reported. */
    void removed(final Value value) {
        removed.add(value);
    }

    void remove(final BackendRig rig, final Value value) {
        removing(value);
        try {
            rig.remove(owner, value);
            // What was not reported as stored may be found, and is refused by its owner: there is nothing to remove.
            if (!doubtful.contains(value)) {
                removed(value);
            }
        } catch (final RuntimeException e) {
            failures.add(e);
        }
    }

    /** Reads everything that should be there; a read may fail, but not give other bytes. */
    void readAll(final BackendRig rig) {
        for (final Value value : List.copyOf(stored.values())) {
            if (owner.wants(value)) {
                try {
                    final byte[] bytes = rig.read(value, value.size() % 2 == 0);
                    assertNotNull(bytes, () -> value + " is not there");
                    assertArrayEquals(value.bytes(), bytes, () -> "bytes of " + value);
                } catch (final RuntimeException e) {
                    failures.add(e);
                }
            }
        }
    }

    /**
     * Holds a backend that was just opened against what was reported: everything stored and neither removed nor evicted
     * is there, nothing removed is, whatever is there has the bytes of a value of its key, and no extent is lost.
     *
     * @param durableRemovals whether removals that were acknowledged must have lasted, as when only the process died.
     */
    void verify(final BackendRig rig, final boolean durableRemovals) {
        verifyIndex(rig, durableRemovals).forEach(rig::assertReadable);
    }

    /** As {@link #verify}, without reading; returns what is there. */
    List<Value> verifyIndex(final BackendRig rig, final boolean durableRemovals) {
        final List<Value> there = new ArrayList<>();
        final Map<ObjectKey, StoredValue> found = new HashMap<>();
        for (final StoredValue one : rig.backend().recovered()) {
            assertNull(found.put(one.key(), one), () -> "two values of " + one.key());
        }
        stored.values().stream().filter(owner::wants).forEach(value -> {
            final StoredValue one = found.get(value.key());
            assertTrue(one != null && one.version() == value.version(), () -> "lost " + value + ", found " + one);
        });
        long extents = 0;
        for (final StoredValue one : found.values()) {
            final Value value = tried.getOrDefault(one.key(), List.of()).stream()
                .filter(any -> any.version() == one.version()).findFirst().orElse(null);
            assertNotNull(value, () -> "never stored: " + one);
            assertFalse(durableRemovals && removed.contains(value), () -> "came back: " + one);
            assertEquals(value.size(), one.size());
            assertEquals(value.checksum(), one.checksum());
            there.add(value);
            extents += value.extent();
        }
        assertEquals(extents, rig.backend().usedBytes(), "bytes in use");
        assertNoOverlap(found.values());
        return there;
    }

    /** Takes what a backend found as what is there, as an owner does at a start. */
    void adopt(final BackendRig rig) {
        stored.clear();
        removed.clear();
        for (final StoredValue one : rig.backend().recovered()) {
            final Value value = tried.get(one.key()).stream().filter(any -> any.version() == one.version()).findFirst()
                .orElseThrow();
            stored.put(one.key(), value);
            owner.want(value);
        }
    }

    static void assertNoOverlap(final Iterable<StoredValue> values) {
        final Map<Long, StoredValue> units = new HashMap<>();
        for (final StoredValue value : values) {
            final long count = Math.max(1, Math.ceilDiv(value.size(), (long) Value.UNIT));
            for (long unit = value.offset() / Value.UNIT; unit < value.offset() / Value.UNIT + count; unit++) {
                final StoredValue other = units.put(unit, value);
                assertNull(other, () -> value + " overlaps " + other);
            }
        }
    }
}
