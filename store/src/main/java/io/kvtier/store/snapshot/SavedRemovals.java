package io.kvtier.store.snapshot;

import java.util.List;

/**
 * Which versions must not come back.
 *
 * @param slots    slots in all; a key's slot depends on their number.
 * @param pages    those pages of the slots that have a removal.
 * @param patterns removals by pattern, oldest first; one with neither tenant nor pattern is of all there was.
 */
public record SavedRemovals(int slots, List<Page> pages, List<Matching> patterns) {
    /** Nothing was removed. */
    public static final SavedRemovals NONE = new SavedRemovals(0, List.of(), List.of());

    /**
     * A page of slots.
     *
     * @param index    which one.
     * @param versions of each slot, the highest that must not come back; not to be changed.
     */
    public record Page(int index, long[] versions) {
    }

    /**
     * A removal by pattern.
     *
     * @param tenant  whose; empty for all tenants.
     * @param pattern a regular expression.
     * @param version values up to this one must not come back.
     */
    public record Matching(String tenant, String pattern, long version) {
    }
}
