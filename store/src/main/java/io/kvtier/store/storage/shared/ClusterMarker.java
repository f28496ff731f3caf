package io.kvtier.store.storage.shared;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Printable;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The file that says whose a shared folder is. The first client makes it, exactly once for all hosts: it is written
 * under a name of its own and then linked, which fails where there is one. Nobody changes or removes it.
 *
 * <pre>
 *   kvtier shared disk 1        version of this format
 *   cluster mooncake            what the master calls the cluster
 *   volume 5f1c...              made up with the file: another one is another file system, or another folder
 * </pre>
 *
 * @param cluster whose the folder is.
 * @param volume  which folder it is.
 */
public record ClusterMarker(String cluster, UUID volume) {
    /** Its name in the folder. */
    public static final String FILE_NAME = "kvtier.cluster";

    private static final String FIRST_LINE = "kvtier shared disk 1";
    private static final String CLUSTER = "cluster ";
    private static final String VOLUME = "volume ";
    private static final int MOST_BYTES = 8192;
    /** For a host that makes it without links, between the name and the text. */
    private static final long TEXT_WAIT_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long STEP_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /**
     * Validates.
     *
     * @throws IllegalArgumentException when the cluster's name has more than a line.
     */
    public ClusterMarker {
        if (cluster.isBlank() || !cluster.equals(cluster.strip()) || cluster.lines().count() != 1) {
            throw new IllegalArgumentException("the cluster is called '" + Printable.of(cluster) + "'; it must have a "
                + "name of one line, without spaces around it");
        }
    }

    /**
     * Reads the marker of a folder.
     *
     * @param folder one that is there.
     * @return null when it has none.
     * @throws StoreException FILE_OPEN_FAIL, when it cannot be read, or is not one.
     */
    public static ClusterMarker read(final Path folder) {
        final long begun = System.nanoTime();
        while (true) {
            final String text = text(folder);
            if (text == null) {
                return null;
            }
            if (!text.isEmpty() || System.nanoTime() - begun > TEXT_WAIT_NANOS) {
                return parsed(folder, text);
            }
            LockSupport.parkNanos(STEP_NANOS);
        }
    }

    /**
     * Makes a folder this cluster's, unless it is somebody's already.
     *
     * @param folder  one that is there and can be written to.
     * @param cluster what the cluster is called.
     * @return the marker that is there, perhaps another cluster's.
     * @throws StoreException FILE_OPEN_FAIL, when there is none and none can be made.
     */
    public static ClusterMarker claim(final Path folder, final String cluster) {
        final ClusterMarker known = read(folder);
        if (known != null) {
            return known;
        }
        final ClusterMarker mine = new ClusterMarker(cluster, UUID.randomUUID());
        try {
            mine.make(folder);
        } catch (final IOException e) {
            throw cannot(folder, "cannot be made (" + e + "); let this user write there", e);
        }
        final ClusterMarker made = read(folder);
        if (made == null) {
            throw cannot(folder, "was made and is gone again; nobody but the clients of one cluster may use the folder",
                null);
        }
        return made;
    }

    private void make(final Path folder) throws IOException {
        final Path marker = folder.resolve(FILE_NAME);
        final Path own = folder.resolve('.' + FILE_NAME + '-' + volume);
        try {
            write(own);
            link(own, marker);
        } finally {
            Files.deleteIfExists(own);
        }
    }

    private void link(final Path own, final Path marker) throws IOException {
        try {
            Files.createLink(marker, own);
        } catch (final FileAlreadyExistsException e) {
            // Another host was first, and its marker counts.
            return;
        } catch (final UnsupportedOperationException | IOException e) {
            // No links here: made by its name, which only one can do, too, but is there before its text.
            writeUnlessThere(marker);
        }
    }

    private void writeUnlessThere(final Path marker) throws IOException {
        try {
            write(marker);
        } catch (final FileAlreadyExistsException e) {
            // Another host was first.
            return;
        }
    }

    private void write(final Path file) throws IOException {
        final ByteBuffer text = ByteBuffer.wrap((FIRST_LINE + '\n' + CLUSTER + cluster + '\n' + VOLUME + volume + '\n')
            .getBytes(StandardCharsets.UTF_8));
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            while (text.hasRemaining()) {
                channel.write(text);
            }
            // Not every file system shows to others what was not synced.
            channel.force(true);
        }
    }

    /** Null when there is no such file. */
    private static String text(final Path folder) {
        try (InputStream in = Files.newInputStream(folder.resolve(FILE_NAME))) {
            return new String(in.readNBytes(MOST_BYTES), StandardCharsets.UTF_8);
        } catch (final NoSuchFileException e) {
            return null;
        } catch (final IOException e) {
            throw cannot(folder, "cannot be read (" + e + "); let this user read it", e);
        }
    }

    private static ClusterMarker parsed(final Path folder, final String text) {
        final List<String> lines = text.lines().toList();
        try {
            if (lines.size() >= 3 && lines.get(0).equals(FIRST_LINE) && lines.get(1).startsWith(CLUSTER)
                && lines.get(2).startsWith(VOLUME)) {
                return new ClusterMarker(lines.get(1).substring(CLUSTER.length()),
                    UUID.fromString(lines.get(2).substring(VOLUME.length())));
            }
        } catch (final IllegalArgumentException e) {
            throw cannot(folder, "is damaged (" + e.getMessage() + "); use another folder", e);
        }
        throw cannot(folder, "begins with '" + Printable.of(lines.isEmpty() ? "" : lines.getFirst()) + "', not with '"
            + FIRST_LINE + "': it is of a later version, or was never written to the end; use another folder, or "
            + "remove that file when no client uses this one", null);
    }

    private static StoreException cannot(final Path folder, final String what, final Exception cause) {
        return new StoreException(ErrorCode.FILE_OPEN_FAIL, folder.resolve(FILE_NAME) + ", which says whose the folder "
            + "is, " + what, cause);
    }
}
