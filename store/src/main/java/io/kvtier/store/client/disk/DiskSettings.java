package io.kvtier.store.client.disk;

import io.kvtier.store.ConnectConfig;
import io.kvtier.store.DiskConfig;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.config.HostName;

/**
 * How a client uses its disk.
 *
 * @param disk              what its store was told.
 * @param verify            whether checksums are compared.
 * @param closeTimeoutMs    milliseconds that closing waits for what is under way.
 * @param transferTimeoutMs milliseconds for copying a value up to memory of another process.
 * @param host              what the host is called.
 */
public record DiskSettings(DiskConfig disk, boolean verify, long closeTimeoutMs, long transferTimeoutMs, String host) {
    /** Of a store in one process. */
    public static DiskSettings of(final StoreConfig config) {
        return new DiskSettings(config.disk(), config.verifyDiskReads(), config.closeTimeoutMs(), 0,
            HostName.local());
    }

    /** Of a client of a store that many share. */
    public static DiskSettings of(final ConnectConfig config) {
        return new DiskSettings(config.disk(), config.verify(), config.timeouts().closeMs(),
            config.timeouts().transferMs(), config.identity().hostId());
    }
}
