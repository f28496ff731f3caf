package io.kvtier.bindings.uring;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.Mapping;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Several segments at one place of a file, in one operation. */
@ExtendWith(LeakCheck.class)
class UringVectorTest {
    private static final int BLOCK = 4096;
    private static final byte UNTOUCHED = 0x55;

    @TempDir
    private Path directory;
    private final Arena arena = Arena.ofShared();
    private Path path;
    private byte[] content;

    @BeforeEach
    void makeFile() throws IOException {
        NotExercised.require("uring", Uring.availability().available(), Uring.availability().reason());
        content = PatternBytes.of(1, 64 * BLOCK);
        path = Files.write(directory.resolve("file"), content);
    }

    @AfterEach
    void freeMemory() {
        arena.close();
    }

    private static UringRing ring(final int depth) {
        return UringRing.open(UringOptions.ofDepth(depth));
    }

    private PosixFile open(final OpenMode mode) {
        try {
            return PosixFile.open(path.toString(), mode);
        } catch (final ErrnoException e) {
            NotExercised.require("direct-io", e.errno() != Errno.EINVAL, "the directory of the tests refuses O_DIRECT");
            throw e;
        }
    }

    private MemorySegment memory(final long bytes) {
        final MemorySegment memory = arena.allocate(bytes, BLOCK);
        memory.fill(UNTOUCHED);
        return memory;
    }

    private byte[] expected(final int offset, final int length) {
        return Arrays.copyOfRange(content, offset, offset + length);
    }

    private static NativeResources.Usage arrays() {
        return NativeResources.snapshot().getOrDefault(NativeTag.RING_VECTOR, new NativeResources.Usage(0, 0));
    }

    @ParameterizedTest
    @EnumSource(value = OpenMode.class, names = {"READ_WRITE", "READ_WRITE_DIRECT"})
    void shouldFillAndWriteSegmentsInTheirOrder(final OpenMode mode) throws IOException {
        try (PosixFile file = open(mode); UringRing ring = UringRing.open(UringOptions.ofDepth(2).withSlots(1, 0));
            UringFile attached = ring.attach(file)) {
            final MemorySegment memory = memory(8 * BLOCK);
            // Backwards in memory, and parts of a larger segment.
            final SegmentVector vector = new SegmentVector(3).add(memory, 6 * BLOCK, 2 * BLOCK)
                .add(memory.asSlice(3 * BLOCK, BLOCK)).add(memory, 0, BLOCK);
            assertEquals(4 * BLOCK, vector.byteSize());
            assertTrue(ring.readVector(attached, vector, 5 * BLOCK, 1));
            assertEquals(Map.of(1L, 4 * BLOCK), Ends.of(ring));
            assertArrayEquals(expected(5 * BLOCK, 2 * BLOCK), PatternBytes.copyOf(memory.asSlice(6 * BLOCK)));
            assertArrayEquals(expected(7 * BLOCK, BLOCK), PatternBytes.copyOf(memory.asSlice(3 * BLOCK, BLOCK)));
            assertArrayEquals(expected(8 * BLOCK, BLOCK), PatternBytes.copyOf(memory.asSlice(0, BLOCK)));
            assertEquals(UNTOUCHED, memory.get(ValueLayout.JAVA_BYTE, BLOCK));

            assertTrue(ring.writeVector(attached, vector, 0, 2));
            assertEquals(Map.of(2L, 4 * BLOCK), Ends.of(ring));
            assertArrayEquals(expected(5 * BLOCK, 4 * BLOCK), Arrays.copyOf(Files.readAllBytes(path), 4 * BLOCK));
        }
    }

    @Test
    void shouldTakeAsManySegmentsAsTheKernelDoesAndNoMore() {
        try (PosixFile file = open(OpenMode.READ); UringRing ring = ring(1); UringFile attached = ring.attach(file)) {
            final int count = SegmentVector.MAX_SEGMENTS;
            final SegmentVector vector = new SegmentVector(count);
            final MemorySegment memory = memory(3L * count);
            for (int i = 0; i < count; i++) {
                vector.add(memory, 3L * (count - 1 - i), 3);
            }
            assertTrue(ring.readVector(attached, vector, 7, 1));
            assertEquals(Map.of(1L, 3 * count), Ends.of(ring));
            for (int i = 0; i < count; i++) {
                assertArrayEquals(expected(7 + 3 * i, 3),
                    PatternBytes.copyOf(memory.asSlice(3L * (count - 1 - i), 3)));
            }
            final String full = assertThrows(IllegalStateException.class, () -> vector.add(memory)).getMessage();
            assertTrue(full.contains("1024") && full.contains("IOV_MAX"), full);
            final String tooMany = assertThrows(IllegalArgumentException.class, () -> new SegmentVector(count + 1))
                .getMessage();
            assertTrue(tooMany.contains("1025") && tooMany.contains("IOV_MAX"), tooMany);
        }
    }

