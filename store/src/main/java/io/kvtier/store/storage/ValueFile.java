package io.kvtier.store.storage;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.BitSet;

/**
 * One file of values that is on the disk under its name, and which of them are free: of no use any more, durably.
 *
 * <p><b>Threading:</b> one thread at a time, but for what never changes.
 */
final class ValueFile {
    private final long address;
    private final Path path;
    private final long[] values;
    private final BitSet free = new BitSet();

    ValueFile(final Path path, final ValueFileHeader header) {
        this.address = header.address();
        this.path = path;
        this.values = header.values().stream().mapToLong(StoredValue::offset).toArray();
    }

    long address() {
        return address;
    }

    Path path() {
        return path;
    }

    /** The addresses of the values that it was written with, in order. */
    long[] values() {
        return values.clone();
    }

    /** Nobody needs that value any more. */
    void free(final long valueAddress) {
        final int at = Arrays.binarySearch(values, valueAddress);
        if (at < 0 || free.get(at)) {
            throw new IllegalStateException(path + " has no value at " + valueAddress + " that is in use");
        }
        free.set(at);
    }

    boolean isFree() {
        return free.cardinality() == values.length;
    }

    /** Where in the file a value is. */
    long offset(final StoredValue value) {
        return value.offset() - address;
    }
}
