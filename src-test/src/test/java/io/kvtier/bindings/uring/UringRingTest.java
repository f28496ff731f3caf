package io.kvtier.bindings.uring;

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
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.OpenDescriptors;
import io.kvtier.kit.PatternBytes;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rings of the real kernel on real files. */
@ExtendWith(LeakCheck.class)
class UringRingTest {
    private static final int BLOCK = 4096;

    @TempDir
    private Path directory;
    private final Arena arena = Arena.ofShared();
    private Path path;
    private byte[] content;

    @BeforeEach
    void makeFile() throws IOException {
        NotExercised.require("uring", Uring.availability().available(), Uring.availability().reason());
        path = directory.toRealPath().resolve("file");
        content = PatternBytes.of(1, 64 * BLOCK);
        Files.write(path, content);
    }

    @AfterEach
    void freeMemory() {
        arena.close();
        if (path != null) {
            assertEquals(List.of(), OpenDescriptors.of(path.toString()), "descriptors left open");
        }
        assertEquals(List.of(), OpenDescriptors.of("anon_inode:[io_uring]"), "rings left open");
    }

    private static UringRing ring(final int depth) {
        return UringRing.open(UringOptions.ofDepth(depth));
    }

    private MemorySegment memory(final long bytes) {
        return arena.allocate(bytes, BLOCK);
    }

    private PosixFile open(final OpenMode mode) {
        try {
            return PosixFile.open(path.toString(), mode);
        } catch (final ErrnoException e) {
            NotExercised.require("direct-io", e.errno() != Errno.EINVAL, "the directory of the tests refuses O_DIRECT");
            throw e;
        }
    }

    private byte[] expected(final int offset, final int length) {
        return Arrays.copyOfRange(content, offset, offset + length);
    }

    @ParameterizedTest
    @EnumSource(value = OpenMode.class, names = {"READ_WRITE", "READ_WRITE_DIRECT"})
    void shouldReadWhatWasWrittenAtEveryDepth(final OpenMode mode) throws IOException {
        for (int depth = 1; depth <= 33; depth = depth < 8 ? depth + 1 : depth * 2 + 1) {
            try (PosixFile file = open(mode); UringRing ring = ring(depth); UringFile attached = ring.attach(file)) {
                final MemorySegment source = memory((long) depth * BLOCK);
                PatternBytes.fill(source, depth);
                final MemorySegment target = memory((long) depth * BLOCK);
                for (int i = 0; i < depth; i++) {
                    assertTrue(ring.write(attached, source.asSlice((long) i * BLOCK, BLOCK), (long) i * BLOCK, i));
                }
                assertEquals(depth, ring.inFlight());
                Ends.of(ring).forEach((one, result) -> assertEquals(BLOCK, result, "write " + one));
                assertArrayEquals(PatternBytes.copyOf(source),
                    Arrays.copyOf(Files.readAllBytes(path), depth * BLOCK));

                for (int i = 0; i < depth; i++) {
                    assertTrue(ring.read(attached, target.asSlice((long) i * BLOCK, BLOCK), (long) i * BLOCK, i));
                }
                assertEquals(depth, Ends.of(ring).size());
                assertArrayEquals(PatternBytes.copyOf(source), PatternBytes.copyOf(target));
            }
        }
    }

    @Test
    void shouldDoMoreOperationsThanTheQueueHasEntries() {
        try (PosixFile file = open(OpenMode.READ); UringRing ring = ring(4); UringFile attached = ring.attach(file)) {
            final MemorySegment target = memory(64 * BLOCK);
            final Ends ends = new Ends();
            int next = 0;
            while (ends.results().size() < 64) {
                while (next < 64 && ring.read(attached, target.asSlice((long) next * BLOCK, BLOCK),
                    (long) next * BLOCK, next)) {
                    next++;
                }
                ring.submitAndWait(1);
                ring.reap(ends);
            }
            assertEquals(0, ring.inFlight());
            assertArrayEquals(content, PatternBytes.copyOf(target));
        }
    }

