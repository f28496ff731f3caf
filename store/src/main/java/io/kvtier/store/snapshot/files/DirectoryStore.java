package io.kvtier.store.snapshot.files;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Snapshots in a folder, which may be on a file system that others mount too. */
public final class DirectoryStore implements SnapshotStore {
    /** What a file is called while it is written. */
    static final String UNFINISHED = ".tmp";
    private static final String PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";

    private final Path folder;

    private DirectoryStore(final Path folder) {
        this.folder = folder;
    }

    /**
     * Opens a cluster's folder, which is made if there is none.
     *
     * @param directory where the folders of clusters are.
     * @param clusterId which cluster.
     * @return the store.
     * @throws IOException when the folder cannot be made.
     */
    public static DirectoryStore open(final Path directory, final String clusterId) throws IOException {
        final Path folder = directory.resolve(folderName(clusterId));
        Files.createDirectories(folder);
        return new DirectoryStore(folder);
    }

    /** Any id as a name that is one of a file, and different for different ids. */
    static String folderName(final String clusterId) {
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
        // What is in it are names of values, which may tell something.
        final FileChannel file = FileChannel.open(unfinished, Set.of(StandardOpenOption.CREATE,
            StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE),
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        return new Writing() {
            private boolean committed;

            @Override
            public void write(final byte[] bytes, final int length) throws IOException {
                final ByteBuffer left = ByteBuffer.wrap(bytes, 0, length);
                while (left.hasRemaining()) {
                    file.write(left);
                }
            }

            @Override
            public void commit() throws IOException {
                file.force(true);
                file.close();
                Files.move(unfinished, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
                committed = true;
                sync();
            }

            @Override
            public void close() throws IOException {
                file.close();
                if (!committed) {
                    Files.deleteIfExists(unfinished);
                }
            }
        };
    }

    /** A name is durable when its folder is (fsync(2)). */
    private void sync() throws IOException {
        try (FileChannel names = FileChannel.open(folder, StandardOpenOption.READ)) {
            names.force(true);
        }
    }

    @Override
    public InputStream read(final String name) throws IOException {
        return Files.newInputStream(folder.resolve(name));
    }

    @Override
    public void delete(final String name) throws IOException {
        Files.deleteIfExists(folder.resolve(name));
    }

    @Override
    public String toString() {
        return folder.toString();
    }
}
