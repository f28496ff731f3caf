package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.kit.FailingCalls;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.StoreException;
import io.kvtier.transport.file.DirectoryEntries;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Files of single values: whole or not there, whatever fails. */
@ExtendWith(LeakCheck.class)
class KeyFilesTest {
    private static final String NAME = "00/0000000000000001-0000000000000002.kv";
    private static final int SIZE = 9001;
    private static final byte[] VALUE = PatternBytes.of(7, SIZE);
    private static final int BLOCK = 4096;

    @TempDir
    private Path root;

    private static void write(final KeyFiles files, final Path path, final byte[] value) {
        try (Arena arena = Arena.ofConfined()) {
            files.write(path, arena.allocateFrom(ValueLayout.JAVA_BYTE, value));
        }
    }

    /** Null when it is not there. */
    private static byte[] read(final KeyFiles files, final Path path, final int size) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment target = arena.allocate(Math.ceilDiv(size + 1L, BLOCK) * BLOCK, BLOCK);
            return files.read(path, size, target) == null
                ? target.asSlice(0, size).toArray(ValueLayout.JAVA_BYTE) : null;
        }
    }

    private static List<String> names(final Path folder) {
        try (Stream<Path> all = Files.walk(folder)) {
            return all.filter(Files::isRegularFile).map(file -> folder.relativize(file).toString()).sorted().toList();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, BLOCK - 1, BLOCK, BLOCK + 1, SIZE, 16 * BLOCK})
    void shouldHoldAValueAndNothingElse(final int size) throws IOException {
        final KeyFiles files = new KeyFiles(FileOpener.POSIX);
        final byte[] value = PatternBytes.of(size, size);
        assertNull(files.prepare(root.resolve("c")));
        write(files, root.resolve("c").resolve(NAME), value);

        assertArrayEquals(value, Files.readAllBytes(root.resolve("c").resolve(NAME)));
        assertArrayEquals(value, read(files, root.resolve("c").resolve(NAME), size));
        assertEquals(List.of(NAME), names(root.resolve("c")));
    }

    @Test
    void shouldReadWhereThereIsNoDirectIo() {
        write(new KeyFiles(FileOpener.POSIX), root.resolve(NAME), VALUE);
        assertArrayEquals(VALUE, read(new KeyFiles(new FaultyFiles(new Faults().refuseDirect())), root.resolve(NAME),
            SIZE));
    }

    @Test
    void shouldTellWhatNobodyCanRead() throws IOException {
        final KeyFiles files = new KeyFiles(FileOpener.POSIX);
        write(files, root.resolve(NAME), VALUE);
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment target = arena.allocate(4 * BLOCK, BLOCK);
            assertNotNull(files.read(root.resolve(NAME), SIZE - 1, target), "longer than it was written");
            Files.write(root.resolve(NAME), new byte[SIZE - 1], StandardOpenOption.TRUNCATE_EXISTING);
            assertNotNull(files.read(root.resolve(NAME), SIZE, target), "cut");
            files.delete(root.resolve(NAME));
            files.delete(root.resolve(NAME));
            assertNotNull(files.read(root.resolve(NAME), SIZE, target), "gone");
            assertThrows(StoreException.class, () -> files.read(root.resolve("not mounted").resolve(NAME), SIZE,
                target), "that is this host's trouble");
            write(files, root.resolve(NAME), VALUE);
            final KeyFiles faulty = new KeyFiles(new FaultyFiles(new Faults().failNth(Call.READ, 1, Errno.EIO)));
            assertThrows(NativeException.class, () -> faulty.read(root.resolve(NAME), SIZE, target));
        }
    }

    /** The first, the second, ... call of each kind fails: the file is whole, or nothing of it is there. */
    @ParameterizedTest
    @EnumSource(value = Call.class, names = {"OPEN", "WRITE", "SYNC"})
    void shouldLeaveNothingOfAWriteThatFails(final Call call) {
        FailingCalls.each(root, call, (faults, n) -> faults.failNth(call, n, Errno.EIO).mostPerCall(BLOCK),
            (folder, opener) -> {
                final List<RuntimeException> failures = new ArrayList<>();
                return new FailingCalls.Run(failures, () -> {
                    try {
                        Files.createDirectory(folder);
                        write(new KeyFiles(opener), folder.resolve(NAME), VALUE);
                    } catch (final NativeException | StoreException e) {
                        failures.add(e);
                    } catch (final IOException e) {
                        throw new UncheckedIOException(e);
                    }
                    assertEquals(failures.isEmpty() ? List.of(NAME) : List.of(), names(folder));
                }, () -> assertArrayEquals(VALUE, read(new KeyFiles(FileOpener.POSIX), folder.resolve(NAME),
                    SIZE)));
            });
    }

    /** Names of the system, but for one call that fails. */
    private static DirectoryEntries failing(final String which) {
        return (DirectoryEntries) Proxy.newProxyInstance(KeyFilesTest.class.getClassLoader(),
            new Class<?>[] {DirectoryEntries.class}, (proxy, method, arguments) -> {
                if (method.getName().equals(which)) {
                    throw which.equals("sync") ? new ErrnoException("fsync", Errno.EIO, "told to fail")
                        : new IOException("told to fail");
                }
                return method.isDefault() ? InvocationHandler.invokeDefault(proxy, method, arguments)
                    : method.invoke(DirectoryEntries.SYSTEM, arguments);
            });
    }

    @ParameterizedTest
    @ValueSource(strings = {"rename", "sync"})
    void shouldLeaveNothingWhenTheNameIsNotDurable(final String which) throws IOException {
        Files.createDirectories(root.resolve(NAME).getParent());
        final KeyFiles files = new KeyFiles(new FileOpener() {
            @Override
            public BlockFile open(final String path, final OpenMode mode) {
                return FileOpener.POSIX.open(path, mode);
            }

            @Override
            public DirectoryEntries entries() {
                return failing(which);
            }
        });
        final RuntimeException refusal =
            assertThrows(RuntimeException.class, () -> write(files, root.resolve(NAME), VALUE));
        assertTrue(refusal instanceof NativeException || refusal instanceof StoreException, refusal::toString);
        assertEquals(List.of(), names(root));
    }

    @Test
    void shouldWriteOverWhatATryHasLeft() throws IOException {
        final Path path = root.resolve(NAME);
        Files.createDirectories(path.getParent());
        Files.write(Path.of(path + ".tmp"), new byte[2 * SIZE]);
        final KeyFiles files = new KeyFiles(FileOpener.POSIX);
        write(files, path, VALUE);
        write(files, path, VALUE);
        assertArrayEquals(VALUE, Files.readAllBytes(path));
        assertEquals(List.of(NAME), names(root));
    }

    @Test
    void shouldNotMakeWhatIsToBeMounted() {
        assertNotNull(new KeyFiles(FileOpener.POSIX).prepare(root.resolve("not there").resolve("c")));
        assertEquals(List.of(), names(root));
    }

    /** A mount that is gone leaves the folder behind it: nothing is put there, and nothing counts as deleted. */
    @Test
    void shouldNotMakeWhatWasMounted() {
        final KeyFiles files = new KeyFiles(FileOpener.POSIX);
        final Path folder = root.resolve("c");
        assertNull(files.prepare(folder));
        write(files, folder.resolve(NAME), VALUE);
        final Path away = root.resolve("away");
        assertTrue(folder.toFile().renameTo(away.toFile()));
        assertNotNull(KeyFiles.problem(folder));
        assertThrows(StoreException.class, () -> write(files, folder.resolve(NAME), VALUE));
        assertThrows(StoreException.class, () -> files.delete(folder.resolve(NAME)));
        assertEquals(List.of("away/" + NAME), names(root));
        assertTrue(away.toFile().renameTo(folder.toFile()));
        assertNull(KeyFiles.problem(folder));
        files.delete(folder.resolve(NAME));
        assertEquals(List.of(), names(root));
    }

    @Test
    void shouldSweepWhatNobodyKnows() throws IOException {
        final KeyFiles files = new KeyFiles(FileOpener.POSIX);
        final List<String> known = List.of("00/0000000000000001-0000000000000002.kv",
            "ff/ff00000000000001-0000000000000009.kv");
        final List<String> unknown = List.of("00/0000000000000001-0000000000000003.kv",
            "ff/ff00000000000003-0000000000000003.kv.tmp");
        final List<String> others = List.of("00/readme", "00/0000000000000001-0000000000000003.kv.old", "another/x.kv",
            "bucket_00.data");
        for (final String name : Stream.of(known, unknown, others).flatMap(List::stream).toList()) {
            Files.createDirectories(root.resolve(name).getParent());
            Files.write(root.resolve(name), new byte[1]);
        }
        Files.write(root.resolve("ff/ff00000000000001-0000000000000009.kv.tmp"), new byte[1]);
        final TreeSet<String> asked = new TreeSet<>();
        assertEquals(2, files.sweep(root, 1, paths -> paths.stream().map(path -> {
            assertTrue(path.startsWith(root.toString()), path);
            final String name = root.relativize(Path.of(path)).toString();
            asked.add(name);
            return known.contains(name);
        }).toList()));
        final TreeSet<String> left = new TreeSet<>(known);
        left.addAll(others);
        left.add("ff/ff00000000000001-0000000000000009.kv.tmp");
        assertEquals(List.copyOf(left), names(root), "one that is being written stays");
        assertEquals(4, asked.size(), asked::toString);
    }
}
