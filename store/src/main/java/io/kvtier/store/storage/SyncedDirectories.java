package io.kvtier.store.storage;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashSet;
import java.util.Set;

/**
 * Which directories are there durably: a name of which the sync failed once is not taken for durable because it can be
 * seen.
 *
 * <p><b>Threading:</b> one thread at a time. <b>Blocking:</b> on the disk, for a directory that is not known.
 */
final class SyncedDirectories {
    private final DurableNames names;
    private final Set<Path> durable = new HashSet<>();

    /**
     * Knows of none.
     *
     * @param names makes directories, and the names in them durable, or throws.
     */
    SyncedDirectories(final DurableNames names) {
        this.names = names;
    }

    /** Makes the names in directories durable, and so takes them, which must be in each other, for durable. */
    void syncAll(final Collection<Path> directories) {
        directories.forEach(names::sync);
        durable.addAll(directories);
    }

    /** Makes one directory durably, in one that exists; what was there stays. */
    void add(final Path directory) {
        if (!durable.contains(directory) || !Files.isDirectory(directory)) {
            names.createDirectory(directory);
            names.sync(directory.toAbsolutePath().getParent());
            durable.add(directory);
        }
    }
}
