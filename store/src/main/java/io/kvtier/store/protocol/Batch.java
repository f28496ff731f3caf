package io.kvtier.store.protocol;

import io.kvtier.store.BatchResult;
import java.util.List;

/**
 * Several commands of one kind, applied one after the other without anything between them; each succeeds or fails
 * alone.
 *
 * @param <R>   what the master answers to each.
 * @param items the commands, at most {@link #MAX_ITEMS}; no batches.
 */
public record Batch<R>(List<? extends Command<R>> items) implements Command<List<BatchResult<R>>> {
    /** Most commands of one batch; a client cuts longer ones. */
    public static final int MAX_ITEMS = 4096;
}
