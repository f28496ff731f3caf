package io.kvtier.bindings.uring;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The process of {@link UringCloseProcessTest}. After every close the memory is filled, the device is given time to
 * write into it after all by reading as much again elsewhere, and only then is it checked and freed.
 */
final class UringCloseVictim {
    static final int DEPTH = 32;
    static final int PIECE = 1 << 18;
    private static final int ROUNDS = 15;
    private static final long LOCKED = 5 << 20;
    private static final byte MARK = 0x5a;

    private final String file;
    private final String pipe;

    private UringCloseVictim(final Path directory) {
        file = directory.resolve("file").toString();
        pipe = directory.resolve("pipe").toString();
    }

    /** What is done with a ring in use. */
    enum Scenario {
        /** Reads and writes of a disk, closed by the owner. */
        OWNER_CLOSES_FILE,
        /** Reads that nobody answers, closed by the owner; answered afterwards. */
        OWNER_CLOSES_PIPE,
        /** Vectored reads, some of them not submitted. */
        OWNER_CLOSES_VECTORS,
        /** Registered memory and files. */
        OWNER_CLOSES_REGISTERED,
        /** Reads of a disk by a thread that has ended. */
        OTHER_CLOSES_FILE,
        /** Reads that nobody answers by a thread that has ended. */
        OTHER_CLOSES_PIPE,
        /** Registered memory of a ring whose thread has ended. */
        OTHER_CLOSES_REGISTERED,
        /** A registered buffer closed while it is read into, then once it may be. */
        BUFFER_CLOSED,
        /** Memory registered again at once with the next ring: only under a limit on locked memory can that fail. */
        REGISTERED_AGAIN,
        /** Threads that wake the owner while it closes. */
        WOKEN_WHILE_CLOSED,
        /** The process ends with everything in flight. */
        PROCESS_ENDS
    }

    /** Runs one scenario and says so when it is through. */
    public static void main(final String[] arguments) throws InterruptedException {
        if (arguments[0].equals("crash")) {
            crash();
        }
        final UringCloseVictim victim = new UringCloseVictim(Path.of(arguments[1]));
        for (int round = 0; round < ROUNDS; round++) {
            victim.run(Scenario.valueOf(arguments[0]), round);
        }
        System.out.println("done");
    }

    @SuppressWarnings("restricted") // That it is unsafe is the point.
    private static void crash() {
        MemorySegment.ofAddress(16).reinterpret(16).set(ValueLayout.JAVA_BYTE, 0, MARK);
    }

    private void run(final Scenario scenario, final int round) throws InterruptedException {
        switch (scenario) {
            case OWNER_CLOSES_FILE -> owner(file, round % 2 == 0 ? UringCloseVictim::reads : UringCloseVictim::writes);
            case OWNER_CLOSES_PIPE -> owner(pipe, UringCloseVictim::reads);
            case OWNER_CLOSES_VECTORS -> owner(round % 2 == 0 ? file : pipe, UringCloseVictim::vectors);
            case OWNER_CLOSES_REGISTERED -> owner(file, UringCloseVictim::registered);
            case OTHER_CLOSES_FILE -> other(file, round % 2 == 0 ? UringCloseVictim::reads : UringCloseVictim::writes);
            case OTHER_CLOSES_PIPE -> other(pipe, round % 2 == 0 ? UringCloseVictim::reads : UringCloseVictim::vectors);
            case OTHER_CLOSES_REGISTERED -> other(file, UringCloseVictim::registered);
            case BUFFER_CLOSED -> bufferClosed();
            case REGISTERED_AGAIN -> registeredAgain();
            case WOKEN_WHILE_CLOSED -> wokenWhileClosed();
            case PROCESS_ENDS -> leave(round % 2 == 0 ? file : pipe);
            default -> throw new AssertionError(scenario);
        }
    }

    /** Prepares as many operations as there is room for, and submits. */
    private interface Work {
        void prepare(UringRing ring, UringFile file, MemorySegment memory);
    }

