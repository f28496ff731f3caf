package io.kvtier.store.client.engine;

import io.kvtier.alloc.SharedRegion;
import io.kvtier.bindings.NativeException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Memory of this process that others of the host may map.
 *
 * @param directory on tmpfs or hugetlbfs, where its files are made.
 */
public record SharedMemory(Path directory) {
    private static final System.Logger LOG = System.getLogger(SharedMemory.class.getName());

    /** In the system's own folder. */
    static final SharedMemory SYSTEM = new SharedMemory(SharedRegion.DEFAULT_DIRECTORY);

    /**
     * Makes some. A process that was killed has left its own, which nobody uses any more and which would be missing:
     * it is removed before.
     *
     * @param bytes how much.
     * @param token what others show to map it.
     * @return the memory, zeroed.
     */
    public SharedRegion create(final long bytes, final byte[] token) {
        removeStale();
        return SharedRegion.create(directory, bytes, token);
    }

    private void removeStale() {
        try {
            final List<Path> removed = SharedRegion.removeStale(directory);
            if (!removed.isEmpty()) {
                LOG.log(System.Logger.Level.INFO, "removed shared memory that processes left when they died: {0}",
                    removed);
            }
        } catch (final NativeException | UncheckedIOException e) {
            // There may be room enough all the same.
            LOG.log(System.Logger.Level.WARNING, "shared memory of dead processes could not be looked for: {0}",
                e.getMessage());
        }
    }
}
