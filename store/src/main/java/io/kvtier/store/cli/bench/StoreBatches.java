package io.kvtier.store.cli.bench;

import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import java.util.List;

/**
 * Batches of values in a store. One that is fetched alone is fetched by the call for one.
 *
 * @param store the store.
 */
record StoreBatches(Store store) implements BatchValues {
    @Override
    public List<BatchResult<PutOutcome>> put(final List<Store.Item> items) {
        return store.putBatch(items, PutOptions.DEFAULT);
    }

    @Override
    public List<BatchResult<GetOutcome>> get(final List<Store.Item> items) {
        if (items.size() != 1) {
            return store.getBatch(items);
        }
        final Store.Item one = items.getFirst();
        return List.of(new BatchResult<>(store.get(one.key(), one.memory().getFirst()), null));
    }
}
