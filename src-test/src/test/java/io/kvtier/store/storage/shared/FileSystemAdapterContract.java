package io.kvtier.store.storage.shared;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What every file system for shared files does; one class an implementation says how it is opened. Where a file is
 * looked at from outside, it is by the JDK, as a second program would.
 */
@ExtendWith(LeakCheck.class)
abstract class FileSystemAdapterContract {
    private static final int BLOCK = 4096;
    private static final int FILE = 1 << 20;
    private static final long NO_LIMIT = 0;

    @TempDir
    private Path temporary;
    private FileSystemAdapter files;
    private Path folder;

    /** Opens the implementation under test; {@link #folder} says where its files are. */
    abstract FileSystemAdapter open();

    /** A folder on the file system, empty. */
    Path folder(final Path anywhere) {
        return anywhere;
    }

    @BeforeEach
    final void openAdapter() {
        folder = folder(temporary);
        files = open();
    }

    @AfterEach
    final void closeAdapter() {
        files.close();
    }

    private Path made(final String name, final long bytes) {
        final Path path = folder.resolve(name);
        files.grow(path.toString(), bytes);
        return path;
    }

    /** Pieces at odd addresses, one behind the other, of the given bytes cut at random places. */
    private static List<MemorySegment> cut(final Arena arena, final byte[] bytes, final int pieces, final long seed) {
        final SplittableRandom random = new SplittableRandom(seed);
        final List<MemorySegment> all = new ArrayList<>();
        int from = 0;
        for (int i = 0; i < pieces; i++) {
            final int to = i == pieces - 1 ? bytes.length : from + random.nextInt(bytes.length - from + 1);
            final MemorySegment piece =
                arena.allocate(to - from + 8L, 8).asSlice(random.nextInt(2) * random.nextInt(8), to - from);
            MemorySegment.copy(MemorySegment.ofArray(bytes), from, piece, 0, to - from);
            all.add(piece);
            from = to;
        }
        return all;
    }

    private static byte[] joined(final List<MemorySegment> pieces) {
        final byte[] all = new byte[(int) pieces.stream().mapToLong(MemorySegment::byteSize).sum()];
        int at = 0;
        for (final MemorySegment piece : pieces) {
            MemorySegment.copy(piece, 0, MemorySegment.ofArray(all), at, piece.byteSize());
            at += (int) piece.byteSize();
        }
        return all;
    }

    @ParameterizedTest
    @CsvSource({"1,1", "4095,1", "4096,1", "4097,1", "4097,3", "70000,2", "70000,7", "65536,1", "65536,40",
        "300000,300", "524288,5"})
    void shouldReadBackWhatWasWrittenWhateverItsSizeAndItsPieces(final int size, final int pieces) throws IOException {
        final Path path = made("a", FILE);
        final byte[] bytes = PatternBytes.of(size, size);
        try (SharedFile file = files.open(path.toString()); Arena arena = Arena.ofShared()) {
            file.write(2 * BLOCK, cut(arena, bytes, pieces, size), NO_LIMIT).await();
            file.sync();
            for (final boolean alone : new boolean[] {true, false}) {
                final List<MemorySegment> targets = cut(arena, new byte[size], pieces, size + 1);
                file.read(2 * BLOCK, targets, NO_LIMIT, alone).await();
                assertArrayEquals(bytes, joined(targets));
            }
        }
        assertArrayEquals(bytes, Arrays.copyOfRange(Files.readAllBytes(path), 2 * BLOCK, 2 * BLOCK + size),
            "as another program sees it");
    }

