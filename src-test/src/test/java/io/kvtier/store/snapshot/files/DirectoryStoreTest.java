package io.kvtier.store.snapshot.files;

import io.kvtier.kit.LeakCheck;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@ExtendWith(LeakCheck.class)
class DirectoryStoreTest extends SnapshotStoreContract {
    @TempDir
    private Path directory;
    private SnapshotStore store;

    @BeforeEach
    void open() throws IOException {
        store = DirectoryStore.open(directory.resolve("a"), "c");
    }

    @Override
    protected SnapshotStore store() {
        return store;
    }

    @Override
    protected int unit() {
        return 1 << 16;
    }
}