    @Test
    void shouldWrapTheQueuesManyTimes() {
        try (UringRing ring = ring(3)) {
            final AtomicInteger ended = new AtomicInteger();
            for (int i = 0; i < 10_000; i++) {
                assertTrue(ring.nop(i));
                if (i % 3 == 2) {
                    ring.submitAndWait(3);
                    ring.reap((userData, result) -> ended.addAndGet(result + 1));
                }
            }
            Ends.of(ring);
            assertEquals(9999, ended.get());
            assertEquals(0, ring.strayCompletions());
        }
    }

    @Test
    void shouldRefuseMoreThanItsDepthUntilReaped() {
        try (UringRing ring = ring(2)) {
            assertTrue(ring.nop(1));
            assertTrue(ring.nop(2));
            assertFalse(ring.nop(3));
            assertEquals(2, ring.submitAndWait(2));
            assertFalse(ring.nop(3));
            assertEquals(2, ring.reap((userData, result) -> assertEquals(0, result)));
            assertTrue(ring.nop(3));
            assertEquals(Map.of(3L, 0), Ends.of(ring));
        }
    }

    @Test
    void shouldGiveUserDataBackUnchanged() {
        try (UringRing ring = ring(4)) {
            for (final long data : new long[] {0, -1, Long.MIN_VALUE, 1L << 63 | 7}) {
                assertTrue(ring.nop(data));
                assertEquals(Map.of(data, 0), Ends.of(ring));
            }
        }
    }

    @Test
    void shouldReadShortAtTheEndOfTheFile() {
        try (PosixFile file = open(OpenMode.READ); UringRing ring = ring(4); UringFile attached = ring.attach(file)) {
            final MemorySegment target = memory(2 * BLOCK);
            assertTrue(ring.read(attached, target, content.length - 100, 1));
            assertTrue(ring.read(attached, target, content.length, 2));
            assertTrue(ring.read(attached, target, content.length + 1_000_000L, 3));
            assertTrue(ring.read(attached, target.asSlice(0, 0), 0, 4));
            assertEquals(Map.of(1L, 100, 2L, 0, 3L, 0, 4L, 0), Ends.of(ring));
        }
    }

    @Test
    void shouldReportWhatTheKernelRefuses() {
        try (PosixFile direct = open(OpenMode.READ_WRITE_DIRECT); PosixFile readOnly = open(OpenMode.READ);
            UringRing ring = ring(4); UringFile unaligned = ring.attach(direct);
            UringFile closedForWriting = ring.attach(readOnly)) {
            assertTrue(ring.read(unaligned, memory(BLOCK).asSlice(0, BLOCK - 1), 0, 1));
            assertTrue(ring.read(unaligned, memory(BLOCK), 1, 2));
            assertTrue(ring.write(closedForWriting, memory(BLOCK), 0, 3));
            assertEquals(Map.of(1L, -Errno.EINVAL, 2L, -Errno.EINVAL, 3L, -Errno.EBADF), Ends.of(ring));
            // The ring is as good as before.
            assertTrue(ring.read(unaligned, memory(BLOCK), 0, 4));
            assertEquals(Map.of(4L, BLOCK), Ends.of(ring));
            assertEquals(0, ring.rebuilds());
        }
    }

