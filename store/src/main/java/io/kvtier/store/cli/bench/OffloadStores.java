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
     * @param gds    of {@link #config}, or that with changes.
     * @return the store.
     */
    Store open(final Rig rig, final StoreConfig.Builder config, final GdsConfig gds) {
        rig.keep(gds.file(), OffloadStores::delete);
        return rig.keep(Store.open(config.gds(gds).build()), Store::close);
    }

    /** Settings of a file, one for each that can move the bytes. */
    GdsConfig config(final GdsConfig.Mover mover) {
        return GdsConfig.NONE.withRoom(file(mover), workspace.fileBytes()).withTransport(mover);
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
