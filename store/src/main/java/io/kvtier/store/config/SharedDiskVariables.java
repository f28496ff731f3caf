package io.kvtier.store.config;

import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.Locale;
import java.util.Optional;
import java.util.function.LongPredicate;

/**
 * The shared disk (page mode) as the environment asks for it, see {@code store/OPERATIONS.md}. The master and all its
 * clients have the same layout.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param layout      {@link #ROOT_DIR}, {@link #BUCKET_COUNT}, {@link #PAGE_SIZE}, {@link #BUCKET_SIZE}: where the
 *                    files are and how they are divided.
 * @param fileSystem  {@link #FS_TYPE}: by what they are read and written.
 * @param healthCheck {@link #HEALTH_CHECK}: whether a store looks at the file system before it uses it.
 * @param readOnly    {@link #READ_ONLY}: whether a store only reads there.
 */
public record SharedDiskVariables(PageLayout layout, FileSystem fileSystem, boolean healthCheck, boolean readOnly) {
    /** Whether there is a shared disk; without it the others are not looked at. */
    public static final String PAGE_MODE = "MOONCAKE_DISTRIBUTED_PAGE_MODE";
    /** The folder that all hosts mount. */
    public static final String ROOT_DIR = "MOONCAKE_DISTRIBUTED_ROOT_DIR";
    /** By what the files are read and written. */
    public static final String FS_TYPE = "MOONCAKE_DISTRIBUTED_FS_TYPE";
    /** How many files. */
    public static final String BUCKET_COUNT = "MOONCAKE_DISTRIBUTED_BUCKET_COUNT";
    /** Bytes of a page. */
    public static final String PAGE_SIZE = "MOONCAKE_DISTRIBUTED_PAGE_SIZE";
    /** Bytes of a file. */
    public static final String BUCKET_SIZE = "MOONCAKE_DISTRIBUTED_BUCKET_SIZE";
    /** Whether the file system is looked at first. */
    public static final String HEALTH_CHECK = "MOONCAKE_DISTRIBUTED_HEALTH_CHECK";
    /** Whether values are only read there. */
    public static final String READ_ONLY = "MOONCAKE_DISTRIBUTED_READ_ONLY";

    /** What holds where nothing else is said, once {@link #PAGE_MODE} is. */
    public static final SharedDiskVariables DEFAULT =
        new SharedDiskVariables(new PageLayout("/mnt/3fs/mooncake", 256, 64L << 10, 4L << 30), FileSystem.HF3FS, true,
            false);

    private static final long LEAST_PAGE_BYTES = ReplicaDescriptor.DistributedDisk.UNIT_BYTES;
    private static final String WITHOUT = "; or set " + PAGE_MODE + " to false";

    /** By what shared files are read and written. */
    public enum FileSystem {
        /** System calls on any file system that is mounted, 3FS by FUSE among them. */
        POSIX,
        /** USRBIO of 3FS. */
        HF3FS;

        /**
         * Its name in a configuration.
         *
         * @return lower case.
         */
        public String configName() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * Reads the variables.
     *
     * @param environment where they are looked for.
     * @return what they say; empty when there is to be no shared disk.
     * @throws IllegalArgumentException when one is wrong: names it, its value, and what to do.
     */
    public static Optional<SharedDiskVariables> from(final Environment environment) {
        if (!GdsVariables.flag(environment, PAGE_MODE, false)) {
            return Optional.empty();
        }
        final PageLayout usual = DEFAULT.layout;
        final long buckets = number(environment, BUCKET_COUNT, usual.buckets(),
            value -> value >= 1 && value <= PageLayout.MAX_BUCKETS, "a whole number from 1 to "
                + PageLayout.MAX_BUCKETS);
        final long page = number(environment, PAGE_SIZE, usual.pageBytes(), value -> value >= LEAST_PAGE_BYTES
            && value <= PageLayout.MAX_PAGE_BYTES && Long.bitCount(value) == 1, "a power of two, in bytes, from "
                + LEAST_PAGE_BYTES + " to " + PageLayout.MAX_PAGE_BYTES);
        final long bytes = number(environment, BUCKET_SIZE, usual.bucketBytes(),
            value -> value >= page && value <= PageLayout.MAX_BUCKET_BYTES && value % page == 0,
            "a positive multiple of " + PAGE_SIZE + ", which is " + page + ", in bytes, at most "
                + PageLayout.MAX_BUCKET_BYTES);
        return Optional.of(new SharedDiskVariables(layout(environment, (int) buckets, page, bytes),
            fileSystem(environment), GdsVariables.flag(environment, HEALTH_CHECK, DEFAULT.healthCheck),
            GdsVariables.flag(environment, READ_ONLY, DEFAULT.readOnly)));
    }

    /** The numbers are right by then; what is wrong is wrong with the folder. */
    private static PageLayout layout(final Environment environment, final int buckets, final long page,
        final long bytes) {
        final String root = environment.get(ROOT_DIR).orElse(DEFAULT.layout.rootDir());
        try {
            return new PageLayout(root, buckets, page, bytes);
        } catch (final IllegalArgumentException e) {
            throw new IllegalArgumentException(ROOT_DIR + " is '" + root + "'; it must be the absolute path of a folder"
                + ", the same on all hosts, without '.' and '..' (" + e.getMessage() + ')' + WITHOUT, e);
        }
    }

    private static FileSystem fileSystem(final Environment environment) {
        final String text = environment.get(FS_TYPE).orElse(DEFAULT.fileSystem.configName());
        for (final FileSystem one : FileSystem.values()) {
            if (one.configName().equals(text)) {
                return one;
            }
        }
        throw GdsVariables.wrong(FS_TYPE, text, "posix (any file system that all hosts mount) or hf3fs; unset it for "
            + DEFAULT.fileSystem.configName());
    }

    private static long number(final Environment environment, final String name, final long byDefault,
        final LongPredicate allowed, final String inWords) {
        final Optional<String> text = environment.get(name);
        if (text.isEmpty()) {
            return byDefault;
        }
        try {
            final long value = Long.parseLong(text.get());
            if (allowed.test(value)) {
                return value;
            }
        } catch (final NumberFormatException e) {
            throw GdsVariables.wrong(name, text.get(), inWords + "; unset it for " + byDefault);
        }
        throw GdsVariables.wrong(name, text.get(), inWords + "; unset it for " + byDefault);
    }
}
