package io.kvtier;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreStats;
import io.kvtier.store.ValueInfo;
import io.kvtier.store.config.SecurityFiles;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.SSLContext;

/** Examples of the documents, compiled and run; a test compares each region with the document that shows it. */
final class Snippets {
    private static final Logger LOG = System.getLogger(Snippets.class.getName());

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

    // @start region="readme"
    static StoreStats look(final Store store, final ObjectKey key, final MemorySegment target) {
        final boolean there = store.exists(key);                       // whether a get would hit; counts as a use
        final Optional<ValueInfo> info = store.stat(key);              // size and tiers; counts as none
        final GetOutcome part = store.getRange(key, 4096, target);     // as many bytes as target has, from byte 4096 on
        final RemoveOutcome removed = store.remove(key);               // REMOVED, NOT_FOUND, LEASED or BEING_WRITTEN
        LOG.log(Level.INFO, "there {0}, {1}, part {2}, {3}", there, info, part, removed);
        return store.stats();                                          // objects, bytes, hits, misses, evictions, ...
    }
    // @end

    // @start region="readme"
    static GetOutcome regions(final Store store, final ObjectKey key, final MemoryRegion tensor) {
        final List<RegionSlice> block = List.of(tensor.slice(0, 4096), tensor.slice(1 << 20, 4096));
        final PutOutcome put = store.put(key, PutOptions.DEFAULT, block);
        return put == PutOutcome.NO_SPACE ? GetOutcome.MISS : store.get(key, block);
    }
    // @end

    // @start region="readme"
    static Store join(final String host, final int port, final Path secretFile, final SSLContext tls) {
        return Store.connect(ConnectConfig.builder(host, port)
            .secret(SecurityFiles.secret(secretFile))   // the one of the master; without it: none
            .tls(tls)                                   // of SecurityFiles.tls(keystore, password, truststore), or null
            .memoryBytes(64L << 20)                     // lent to all; 0, the default, for a service that lends nothing
            .timeouts(20_000, 60_000)                   // milliseconds for a call of the master, for a value
            .build());
    }
    // @end
}
