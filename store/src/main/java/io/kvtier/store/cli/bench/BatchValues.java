package io.kvtier.store.cli.bench;

import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import java.io.IOException;
import java.util.List;

/**
 * Whatever keeps values under names and takes and gives several at once.
 *
 * <p><b>Threading:</b> one thread at a time.
 */
interface BatchValues {
    /** Keeps values; each is taken or refused alone. */
    List<BatchResult<PutOutcome>> put(List<Store.Item> items) throws IOException;

    /** Fetches values into memory of their size; each is there or not alone. */
    List<BatchResult<GetOutcome>> get(List<Store.Item> items) throws IOException;
}
