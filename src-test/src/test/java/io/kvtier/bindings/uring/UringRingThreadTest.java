package io.kvtier.bindings.uring;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Who may touch a ring, and how another thread ends its wait. */
@ExtendWith(LeakCheck.class)
class UringRingThreadTest {
    @TempDir
    private Path directory;

    @BeforeEach
    void needRings() {
        NotExercised.require("uring", Uring.availability().available(), Uring.availability().reason());
    }

    private static Throwable elsewhere(final Runnable body) {
        return assertThrows(CompletionException.class, () -> Threads.start(body).join()).getCause();
    }

    @Test
    void shouldRefuseOtherThreads() {
        final CompletionHandler never = (userData, result) -> {
            throw new AssertionError();
        };
        try (PosixFile file = PosixFile.inMemory("uring"); Arena arena = Arena.ofShared();
            UringRing ring = UringRing.open(UringOptions.ofDepth(2).withSlots(1, 1))) {
            final MemorySegment memory = arena.allocate(1);
            final UringFile attached = ring.attach(file);
            final RegisteredBuffer buffer = ring.register(memory);
            final List<Runnable> uses = List.of(() -> ring.nop(1), () -> ring.read(attached, memory, 0, 1),
                () -> ring.write(attached, memory, 0, 1), () -> ring.readFixed(attached, buffer, 0, 1, 0, 1),
                () -> ring.readVector(attached, SegmentVector.of(memory), 0, 1),
                () -> ring.writeVector(attached, SegmentVector.of(memory), 0, 1), ring::room, ring::isBroken,
                () -> ring.sync(attached, 1), () -> ring.cancel(1), ring::submit, () -> ring.submitAndWait(1),
                () -> ring.reap(never), () -> ring.drain(never, 1), ring::inFlight, ring::ready, ring::rebuilds,
                ring::strayCompletions, () -> ring.attach(file), () -> ring.register(memory), attached::close,
                buffer::close, ring::close);
            for (final Runnable use : uses) {
                assertEquals(WrongThreadException.class, elsewhere(use).getClass());
            }
            assertEquals(0, ring.inFlight());
        }
    }

    @Test
    void shouldRefuseVirtualThreads() throws InterruptedException {
        final AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread.ofVirtual().start(() -> thrown.set(
            assertThrows(IllegalStateException.class, () -> UringRing.open(UringOptions.ofDepth(1))))).join();
        assertTrue(thrown.get().getMessage().contains("virtual"));
    }

    @Test
    void shouldEndTheWaitOfTheOwner() {
        final AtomicReference<UringRing> shared = new AtomicReference<>();
        final CompletableFuture<Integer> waiting = Threads.start(() -> {
            try (UringRing ring = UringRing.open(UringOptions.ofDepth(1))) {
                shared.set(ring);
                return ring.submitAndWait(1, Long.MAX_VALUE);
            }
        });
        while (shared.get() == null) {
            Thread.onSpinWait();
        }
        shared.get().wakeup();
        assertEquals(0, waiting.join());
    }

    @Test
    void shouldRememberAWakeUpForTheNextWait() {
        try (UringRing ring = UringRing.open(UringOptions.ofDepth(2))) {
            for (int i = 0; i < 100; i++) {
                ring.wakeup();
                ring.wakeup();
                assertEquals(0, ring.submitAndWait(1, Long.MAX_VALUE));
            }
            assertTrue(ring.nop(1));
            assertEquals(Map.of(1L, 0), Ends.of(ring));
        }
    }

