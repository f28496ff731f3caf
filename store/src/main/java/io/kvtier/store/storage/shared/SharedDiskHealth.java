package io.kvtier.store.storage.shared;

import io.kvtier.bindings.Availability;
import io.kvtier.store.StoreException;
import io.kvtier.store.replica.PageLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Looks at the folder of a shared disk before it is used: there, mounted, this cluster's, writable, past the cache,
 * with room, and enough open files. What does not matter any more behind something that is broken is not looked at.
 *
 * <p><b>Threading:</b> one thread. <b>Blocking:</b> on the file system.
 */
public final class SharedDiskHealth {
    /** Descriptors that a process has for other things. */
    static final long OTHER_DESCRIPTORS = 256;

    /** File systems of one host; a folder on one of them is not shared, or what should be mounted there is not. */
    private static final Set<String> OF_ONE_HOST = Set.of("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs",
        "bcachefs", "tmpfs", "ramfs", "overlay", "overlayfs", "squashfs", "rootfs", "vfat");
    private static final String ROOT_DIR = "MOONCAKE_DISTRIBUTED_ROOT_DIR";

    /** Null where there are no files of pages. */
    private final PageLayout layout;
    private final FileSystemAdapter files;
    private final Host host;
    private final Path folder;
    /** What names the folder, for who has to name another. */
    private final String setting;
    private final List<Finding> findings = new ArrayList<>();

    /** How something is. */
    public enum State {
        /** As it should be. */
        OK,
        /** It works, and may be something else than was meant. */
        LIMITED,
        /** It does not work. */
        BROKEN
    }

    /**
     * One thing that was looked at.
     *
     * @param name   its name, for people and programs.
     * @param state  how it is.
     * @param found  what was found, in words.
     * @param remedy what to do about it; empty when nothing has to be done.
     */
    public record Finding(String name, State state, String found, String remedy) {
    }

    /** What is asked of the host beside the folder; a test answers in its place. */
    public interface Host {
        /**
         * The kind of file system that a folder is on.
         *
         * @param folder one that is there.
         * @return as the kernel names it.
         * @throws IOException when it is not told.
         */
        String fileSystem(Path folder) throws IOException;

        /**
         * How many files this process may have open.
         *
         * @return the soft limit; negative when it is not told.
         */
        long openFiles();
    }

    private SharedDiskHealth(final PageLayout layout, final FileSystemAdapter files, final Host host) {
        this(layout, files, host, Path.of(layout.rootDir()), ROOT_DIR);
    }

    private SharedDiskHealth(final PageLayout layout, final FileSystemAdapter files, final Host host,
        final Path folder, final String setting) {
        this.layout = layout;
        this.files = files;
        this.host = host;
        this.folder = folder;
        this.setting = setting;
    }

    /**
     * Looks, for a store that is to use it; makes the folder this cluster's when it is nobody's.
     *
     * @param layout  of the disk.
     * @param files   the file system.
     * @param host    the host.
     * @param cluster what the cluster is called.
     * @return what was found.
     */
    public static List<Finding> claim(final PageLayout layout, final FileSystemAdapter files, final Host host,
        final String cluster) {
        final SharedDiskHealth health = new SharedDiskHealth(layout, files, host);
        health.examine(cluster);
        return health.findings;
    }

    /**
     * Looks only; the folder may be nobody's yet.
     *
     * @param layout of the disk.
     * @param files  the file system.
     * @param host   the host.
     * @return what was found.
     */
    public static List<Finding> look(final PageLayout layout, final FileSystemAdapter files, final Host host) {
        final SharedDiskHealth health = new SharedDiskHealth(layout, files, host);
        health.examine(null);
        return health.findings;
    }

    /**
     * Looks at a folder whose files are not of pages: there, mounted, writable, past the cache.
     *
     * @param folder  absolute.
     * @param setting what names it, such as {@code --dir}.
     * @param files   the file system.
     * @param host    the host.
     * @return what was found.
     */
    public static List<Finding> look(final Path folder, final String setting, final FileSystemAdapter files,
        final Host host) {
        final SharedDiskHealth health = new SharedDiskHealth(null, files, host, folder, setting);
        if (health.isUsable()) {
            health.pastTheCache();
        }
        return health.findings;
    }

    /**
     * What is broken, for who cannot go on then.
     *
     * @param findings what was found.
     * @return with remedies, in words; empty when nothing is.
     */
    public static String broken(final List<Finding> findings) {
        return findings.stream().filter(finding -> finding.state() == State.BROKEN)
            .map(finding -> finding.found() + ": " + finding.remedy()).collect(Collectors.joining("; also, "));
    }

    private void examine(final String cluster) {
        if (isUsable()) {
            marker(cluster);
            pastTheCache();
            room();
            openFiles();
        }
    }

