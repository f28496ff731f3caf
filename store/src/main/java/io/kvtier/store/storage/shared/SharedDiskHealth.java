package io.kvtier.store.storage.shared;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.store.StoreException;
import io.kvtier.store.replica.PageLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;

/**
 * Looks at the folder of a shared disk before it is used: there, mounted, this cluster's, writable, past the cache,
 * with room, and enough open files. What does not matter any more behind something that is broken is not looked at, and
 * of who only reads nothing is asked that only a writer needs: it makes no file, and leaves the marker to others.
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
    private static final String READ_ONLY = "MOONCAKE_DISTRIBUTED_READ_ONLY";
    private static final String DIRECT = "direct_io";
    private static final String FULL_REMEDY = "make room; until then values are read there, and written where room was "
        + "reserved for the files";

    private final PageLayout layout;
    private final FileSystemAdapter files;
    private final Host host;
    private final Path folder;
    private final Expected expected;
    private final List<Finding> findings = new ArrayList<>();

    /**
     * What the folder is to be.
     *
     * @param cluster  what the cluster is called; null when that is not known, and the folder may be nobody's yet.
     * @param volume   which folder of which file system the others have; null when that is not known.
     * @param readOnly whether nothing is to be written there.
     */
    public record Expected(String cluster, UUID volume, boolean readOnly) {
    }

    /** Whether files can be made in the folder. */
    private enum Writable {
        YES, FULL, NO
    }

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

    private SharedDiskHealth(final PageLayout layout, final FileSystemAdapter files, final Host host,
        final Expected expected) {
        this.layout = layout;
        this.expected = expected;
        this.files = files;
        this.host = host;
        this.folder = Path.of(layout.rootDir());
    }

    /**
     * Looks, for a store that is to use it; makes the folder this cluster's when it is nobody's, may be written to, and
     * no other one is known.
     *
     * @param layout   of the disk.
     * @param files    the file system.
     * @param host     the host.
     * @param expected what the folder is to be; the cluster is known.
     * @return what was found.
     */
    public static List<Finding> claim(final PageLayout layout, final FileSystemAdapter files, final Host host,
        final Expected expected) {
        final SharedDiskHealth health = new SharedDiskHealth(layout, files, host, expected);
        health.examine();
        return health.findings;
    }

    /**
     * Looks only; the folder may be nobody's yet.
     *
     * @param layout   of the disk.
     * @param files    the file system.
     * @param host     the host.
     * @param readOnly whether nothing is to be written there.
     * @return what was found.
     */
    public static List<Finding> look(final PageLayout layout, final FileSystemAdapter files, final Host host,
        final boolean readOnly) {
        final SharedDiskHealth health =
            new SharedDiskHealth(layout, files, host, new Expected(null, null, readOnly));
        health.examine();
        return health.findings;
    }

    private void examine() {
        if (!isThere()) {
            return;
        }
        mount();
        if (expected.readOnly()) {
            marker();
            readsPastTheCache("");
        } else {
            final Writable writable = writable();
            if (writable == Writable.NO) {
                return;
            }
            marker();
            pastTheCache(writable == Writable.FULL);
            room();
        }
        openFiles();
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
            status = files.status(layout.rootDir());
        } catch (final StoreException e) {
            // As of a mount whose server is gone; to the JDK such a folder does not exist.
            add(name, State.BROKEN, e.getMessage(), "unmount it and mount it again");
            return false;
        }
        if (status == null) {
            add(name, State.BROKEN, folder + " does not exist", "mount the shared file system, make the folder on it "
                + "once (mkdir -p " + folder + "), or name another one (" + ROOT_DIR + ')');
            return false;
        } else if (!Files.isDirectory(folder)) {
            add(name, State.BROKEN, folder + " is not a folder", "name a folder (" + ROOT_DIR + ')');
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

    private Writable writable() {
        final String name = "writable";
        final Path trial = folder.resolve(".kvtier-health-" + UUID.randomUUID());
        try (PosixFile made = PosixFile.open(trial.toString(), OpenMode.CREATE_NEW)) {
            Files.delete(Path.of(made.path()));
            ok(name, "files can be made in " + folder);
            return Writable.YES;
        } catch (final ErrnoException e) {
            if (e.isOutOfSpace()) {
                add(name, State.LIMITED, "no file can be made in " + folder + ": " + e.getMessage(), FULL_REMEDY);
                return Writable.FULL;
            }
            notWritable(e.getMessage());
        } catch (final IOException e) {
            notWritable(e.getClass().getSimpleName() + ": " + e.getMessage());
        }
        return Writable.NO;
    }

    private void notWritable(final String why) {
        add("writable", State.BROKEN, "no file can be made in " + folder + " (" + why + ')', "mount it for writing, "
            + "and allow it to this user, the same on all hosts; or let this client only read there (" + READ_ONLY
            + ", SharedDiskConfig.withReadOnly)");
    }

    private void marker() {
        final String name = "cluster";
        try {
            final ClusterMarker known = ClusterMarker.read(folder);
            if (known != null) {
                compare(known);
            } else if (expected.volume() != null) {
                add(name, State.BROKEN, folder + " has no " + ClusterMarker.FILE_NAME + ", and the others of the "
                    + "cluster have volume " + expected.volume() + " there: it is another folder or file system than "
                    + "theirs", "mount theirs on this host, at the same place");
            } else if (expected.readOnly()) {
                add(name, State.BROKEN, folder + " has no " + ClusterMarker.FILE_NAME + ", which a client that writes "
                    + "makes", "start one that writes before those that only read; if there was one, mount its file "
                    + "system on this host, at the same place");
            } else if (expected.cluster() == null) {
                ok(name, folder + " is no cluster's yet");
            } else {
                compare(ClusterMarker.claim(folder, expected.cluster()));
            }
        } catch (final StoreException | IllegalArgumentException e) {
            add(name, State.BROKEN, String.valueOf(e.getMessage()), "see there; or name another folder (" + ROOT_DIR
                + ')');
        }
    }

    private void compare(final ClusterMarker marker) {
        final String name = "cluster";
        final String elsewhere = "name a folder of this cluster (" + ROOT_DIR + "), or mount the file system that is "
            + "meant";
        if (expected.cluster() != null && !expected.cluster().equals(marker.cluster())) {
            add(name, State.BROKEN, folder + " is of cluster '" + marker.cluster() + "', and the master's is '"
                + expected.cluster() + "'", elsewhere);
        } else if (expected.volume() != null && !expected.volume().equals(marker.volume())) {
            add(name, State.BROKEN, folder + " is volume " + marker.volume() + ", and the others of the cluster have "
                + "volume " + expected.volume() + " there", elsewhere);
        } else {
            ok(name, folder + " is of cluster " + marker.cluster() + ", volume " + marker.volume());
        }
    }

    private void pastTheCache(final boolean full) {
        String why = "";
        if (!full) {
            try {
                tell(files.pastTheCache(layout.rootDir()));
                return;
            } catch (final StoreException e) {
                why = e.getMessage() + "; ";
            }
        }
        readsPastTheCache(why);
    }

    /** Tries with a file that is there, and says why not with one of its own. */
    private void readsPastTheCache(final String why) {
        for (int i = 0; i < layout.buckets(); i++) {
            final FileSystemAdapter.Status status = files.status(layout.path(i));
            if (status != null && status.size() >= FileSystemAdapter.BLOCK_BYTES) {
                final Availability answer = files.readsPastTheCache(layout.path(i));
                if (why.isEmpty() || !answer.available()) {
                    tell(answer);
                } else {
                    add(DIRECT, State.LIMITED, why + answer.reason(), FULL_REMEDY);
                }
                return;
            }
        }
        add(DIRECT, State.LIMITED, why + "no file of the shared disk is there, so that it could not be tried whether "
            + "such a file is read past the cache", expected.readOnly() ? "start a client that writes" : FULL_REMEDY);
    }

    private void tell(final Availability answer) {
        add(DIRECT, answer.available() ? State.OK : State.BROKEN, answer.reason(),
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
