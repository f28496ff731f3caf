package io.kvtier.store.cli.bench;

import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import java.io.IOException;
import java.lang.foreign.MemorySegment;

/**
 * Values in a store.
 *
 * @param store shared by all threads.
 */
record StoreValues(Store store) implements KeyValues {
    @Override
    public void put(final String name, final MemorySegment value) throws IOException {
        final PutOutcome outcome = store.put(ObjectKey.of(name), value);
        if (outcome != PutOutcome.STORED) {
            throw new IOException("the store does not take " + name + ": " + outcome);
        }
    }

    @Override
    public void get(final String name, final MemorySegment into) throws IOException {
        final GetOutcome outcome = store.get(ObjectKey.of(name), into);
        if (!outcome.hit() || outcome.valueSize() != into.byteSize()) {
            throw new IOException("the store has no " + name + " of " + into.byteSize() + " bytes: " + outcome);
        }
    }
}
