package io.kvtier.store.storage.shared;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor.DistributedDisk;
import io.kvtier.store.storage.shared.DistributedPageWriter.Page;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Values into their pages, and what is made durable. */
@ExtendWith(LeakCheck.class)
class DistributedPageWriterTest {
    private static final int PAGE = 4096;
    private static final int SIZE = 2 * PAGE + 5;
    private static final Runnable NOTHING = () -> { };

    @TempDir
    private Path folder;
    private final Faults faults = new Faults();
    private final Arena arena = Arena.ofShared();
    private FileSystemAdapter files;
    private OpenFiles open;
    private DistributedPageWriter writer;
    private PageLayout layout;

    @BeforeEach
    void prepare() {
        layout = new PageLayout(folder.toString(), 3, PAGE, 64 * PAGE);
        files = PosixFiles.open(new FaultyFiles(faults));
        BucketFiles.prepare(layout, files);
        open = new OpenFiles(files);
        writer = new DistributedPageWriter(open);
    }

    @AfterEach
    void close() {
        open.close();
        files.close();
        arena.close();
    }

    private Page page(final int bucket, final int number, final long seed) {
        final MemorySegment memory = arena.allocate(SIZE);
        memory.copyFrom(MemorySegment.ofArray(PatternBytes.of(seed, SIZE)));
        return new Page(new DistributedDisk(layout.path(bucket), (long) number * PAGE, SIZE), memory);
    }

    private static long later() {
        return System.nanoTime() + TimeUnit.HOURS.toNanos(1);
    }

    private void assertThere(final int bucket, final int number, final long seed) throws IOException {
        final byte[] all = Files.readAllBytes(Path.of(layout.path(bucket)));
        assertArrayEquals(PatternBytes.of(seed, SIZE), Arrays.copyOfRange(all, number * PAGE, number * PAGE + SIZE));
    }

    @Test
    void shouldWriteAllFilesAndSyncEachOnce() throws IOException {
        final List<Page> pages = List.of(page(0, 0, 1), page(2, 9, 2), page(0, 3, 3), page(2, 40, 4));
        final long syncs = faults.count(Call.SYNC);
        writer.write(pages, later(), NOTHING);
        pages.forEach(page -> assertNull(page.problem()));
        assertEquals(2, faults.count(Call.SYNC) - syncs);
        assertThere(0, 0, 1);
        assertThere(2, 9, 2);
        assertThere(0, 3, 3);
        assertThere(2, 40, 4);
    }

    @Test
    void shouldFailTheValuesOfAFileThatCannotBeOpenedAlone() throws IOException {
        Files.delete(Path.of(layout.path(1)));
        final Page missing = page(1, 0, 1);
        final Page good = page(0, 0, 2);
        writer.write(List.of(missing, good), later(), NOTHING);
        assertTrue(missing.problem().getMessage().contains(layout.path(1)), missing.problem()::getMessage);
        assertFalse(missing.begun());
        assertNull(good.problem());
        assertThere(0, 0, 2);
        assertFalse(Files.exists(Path.of(layout.path(1))), "whoever writes makes no file");
    }

    @Test
    void shouldSyncNothingWhenNothingWasWritten() {
        final long syncs = faults.count(Call.SYNC);
        final Page page = page(0, 0, 1);
        faults.failNth(Call.WRITE, 1, Errno.ENOSPC);
        writer.write(List.of(page), later(), NOTHING);
        assertTrue(page.problem().getMessage().contains("ENOSPC") && page.begun(), page.problem()::getMessage);
        assertEquals(syncs, faults.count(Call.SYNC));
    }

    /** The name leads to another file by then, and that is the one that others read. */
    @Test
    void shouldNotCallDurableWhatWentIntoAFileThatWasReplaced() {
        final Page page = page(0, 0, 1);
        writer.write(List.of(page), later(), () -> replace(layout.path(0)));
        assertTrue(page.problem().getMessage().contains("was replaced"), page.problem()::getMessage);
        final Page again = page(0, 0, 1);
        writer.write(List.of(again), later(), NOTHING);
        assertNull(again.problem());
    }

    private void replace(final String path) {
        try {
            final Path next = Files.write(folder.resolve("next"), new byte[64 * PAGE]);
            Files.move(next, Path.of(path), StandardCopyOption.ATOMIC_MOVE);
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Test
    void shouldWaitForTheBytesWhateverGoesWrongBeside() throws IOException {
        final Page page = page(0, 0, 1);
        assertThrows(IllegalStateException.class, () -> writer.write(List.of(page), later(), () -> {
            throw new IllegalStateException("told to");
        }));
        assertThere(0, 0, 1);
    }

    /** A sync that fails has failed for all who had written by then, and the file is opened anew. */
    @Test
    void shouldFailAllWhoHadWrittenWhenASyncFails() throws InterruptedException {
        final Page first = page(0, 0, 1);
        final Page second = page(0, 10, 2);
        try (Faults.Gate gate = faults.blockNext(Call.SYNC)) {
            faults.failNth(Call.SYNC, 1, Errno.EIO);
            final CompletableFuture<Void> one = Threads.start(() -> writer.write(List.of(first), later(), NOTHING));
            gate.awaitEntered();
            final CompletableFuture<Void> two = Threads.start(() -> writer.write(List.of(second), later(),
                gate::release));
            one.join();
            two.join();
        }
        assertTrue(first.problem().getMessage().contains("EIO"), first.problem()::getMessage);
        assertTrue(second.problem() != null && second.problem().getMessage().contains("EIO"),
            "its failures were counted before the sync failed");
        final Page again = page(0, 0, 1);
        writer.write(List.of(again), later(), NOTHING);
        assertNull(again.problem());
    }

    @Test
    void shouldBeginNothingWhenItIsTooLate() throws IOException {
        final Page page = page(0, 0, 1);
        writer.write(List.of(page), System.nanoTime(), NOTHING);
        assertTrue(page.problem().getMessage().contains("too slow") && !page.begun(), page.problem()::getMessage);
        assertArrayEquals(new byte[SIZE], Arrays.copyOf(Files.readAllBytes(Path.of(layout.path(0))), SIZE));
    }

    @Test
    void shouldRefuseMemoryOfAnotherSize() {
        final DistributedDisk place = new DistributedDisk(layout.path(0), 0, SIZE);
        final MemorySegment memory = arena.allocate(SIZE - 1);
        assertThrows(IllegalArgumentException.class, () -> new Page(place, memory));
    }
}
