package io.kvtier.store.storage;

import io.kvtier.store.DiskEviction;
import io.kvtier.store.config.HostName;
import java.nio.file.Path;

/**
 * How a {@link StorageBackend} is opened.
 *
 * @param directory     where its files are; made when absent.
 * @param capacity      bytes for values, at least a unit; rounded down to whole units.
 * @param highWatermark share of the capacity above which values are evicted.
 * @param lowWatermark  share down to which they are.
 * @param host          what the host is called, which names its folder where many share the directory.
 * @param eviction      which values go first.
 */
public record BackendOptions(Path directory, long capacity, double highWatermark, double lowWatermark, String host,
                             DiskEviction eviction) {
    /**
     * On this host, as the system calls it; in order of use.
     *
     * @param directory     where its files are; made when absent.
     * @param capacity      bytes for values, at least a unit.
     * @param highWatermark share of the capacity above which values are evicted.
     * @param lowWatermark  share down to which they are.
     */
    public BackendOptions(final Path directory, final long capacity, final double highWatermark,
        final double lowWatermark) {
        this(directory, capacity, highWatermark, lowWatermark, HostName.local(), DiskEviction.LRU);
    }

    BackendOptions in(final Path own) {
        return new BackendOptions(own, capacity, highWatermark, lowWatermark, host, eviction);
    }
}
