package io.kvtier.store.snapshot;

import java.util.List;

/**
 * A state that can be saved while it goes on: {@link #begin}, then {@link #next} again and again with commands between,
 * and {@link #end} in any case. What is handed out is as it was at the beginning, whatever happens meanwhile.
 *
 * <p>What each call takes does not grow with the number of objects: the beginning copies references to what there are
 * few of, and from then on whatever is changed before its turn is copied first.
 *
 * <p><b>Threading:</b> as a command; what was handed out is immutable and for any thread.
 */
public interface SnapshotSource {
    /**
     * Some of the objects.
     *
     * @param objects those that were not handed out yet.
     * @param last    whether there are no more.
     */
    record Slice(List<SavedObject> objects, boolean last) {
    }

    /**
     * Begins.
     *
     * @return everything but the objects.
     * @throws IllegalStateException when another snapshot has begun and not ended.
     */
    SnapshotHead begin();

    /**
     * Hands out objects.
     *
     * @param most how many, more or less: a table is not cut, of which there are 4,096 for all objects.
     * @return some of them.
     */
    Slice next(int most);

    /** Ends it: nothing is copied any more. Does nothing when none has begun. */
    void end();
}
