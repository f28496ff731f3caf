package io.kvtier.store.client;

import io.kvtier.store.ConnectConfig;
import io.kvtier.store.StoreConfig;
import java.nio.file.Path;

/**
 * How a client uses its disk.
 *
 * @param directory      where its files are.
 * @param bytes          how much it may hold.
 * @param highWatermark  share above which values are evicted.
 * @param lowWatermark   share down to which they are.
 * @param promoteOnHit   whether a value that was read is copied back to memory.
 * @param verify         whether checksums are compared.
 * @param directIo       whether it goes past the page cache.
 * @param ioThreads      threads for blocking calls.
 * @param closeTimeoutMs milliseconds that closing waits for what is under way.
 * @param transferTimeoutMs milliseconds for copying a value up to memory of another process.
 */
record DiskSettings(Path directory, long bytes, double highWatermark, double lowWatermark, boolean promoteOnHit,
                    boolean verify, boolean directIo, int ioThreads, long closeTimeoutMs,
                    long transferTimeoutMs) {
    static DiskSettings of(final StoreConfig config) {
        return new DiskSettings(config.directory(), config.diskBytes(), config.diskHighWatermark(),
            config.diskLowWatermark(), config.promoteOnHit(), config.verifyDiskReads(), config.directIo(),
            config.ioThreads(), config.closeTimeoutMs(), 0);
    }

    static DiskSettings of(final ConnectConfig config) {
        return new DiskSettings(config.directory(), config.diskBytes(), config.diskHighWatermark(),
            config.diskLowWatermark(), config.promoteOnHit(), config.verify(), config.directIo(), config.ioThreads(),
            config.closeTimeoutMs(), config.transferTimeoutMs());
    }
}
