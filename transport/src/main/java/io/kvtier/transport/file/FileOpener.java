package io.kvtier.transport.file;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;

/** How files are opened; a test puts files of its own here, which fail when told to. */
@FunctionalInterface
public interface FileOpener {
    /** The C library's files. */
    FileOpener POSIX = (path, mode) -> PosixFile.open(path, mode, PosixFile.MODE_PRIVATE);

    /**
     * Opens a file.
     *
     * @param path the path.
     * @param mode how.
     * @return the owner of the new descriptor.
     */
    BlockFile open(String path, OpenMode mode);

    /**
     * The same files, opened for reading only whatever is asked for: what is written to them fails, and none is made.
     * For file systems that cannot be written to.
     *
     * @return an opener.
     */
    default FileOpener readOnly() {
        return new ReadOnlyFiles(this);
    }

    /**
     * The names of the files that this opens, as who opens them changes them.
     *
     * @return the system's, unless a test has others.
     */
    default DirectoryEntries entries() {
        return DirectoryEntries.SYSTEM;
    }

    /**
     * The owner of the descriptor behind a file of this opener, for who names descriptors to the kernel instead of
     * calling the file.
     *
     * @param file a file that {@link #open} gave.
     * @return the owner, which the file stays responsible for; null when there is no descriptor.
     */
    default PosixFile descriptor(final BlockFile file) {
        return file instanceof PosixFile posix ? posix : null;
    }
}
