package io.kvtier.store.storage;

import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.ReferenceXxh64;
import io.kvtier.store.ObjectKey;

/** A value of a test; its bytes follow from its name. */
record Value(ObjectKey key, long version, int size) {
    static final int UNIT = 4096;

    static Value of(final String key, final long version, final int size) {
        return new Value(ObjectKey.of(key), version, size);
    }

    byte[] bytes() {
        return PatternBytes.of(31L * key.toString().hashCode() + version, size);
    }

    long checksum() {
        return ReferenceXxh64.of(bytes());
    }

    /** What it takes on the disk: whole units, at least one. */
    long extent() {
        return (long) Math.max(1, Math.ceilDiv(size, UNIT)) * UNIT;
    }
}
