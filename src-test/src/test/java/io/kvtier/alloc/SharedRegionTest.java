package io.kvtier.alloc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.Mounts;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@ExtendWith(LeakCheck.class)
class SharedRegionTest {
    private static final int PAGE = 4096;
    private static final int MIB = 1 << 20;
    private static final byte[] TOKEN = "abc".getBytes(StandardCharsets.US_ASCII);
    /** SHA-256 of "abc", as FIPS 180-2 prints it. */
    private static final String HASH = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    private static final Consumer<Path> NOTHING = path -> { };

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;

    private List<Path> files() throws IOException {
        return files(directory);
    }

    private static List<Path> files(final Path where) throws IOException {
        try (Stream<Path> all = Files.list(where)) {
            return all.toList();
        }
    }

    private SharedFiles named(final Consumer<Path> created, final String... names) {
        final Iterator<String> next = List.of(names).iterator();
        return new SharedFiles(directory, next::next, created);
    }

    private static int errno(final Runnable call) {
        return assertThrows(ErrnoException.class, call::run).errno();
    }

    /** A first page as the documents draw it. */
    private static ByteBuffer header(final long version, final long data, final long file) {
        final ByteBuffer page = ByteBuffer.allocate(PAGE).order(ByteOrder.LITTLE_ENDIAN);
        page.put("KVTIERSM".getBytes(StandardCharsets.US_ASCII)).putInt((int) version).putInt(PAGE).putLong(data)
            .putLong(file).putLong(ProcessHandle.current().pid());
        return page;
    }

