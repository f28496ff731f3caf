package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.PowerLossFiles;
import io.kvtier.store.ObjectKey;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Each of what makes names durable by itself, where more than one does so in what a backend does. */
@ExtendWith(LeakCheck.class)
class DurableNamesTest {
    private static final int SEEDS = 12;
    private static final UUID STORAGE = new UUID(1, 2);

    @TempDir(factory = MemoryDirectory.class)
    private Path root;

    /** What is done before the power fails. */
    private interface Life {
        void live(Path where, FileOpener files) throws IOException;
    }

    /** What is held against what is left. */
    private interface Check {
        void check(Path where) throws IOException;
    }

    private void afterEachFailure(final Life life, final Check check) throws IOException {
        for (int seed = 1; seed <= SEEDS; seed++) {
            final Path where = Files.createTempDirectory(root, "life");
            try (PowerLossFiles files = new PowerLossFiles(seed)) {
                life.live(where, files);
                files.cut();
                files.lose();
            }
            check.check(where);
        }
    }

    @Test
    void shouldHaveAFileUnderTheNameThatItWasGiven() throws IOException {
        afterEachFailure((where, files) -> {
            try (BlockFile file = files.open(where.resolve("a").toString(), OpenMode.CREATE_NEW)) {
                file.sync();
            }
            DurableNames.of(files).rename(where.resolve("a"), where.resolve("b"));
        }, where -> assertTrue(Files.exists(where.resolve("b")) && Files.notExists(where.resolve("a"))));
    }

    @Test
    void shouldHaveABackingFileThatWasMade() throws IOException {
        afterEachFailure((where, files) -> BackingFile.make(where.resolve("f"),
            new FileHeader(FileHeader.Kind.DISK, DataFile.UNIT_BYTES, 1 << 20, STORAGE, 0), files), where ->
            assertTrue(Files.size(where.resolve("f")) >= 1 << 20));
    }

    /** A backing file that another one took the place of does not come back, whatever its generation says. */
    @Test
    void shouldHaveTheSmallerFileThatTookThePlaceOfALarger() throws IOException {
        afterEachFailure((where, files) -> {
            GdsBackingFile.open(where.resolve("gds"), 4 * DataFile.UNIT_BYTES, FileOpener.POSIX);
            GdsBackingFile.open(where.resolve("gds"), DataFile.UNIT_BYTES, files);
        }, where -> assertEquals(FileHeader.BYTES + DataFile.UNIT_BYTES, Files.size(where.resolve("gds"))));
    }

    @Test
    void shouldHaveTheFoldersThatWereMadeForTheFileOfGds() throws IOException {
        afterEachFailure((where, files) -> {
            try (TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT,
                     List.of(new PosixTransport(files, 1, true)));
                 GdsStorageManager storage = GdsStorageManager.open(new GdsStorageManager.Options(
                     where.resolve("a").resolve("b").resolve("gds"), DataFile.UNIT_BYTES, false), engine, files)) {
                storage.usedBytes();
            }
        }, where -> assertTrue(Files.exists(where.resolve("a").resolve("b").resolve("gds"))));
    }

    /** Where one that was there is gone, for whoever looks at the names. */
    @Test
    void shouldHaveDirectoriesOfFilesThatAreStored() throws IOException {
        final ObjectKey key = ObjectKey.of("k");
        afterEachFailure((where, files) -> ValueFiles.read(FileLayout.FILE_PER_KEY, where, STORAGE, files, true)
            .place(DataFile.UNIT_BYTES, key), where -> assertTrue(Files.isDirectory(
                FileLayout.FILE_PER_KEY.path(where.toAbsolutePath(), DataFile.UNIT_BYTES, key).getParent())));
    }

    /** A process that died may have made a directory and not got to its sync; the next start finds it there. */
    @Test
    void shouldMakeDurableAtAStartWhatAProcessThatDiedHasLeft() throws IOException {
        final Path[] made = new Path[1];
        afterEachFailure((where, files) -> {
            final Path parent = FileLayout.FILE_PER_KEY.path(where.toAbsolutePath(), DataFile.UNIT_BYTES,
                ObjectKey.of("k")).getParent();
            made[0] = where.relativize(parent);
            for (int i = 1; i <= made[0].getNameCount(); i++) {
                files.entries().createDirectory(where.resolve(made[0].subpath(0, i)));
            }
            ValueFiles.read(FileLayout.FILE_PER_KEY, where, STORAGE, files, true)
                .place(DataFile.UNIT_BYTES, ObjectKey.of("k"));
        }, where -> assertTrue(Files.isDirectory(where.resolve(made[0]))));
    }

    @Test
    void shouldNotHaveAFileThatWasDeletedOnceItsNoteIsForgotten() throws IOException {
        final StoredValue value = new StoredValue(ObjectKey.of("k"), 1, DataFile.UNIT_BYTES, 1, 0);
        afterEachFailure((where, files) -> {
            final Path path = FileLayout.BUCKET.path(where.toAbsolutePath(), DataFile.UNIT_BYTES, value.key());
            final ValueFiles all = ValueFiles.read(FileLayout.BUCKET, where, STORAGE, files, true);
            Files.write(path, new byte[1]);
            all.delete(new ValueFile(path, new ValueFileHeader(DataFile.UNIT_BYTES, DataFile.UNIT_BYTES,
                List.of(value))));
            all.makeDeletionsDurable();
        }, where -> assertEquals(List.of(), FileLayout.BUCKET.files(where)));
    }
}
