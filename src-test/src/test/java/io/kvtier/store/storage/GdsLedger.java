package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What a manager was asked and what it answered, to be held against what a later one finds. One thread. */
final class GdsLedger {
    /** Every value that was ever to be committed, by the replica it had. */
    private final Map<Long, Value> tried = new HashMap<>();
    private final Map<Long, StoredExtent> committed = new LinkedHashMap<>();
    /** Committed, and flushed since. */
    private final Map<Long, StoredExtent> durable = new LinkedHashMap<>();
    private final Set<Long> dropped = new HashSet<>();
    /** Dropped, and flushed since. */
    private final Set<Long> goneForGood = new HashSet<>();
    private final List<RuntimeException> failures = new ArrayList<>();
    private long replicas;
    private long commits;
    /** A flush has failed since one last went well: what was committed by then may be gone. */
    private boolean told;

    List<RuntimeException> failures() {
        return failures;
    }

    /** How many values were committed. */
    long commits() {
        return commits;
    }

    /** Puts a value if there is room and the disk is well; returns its replica. */
    long put(final GdsRig rig, final Value value) {
        final long id = ++replicas;
        tried.put(id, value);
        try (GdsReservation reservation = rig.storage().reserve(value.key(), value.size())) {
            if (reservation == null) {
                return id;
            }
            GdsRig.write(reservation, value);
            reservation.offered();
            reservation.accepted(value.version(), id);
            if (reservation.commit(true, value.checksum())) {
                commits++;
                committed.put(id, GdsRig.stored(value, reservation.extent(), id));
            }
        } catch (final RuntimeException e) {
            failures.add(e);
        }
        return id;
    }

    void drop(final GdsRig rig, final long id) {
        final StoredExtent stored = committed.remove(id);
        durable.remove(id);
        if (stored != null) {
            dropped.add(id);
            rig.storage().drop(stored.extent().offset(), id);
        }
    }

    void flush(final GdsRig rig) {
        try {
            rig.storage().flush();
        } catch (final RuntimeException e) {
            failures.add(e);
            told = true;
            return;
        }
        keepOnly(rig);
        durable.putAll(committed);
        goneForGood.addAll(dropped);
    }

    /** A sync that failed may have taken values that were not durable, of which a flush tells; nothing else does. */
    private void keepOnly(final GdsRig rig) {
        final List<StoredExtent> there = rig.storage().committed();
        assertTrue(told || there.containsAll(committed.values()),
            () -> "lost without a word: of " + committed + " only " + there + " are there");
        told = false;
        committed.values().removeIf(one -> !there.contains(one));
        assertTrue(committed.values().containsAll(there));
        assertTrue(there.containsAll(durable.values()), () -> "lost of what was durable: " + durable + ", " + there);
    }

    /** Reads everything that is there; a read may fail, but not give other bytes. */
    void readAll(final GdsRig rig) {
        for (final StoredExtent stored : rig.storage().committed()) {
            try (GdsLease lease = rig.acquire(stored)) {
                final Value value = tried.get(stored.replicaId());
                if (lease != null) {
                    assertArrayEquals(value.bytes(), GdsRig.read(lease, value.size(), true), () -> "bytes of " + value);
                }
            } catch (final RuntimeException e) {
                failures.add(e);
            }
        }
    }

    /**
     * Holds a manager that was just opened against what was said: what was flushed is there, what was dropped and
     * flushed is not, and whatever is there has the bytes that were put under its name.
     */
    void verify(final GdsRig rig) {
        final List<StoredExtent> found = rig.storage().recovered();
        assertTrue(found.containsAll(durable.values()), () -> "lost of what was durable: " + durable + ", " + found);
        final Map<Long, StoredExtent> units = new HashMap<>();
        long used = 0;
        for (final StoredExtent one : found) {
            final Value value = tried.get(one.replicaId());
            assertNotNull(value, () -> "never put: " + one);
            assertTrue(!goneForGood.contains(one.replicaId()), () -> "came back: " + one);
            assertEquals(GdsRig.stored(value, one.extent(), one.replicaId()), one);
            used += value.extent();
            for (long at = 0; at < value.extent(); at += Value.UNIT) {
                final StoredExtent other = units.put(one.extent().offset() + at, one);
                assertNull(other, () -> one + " overlaps " + other);
            }
        }
        assertEquals(used, rig.storage().usedBytes());
        for (final StoredExtent one : found) {
            assertTrue(rig.storage().adopt(one, one.replicaId()));
            rig.assertReadable(tried.get(one.replicaId()), one);
        }
    }

    /** Takes what a manager has found as what is there, as a master does. */
    void adopt(final GdsRig rig) {
        committed.clear();
        durable.clear();
        dropped.clear();
        told = false;
        for (final StoredExtent one : rig.storage().recovered()) {
            rig.storage().adopt(one, one.replicaId());
            committed.put(one.replicaId(), one);
            durable.put(one.replicaId(), one);
        }
        for (final StoredExtent one : rig.storage().committed()) {
            committed.put(one.replicaId(), one);
            durable.put(one.replicaId(), one);
        }
    }
}
