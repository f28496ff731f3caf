package io.kvtier.bindings.hf3fs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.kit.UsrbioFaults.Call;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Rings: what goes through them, what is refused, and what is left behind. */
class IoRingTest extends OverSimulatedUsrbio {
    private static final int BLOCK = 4096;
    private static final int BLOCKS = 4;
    private static final int FILE_BYTES = 10 * BLOCK;
    private static final long SECOND = 1_000_000_000L;

    private Path path;
    private byte[] content;
    private IoVector vector;
    private Hf3fsFile file;

    @BeforeEach
    void open() throws IOException {
        path = fileOf("file", FILE_BYTES);
        content = Files.readAllBytes(path);
        vector = keep(IoVector.create(usrbio, mount(), BLOCKS * BLOCK, BLOCK, -1), IoVector::close);
        file = registered(path);
    }

    private IoRing ring(final IoRingOptions options) {
        return keep(IoRing.create(usrbio, mount(), options), IoRing::close);
    }

    private byte[] block(final int slot) {
        return PatternBytes.copyOf(vector.segment().asSlice((long) slot * BLOCK, BLOCK));
    }

    private byte[] contentAt(final int offset) {
        return Arrays.copyOfRange(content, offset, offset + BLOCK);
    }

    @Test
    void shouldReadSeveralRangesAtOnceAndSayWhichIsWhich() {
        final IoRing ring = ring(IoRingOptions.of(BLOCKS, true));
        for (int slot = 0; slot < BLOCKS; slot++) {
            assertTrue(ring.prepare(vector, (long) slot * BLOCK, BLOCK, file, 100 + 2L * slot * BLOCK, 70 + slot));
        }
        ring.submit();

        assertEquals(BLOCKS, ring.await(BLOCKS, SECOND));

        for (int i = 0; i < BLOCKS; i++) {
            // The simulation ends the last first.
            assertEquals(70 + BLOCKS - 1 - i, ring.userData(i));
            assertEquals(BLOCK, ring.result(i));
            assertArrayEquals(contentAt(100 + 2 * i * BLOCK), block(i));
        }
        assertEquals(0, ring.outstanding());
    }

    @Test
    void shouldWriteWhatIsInSharedMemory() throws IOException {
        final IoRing ring = ring(IoRingOptions.of(1, false));
        PatternBytes.fill(vector.segment().asSlice(BLOCK, BLOCK), 5);

        assertTrue(ring.prepare(vector, BLOCK, BLOCK, file, 777, 1));
        ring.submit();
        assertEquals(1, ring.await(1, SECOND));

        assertEquals(BLOCK, ring.result(0));
        System.arraycopy(PatternBytes.of(5, BLOCK), 0, content, 777, BLOCK);
        assertArrayEquals(content, Files.readAllBytes(path));
    }

    @Test
    void shouldGiveShortReadsAndErrorsAsTheyAre() {
        final IoRing ring = ring(IoRingOptions.of(3, true));
        simulated.faults().nth(Call.READ_ENTRY, 3, -Errno.EIO);
        assertTrue(ring.prepare(vector, 0, BLOCK, file, 0, 1));
        assertTrue(ring.prepare(vector, BLOCK, BLOCK, file, FILE_BYTES - 10, 2));
        assertTrue(ring.prepare(vector, 2 * BLOCK, BLOCK, file, FILE_BYTES, 3));
        ring.submit();

        assertEquals(3, ring.await(3, SECOND));

        assertEquals(List.of(3L, 0L), List.of(ring.userData(0), ring.result(0)));
        assertEquals(List.of(2L, 10L), List.of(ring.userData(1), ring.result(1)));
        assertEquals(List.of(1L, (long) -Errno.EIO), List.of(ring.userData(2), ring.result(2)));
    }

    @Test
    void shouldBeFullUntilSomethingIsReaped() {
        final IoRing ring = ring(IoRingOptions.of(2, true));
        assertTrue(ring.prepare(vector, 0, BLOCK, file, 0, 1));
        assertTrue(ring.prepare(vector, BLOCK, BLOCK, file, 0, 2));
        assertFalse(ring.prepare(vector, 2 * BLOCK, BLOCK, file, 0, 3));
        assertEquals(2, simulated.faults().count(Call.PREP));
        ring.submit();

        assertEquals(2, ring.await(1, SECOND));
        assertTrue(ring.prepare(vector, 2 * BLOCK, BLOCK, file, 0, 3));
    }

