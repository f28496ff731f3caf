package io.kvtier.store.client;

import io.kvtier.store.StoreConfig;

/** The unit in which memory is given out. */
final class Units {
    private Units() {
    }

    /** Bytes that a value takes: whole units, at least one. */
    static long padded(final long size) {
        return Math.max(StoreConfig.UNIT_BYTES, size + StoreConfig.UNIT_BYTES - 1 & -StoreConfig.UNIT_BYTES);
    }
}
