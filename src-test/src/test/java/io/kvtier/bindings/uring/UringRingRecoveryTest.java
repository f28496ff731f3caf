package io.kvtier.bindings.uring;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
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
import org.junit.jupiter.params.provider.ValueSource;

/** The real kernel taking only a part, with every set of setup flags; and what the hot path allocates. */
@ExtendWith(LeakCheck.class)
class UringRingRecoveryTest {
    private static final int BLOCK = 4096;

    @TempDir
    private Path directory;
    private final Arena arena = Arena.ofShared();
    private final LimitedKernel kernel = new LimitedKernel();
    private byte[] content;
    private Path path;

    @BeforeEach
    void makeFile() throws IOException {
        NotExercised.require("uring", Uring.availability().available(), Uring.availability().reason());
        content = PatternBytes.of(5, 8 * BLOCK);
        path = Files.write(directory.resolve("file"), content);
    }

    @AfterEach
    void freeMemory() {
        arena.close();
    }

    private UringRing ring(final UringOptions options) {
        return UringRing.open(kernel, Uring.features(), options);
    }

    private static void readBlocks(final UringRing ring, final UringFile file, final MemorySegment target) {
        for (int i = 0; i < target.byteSize() / BLOCK; i++) {
            assertTrue(ring.read(file, target.asSlice((long) i * BLOCK, BLOCK), (long) i * BLOCK, i));
        }
    }

    @Test
    void shouldReadEverythingWhenTheKernelIsOfferedItInParts() {
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ);
            UringRing ring = ring(UringOptions.ofDepth(8)); UringFile attached = ring.attach(file)) {
            final MemorySegment target = arena.allocate(content.length, BLOCK);
            kernel.script(3, -Errno.EAGAIN, 0, 1, -Errno.EINTR, 2);
            readBlocks(ring, attached, target);
            Ends.of(ring).forEach((one, result) -> assertEquals(BLOCK, result));
            assertArrayEquals(content, PatternBytes.copyOf(target));
            assertEquals(0, ring.rebuilds());
        }
    }

    @Test
    void shouldKeepWhatWasTakenAndFailTheRestWhenTheRingIsRebuilt() {
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ);
            UringRing ring = ring(UringOptions.ofDepth(8).withSlots(1, 1)); UringFile attached = ring.attach(file);
            RegisteredBuffer buffer = ring.register(arena.allocate(content.length, BLOCK))) {
            final MemorySegment target = arena.allocate(content.length, BLOCK);
            kernel.script(5, -Errno.EFAULT);
            readBlocks(ring, attached, target);
            ring.submit();
            Ends.of(ring).forEach((one, result) -> assertEquals(one < 5 ? BLOCK : -Errno.EFAULT, result));
            assertEquals(1, ring.rebuilds());
            assertArrayEquals(Arrays.copyOf(content, 5 * BLOCK), PatternBytes.copyOf(target.asSlice(0, 5 * BLOCK)));

            // The new ring knows the file and the buffer, and can be woken.
            assertTrue(ring.readFixed(attached, buffer, BLOCK, 2 * BLOCK, 3 * BLOCK, 1));
            assertEquals(Map.of(1L, 2 * BLOCK), Ends.of(ring));
            assertArrayEquals(Arrays.copyOfRange(content, 3 * BLOCK, 5 * BLOCK),
                PatternBytes.copyOf(buffer.memory().asSlice(BLOCK, 2 * BLOCK)));
            ring.wakeup();
            assertEquals(0, ring.submitAndWait(1, Long.MAX_VALUE));
        }
    }

    @Test
    void shouldCancelAReadOfAPipeToRebuild() throws InterruptedException {
        final Path pipe = directory.resolve("pipe");
        assertEquals(0, Commands.run("mkfifo", pipe.toString()).code());
        try (PosixFile file = PosixFile.open(pipe.toString(), OpenMode.READ_WRITE);
            UringRing ring = ring(new UringOptions(4, 0, 0, 5)); UringFile attached = ring.attach(file)) {
            assertTrue(ring.read(attached, arena.allocate(8), 0, 1));
            ring.wakeup();
            assertEquals(0, ring.submitAndWait(1, Long.MAX_VALUE));
            assertTrue(ring.nop(2));
            kernel.script(-Errno.EINVAL);
            ring.submit();
            assertEquals(Map.of(1L, -Errno.ECANCELED, 2L, -Errno.EINVAL), Ends.of(ring));
            assertEquals(1, ring.rebuilds());
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3})
    void shouldWorkWithEverySetOfSetupFlags(final int set) {
        final int flags = UringProbe.SETUP_FLAGS[set];
        NotExercised.require("uring-flags", set != 0 || Uring.features().setupFlags() == flags,
            "the kernel does not know the newest setup flags");
        final UringFeatures features = new UringFeatures(flags, Uring.features().features(), -1);
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ);
            UringRing ring = UringRing.open(kernel, features, UringOptions.ofDepth(8));
            UringFile attached = ring.attach(file)) {
            final MemorySegment target = arena.allocate(content.length, BLOCK);
            for (int round = 0; round < 10; round++) {
                target.fill((byte) 0);
                kernel.script(round, 1);
                readBlocks(ring, attached, target);
                // Without a wait completions come at the kernel's own time, or when it is asked.
                ring.submit();
                final Ends ends = new Ends();
                while (ring.inFlight() > 0) {
                    ring.reap(ends);
                }
                ends.results().forEach((one, result) -> assertEquals(BLOCK, result));
                assertArrayEquals(content, PatternBytes.copyOf(target));
                ring.wakeup();
                assertEquals(0, ring.submitAndWait(1, Long.MAX_VALUE));
            }
            assertEquals(0, ring.strayCompletions());
        }
    }

    @Test
    void shouldAllocateNothingOnceWarm() throws InterruptedException {
        final Commands.Result result = Commands.java(Commands.NATIVE_FLAGS, RingAllocation.class, path.toString());
        assertEquals(0, result.code(), result.output());
        assertTrue(result.output().contains("allocated 0\n"), result.output());
    }
}
