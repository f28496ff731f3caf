package io.kvtier.store.storage.shared;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Faults;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.OpenDescriptors;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor.DistributedDisk;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Values read by where their descriptors say that they lie. */
@ExtendWith(LeakCheck.class)
class DistributedDiskReaderTest {
    private static final int PAGE = 4096;
    private static final int BUCKET = 256 * PAGE;
    private static final int SIZE = 3 * PAGE + 100;

    @TempDir
    private Path folder;
    private final Faults faults = new Faults();
    private final Arena arena = Arena.ofShared();
    private FileSystemAdapter files;
    private OpenFiles open;
    private DistributedDiskReader reader;
    private byte[] content;
    private DistributedDisk place;

    @BeforeEach
    void prepare() throws IOException {
        files = PosixFiles.open(new FaultyFiles(faults));
        final PageLayout layout = new PageLayout(folder.toString(), 4, PAGE, BUCKET);
        open = new OpenFiles(files);
        reader = new DistributedDiskReader(layout, open);
        content = PatternBytes.of(1, BUCKET);
        for (int i = 0; i < layout.buckets(); i++) {
            Files.write(Path.of(layout.path(i)), content);
        }
        place = new DistributedDisk(layout.path(2), 5 * PAGE, SIZE);
    }

    @AfterEach
    void close() {
        open.close();
        files.close();
        arena.close();
    }

    private byte[] read(final DistributedDisk from, final long offset, final int length, final boolean alone) {
        final MemorySegment target = arena.allocate(length + 1L).asSlice(1);
        reader.start(from, offset, List.of(target.asSlice(0, length / 3), target.asSlice(length / 3)), 0, alone)
            .await();
        return PatternBytes.copyOf(target);
    }

    private byte[] value(final byte[] bytes) {
        return Arrays.copyOfRange(bytes, 5 * PAGE, 5 * PAGE + SIZE);
    }

    private void replace(final byte[] bytes) throws IOException {
        final Path next = folder.resolve("next");
        Files.write(next, bytes);
        Files.move(next, Path.of(place.filePath()), StandardCopyOption.ATOMIC_MOVE);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldReadValuesAndPartsOfThem(final boolean alone) {
        assertArrayEquals(value(content), read(place, 0, SIZE, alone));
        assertArrayEquals(Arrays.copyOfRange(value(content), 4097, 9000), read(place, 4097, 9000 - 4097, alone));
        assertArrayEquals(new byte[] {value(content)[SIZE - 1]}, read(place, SIZE - 1, 1, alone));
        final StoreStats.SharedReads stats = reader.stats();
        assertEquals(3, stats.reads());
        assertEquals(SIZE + (9000 - 4097) + 1, stats.readBytes());
        assertEquals(3, stats.times().counts().stream().mapToLong(Long::longValue).sum());
        assertEquals(stats.times().bounds().size() + 1, stats.times().counts().size());
        assertTrue(stats.times().seconds() > 0);
        assertEquals(0, stats.failures());
        assertEquals(1, stats.openFiles());
    }

    @Test
    void shouldReadABatchThatOverlaps() {
        final List<DistributedDiskReader.Read> reads = new ArrayList<>();
        final List<MemorySegment> targets = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            targets.add(arena.allocate(PAGE, PAGE));
            reads.add(reader.start(new DistributedDisk(folder + "/bucket_0" + i % 4 + ".data", (long) i * PAGE, PAGE),
                0, List.of(targets.get(i)), 0, false));
        }
        reads.forEach(DistributedDiskReader.Read::await);
        IntStream.range(0, 100).forEach(i -> assertArrayEquals(
            Arrays.copyOfRange(content, i * PAGE, (i + 1) * PAGE), PatternBytes.copyOf(targets.get(i)), "read " + i));
        assertEquals(4, reader.stats().openFiles());
        assertEquals(100, reader.stats().reads());
    }

    @Test
    void shouldOpenAFileOnceForManyReads() {
        read(place, 0, SIZE, true);
        final long opened = faults.count(Faults.Call.OPEN);
        for (int i = 0; i < 50; i++) {
            read(place, i, SIZE - i, i % 2 == 0);
        }
        assertEquals(opened, faults.count(Faults.Call.OPEN));
    }

    @ParameterizedTest
    @ValueSource(longs = {11, 12, 13})
    void shouldGoOnAfterShortAndInterruptedCalls(final long seed) {
        faults.randomShort(seed);
        for (int i = 0; i < 20; i++) {
            assertArrayEquals(value(content), read(place, 0, SIZE, i % 2 == 0));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/etc/passwd", "%s/../bucket_02.data", "%s2/bucket_02.data", "%s/sub/bucket_02.data",
        "%s/other.data", "%s/bucket_02.data.tmp", "%s/bucket_/x.data"})
    void shouldReadNoFileButThoseOfTheSharedDisk(final String path) {
        final String elsewhere = path.formatted(folder);
        if (elsewhere.contains("..")) {
            assertThrows(IllegalArgumentException.class, () -> new DistributedDisk(elsewhere, 0, 1));
            return;
        }
        final StoreException refused = assertThrows(StoreException.class,
            () -> read(new DistributedDisk(elsewhere, 0, 100), 0, 100, true));
        assertEquals(ErrorCode.INVALID_PARAMS, refused.code());
        assertTrue(refused.getMessage().contains(elsewhere), refused::getMessage);
        assertEquals(0, faults.count(Faults.Call.OPEN));
    }

