package io.kvtier.bindings.posix;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.LoopDevice;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.OpenDescriptors;
import io.kvtier.kit.PatternBytes;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@ExtendWith(LeakCheck.class)
class PosixFileTest {
    private static final long FIVE_GIB = 5L << 30;

    @TempDir
    private Path directory;
    private final Arena arena = Arena.ofShared();
    private Path path;

    @BeforeEach
    void makePath() throws IOException {
        path = directory.toRealPath().resolve("file");
    }

    @AfterEach
    void freeMemory() {
        arena.close();
        assertEquals(List.of(), OpenDescriptors.of(path.toString()), "descriptors left open");
    }

    private MemorySegment memory(final byte... bytes) {
        return arena.allocateFrom(ValueLayout.JAVA_BYTE, bytes);
    }

    private MemorySegment memory(final String text) {
        return memory(text.getBytes(StandardCharsets.US_ASCII));
    }

    private PosixFile existing(final String content, final OpenMode mode) throws IOException {
        Files.writeString(path, content);
        return PosixFile.open(path.toString(), mode);
    }

    private static int errnoOf(final Runnable call) {
        return assertThrows(ErrnoException.class, call::run).errno();
    }

    @ParameterizedTest
    @EnumSource(value = OpenMode.class, names = {"CREATE", "CREATE_NEW"})
    void shouldMakeTheFileReadableByItsOwnerWhenAbsent(final OpenMode mode) throws IOException {
        try (PosixFile file = PosixFile.open(path.toString(), mode)) {
            assertEquals(0, file.size());
            assertEquals(1, file.alignment());
            assertEquals(path.toString(), file.path());
        }
        final int permissions = (int) Files.getAttribute(path, "unix:mode") & 0777;
        assertEquals(0600, permissions & 0600);
        assertEquals(0, permissions & 0133, "nobody may execute it, and only the owner may write");
    }

    @ParameterizedTest
    @EnumSource(value = OpenMode.class, names = {"CREATE", "READ_WRITE", "READ"})
    void shouldKeepTheContentWhenFileExists(final OpenMode mode) throws IOException {
        existing("content", mode).close();

        assertEquals("content", Files.readString(path));
    }

    @Test
    void shouldFailWithEexistWhenFileToMakeIsThere() throws IOException {
        Files.writeString(path, "mine");

        assertEquals(17, errnoOf(() -> PosixFile.open(path.toString(), OpenMode.CREATE_NEW)));
        assertEquals("mine", Files.readString(path));
    }

    @ParameterizedTest
    @EnumSource(value = OpenMode.class, names = {"READ", "READ_WRITE", "READ_DIRECT", "READ_WRITE_DIRECT"})
    void shouldFailWithEnoentWhenFileToOpenIsAbsent(final OpenMode mode) {
        assertEquals(2, errnoOf(() -> PosixFile.open(path.toString(), mode)));
        assertTrue(Files.notExists(path));
    }

    @Test
    void shouldOpenABlockDeviceForOneAtATimeAndKnowItsSize() throws IOException, InterruptedException {
        Files.write(path, new byte[3 << 20]);
        try (LoopDevice loop = LoopDevice.of(path)) {
            final String device = loop.path().toString();
            final PosixFile file = PosixFile.open(device, OpenMode.READ_WRITE_EXCLUSIVE);
            try (file) {
                assertEquals(3 << 20, file.size());
                assertFalse(file.status().regular());
                assertEquals(16, errnoOf(() -> PosixFile.open(device, OpenMode.READ_WRITE_EXCLUSIVE)));
                PosixFile.open(device, OpenMode.READ_WRITE_DIRECT).close();
            }
            PosixFile.open(device, OpenMode.READ_WRITE_EXCLUSIVE).close();
        }
    }

    @Test
    void shouldFailWithEisdirWhenPathIsADirectory() {
        assertEquals(21, errnoOf(() -> PosixFile.open(directory.toString(), OpenMode.READ_WRITE)));
    }

    @Test
    void shouldFailWithEnotdirWhenAPartOfThePathIsAFile() throws IOException {
        Files.writeString(path, "");

        assertEquals(20, errnoOf(() -> PosixFile.open(path.resolve("below").toString(), OpenMode.CREATE)));
    }

