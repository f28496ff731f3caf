package io.kvtier.store.cli.bench;

import io.kvtier.bindings.Availability;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.SharedDiskVariables.FileSystem;
import io.kvtier.store.storage.shared.FileSystemAdapter;
import io.kvtier.store.storage.shared.SharedFileSystems;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.file.UringConfig;
import io.kvtier.transport.file.UringTransport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Folders for the files of a row, which are read and written past the page cache, or not at all. */
final class DirectFolders {
    private static final int THREADS = 4;

    private DirectFolders() {
    }

    /** Files as a store has them: several reads at once by io_uring where that can be had, one by the caller. */
    static FileSystemAdapter files(final Rig rig) {
        return rig.keep(SharedFileSystems.open(FileSystem.POSIX, FileOpener.POSIX,
            () -> TransferEngine.open(TransferConfig.DEFAULT, List.of(new UringTransport(UringConfig.DEFAULT, true),
                new PosixTransport(THREADS, true)))), FileSystemAdapter::close);
    }

    /** Whether files in a folder can be read past the page cache: else rows would show the speed of memory. */
    static Availability here(final Path folder) {
        try (Rig rig = new Rig()) {
            return files(rig).pastTheCache(folder.toString());
        } catch (final StoreException e) {
            return Availability.no(e.getMessage(), "name another folder");
        }
    }

    /** A new folder, which goes with all that is in it when the rig is closed, so that each row begins with none. */
    static Path make(final Rig rig, final Path parent, final String prefix) throws IOException {
        return rig.keep(Files.createTempDirectory(parent.toRealPath(), prefix), DirectFolders::delete);
    }

    private static void delete(final Path folder) {
        try (Stream<Path> all = Files.walk(folder)) {
            for (final Path one : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(one);
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