    private static void reads(final UringRing ring, final UringFile file, final MemorySegment memory) {
        for (int i = 0; i < DEPTH; i++) {
            check(ring.read(file, memory, (long) i * PIECE, PIECE, (long) i * PIECE, i), "the ring is full");
        }
        ring.submit();
    }

    private static void writes(final UringRing ring, final UringFile file, final MemorySegment memory) {
        for (int i = 0; i < DEPTH; i++) {
            check(ring.write(file, memory, (long) i * PIECE, PIECE, (long) i * PIECE, i), "the ring is full");
        }
        ring.submit();
    }

    private static void vectors(final UringRing ring, final UringFile file, final MemorySegment memory) {
        final SegmentVector vector = new SegmentVector(4);
        for (int i = 0; i < DEPTH; i++) {
            vector.clear();
            for (int piece = 3; piece >= 0; piece--) {
                vector.add(memory, (long) i * PIECE + piece * (PIECE / 4), PIECE / 4);
            }
            check(ring.readVector(file, vector, (long) i * PIECE, i), "the ring is full");
            if (i == DEPTH / 2) {
                ring.submit();
            }
        }
    }

    private static void registered(final UringRing ring, final UringFile file, final MemorySegment memory) {
        final RegisteredBuffer buffer = ring.register(memory);
        for (int i = 0; i < DEPTH; i++) {
            check(ring.readFixed(file, buffer, (long) i * PIECE, PIECE, (long) i * PIECE, i), "the ring is full");
        }
        ring.submit();
    }

    private static UringRing ring() {
        return UringRing.open(UringOptions.ofDepth(DEPTH).withSlots(1, 1));
    }

    private static PosixFile opened(final String path) {
        return PosixFile.open(path, path.endsWith("pipe") ? OpenMode.READ_WRITE : OpenMode.READ_WRITE_DIRECT);
    }

    private void owner(final String path, final Work work) {
        final Arena arena = Arena.ofShared();
        final MemorySegment memory = memory(arena);
        try (PosixFile opened = opened(path); UringRing ring = ring()) {
            work.prepare(ring, ring.attach(opened), memory);
        }
        checkUntouched(memory);
        arena.close();
        checkGivenBack();
    }

    private void other(final String path, final Work work) throws InterruptedException {
        final Arena arena = Arena.ofShared();
        final MemorySegment memory = memory(arena);
        final UringRing[] left = new UringRing[1];
        final Thread owner = new Thread(() -> {
            try (PosixFile opened = opened(path)) {
                left[0] = ring();
                work.prepare(left[0], left[0].attach(opened), memory);
            }
        });
        owner.start();
        owner.join();
        left[0].close();
        left[0].close();
        checkUntouched(memory);
        arena.close();
        checkGivenBack();
    }

    private void bufferClosed() {
        final Arena arena = Arena.ofShared();
        final MemorySegment memory = memory(arena);
        try (PosixFile opened = opened(file); UringRing ring = ring(); UringFile attached = ring.attach(opened)) {
            final RegisteredBuffer buffer = ring.register(memory);
            for (int i = 0; i < DEPTH; i++) {
                check(ring.readFixed(attached, buffer, (long) i * PIECE, PIECE, (long) i * PIECE, i), "full");
            }
            // Prepared counts as in use, and so does what the kernel has.
            checkRefused(buffer);
            ring.submit();
            while (ring.ready() < DEPTH) {
                if (ring.ready() == 0) {
                    checkRefusedUntilAllEnded(ring, buffer);
                }
                ring.submitAndWait(ring.ready() + 1);
            }
            check(ring.reap((userData, result) -> check(result == PIECE, "a read ended with " + result)) == DEPTH,
                "not all were reaped");
            buffer.close();
            checkUntouched(memory);
            arena.close();
            // The ring is as good as before without it.
            try (Arena scratch = Arena.ofConfined()) {
                check(ring.read(attached, scratch.allocate(4096, 4096), 0, 1), "full");
                check(ring.drain((userData, result) -> check(result == 4096, "ended with " + result), Long.MAX_VALUE),
                    "not drained");
            }
        }
        checkGivenBack();
    }

