package io.kvtier.store;

/**
 * What became of one key of a batch: an outcome or a failure. One key's failure does not touch another key.
 *
 * @param <T>     the outcome's type.
 * @param outcome what became of it; null when it failed.
 * @param failure why it failed; null when it did not.
 */
public record BatchResult<T>(T outcome, StoreException failure) {
    /**
     * The outcome, or the failure thrown.
     *
     * @return the outcome.
     * @throws StoreException when this key failed.
     */
    public T orThrow() {
        if (failure != null) {
            throw failure;
        }
        return outcome;
    }
}
