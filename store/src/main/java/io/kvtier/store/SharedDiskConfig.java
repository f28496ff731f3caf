package io.kvtier.store;

import io.kvtier.store.config.SharedDiskVariables;
import io.kvtier.store.config.SharedDiskVariables.FileSystem;
import io.kvtier.store.replica.PageLayout;
import java.util.Objects;

/**
 * The shared disk: files on a file system that all hosts mount, in which values lie that belong to no client
 * (DISTRIBUTED_DISK, page mode). Immutable; {@link #NONE} with changes. The master and all its clients have the same
 * folder, number and size of files, and size of pages.
 *
 * @param layout      where the files are and how they are divided; null for no shared disk.
 * @param fileSystem  by what they are read and written.
 * @param healthCheck whether a store looks at the file system before it uses it, and is not opened where it will not
 *                    do.
 * @param readOnly    whether values there are read only: the mount need not be writable then, and what memory of this
 *                    client has no room for does not go there.
 */
public record SharedDiskConfig(PageLayout layout, FileSystem fileSystem, boolean healthCheck, boolean readOnly) {
    /** No shared disk. */
    public static final SharedDiskConfig NONE = new SharedDiskConfig(null, SharedDiskVariables.DEFAULT.fileSystem(),
        SharedDiskVariables.DEFAULT.healthCheck(), SharedDiskVariables.DEFAULT.readOnly());

    /**
     * Validates.
     *
     * @throws NullPointerException when there is no file system.
     */
    public SharedDiskConfig {
        Objects.requireNonNull(fileSystem, "fileSystem");
    }

    /**
     * What the environment asks for.
     *
     * @param variables read from it.
     * @return settings.
     */
    public static SharedDiskConfig of(final SharedDiskVariables variables) {
        return new SharedDiskConfig(variables.layout(), variables.fileSystem(), variables.healthCheck(),
            variables.readOnly());
    }

    /**
     * Whether there is one.
     *
     * @return false for {@link #NONE}.
     */
    public boolean isThere() {
        return layout != null;
    }

    /**
     * In a folder, with the usual 256 files of 4 GiB in pages of 64 KiB.
     *
     * @param rootDir absolute path, the same on all hosts.
     * @return changed settings.
     * @throws StoreException INVALID_PARAMS, when it is none.
     */
    public SharedDiskConfig in(final String rootDir) {
        final PageLayout usual = SharedDiskVariables.DEFAULT.layout();
        return in(rootDir, usual.buckets(), usual.pageBytes(), usual.bucketBytes());
    }

    /**
     * In a folder.
     *
     * @param rootDir     absolute path, the same on all hosts.
     * @param buckets     how many files, 1 to {@link PageLayout#MAX_BUCKETS}.
     * @param pageBytes   a power of two from 4,096 to {@link PageLayout#MAX_PAGE_BYTES}; a value takes whole
     *                    pages.
     * @param bucketBytes bytes of a file, a multiple of {@code pageBytes}, to {@link PageLayout#MAX_BUCKET_BYTES}.
     * @return changed settings.
     * @throws StoreException INVALID_PARAMS, naming the value and what is allowed.
     */
    public SharedDiskConfig in(final String rootDir, final int buckets, final long pageBytes, final long bucketBytes) {
        try {
            return new SharedDiskConfig(new PageLayout(rootDir, buckets, pageBytes, bucketBytes), fileSystem,
                healthCheck, readOnly);
        } catch (final IllegalArgumentException e) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, e.getMessage(), e);
        }
    }

    /**
     * By other means.
     *
     * @param means by what the files are read and written.
     * @return changed settings.
     */
    public SharedDiskConfig withFileSystem(final FileSystem means) {
        return new SharedDiskConfig(layout, means, healthCheck, readOnly);
    }

    /**
     * With or without a look at the file system first.
     *
     * @param look whether a store looks at it.
     * @return changed settings.
     */
    public SharedDiskConfig withHealthCheck(final boolean look) {
        return new SharedDiskConfig(layout, fileSystem, look, readOnly);
    }

    /**
     * For reading alone, or for both.
     *
     * @param only whether values there are read only.
     * @return changed settings.
     */
    public SharedDiskConfig withReadOnly(final boolean only) {
        return new SharedDiskConfig(layout, fileSystem, healthCheck, only);
    }
}