    @Test
    void shouldBeFullWhenTheLibrarySaysSo() {
        final IoRing ring = ring(IoRingOptions.of(2, true));
        simulated.faults().nth(Call.PREP, 1, -Errno.EAGAIN);

        assertFalse(ring.prepare(vector, 0, BLOCK, file, 0, 1));
        assertEquals(0, ring.outstanding());
        assertTrue(ring.prepare(vector, 0, BLOCK, file, 0, 1));
    }

    @Test
    void shouldRefuseEntriesThatAreNotWithinTheirMemory() {
        final IoRing ring = ring(IoRingOptions.of(2, true));
        for (final long[] range : new long[][] {{-1, 10}, {0, 0}, {0, -1}, {BLOCK - 1, 2}, {0, BLOCK + 1},
            {BLOCKS * BLOCK - 1, 2}, {BLOCKS * BLOCK, 1}, {Long.MAX_VALUE, 1}}) {
            assertThrows(RuntimeException.class, () -> ring.prepare(vector, range[0], range[1], file, 0, 1),
                Arrays.toString(range));
        }
        for (final long offset : new long[] {-1, Long.MAX_VALUE}) {
            assertThrows(IllegalArgumentException.class, () -> ring.prepare(vector, 0, 1, file, offset, 1));
        }
        assertEquals(0, simulated.faults().count(Call.PREP));
        assertEquals(0, ring.outstanding());
    }

    @Test
    void shouldRefuseMemoryOfAnotherMountPoint() throws IOException {
        final Path other = Files.createDirectories(directory.resolve("other"));
        Files.createDirectories(other.resolve("3fs-virt/iovs"));
        final IoVector foreign =
            keep(IoVector.create(usrbio, other.toString(), BLOCK, 0, -1), IoVector::close);
        final IoRing ring = ring(IoRingOptions.of(2, true));

        assertThrows(IllegalArgumentException.class, () -> ring.prepare(foreign, 0, BLOCK, file, 0, 1));
    }

    /** The number that a file has on its own 3FS is that of another file on another one. */
    @Test
    void shouldRefuseAFileOfAnotherFileSystem() throws IOException {
        final Path other = keep(MemoryDirectory.create(), UsrbioChannelProperties::delete);
        Files.createDirectories(other.resolve("3fs-virt/iovs"));
        NotExercised.require("two-file-systems",
            !Files.getFileStore(other).equals(Files.getFileStore(path)), "all folders are on one file system");
        final IoVector there = keep(IoVector.create(usrbio, other.toString(), BLOCK, 0, -1), IoVector::close);
        final IoRing ring = keep(IoRing.create(usrbio, other.toString(), IoRingOptions.of(2, true)), IoRing::close);

        final IllegalArgumentException refused = assertThrows(IllegalArgumentException.class,
            () -> ring.prepare(there, 0, BLOCK, file, 0, 1));

        assertTrue(refused.getMessage().contains(path.toString()), refused.getMessage());
        assertEquals(0, simulated.faults().count(Call.PREP));
    }

    @Test
    void shouldRefuseADirectionThatTheFileWasNotOpenedFor() {
        final Hf3fsFile readOnly;
        try (PosixFile opened = PosixFile.open(path.toString(), OpenMode.READ)) {
            readOnly = keep(Hf3fsFile.register(usrbio, opened), Hf3fsFile::close);
        }
        final IoRing ring = ring(IoRingOptions.of(1, false));

        final UsrbioException refused =
            assertThrows(UsrbioException.class, () -> ring.prepare(vector, 0, BLOCK, readOnly, 0, 1));

        assertEquals(Errno.EACCES, refused.errno());
        assertEquals(0, ring.outstanding());
    }

