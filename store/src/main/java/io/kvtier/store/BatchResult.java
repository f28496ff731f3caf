package io.kvtier.store;

/**
 * What became of one key of a batch: an outcome or a failure. One key's failure does not touch another key.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param <T>     the outcome's type.
 * @param outcome what became of it; null when it failed.
 * @param failure why it failed, with the codes of the call for one key; INTERNAL_ERROR for anything but a
 *                {@code StoreException}, which is then its cause. Null when it did not fail.
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
