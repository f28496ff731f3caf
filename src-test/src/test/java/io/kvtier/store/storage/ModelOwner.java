package io.kvtier.store.storage;

import io.kvtier.store.ObjectKey;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;

/** An owner that knows which version of each key is wanted, and remembers what it was asked and what it gave up. */
final class ModelOwner implements StorageBackend.Owner {
    private final Map<ObjectKey, Long> current = new ConcurrentHashMap<>();
    private final List<StoredValue> asked = new CopyOnWriteArrayList<>();
    private final List<StoredValue> evicted = new CopyOnWriteArrayList<>();
    private final Set<ObjectKey> inMemory = ConcurrentHashMap.newKeySet();
    private volatile Predicate<StoredValue> allows = victim -> true;
    private volatile Predicate<ObjectKey> knows = key -> true;

    @Override
    public List<Boolean> mayEvict(final List<StoredValue> victims) {
        asked.addAll(victims);
        return victims.stream().map(victim -> {
            final boolean allowed = allows.test(victim);
            if (allowed) {
                evicted.add(victim);
                current.remove(victim.key(), victim.version());
            }
            return allowed;
        }).toList();
    }

    @Override
    public List<Boolean> mayEvictCopies(final List<StoredValue> victims) {
        return victims.stream().map(victim -> inMemory.contains(victim.key()) && mayEvict(List.of(victim)).getFirst())
            .toList();
    }

    /** Says where else a value lies, so that it may go as a copy. */
    void inMemory(final Value value, final boolean there) {
        if (there) {
            inMemory.add(value.key());
        } else {
            inMemory.remove(value.key());
        }
    }

    @Override
    public boolean isCurrent(final ObjectKey key, final long version) {
        final Long wanted = current.get(key);
        return knows.test(key) && wanted != null && wanted == version;
    }

    void want(final Value value) {
        current.put(value.key(), value.version());
    }

    void forget(final Value value) {
        current.remove(value.key(), value.version());
    }

    boolean wants(final Value value) {
        return isCurrent(value.key(), value.version());
    }

    /** Which values it lets go. */
    void allow(final Predicate<StoredValue> victims) {
        allows = victims;
    }

    /** What it answers, or throws, when asked whether a key is current. */
    void answer(final Predicate<ObjectKey> keys) {
        knows = keys;
    }

    List<StoredValue> asked() {
        return asked;
    }

    List<StoredValue> evicted() {
        return evicted;
    }

    List<String> evictedKeys() {
        return evicted.stream().map(victim -> victim.key().key()).toList();
    }
}