    @Test
    void shouldRefuseAWaitThatWouldNeverReturn() {
        final IoRing ring = ring(IoRingOptions.of(2, true));
        assertThrows(IllegalArgumentException.class, () -> ring.await(1, SECOND));
        assertEquals(0, ring.await(0, SECOND));
        assertTrue(ring.prepare(vector, 0, BLOCK, file, 0, 1));
        assertThrows(IllegalArgumentException.class, () -> ring.await(2, SECOND));
        assertThrows(IllegalArgumentException.class, () -> ring.await(-1, SECOND));
    }

    @ParameterizedTest
    @CsvSource({"2, 0", "-2, 5"})
    void shouldNotWaitForEntriesOfABatchThatIsNotFull(final int batch, final int timeoutMs) {
        final IoRing ring = ring(new IoRingOptions(BLOCKS, true, batch, timeoutMs, -1, 0));
        assertTrue(ring.prepare(vector, 0, BLOCK, file, 0, 1));
        ring.submit();
        final IllegalArgumentException refused =
            assertThrows(IllegalArgumentException.class, () -> ring.await(1, SECOND));
        assertTrue(refused.getMessage().contains("no whole batch of 2"), refused.getMessage());
        assertEquals(0, ring.await(0, SECOND));

        assertTrue(ring.prepare(vector, BLOCK, BLOCK, file, 0, 2));
        assertTrue(ring.prepare(vector, 2 * BLOCK, BLOCK, file, 0, 3));
        ring.submit();
        assertEquals(2, ring.await(2, SECOND));
        assertEquals(2, ring.userData(0));

        // The third is never begun, so it is not waited for when the ring is closed, and lets go of what it holds.
        assertThrows(IllegalArgumentException.class, () -> ring.await(1, SECOND));
        ring.close();
    }

    @Test
    void shouldNotWaitForABatchThatIsAtMostSoLarge() {
        final IoRing ring = ring(new IoRingOptions(BLOCKS, true, -2, 0, -1, 0));
        assertTrue(ring.prepare(vector, 0, BLOCK, file, 0, 1));
        ring.submit();
        assertEquals(1, ring.await(1, SECOND));
    }

    @Test
    void shouldReturnWhenNothingIsHeard() {
        final IoRing ring = ring(IoRingOptions.of(BLOCKS, true));
        simulated.faults().loseNth(Call.READ_ENTRY, 2);
        for (int slot = 0; slot < 3; slot++) {
            assertTrue(ring.prepare(vector, (long) slot * BLOCK, BLOCK, file, 0, slot));
        }
        ring.submit();
        final long begun = usrbio.clock().nanoTime();

        assertEquals(2, ring.await(3, SECOND));

        // By the simulation's clock, which only such waits move.
        final long waited = usrbio.clock().nanoTime() - begun;
        assertTrue(waited >= SECOND && waited < 2 * SECOND, Long.toString(waited));
        assertEquals(1, ring.outstanding());
        simulated.hear();
        assertEquals(1, ring.await(1, SECOND));
        assertEquals(1, ring.userData(0));
        assertArrayEquals(contentAt(0), block(1));
    }

    @Test
    void shouldEndNothingByACompletionOfNothing() {
        final IoRing ring = ring(IoRingOptions.of(2, true));
        assertTrue(ring.prepare(vector, 0, BLOCK, file, 0, 1));
        ring.submit();
        for (final long number : new long[] {0, -1, 1, 5 << 16, Long.MAX_VALUE}) {
            simulated.stray(number);
        }

        assertEquals(1, ring.await(1, SECOND));
        assertEquals(1, ring.userData(0));
        assertEquals(0, ring.outstanding());
        assertEquals(5, ring.strayCompletions());
    }

    @Test
    void shouldTellFailuresOfTheLibrary() {
        final IoRing ring = ring(IoRingOptions.of(1, true));
        assertTrue(ring.prepare(vector, 0, BLOCK, file, 0, 1));
        simulated.faults().nth(Call.SUBMIT, 1, -Errno.EINVAL).nth(Call.WAIT, 1, -Errno.EINVAL);

        assertEquals("hf3fs_submit_ios", assertThrows(UsrbioException.class, ring::submit).call());
        assertEquals("hf3fs_wait_for_ios",
            assertThrows(UsrbioException.class, () -> ring.await(1, SECOND)).call());
        ring.submit();
        assertEquals(1, ring.await(1, SECOND));
    }

