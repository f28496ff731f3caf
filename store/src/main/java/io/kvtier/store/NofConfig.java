package io.kvtier.store;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The block devices that a client lends. Immutable.
 *
 * @param devices        which; empty for none.
 * @param probeMs        milliseconds between two looks at whether each can still be read, 10 ms to 24 days.
 * @param probeTimeoutMs milliseconds after which such a look counts as failed, 1 ms to 24 days.
 */
public record NofConfig(List<Device> devices, long probeMs, long probeTimeoutMs) {
    /** No devices; a probe every 10 s, which may take 1 s. */
    public static final NofConfig NONE = new NofConfig(List.of(), 10_000, 1_000);

    private static final long SHORTEST_MS = 10;

    /**
     * A device to be lent.
     *
     * @param path  where it is on this host and on all others that shall use it: an NVMe-oF namespace that the kernel
     *              has attached ({@code /dev/disk/by-id/...}), another block device, or a file.
     * @param bytes how much of it is used, its label of 4,096 bytes included; 0 for all of it. A file that is absent is
     *              made, and one that is smaller grows.
     */
    public record Device(Path path, long bytes) {
        /**
         * Validates.
         */
        public Device {
            Objects.requireNonNull(path, "path");
            if (bytes < 0 || bytes > StoreConfig.MAX_TIER_BYTES) {
                throw invalid("nofDevice " + path + " is given " + bytes + " bytes; allowed is 0 for all of it, up to "
                    + "16 TiB");
            }
        }
    }

    /**
     * Validates.
     */
    public NofConfig {
        devices = List.copyOf(devices);
        if (probeMs < SHORTEST_MS || probeMs > Integer.MAX_VALUE) {
            throw invalid("nofProbeMs is " + probeMs + "; allowed is 10 ms to 24 days");
        }
        if (probeTimeoutMs < 1 || probeTimeoutMs > Integer.MAX_VALUE) {
            throw invalid("nofProbeTimeoutMs is " + probeTimeoutMs + "; allowed is 1 ms to 24 days");
        }
    }

    NofConfig with(final Device another) {
        final List<Device> all = new ArrayList<>(devices);
        all.add(another);
        return new NofConfig(all, probeMs, probeTimeoutMs);
    }

    private static StoreException invalid(final String message) {
        return new StoreException(ErrorCode.INVALID_PARAMS, "setting " + message);
    }
}
