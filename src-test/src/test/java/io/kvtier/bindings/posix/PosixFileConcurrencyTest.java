package io.kvtier.bindings.posix;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.BlockedMemory;
import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.OpenDescriptors;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Signals;
import io.kvtier.kit.Threads;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@ExtendWith(LeakCheck.class)
class PosixFileConcurrencyTest {
    private static final int ROUNDS = 2000;

    @TempDir
    private Path directory;
    private Path path;

    @BeforeEach
    void makePath() throws IOException {
        path = directory.toRealPath().resolve("file");
    }

    @Test
    void shouldKeepTheDescriptorOpenWhenClosedUnderARunningCall()
        throws IOException, InterruptedException, ExecutionException {
        final byte[] content = PatternBytes.of(3, (int) Mapping.PAGE_BYTES);
        Files.write(path, content);
        final PosixFile file = PosixFile.open(path.toString(), OpenMode.READ);
        final List<Integer> descriptor = OpenDescriptors.of(path.toString());
        assertEquals(1, descriptor.size());

        try (BlockedMemory memory = BlockedMemory.open()) {
            final CompletableFuture<Long> read = CompletableFuture.supplyAsync(() -> file.read(memory.segment(), 0),
                command -> Thread.ofPlatform().start(command));
            memory.awaitTouched();
            file.close();

            assertEquals(descriptor, OpenDescriptors.of(path.toString()), "closed under the call");
            assertThrows(IllegalStateException.class, file::size, "closed for new calls");
            final Path other = Files.writeString(path.resolveSibling("other"), "");
            try (PosixFile next = PosixFile.open(other.toString(), OpenMode.READ)) {
                assertEquals(0, next.size());
                assertFalse(OpenDescriptors.of(other.toString()).contains(descriptor.getFirst()), "number reused");
            }
            assertFalse(read.isDone());

            memory.release();
            assertEquals(content.length, read.get());
            assertArrayEquals(content, PatternBytes.copyOf(memory.segment()));
        }
        assertEquals(List.of(), OpenDescriptors.of(path.toString()), "closed with the last call");
    }

    @Test
    void shouldKeepTheMemoryMappedWhenItsOwnerIsClosedUnderARunningCall()
        throws IOException, InterruptedException, ExecutionException {
        Files.write(path, PatternBytes.of(4, (int) Mapping.PAGE_BYTES));
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ);
            BlockedMemory memory = BlockedMemory.open()) {
            final CompletableFuture<Long> read = CompletableFuture.supplyAsync(() -> file.read(memory.segment(), 0),
                command -> Thread.ofPlatform().start(command));
            memory.awaitTouched();

            assertThrows(IllegalStateException.class, () -> memory.mapping().close());
            assertTrue(memory.segment().scope().isAlive());

            memory.release();
            assertEquals(Mapping.PAGE_BYTES, read.get());
            memory.mapping().close();
            assertFalse(memory.segment().scope().isAlive());
        }
    }

    /** Opening one end of a pipe waits for the other one, and a signal ends the wait. */
    @Test
    void shouldGoOnOpeningWhenSignalsInterruptIt() throws IOException, InterruptedException {
        NotExercised.require("system-call-of-a-thread", Files.isReadable(Path.of("/proc/self/syscall")),
            "the kernel does not tell which system call a thread is in");
        final Commands.Result made = Commands.run("mkfifo", path.toString());
        assertEquals(0, made.code(), made.output());
        try (Signals signals = Signals.open()) {
            final CompletableFuture<Integer> number = new CompletableFuture<>();
            final CompletableFuture<PosixFile> opening = Threads.start(() -> {
                number.complete(Signals.self());
                return PosixFile.open(path.toString(), OpenMode.READ);
            });
            final int thread = number.join();
            for (int sent = 0; sent < 3 && !opening.isDone();) {
                if (isOpening(thread)) {
                    signals.interrupt(thread);
                    sent++;
                }
            }
            // For both, a pipe is opened at once.
            try (RandomAccessFile other = new RandomAccessFile(path.toFile(), "rw"); PosixFile pipe = opening.join()) {
                other.write(1);
                assertEquals(path.toString(), pipe.path());
            }
        }
    }

    /** Whether a thread sleeps in a call of {@code openat}, by its number of asm/unistd.h. */
    private static boolean isOpening(final int thread) throws IOException {
        final String openat = System.getProperty("os.arch").equals("aarch64") ? "56 " : "257 ";
        return Files.readString(Path.of("/proc/self/task", String.valueOf(thread), "syscall")).startsWith(openat);
    }

    @Test
    void shouldSeeItsOwnErrnoWhenThreadsFailAtOnce() throws Exception {
        final CyclicBarrier start = new CyclicBarrier(4);
        final List<CompletableFuture<Void>> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            final boolean absent = i % 2 == 0;
            threads.add(CompletableFuture.runAsync(() -> {
                assertEquals(0, absent ? openAbsent(start) : openDirectory(start));
            }, command -> Thread.ofPlatform().start(command)));
        }
        for (final CompletableFuture<Void> thread : threads) {
            thread.get();
        }
    }

    /** Counts errors that are not the thread's own. */
    private int openAbsent(final CyclicBarrier start) {
        return countOthers(start, path.toString(), OpenMode.READ, 2);
    }

    private int openDirectory(final CyclicBarrier start) {
        return countOthers(start, directory.toString(), OpenMode.READ_WRITE, 21);
    }

    private static int countOthers(final CyclicBarrier start, final String name, final OpenMode mode,
        final int expected) {
        try {
            start.await();
        } catch (final Exception e) {
            throw new AssertionError(e);
        }
        int others = 0;
        for (int round = 0; round < ROUNDS; round++) {
            others += assertThrows(ErrnoException.class, () -> PosixFile.open(name, mode)).errno() == expected ? 0 : 1;
        }
        return others;
    }

    @Test
    void shouldRefuseOrFinishButNeverMixFilesWhenClosedWhileOthersRead() throws Exception {
        Files.write(path, PatternBytes.of(7, 512));
        final Path other = Files.write(path.resolveSibling("other"), PatternBytes.of(8, 512));
        final byte[] expected = PatternBytes.of(7, 512);
        for (int round = 0; round < 200; round++) {
            final PosixFile file = PosixFile.open(path.toString(), OpenMode.READ);
            final CyclicBarrier start = new CyclicBarrier(3);
            final List<CompletableFuture<Void>> readers = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                readers.add(CompletableFuture.runAsync(() -> readUntilClosed(start, file, expected),
                    command -> Thread.ofPlatform().start(command)));
            }
            start.await();
            file.close();
            // Takes the number of the closed file as soon as the kernel has it back.
            PosixFile.open(other.toString(), OpenMode.READ).close();
            for (final CompletableFuture<Void> reader : readers) {
                reader.get();
            }
        }
        assertEquals(List.of(), OpenDescriptors.of(path.toString()));
    }

    private static void readUntilClosed(final CyclicBarrier start, final PosixFile file, final byte[] expected) {
        try (Mapping mapping = Mapping.anonymous(NativeTag.TEST, expected.length)) {
            start.await();
            while (true) {
                assertEquals(expected.length, file.read(mapping.segment(), 0));
                assertArrayEquals(expected, PatternBytes.copyOf(mapping.segment()));
            }
        } catch (final IllegalStateException expectedEnd) {
            assertTrue(expectedEnd.getMessage().endsWith(" is closed"), expectedEnd.getMessage());
        } catch (final InterruptedException | BrokenBarrierException e) {
            throw new AssertionError(e);
        }
    }
}
