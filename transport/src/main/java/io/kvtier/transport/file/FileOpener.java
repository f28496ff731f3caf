package io.kvtier.transport.file;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;

/** How files are opened; a test puts files of its own here, which fail when told to. */
@FunctionalInterface
public interface FileOpener {
    /** The C library's files. */
    FileOpener POSIX = PosixFile::open;

    /**
     * Opens a file.
     *
     * @param path the path.
     * @param mode how.
     * @return the owner of the new descriptor.
     */
    BlockFile open(String path, OpenMode mode);
}