    @Test
    void shouldRefuseBytesThatTheValueDoesNotHave() {
        assertThrows(IndexOutOfBoundsException.class, () -> read(place, 1, SIZE, true));
        assertThrows(IndexOutOfBoundsException.class, () -> read(place, -1, 1, true));
    }

    @Test
    void shouldSayThatAFileEndsBeforeTheValue() {
        final StoreException failure = assertThrows(StoreException.class,
            () -> read(new DistributedDisk(place.filePath(), BUCKET - PAGE, PAGE + 1), 0, PAGE + 1, true));
        assertEquals(ErrorCode.FILE_READ_FAIL, failure.code());
        assertEquals(1, reader.stats().failures());
        assertEquals(0, reader.stats().reads());
    }

    @Test
    void shouldOpenAnewWhatFailedAndReadItNextTime() {
        read(place, 0, SIZE, true);
        final long opened = faults.count(Faults.Call.OPEN);
        faults.failNth(Faults.Call.READ, 1, Errno.EIO);
        assertThrows(StoreException.class, () -> read(place, 0, SIZE, true));
        assertEquals(opened, faults.count(Faults.Call.OPEN), "the path leads to the same file: it is not tried again");
        assertArrayEquals(value(content), read(place, 0, SIZE, true));
        assertTrue(faults.count(Faults.Call.OPEN) > opened);
        assertEquals(1, reader.stats().failures());
    }

    /** As after a file system was mounted anew: the old file answers with errors. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldReadTheFileThatTookThePlaceOfOneThatFails(final boolean alone) throws IOException {
        read(place, 0, SIZE, true);
        final byte[] others = PatternBytes.of(2, BUCKET);
        replace(others);
        faults.failNth(Faults.Call.READ, 1, Errno.ENOTCONN);
        assertArrayEquals(value(others), read(place, 0, SIZE, alone));
        assertEquals(1, reader.stats().replaced());
        assertEquals(0, reader.stats().failures());
    }

    @Test
    void shouldFindOutThatAFileWasReplacedWhenItsBytesAreWrong() throws IOException {
        final MemorySegment target = arena.allocate(SIZE);
        final DistributedDiskReader.Read same = reader.start(place, 0, List.of(target), 0, true);
        same.await();
        assertFalse(same.wrong(), "it is the right file, and nobody finds better bytes there");
        final DistributedDiskReader.Read old = reader.start(place, 0, List.of(target), 0, true);
        old.await();
        final byte[] others = PatternBytes.of(2, BUCKET);
        replace(others);
        assertTrue(old.wrong());
        assertArrayEquals(value(others), read(place, 0, SIZE, true));
    }

    @Test
    void shouldNotRememberAFileThatCouldNotBeOpened() throws IOException {
        Files.delete(Path.of(place.filePath()));
        final StoreException missing = assertThrows(StoreException.class, () -> read(place, 0, SIZE, true));
        assertEquals(ErrorCode.FILE_OPEN_FAIL, missing.code());
        Files.write(Path.of(place.filePath()), content);
        faults.failNth(Faults.Call.OPEN, 1, Errno.EMFILE);
        assertThrows(StoreException.class, () -> read(place, 0, SIZE, true));
        assertArrayEquals(value(content), read(place, 0, SIZE, true));
    }

    /** Else all would go on failing on it for as long as there is always one who does. */
    @Test
    void shouldOpenAFileAnewAlthoughAnotherReadIsStillOnTheOldOne() throws InterruptedException {
        read(place, 0, SIZE, true);
        final int before = OpenDescriptors.of(place.filePath()).size();
        try (Faults.Gate gate = faults.blockNext(Faults.Call.READ)) {
            final MemorySegment target = arena.allocate(SIZE);
            final DistributedDiskReader.Read slow = reader.start(place, 0, List.of(target), 0, false);
            gate.awaitEntered();
            faults.failNth(Faults.Call.READ, 1, Errno.EIO);
            assertThrows(StoreException.class, () -> read(place, 0, SIZE, true));
            assertArrayEquals(value(content), read(place, 0, SIZE, true));
            assertEquals(2 * before, OpenDescriptors.of(place.filePath()).size());
            gate.release();
            slow.await();
        }
        assertEquals(before, OpenDescriptors.of(place.filePath()).size());
    }

    @Test
    void shouldCloseAFileOnlyWhenItsLastReadHasEnded() throws IOException {
        try (Faults.Gate gate = faults.blockNext(Faults.Call.READ)) {
            final MemorySegment target = arena.allocate(SIZE);
            final DistributedDiskReader.Read slow = reader.start(place, 0, List.of(target), 0, false);
            open.close();
            assertFalse(OpenDescriptors.of(place.filePath()).isEmpty(), "a read is under way");
            gate.release();
            slow.await();
            assertArrayEquals(value(content), PatternBytes.copyOf(target));
        }
        assertEquals(List.of(), OpenDescriptors.of(place.filePath()));
    }
}