    @Test
    void shouldSyncDataAndAll() {
        try (PosixFile file = open(OpenMode.READ_WRITE); UringRing ring = ring(4);
            UringFile attached = ring.attach(file)) {
            assertTrue(ring.write(attached, memory(BLOCK), 0, 1));
            assertEquals(Map.of(1L, BLOCK), Ends.of(ring));
            assertTrue(ring.sync(attached, 2));
            assertTrue(ring.syncAll(attached, 3));
            assertEquals(Map.of(2L, 0, 3L, 0), Ends.of(ring));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldMoveRegisteredMemoryAndFiles(final boolean direct) {
        try (PosixFile file = open(direct ? OpenMode.READ_WRITE_DIRECT : OpenMode.READ_WRITE);
            UringRing ring = UringRing.open(UringOptions.ofDepth(8).withSlots(2, 3));
            UringFile attached = ring.attach(file); RegisteredBuffer first = ring.register(memory(4 * BLOCK));
            RegisteredBuffer second = ring.register(memory(8 * BLOCK))) {
            assertTrue(attached.isRegistered());
            assertEquals(new NativeResources.Usage(2, 12 * BLOCK),
                NativeResources.snapshot().get(NativeTag.RING_BUFFER));
            assertTrue(ring.readFixed(attached, second, 2 * BLOCK, 3 * BLOCK, BLOCK, 1));
            assertEquals(Map.of(1L, 3 * BLOCK), Ends.of(ring));
            assertArrayEquals(expected(BLOCK, 3 * BLOCK),
                PatternBytes.copyOf(second.memory().asSlice(2 * BLOCK, 3 * BLOCK)));

            PatternBytes.fill(first.memory(), 9);
            assertTrue(ring.writeFixed(attached, first, BLOCK, BLOCK, 5 * BLOCK, 2));
            assertEquals(Map.of(2L, BLOCK), Ends.of(ring));
            assertTrue(ring.readFixed(attached, second, 0, BLOCK, 5 * BLOCK, 3));
            assertEquals(Map.of(3L, BLOCK), Ends.of(ring));
            assertArrayEquals(PatternBytes.copyOf(first.memory().asSlice(BLOCK, BLOCK)),
                PatternBytes.copyOf(second.memory().asSlice(0, BLOCK)));
        }
    }

    @Test
    void shouldReuseSlotsOfFilesAndBuffers() {
        try (PosixFile file = open(OpenMode.READ);
            UringRing ring = UringRing.open(UringOptions.ofDepth(2).withSlots(1, 1))) {
            final MemorySegment memory = memory(BLOCK);
            for (int i = 0; i < 3; i++) {
                try (UringFile registered = ring.attach(file); UringFile beyond = ring.attach(file);
                    RegisteredBuffer buffer = ring.register(memory)) {
                    assertTrue(registered.isRegistered());
                    assertFalse(beyond.isRegistered());
                    assertThrows(IllegalStateException.class, () -> ring.register(memory));
                    assertTrue(ring.readFixed(registered, buffer, 0, 10, i, 1));
                    assertTrue(ring.readFixed(beyond, buffer, 10, 10, i, 2));
                    assertEquals(Map.of(1L, 10, 2L, 10), Ends.of(ring));
                }
                assertArrayEquals(expected(i, 10), PatternBytes.copyOf(memory.asSlice(10, 10)));
            }
        }
    }

    @Test
    void shouldRefuseToLetGoOfWhatIsInUse() {
        try (PosixFile file = open(OpenMode.READ);
            UringRing ring = UringRing.open(UringOptions.ofDepth(2).withSlots(1, 1))) {
            final UringFile attached = ring.attach(file);
            final RegisteredBuffer buffer = ring.register(memory(BLOCK));
            assertTrue(ring.readFixed(attached, buffer, 0, BLOCK, 0, 1));
            assertThrows(IllegalStateException.class, attached::close);
            assertThrows(IllegalStateException.class, buffer::close);
            assertEquals(Map.of(1L, BLOCK), Ends.of(ring));
            attached.close();
            attached.close();
            buffer.close();
            buffer.close();
            assertThrows(IllegalStateException.class, () -> ring.read(attached, buffer.memory(), 0, 2));
            try (UringFile again = ring.attach(file)) {
                assertThrows(IllegalStateException.class, () -> ring.readFixed(again, buffer, 0, 1, 0, 2));
            }
        }
    }

    @Test
    void shouldKeepTheDescriptorWhenTheFileIsClosedMeanwhile() {
        try (UringRing ring = ring(2)) {
            final PosixFile file = open(OpenMode.READ);
            try (UringFile attached = ring.attach(file)) {
                file.close();
                assertEquals(1, OpenDescriptors.of(path.toString()).size());
                assertTrue(ring.read(attached, memory(BLOCK), 0, 1));
                assertEquals(Map.of(1L, BLOCK), Ends.of(ring));
            }
            assertEquals(List.of(), OpenDescriptors.of(path.toString()));
            assertThrows(IllegalStateException.class, () -> ring.attach(file));
        }
    }

    @Test
    void shouldRefuseWhatTheKernelMustNotSee() {
        final MemorySegment closed;
        try (Arena shortLived = Arena.ofConfined()) {
            closed = shortLived.allocate(BLOCK);
        }
        try (PosixFile file = open(OpenMode.READ_WRITE); UringRing ring = ring(2); UringRing other = ring(2);
            UringFile attached = ring.attach(file)) {
            assertThrows(IllegalStateException.class, () -> ring.read(attached, closed, 0, 1));
            assertThrows(IllegalArgumentException.class,
                () -> ring.read(attached, MemorySegment.ofArray(new byte[10]), 0, 1));
            assertThrows(IllegalArgumentException.class,
                () -> ring.read(attached, memory(10).asReadOnly(), 0, 1));
            assertThrows(IllegalArgumentException.class, () -> ring.read(attached, memory(10), -1, 1));
            assertThrows(IllegalArgumentException.class, () -> ring.write(attached,
                MemorySegment.ofAddress(0).asSlice(0, 0), -1, 1));
            assertThrows(IllegalStateException.class, () -> other.read(attached, memory(10), 0, 1));
            assertThrows(IllegalStateException.class, () -> ring.register(memory(10)));
            assertEquals(0, ring.inFlight());
        }
    }

    @Test
    void shouldRefuseRangesOutsideARegisteredBuffer() {
        try (PosixFile file = open(OpenMode.READ_WRITE);
            UringRing ring = UringRing.open(UringOptions.ofDepth(2).withSlots(0, 1));
            UringFile attached = ring.attach(file); RegisteredBuffer buffer = ring.register(memory(100))) {
            assertThrows(IndexOutOfBoundsException.class, () -> ring.readFixed(attached, buffer, 1, 100, 0, 1));
            assertThrows(IndexOutOfBoundsException.class, () -> ring.readFixed(attached, buffer, -1, 10, 0, 1));
            assertThrows(IndexOutOfBoundsException.class, () -> ring.writeFixed(attached, buffer, 0, -1, 0, 1));
            assertTrue(ring.readFixed(attached, buffer, 100, 0, 0, 1));
            assertEquals(Map.of(1L, 0), Ends.of(ring));
        }
    }

    @Test
    void shouldCancelAReadThatNobodyAnswers() throws InterruptedException {
        final Path pipe = directory.resolve("pipe");
        assertEquals(0, Commands.run("mkfifo", pipe.toString()).code());
        try (PosixFile file = PosixFile.open(pipe.toString(), OpenMode.READ_WRITE); UringRing ring = ring(4);
            UringFile attached = ring.attach(file)) {
            assertTrue(ring.read(attached, memory(8), 0, 1));
            assertTrue(ring.read(attached, memory(8), 0, 2));
            ring.submit();
            assertEquals(0, ring.cancel(77));
            assertEquals(1, ring.cancel(1));
            assertEquals(0, ring.cancel(1));
            assertEquals(1, ring.submitAndWait(1));
            assertEquals(1, ring.reap((userData, result) -> {
                assertEquals(1, userData);
                assertEquals(-Errno.ECANCELED, result);
            }));
            assertEquals(1, ring.inFlight());

            assertFalse(ring.drain((userData, result) -> {
            }, 1_000_000));
            final MemorySegment source = memory(3);
            assertTrue(ring.write(attached, source, 0, 3));
            assertEquals(Map.of(2L, 3, 3L, 3), Ends.of(ring));
        }
    }

    @Test
    void shouldCancelWhatWasNotSubmittedYet() throws InterruptedException {
        final Path pipe = directory.resolve("pipe");
        assertEquals(0, Commands.run("mkfifo", pipe.toString()).code());
        try (PosixFile file = PosixFile.open(pipe.toString(), OpenMode.READ_WRITE); UringRing ring = ring(4);
            UringFile attached = ring.attach(file)) {
            for (int i = 0; i < 4; i++) {
                assertTrue(ring.read(attached, memory(8), 0, 5));
            }
            assertEquals(4, ring.cancel(5));
            ring.submitAndWait(4);
            assertEquals(4, ring.reap((userData, result) -> assertEquals(-Errno.ECANCELED, result)));
        }
    }

    @Test
    void shouldCloseWithOperationsInFlight() throws InterruptedException {
        final Path pipe = directory.resolve("pipe");
        assertEquals(0, Commands.run("mkfifo", pipe.toString()).code());
        try (PosixFile file = PosixFile.open(pipe.toString(), OpenMode.READ_WRITE)) {
            final UringRing ring = UringRing.open(UringOptions.ofDepth(4).withSlots(1, 0));
            final UringFile attached = ring.attach(file);
            assertTrue(ring.read(attached, memory(8), 0, 1));
            assertTrue(ring.read(attached, memory(8), 0, 2));
            ring.submit();
            assertTrue(ring.nop(3));
            ring.close();
            ring.close();
            assertThrows(IllegalStateException.class, () -> ring.nop(4));
            ring.wakeup();
            attached.close();
        }
    }

    @Test
    void shouldRefuseUseAfterClose() {
        try (PosixFile file = open(OpenMode.READ)) {
            final UringRing ring = UringRing.open(UringOptions.ofDepth(2).withSlots(1, 1));
            final UringFile attached = ring.attach(file);
            final RegisteredBuffer buffer = ring.register(memory(BLOCK));
            ring.close();
            final CompletionHandler never = (userData, result) -> {
                throw new AssertionError();
            };
            final List<Runnable> uses = List.of(() -> ring.nop(1), () -> ring.read(attached, memory(1), 0, 1),
                () -> ring.write(attached, memory(1), 0, 1), () -> ring.readFixed(attached, buffer, 0, 1, 0, 1),
                () -> ring.writeFixed(attached, buffer, 0, 1, 0, 1), () -> ring.sync(attached, 1),
                () -> ring.syncAll(attached, 1), () -> ring.cancel(1), ring::submit, () -> ring.submitAndWait(1),
                () -> ring.submitAndWait(1, 1), () -> ring.reap(never), () -> ring.drain(never, 1), ring::inFlight,
                ring::ready, () -> ring.attach(file), () -> ring.register(memory(1)));
            for (final Runnable use : uses) {
                assertThrows(IllegalStateException.class, use::run);
            }
            attached.close();
            buffer.close();
            ring.wakeup();
        }
    }

    @Test
    void shouldWaitNoLongerThanAllowed() {
        try (UringRing ring = ring(2)) {
            assertEquals(0, ring.submitAndWait(1, 1_000));
            assertEquals(0, ring.submitAndWait(5));
            assertTrue(ring.nop(1));
            ring.submitAndWait(0, Long.MAX_VALUE);
            assertEquals(Map.of(1L, 0), Ends.of(ring));
        }
    }

    @Test
    void shouldLetAHandlerPrepareMore() {
        try (UringRing ring = ring(1)) {
            final Ends ends = new Ends();
            assertTrue(ring.nop(0));
            assertTrue(ring.drain((userData, result) -> {
                ends.completed(userData, result);
                if (userData < 9) {
                    assertTrue(ring.nop(userData + 1));
                }
                assertThrows(IllegalStateException.class, () -> ring.reap(ends));
                assertThrows(IllegalStateException.class, ring::close);
            }, Long.MAX_VALUE));
            assertEquals(10, ends.results().size());
        }
    }

    @Test
    void shouldDeliverTheRestAfterAHandlerThrew() {
        try (UringRing ring = ring(3)) {
            for (int i = 0; i < 3; i++) {
                assertTrue(ring.nop(i));
            }
            ring.submitAndWait(3);
            assertThrows(UnsupportedOperationException.class, () -> ring.reap((userData, result) -> {
                throw new UnsupportedOperationException();
            }));
            assertEquals(2, ring.inFlight());
            assertEquals(2, Ends.of(ring).size());
        }
    }

    @Test
    void shouldRefuseOptionsOutOfRange() {
        assertThrows(IllegalArgumentException.class, () -> UringOptions.ofDepth(0));
        assertThrows(IllegalArgumentException.class, () -> UringOptions.ofDepth(UringOptions.MAX_DEPTH + 1));
        assertThrows(IllegalArgumentException.class, () -> UringOptions.ofDepth(1).withSlots(-1, 0));
        assertThrows(IllegalArgumentException.class, () -> UringOptions.ofDepth(1).withSlots(0, 20_000));
        assertThrows(IllegalArgumentException.class, () -> new UringOptions(1, 0, 0, 0));
        try (UringRing ring = ring(UringOptions.MAX_DEPTH)) {
            for (int i = 0; i < UringOptions.MAX_DEPTH; i++) {
                assertTrue(ring.nop(i));
            }
            assertFalse(ring.nop(-1));
            assertEquals(UringOptions.MAX_DEPTH, Ends.of(ring).size());
        }
    }
}
