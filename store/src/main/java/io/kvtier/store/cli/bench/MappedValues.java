package io.kvtier.store.cli.bench;

import io.kvtier.store.BatchResult;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.PageCommand.BatchGetDistributedPageMapping;
import io.kvtier.store.protocol.PageCommand.PageMapping;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Values of shared files: put by a store, and fetched by asking the master where all of them lie, and reading them
 * there. Each is compared with its checksum.
 *
 * @param store  puts.
 * @param master knows where values lie.
 * @param reads  reads them.
 */
record MappedValues(Store store, Master master, SharedReads reads) implements BatchValues {
    @Override
    public List<BatchResult<PutOutcome>> put(final List<Store.Item> items) {
        return store.putBatch(items, PutOptions.DEFAULT);
    }

    @Override
    public List<BatchResult<GetOutcome>> get(final List<Store.Item> items) throws IOException {
        final List<PageMapping> mappings =
            master.apply(new BatchGetDistributedPageMapping(items.stream().map(Store.Item::key).toList()));
        final List<SharedReads.Wanted> wanted = new ArrayList<>(items.size());
        final List<BatchResult<GetOutcome>> results = new ArrayList<>(items.size());
        for (int i = 0; i < items.size(); i++) {
            final PageMapping mapping = mappings.get(i);
            if (mapping.place() != null) {
                wanted.add(new SharedReads.Wanted(mapping.place(), mapping.checksum(),
                    items.get(i).memory().getFirst()));
            }
            results.add(new BatchResult<>(mapping.place() == null ? GetOutcome.MISS
                : new GetOutcome(true, mapping.place().objectSize(), ReplicaType.DISTRIBUTED_DISK), null));
        }
        reads.read(wanted);
        return results;
    }
}
