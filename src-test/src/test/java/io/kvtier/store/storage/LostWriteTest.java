package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.LosingTransport;
import io.kvtier.kit.WriteOff;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.storage.StorageBackend.Outcome;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

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

    private BackendRig.Setup setup(final DiskBackend kind) {
        return new BackendRig.Setup(BackendRig.of(kind), directory, CAPACITY_UNITS, 1, 1, FileOpener.POSIX, false);
    }

    /** Files with values in them, or on their way. */
    private List<Path> valueFiles() throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            return all.filter(path -> path.toString().matches(".*\\.(bucket|kv)(\\.tmp)?")).toList();
        }
    }

    @ParameterizedTest
    @EnumSource
    void shouldKeepThePlaceOfALostWriteFromOthersUntilTheNextStart(final DiskBackend kind) {
        final ModelOwner owner = new ModelOwner();
        final AtomicReference<LosingTransport> files = new AtomicReference<>();
        try (BackendRig rig = setup(kind).open(real -> {
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
        try (BackendRig rig = setup(kind).open()) {
            rig.storeAll(owner, List.of(Value.of("all", 1, CAPACITY_UNITS * UNIT)));
        }
    }

    /** The blocks of a file that is deleted, or cut by a hole, are another file's. */
    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "OFFSET_ALLOCATOR")
    void shouldLeaveTheFileOfALostWriteAsItIsUntilTheNextStart(final DiskBackend kind) throws IOException {
        final ModelOwner owner = new ModelOwner();
        final AtomicReference<LosingTransport> files = new AtomicReference<>();
        try (BackendRig rig = setup(kind).open(real -> {
            files.set(new LosingTransport(real));
            return files.get();
        })) {
            files.get().losingNext(1);
            final List<Outcome> outcomes = rig.store(owner, true, List.of(Value.of("lost", 1, UNIT),
                Value.of("other", 1, UNIT))).stream().map(StorageBackend.Result::outcome).toList();
            final boolean together = kind == DiskBackend.BUCKET;
            assertEquals(List.of(Outcome.FAILED, together ? Outcome.FAILED : Outcome.STORED), outcomes);
            assertEquals(2 * UNIT, rig.backend().usedBytes());
            assertEquals(together ? 1 : 2, valueFiles().size());
            if (!together) {
                rig.remove(owner, Value.of("other", 1, UNIT));
            }
            rig.storeAll(owner, List.of(Value.of("next", 1, UNIT)));
            assertEquals(2, valueFiles().size(), "the one that is left, and the next one");
        }
        try (BackendRig rig = setup(kind).open()) {
            rig.assertReadable(Value.of("next", 1, UNIT));
            assertEquals(1, valueFiles().size());
        }
    }
}
