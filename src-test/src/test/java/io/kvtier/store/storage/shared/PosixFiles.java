package io.kvtier.store.storage.shared;

import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import java.util.List;

/** Opens the POSIX file system for tests. */
final class PosixFiles {
    private PosixFiles() {
    }

    static FileSystemAdapter open(final FileOpener opener) {
        return new PosixFileSystem(opener,
            TransferEngine.open(TransferConfig.DEFAULT, List.of(new PosixTransport(opener, 2, true))));
    }
}
