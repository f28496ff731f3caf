package io.kvtier.store.snapshot.files;

import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.transport.file.DirectoryEntries;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Snapshots in a folder, which may be on a file system that others mount too. */
public final class DirectoryStore implements SnapshotStore {
    /** What a file is called while it is written. */
    static final String UNFINISHED = ".tmp";
    private static final String PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";

    /** Bytes that go to the system in one call. */
    private static final int BUFFER_BYTES = 1 << 16;

    private final Path folder;
    private final FileOpener opener;
    private final DirectoryEntries entries;

    private DirectoryStore(final Path folder, final FileOpener opener) {
        this.folder = folder;
        this.opener = opener;
        this.entries = opener.entries();
    }

    /**
     * As {@link #open(Path, String, FileOpener)}, with files of the system.
     *
     * @param directory where the folders of clusters are.
     * @param clusterId which cluster.
     * @return the store.
     * @throws IOException when the folder cannot be made.
     */
    public static DirectoryStore open(final Path directory, final String clusterId) throws IOException {
        return open(directory, clusterId, FileOpener.POSIX);
    }

    /**
     * Opens a cluster's folder, which is made if there is none, so that a power failure leaves it.
     *
     * @param directory where the folders of clusters are.
     * @param clusterId which cluster.
     * @param opener    opens its files.
     * @return the store.
     * @throws IOException when the folder cannot be made.
     */
    public static DirectoryStore open(final Path directory, final String clusterId, final FileOpener opener)
        throws IOException {
        final DirectoryStore store = new DirectoryStore(directory.resolve(folderName(clusterId)), opener);
        system(() -> store.entries.createDurably(store.folder));
        return store;
    }

    /**
     * Any id as a name that is one of a file, and different for different ids.
     *
     * @param clusterId any text.
     * @return letters, digits, '-', '_', '.' and '%'.
     */
    public static String folderName(final String clusterId) {
        final StringBuilder name = new StringBuilder();
        for (final byte one : clusterId.getBytes(StandardCharsets.UTF_8)) {
            if (PLAIN.indexOf(one) >= 0 && !(one == '.' && name.isEmpty())) {
                name.append((char) one);
            } else {
                name.append('%').append(String.format("%02X", one));
            }
        }
        return name.toString();
    }

    @Override
    public List<String> names() throws IOException {
        final List<String> names = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(folder)) {
            files.forEach(file -> names.add(String.valueOf(file.getFileName())));
        } catch (final DirectoryIteratorException e) {
            throw e.getCause();
        }
        return names;
    }

    @Override
    public Writing create(final String name) throws IOException {
        final Path unfinished = folder.resolve(name + UNFINISHED);
        // One that was left is not written over: what is in such files tells something, and it may have other rights.
        entries.deleteIfExists(unfinished);
        final BlockFile[] file = new BlockFile[1];
        system(() -> file[0] = opener.open(unfinished.toString(), OpenMode.CREATE_NEW));
        return new FileWriting(file[0], unfinished, folder.resolve(name));
    }

    /** A file that has its name when it is whole. */
    private final class FileWriting implements Writing {
        private final BlockFile file;
        private final Path unfinished;
        private final Path finished;
        private final Arena arena = Arena.ofConfined();
        private final MemorySegment buffer = arena.allocate(BUFFER_BYTES);
        private long written;
        private boolean renamed;

        FileWriting(final BlockFile file, final Path unfinished, final Path finished) {
            this.file = file;
            this.unfinished = unfinished;
            this.finished = finished;
        }

        @Override
        public void write(final byte[] bytes, final int length) throws IOException {
            for (int at = 0; at < length; at += BUFFER_BYTES) {
                final MemorySegment part = buffer.asSlice(0, Math.min(BUFFER_BYTES, length - at));
                MemorySegment.copy(bytes, at, part, ValueLayout.JAVA_BYTE, 0, (int) part.byteSize());
                system(() -> BlockIo.writeFully(file, part, written));
                written += part.byteSize();
            }
        }

        @Override
        public void commit() throws IOException {
            system(file::sync);
            entries.rename(unfinished, finished);
            renamed = true;
            // A name is durable when its folder is (fsync(2)).
            system(() -> entries.sync(folder));
        }

        @Override
        public void close() throws IOException {
            try {
                file.close();
            } finally {
                if (arena.scope().isAlive()) {
                    arena.close();
                }
            }
            if (!renamed) {
                entries.deleteIfExists(unfinished);
            }
        }
    }

    /** Calls of the system that say by an exception of their own that they failed. */
    private interface Calls {
        void run() throws IOException;
    }

    private static void system(final Calls calls) throws IOException {
        try {
            calls.run();
        } catch (final NativeException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    @Override
    public InputStream read(final String name) throws IOException {
        return Files.newInputStream(folder.resolve(name));
    }

    @Override
    public void delete(final String name) throws IOException {
        entries.deleteIfExists(folder.resolve(name));
    }

    @Override
    public String toString() {
        return folder.toString();
    }
}
