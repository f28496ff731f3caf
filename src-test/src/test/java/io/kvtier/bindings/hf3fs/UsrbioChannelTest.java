package io.kvtier.bindings.hf3fs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.kit.UsrbioFaults;
import io.kvtier.kit.UsrbioFaults.Call;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Ranges of files through lanes of shared memory. */
class UsrbioChannelTest extends OverSimulatedUsrbio {
    private static final int BLOCK = 4096;
    private static final int DEPTH = 3;
    private static final int FILE_BYTES = 20 * BLOCK + 100;
    private static final UsrbioOptions OPTIONS = new UsrbioOptions(2, DEPTH, BLOCK, 5_000, false, -1);

    private Path path;
    private byte[] content;
    private Hf3fsFile file;
    private UsrbioChannel channel;

    @BeforeEach
    void open() throws IOException {
        path = fileOf("file", FILE_BYTES);
        content = Files.readAllBytes(path);
        file = registered(path);
        channel = keep(UsrbioChannel.open(usrbio, mount(), OPTIONS), UsrbioChannel::close);
    }

    private byte[] read(final long offset, final int length) {
        final byte[] target = new byte[length];
        return Arrays.copyOf(target, Math.toIntExact(channel.read(file, MemorySegment.ofArray(target), offset)));
    }

    private static MemorySegment pattern(final int seed, final int length) {
        return MemorySegment.ofArray(PatternBytes.of(seed, length));
    }

    @Test
    void shouldReadAnyRange() {
        for (final int length : new int[] {0, 1, BLOCK - 1, BLOCK, BLOCK + 1, DEPTH * BLOCK, 5 * BLOCK + 7}) {
            for (final int offset : new int[] {0, 1, BLOCK, 3 * BLOCK + 5}) {
                assertArrayEquals(Arrays.copyOfRange(content, offset, offset + length), read(offset, length),
                    offset + "+" + length);
            }
        }
    }

    @Test
    void shouldReadWhatThereIsBeforeTheEndOfTheFile() {
        for (final int offset : new int[] {FILE_BYTES - 1, FILE_BYTES - BLOCK, FILE_BYTES - 6 * BLOCK - 3, 0}) {
            assertArrayEquals(Arrays.copyOfRange(content, offset, FILE_BYTES), read(offset, FILE_BYTES + 9 * BLOCK),
                Integer.toString(offset));
        }
        assertEquals(0, read(FILE_BYTES, 10).length);
        assertEquals(0, read(FILE_BYTES + 100L * BLOCK, 7 * BLOCK).length);
        for (int seed = 0; seed < 10; seed++) {
            // In any order: a block behind the end may be heard of last.
            simulated.faults().random(seed);
            assertArrayEquals(Arrays.copyOfRange(content, FILE_BYTES - BLOCK - 3, FILE_BYTES),
                read(FILE_BYTES - BLOCK - 3, DEPTH * BLOCK));
        }
    }

    @Test
    void shouldAskForNothingThatIsKnownToBeBehindTheEnd() {
        read(FILE_BYTES - 10, 100 * BLOCK);

        assertEquals(DEPTH, simulated.faults().count(Call.PREP));
    }

    @Test
    void shouldWriteAnyRangeAndNothingBeside() throws IOException {
        int seed = 0;
        for (final int length : new int[] {0, 1, BLOCK - 1, BLOCK + 1, 5 * BLOCK + 7}) {
            for (final int offset : new int[] {0, 1, 3 * BLOCK + 5}) {
                final MemorySegment source = pattern(++seed, length);
                channel.write(file, source, offset);
                MemorySegment.copy(source, 0, MemorySegment.ofArray(content), offset, length);
                assertArrayEquals(content, Files.readAllBytes(path), offset + "+" + length);
            }
        }
    }

