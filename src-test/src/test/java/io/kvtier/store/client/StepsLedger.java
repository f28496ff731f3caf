package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ObjectKey;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/** What each key may have, as whoever put and removed was told; and what of it is written down for good. */
final class StepsLedger {
    private final Map<ObjectKey, Set<Value>> possible = new LinkedHashMap<>();
    private final Map<ObjectKey, Long> durable = new HashMap<>();
    private long values;
    /** Whether something was begun since it was written down what is durable. */
    private boolean changing;

    /** Bytes that nobody else puts. */
    record Value(long seed, int size) {
        byte[] bytes() {
            return PatternBytes.of(seed, size);
        }
    }

    Set<ObjectKey> keys() {
        return possible.keySet();
    }

    /** A put begins: from now on its value may be there. */
    Value begins(final ObjectKey key, final int size) {
        changing = true;
        final Value value = new Value(++values, size);
        possible.computeIfAbsent(key, any -> new LinkedHashSet<>()).add(value);
        return value;
    }

    /** It has ended well: no other value may be there any more. */
    void stored(final ObjectKey key, final Value value) {
        possible.put(key, new LinkedHashSet<>(Set.of(value)));
    }

    /** It was refused. */
    void refused(final ObjectKey key, final Value value) {
        possible.get(key).remove(value);
    }

    /** A removal begins. */
    void removes() {
        changing = true;
    }

    /** It has ended well. */
    void removed(final ObjectKey key) {
        possible.get(key).clear();
    }

    /** Nothing is under way, and these versions are written down. */
    void durable(final Map<ObjectKey, Long> versions) {
        durable.clear();
        durable.putAll(versions);
        changing = false;
    }

    /** What survives its process for sure, given the versions that the master knows to be in the file just now. */
    Set<ObjectKey> surviving(final Map<ObjectKey, Long> inFile) {
        final Set<ObjectKey> sure = new LinkedHashSet<>(durable.keySet());
        if (changing) {
            sure.removeIf(key -> !durable.get(key).equals(inFile.get(key)));
        }
        return sure;
    }

    /** Judges what was found. */
    void check(final ObjectKey key, final byte[] found) {
        assertTrue(possible.get(key).stream().anyMatch(value -> Arrays.equals(value.bytes(), found)),
            () -> key + " has " + found.length + " bytes that it may not have; possible are " + possible.get(key));
    }
}
