package io.kvtier.store.config;

import io.kvtier.store.replica.KeyFolder;
import io.kvtier.store.replica.PageLayout;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * What a master is told once, be it a process or a part of an embedded store: the one class of these settings. All
 * times are milliseconds. What {@code kvtier master} can be told, and what holds when it is not, stands in
 * {@link MasterOption} alone; a value that is out of range is refused by the name of its option.
 *
 * @param eviction      when memory and block devices are evicted from.
 * @param leaseMs       how long a value that was read stays.
 * @param remoteReaders whether descriptors leave the process: then freed room rests until no lease can be left on it.
 * @param diskRetryMs   how long a disk that failed is sent nothing.
 * @param liveness      what becomes of clients and writes that are not heard of any more.
 * @param pins          how long soft pins last.
 * @param tasks         limits of copies and moves.
 * @param strictTenants whether a tenant needs a quota before it can store anything.
 * @param strategy      where new replicas are placed.
 * @param pages         the files that all clients mount.
 * @param files         where each new value gets a file for itself as well.
 */
public record MasterSettings(Eviction eviction, long leaseMs, boolean remoteReaders, long diskRetryMs,
                             Liveness liveness, Pins pins, Tasks tasks, boolean strictTenants, Strategy strategy,
                             Pages pages, FileReplicas files) {
    /** For how long a disk that failed is sent nothing by a master that is a process. */
    static final long DISK_RETRY_MS = 10_000;

    /**
     * Validates.
     *
     * @throws IllegalArgumentException naming the option, the value and what is allowed.
     */
    public MasterSettings {
        Objects.requireNonNull(eviction, "eviction");
        Objects.requireNonNull(liveness, "liveness");
        Objects.requireNonNull(pins, "pins");
        Objects.requireNonNull(tasks, "tasks");
        Objects.requireNonNull(strategy, "strategy");
        Objects.requireNonNull(pages, "pages");
        Objects.requireNonNull(files, "files");
        notNegative(MasterOption.DEFAULT_KV_LEASE_TTL.key(), leaseMs);
        notNegative("diskRetryMs", diskRetryMs);
    }

    /**
     * Without page mode.
     *
     * @param eviction      when memory and block devices are evicted from.
     * @param leaseMs       how long a value that was read stays.
     * @param remoteReaders whether descriptors leave the process.
     * @param diskRetryMs   how long a disk that failed is sent nothing.
     * @param liveness      what becomes of clients and writes that are not heard of any more.
     * @param pins          how long soft pins last.
     * @param tasks         limits of copies and moves.
     * @param strictTenants whether a tenant needs a quota before it can store anything.
     * @param strategy      where new replicas are placed.
     */
    @SuppressWarnings("checkstyle:ParameterNumber") // The components of a record, but for one.
    public MasterSettings(final Eviction eviction, final long leaseMs, final boolean remoteReaders,
        final long diskRetryMs, final Liveness liveness, final Pins pins, final Tasks tasks,
        final boolean strictTenants, final Strategy strategy) {
        this(eviction, leaseMs, remoteReaders, diskRetryMs, liveness, pins, tasks, strictTenants, strategy, Pages.OFF);
    }

    /**
     * Without files of single values.
     *
     * @param eviction      when memory and block devices are evicted from.
     * @param leaseMs       how long a value that was read stays.
     * @param remoteReaders whether descriptors leave the process.
     * @param diskRetryMs   how long a disk that failed is sent nothing.
     * @param liveness      what becomes of clients and writes that are not heard of any more.
     * @param pins          how long soft pins last.
     * @param tasks         limits of copies and moves.
     * @param strictTenants whether a tenant needs a quota before it can store anything.
     * @param strategy      where new replicas are placed.
     * @param pages         the files that all clients mount.
     */
    @SuppressWarnings("checkstyle:ParameterNumber") // The components of a record, but for one.
    public MasterSettings(final Eviction eviction, final long leaseMs, final boolean remoteReaders,
        final long diskRetryMs, final Liveness liveness, final Pins pins, final Tasks tasks,
        final boolean strictTenants, final Strategy strategy, final Pages pages) {
        this(eviction, leaseMs, remoteReaders, diskRetryMs, liveness, pins, tasks, strictTenants, strategy, pages,
            FileReplicas.NONE);
    }

    /**
     * The same with other pages.
     *
     * @param changed the files that all clients mount.
     * @return other settings.
     */
    public MasterSettings withPages(final Pages changed) {
        return new MasterSettings(eviction, leaseMs, remoteReaders, diskRetryMs, liveness, pins, tasks, strictTenants,
            strategy, changed, files);
    }

    /**
     * The same with files of single values elsewhere.
     *
     * @param changed where they are.
     * @return other settings.
     */
    public MasterSettings withFiles(final FileReplicas changed) {
        return new MasterSettings(eviction, leaseMs, remoteReaders, diskRetryMs, liveness, pins, tasks, strictTenants,
            strategy, pages, changed);
    }

    private static void notNegative(final String name, final long ms) {
        if (ms < 0) {
            throw new IllegalArgumentException(name + " is " + ms + "ms; it must not be negative");
        }
    }

    /** Where replicas are placed that name no segment. */
    public enum Strategy {
        /** Anywhere. */
        RANDOM,
        /** Where the largest share is free, among a few that are looked at. */
        FREE_RATIO_FIRST,
        /**
         * Where its owner's disk has the largest share free, among a few that are looked at, so that what is evicted
         * has somewhere to go; memory decides where these are equal. An owner without a disk comes last.
         */
        SSD_FREE_RATIO_FIRST,
        /** On the writer's host, then on the one whose name comes next, and so on round. */
        LOCAL_FIRST;

        /**
         * Its name in a configuration.
         *
         * @return lower case.
         */
        public String configName() {
            return name().toLowerCase(Locale.ROOT);
        }

        static List<String> configNames() {
            return Stream.of(values()).map(Strategy::configName).toList();
        }

        static Strategy of(final String configName) {
            return valueOf(configName.toUpperCase(Locale.ROOT));
        }
    }

    /**
     * When room is made. Ratios are from 0 to 1.
     *
     * @param highWatermark share of memory above which values are evicted.
     * @param ratio         share that an eviction frees below the watermark.
     * @param nofHighWatermark as {@code highWatermark}, of block devices.
     * @param nofRatio      as {@code ratio}, of block devices.
     * @param softPinned    whether soft-pinned values may be evicted when nothing else is left.
     */
    public record Eviction(double highWatermark, double ratio, double nofHighWatermark, double nofRatio,
                           boolean softPinned) {
        /** What a master process has when nothing is said. */
        public static final Eviction DEFAULT = of(MasterValues.DEFAULT);

        /**
         * Validates.
         *
         * @throws IllegalArgumentException naming the option, the value and what is allowed.
         */
        public Eviction {
            MasterOption.EVICTION_HIGH_WATERMARK_RATIO.check(highWatermark);
            MasterOption.EVICTION_RATIO.check(ratio);
            MasterOption.NOF_EVICTION_HIGH_WATERMARK_RATIO.check(nofHighWatermark);
            MasterOption.NOF_EVICTION_RATIO.check(nofRatio);
        }

        static Eviction of(final MasterValues values) {
            return new Eviction(values.share(MasterOption.EVICTION_HIGH_WATERMARK_RATIO),
                values.share(MasterOption.EVICTION_RATIO), values.share(MasterOption.NOF_EVICTION_HIGH_WATERMARK_RATIO),
                values.share(MasterOption.NOF_EVICTION_RATIO),
                values.flag(MasterOption.ALLOW_EVICT_SOFT_PINNED_OBJECTS));
        }
    }

    /**
     * How long the master waits for those it does not hear of.
     *
     * @param clientTtlMs a client without a ping for this long is taken for dead.
     * @param discardMs   a write not ended for this long may be replaced by another one.
     * @param releaseMs   a write, copy, promotion or offload not ended for this long is given up and its room freed;
     *                    more than {@code discardMs}, and longer than any client goes on writing.
     * @param nofFailures failed probes in a row after which a block device is unmounted.
     */
    public record Liveness(long clientTtlMs, long discardMs, long releaseMs, int nofFailures) {
        /** Nobody is ever given up: for a master that lives and dies with its only client. */
        public static final Liveness FOREVER =
            new Liveness(Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE, Integer.MAX_VALUE);

        /**
         * Validates.
         *
         * @throws IllegalArgumentException naming the option, the value and what is allowed.
         */
        public Liveness {
            notNegative(MasterOption.CLIENT_TTL.key(), clientTtlMs);
            notNegative(MasterOption.PUT_START_DISCARD_TIMEOUT_SEC.key(), discardMs);
            if (releaseMs <= discardMs && releaseMs < Long.MAX_VALUE) {
                throw new IllegalArgumentException(MasterOption.PUT_START_RELEASE_TIMEOUT_SEC.key() + " is " + releaseMs
                    + "ms; it must be more than " + MasterOption.PUT_START_DISCARD_TIMEOUT_SEC.key() + ", which is "
                    + discardMs + "ms");
            }
            if (nofFailures < 1) {
                throw new IllegalArgumentException(MasterOption.NOF_HEARTBEAT_FAILURES_THRESHOLD.key() + " is "
                    + nofFailures + "; it must be 1 or more");
            }
        }

        static Liveness of(final MasterValues values) {
            return new Liveness(values.ms(MasterOption.CLIENT_TTL),
                values.ms(MasterOption.PUT_START_DISCARD_TIMEOUT_SEC),
                values.ms(MasterOption.PUT_START_RELEASE_TIMEOUT_SEC),
                values.whole(MasterOption.NOF_HEARTBEAT_FAILURES_THRESHOLD));
        }

        /**
         * When nothing that was begun at a time can be under way any more.
         *
         * @param startMs the time.
         * @return milliseconds of the same clock.
         */
        public long overMs(final long startMs) {
            return releaseMs > Long.MAX_VALUE - startMs ? Long.MAX_VALUE : startMs + releaseMs;
        }
    }

    /**
     * How long soft pins last.
     *
     * @param defaultMs when a put does not say.
     * @param maxMs     at most.
     */
    public record Pins(long defaultMs, long maxMs) {
        /** What a master process has when nothing is said: half an hour, a day at most. */
        public static final Pins DEFAULT = of(MasterValues.DEFAULT);

        /**
         * Validates.
         *
         * @throws IllegalArgumentException naming the option, the value and what is allowed.
         */
        public Pins {
            MasterOption.DEFAULT_KV_SOFT_PIN_TTL.check(defaultMs);
            MasterOption.MAX_KV_SOFT_PIN_TTL.check(maxMs);
            if (defaultMs > maxMs) {
                throw new IllegalArgumentException(MasterOption.DEFAULT_KV_SOFT_PIN_TTL.key() + " is " + defaultMs
                    + "ms; it must be at most " + MasterOption.MAX_KV_SOFT_PIN_TTL.key() + ", which is " + maxMs
                    + "ms");
            }
        }

        static Pins of(final MasterValues values) {
            return new Pins(values.ms(MasterOption.DEFAULT_KV_SOFT_PIN_TTL),
                values.ms(MasterOption.MAX_KV_SOFT_PIN_TTL));
        }
    }

    /**
     * Limits of copy and move tasks.
     *
     * @param pending      most that wait.
     * @param processing   most that are under way.
     * @param finished     most that are remembered.
     * @param pendingMs    how long one waits before it has failed; 0 for ever.
     * @param processingMs how long one is under way before it has failed; 0 for ever.
     * @param tries        how often a drain tries to move one replica, the first time included; 1 or more.
     */
    public record Tasks(int pending, int processing, int finished, long pendingMs, long processingMs, int tries) {
        /** What a master process has when nothing is said: ten thousand of each kind, five minutes, eleven tries. */
        public static final Tasks DEFAULT = of(MasterValues.DEFAULT);

        /**
         * Validates.
         *
         * @throws IllegalArgumentException naming the option, the value and what is allowed.
         */
        public Tasks {
            MasterOption.MAX_TOTAL_PENDING_TASKS.check((long) pending);
            MasterOption.MAX_TOTAL_PROCESSING_TASKS.check((long) processing);
            MasterOption.MAX_TOTAL_FINISHED_TASKS.check((long) finished);
            MasterOption.PENDING_TASK_TIMEOUT_SEC.check(pendingMs);
            MasterOption.PROCESSING_TASK_TIMEOUT_SEC.check(processingMs);
            MasterOption.MAX_RETRY_ATTEMPTS.check(tries - 1L);
        }

        /** The first try is none of the retries. */
        static Tasks of(final MasterValues values) {
            return new Tasks(values.whole(MasterOption.MAX_TOTAL_PENDING_TASKS),
                values.whole(MasterOption.MAX_TOTAL_PROCESSING_TASKS),
                values.whole(MasterOption.MAX_TOTAL_FINISHED_TASKS), values.ms(MasterOption.PENDING_TASK_TIMEOUT_SEC),
                values.ms(MasterOption.PROCESSING_TASK_TIMEOUT_SEC),
                values.whole(MasterOption.MAX_RETRY_ATTEMPTS) + 1);
        }
    }

    /**
     * Page mode: values go to files that all clients mount, and are read from there by any of them.
     *
     * @param layout        where the files are and how they are divided; null when there is no page mode.
     * @param clusterId     what the cluster is called, in the marker beside the files.
     * @param highWatermark share of the pages above which values are evicted from there.
     * @param ratio         share that an eviction frees below the watermark.
     * @param offloadAtPut  whether a value is copied there as soon as it is written, and not only when its memory is
     *                      wanted for others.
     * @param promotion     which values come back to memory.
     */
    public record Pages(PageLayout layout, String clusterId, double highWatermark, double ratio,
                        boolean offloadAtPut, Promotion promotion) {
        /** No page mode. */
        public static final Pages OFF = of(MasterValues.DEFAULT);

        /**
         * Validates.
         *
         * @throws IllegalArgumentException naming the option, the value and what is allowed.
         */
        public Pages {
            MasterOption.CLUSTER_ID.check(clusterId);
            MasterOption.DISTRIBUTED_EVICTION_HIGH_WATERMARK_RATIO.check(highWatermark);
            MasterOption.DISTRIBUTED_EVICTION_RATIO.check(ratio);
            Objects.requireNonNull(promotion, "promotion");
        }

        static Pages of(final MasterValues values) {
            return new Pages(layout(values), values.text(MasterOption.CLUSTER_ID),
                values.share(MasterOption.DISTRIBUTED_EVICTION_HIGH_WATERMARK_RATIO),
                values.share(MasterOption.DISTRIBUTED_EVICTION_RATIO),
                values.flag(MasterOption.DISTRIBUTED_OFFLOAD_AT_PUT), Promotion.of(values));
        }

        private static PageLayout layout(final MasterValues values) {
            if (!values.flag(MasterOption.DISTRIBUTED_PAGE_MODE)) {
                return null;
            }
            try {
                return new PageLayout(values.text(MasterOption.DISTRIBUTED_ROOT_DIR),
                    values.whole(MasterOption.DISTRIBUTED_BUCKET_COUNT),
                    values.number(MasterOption.DISTRIBUTED_PAGE_SIZE),
                    values.number(MasterOption.DISTRIBUTED_BUCKET_SIZE));
            } catch (final IllegalArgumentException e) {
                throw new IllegalArgumentException(e.getMessage() + "; see "
                    + MasterOption.DISTRIBUTED_ROOT_DIR.key() + ", " + MasterOption.DISTRIBUTED_BUCKET_COUNT.key()
                    + ", " + MasterOption.DISTRIBUTED_PAGE_SIZE.key() + " and "
                    + MasterOption.DISTRIBUTED_BUCKET_SIZE.key(), e);
            }
        }

        /**
         * Whether there is page mode.
         *
         * @return true when there is.
         */
        public boolean isOn() {
            return layout != null;
        }
    }

    /**
     * DISK replicas: each new value gets a file for itself, in a folder that all clients mount.
     *
     * @param folder     the folder; {@link KeyFolder#NONE} for no such files.
     * @param quotaBytes most bytes of values in them; 0 for nine tenths of the file system, as far as a client tells.
     * @param evicts     whether the oldest make room for new ones.
     */
    public record FileReplicas(KeyFolder folder, long quotaBytes, boolean evicts) {
        /** No such files. */
        public static final FileReplicas NONE = new FileReplicas(KeyFolder.NONE, 0, true);

        /**
         * Validates.
         *
         * @throws IllegalArgumentException naming the option, the value and what is allowed.
         */
        public FileReplicas {
            Objects.requireNonNull(folder, "folder");
            MasterOption.QUOTA_BYTES.check(quotaBytes);
        }

        static FileReplicas of(final MasterValues values) {
            try {
                return new FileReplicas(KeyFolder.of(values.text(MasterOption.ROOT_FS_DIR),
                    values.text(MasterOption.CLUSTER_ID)), values.number(MasterOption.QUOTA_BYTES),
                    values.flag(MasterOption.ENABLE_DISK_EVICTION));
            } catch (final IllegalArgumentException e) {
                throw new IllegalArgumentException(e.getMessage() + "; see " + MasterOption.ROOT_FS_DIR.key(), e);
            }
        }
    }

    /**
     * Which values are copied from the shared files to memory because they are read often.
     *
     * @param onHit      whether any are.
     * @param threshold  reads after which one is, 1 to 255.
     * @param queueLimit most that wait to be copied or are being copied.
     */
    public record Promotion(boolean onHit, int threshold, int queueLimit) {
        /**
         * Validates.
         *
         * @throws IllegalArgumentException naming the option, the value and what is allowed.
         */
        public Promotion {
            MasterOption.PROMOTION_ADMISSION_THRESHOLD.check((long) threshold);
            MasterOption.PROMOTION_QUEUE_LIMIT.check((long) queueLimit);
        }

        static Promotion of(final MasterValues values) {
            return new Promotion(values.flag(MasterOption.PROMOTION_ON_HIT),
                values.whole(MasterOption.PROMOTION_ADMISSION_THRESHOLD),
                values.whole(MasterOption.PROMOTION_QUEUE_LIMIT));
        }
    }

    /** For a master that is a process. */
    static MasterSettings of(final MasterValues values) {
        return new MasterSettings(Eviction.of(values), values.ms(MasterOption.DEFAULT_KV_LEASE_TTL), true,
            DISK_RETRY_MS, Liveness.of(values), Pins.of(values), Tasks.of(values),
            values.flag(MasterOption.ENABLE_MULTI_TENANTS),
            Strategy.of(values.text(MasterOption.ALLOCATION_STRATEGY)), Pages.of(values),
            FileReplicas.of(values));
    }

    /**
     * For a master in the process of its only client.
     *
     * @param highWatermark share of memory above which values are evicted.
     * @param ratio         share that an eviction frees below the watermark.
     * @param leaseMs       how long a value that was read stays.
     * @param diskRetryMs   how long a disk that failed is sent nothing.
     * @return settings under which time alone ends nothing but leases and pins.
     */
    public static MasterSettings embedded(final double highWatermark, final double ratio, final long leaseMs,
        final long diskRetryMs) {
        return new MasterSettings(new Eviction(highWatermark, ratio, highWatermark, ratio, true), leaseMs, false,
            diskRetryMs, Liveness.FOREVER, Pins.DEFAULT, Tasks.DEFAULT, false, Strategy.RANDOM);
    }
}
