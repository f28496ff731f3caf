package io.kvtier.store.storage.shared;

import io.kvtier.bindings.NativeException;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.DiskConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.storage.BackendOptions;
import io.kvtier.store.storage.StorageBackend;
import io.kvtier.store.storage.StorageBackends;
import io.kvtier.transport.Printable;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * The directory of one client on a file system that all mount, and the backend in it: a file a key
 * ({@link DiskBackend#DISTRIBUTED}, what there is of the shared disk without pages). Values in it are of LOCAL_DISK:
 * others read them through this client, and the files are those of {@link DiskBackend#FILE_PER_KEY}. What is different
 * comes from the file system:
 *
 * <ul>
 * <li>The client has a directory of its own under the common root, called as its node. A lock keeps the processes of
 * one host apart; a mount may have locks for its own host only, so a file in the directory, {@link #OWNER_NAME}, says
 * which host it belongs to. It is no part of the directory's header, because that is replaced by a rename, which two
 * hosts can do one after the other; this one is made once for all hosts, before anything else is touched.
 * <li>The root must be there: where it is not mounted, values would fill the disk below.
 * <li>Values are read past the page cache, or the directory is refused: a host whose cache kept blocks of an earlier
 * file would read those. (What is read through it, headers and notes at a start, is in files that this host wrote by
 * itself, or that no cache of it has seen: the notes are in a new file after each start.)
 * </ul>
 *
 * <p>A {@link FileSystemAdapter} looks at the root and tells whether the cache can be passed. Values do not go through
 * it: it never renames and never removes, and a file a key is published by its name and given back by its removal. So
 * this goes by system calls, on 3FS through its FUSE mount; {@link SharedFileSystems#refuseForKeys} says so to who
 * asks for USRBIO.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> on the file system.
 */
public final class DistributedDirectory {
    /** The file in the directory of a node that says whose it is. */
    public static final String OWNER_NAME = "kvtier.node";

    private static final System.Logger LOG = System.getLogger(DistributedDirectory.class.getName());
    private static final String FIRST_LINE = "kvtier node directory 1";
    private static final String HOST = "host ";
    private static final String SETTING = "--dir";
    private static final String NODE_SETTING = "--disk-node, or the builder's diskNode";

    private DistributedDirectory() {
    }

    /**
     * Whose directory is opened.
     *
     * @param name name of the directory.
     * @param host what tells the host from all others, one line.
     */
    public record Node(String name, String host) {
        /** This host, under a name, or its own where that is null. */
        static Node of(final String name) {
            return new Node(name == null ? SystemHost.name() : name, SystemHost.id());
        }
    }

    /**
     * What a directory is opened by.
     *
     * @param files  looks at the root; stays the caller's.
     * @param host   tells what the root is on.
     * @param engine moves values past the page cache; stays the caller's, who closes it after the backend.
     * @param opener opens the files that the engine does not.
     */
    public record Means(FileSystemAdapter files, SharedDiskHealth.Host host, TransferEngine engine,
                        FileOpener opener) {
        /**
         * By system calls.
         *
         * @param engine moves values past the page cache; stays the caller's.
         * @param opener opens the files that the engine does not.
         * @return the means.
         */
        public static Means of(final TransferEngine engine, final FileOpener opener) {
            // Not to be closed: it has nothing but the engine.
            return new Means(new PosixFileSystem(opener, engine), new SystemHost(), engine, opener);
        }
    }

    /**
     * Opens the backend of this host's node, or makes it.
     *
     * @param options settings; their directory is the root, which is there.
     * @param node    name of the node; null for the name of the host.
     * @param means   what it is opened by.
     * @return the backend.
     * @throws StoreException as {@link #open(BackendOptions, Node, Means)}.
     */
    public static StorageBackend open(final BackendOptions options, final String node, final Means means) {
        return open(options, Node.of(node), means);
    }

    /**
     * Opens the backend of a node, or makes it.
     *
     * @param options settings; their directory is the root, which is there.
     * @param node    whose.
     * @param means   what it is opened by.
     * @return the backend.
     * @throws StoreException FILE_OPEN_FAIL when the root cannot be used, or is another backend's; FILE_LOCK_FAIL when
     *                        the directory of the node is in use, or another host's; or as
     *                        {@link StorageBackends#open}.
     */
    static StorageBackend open(final BackendOptions options, final Node node, final Means means) {
        final Path root = options.directory().toAbsolutePath();
        examine(root, means);
        StorageBackends.refuseOthers(root, DiskBackend.DISTRIBUTED);
        final Path own = of(root, node.name());
        StorageBackends.refuseOthers(own, DiskBackend.DISTRIBUTED);
        claim(own, node, means.opener());
        try {
            return StorageBackends.open(DiskBackend.DISTRIBUTED, new BackendOptions(own, options.capacity(),
                options.highWatermark(), options.lowWatermark()), means.engine(), means.opener());
        } catch (final StoreException e) {
            throw e.code() != ErrorCode.FILE_LOCK_FAIL ? e : new StoreException(e.code(), e.getMessage()
                + "; each client on a root has a name of its own (" + NODE_SETTING + "), and this one's is '"
                + node.name() + '\'', e);
        }
    }

    /** The directory of a node. */
    private static Path of(final Path root, final String node) {
        if (!DiskConfig.Files.isNode(node)) {
            // Whoever named it was told before.
            throw new StoreException(ErrorCode.INVALID_PARAMS, "this host is called '" + Printable.of(node)
                + "', which is no name for its directory in " + root + "; name the node (" + NODE_SETTING + ')');
        }
        return root.resolve(node);
    }

    private static void examine(final Path root, final Means means) {
        final List<SharedDiskHealth.Finding> findings =
            SharedDiskHealth.look(root, SETTING, means.files(), means.host());
        final String broken = SharedDiskHealth.broken(findings);
        if (!broken.isEmpty()) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, DiskBackend.DISTRIBUTED.configName() + " cannot use "
                + root + ": " + broken);
        }
        findings.stream().filter(finding -> finding.state() == SharedDiskHealth.State.LIMITED).forEach(
            finding -> LOG.log(System.Logger.Level.WARNING, "{0}; {1}", finding.found(), finding.remedy()));
    }

    /** Makes the directory this host's, unless it is another's; durably, as values may be in it when this is lost. */
    private static void claim(final Path own, final Node node, final FileOpener opener) {
        final Path marker = own.resolve(OWNER_NAME);
        try {
            opener.entries().createDurably(own);
            String text = FolderMarker.read(marker);
            if (text == null) {
                FolderMarker.make(marker, FIRST_LINE + '\n' + HOST + node.host() + '\n');
                text = FolderMarker.read(marker);
            }
            opener.entries().sync(own);
            check(own, node, text == null ? List.of() : text.lines().toList());
        } catch (final IOException | NativeException e) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, "cannot make " + marker + ", which says whose the "
                + "directory is (" + e.getMessage() + "); allow this user to write there, the same on all hosts", e);
        }
    }

    private static void check(final Path own, final Node node, final List<String> lines) {
        final String marker = own.resolve(OWNER_NAME).toString();
        if (lines.size() < 2 || !lines.get(0).equals(FIRST_LINE) || !lines.get(1).startsWith(HOST)) {
            throw new StoreException(ErrorCode.FILE_OPEN_FAIL, marker + ", which says whose the directory is, begins "
                + "with '" + Printable.of(lines.isEmpty() ? "" : lines.getFirst()) + "', not with '" + FIRST_LINE
                + "': it is of a later version, or was never written to the end; name another node (" + NODE_SETTING
                + "), or remove that file when no client uses the directory");
        }
        final String there = lines.get(1).substring(HOST.length());
        if (!there.equals(node.host())) {
            throw new StoreException(ErrorCode.FILE_LOCK_FAIL, "directory " + own + " belongs to host '"
                + Printable.of(there) + "' (" + OWNER_NAME + "), and this one is '" + Printable.of(node.host())
                + "'; name this node otherwise (" + NODE_SETTING + "), or, when that host has gone for good, remove "
                + marker + " to have its values");
        }
    }
}
