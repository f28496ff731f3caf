package io.kvtier.store.master.state;

import io.kvtier.store.ObjectKey;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The last versions of keys that were removed or replaced, so that a disk which was away meanwhile does not bring them
 * back. What was only evicted is not here: nobody wanted it to go.
 *
 * <p>The oldest are forgotten beyond {@link #LIMIT}: a disk that is away for longer than that many removals take may
 * bring one of them back.
 */
final class Removed {
    /** Most keys that are remembered; about 30 MB. */
    static final int LIMIT = 1 << 18;

    private final Map<ObjectKey, Long> versions = new LinkedHashMap<>();

    void add(final ObjectKey key, final long version) {
        final Long before = versions.remove(key);
        versions.put(key, before == null ? version : Long.valueOf(Math.max(before, version)));
        if (versions.size() > LIMIT) {
            versions.remove(versions.keySet().iterator().next());
        }
    }

    /** Whether this version, or a later one, of a key was removed. */
    boolean contains(final ObjectKey key, final long version) {
        final Long last = versions.get(key);
        return last != null && version <= last;
    }
}
