package io.kvtier.store;

/**
 * A region that a store has made known to what moves bytes between memory and files; see {@link Store#register}.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> keeps the region open until it, or the store, is closed.
 */
public interface RegisteredRegion extends AutoCloseable {
    /**
     * Takes it back; no call may use the region meanwhile. A second call, or one after the store was closed, does
     * nothing. <b>Blocking:</b> until devices have let go of the memory.
     */
    @Override
    void close();
}