    @Test
    void shouldEndShortAtTheEndOfTheFileAndLeaveTheRest() {
        try (PosixFile file = open(OpenMode.READ); UringRing ring = ring(4); UringFile attached = ring.attach(file)) {
            final MemorySegment memory = memory(300);
            final SegmentVector vector = SegmentVector.of(memory.asSlice(0, 100), memory.asSlice(100, 100),
                memory.asSlice(200));
            assertTrue(ring.readVector(attached, vector, content.length - 150, 1));
            assertEquals(Map.of(1L, 150), Ends.of(ring));
            assertArrayEquals(expected(content.length - 150, 150), PatternBytes.copyOf(memory.asSlice(0, 150)));
            final byte[] rest = new byte[150];
            Arrays.fill(rest, UNTOUCHED);
            assertArrayEquals(rest, PatternBytes.copyOf(memory.asSlice(150)));

            assertTrue(ring.readVector(attached, vector, content.length, 2));
            assertTrue(ring.readVector(attached, SegmentVector.of(memory.asSlice(0, 0)), 0, 3));
            assertEquals(Map.of(2L, 0, 3L, 0), Ends.of(ring));
        }
    }

    @Test
    void shouldReadWhatAPipeHasAndCancelTheRest() throws InterruptedException {
        final Path pipe = directory.resolve("pipe");
        assertEquals(0, Commands.run("mkfifo", pipe.toString()).code());
        try (PosixFile file = PosixFile.open(pipe.toString(), OpenMode.READ_WRITE); UringRing ring = ring(4);
            UringFile attached = ring.attach(file)) {
            final MemorySegment memory = memory(10);
            final SegmentVector vector = SegmentVector.of(memory.asSlice(0, 2), memory.asSlice(2, 8));
            assertTrue(ring.readVector(attached, vector, 0, 1));
            ring.submit();
            assertTrue(ring.write(attached, memory(3), 0, 2));
            assertEquals(Map.of(1L, 3, 2L, 3), Ends.of(ring));

            assertTrue(ring.readVector(attached, vector, 0, 3));
            assertEquals(1, ring.cancel(3));
            assertEquals(Map.of(3L, -Errno.ECANCELED), Ends.of(ring));
        }
    }

    @Test
    void shouldNotDependOnTheVectorOncePrepared() {
        try (PosixFile file = open(OpenMode.READ); UringRing ring = ring(3); UringFile attached = ring.attach(file)) {
            final MemorySegment memory = memory(6 * BLOCK);
            final SegmentVector vector = new SegmentVector(2);
            for (int round = 0; round < 5; round++) {
                memory.fill(UNTOUCHED);
                for (int i = 0; i < 3; i++) {
                    vector.clear();
                    vector.add(memory, 2L * i * BLOCK, BLOCK).add(memory, (2L * i + 1) * BLOCK, BLOCK);
                    assertTrue(ring.readVector(attached, vector, 2L * i * BLOCK, i));
                }
                vector.clear();
                vector.add(memory, 0, 1);
                assertFalse(ring.readVector(attached, vector, 0, 9));
                assertEquals(Map.of(0L, 2 * BLOCK, 1L, 2 * BLOCK, 2L, 2 * BLOCK), Ends.of(ring));
                assertArrayEquals(expected(0, 6 * BLOCK), PatternBytes.copyOf(memory));
                // One array for each that was open at a time, lent again in every round.
                assertEquals(new NativeResources.Usage(3, 3 * 8 * 16), arrays());
            }
        }
    }

    @Test
    void shouldKeepArrayAndMemoryUntilTheEnd() throws InterruptedException {
        final Path pipe = directory.resolve("pipe");
        final Path silent = directory.resolve("silent");
        assertEquals(0, Commands.run("mkfifo", pipe.toString(), silent.toString()).code());
        try (PosixFile file = PosixFile.open(pipe.toString(), OpenMode.READ_WRITE);
            PosixFile other = PosixFile.open(silent.toString(), OpenMode.READ_WRITE); UringRing ring = ring(4);
            UringFile attached = ring.attach(file); UringFile unanswered = ring.attach(other)) {
            final WeakReference<MemorySegment> target = readIntoCollectable(ring, attached);
            ring.submit();
            // Another one must not be lent the array that is in use.
            final MemorySegment memory = memory(8);
            assertTrue(ring.readVector(unanswered, SegmentVector.of(memory, memory), 0, 2));
            ring.submit();
            assertEquals(2, arrays().handles());
            for (int i = 0; i < 5; i++) {
                System.gc();
            }
            assertNotNull(target.get(), "the memory of an open operation was collected");
            final MemorySegment source = memory(4);
            assertTrue(ring.write(attached, source, 0, 3));
            ring.submitAndWait(2);
            final Ends ends = new Ends();
            ring.reap(ends);
            assertEquals(Map.of(1L, 4, 3L, 4), ends.results());
            while (target.get() != null) {
                System.gc();
            }
            assertEquals(1, ring.cancel(2));
            assertEquals(Map.of(2L, -Errno.ECANCELED), Ends.of(ring));
        }
    }

