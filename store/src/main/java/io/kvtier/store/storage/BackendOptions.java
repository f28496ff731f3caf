package io.kvtier.store.storage;

import java.nio.file.Path;

/**
 * How a {@link StorageBackend} is opened.
 *
 * @param directory     where its files are; made when absent.
 * @param capacity      bytes for values, at least a unit; rounded down to whole units.
 * @param highWatermark share of the capacity above which values are evicted.
 * @param lowWatermark  share down to which they are.
 * @param host          what the host is called, which names its folder where many share the directory.
 */
public record BackendOptions(Path directory, long capacity, double highWatermark, double lowWatermark, String host) {
    BackendOptions in(final Path own) {
        return new BackendOptions(own, capacity, highWatermark, lowWatermark, host);
    }
}
