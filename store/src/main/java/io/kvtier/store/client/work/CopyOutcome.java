package io.kvtier.store.client.work;

/**
 * How a copy of a value to memory ended.
 *
 * @param problem null when the bytes are there, else why not.
 * @param settled whether nothing of it is written any more.
 */
record CopyOutcome(String problem, boolean settled) {
    /** Nothing of it is written any more. */
    static CopyOutcome failed(final String problem) {
        return new CopyOutcome(problem, true);
    }
}
