package io.kvtier.store.master.state;

import io.kvtier.store.ObjectKey;

/**
 * Up to which version each key's values were removed or replaced, so that a disk that was away cannot bring one back.
 *
 * <p>A key shares its number with those of the same hash, of which the highest counts. So nothing that was removed is
 * ever taken for good, in bounded memory; the price is that a value may be refused that only another key's removal
 * forbids: one in a hundred for ten thousand removals since it was written. It is lost from a cache then, not wrong.
 */
final class RemovedVersions {
    private static final int PAGES = 1024;
    private static final int PAGE = 1024;

    /** Pages exist from their first removal on: 8 KiB each, 8 MiB in all. */
    private final long[][] pages = new long[PAGES][];

    /** Versions of a key up to this one are not to come back. */
    void add(final ObjectKey key, final long version) {
        final int slot = slot(key);
        if (pages[slot / PAGE] == null) {
            pages[slot / PAGE] = new long[PAGE];
        }
        final long[] page = pages[slot / PAGE];
        page[slot % PAGE] = Math.max(page[slot % PAGE], version);
    }

    /** Whether a version may have been removed or replaced. */
    boolean mayContain(final ObjectKey key, final long version) {
        final int slot = slot(key);
        return pages[slot / PAGE] != null && version <= pages[slot / PAGE][slot % PAGE];
    }

    private static int slot(final ObjectKey key) {
        // The golden ratio spreads keys that differ little.
        return key.hashCode() * 0x9E3779B9 >>> Integer.SIZE - Integer.numberOfTrailingZeros(PAGES * PAGE);
    }
}
