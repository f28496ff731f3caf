package io.kvtier.store.client.gds;

import io.kvtier.store.storage.GdsStorageManager;

/** What tests of whole stores look at inside a file for GDS replicas. */
public final class GdsInside {
    /** In which puts wait for room there. */
    public static final Class<?> ROOM = GdsRoom.class;

    private GdsInside() {
    }

    /** What is in it. */
    public static GdsStorageManager storage(final GdsTier file) {
        return file.storage();
    }
}