    @Test
    void shouldNameCallPathAndErrnoWhenOpenFails() {
        final ErrnoException e =
            assertThrows(ErrnoException.class, () -> PosixFile.open(path.toString(), OpenMode.READ));

        assertEquals("open", e.call());
        assertTrue(e.getMessage().startsWith("open(" + path + ", READ) failed: ENOENT (2), "), e.getMessage());
    }

    @Test
    void shouldRefuseThePathWhenItContainsNul() throws IOException {
        Files.writeString(path, "not asked for");

        assertThrows(IllegalArgumentException.class, () -> PosixFile.open(path + "\0tail", OpenMode.READ));
    }

    @Test
    void shouldOpenTheSameFileAsTheJdkWhenNameIsNotAscii() throws IOException {
        NotExercised.require("utf-8-paths", System.getProperty("sun.jnu.encoding").equalsIgnoreCase("UTF-8"),
            "the JDK of this run encodes paths as " + System.getProperty("sun.jnu.encoding"));
        path = path.resolveSibling("größe-値");
        Files.writeString(path, "x");

        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ)) {
            assertEquals(1, file.size());
        }
    }

    @Test
    void shouldFailWithEbadfWhenWritingAFileOpenedForReading() throws IOException {
        try (PosixFile file = existing("content", OpenMode.READ)) {
            assertEquals(9, errnoOf(() -> file.write(memory("x"), 0)));
        }
        assertEquals("content", Files.readString(path));
    }

    @Test
    void shouldReadBackWhatWasWrittenWhenOffsetIsBehindFourGib() throws IOException {
        final byte[] data = PatternBytes.of(1, 5000);
        final long offset = FIVE_GIB + 123;
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.CREATE_NEW)) {
            assertEquals(data.length, file.write(memory(data), offset));
            assertEquals(offset + data.length, file.size());
            assertEquals(offset + data.length, Files.size(path));

            final MemorySegment back = arena.allocate(data.length);
            assertEquals(data.length, file.read(back, offset));
            assertArrayEquals(data, PatternBytes.copyOf(back));

            // The same offset cut to 32 bits is a hole.
            back.fill((byte) 1);
            assertEquals(data.length, file.read(back, offset - (1L << 32)));
            assertArrayEquals(new byte[data.length], PatternBytes.copyOf(back));
        }
    }

    @Test
    void shouldReadLessOrNothingWhenTheFileEnds() throws IOException {
        try (PosixFile file = existing("0123456789", OpenMode.READ)) {
            final MemorySegment target = arena.allocate(8);
            target.fill((byte) '-');
            assertEquals(3, file.read(target, 7));
            assertArrayEquals("789-----".getBytes(StandardCharsets.US_ASCII), PatternBytes.copyOf(target));
            assertEquals(0, file.read(target, 10));
            assertEquals(0, file.read(target, FIVE_GIB));
        }
    }

    @Test
    void shouldFailWithEinvalWhenOffsetIsNegative() throws IOException {
        try (PosixFile file = existing("content", OpenMode.READ_WRITE)) {
            assertEquals(22, errnoOf(() -> file.read(memory("x"), -1)));
            assertEquals(22, errnoOf(() -> file.write(memory("x"), -1)));
        }
    }

    @Test
    void shouldMoveAllPiecesInOrderWhenVectored() throws IOException {
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.CREATE_NEW)) {
            assertEquals(9, file.writeVector(List.of(memory("abc"), memory("d"), memory("efghi")), 2));
            assertEquals("\0\0abcdefghi", Files.readString(path));

            final MemorySegment first = arena.allocate(5);
            final MemorySegment second = arena.allocate(9);
            assertEquals(8, file.readVector(List.of(first, second), 3));
            assertArrayEquals("bcdef".getBytes(StandardCharsets.US_ASCII), PatternBytes.copyOf(first));
            assertArrayEquals("ghi\0\0\0\0\0\0".getBytes(StandardCharsets.US_ASCII), PatternBytes.copyOf(second));
        }
    }

    @Test
    void shouldMoveNothingWhenVectorIsEmpty() throws IOException {
        try (PosixFile file = existing("content", OpenMode.READ_WRITE)) {
            assertEquals(0, file.readVector(List.of(), 0));
            assertEquals(0, file.writeVector(List.of(), 0));
        }
    }

    @Test
    void shouldTakeAsManyPiecesAsTheKernelAndRefuseOneMore() throws IOException {
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.CREATE_NEW)) {
            assertEquals(1024, file.writeVector(Collections.nCopies(1024, memory("x")), 0));
            assertEquals("x".repeat(1024), Files.readString(path));
            assertThrows(IllegalArgumentException.class,
                () -> file.writeVector(Collections.nCopies(1025, memory("y")), 0));
            assertThrows(IllegalArgumentException.class,
                () -> file.readVector(Collections.nCopies(1025, memory("y")), 0));
        }
        assertEquals("x".repeat(1024), Files.readString(path));
    }

    @Test
    void shouldRefuseHeapMemoryEverywhere() throws IOException {
        final MemorySegment heap = MemorySegment.ofArray(new byte[4]);
        try (PosixFile file = existing("content", OpenMode.READ_WRITE)) {
            assertThrows(IllegalArgumentException.class, () -> file.read(heap, 0));
            assertThrows(IllegalArgumentException.class, () -> file.write(heap, 0));
            assertThrows(IllegalArgumentException.class, () -> file.readVector(List.of(memory("x"), heap), 0));
            assertThrows(IllegalArgumentException.class, () -> file.writeVector(List.of(memory("x"), heap), 0));
        }
        assertEquals("content", Files.readString(path));
    }

    @Test
    void shouldRefuseToReadIntoReadOnlyMemory() throws IOException {
        final MemorySegment constant = memory("const");
        try (PosixFile file = existing("content", OpenMode.READ)) {
            assertThrows(IllegalArgumentException.class, () -> file.read(constant.asReadOnly(), 0));
            assertThrows(IllegalArgumentException.class, () -> file.readVector(List.of(constant.asReadOnly()), 0));
        }
        assertArrayEquals("const".getBytes(StandardCharsets.US_ASCII), PatternBytes.copyOf(constant));
    }

    @Test
    void shouldRefuseMemoryWhenItIsClosedOrAnotherThreads() throws IOException, InterruptedException {
        final Arena gone = Arena.ofShared();
        final MemorySegment closed = gone.allocate(4);
        gone.close();
        try (PosixFile file = existing("content", OpenMode.READ_WRITE); Arena own = Arena.ofConfined()) {
            assertThrows(IllegalStateException.class, () -> file.read(closed, 0));
            assertThrows(IllegalStateException.class, () -> file.readVector(List.of(closed), 0));
            assertThrows(IllegalStateException.class, () -> file.writeVector(List.of(closed), 0));

            final MemorySegment confined = own.allocate(4);
            final Thread other = Thread.ofPlatform().start(() -> {
                assertThrows(WrongThreadException.class, () -> file.read(confined, 0));
                assertThrows(IllegalStateException.class, () -> file.readVector(List.of(confined), 0));
                assertThrows(IllegalStateException.class, () -> file.writeVector(List.of(confined), 0));
            });
            final Throwable[] failed = new Throwable[1];
            other.setUncaughtExceptionHandler((thread, e) -> failed[0] = e);
            other.join();
            assertEquals(null, failed[0]);
            assertArrayEquals(new byte[4], PatternBytes.copyOf(confined));
        }
        assertEquals("content", Files.readString(path));
    }

    @Test
    void shouldGrowButNeverShrinkNorChangeBytesWhenPreallocating() throws IOException {
        try (PosixFile file = existing("content", OpenMode.READ_WRITE)) {
            file.preallocate(0, 100_000);
            assertEquals(100_000, Files.size(path));

            file.preallocate(0, 10);
            file.preallocate(50, 100);
            assertEquals(100_000, Files.size(path));

            final byte[] expected = new byte[100_000];
            System.arraycopy("content".getBytes(StandardCharsets.US_ASCII), 0, expected, 0, 7);
            assertArrayEquals(expected, Files.readAllBytes(path));
        }
    }

    @Test
    void shouldReserveDiskBlocksWhenPreallocating() throws IOException, InterruptedException {
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.CREATE_NEW)) {
            file.preallocate(1 << 20, 1 << 20);
            file.sync();

            assertEquals(2 << 20, file.size());
            final Commands.Result stat = Commands.run("stat", "-c", "%b %B", path.toString());
            NotExercised.require("stat", stat.code() == 0, "the program stat: " + stat.output());
            final String[] blocks = stat.output().strip().split(" ");
            assertEquals(Long.parseLong(blocks[0]) * Long.parseLong(blocks[1]), file.status().allocatedBytes());
            assertTrue(file.status().allocatedBytes() >= 1 << 20);
        }
    }

    @Test
    void shouldFailWithEinvalWhenPreallocatingNothing() throws IOException {
        try (PosixFile file = existing("content", OpenMode.READ_WRITE)) {
            assertEquals(22, errnoOf(() -> file.preallocate(0, 0)));
            assertEquals(22, errnoOf(() -> file.preallocate(-1, 10)));
        }
    }

    @Test
    void shouldCutAndExtendWhenResized() throws IOException {
        try (PosixFile file = existing("content", OpenMode.READ_WRITE)) {
            file.resize(4);
            assertEquals("cont", Files.readString(path));
            file.resize(6);
            assertEquals("cont\0\0", Files.readString(path));
            file.resize(FIVE_GIB);
            assertEquals(FIVE_GIB, Files.size(path));
        }
    }

    @Test
    void shouldSyncFilesAndDirectoriesButNotWhatCannotBeSynced() throws IOException {
        try (PosixFile file = existing("content", OpenMode.READ_WRITE)) {
            file.sync();
            file.syncAll();
        }
        try (PosixFile parent = PosixFile.open(directory.toString(), OpenMode.READ)) {
            parent.syncAll();
        }
        try (PosixFile device = PosixFile.open("/dev/null", OpenMode.READ_WRITE)) {
            assertEquals(22, errnoOf(device::sync));
            assertEquals("fsync", assertThrows(ErrnoException.class, device::syncAll).call());
        }
    }

    @Test
    void shouldBeTheSameFileWhenReachedByTwoNames() throws IOException {
        Files.writeString(path, "content");
        final Path link = Files.createLink(path.resolveSibling("link"), path);
        final Path other = Files.writeString(path.resolveSibling("other"), "content");

        try (PosixFile first = PosixFile.open(path.toString(), OpenMode.READ);
            PosixFile second = PosixFile.open(link.toString(), OpenMode.READ);
            PosixFile third = PosixFile.open(other.toString(), OpenMode.READ)) {
            assertEquals(first.identity(), second.identity());
            assertNotEquals(first.identity(), third.identity());
        }
    }

    @Test
    void shouldLiveInMemoryWhenMadeWithoutAName() {
        final String name = "kvtier-test-" + System.nanoTime();
        try (PosixFile file = PosixFile.inMemory(name)) {
            assertEquals(1, OpenDescriptors.of("/memfd:" + name).size());
            assertEquals("memfd:" + name, file.path());
            assertEquals(0, file.size());
            file.write(memory("in memory"), 3);
            final MemorySegment back = arena.allocate(12);
            assertEquals(12, file.read(back, 0));
            assertArrayEquals("\0\0\0in memory".getBytes(StandardCharsets.US_ASCII), PatternBytes.copyOf(back));
        }
        assertEquals(List.of(), OpenDescriptors.of("/memfd:" + name));
    }

    @Test
    void shouldNotBeInheritedByProcessesThatTheHostStarts() throws IOException {
        final int closeOnExec = 02000000;
        final String name = "kvtier-exec-" + System.nanoTime();
        Files.writeString(path, "");
        for (final OpenMode mode : List.of(OpenMode.READ, OpenMode.READ_WRITE, OpenMode.CREATE)) {
            try (PosixFile file = PosixFile.open(path.toString(), mode); PosixFile memory = PosixFile.inMemory(name)) {
                assertEquals(file.path(), path.toString());
                assertEquals(closeOnExec, flags(path.toString()) & closeOnExec, mode + ": " + memory.path());
                assertEquals(closeOnExec, flags("/memfd:" + name) & closeOnExec);
            }
        }
    }

    private static int flags(final String target) throws IOException {
        final int number = OpenDescriptors.of(target).getFirst();
        return Files.readAllLines(Path.of("/proc/self/fdinfo", String.valueOf(number))).stream()
            .filter(line -> line.startsWith("flags:")).map(line -> Integer.parseInt(line.substring(6).strip(), 8))
            .findFirst().orElseThrow();
    }

    @Test
    void shouldSkipThePageCacheWhenOpenedDirect() throws IOException {
        Files.write(path, PatternBytes.of(5, 10_000));
        try (PosixFile file = openDirect()) {
            final int direct = System.getProperty("os.arch").equals("aarch64") ? 0200000 : 040000;
            assertEquals(direct, flags(path.toString()) & direct);
            assertEquals(0, file.alignment() & file.alignment() - 1, "a power of two");
            assertTrue(file.alignment() >= 4096);
            final MemorySegment block = arena.allocate(file.alignment(), file.alignment());
            assertEquals(file.alignment(), file.read(block, file.alignment()));
            final byte[] expected = new byte[file.alignment()];
            System.arraycopy(PatternBytes.of(5, 10_000), file.alignment(), expected, 0,
                Math.min(file.alignment(), 10_000 - file.alignment()));
            assertArrayEquals(expected, PatternBytes.copyOf(block));
        }
    }

    private PosixFile openDirect() {
        try {
            return PosixFile.open(path.toString(), OpenMode.READ_WRITE_DIRECT);
        } catch (final ErrnoException e) {
            NotExercised.require("direct-io", false, "the file system of the temporary directory: " + e.getMessage());
            throw e;
        }
    }

    @Test
    void shouldFailWithEinvalWhenTheFileSystemCannotDoDirectIo() {
        assertEquals(22, errnoOf(() -> PosixFile.open("/proc/self/status", OpenMode.READ_DIRECT)));
        assertEquals(List.of(), OpenDescriptors.of("/proc/" + ProcessHandle.current().pid() + "/status"));
    }

    @Test
    void shouldTellWhatTheJdkTellsWhenAskedForStatus() throws IOException {
        try (PosixFile file = existing("content", OpenMode.READ)) {
            final FileStatus status = file.status();
            assertEquals(7, status.size());
            assertTrue(status.regular());
            assertEquals(Files.getAttribute(path, "unix:ino"), status.inode());
            // gnu_dev_major and gnu_dev_minor of sys/sysmacros.h.
            final long device = (long) Files.getAttribute(path, "unix:dev");
            final long major = device >>> 8 & 0xfff | device >>> 32 & ~0xfffL;
            final long minor = device & 0xff | device >>> 12 & ~0xffL & 0xffffffffL;
            assertEquals(major << 32 | minor, status.device());
        }
        try (PosixFile parent = PosixFile.open(directory.toString(), OpenMode.READ)) {
            assertEquals(false, parent.status().regular());
        }
    }

    @Test
    void shouldTellTheBlockOfTheDeviceWhenAskedForDirectAlignment() throws IOException {
        try (PosixFile file = existing("content", OpenMode.READ)) {
            final FileStatus status = file.status();
            final Path device = Path.of("/sys/dev/block", (status.device() >>> 32) + ":"
                + (status.device() & 0xffffffffL));
            final String type = Files.getFileStore(path).type();
            NotExercised.require("direct-io-alignment", status.offsetAlignment() > 0 && Files.exists(device)
                && (type.equals("ext4") || type.equals("xfs")), "the kernel tells no alignment on " + type);
            final Path queue = Files.exists(device.resolve("queue")) ? device.resolve("queue")
                : device.toRealPath().resolveSibling("queue");
            final int block = Integer.parseInt(Files.readString(queue.resolve("logical_block_size")).strip());
            assertEquals(block, status.offsetAlignment());
            assertEquals(0, status.memoryAlignment() & status.memoryAlignment() - 1);
        }
    }

    @Test
    void shouldCloseTwiceWithoutHarm() throws IOException {
        final PosixFile file = existing("content", OpenMode.READ_WRITE);
        file.close();
        // The freed number goes to the next file, which a second close must leave alone.
        try (PosixFile next = PosixFile.open(path.toString(), OpenMode.READ_WRITE)) {
            file.close();
            assertEquals(7, next.size());
        }
    }

    @Test
    void shouldGiveBlocksBackAndReadZerosWhereAHoleIs() throws IOException {
        final byte[] content = PatternBytes.of(3, 1 << 20);
        Files.write(path, content);
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE)) {
            file.sync();
            final long before = file.status().allocatedBytes();

            file.punch(256 << 10, 512 << 10);

            file.sync();
            assertEquals(1 << 20, file.size());
            assertTrue(file.status().allocatedBytes() <= before - (512 << 10), "no block was given back");
            Arrays.fill(content, 256 << 10, 768 << 10, (byte) 0);
            assertArrayEquals(content, Files.readAllBytes(path));
            assertEquals(22, errnoOf(() -> file.punch(0, 0)));
        }
    }

    @Test
    void shouldRefuseEveryCallWhenClosed() throws IOException {
        final PosixFile file = existing("content", OpenMode.READ_WRITE);
        file.close();

        final List<Runnable> calls = List.of(() -> file.read(memory("x"), 0), () -> file.write(memory("x"), 0),
            () -> file.readVector(List.of(memory("x")), 0), () -> file.writeVector(List.of(memory("x")), 0), file::sync,
            file::syncAll, () -> file.preallocate(0, 100), () -> file.punch(0, 100), () -> file.resize(0), file::size,
            file::status, file::identity, () -> file.tryLock(true), () -> Mapping.of(file, 0, 1, false));
        for (final Runnable call : calls) {
            final IllegalStateException e = assertThrows(IllegalStateException.class, call::run);
            assertEquals(path + " is closed", e.getMessage());
        }
        assertEquals("content", Files.readString(path));
        assertEquals(path.toString(), file.path());
    }

    @Test
    void shouldKeepTheDescriptorForWhoeverAcquiredIt() throws IOException {
        final PosixFile file = existing("abc", OpenMode.READ);
        final int descriptor = file.acquireDescriptor();
        file.close();
        assertEquals(List.of(descriptor), OpenDescriptors.of(path.toString()));
        assertThrows(IllegalStateException.class, file::acquireDescriptor);

        file.releaseDescriptor();
        assertEquals(List.of(), OpenDescriptors.of(path.toString()));
        assertThrows(IllegalStateException.class, file::releaseDescriptor);
    }

    @Test
    void shouldGiveAMadeFileTheModeThatIsAsked() throws IOException {
        PosixFile.open(path.toString(), OpenMode.CREATE_NEW, PosixFile.MODE_PRIVATE).close();
        assertEquals(0600, (int) Files.getAttribute(path, "unix:mode") & 0777);

        PosixFile.open(path.toString(), OpenMode.CREATE, PosixFile.MODE_DEFAULT).close();
        assertEquals(0600, (int) Files.getAttribute(path, "unix:mode") & 0777, "a file that exists keeps its own");
    }

    @Test
    void shouldLockAgainstEveryOtherOwnerAndKeepTheLockWhenThatCloses() throws IOException {
        final String name = path.toString();
        try (PosixFile holder = existing("content", OpenMode.READ)) {
            assertTrue(holder.tryLock(true));
            assertTrue(holder.tryLock(true), "its own lock is not in its way");
            try (PosixFile other = PosixFile.open(name, OpenMode.READ_WRITE)) {
                assertFalse(other.tryLock(true));
                assertFalse(other.tryLock(false));
            }
            try (PosixFile other = PosixFile.open(name, OpenMode.READ)) {
                assertFalse(other.tryLock(false), "the lock went with another descriptor");
            }
        }
        try (PosixFile one = PosixFile.open(name, OpenMode.READ);
            PosixFile two = PosixFile.open(name, OpenMode.READ)) {
            assertTrue(one.tryLock(false));
            assertTrue(two.tryLock(false));
            assertFalse(one.tryLock(true));
        }
    }

    @Test
    void shouldShowTheLockToOtherPrograms() throws IOException, InterruptedException {
        NotExercised.require("flock", Commands.run("flock", "--version").code() == 0, "no flock(1)");
        try (PosixFile holder = existing("content", OpenMode.READ)) {
            assertTrue(holder.tryLock(true));
            assertEquals(1, Commands.run("flock", "-n", path.toString(), "true").code());
        }
        assertEquals(0, Commands.run("flock", "-n", path.toString(), "true").code());
    }
}