    @Test
    void shouldLoseNoWakeUp() {
        final int count = 20_000;
        final ConcurrentLinkedQueue<Integer> work = new ConcurrentLinkedQueue<>();
        final AtomicReference<UringRing> shared = new AtomicReference<>();
        final CompletableFuture<List<Integer>> owner = Threads.start(() -> {
            final List<Integer> seen = new ArrayList<>();
            try (UringRing ring = UringRing.open(UringOptions.ofDepth(4))) {
                shared.set(ring);
                while (seen.size() < 2 * count) {
                    ring.submitAndWait(1, Long.MAX_VALUE);
                    ring.reap((userData, result) -> {
                    });
                    for (Integer one = work.poll(); one != null; one = work.poll()) {
                        seen.add(one);
                        ring.nop(one);
                    }
                }
            }
            return seen;
        });
        while (shared.get() == null) {
            Thread.onSpinWait();
        }
        final List<CompletableFuture<Void>> wakers = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            wakers.add(Threads.start(() -> {
                for (int n = 0; n < count; n++) {
                    work.add(n);
                    shared.get().wakeup();
                }
            }));
        }
        wakers.forEach(CompletableFuture::join);
        assertEquals(2 * count, owner.join().size());
    }

    @Test
    void shouldServeTwoRingsInTwoThreads() throws Exception {
        final byte[] content = PatternBytes.of(3, 1 << 20);
        final Path path = Files.write(directory.resolve("file"), content);
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ)) {
            final List<CompletableFuture<byte[]>> readers = new ArrayList<>();
            for (int i = 0; i < 2; i++) {
                readers.add(Threads.start(() -> readAll(file, content.length)));
            }
            for (final CompletableFuture<byte[]> reader : readers) {
                assertArrayEquals(content, reader.join());
            }
        }
    }

    private static byte[] readAll(final PosixFile file, final int length) {
        final int piece = 4096;
        try (Arena arena = Arena.ofConfined(); UringRing ring = UringRing.open(UringOptions.ofDepth(16));
            UringFile attached = ring.attach(file)) {
            final MemorySegment target = arena.allocate(length);
            int at = 0;
            while (at < length || ring.inFlight() > 0) {
                while (at < length && ring.read(attached, target.asSlice(at, piece), at, at)) {
                    at += piece;
                }
                ring.submitAndWait(1);
                ring.reap((userData, result) -> assertEquals(piece, result));
            }
            return PatternBytes.copyOf(target);
        }
    }

    @Test
    void shouldBeClosedByAnotherThreadOnceTheOwnerHasEnded() {
        final UringRing ring = openInAThreadThatEnds();
        ring.close();
        ring.close();
    }

    private static UringRing openInAThreadThatEnds() {
        final AtomicReference<UringRing> opened = new AtomicReference<>();
        final Thread owner = Thread.ofPlatform().start(() -> {
            final UringRing ring = UringRing.open(UringOptions.ofDepth(2));
            ring.nop(1);
            Ends.of(ring);
            ring.submitAndWait(1, 1);
            opened.set(ring);
        });
        while (owner.isAlive()) {
            Thread.onSpinWait();
        }
        return opened.get();
    }

    @Test
    void shouldWakeAWaitForReadsThatNobodyAnswers() throws InterruptedException {
        final Path pipe = directory.resolve("pipe");
        assertEquals(0, Commands.run("mkfifo", pipe.toString()).code());
        final AtomicReference<UringRing> shared = new AtomicReference<>();
        final CompletableFuture<Integer> waiting = Threads.start(() -> {
            try (Arena arena = Arena.ofConfined();
                PosixFile file = PosixFile.open(pipe.toString(), OpenMode.READ_WRITE);
                UringRing ring = UringRing.open(UringOptions.ofDepth(3)); UringFile attached = ring.attach(file)) {
                for (int i = 0; i < 3; i++) {
                    assertTrue(ring.read(attached, arena.allocate(8), 0, i));
                }
                shared.set(ring);
                final int ready = ring.submitAndWait(3);
                ring.cancel(0);
                ring.cancel(1);
                ring.cancel(2);
                return ready + Ends.of(ring).size();
            }
        });
        while (shared.get() == null) {
            Thread.onSpinWait();
        }
        shared.get().wakeup();
        assertEquals(3, waiting.join());
    }
}
