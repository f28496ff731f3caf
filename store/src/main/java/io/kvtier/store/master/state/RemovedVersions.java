package io.kvtier.store.master.state;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.snapshot.SavedRemovals;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Up to which version each key's values were removed or replaced, so that a disk that was away cannot bring one back.
 *
 * <p>A key shares its number with those of the same hash, of which the highest counts. So nothing that was removed is
 * ever taken for good, in bounded memory; the price is that a value may be refused that only another key's removal
 * forbids: one in a hundred for ten thousand removals since it was written. It is lost from a cache then, not wrong.
 *
 * <p>Of removals by pattern the last few are remembered as such, since what they were to remove cannot be seen here; of
 * older ones only that they forbid whatever there was then.
 */
final class RemovedVersions {
    private static final int PAGES = 1024;
    private static final int PAGE = 1024;

    private static final int PATTERNS = 16;

    /** Pages exist from their first removal on: 8 KiB each, 8 MiB in all. */
    private final long[][] pages = new long[PAGES][];
    /** Pages that a snapshot has too, so that they are replaced on change. */
    private boolean[] shared = new boolean[PAGES];
    /** In the order of their removals. */
    private final ArrayDeque<Matching> matching = new ArrayDeque<>();
    /** Versions of any key up to this one are not to come back. */
    private long all;

    /** Versions up to one of all keys of a tenant (empty for any) that have a match. */
    private record Matching(String tenant, String text, KeyPattern pattern, long version) {
        boolean mayContain(final ObjectKey key, final long which) {
            try {
                return which <= version && (tenant.isEmpty() || tenant.equals(key.tenant()))
                    && pattern.isIn(key.key());
            } catch (final StoreException e) {
                // It takes too many steps to find out.
                return true;
            }
        }
    }

    /** Versions of a key up to this one are not to come back. */
    void add(final ObjectKey key, final long version) {
        final int slot = slot(key);
        final int index = slot / PAGE;
        if (pages[index] == null) {
            pages[index] = new long[PAGE];
        } else if (shared[index]) {
            pages[index] = pages[index].clone();
        }
        shared[index] = false;
        pages[index][slot % PAGE] = Math.max(pages[index][slot % PAGE], version);
    }

    /** Versions up to this one of all keys that match are not to come back. */
    void add(final String tenant, final String pattern, final long version) {
        if (tenant.isEmpty() && pattern.isEmpty()) {
            matching.clear();
            all = version;
            return;
        }
        matching.removeIf(one -> one.tenant().equals(tenant) && one.text().equals(pattern));
        matching.add(new Matching(tenant, pattern, KeyPattern.of(pattern), version));
        if (matching.size() > PATTERNS) {
            all = Math.max(all, matching.remove().version());
        }
    }

    /** All of it, for a snapshot: costs a reference for each page. */
    SavedRemovals save() {
        final List<SavedRemovals.Page> saved = new ArrayList<>();
        for (int i = 0; i < PAGES; i++) {
            if (pages[i] != null) {
                shared[i] = true;
                saved.add(new SavedRemovals.Page(i, pages[i]));
            }
        }
        final List<SavedRemovals.Matching> patterns = new ArrayList<>();
        if (all > 0) {
            patterns.add(new SavedRemovals.Matching("", "", all));
        }
        matching.forEach(one -> patterns.add(new SavedRemovals.Matching(one.tenant(), one.text(), one.version())));
        return new SavedRemovals(PAGES * PAGE, saved, patterns);
    }

    /** Takes what a snapshot has; of one that has other slots, that nothing of its time is to come back. */
    void restore(final SavedRemovals saved, final long lastVersion) {
        if (saved.slots() != PAGES * PAGE && !saved.pages().isEmpty()) {
            add("", "", lastVersion);
            return;
        }
        for (final SavedRemovals.Page page : saved.pages()) {
            pages[page.index()] = page.versions();
            shared[page.index()] = true;
        }
        saved.patterns().forEach(one -> add(one.tenant(), one.pattern(), one.version()));
    }

    /** Begins to look for some keys: patterns may take so many steps for all of them. */
    void look() {
        matching.forEach(one -> one.pattern().restart());
    }

    /** Whether a version may have been removed or replaced. */
    boolean mayContain(final ObjectKey key, final long version) {
        final int slot = slot(key);
        return version <= all || pages[slot / PAGE] != null && version <= pages[slot / PAGE][slot % PAGE]
            || matching.stream().anyMatch(one -> one.mayContain(key, version));
    }

    private static int slot(final ObjectKey key) {
        // The golden ratio spreads keys that differ little.
        return key.hashCode() * 0x9E3779B9 >>> Integer.SIZE - Integer.numberOfTrailingZeros(PAGES * PAGE);
    }
}