    private boolean isUsable() {
        if (!isThere()) {
            return false;
        }
        mount();
        return isWritable();
    }

    private void ok(final String name, final String found) {
        findings.add(new Finding(name, State.OK, found, ""));
    }

    private void add(final String name, final State state, final String found, final String remedy) {
        findings.add(new Finding(name, state, found, remedy));
    }

    private boolean isThere() {
        final String name = "folder";
        final FileSystemAdapter.Status status;
        try {
            status = files.status(folder.toString());
        } catch (final StoreException e) {
            // As of a mount whose server is gone; to the JDK such a folder does not exist.
            add(name, State.BROKEN, e.getMessage(), "unmount it and mount it again");
            return false;
        }
        if (status == null) {
            add(name, State.BROKEN, folder + " does not exist", "mount the shared file system, make the folder on it "
                + "once (mkdir -p " + folder + "), or name another one (" + setting + ')');
            return false;
        } else if (!Files.isDirectory(folder)) {
            add(name, State.BROKEN, folder + " is not a folder", "name a folder (" + setting + ')');
            return false;
        }
        ok(name, folder + " is there");
        return true;
    }

    private void mount() {
        final String name = "mount";
        try {
            final String type = host.fileSystem(folder);
            if (OF_ONE_HOST.contains(type)) {
                add(name, State.LIMITED, folder + " is on " + type + ", a file system of this host alone",
                    "mount the shared file system there, unless all clients run on this host");
            } else {
                ok(name, folder + " is on " + type);
            }
        } catch (final IOException e) {
            add(name, State.BROKEN, "the system does not tell what " + folder + " is on: " + e,
                "look at the mount on this host; unmount it and mount it again");
        }
    }

    private boolean isWritable() {
        final String name = "writable";
        try {
            Files.delete(Files.createTempFile(folder, ".kvtier-health-", ""));
            ok(name, "files can be made in " + folder);
            return true;
        } catch (final IOException e) {
            add(name, State.BROKEN, "no file can be made in " + folder + " (" + e.getClass().getSimpleName() + ": "
                + e.getMessage() + ')', "mount it for writing, and allow it to this user, the same on all hosts");
            return false;
        }
    }

    private void marker(final String cluster) {
        final String name = "cluster";
        try {
            final ClusterMarker marker = cluster == null ? ClusterMarker.read(folder)
                : ClusterMarker.claim(folder, cluster);
            if (marker == null) {
                ok(name, folder + " is no cluster's yet");
            } else if (cluster == null || cluster.equals(marker.cluster())) {
                ok(name, folder + " is of cluster " + marker.cluster() + ", volume " + marker.volume());
            } else {
                add(name, State.BROKEN, folder + " is of cluster '" + marker.cluster() + "', and the master's is '"
                    + cluster + "'", "name a folder of this cluster (" + ROOT_DIR + "), or mount the file "
                    + "system that is meant");
            }
        } catch (final StoreException | IllegalArgumentException e) {
            add(name, State.BROKEN, String.valueOf(e.getMessage()), "see there; or name another folder (" + ROOT_DIR
                + ')');
        }
    }

    private void pastTheCache() {
        final Availability answer = files.pastTheCache(folder.toString());
        add("direct_io", answer.available() ? State.OK : State.BROKEN, answer.reason(),
            answer.available() ? "" : answer.remedy());
    }

    private void room() {
        final String name = "room";
        try {
            final String problem = BucketFiles.room(layout, files);
            if (problem == null) {
                ok(name, "there is room for " + layout.buckets() + " files of " + layout.bucketBytes() + " bytes");
            } else {
                add(name, State.BROKEN, problem, "make room, or see MOONCAKE_DISTRIBUTED_BUCKET_COUNT and "
                    + "MOONCAKE_DISTRIBUTED_BUCKET_SIZE");
            }
        } catch (final StoreException e) {
            add(name, State.BROKEN, e.getMessage(), "look at the mount on this host");
        }
    }

    private void openFiles() {
        final String name = "open_files";
        final long needed = OTHER_DESCRIPTORS
            + (long) Math.min(layout.buckets(), OpenFiles.MOST) * files.descriptorsPerFile();
        final long limit = host.openFiles();
        if (limit < 0) {
            add(name, State.LIMITED, "the system does not tell how many files this process may have open",
                "let it be " + needed + " or more");
        } else if (limit < needed) {
            add(name, State.BROKEN, "this process may have " + limit + " files open; the shared disk may take "
                + needed, "raise the limit to " + needed + " or more (ulimit -n, LimitNOFILE=, or --ulimit nofile= "
                + "of a container)");
        } else {
            ok(name, "this process may have " + limit + " files open, " + needed + " are needed");
        }
    }
}
