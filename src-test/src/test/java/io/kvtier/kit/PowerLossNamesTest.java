package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.transport.file.DirectoryEntries;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What a power failure leaves of names, over many failures. */
@ExtendWith(LeakCheck.class)
class PowerLossNamesTest {
    private static final int SEEDS = 60;

    @TempDir(factory = MemoryDirectory.class)
    private Path root;

    private interface Change {
        void make(Path where, PowerLossFiles files, DirectoryEntries entries) throws IOException;
    }

    private static void create(final PowerLossFiles files, final Path path) {
        try (BlockFile file = files.open(path.toString(), OpenMode.CREATE_NEW)) {
            file.sync();
        }
    }

    /** Each with its size, which tells files apart, or a slash. */
    private static String look(final Path where) {
        try (Stream<Path> all = Files.walk(where)) {
            final Set<String> names = new TreeSet<>();
            for (final Path path : all.skip(1).toList()) {
                names.add(where.relativize(path) + (Files.isDirectory(path) ? "/" : ":" + Files.size(path)));
            }
            return String.join(" ", names);
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** All that is left after one failure or another; "old" has three bytes, and was there before. */
    private Set<String> leaves(final Change change) throws IOException {
        final Set<String> seen = new TreeSet<>();
        for (int seed = 1; seed <= SEEDS; seed++) {
            final Path where = Files.createTempDirectory(root, "power");
            Files.write(where.resolve("old"), new byte[3]);
            try (PowerLossFiles files = new PowerLossFiles(seed)) {
                change.make(where, files, files.entries());
                files.lose();
            }
            seen.add(look(where));
        }
        return seen;
    }

    @Test
    void shouldLoseOrKeepAFileWhoseDirectoryWasNotSynced() throws IOException {
        assertEquals(Set.of("old:3", "new:0 old:3"), leaves((where, files, entries) ->
            create(files, where.resolve("new"))));
        assertEquals(Set.of("new:0 old:3"), leaves((where, files, entries) -> {
            create(files, where.resolve("new"));
            entries.sync(where);
        }));
    }

    @Test
    void shouldLeaveEitherFileUnderANameThatIsReplacedAndNeverNone() throws IOException {
        final Change replace = (where, files, entries) -> {
            create(files, where.resolve("new"));
            entries.rename(where.resolve("new"), where.resolve("old"));
        };
        assertEquals(Set.of("old:3", "new:0 old:3", "old:0"), leaves(replace));
        assertEquals(Set.of("old:0"), leaves((where, files, entries) -> {
            replace.make(where, files, entries);
            entries.sync(where);
        }));
    }

    @Test
    void shouldBringBackWhatWasDeletedWithoutASync() throws IOException {
        assertEquals(Set.of("", "old:3"), leaves((where, files, entries) ->
            entries.deleteIfExists(where.resolve("old"))));
        assertEquals(Set.of(""), leaves((where, files, entries) -> {
            entries.deleteIfExists(where.resolve("old"));
            entries.deleteIfExists(where.resolve("none"));
            entries.sync(where);
        }));
    }

    @Test
    void shouldLoseChangesInAnyOrder() throws IOException {
        assertEquals(Set.of("old:3", "a:0 old:3", "b:0 old:3", "a:0 b:0 old:3"), leaves((where, files, entries) -> {
            create(files, where.resolve("a"));
            create(files, where.resolve("b"));
        }));
    }

    @Test
    void shouldLoseADirectoryWithAllThatIsDurableInIt() throws IOException {
        final Change make = (where, files, entries) -> {
            entries.createDirectory(where.resolve("d"));
            create(files, where.resolve("d").resolve("f"));
            entries.sync(where.resolve("d"));
        };
        assertEquals(Set.of("old:3", "d/ d/f:0 old:3"), leaves(make));
        assertEquals(Set.of("d/ d/f:0 old:3"), leaves((where, files, entries) -> {
            make.make(where, files, entries);
            entries.sync(where);
        }));
        assertEquals(Set.of("a/ a/b/ old:3"), leaves((where, files, entries) ->
            entries.createDurably(where.resolve("a").resolve("b"))));
    }

    @Test
    void shouldChangeNothingWhenThePowerIsOff() throws IOException {
        assertEquals(Set.of("old:3"), leaves((where, files, entries) -> {
            files.cut();
            assertThrows(IOException.class, () -> entries.deleteIfExists(where.resolve("old")));
            assertThrows(IOException.class, () -> entries.createDirectory(where.resolve("d")));
            assertThrows(IOException.class, () -> entries.rename(where.resolve("old"), where.resolve("new")));
        }));
    }
}
