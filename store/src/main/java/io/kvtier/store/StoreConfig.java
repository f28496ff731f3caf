package io.kvtier.store;

import java.nio.file.Path;

/**
 * What an embedded store may use. Immutable; made by {@link #builder()}, which validates once and names the setting
 * and the value that is wrong.
 *
 * @param memoryBytes        capacity of the memory tier in bytes, at least {@link #UNIT_BYTES}; taken from the system
 *                           page by page when first used.
 * @param hugePages          whether to ask for huge pages for it.
 * @param directory          where the disk tier keeps its files; null when {@code diskBytes} is 0.
 * @param diskBytes          capacity of the disk tier in bytes, 0 for none, else at least {@link #UNIT_BYTES};
 *                           reserved on the disk when opened.
 * @param highWatermark      share of the memory tier, more than 0 and at most 1, above which values are evicted.
 * @param evictionRatio      share of the memory tier, from 0 to below 1, that an eviction frees below the watermark;
 *                           0 with a watermark of 1 is exact least-recently-used.
 * @param diskHighWatermark  share of the disk tier, more than 0 and at most 1, above which values are evicted.
 * @param diskLowWatermark   share of the disk tier, more than 0 and at most the high one, down to which they are.
 * @param leaseMs            milliseconds for which a value that was read may be neither evicted nor removed; 0 for
 *                           none. Reads in progress are always safe; a lease is for those who come back.
 * @param putTimeoutMs       milliseconds that a put waits for room at most.
 * @param promoteOnHit       whether a value read from disk is copied back to memory.
 * @param verifyDiskReads    whether the checksum of a value is checked when it is read from disk.
 * @param directIo           whether the disk tier goes past the page cache where the file system can.
 * @param ioThreads          platform threads that do blocking disk calls, 1 to 256.
 * @param closeTimeoutMs     milliseconds that closing waits for running calls.
 */