    private static WeakReference<MemorySegment> readIntoCollectable(final UringRing ring, final UringFile file) {
        final MemorySegment target = Arena.ofAuto().allocate(100);
        assertTrue(ring.readVector(file, SegmentVector.of(target), 0, 1));
        return new WeakReference<>(target);
    }

    @Test
    void shouldCloseWithVectorsPreparedAndInFlight() throws InterruptedException {
        final Path pipe = directory.resolve("pipe");
        assertEquals(0, Commands.run("mkfifo", pipe.toString()).code());
        try (PosixFile file = PosixFile.open(pipe.toString(), OpenMode.READ_WRITE)) {
            final UringRing ring = ring(2);
            final UringFile attached = ring.attach(file);
            assertTrue(ring.readVector(attached, SegmentVector.of(memory(8)), 0, 1));
            ring.submit();
            assertTrue(ring.readVector(attached, SegmentVector.of(memory(8), memory(8)), 0, 2));
            ring.close();
            assertEquals(0, arrays().handles());
            assertThrows(IllegalStateException.class,
                () -> ring.readVector(attached, SegmentVector.of(memory(1)), 0, 1));
            assertThrows(IllegalStateException.class, ring::room);
        }
    }

    @Test
    void shouldRefuseWhatASingleTransferRefuses() {
        final MemorySegment closed;
        try (Arena shortLived = Arena.ofConfined()) {
            closed = shortLived.allocate(BLOCK);
        }
        final MemorySegment good = memory(10);
        try (PosixFile file = open(OpenMode.READ_WRITE); UringRing ring = ring(2); UringRing other = ring(2);
            UringFile attached = ring.attach(file)) {
            assertThrows(IllegalStateException.class,
                () -> ring.readVector(attached, SegmentVector.of(good, closed), 0, 1));
            assertThrows(IllegalArgumentException.class,
                () -> ring.writeVector(attached, SegmentVector.of(good, MemorySegment.ofArray(new byte[1])), 0, 1));
            assertThrows(IllegalArgumentException.class,
                () -> ring.readVector(attached, SegmentVector.of(good, good.asReadOnly()), 0, 1));
            assertThrows(IllegalArgumentException.class,
                () -> ring.readVector(attached, SegmentVector.of(good), -1, 1));
            assertThrows(IllegalArgumentException.class, () -> ring.readVector(attached, new SegmentVector(1), 0, 1));
            assertThrows(IllegalStateException.class,
                () -> other.readVector(attached, SegmentVector.of(good), 0, 1));
            assertEquals(0, ring.inFlight());
            assertEquals(2, ring.room());
            assertEquals(0, arrays().handles());
            assertTrue(ring.writeVector(attached, SegmentVector.of(good.asReadOnly()), 0, 1));
            assertEquals(1, ring.room());
            assertEquals(Map.of(1L, 10), Ends.of(ring));
        }
    }

    @Test
    void shouldRefusePartsOutsideAndSumsBeyondTheLimit() {
        final SegmentVector vector = new SegmentVector(4);
        final MemorySegment memory = memory(10);
        assertThrows(IndexOutOfBoundsException.class, () -> vector.add(memory, 1, 10));
        assertThrows(IndexOutOfBoundsException.class, () -> vector.add(memory, -1, 5));
        assertThrows(IndexOutOfBoundsException.class, () -> vector.add(memory, 0, -1));
        assertEquals(0, vector.count());
        try (Mapping region = Mapping.anonymous(NativeTag.TEST, UringLayout.MAX_TRANSFER_BYTES + 1)) {
            vector.add(memory, 0, 1).add(region.segment(), 1, UringLayout.MAX_TRANSFER_BYTES - 1);
            final String message = assertThrows(IllegalArgumentException.class, () -> vector.add(memory, 0, 1))
                .getMessage();
            assertTrue(message.contains("split"), message);
            assertThrows(IllegalArgumentException.class, () -> new SegmentVector(1).add(region.segment()));
        }
        assertEquals(UringLayout.MAX_TRANSFER_BYTES, vector.byteSize());
        vector.clear();
        assertEquals(0, vector.byteSize());
        assertEquals(4, vector.capacity());
    }
}