    @Test
    void shouldReadFromAnyByteOn() {
        final Path path = made("a", FILE);
        final byte[] bytes = PatternBytes.of(3, FILE);
        try (SharedFile file = files.open(path.toString()); Arena arena = Arena.ofShared()) {
            file.write(0, cut(arena, bytes, 1, 0), NO_LIMIT).await();
            for (final int from : new int[] {1, 511, 4095, 4097, 10_000, FILE - 5000, FILE - 1}) {
                final int length = Math.min(5000, FILE - from);
                final List<MemorySegment> targets = cut(arena, new byte[length], 2, from);
                file.read(from, targets, NO_LIMIT, true).await();
                assertArrayEquals(Arrays.copyOfRange(bytes, from, from + length), joined(targets), "from " + from);
            }
        }
    }

    /** The blocks that are written belong to the writer; those beside them do not. */
    @Test
    void shouldFillTheLastBlockWithZerosAndTouchNoOther() throws IOException {
        final Path path = made("a", FILE);
        final byte[] before = PatternBytes.of(1, FILE);
        final byte[] value = PatternBytes.of(2, BLOCK + 10);
        try (SharedFile file = files.open(path.toString()); Arena arena = Arena.ofShared()) {
            file.write(0, cut(arena, before, 1, 0), NO_LIMIT).await();
            file.write(BLOCK, cut(arena, value, 3, 5), NO_LIMIT).await();
            file.sync();
        }
        final byte[] expected = before.clone();
        System.arraycopy(value, 0, expected, BLOCK, value.length);
        Arrays.fill(expected, BLOCK + value.length, 3 * BLOCK, (byte) 0);
        assertArrayEquals(expected, Files.readAllBytes(path));
    }