    @Test
    void shouldGrowTheFile() throws IOException {
        channel.write(file, pattern(3, 2 * BLOCK), FILE_BYTES + BLOCK);

        final byte[] after = Files.readAllBytes(path);
        assertEquals(FILE_BYTES + 3 * BLOCK, after.length);
        assertArrayEquals(content, Arrays.copyOf(after, FILE_BYTES));
        assertArrayEquals(PatternBytes.of(3, 2 * BLOCK),
            Arrays.copyOfRange(after, FILE_BYTES + BLOCK, after.length));
    }

    @Test
    void shouldTakeNativeMemoryOfOneThread() {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment memory = arena.allocate(2 * BLOCK);
            assertEquals(2 * BLOCK, channel.read(file, memory, 17));
            assertArrayEquals(Arrays.copyOfRange(content, 17, 17 + 2 * BLOCK), PatternBytes.copyOf(memory));
        }
    }

    @Test
    void shouldMoveManyPiecesInFewBlocks() throws IOException {
        final byte[] bytes = PatternBytes.of(11, 3 * BLOCK);
        final List<MemorySegment> sources = new ArrayList<>();
        final List<MemorySegment> targets = new ArrayList<>();
        for (int from = 0; from < bytes.length; from += 1000) {
            final int to = Math.min(bytes.length, from + 1000);
            sources.add(MemorySegment.ofArray(bytes).asSlice(from, to - from));
            sources.add(MemorySegment.NULL);
            targets.add(MemorySegment.ofArray(new byte[to - from]));
        }

        channel.write(file, sources, 7);
        assertEquals(bytes.length, channel.read(file, targets, 7));

        assertEquals(6, simulated.faults().count(Call.PREP));
        int from = 0;
        for (final MemorySegment target : targets) {
            assertArrayEquals(Arrays.copyOfRange(bytes, from, from + (int) target.byteSize()),
                PatternBytes.copyOf(target));
            from += (int) target.byteSize();
        }
        System.arraycopy(bytes, 0, content, 7, bytes.length);
        assertArrayEquals(content, Files.readAllBytes(path));
    }

    @Test
    void shouldWaitForWritesOnAndOnWhereThatIsAskedFor() throws IOException {
        final UsrbioChannel patient =
            keep(UsrbioChannel.open(usrbio, mount(), OPTIONS.withAwaitedWrites()), UsrbioChannel::close);
        simulated.faults().loseNth(Call.WRITE_ENTRY, 2);
        final long begun = usrbio.clock().nanoTime();
        final long enough = 3 * 5_000_000_000L;
        simulated.onWait(() -> {
            if (usrbio.clock().nanoTime() - begun > enough) {
                simulated.hear();
            }
        });
        final byte[] bytes = PatternBytes.of(6, 3 * BLOCK);

        patient.write(file, MemorySegment.ofArray(bytes), 0);

        assertTrue(usrbio.clock().nanoTime() - begun > enough);
        System.arraycopy(bytes, 0, content, 0, bytes.length);
        assertArrayEquals(content, Files.readAllBytes(path));
        simulated.onWait(() -> { });
        simulated.faults().loseNth(Call.READ_ENTRY, 1);
        assertTrue(assertThrows(UsrbioException.class,
            () -> patient.read(file, MemorySegment.ofArray(bytes), 0)).uncertain());
        simulated.hear();
    }

    @Test
    void shouldGoOnWhereAWriteWasShort() throws IOException {
        simulated.faults().nth(Call.WRITE_ENTRY, 2, 10).nth(Call.WRITE_ENTRY, 5, BLOCK - 1).nth(Call.WRITE_ENTRY, 6, 1);
        final byte[] bytes = PatternBytes.of(9, 7 * BLOCK + 3);

        channel.write(file, MemorySegment.ofArray(bytes), 5);

        System.arraycopy(bytes, 0, content, 5, bytes.length);
        assertArrayEquals(content, Files.readAllBytes(path));
        assertEquals(8 + 3, simulated.faults().count(Call.WRITE_ENTRY));
    }

    @Test
    void shouldFailByTheErrorOfAnEntryAndBeUsableAfterwards() {
        for (int n = 1; n <= 7; n++) {
            simulated.faults().nth(Call.READ_ENTRY, n, -Errno.EIO);
            final UsrbioException failed = assertThrows(UsrbioException.class, () -> read(BLOCK, 7 * BLOCK));
            assertEquals(Errno.EIO, failed.errno());
            assertFalse(failed.uncertain());
            assertTrue(failed.getMessage().contains(path.toString()), failed.getMessage());
            simulated.faults().heal().nth(Call.WRITE_ENTRY, n, -Errno.ENOSPC);
            assertEquals(Errno.ENOSPC, assertThrows(UsrbioException.class,
                () -> channel.write(file, MemorySegment.ofArray(content).asSlice(BLOCK, 7 * BLOCK), BLOCK)).errno());
            simulated.faults().heal();
        }
        assertEquals(0, channel.lanesSetAside());
        assertArrayEquals(content, read(0, FILE_BYTES));
    }

    @Test
    void shouldSayWhereAnEntryFailed() {
        simulated.faults().nth(Call.READ_ENTRY, 2, -Errno.EIO);

        final UsrbioException failed = assertThrows(UsrbioException.class, () -> read(100, DEPTH * BLOCK));

        // The simulation ends the last first, so the second to end is the second block.
        assertTrue(failed.getMessage().contains("offset " + (100 + BLOCK) + ", length " + BLOCK), failed.getMessage());
    }

    @Test
    void shouldNotBelieveResultsThatCannotBe() {
        for (final long result : new long[] {BLOCK + 1, Long.MAX_VALUE, Long.MIN_VALUE + 1, Integer.MIN_VALUE}) {
            simulated.faults().nth(Call.READ_ENTRY, 1, result);
            assertEquals(Errno.EIO, assertThrows(UsrbioException.class, () -> read(0, BLOCK)).errno());
        }
        simulated.faults().nth(Call.WRITE_ENTRY, 1, 0);
        assertEquals(Errno.EIO,
            assertThrows(UsrbioException.class, () -> channel.write(file, pattern(1, BLOCK), 0)).errno());
    }

    @Test
    void shouldFailWhenAnEntryCannotBePrepared() {
        for (int n = 1; n <= 5; n++) {
            simulated.faults().nth(Call.PREP, n, -Errno.EBADF);
            assertEquals(Errno.EBADF, assertThrows(UsrbioException.class, () -> read(0, 5 * BLOCK)).errno());
            simulated.faults().heal();
        }
        assertEquals(0, channel.lanesSetAside());
        assertArrayEquals(content, read(0, FILE_BYTES));
    }

    @Test
    void shouldWaitForWhatTheClientWasNotToldOf() {
        simulated.faults().nth(Call.SUBMIT, 1, -Errno.EINVAL);
        final long ended = simulated.faults().count(Call.WRITE_ENTRY);

        final UsrbioException failed = assertThrows(UsrbioException.class,
            () -> channel.write(file, MemorySegment.ofArray(content).asSlice(0, 2 * BLOCK), 0));

        assertEquals("hf3fs_submit_ios", failed.call());
        assertEquals(ended + 2, simulated.faults().count(Call.WRITE_ENTRY));
        assertEquals(0, channel.lanesSetAside());
    }

    @Test
    void shouldTellTheClientAgainAfterASilence() throws IOException {
        final UsrbioChannel patient =
            keep(UsrbioChannel.open(usrbio, mount(), OPTIONS.withAwaitedWrites()), UsrbioChannel::close);
        simulated.beginOnlyWhenTold();
        simulated.faults().nth(Call.SUBMIT, 1, -Errno.EINVAL);
        final byte[] bytes = PatternBytes.of(5, 2 * BLOCK);
        // More waits than a silence has: of a client that is not told again, the test would wait for ever.
        simulated.onWait(() -> {
            if (simulated.faults().count(Call.WAIT) > 1_000) {
                patient.close();
            }
        });

        final UsrbioException failed =
            assertThrows(UsrbioException.class, () -> patient.write(file, MemorySegment.ofArray(bytes), 0));

        assertEquals("hf3fs_submit_ios", failed.call());
        assertFalse(failed.uncertain());
        assertEquals(2, simulated.faults().count(Call.SUBMIT));
        assertEquals(0, patient.lanesSetAside());
        System.arraycopy(bytes, 0, content, 0, bytes.length);
        assertArrayEquals(content, Files.readAllBytes(path));
        patient.write(file, MemorySegment.ofArray(bytes), 0);
        assertEquals(3, simulated.faults().count(Call.SUBMIT));
    }

    @Test
    void shouldTellTheClientOfWhatIsInALaneThatWasSetAside() {
        simulated.beginOnlyWhenTold();
        // At first, and after the silence.
        simulated.faults().nth(Call.SUBMIT, 1, -Errno.EINVAL).nth(Call.SUBMIT, 2, -Errno.EINVAL);
        final UsrbioException silent = assertThrows(UsrbioException.class, () -> read(0, BLOCK));
        assertTrue(silent.uncertain());
        assertTrue(silent.getMessage().contains("could not be told of"), silent.getMessage());
        assertEquals(1, channel.lanesSetAside());

        assertArrayEquals(Arrays.copyOfRange(content, BLOCK, 2 * BLOCK), read(BLOCK, BLOCK));

        assertEquals(0, channel.lanesSetAside());
        assertEquals(1, simulated.faults().count(Call.IOV_CREATE));
    }

    @Test
    void shouldSetALaneAsideThatCannotBeWaitedFor() {
        simulated.faults().nth(Call.WAIT, 1, -Errno.EINVAL);

        final UsrbioException failed = assertThrows(UsrbioException.class, () -> read(0, BLOCK));

        assertTrue(failed.uncertain());
        assertEquals("hf3fs_wait_for_ios", ((UsrbioException) failed.getSuppressed()[0]).call());
        assertEquals(1, channel.lanesSetAside());
        assertArrayEquals(content, read(0, FILE_BYTES));
        assertEquals(0, channel.lanesSetAside());
    }

    @Test
    void shouldWaitForAWriteOnAfterAWaitThatFailed() throws IOException {
        final UsrbioChannel patient =
            keep(UsrbioChannel.open(usrbio, mount(), OPTIONS.withAwaitedWrites()), UsrbioChannel::close);
        simulated.faults().nth(Call.WAIT, 1, -Errno.EINVAL);
        final byte[] bytes = PatternBytes.of(8, 5 * BLOCK);

        patient.write(file, MemorySegment.ofArray(bytes), BLOCK);

        System.arraycopy(bytes, 0, content, BLOCK, bytes.length);
        assertArrayEquals(content, Files.readAllBytes(path));
        assertEquals(0, patient.lanesSetAside());
    }

    @Test
    void shouldGiveAWriteUpThatCannotBeWaitedForWhenItIsClosed() {
        final UsrbioChannel patient =
            keep(UsrbioChannel.open(usrbio, mount(), OPTIONS.withAwaitedWrites()), UsrbioChannel::close);
        simulated.faults().nth(Call.WAIT, 1, -Errno.EINVAL);
        simulated.onWait(patient::close);

        final UsrbioException failed =
            assertThrows(UsrbioException.class, () -> patient.write(file, pattern(1, BLOCK), 0));

        assertTrue(failed.uncertain());
        assertEquals(Errno.EINVAL, ((UsrbioException) failed.getSuppressed()[0]).errno());
    }

    @Test
    void shouldReapFirstWhenTheRingIsFull() {
        simulated.faults().nth(Call.PREP, 2, -Errno.EAGAIN).nth(Call.PREP, 4, -Errno.EAGAIN);

        assertArrayEquals(content, read(0, FILE_BYTES));

        simulated.faults().nth(Call.PREP, 1, -Errno.EAGAIN);
        assertEquals(Errno.EAGAIN, assertThrows(UsrbioException.class, () -> read(0, BLOCK)).errno());
    }

    @Test
    void shouldRefuseMemoryAndRangesThatAreNone() {
        final MemorySegment readOnly = MemorySegment.ofArray(new byte[10]).asReadOnly();
        assertThrows(IllegalArgumentException.class, () -> channel.read(file, readOnly, 0));
        final MemorySegment memory = MemorySegment.ofArray(new byte[10]);
        for (final long offset : new long[] {-1, Long.MAX_VALUE - 9}) {
            assertThrows(IllegalArgumentException.class, () -> channel.read(file, memory, offset));
            assertThrows(IllegalArgumentException.class, () -> channel.write(file, memory, offset));
        }
        channel.write(file, readOnly, 0);
    }

    @Test
    void shouldFailWhenTheCallersMemoryIsClosedMeanwhile() {
        final Arena arena = Arena.ofShared();
        final MemorySegment memory = arena.allocate(4 * BLOCK);
        simulated.onWait(() -> {
            if (arena.scope().isAlive()) {
                arena.close();
            }
        });

        assertThrows(IllegalStateException.class, () -> channel.read(file, memory, 0));

        simulated.onWait(() -> { });
        assertEquals(0, channel.lanesSetAside());
        assertArrayEquals(content, read(0, FILE_BYTES));
    }

    @Test
    void shouldGiveUpWhenNothingIsHeardAndUseTheLaneAgainWhenItIs() throws IOException {
        simulated.faults().loseNth(Call.WRITE_ENTRY, 2);
        final byte[] bytes = PatternBytes.of(4, 3 * BLOCK);
        final long begun = usrbio.clock().nanoTime();

        final UsrbioException silent = assertThrows(UsrbioException.class,
            () -> channel.write(file, MemorySegment.ofArray(bytes), 0));

        assertTrue(silent.uncertain());
        assertTrue(silent.getMessage().contains("1 entries") && silent.getMessage().contains("5000 ms"),
            silent.getMessage());
        assertTrue(usrbio.clock().nanoTime() - begun >= 5_000_000_000L);
        assertEquals(1, channel.lanesSetAside());
        // All that is its own is the caller's again.
        Arrays.fill(bytes, (byte) 0);
        final byte[] middle = Arrays.copyOfRange(content, BLOCK, 2 * BLOCK);
        assertArrayEquals(middle, read(BLOCK, BLOCK));

        simulated.hear();
        // The other lane has looked at the first, whose write is carried out as late as this.
        read(0, 1);
        assertEquals(0, channel.lanesSetAside());
        assertArrayEquals(Arrays.copyOfRange(PatternBytes.of(4, 3 * BLOCK), BLOCK, 2 * BLOCK),
            Arrays.copyOfRange(Files.readAllBytes(path), BLOCK, 2 * BLOCK));
    }

    @Test
    void shouldRefuseInsteadOfWaitingWhenNoLaneIsHeardOf() {
        simulated.faults().always(Call.READ_ENTRY, UsrbioFaults.NEVER);
        for (int lane = 0; lane < OPTIONS.lanes(); lane++) {
            assertEquals(Errno.ETIMEDOUT, assertThrows(UsrbioException.class, () -> read(0, BLOCK)).errno());
        }

        final UsrbioException refused = assertThrows(UsrbioException.class, () -> read(0, BLOCK));

        assertEquals(Errno.EBUSY, refused.errno());
        assertTrue(refused.getMessage().contains("hf3fs_fuse_main"), refused.getMessage());
        assertEquals(OPTIONS.lanes(), channel.lanesSetAside());
        simulated.faults().heal();
        simulated.hear();
        assertArrayEquals(content, read(0, FILE_BYTES));
        assertEquals(0, channel.lanesSetAside());
    }

    @Test
    void shouldTakeALaneThatIsHeardOfWhileATransferWaits() throws Exception {
        final UsrbioChannel patient =
            keep(UsrbioChannel.open(usrbio, mount(), OPTIONS.withAwaitedWrites()), UsrbioChannel::close);
        final Held held = hold(1);
        final CompletableFuture<Void> write = Threads.start(() -> patient.write(file, pattern(1, BLOCK), 5 * BLOCK));
        held.inside.await();
        // Only the write is held, and has its lane until the end.
        simulated.onWait(() -> { });
        simulated.faults().loseNth(Call.READ_ENTRY, 1);
        assertTrue(assertThrows(UsrbioException.class,
            () -> patient.read(file, MemorySegment.ofArray(new byte[BLOCK]), 0)).uncertain());
        assertEquals(1, patient.lanesSetAside());
        final byte[] bytes = new byte[BLOCK];
        final Thread waiting = Thread.ofPlatform().daemon().start(
            () -> patient.read(file, MemorySegment.ofArray(bytes), BLOCK));
        assertTrue(Threads.awaitWaiting(waiting));

        simulated.hear();

        waiting.join();
        assertArrayEquals(Arrays.copyOfRange(content, BLOCK, 2 * BLOCK), bytes);
        assertFalse(write.isDone());
        held.go.countDown();
        write.get();
    }

    @Test
    void shouldKeepTheRegistrationOfAFileWhileALaneIsSetAside() {
        simulated.faults().loseNth(Call.READ_ENTRY, 1);
        assertThrows(UsrbioException.class, () -> read(0, BLOCK));

        file.close();
        assertEquals(1, made(NativeTag.USRBIO_FILE).handles());
        assertThrows(IllegalStateException.class, () -> read(0, BLOCK));

        simulated.hear();
        channel.close();
        assertEquals(0, made(NativeTag.USRBIO_FILE).handles());
    }

    @Test
    void shouldFindOutAtOpeningThatTheMountPointIsNone() {
        assertThrows(UsrbioException.class, () -> UsrbioChannel.open(usrbio, directory.toString(), OPTIONS));
    }

    @Test
    void shouldTryAgainWhenARingCouldNotBeMade() {
        simulated.faults().nth(Call.IOR_CREATE, 1, -Errno.ENOMEM);

        assertThrows(UsrbioException.class, () -> read(0, BLOCK));
        assertArrayEquals(content, read(0, FILE_BYTES));
    }

    @Test
    void shouldMakeLanesOnlyWhenTheyAreNeeded() throws Exception {
        assertEquals(1, simulated.faults().count(Call.IOV_CREATE));
        read(0, BLOCK);
        channel.write(file, MemorySegment.ofArray(content), 0);
        assertEquals(1, simulated.faults().count(Call.IOV_CREATE));
        assertEquals(2, simulated.faults().count(Call.IOR_CREATE));

        runTogether(OPTIONS.lanes());

        assertEquals(OPTIONS.lanes(), simulated.faults().count(Call.IOV_CREATE));
    }

    @Test
    void shouldDoWithFewerLanesWhereThereIsNoMemoryForMore() throws Exception {
        simulated.faults().always(Call.IOV_CREATE, -Errno.EIO);
        final Held held = hold(1);
        final CompletableFuture<byte[]> first = Threads.start(() -> read(0, BLOCK));
        held.inside.await();
        // It cannot have a lane of its own, and waits for the first one.
        final CompletableFuture<byte[]> second = Threads.start(() -> read(BLOCK, BLOCK));
        Threads.awaitUntil(() -> simulated.faults().count(Call.IOV_CREATE) == 2, () -> "no second lane was tried");
        held.go.countDown();

        assertArrayEquals(Arrays.copyOf(content, BLOCK), first.get());
        assertArrayEquals(Arrays.copyOfRange(content, BLOCK, 2 * BLOCK), second.get());
    }

    @Test
    void shouldTryALaneAgainAMinuteAfterThereWasNoMemoryForIt() throws Exception {
        simulated.faults().nth(Call.IOV_CREATE, 1, -Errno.EIO);
        final Held held = hold(1);
        final CompletableFuture<byte[]> first = Threads.start(() -> read(0, BLOCK));
        held.inside.await();
        final CompletableFuture<byte[]> second = Threads.start(() -> read(BLOCK, BLOCK));
        Threads.awaitUntil(() -> simulated.faults().count(Call.IOV_CREATE) == 2, () -> "no second lane was tried");
        held.go.countDown();
        first.get();
        second.get();
        assertEquals(2, simulated.faults().count(Call.IOV_CREATE));

        simulated.pass(60_000);

        runTogether(OPTIONS.lanes());
        assertEquals(3, simulated.faults().count(Call.IOV_CREATE));
    }

    /** Holds threads in their waits until they may go on. */
    private static final class Held {
        final CountDownLatch inside;
        final CountDownLatch go = new CountDownLatch(1);

        Held(final int threads) {
            inside = new CountDownLatch(threads);
        }
    }

    private Held hold(final int threads) {
        final Held held = new Held(threads);
        simulated.onWait(() -> {
            held.inside.countDown();
            try {
                held.go.await();
            } catch (final InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        });
        return held;
    }

    private void runTogether(final int threads) throws Exception {
        final Held held = hold(threads);
        final List<CompletableFuture<byte[]>> reads = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            final int offset = i * BLOCK;
            reads.add(Threads.start(() -> read(offset, BLOCK)));
        }
        held.inside.await();
        held.go.countDown();
        for (int i = 0; i < threads; i++) {
            assertArrayEquals(Arrays.copyOfRange(content, i * BLOCK, (i + 1) * BLOCK), reads.get(i).get());
        }
    }

    @Test
    void shouldServeMoreThreadsThanLanes() throws Exception {
        simulated.faults().random(1);
        final int threads = 6;
        final int rounds = 40;
        final List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            final int own = i;
            all.add(Threads.start(() -> {
                for (int round = 0; round < rounds; round++) {
                    final int offset = own * 3 * BLOCK;
                    final byte[] bytes = PatternBytes.of(own * 1000 + round, 2 * BLOCK + round);
                    channel.write(file, MemorySegment.ofArray(bytes), offset);
                    assertArrayEquals(bytes, read(offset, bytes.length));
                }
            }));
        }
        for (final CompletableFuture<Void> one : all) {
            one.get();
        }
        assertTrue(simulated.faults().count(Call.IOV_CREATE) <= OPTIONS.lanes());
    }

    @Test
    void shouldLetTransfersEndAndRefuseOthersWhenItIsClosed() throws Exception {
        final Held held = hold(1);
        final CompletableFuture<byte[]> running = Threads.start(() -> read(0, 5 * BLOCK));
        held.inside.await();

        channel.close();
        channel.close();
        file.close();

        assertThrows(IllegalStateException.class, () -> read(0, BLOCK));
        assertThrows(IllegalStateException.class, () -> channel.write(file, pattern(1, 1), 0));
        held.go.countDown();
        assertArrayEquals(Arrays.copyOf(content, 5 * BLOCK), running.get());
        assertEquals(0, made(NativeTag.USRBIO_MEMORY).handles());
        assertEquals(0, made(NativeTag.USRBIO_RING).handles());
    }

    @Test
    void shouldRefuseThoseThatWaitForALaneWhenItIsClosed() throws Exception {
        final Held held = hold(OPTIONS.lanes());
        final List<CompletableFuture<byte[]>> running = new ArrayList<>();
        for (int lane = 0; lane < OPTIONS.lanes(); lane++) {
            running.add(Threads.start(() -> read(0, BLOCK)));
        }
        held.inside.await();
        final AtomicInteger refused = new AtomicInteger();
        final Thread waiting = Thread.ofPlatform().daemon().start(() -> {
            try {
                read(0, BLOCK);
            } catch (final IllegalStateException e) {
                refused.incrementAndGet();
            }
        });
        assertTrue(Threads.awaitWaiting(waiting));

        channel.close();

        waiting.join();
        assertEquals(1, refused.get());
        held.go.countDown();
        for (final CompletableFuture<byte[]> one : running) {
            assertArrayEquals(Arrays.copyOf(content, BLOCK), one.get());
        }
    }
}
