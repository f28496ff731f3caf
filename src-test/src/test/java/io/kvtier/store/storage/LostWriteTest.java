package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.LosingTransport;
import io.kvtier.kit.WriteOff;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.transport.file.FileOpener;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * A write of which nothing is heard any more: its device may write to its extent much later. What it uses stays, so
 * that nothing here is looked through for what was left behind.
 */
@ExtendWith(WriteOff.class)
class LostWriteTest {
    private static final int UNIT = Value.UNIT;
    private static final int CAPACITY_UNITS = 4;

    @TempDir
    private Path directory;

    private BackendRig.Setup setup() {
        return new BackendRig.Setup(BackendRig.of(DiskBackend.OFFSET_ALLOCATOR), directory, CAPACITY_UNITS, 1, 1,
            FileOpener.POSIX, false);
    }

    @Test
    void shouldKeepTheExtentOfALostWriteFromOthersUntilTheNextStart() {
        final ModelOwner owner = new ModelOwner();
        final AtomicReference<LosingTransport> files = new AtomicReference<>();
        try (BackendRig rig = setup().open(real -> {
            files.set(new LosingTransport(real));
            return files.get();
        })) {
            files.get().losing(true);
            assertEquals(Outcome.FAILED,
                rig.store(owner, true, List.of(Value.of("lost", 1, UNIT))).getFirst().outcome());
            files.get().losing(false);
            assertEquals(UNIT, rig.backend().usedBytes());
            // Room is made of others, and never of it.
            for (int i = 0; i < 2 * CAPACITY_UNITS; i++) {
                rig.storeAll(owner, List.of(Value.of("v" + i, 1, UNIT)));
            }
            assertEquals(CAPACITY_UNITS - 1, rig.backend().stored().size());
            assertEquals(CAPACITY_UNITS * UNIT, rig.backend().usedBytes());
            final Value all = Value.of("all", 1, CAPACITY_UNITS * UNIT);
            assertEquals(Outcome.NO_SPACE, rig.store(owner, true, List.of(all)).getFirst().outcome());
        }
        try (BackendRig rig = setup().open()) {
            rig.storeAll(owner, List.of(Value.of("all", 1, CAPACITY_UNITS * UNIT)));
        }
    }
}