    @Test
    void shouldRefuseASecondThreadWhileOneIsInside() throws Exception {
        final IoRing ring = ring(IoRingOptions.of(2, true));
        assertTrue(ring.prepare(vector, 0, BLOCK, file, 0, 1));
        ring.submit();
        final CountDownLatch inside = new CountDownLatch(1);
        final CountDownLatch go = new CountDownLatch(1);
        simulated.onWait(() -> {
            inside.countDown();
            try {
                go.await();
            } catch (final InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        final CompletableFuture<Integer> waiting = Threads.start(() -> ring.await(1, SECOND));
        inside.await();
        try {
            assertThrows(IllegalStateException.class, () -> ring.prepare(vector, BLOCK, BLOCK, file, 0, 2));
            assertThrows(IllegalStateException.class, ring::submit);
            assertThrows(IllegalStateException.class, () -> ring.await(0, 0));
            assertThrows(IllegalStateException.class, ring::close);
        } finally {
            go.countDown();
        }
        assertEquals(1, waiting.get());
        assertTrue(ring.prepare(vector, BLOCK, BLOCK, file, 0, 2));
    }

    @Test
    void shouldWaitForWhatIsOutstandingWhenItIsClosed() {
        final IoRing ring = IoRing.create(usrbio, mount(), IoRingOptions.of(2, true));
        assertTrue(ring.prepare(vector, 0, BLOCK, file, 0, 1));
        assertTrue(ring.prepare(vector, BLOCK, BLOCK, file, 0, 1));

        ring.close();
        ring.close();

        assertArrayEquals(contentAt(0), block(0));
        assertThrows(IllegalStateException.class, () -> ring.prepare(vector, 0, BLOCK, file, 0, 1));
        assertThrows(IllegalStateException.class, () -> ring.await(0, 0));
        assertThrows(IllegalStateException.class, ring::submit);
    }

    @Test
    void shouldHoldFileAndMemoryUntilTheEntryIsReaped() {
        final IoRing ring = ring(IoRingOptions.of(2, true));
        assertTrue(ring.prepare(vector, 0, BLOCK, file, 0, 1));
        ring.submit();

        file.close();
        vector.close();
        assertEquals(1, made(NativeTag.USRBIO_FILE).handles());
        assertThrows(IllegalStateException.class, () -> ring.prepare(vector, BLOCK, BLOCK, file, 0, 1));

        assertEquals(1, ring.await(1, SECOND));
        assertEquals(BLOCK, ring.result(0));
        assertEquals(0, made(NativeTag.USRBIO_FILE).handles());
        assertEquals(0, made(NativeTag.USRBIO_MEMORY).handles());
    }

    @ParameterizedTest
    @CsvSource({"0", "1", "2", "3"})
    void shouldLeaveNoNameBehindWhateverItsFlags(final int flags) {
        final IoRing ring = IoRing.create(usrbio, mount(), new IoRingOptions(2, true, 1, 0, -1, flags));
        assertEquals(2, simulated.links().size());

        ring.close();

        assertEquals(List.of(vector.id() + ".b" + BLOCK), simulated.links());
    }

    @Test
    void shouldLeaveNoNameBehindWhenARingCannotBeMadeToTheEnd() {
        simulated.faults().nth(Call.IOR_CREATE, 1, -Errno.ENOMEM).nth(Call.IOR_CREATE_LATE, 1, -Errno.ENOENT);
        final IoRingOptions options = IoRingOptions.of(2, false);

        assertEquals(Errno.ENOMEM, assertThrows(UsrbioException.class,
            () -> IoRing.create(usrbio, mount(), options)).errno());
        assertEquals(Errno.ENOENT, assertThrows(UsrbioException.class,
            () -> IoRing.create(usrbio, mount(), options)).errno());

        assertEquals(1, simulated.links().size());
        assertEquals(0, made(NativeTag.USRBIO_RING).handles());
    }
}