    @Test
    void shouldMoveNothingWhenThereIsNothingToMove() throws IOException {
        final Path path = made("a", FILE);
        try (SharedFile file = files.open(path.toString()); Arena arena = Arena.ofShared()) {
            file.write(0, List.of(), NO_LIMIT).await();
            file.write(0, List.of(arena.allocate(0)), NO_LIMIT).await();
            file.read(FILE, List.of(), NO_LIMIT, false).await();
        }
        assertArrayEquals(new byte[FILE], Files.readAllBytes(path));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 512, 4095, 4097})
    void shouldRefuseToWriteWhereNoBlockBegins(final long offset) {
        final Path path = made("a", FILE);
        try (SharedFile file = files.open(path.toString()); Arena arena = Arena.ofShared()) {
            final List<MemorySegment> source = List.of(arena.allocate(BLOCK));
            assertTrue(assertThrows(IllegalArgumentException.class, () -> file.write(offset, source, NO_LIMIT))
                .getMessage().contains(String.valueOf(offset)));
        }
    }

    @Test
    void shouldSayWhereAFileEnds() {
        final Path path = made("a", FILE);
        try (SharedFile file = files.open(path.toString()); Arena arena = Arena.ofShared()) {
            for (final boolean alone : new boolean[] {true, false}) {
                final StoreException failure = assertThrows(StoreException.class, () -> file.read(FILE - BLOCK,
                    List.of(arena.allocate(BLOCK + 1)), NO_LIMIT, alone).await());
                assertEquals(ErrorCode.FILE_READ_FAIL, failure.code());
                assertTrue(failure.getMessage().contains(path.toString()), failure::getMessage);
            }
        }
    }

    @Test
    void shouldMakeAFileAndGrowItAndNeverCutIt() throws IOException {
        final Path path = folder.resolve("a");
        assertNull(files.status(path.toString()));

        final FileSystemAdapter.Growth made = files.grow(path.toString(), 10 * BLOCK);
        assertEquals(0, made.before());
        assertEquals(10 * BLOCK, made.size());
        assertEquals(10 * BLOCK, Files.size(path));
        final byte[] bytes = PatternBytes.of(8, 10 * BLOCK);
        try (SharedFile file = files.open(path.toString()); Arena arena = Arena.ofShared()) {
            file.write(0, cut(arena, bytes, 1, 0), NO_LIMIT).await();
            file.sync();
        }
        final FileSystemAdapter.Growth grown = files.grow(path.toString(), 20 * BLOCK);
        assertEquals(10 * BLOCK, grown.before());
        assertEquals(20 * BLOCK, grown.size());
        final FileSystemAdapter.Growth kept = files.grow(path.toString(), 5 * BLOCK);
        assertEquals(20 * BLOCK, kept.before());
        assertEquals(20 * BLOCK, kept.size());

        assertEquals(20 * BLOCK, files.status(path.toString()).size());
        assertArrayEquals(Arrays.copyOf(bytes, 20 * BLOCK), Files.readAllBytes(path));
    }

    @Test
    void shouldBeGrownByManyAtOnceToWhatTheLargestWants() throws Exception {
        final Path path = folder.resolve("a");
        final int growers = 8;
        try (ExecutorService threads = Executors.newFixedThreadPool(growers)) {
            final List<Future<FileSystemAdapter.Growth>> all = new ArrayList<>();
            for (int i = 1; i <= growers; i++) {
                final long bytes = (long) i * BLOCK;
                all.add(threads.submit(() -> files.grow(path.toString(), bytes)));
            }
            for (int i = 0; i < growers; i++) {
                assertTrue(all.get(i).get().size() >= (i + 1L) * BLOCK);
            }
        }
        assertEquals((long) growers * BLOCK, Files.size(path));
    }

    @Test
    void shouldSayWhichFileIsNotThere() {
        final String path = folder.resolve("missing").toString();
        final StoreException failure = assertThrows(StoreException.class, () -> files.open(path));
        assertEquals(ErrorCode.FILE_OPEN_FAIL, failure.code());
        assertTrue(failure.getMessage().contains(path) && failure.getMessage().contains("mounted"),
            failure::getMessage);
        assertNull(files.status(path), "opening makes nothing");
    }

    @Test
    void shouldSayThatThereIsNoFolderToMakeAFileIn() {
        final String path = folder.resolve("no").resolve("a").toString();
        final StoreException failure = assertThrows(StoreException.class, () -> files.grow(path, BLOCK));
        assertEquals(ErrorCode.FILE_OPEN_FAIL, failure.code());
        assertTrue(failure.getMessage().contains(path), failure::getMessage);
    }

    @Test
    void shouldTellAFileFromTheOneThatTakesItsName() throws IOException {
        final Path path = made("a", FILE);
        final byte[] bytes = PatternBytes.of(4, BLOCK);
        final byte[] others = PatternBytes.of(5, BLOCK);
        try (SharedFile file = files.open(path.toString()); Arena arena = Arena.ofShared()) {
            file.write(0, cut(arena, bytes, 1, 0), NO_LIMIT).await();
            assertEquals(files.status(path.toString()).identity(), file.identity());
            final Path next = made("b", FILE);
            Files.move(next, path, StandardCopyOption.ATOMIC_MOVE);

            assertNotEquals(files.status(path.toString()).identity(), file.identity());
            try (SharedFile other = files.open(path.toString())) {
                assertEquals(files.status(path.toString()).identity(), other.identity());
                other.write(0, cut(arena, others, 1, 0), NO_LIMIT).await();
            }
            final List<MemorySegment> targets = cut(arena, new byte[BLOCK], 1, 0);
            file.read(0, targets, NO_LIMIT, true).await();
            assertArrayEquals(bytes, joined(targets), "the file that was opened stays the one that is read");
        }
        assertArrayEquals(others, Arrays.copyOf(Files.readAllBytes(path), BLOCK));
    }

    @Test
    void shouldServeManyThreadsAtOnce() throws Exception {
        final Path path = made("a", FILE);
        final int workers = 8;
        final int share = FILE / workers;
        try (SharedFile file = files.open(path.toString()); Arena arena = Arena.ofShared();
            ExecutorService threads = Executors.newFixedThreadPool(workers)) {
            final List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < workers; i++) {
                final int worker = i;
                all.add(threads.submit(() -> writeAndRead(file, arena, worker, (long) worker * share)));
            }
            for (final Future<?> one : all) {
                one.get();
            }
        }
    }

    private static void writeAndRead(final SharedFile file, final Arena arena, final int worker, final long offset) {
        for (int round = 0; round < 20; round++) {
            final byte[] bytes = PatternBytes.of(worker * 100L + round, 50_001);
            file.write(offset, cut(arena, bytes, 3, round), NO_LIMIT).await();
            final List<MemorySegment> targets = cut(arena, new byte[bytes.length], 2, round);
            file.read(offset, targets, NO_LIMIT, round % 2 == 0).await();
            assertArrayEquals(bytes, joined(targets));
        }
    }

    @Test
    void shouldReadManyPlacesAtOnce() {
        final Path path = made("a", FILE);
        final byte[] bytes = PatternBytes.of(6, FILE);
        try (SharedFile file = files.open(path.toString()); Arena arena = Arena.ofShared()) {
            file.write(0, cut(arena, bytes, 1, 0), NO_LIMIT).await();
            final List<RangeTransfer> reads = new ArrayList<>();
            final List<MemorySegment> targets = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                targets.add(arena.allocate(2 * BLOCK, BLOCK));
                reads.add(file.read(i * 2L * BLOCK, List.of(targets.getLast()), NO_LIMIT, false));
            }
            reads.forEach(RangeTransfer::await);
            assertArrayEquals(Arrays.copyOf(bytes, 100 * 2 * BLOCK), joined(targets));
        }
    }

    @Test
    void shouldMoveNothingOnAClosedFile() {
        final Path path = made("a", FILE);
        final SharedFile file = files.open(path.toString());
        file.close();
        file.close();
        try (Arena arena = Arena.ofShared()) {
            final List<MemorySegment> memory = List.of(arena.allocate(BLOCK));
            assertThrows(StoreException.class, () -> file.read(0, memory, NO_LIMIT, true).await());
            assertThrows(StoreException.class, () -> file.read(0, memory, NO_LIMIT, false).await());
            assertThrows(StoreException.class, () -> file.write(0, memory, NO_LIMIT).await());
            assertThrows(StoreException.class, file::sync);
        }
    }

    /** A system call that gets such memory would write wherever its address leads. */
    @Test
    void shouldRefuseMemoryThatNoDeviceCanReach() {
        final Path path = made("a", FILE);
        try (SharedFile file = files.open(path.toString()); Arena arena = Arena.ofConfined()) {
            for (final MemorySegment memory : List.of(MemorySegment.ofArray(new byte[BLOCK]), arena.allocate(BLOCK))) {
                assertThrows(StoreException.class, () -> file.read(0, List.of(memory), NO_LIMIT, true).await());
            }
        }
    }

    @Test
    void shouldKnowTheRoomThatIsLeft() throws IOException {
        final long free = files.freeBytes(folder.toString());
        assertTrue(free > 0 && free <= Files.getFileStore(folder).getTotalSpace(), () -> free + " bytes");
    }

    @Test
    void shouldLookWhetherAFileIsReadPastTheCacheWithoutChangingIt() throws IOException {
        final Path path = made("a", FILE);
        final byte[] before = Files.readAllBytes(path);
        assertTrue(files.readsPastTheCache(path.toString()).available(),
            () -> files.readsPastTheCache(path.toString()).reason());
        assertArrayEquals(before, Files.readAllBytes(path));
        Files.delete(path);
        assertFalse(files.readsPastTheCache(path.toString()).available());
    }

    @Test
    void shouldLeaveNothingBehindAfterLookingWhetherTheCacheIsPassed() throws IOException {
        final boolean passed = files.pastTheCache(folder.toString()).available();
        assertTrue(passed, () -> files.pastTheCache(folder.toString()).reason());
        try (Stream<Path> left = Files.list(folder)) {
            assertEquals(List.of(), left.toList());
        }
    }
}
