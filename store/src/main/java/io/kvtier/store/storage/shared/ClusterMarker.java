package io.kvtier.store.storage.shared;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Printable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;

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
        try {
            final String text = FolderMarker.read(folder.resolve(FILE_NAME));
            return text == null ? null : parsed(folder, text);
        } catch (final IOException e) {
            throw cannot(folder, "cannot be read (" + e + "); let this user read it", e);
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
            FolderMarker.make(folder.resolve(FILE_NAME), mine.text());
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

    private String text() {
        return FIRST_LINE + '\n' + CLUSTER + cluster + '\n' + VOLUME + volume + '\n';
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
