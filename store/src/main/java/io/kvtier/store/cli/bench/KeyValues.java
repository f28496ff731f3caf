package io.kvtier.store.cli.bench;

import java.io.IOException;
import java.lang.foreign.MemorySegment;

/** Whatever keeps values under numbers, as one thread uses it. */
interface KeyValues {
    /**
     * Keeps a value.
     *
     * @param name  part of its key.
     * @param value all of its bytes, in memory that any thread may use.
     * @throws IOException when it is not taken.
     */
    void put(String name, MemorySegment value) throws IOException;

    /**
     * Fetches a value.
     *
     * @param name part of its key.
     * @param into as large as the value.
     * @throws IOException when it is not there, or not that large.
     */
    void get(String name, MemorySegment into) throws IOException;

    /** Whether a value that has just been put may be gone already, so that it is put again before it is checked. */
    default boolean evictsWhatIsNew() {
        return false;
    }
}