public record StoreConfig(long memoryBytes, boolean hugePages, Path directory, long diskBytes, double highWatermark,
                          double evictionRatio, double diskHighWatermark, double diskLowWatermark, long leaseMs,
                          long putTimeoutMs, boolean promoteOnHit, boolean verifyDiskReads, boolean directIo,
                          int ioThreads, long closeTimeoutMs) {
    /** Everything is allocated in multiples of this many bytes: what direct I/O needs on every disk. */
    public static final long UNIT_BYTES = 4096;
    /** Largest capacity of one tier in bytes. */
    public static final long MAX_TIER_BYTES = 16L << 40;

    private static final int MAX_IO_THREADS = 256;

    /**
     * Validates.
     */
    @SuppressWarnings("checkstyle:ParameterNumber")
    public StoreConfig {
        between("memoryBytes", memoryBytes, UNIT_BYTES, MAX_TIER_BYTES, "one page to 16 TiB");
        if (diskBytes != 0) {
            between("diskBytes", diskBytes, UNIT_BYTES, MAX_TIER_BYTES, "0 for no disk tier, or one page to 16 TiB");
            if (directory == null) {
                throw invalid("diskBytes is " + diskBytes + " but directory is not set; set it, or diskBytes to 0");
            }
        }
        ratio("highWatermark", highWatermark, highWatermark > 0 && highWatermark <= 1, "more than 0 and at most 1");
        ratio("evictionRatio", evictionRatio, evictionRatio >= 0 && evictionRatio < 1, "at least 0 and below 1");
        ratio("diskHighWatermark", diskHighWatermark, diskHighWatermark > 0 && diskHighWatermark <= 1,
            "more than 0 and at most 1");
        ratio("diskLowWatermark", diskLowWatermark, diskLowWatermark > 0 && diskLowWatermark <= diskHighWatermark,
            "more than 0 and at most diskHighWatermark (" + diskHighWatermark + ")");
        between("leaseMs", leaseMs, 0, Integer.MAX_VALUE, "0 for none, up to 24 days");
        between("putTimeoutMs", putTimeoutMs, 0, Integer.MAX_VALUE, "0 for no waiting, up to 24 days");
        between("ioThreads", ioThreads, 1, MAX_IO_THREADS, "1 to 256");
        between("closeTimeoutMs", closeTimeoutMs, 0, Integer.MAX_VALUE, "0 for no waiting, up to 24 days");
    }

    /**
     * Settings to start from: 256 MiB of memory, no disk.
     *
     * @return a builder.
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * These settings to start from.
     *
     * @return a builder with this configuration's values.
     */
    public Builder toBuilder() {
        return new Builder(this);
    }

    private static void between(final String name, final long value, final long low, final long high,
        final String allowed) {
        if (value < low || value > high) {
            throw invalid(name + " is " + value + "; allowed is " + allowed);
        }
    }

    private static void ratio(final String name, final double value, final boolean valid, final String allowed) {
        if (!valid) {
            throw invalid(name + " is " + value + "; allowed is " + allowed);
        }
    }

    private static StoreException invalid(final String message) {
        return new StoreException(ErrorCode.INVALID_PARAMS, "setting " + message);
    }

    /** Collects settings. <b>Threading:</b> one thread. */
    public static final class Builder {
        private long memoryBytes = 256L << 20;
        private boolean hugePages;
        private Path directory;
        private long diskBytes;
        private double highWatermark = 0.90;
        private double evictionRatio = 0.05;
        private double diskHighWatermark = 0.90;
        private double diskLowWatermark = 0.80;
        private long leaseMs;
        private long putTimeoutMs = 10_000;
        private boolean promoteOnHit = true;
        private boolean verifyDiskReads = true;
        private boolean directIo = true;
        private int ioThreads = 4;
        private long closeTimeoutMs = 30_000;

        Builder() {
        }

        Builder(final StoreConfig from) {
            memoryBytes = from.memoryBytes;
            hugePages = from.hugePages;
            directory = from.directory;
            diskBytes = from.diskBytes;
            highWatermark = from.highWatermark;
            evictionRatio = from.evictionRatio;
            diskHighWatermark = from.diskHighWatermark;
            diskLowWatermark = from.diskLowWatermark;
            leaseMs = from.leaseMs;
            putTimeoutMs = from.putTimeoutMs;
            promoteOnHit = from.promoteOnHit;
            verifyDiskReads = from.verifyDiskReads;
            directIo = from.directIo;
            ioThreads = from.ioThreads;
            closeTimeoutMs = from.closeTimeoutMs;
        }

        /**
         * Sets the capacity of the memory tier.
         *
         * @param bytes at least 4,096; default 256 MiB.
         * @return this.
         */
        public Builder memoryBytes(final long bytes) {
            memoryBytes = bytes;
            return this;
        }

        /**
         * Asks for huge pages for the memory tier.
         *
         * @param use default false.
         * @return this.
         */
        public Builder hugePages(final boolean use) {
            hugePages = use;
            return this;
        }

        /**
         * Adds a disk tier.
         *
         * @param where directory for its files; made when absent. One store at a time may use it.
         * @param bytes at least 4,096; reserved on the disk when the store is opened.
         * @return this.
         */
        public Builder disk(final Path where, final long bytes) {
            directory = where;
            diskBytes = bytes;
            return this;
        }

        /**
         * Sets when and how far the memory tier evicts.
         *
         * @param watermark share above which it evicts, more than 0 and at most 1; default 0.90.
         * @param ratio     share it frees below that, 0 to below 1; default 0.05.
         * @return this.
         */
        public Builder eviction(final double watermark, final double ratio) {
            highWatermark = watermark;
            evictionRatio = ratio;
            return this;
        }

        /**
         * Sets when and how far the disk tier evicts.
         *
         * @param high share above which it evicts, more than 0 and at most 1; default 0.90.
         * @param low  share down to which it evicts, at most {@code high}; default 0.80.
         * @return this.
         */
        public Builder diskWatermarks(final double high, final double low) {
            diskHighWatermark = high;
            diskLowWatermark = low;
            return this;
        }

        /**
         * Sets the read lease.
         *
         * @param ms milliseconds, 0 for none; default 0.
         * @return this.
         */
        public Builder leaseMs(final long ms) {
            leaseMs = ms;
            return this;
        }

        /**
         * Sets how long a put waits for room.
         *
         * @param ms milliseconds; default 10,000.
         * @return this.
         */
        public Builder putTimeoutMs(final long ms) {
            putTimeoutMs = ms;
            return this;
        }

        /**
         * Sets whether a disk hit is copied back to memory.
         *
         * @param promote default true.
         * @return this.
         */
        public Builder promoteOnHit(final boolean promote) {
            promoteOnHit = promote;
            return this;
        }

        /**
         * Sets whether checksums are checked on reads from disk.
         *
         * @param verify default true.
         * @return this.
         */
        public Builder verifyDiskReads(final boolean verify) {
            verifyDiskReads = verify;
            return this;
        }

        /**
         * Sets whether the disk tier goes past the page cache.
         *
         * @param direct default true.
         * @return this.
         */
        public Builder directIo(final boolean direct) {
            directIo = direct;
            return this;
        }

        /**
         * Sets the number of threads for blocking disk calls.
         *
         * @param threads 1 to 256; default 4.
         * @return this.
         */
        public Builder ioThreads(final int threads) {
            ioThreads = threads;
            return this;
        }

        /**
         * Sets how long closing waits for running calls.
         *
         * @param ms milliseconds; default 30,000.
         * @return this.
         */
        public Builder closeTimeoutMs(final long ms) {
            closeTimeoutMs = ms;
            return this;
        }

        /**
         * Validates.
         *
         * @return the settings.
         * @throws StoreException INVALID_PARAMS, naming the setting, the value and what is allowed.
         */
        public StoreConfig build() {
            return new StoreConfig(memoryBytes, hugePages, directory, diskBytes, highWatermark, evictionRatio,
                diskHighWatermark, diskLowWatermark, leaseMs, putTimeoutMs, promoteOnHit, verifyDiskReads, directIo,
                ioThreads, closeTimeoutMs);
        }
    }
}
