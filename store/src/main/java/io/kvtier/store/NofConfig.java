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
    /** Milliseconds between two looks where nothing is said. */
    public static final long DEFAULT_PROBE_MS = 10_000;
    /** Milliseconds for a look where nothing is said. */
    public static final long DEFAULT_PROBE_TIMEOUT_MS = 1_000;
    /** No devices; a probe every 10 s, which may take 1 s. */
    public static final NofConfig NONE = new NofConfig(List.of(), DEFAULT_PROBE_MS, DEFAULT_PROBE_TIMEOUT_MS);

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
                throw Setting.invalid("nofDevice " + path + " is given " + bytes + " bytes; allowed is 0 for all of "
                    + "it, up to 16 TiB");
            }
        }
    }

    /**
     * Validates.
     */
    public NofConfig {
        devices = List.copyOf(devices);
        Setting.between("nofProbeMs", probeMs, SHORTEST_MS, Integer.MAX_VALUE, "10 ms to 24 days");
        Setting.time("nofProbeTimeoutMs", probeTimeoutMs);
    }

    NofConfig with(final Device another) {
        final List<Device> all = new ArrayList<>(devices);
        all.add(another);
        return new NofConfig(all, probeMs, probeTimeoutMs);
    }
}
