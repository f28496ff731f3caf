package io.kvtier;

import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;

/** Examples of the documents, compiled and run; a test compares each region with the document that shows it. */
final class Snippets {
    private Snippets() {
    }

    // @start region="readme"
    static GetOutcome roundTrip(final Path directory) {
        final StoreConfig config = StoreConfig.builder()
            .memoryBytes(64L << 20)                 // memory tier: 64 MiB
            .disk(directory, 256L << 20)            // SSD tier: 256 MiB in files in this directory
            .build();
        try (Store store = Store.open(config); Arena arena = Arena.ofConfined()) {
            final ObjectKey key = ObjectKey.of("llama-70b", "prefix-4711/layer-0");
            final MemorySegment block = arena.allocate(64 << 10, 4096).fill((byte) 7);
            final PutOutcome put = store.put(key, block);
            if (put == PutOutcome.NO_SPACE) {       // everything is leased or in use: compute, store later
                return GetOutcome.MISS;
            }
            final MemorySegment target = arena.allocate(64 << 10, 4096);
            return store.get(key, target);          // a miss, or a hit with its size and tier
        }
    }
    // @end
}