    @Test
    void shouldBeAPrivateZeroedFileThatIsThereAsLongAsTheRegion() throws IOException {
        final Path path;
        try (SharedRegion region = SharedRegion.create(directory, 10_000)) {
            path = region.path();
            assertEquals(List.of(path), files());
            assertTrue(path.getFileName().toString()
                .matches("kvtier-" + ProcessHandle.current().pid() + "-[0-9a-f]{16}"), path::toString);
            assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(path)));
            assertEquals(4 * PAGE, Files.size(path));
            assertTrue(region.isOwner());
            assertEquals(MemoryKind.MAPPED, region.kind());
            assertEquals(10_000, region.byteSize());
            assertEquals(0, region.segment().address() % PAGE);
            assertArrayEquals(new byte[10_000], PatternBytes.copyOf(region.segment()));
            assertEquals(new NativeResources.Usage(1, 4 * PAGE),
                NativeResources.snapshot().get(NativeTag.MAPPED_REGION));
        }
        assertFalse(Files.exists(path));
    }

    /** More than is allocated by one call, and less. */
    @ParameterizedTest
    @ValueSource(longs = {1, 3 * MIB, (128L << 20) + 1})
    void shouldHaveAllItsBlocksFromTheStart(final long bytes) throws IOException, InterruptedException {
        try (SharedRegion region = SharedRegion.create(directory, bytes)) {
            final Commands.Result stat = Commands.run("stat", "-c", "%s %b %B", region.path().toString());
            final String[] words = stat.output().strip().split(" ");
            final long size = Long.parseLong(words[0]);
            assertEquals((bytes + PAGE - 1) / PAGE * PAGE + PAGE, size);
            assertTrue(Long.parseLong(words[1]) * Long.parseLong(words[2]) >= size, stat::output);
        }
    }

    @Test
    void shouldBeginWithTheHeaderThatIsWrittenDown() throws IOException {
        try (SharedRegion region = SharedRegion.create(directory, 10_000, TOKEN)) {
            PatternBytes.fill(region.segment(), 1);
            final byte[] file = Files.readAllBytes(region.path());
            final byte[] page = header(1, 10_000, 4 * PAGE).put(HexFormat.of().parseHex(HASH)).array();
            assertArrayEquals(page, Arrays.copyOf(file, PAGE));
            assertArrayEquals(PatternBytes.of(1, 10_000), Arrays.copyOfRange(file, PAGE, PAGE + 10_000));
        }
    }

    @Test
    void shouldShowEachMappingWhatWasWrittenThroughTheOther() {
        try (SharedRegion owner = SharedRegion.create(directory, 10_000);
            SharedRegion other = SharedRegion.open(owner.path(), null)) {
            assertFalse(other.isOwner());
            assertEquals(owner.path(), other.path());
            assertEquals(10_000, other.byteSize());
            PatternBytes.fill(owner.segment(), 1);
            assertArrayEquals(PatternBytes.of(1, 10_000), PatternBytes.copyOf(other.segment()));
            PatternBytes.fill(other.segment(), 2);
            assertArrayEquals(PatternBytes.of(2, 10_000), PatternBytes.copyOf(owner.segment()));
        }
    }

    @Test
    void shouldStayValidForWhoMappedItAndBeFoundByNobodyOnceItsOwnerHasClosedIt() {
        final SharedRegion owner = SharedRegion.create(directory, 100);
        PatternBytes.fill(owner.segment(), 1);
        try (SharedRegion other = SharedRegion.open(owner.path(), null)) {
            owner.close();

            assertArrayEquals(PatternBytes.of(1, 100), PatternBytes.copyOf(other.segment()));
            assertEquals(Errno.ENOENT, errno(() -> SharedRegion.open(owner.path(), null)));
        }
    }

    @Test
    void shouldRemoveNothingWhenWhoMappedItCloses() {
        try (SharedRegion owner = SharedRegion.create(directory, 100)) {
            SharedRegion.open(owner.path(), null).close();

            // The lock of the owner has outlived the descriptor of the other.
            assertEquals(List.of(), SharedRegion.removeStale(directory));
            SharedRegion.open(owner.path(), null).close();
        }
    }

    @Test
    void shouldRemoveTheFileAtOnceAndTheMemoryOnceReleasedWhenClosedWhileRetained() throws IOException {
        final SharedRegion region = SharedRegion.create(directory, 100);
        assertTrue(region.tryRetain());
        region.close();

        assertEquals(List.of(), files());
        PatternBytes.fill(region.segment(), 1);
        assertArrayEquals(PatternBytes.of(1, 100), PatternBytes.copyOf(region.segment()));
        assertFalse(region.tryRetain());
        region.release();
        assertThrows(IllegalStateException.class, () -> region.segment().get(ValueLayout.JAVA_BYTE, 0));
        region.close();
    }

    @Test
    void shouldCloseWhenSomebodyElseHasRemovedTheFile() throws IOException {
        final SharedRegion region = SharedRegion.create(directory, 100);
        Files.delete(region.path());

        region.close();
        region.close();
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, Long.MIN_VALUE, (1L << 46) + 1, Long.MAX_VALUE})
    void shouldRefuseALengthThatCannotBe(final long bytes) throws IOException {
        assertThrows(IllegalArgumentException.class, () -> SharedRegion.create(directory, bytes));
        assertEquals(List.of(), files());
    }

    @Test
    void shouldSayWhatIsMissingWhenTheFolderIsNotThere() {
        final Path absent = directory.resolve("absent");

        assertEquals(Errno.ENOENT, errno(() -> SharedRegion.create(absent, 100)));
        assertThrows(UncheckedIOException.class, () -> SharedRegion.findStale(absent));
    }

    @Test
    void shouldTakeAnotherNameWhenOneIsTaken() throws IOException {
        Files.writeString(directory.resolve("a"), "mine");

        try (SharedRegion region = SharedRegion.create(named(NOTHING, "a", "a", "b"), 100, null)) {
            assertEquals("b", region.path().getFileName().toString());
        }
        final ErrnoException refusal = assertThrows(ErrnoException.class,
            () -> SharedRegion.create(new SharedFiles(directory, () -> "a", NOTHING), 100, null));
        assertEquals(Errno.EEXIST, refusal.errno());
        assertTrue(refusal.getMessage().contains("8 names"), refusal.getMessage());
        assertEquals("mine", Files.readString(directory.resolve("a")));
        assertEquals(List.of(directory.resolve("a")), files());
    }

    /** Between its creation and its lock the file looks like that of a dead process. */
    @Test
    void shouldTakeAnotherNameWhenTheFileWasRemovedAsStaleBeforeItWasLocked() throws IOException {
        final String first = "kvtier-1-0000000000000001";
        final List<Path> removed = new ArrayList<>();
        final Consumer<Path> sweep = path -> {
            if (path.endsWith(first)) {
                removed.addAll(SharedRegion.removeStale(directory));
            }
        };
        try (SharedRegion region = SharedRegion.create(named(sweep, first, "kvtier-1-0000000000000002"), 100, null)) {
            assertEquals(List.of(directory.resolve(first)), removed);
            assertEquals(List.of(directory.resolve("kvtier-1-0000000000000002")), files());
            assertEquals(files(), List.of(region.path()));
        }
    }

    @Test
    void shouldTakeAnotherNameWhenAnotherProcessHoldsTheLock() throws IOException {
        final List<PosixFile> held = new ArrayList<>();
        final Consumer<Path> lock = path -> {
            if (held.isEmpty()) {
                held.add(PosixFile.open(path.toString(), OpenMode.READ));
                assertTrue(held.getFirst().tryLock(true));
            }
        };
        try (SharedRegion region = SharedRegion.create(named(lock, "a", "b"), 100, null)) {
            assertEquals(List.of(region.path()), files());
        } finally {
            held.getFirst().close();
        }
    }

    @Test
    void shouldLeaveNothingWhenMakingItFails() throws IOException {
        final Consumer<Path> fail = path -> {
            throw new IllegalStateException("on purpose");
        };
        assertThrows(IllegalStateException.class, () -> SharedRegion.create(named(fail, "a"), 100, null));

        assertEquals(List.of(), files());
    }

    @Test
    void shouldFailAtItsCreationAndNotAtAnAccessWhenTheFileSystemIsFull() throws Exception {
        final long free = 64 * PAGE;
        try (Mounts full = Mounts.tmpfs(directory, free)) {
            final ErrnoException refusal =
                assertThrows(ErrnoException.class, () -> SharedRegion.create(full.at(), free - PAGE + 1));
            assertEquals(Errno.ENOSPC, refusal.errno());
            for (final String part : List.of(Long.toString(free + PAGE), Long.toString(free), "removeStale")) {
                assertTrue(refusal.getMessage().contains(part), () -> refusal.getMessage() + " does not say " + part);
            }
            assertEquals(List.of(), files());

            try (SharedRegion fits = SharedRegion.create(directory, free - PAGE)) {
                PatternBytes.fill(fits.segment(), 1);
                assertArrayEquals(PatternBytes.of(1, (int) free - PAGE), PatternBytes.copyOf(fits.segment()));
                assertEquals(Errno.ENOSPC, errno(() -> SharedRegion.create(directory, 1)));
            }
        }
    }

    @Test
    void shouldLeaveNothingWhenTheFileSystemFillsUpMeanwhile() throws Exception {
        try (Mounts full = Mounts.tmpfs(directory, 64 * PAGE)) {
            final Path other = full.at().resolve("other");
            final Consumer<Path> fill = path -> {
                try {
                    Files.write(other, new byte[32 * PAGE]);
                } catch (final IOException e) {
                    throw new UncheckedIOException(e);
                }
            };
            final ErrnoException refusal =
                assertThrows(ErrnoException.class, () -> SharedRegion.create(named(fill, "a"), 50 * PAGE, null));

            assertEquals(Errno.ENOSPC, refusal.errno());
            assertEquals(List.of(other), files());
            assertArrayEquals(new byte[32 * PAGE], Files.readAllBytes(other));
        }
    }

    @Test
    void shouldFailAtItsCreationWhenThereAreNoHugePagesLeft() throws Exception {
        final long huge = hugePages("HugePages_Free");
        try (Mounts pages = Mounts.hugetlbfs(directory)) {
            assertEquals(Errno.ENOSPC,
                errno(() -> SharedRegion.create(pages.at(), (huge + 1) * hugePages("Hugepagesize") * 1024)));
            assertEquals(List.of(), files());
        }
    }

    @Test
    void shouldHaveWholeHugePagesWhereThereAreSome() throws Exception {
        final long page = hugePages("Hugepagesize") * 1024;
        NotExercised.require("huge-pages", hugePages("HugePages_Free") >= 2,
            "vm.nr_hugepages leaves fewer than 2 free");
        try (Mounts pages = Mounts.hugetlbfs(directory);
            SharedRegion owner = SharedRegion.create(pages.at(), page, TOKEN);
            SharedRegion other = SharedRegion.open(owner.path(), TOKEN)) {
            assertEquals(2 * page, Files.size(owner.path()));
            PatternBytes.fill(owner.segment(), 1);
            assertArrayEquals(PatternBytes.of(1, (int) page), PatternBytes.copyOf(other.segment()));
        }
    }

    private static long hugePages(final String what) {
        try (Stream<String> lines = Files.lines(Path.of("/proc/meminfo"))) {
            return lines.filter(line -> line.startsWith(what + ":")).map(line -> line.replaceAll("[^0-9]", ""))
                .mapToLong(Long::parseLong).findFirst().orElse(0);
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void shouldBeFoundByTheTokenItWasCreatedWithOrByNone() {
        final byte[] other = TOKEN.clone();
        other[2]++;
        try (SharedRegion owner = SharedRegion.create(directory, 100, TOKEN);
            SharedRegion bare = SharedRegion.create(directory, 100)) {
            SharedRegion.open(owner.path(), TOKEN).close();
            SharedRegion.open(owner.path(), null).close();
            assertThrows(IllegalArgumentException.class, () -> SharedRegion.open(owner.path(), other));
            assertThrows(IllegalArgumentException.class, () -> SharedRegion.open(bare.path(), TOKEN));
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 8, PAGE - 1, PAGE, 3 * PAGE})
    void shouldRefuseAFileThatIsNotOne(final int length) throws IOException {
        final Path path = Files.write(directory.resolve("file"), PatternBytes.of(1, length));

        final IllegalArgumentException refusal =
            assertThrows(IllegalArgumentException.class, () -> SharedRegion.open(path, null));
        assertTrue(refusal.getMessage().contains(path.toString()), refusal.getMessage());
        assertArrayEquals(PatternBytes.of(1, length), Files.readAllBytes(path));
    }

    /** In files of 4 pages. */
    @ParameterizedTest
    @CsvSource({"2, 100, 8192, version", "1, 0, 8192, header says", "1, -1, 8192, header says",
        "1, 4097, 8192, header says", "1, 9223372036854775807, 16384, header says", "1, 100, 16385, was cut",
        "1, 100, 9223372036854775807, was cut", "1, 100, 0, header says", "1, 100, -1, header says",
        "1, 9223372036854775807, -9223372036854775808, header says"})
    void shouldRefuseAHeaderThatCannotBe(final long version, final long data, final long file, final String why)
        throws IOException {
        final byte[] content = Arrays.copyOf(header(version, data, file).array(), 4 * PAGE);
        final Path path = Files.write(directory.resolve("file"), content);

        final IllegalArgumentException refusal =
            assertThrows(IllegalArgumentException.class, () -> SharedRegion.open(path, null));
        assertTrue(refusal.getMessage().contains(why), refusal.getMessage());
        assertEquals(4 * PAGE, Files.size(path));
    }

    @Test
    void shouldRefuseAFileWhoseOwnerIsGone() throws IOException {
        final Path path = Files.write(directory.resolve("file"),
            Arrays.copyOf(header(1, 100, 2 * PAGE).array(), 2 * PAGE));

        assertThrows(IllegalStateException.class, () -> SharedRegion.open(path, null));
        try (PosixFile owner = PosixFile.open(path.toString(), OpenMode.READ)) {
            assertTrue(owner.tryLock(true));
            SharedRegion.open(path, null).close();
        }
    }

    @Test
    void shouldRefuseAndNotWaitForWhatIsNoFile() throws Exception {
        final Path pipe = directory.resolve("pipe");
        final Commands.Result made = Commands.run("mkfifo", pipe.toString());
        NotExercised.require("mkfifo", made.code() == 0, made.output());

        assertThrows(IllegalArgumentException.class, () -> SharedRegion.open(pipe, null));
        assertThrows(IllegalArgumentException.class, () -> SharedRegion.open(directory, null));
        assertEquals(Errno.ENOENT, errno(() -> SharedRegion.open(directory.resolve("absent"), null)));
    }

    @Test
    void shouldBeReadOnlyWhereTheFileSystemIs() throws Exception {
        final Path from = Files.createDirectory(directory.resolve("from"));
        final Path to = Files.createDirectory(directory.resolve("to"));
        try (Mounts mount = Mounts.readOnly(from, to); SharedRegion owner = SharedRegion.create(from, 100)) {
            PatternBytes.fill(owner.segment(), 1);
            try (SharedRegion other = SharedRegion.open(mount.at().resolve(owner.path().getFileName()), null)) {
                assertTrue(other.segment().isReadOnly());
                assertArrayEquals(PatternBytes.of(1, 100), PatternBytes.copyOf(other.segment()));
            }
            assertEquals(Errno.EROFS, errno(() -> SharedRegion.create(to, 100)));
        }
    }

    @Test
    void shouldRemoveOnlyWhatHasTheNameAndNoOwner() throws IOException {
        final Path stale = Files.write(directory.resolve("kvtier-4711-0123456789abcdef"), new byte[10]);
        final List<Path> others = List.of(
            Files.createDirectory(directory.resolve("kvtier-4711-0123456789abcde0")),
            Files.createSymbolicLink(directory.resolve("kvtier-4711-0123456789abcde1"), stale),
            Files.write(directory.resolve("kvtier-4711-0123456789ABCDEF"), new byte[10]),
            Files.write(directory.resolve("kvtier-4711-0123456789abcdef0"), new byte[10]),
            Files.write(directory.resolve("kvtier-x-0123456789abcdef"), new byte[10]),
            Files.write(directory.resolve("other"), new byte[10]));
        try (SharedRegion living = SharedRegion.create(directory, 100)) {
            assertEquals(List.of(stale), SharedRegion.findStale(directory));
            assertTrue(Files.exists(stale));
            assertEquals(List.of(stale), SharedRegion.removeStale(directory));
            assertEquals(List.of(), SharedRegion.removeStale(directory));

            assertTrue(Files.exists(living.path()));
            assertEquals(others.size() + 1, files().size());
        }
    }

    /** What an access behind the end of the file leaves pending is raised, in time to be caught. */
    @Test
    void shouldRaiseTheFaultWhenTheFileWasCut() throws IOException {
        try (SharedRegion owner = SharedRegion.create(directory, 3 * PAGE);
            SharedRegion other = SharedRegion.open(owner.path(), null)) {
            try (PosixFile file = PosixFile.open(owner.path().toString(), OpenMode.READ_WRITE)) {
                file.resize(2 * PAGE);
            }
            for (final SharedRegion region : List.of(owner, other)) {
                assertThrows(InternalError.class, () -> {
                    region.segment().get(ValueLayout.JAVA_BYTE, 2 * PAGE);
                    region.raiseFault();
                });
                assertEquals(0, region.segment().get(ValueLayout.JAVA_BYTE, 0));
                region.raiseFault();
            }
            assertThrows(IllegalArgumentException.class, () -> SharedRegion.open(owner.path(), null));
        }
    }
}
