package io.kvtier.store.cli.bench;

import io.kvtier.store.GdsConfig;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Opens embedded stores with GDS offload, each with a file on the workspace's disk that is as large as the file of the
 * peer. Everything else is as a store has it unless it is told otherwise, a warm restart included.
 *
 * <p><b>Threading:</b> immutable.
 */
record OffloadStores(Workspace workspace) {
    /** Less than any value: all of them go to the file alone. */
    static final long NO_MEMORY = StoreConfig.UNIT_BYTES;
    /** What a store has beside its file. */
    private static final List<String> SUFFIXES = List.of("", ".index", ".lock");

    /**
     * Opens a store; its file goes when the rig is closed, so that the next row starts with none.
     *
     * @param rig    keeps it.
     * @param config what the store is like otherwise.
     * @param mover  what moves the bytes; one store of a rig with each.
     * @return the store.
     */
    Store open(final Rig rig, final StoreConfig.Builder config, final GdsConfig.Mover mover) {
        final Path file = rig.keep(file(mover), OffloadStores::delete);
        return rig.keep(Store.open(config.gds(config(file, mover)).build()), Store::close);
    }

    /** Settings of the file. */
    GdsConfig config(final GdsConfig.Mover mover) {
        return config(file(mover), mover);
    }

    private GdsConfig config(final Path file, final GdsConfig.Mover mover) {
        return GdsConfig.NONE.withRoom(file, workspace.fileBytes()).withTransport(mover);
    }

    private Path file(final GdsConfig.Mover mover) {
        return workspace.directory().resolve("values-" + mover.kind().configName());
    }

    private static void delete(final Path file) {
        try {
            for (final String suffix : SUFFIXES) {
                Files.deleteIfExists(Path.of(file + suffix));
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
