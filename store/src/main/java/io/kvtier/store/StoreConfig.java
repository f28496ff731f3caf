package io.kvtier.store;

import io.kvtier.alloc.extent.ExtentAllocator;
import io.kvtier.store.config.MasterSettings;
import java.nio.file.Path;
import java.util.Objects;

/**
 * What an embedded store may use. Immutable; made with {@link #builder()}, changed with {@link #toBuilder()}. A setting
 * that is wrong is refused by its name, its value and what is allowed.
 */
public final class StoreConfig {
    /** Everything is allocated in multiples of this many bytes: what direct I/O needs on every disk. */
    public static final long UNIT_BYTES = ExtentAllocator.DEFAULT_UNIT_BYTES;
    /** Largest capacity of one tier in bytes. */
    public static final long MAX_TIER_BYTES = ExtentAllocator.MAX_CAPACITY_BYTES;

    private final Memory memory;
    private final DiskConfig disk;
    /** Null when nothing was said. */
    private final GdsConfig gds;
    private final long leaseMs;
    private final boolean verifyDiskReads;
    private final long putTimeoutMs;
    private final long closeTimeoutMs;

    /**
     * The memory tier.
     *
     * @param bytes         its capacity, at least {@link #UNIT_BYTES}; taken from the system page by page when first
     *                      used.
     * @param hugePages     whether to ask for huge pages for it.
     * @param highWatermark share of it, more than 0 and at most 1, above which values are evicted.
     * @param evictionRatio share of it, from 0 to below 1, that an eviction frees below the watermark; 0 with a
     *                      watermark of 1 is exact least-recently-used.
     */
    public record Memory(long bytes, boolean hugePages, double highWatermark, double evictionRatio) {
        /**
         * Validates.
         *
         * @throws StoreException INVALID_PARAMS, naming the setting, the value and what is allowed.
         */
        public Memory {
            Setting.room("memoryBytes", bytes, Setting.ROOM);
            Setting.watermark("highWatermark", highWatermark);
            Setting.share("evictionRatio", evictionRatio, evictionRatio >= 0 && evictionRatio < 1,
                "at least 0 and below 1");
        }
    }

    private StoreConfig(final Builder builder) {
        memory = new Memory(builder.memoryBytes, builder.hugePages, builder.highWatermark, builder.evictionRatio);
        disk = builder.disk;
        gds = builder.gds;
        leaseMs = builder.leaseMs;
        verifyDiskReads = builder.verifyDiskReads;
        putTimeoutMs = builder.putTimeoutMs;
        closeTimeoutMs = builder.closeTimeoutMs;
        Setting.between("leaseMs", leaseMs, 0, Integer.MAX_VALUE, "0 for none, up to 24 days");
        Setting.wait("putTimeoutMs", putTimeoutMs);
        Setting.wait("closeTimeoutMs", closeTimeoutMs);
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

    /**
     * The memory tier.
     *
     * @return its settings.
     */
    public Memory memory() {
        return memory;
    }

    /**
     * The disk tier.
     *
     * @return its settings; {@link DiskConfig#bytes()} is 0 when there is none.
     */
    public DiskConfig disk() {
        return disk;
    }

    /**
     * GDS offload: a file that values are written to by GPUDirect Storage.
     *
     * @return its settings; {@link GdsConfig#bytes()} is 0 when there is none, or when nothing was said of it.
     */
    public GdsConfig gds() {
        return gds == null ? GdsConfig.NONE : gds;
    }

    /**
     * Whether nothing was said of GDS offload, so that the environment of the process decides, see
     * {@code store/OPERATIONS.md}.
     *
     * @return true when {@link #gds()} was not set.
     */
    public boolean isGdsLeftToEnvironment() {
        return gds == null;
    }

    /**
     * For how long a value that was read may be neither evicted nor removed. Reads in progress are always safe; a lease
     * is for those who come back.
     *
     * @return milliseconds; 0 for none.
     */
    public long leaseMs() {
        return leaseMs;
    }

    /**
     * Whether the checksum of a value is checked when it is read from disk.
     *
     * @return true when it is.
     */
    public boolean verifyDiskReads() {
        return verifyDiskReads;
    }

    /**
     * How long a put waits for room at most.
     *
     * @return milliseconds.
     */
    public long putTimeoutMs() {
        return putTimeoutMs;
    }

    /**
     * How long closing waits for running calls.
     *
     * @return milliseconds.
     */
    public long closeTimeoutMs() {
        return closeTimeoutMs;
    }

    /**
     * Collects settings. <b>Threading:</b> one thread. <b>Errors:</b> settings of the disk and of GDS offload
     * are refused where they are given, the others by {@link #build()}.
     */
    public static final class Builder {
        private long memoryBytes = 256L << 20;
        private boolean hugePages;
        private double highWatermark = MasterSettings.Eviction.DEFAULT.highWatermark();
        private double evictionRatio = MasterSettings.Eviction.DEFAULT.ratio();
        private DiskConfig disk = DiskConfig.NONE;
        /** Null when nothing was said. */
        private GdsConfig gds;
        private long leaseMs;
        private boolean verifyDiskReads = true;
        private long putTimeoutMs = 10_000;
        private long closeTimeoutMs = 30_000;

        private Builder() {
        }

        private Builder(final StoreConfig from) {
            memoryBytes = from.memory.bytes();
            hugePages = from.memory.hugePages();
            highWatermark = from.memory.highWatermark();
            evictionRatio = from.memory.evictionRatio();
            disk = from.disk;
            gds = from.gds;
            leaseMs = from.leaseMs;
            verifyDiskReads = from.verifyDiskReads;
            putTimeoutMs = from.putTimeoutMs;
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
            disk = disk.withRoom(where, bytes);
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
         * Sets how values lie in files of the disk.
         *
         * @param kind a backend; null for what {@link DiskBackend#VARIABLE} says, which is the default.
         * @return this.
         */
        public Builder diskBackend(final DiskBackend kind) {
            disk = disk.withBackend(kind);
            return this;
        }

        /**
         * Sets which values go first when the disk has no room for more.
         *
         * @param order default {@link DiskEviction#LRU}.
         * @return this.
         */
        public Builder diskEviction(final DiskEviction order) {
            disk = disk.withEviction(order);
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
            disk = disk.withWatermarks(high, low);
            return this;
        }

        /**
         * Sets GDS offload, whatever the environment says of it. Without this call the environment decides.
         *
         * @param settings {@link GdsConfig#NONE} for none, else that with changes.
         * @return this.
         */
        public Builder gds(final GdsConfig settings) {
            gds = Objects.requireNonNull(settings, "settings");
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
            disk = disk.withPromoteOnHit(promote);
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
            disk = disk.withDirectIo(direct);
            return this;
        }

        /**
         * Sets the number of threads for blocking disk calls.
         *
         * @param threads 1 to 256; default 4.
         * @return this.
         */
        public Builder ioThreads(final int threads) {
            disk = disk.withIoThreads(threads);
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
            return new StoreConfig(this);
        }
    }
}