    private static void checkRefused(final RegisteredBuffer buffer) {
        check(isRefused(buffer), "a registered buffer in use was closed");
    }

    /** All of them may have ended just now, and wait to be reaped. */
    private static void checkRefusedUntilAllEnded(final UringRing ring, final RegisteredBuffer buffer) {
        check(isRefused(buffer) || ring.ready() == DEPTH, "a registered buffer that the kernel uses was closed");
    }

    private static boolean isRefused(final RegisteredBuffer buffer) {
        try {
            buffer.close();
            return false;
        } catch (final IllegalStateException e) {
            return true;
        }
    }

    private void registeredAgain() {
        check(Uring.lockedMemoryLimitBytes() < 2 * LOCKED, "the limit on locked memory is "
            + Uring.lockedMemoryLimitBytes());
        try (Arena arena = Arena.ofConfined(); UringRing ring = ring()) {
            ring.register(arena.allocate(LOCKED, 4096));
        }
    }

    private void wokenWhileClosed() throws InterruptedException {
        final Thread[] wakers = new Thread[2];
        final AtomicBoolean over = new AtomicBoolean();
        final Arena arena = Arena.ofShared();
        final MemorySegment memory = memory(arena);
        try (PosixFile opened = opened(file); UringRing ring = ring()) {
            for (int i = 0; i < wakers.length; i++) {
                wakers[i] = new Thread(() -> {
                    while (!over.get()) {
                        ring.wakeup();
                    }
                });
                wakers[i].start();
            }
            reads(ring, ring.attach(opened), memory);
            ring.submitAndWait(1, Long.MAX_VALUE);
        }
        // A wake-up that used a closed descriptor's number would now hit one of this ring.
        checkUntouched(memory);
        over.set(true);
        for (final Thread waker : wakers) {
            waker.join();
        }
        arena.close();
        checkGivenBack();
    }

    private void leave(final String path) {
        final UringRing ring = ring();
        reads(ring, ring.attach(opened(path)), memory(Arena.ofShared()));
    }

    private static MemorySegment memory(final Arena arena) {
        return arena.allocate((long) DEPTH * PIECE, 4096).fill(MARK);
    }

    private void checkUntouched(final MemorySegment memory) {
        memory.fill(MARK);
        try (Arena arena = Arena.ofConfined(); PosixFile pipeEnd = opened(pipe); PosixFile opened = opened(file);
            UringRing ring = ring(); UringFile attached = ring.attach(opened);
            UringFile attachedPipe = ring.attach(pipeEnd)) {
            reads(ring, attached, arena.allocate((long) DEPTH * PIECE, 4096));
            check(ring.drain((userData, result) -> check(result == PIECE, "a read ended with " + result),
                Long.MAX_VALUE), "not drained");
            // What reads of the pipe that were left behind would take.
            check(ring.write(attachedPipe, arena.allocate(4096, 4096), 0, 1), "full");
            check(ring.drain((userData, result) -> check(result == 4096, "a write ended with " + result),
                Long.MAX_VALUE), "not drained");
            check(ring.read(attachedPipe, arena.allocate(4096), 0, 2), "full");
            check(ring.drain((userData, result) -> check(result == 4096, "the pipe had " + result + " of 4096 bytes"),
                1_000_000_000L), "somebody else has read the pipe");
        }
        final MemorySegment marks = Arena.ofAuto().allocate(memory.byteSize()).fill(MARK);
        check(memory.mismatch(marks) < 0, "memory was written after the ring was closed");
    }

    private static void checkGivenBack() {
        NativeResources.snapshot().forEach((tag, usage) -> check(usage.handles() == 0, tag + " left: " + usage));
        check(Uring.abandonedRings() == 0, "a ring was leaked");
    }

    private static void check(final boolean holds, final String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }
}
