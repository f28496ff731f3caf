package io.kvtier.transport.file;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;

/** Opens files for reading whatever is asked for, and makes none. <b>Threading:</b> as the opener that it asks. */
final class ReadOnlyFiles implements FileOpener {
    private final FileOpener opener;

    ReadOnlyFiles(final FileOpener opener) {
        this.opener = opener;
    }

    @Override
    public BlockFile open(final String path, final OpenMode mode) {
        return opener.open(path, switch (mode) {
            case READ, READ_WRITE -> OpenMode.READ;
            case READ_DIRECT, READ_WRITE_DIRECT -> OpenMode.READ_DIRECT;
            case CREATE, CREATE_NEW, READ_WRITE_EXCLUSIVE -> throw new IllegalStateException("mode is " + mode
                + "; files are only read here, and " + path + " is to be made or written");
        });
    }

    @Override
    public DirectoryEntries entries() {
        return opener.entries();
    }

    @Override
    public PosixFile descriptor(final BlockFile file) {
        return opener.descriptor(file);
    }
}
