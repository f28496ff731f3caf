package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What every transport does, whatever it moves bytes between; the model of both sides is a byte array. */
@ExtendWith(LeakCheck.class)
public abstract class TransportContract {
    protected static final int MIB = 1 << 20;
    /** Around the sizes at which sectors, pages, staging memory and slices begin and end. */
    private static final int[] LENGTHS =
        {1, 511, 512, 513, 4095, 4096, 4097, 65_535, 65_536, 65_537, MIB - 1, MIB, MIB + 1};
    private static final int[] OFFSETS = {0, 1, 511, 512, 4095, 4096, 4097, 65_535, MIB - 1, MIB};
    private static final int[] SHIFTS = {0, 1, 512};
    private static final int GUARD = 4096;
    private static final int BORDERS_BYTES = 2 * MIB + GUARD;

    private final List<HostRegion> regions = new ArrayList<>();
    private TransferEngine engine;

    protected abstract TransportKind kind();

    protected abstract Transport newTransport();

    /** Opens a segment of an engine that holds these bytes. */
    protected abstract Segment open(TransferEngine with, String name, byte[] content) throws IOException;

    /** What a segment holds, read by other means than the engine. */
    protected abstract byte[] content(String name) throws IOException;

    @AfterEach
    final void closeEngine() {
        if (engine != null) {
            engine.close();
            assertFalse(engine.abandoned());
        }
        regions.forEach(HostRegion::close);
    }

    protected final TransferEngine engine(final TransferConfig config) {
        engine = TransferEngine.open(config, List.of(newTransport()));
        return engine;
    }

    private TransferEngine engine() {
        return engine(TransferConfig.DEFAULT);
    }

    protected final HostRegion region(final long bytes) {
        final HostRegion region = HostRegion.allocate(NativeTag.TEST, bytes);
        regions.add(region);
        return region;
    }

    private static byte[] part(final byte[] all, final int offset, final int length) {
        return Arrays.copyOfRange(all, offset, offset + length);
    }

    private void read(final RegionSlice local, final Segment segment, final long offset) {
        engine.submit(List.of(TransferRequest.read(local, segment, offset))).await();
    }

    private void write(final RegionSlice local, final Segment segment, final long offset) {
        engine.submit(List.of(TransferRequest.write(local, segment, offset))).await();
    }

    static Stream<Integer> offsets() {
        return IntStream.of(OFFSETS).boxed();
    }

    @ParameterizedTest
    @MethodSource("offsets")
    void shouldWriteExactlyTheBytesAskedForAtAnyBorder(final int offset) throws IOException {
        final byte[] model = PatternBytes.of(offset, BORDERS_BYTES);
        final Segment segment = open(engine(), "s", model);
        final HostRegion local = region(MIB + GUARD);
        PatternBytes.fill(local.segment(), offset + 1000L);
        final byte[] bytes = PatternBytes.copyOf(local.segment());
        for (final int length : LENGTHS) {
            for (final int shift : SHIFTS) {
                write(local.slice(shift, length), segment, offset);
                System.arraycopy(bytes, shift, model, offset, length);
                assertArrayEquals(model, content("s"), "length " + length + ", memory shifted by " + shift);
            }
        }
        assertArrayEquals(bytes, PatternBytes.copyOf(local.segment()), "the source was changed");
    }

    @ParameterizedTest
    @MethodSource("offsets")
    void shouldReadExactlyTheBytesAskedForAtAnyBorder(final int offset) throws IOException {
        final byte[] model = PatternBytes.of(offset, BORDERS_BYTES);
        final Segment segment = open(engine(), "s", model);
        final byte[] junk = PatternBytes.of(offset + 1000L, MIB + 3 * GUARD);
        final HostRegion local = region(junk.length);
        for (final int length : LENGTHS) {
            for (final int shift : SHIFTS) {
                local.segment().copyFrom(MemorySegment.ofArray(junk));
                final byte[] expected = junk.clone();
                System.arraycopy(model, offset, expected, GUARD + shift, length);

                read(local.slice(GUARD + shift, length), segment, offset);

                assertArrayEquals(expected, PatternBytes.copyOf(local.segment()),
                    "length " + length + ", memory shifted by " + shift);
            }
        }
        assertArrayEquals(model, content("s"), "reading changed the segment");
    }

    @ParameterizedTest
    @ValueSource(ints = {(16 << 20) - 1, 16 << 20, (16 << 20) + 1})
    void shouldMoveMoreThanOneSlice(final int length) throws IOException {
        final int offset = 4095;
        final byte[] model = PatternBytes.of(1, length + 2 * GUARD);
        final Segment segment = open(engine(), "s", model);
        final HostRegion local = region(length + 2L * GUARD);
        PatternBytes.fill(local.segment(), 2);

        write(local.slice(7, length), segment, offset);
        System.arraycopy(PatternBytes.of(2, length + 2 * GUARD), 7, model, offset, length);
        assertArrayEquals(model, content("s"));

        local.segment().fill((byte) 0);
        read(local.slice(9, length), segment, offset);
        assertArrayEquals(part(model, offset, length), PatternBytes.copyOf(local.segment().asSlice(9, length)));
        assertEquals(0, local.segment().get(ValueLayout.JAVA_BYTE, 8));
        assertEquals(0, local.segment().get(ValueLayout.JAVA_BYTE, 9L + length));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void shouldDoAsTheModelWhenManyRandomRequestsFollowOneAnother(final long seed) throws IOException {
        final SplittableRandom random = new SplittableRandom(seed);
        final int size = MIB + random.nextInt(MIB);
        final byte[] model = PatternBytes.of(seed, size);
        final Segment segment = open(engine(new TransferConfig(4096L << random.nextInt(6), 30_000)), "s", model);
        final HostRegion local = region(size);
        PatternBytes.fill(local.segment(), seed + 1);
        final byte[] localModel = PatternBytes.copyOf(local.segment());
        for (int step = 0; step < 100; step++) {
            final int length = random.nextInt(random.nextBoolean() ? size : 10_000);
            final int offset = random.nextInt(size - length + 1) & -(1 << random.nextInt(13));
            final int at = random.nextInt(size - length + 1) & -(1 << random.nextInt(13));
            if (random.nextBoolean()) {
                write(local.slice(at, length), segment, offset);
                System.arraycopy(localModel, at, model, offset, length);
            } else {
                read(local.slice(at, length), segment, offset);
                System.arraycopy(model, offset, localModel, at, length);
            }
        }
        assertArrayEquals(model, content("s"));
        assertArrayEquals(localModel, PatternBytes.copyOf(local.segment()));
    }

    @Test
    void shouldCompleteAndTouchNothingWhenLengthIsZero() throws IOException {
        final byte[] model = PatternBytes.of(1, 100);
        final Segment segment = open(engine(), "s", model);
        final HostRegion local = region(100);

        for (final long offset : new long[] {0, 50, 100}) {
            read(local.slice(100, 0), segment, offset);
            write(local.slice(0, 0), segment, offset);
        }

        assertArrayEquals(model, content("s"));
    }

    @Test
    void shouldMoveAllRequestsOfOneSubmit() throws IOException {
        final byte[] first = PatternBytes.of(1, 3 * MIB);
        final byte[] second = PatternBytes.of(2, 100_000);
        final TransferEngine with = engine(new TransferConfig(65_536, 30_000));
        final Segment one = open(with, "one", first);
        final Segment two = open(with, "two", second);
        final HostRegion local = region(4 * MIB);
        PatternBytes.fill(local.segment(), 3);
        final byte[] bytes = PatternBytes.copyOf(local.segment());

        final Transfer transfer = with.submit(List.of(
            TransferRequest.write(local.slice(10, 100_000), one, 5),
            TransferRequest.read(local.slice(MIB, MIB), one, 2 * MIB),
            TransferRequest.write(local.slice(200_000, 300), two, 99_000),
            TransferRequest.read(local.slice(3 * MIB, 90_000), two, 1)));
        transfer.await();

        assertTrue(transfer.isDone());
        assertNull(transfer.failure());
        assertEquals(100_000 + MIB + 300 + 90_000, transfer.bytes());
        assertEquals(transfer.bytes(), transfer.movedBytes());
        System.arraycopy(bytes, 10, first, 5, 100_000);
        System.arraycopy(first, 2 * MIB, bytes, MIB, MIB);
        System.arraycopy(second, 1, bytes, 3 * MIB, 90_000);
        System.arraycopy(bytes, 200_000, second, 99_000, 300);
        assertArrayEquals(first, content("one"));
        assertArrayEquals(second, content("two"));
        assertArrayEquals(bytes, PatternBytes.copyOf(local.segment()));
    }

    @Test
    void shouldGiveEachReadItsBytesWhenReadsOverlap() throws IOException {
        final byte[] model = PatternBytes.of(1, MIB);
        final TransferEngine with = engine(new TransferConfig(4096, 30_000));
        final Segment segment = open(with, "s", model);
        final HostRegion local = region(20L * 70_000);
        final List<TransferRequest> requests = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            requests.add(TransferRequest.read(local.slice(i * 70_000L, 70_000), segment, i * 1111L));
        }

        with.submit(requests).await();

        for (int i = 0; i < 20; i++) {
            assertArrayEquals(part(model, i * 1111, 70_000),
                PatternBytes.copyOf(local.slice(i * 70_000L, 70_000).segment()));
        }
    }

    @Test
    void shouldCompleteItsFutureWithWhatWasMoved() throws IOException {
        final byte[] model = PatternBytes.of(1, 10_000);
        final Segment segment = open(engine(), "s", model);
        final HostRegion local = region(10_000);

        final byte[] seen = engine.submit(List.of(TransferRequest.read(local.slice(0, 10_000), segment, 0))).future()
            .thenApply(transfer -> PatternBytes.copyOf(local.segment())).join();

        assertArrayEquals(model, seen);
    }

    /** One mistake each, to be put among good requests. */
    private List<TransferRequest> mistakes(final Segment segment, final HostRegion local, final MemorySegment closed) {
        return List.of(
            TransferRequest.read(local.slice(0, 10), segment, -1),
            TransferRequest.write(local.slice(0, 10), segment, Long.MIN_VALUE),
            TransferRequest.write(local.slice(0, 100), segment, Long.MAX_VALUE - 50),
            TransferRequest.read(RegionSlice.of(MemorySegment.ofArray(new byte[10])), segment, 0),
            TransferRequest.write(RegionSlice.of(MemorySegment.ofArray(new byte[10])), segment, 0),
            TransferRequest.read(RegionSlice.of(local.segment().asReadOnly()), segment, 0),
            TransferRequest.read(RegionSlice.of(closed), segment, 0),
            TransferRequest.write(RegionSlice.of(closed), segment, 0),
            new TransferRequest(Direction.READ, local.slice(0, 10), segment, 0, other(), true));
    }

    private TransportKind other() {
        return kind() == TransportKind.MEMORY ? TransportKind.POSIX : TransportKind.MEMORY;
    }

    @Test
    void shouldStartNothingWhenOneRequestOfManyIsWrong() throws IOException {
        final byte[] model = PatternBytes.of(1, 10_000);
        final TransferEngine with = engine();
        final Segment segment = open(with, "s", model);
        final HostRegion local = region(10_000);
        final MemorySegment closed;
        try (Arena arena = Arena.ofShared()) {
            closed = arena.allocate(100);
        }
        final TransferRequest goodWrite = TransferRequest.write(local.slice(0, 5000), segment, 0);
        final TransferRequest goodRead = TransferRequest.read(local.slice(5000, 5000), segment, 5000);
        final List<TransportStats> before = with.stats();
        for (final TransferRequest mistake : mistakes(segment, local, closed)) {
            final TransferFailure failure = assertThrows(TransferException.class,
                () -> with.submit(List.of(goodWrite, goodRead, mistake)), mistake::toString).failure();

            assertEquals(TransferFailure.Kind.INVALID, failure.kind());
            assertTrue(failure.message().startsWith("request 2: "), failure.message());
            assertEquals(segment.name(), failure.segment());
        }
        assertEquals(before, with.stats());
        // Waits for ever when a refused transfer is counted as running.
        segment.close();
        assertArrayEquals(model, content("s"));
        assertArrayEquals(new byte[10_000], PatternBytes.copyOf(local.segment()));
        assertThrows(TransferException.class, () -> with.submit(List.of(goodWrite)));
    }

    @Test
    void shouldUseTheHintedTransportWhenItIsThere() throws IOException {
        final byte[] model = PatternBytes.of(1, 1000);
        final TransferEngine with = engine();
        final Segment segment = open(with, "s", model);
        final HostRegion local = region(1000);

        with.submit(List.of(new TransferRequest(Direction.READ, local.slice(0, 1000), segment, 0, kind(), true)))
            .await();

        assertArrayEquals(model, PatternBytes.copyOf(local.segment()));
    }

    @Test
    void shouldMakeWritesDurableOnceSynced() throws IOException {
        final Segment segment = open(engine(), "s", new byte[10_000]);
        final HostRegion local = region(10_000);
        PatternBytes.fill(local.segment(), 1);
        write(local.slice(0, 10_000), segment, 0);

        engine.sync(segment).await();

        assertArrayEquals(PatternBytes.of(1, 10_000), content("s"));
    }

    @Test
    void shouldServeHundredsOfVirtualThreadsAtOnce() throws Exception {
        final int threads = 300;
        final int each = 8 * 4096;
        final TransferEngine with = engine(new TransferConfig(4096, 30_000));
        final Segment segment = open(with, "s", new byte[threads * each]);
        final HostRegion local = region(2L * threads * each);
        PatternBytes.fill(local.segment().asSlice(0, (long) threads * each), 1);
        final CountDownLatch start = new CountDownLatch(1);
        final List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            final long at = (long) i * each;
            final RegionSlice source = local.slice(at, each);
            final RegionSlice target = local.slice((long) threads * each + at, each);
            all.add(CompletableFuture.runAsync(() -> {
                try {
                    start.await();
                } catch (final InterruptedException e) {
                    throw new AssertionError(e);
                }
                write(source, segment, at);
                read(target, segment, at);
            }, command -> Thread.ofVirtual().start(command)));
        }
        start.countDown();
        for (final CompletableFuture<Void> one : all) {
            one.get();
        }

        final byte[] expected = PatternBytes.of(1, threads * each);
        assertArrayEquals(expected, content("s"));
        assertArrayEquals(expected, PatternBytes.copyOf(local.segment().asSlice((long) threads * each)));
        final TransportStats stats = with.stats().getFirst();
        assertEquals(kind(), stats.kind());
        assertEquals((long) threads * each, stats.readBytes());
        assertEquals((long) threads * each, stats.writtenBytes());
    }

    @Test
    void shouldMoveAHundredMebibytes() throws IOException {
        final int length = 100 * MIB;
        final Segment segment = open(engine(), "s", new byte[length]);
        final HostRegion local = region(length);
        PatternBytes.fill(local.segment(), 1);
        write(local.slice(0, length), segment, 0);
        local.segment().fill((byte) 0);

        read(local.slice(0, length), segment, 0);

        final byte[] expected = PatternBytes.of(1, length);
        assertEquals(-1, MemorySegment.ofArray(expected).mismatch(local.segment()));
        assertArrayEquals(expected, content("s"));
    }

    @Test
    void shouldDoAsTheModelWhenEightThreadsUseTheirTransfersAgainAndAgain() throws IOException {
        final int threads = 8;
        final int each = 256 << 10;
        final TransferEngine with = engine(new TransferConfig(16 << 10, 30_000).withOutstanding(12, MIB));
        final Segment segment = open(with, "s", new byte[threads * each]);
        final HostRegion local = region((long) threads * each);
        PatternBytes.fill(local.segment(), 5);
        final Registration registration = with.register(local);
        final byte[] model = new byte[threads * each];
        final List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            final long base = (long) i * each;
            final SplittableRandom random = new SplittableRandom(i);
            final byte[] mine = PatternBytes.copyOf(local.segment().asSlice(base, each));
            all.add(CompletableFuture.runAsync(() -> writeAndCheck(with, segment, local, base, random, mine, model),
                command -> (random.nextBoolean() ? Thread.ofVirtual() : Thread.ofPlatform()).start(command)));
        }
        all.forEach(CompletableFuture::join);

        assertArrayEquals(model, content("s"));
        assertEquals(0, with.outstanding() + with.outstandingBytes());
        registration.close();
    }

    /** One thread of the test above, in a range of its own; the model is written in that range only. */
    private static void writeAndCheck(final TransferEngine with, final Segment segment, final HostRegion local,
        final long base, final SplittableRandom random, final byte[] mine, final byte[] model) {
        final Transfer transfer = with.newTransfer();
        final int half = mine.length / 2;
        for (int round = 0; round < 60; round++) {
            final int length = 1 + random.nextInt(half / 4);
            for (int part = 0; part < 4; part++) {
                final int at = part * (half / 4);
                transfer.write(local, base + at, length, segment, base + half + at);
                System.arraycopy(mine, at, model, (int) base + half + at, length);
            }
            with.submit(transfer);
            transfer.await();
            transfer.clear();
            with.submit(transfer.read(local, base + half, half, segment, base + half));
            transfer.await();
            transfer.clear();
            assertArrayEquals(part(model, (int) base + half, half),
                PatternBytes.copyOf(local.segment().asSlice(base + half, half)));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldTouchNothingAfterTheEndWhenCancelledOrLate(final boolean late) throws IOException {
        final int length = 8 * MIB;
        final byte[] model = PatternBytes.of(1, length);
        final TransferEngine with = engine(new TransferConfig(64 << 10, 30_000));
        final Segment segment = open(with, "s", model);
        final HostRegion local = region(length);
        for (int round = 0; round < 20; round++) {
            local.segment().fill((byte) 0);
            final Transfer transfer = with.newTransfer().read(local, 0, length, segment, 0);
            with.submit(transfer, late ? TransferOptions.within(1) : TransferOptions.DEFAULT);
            if (!late) {
                transfer.cancel();
            }
            try {
                transfer.await();
                assertEquals(-1, MemorySegment.ofArray(model).mismatch(local.segment()));
            } catch (final TransferException e) {
                assertEquals(late ? TransferFailure.Kind.TIMEOUT : TransferFailure.Kind.CANCELED, e.failure().kind());
            }
            local.segment().fill((byte) 77);
        }
        read(local.slice(0, 10), segment, 0);
        assertEquals(-1, local.segment().asSlice(10).mismatch(filled(length - 10)), "a cancelled read went on writing");
        assertArrayEquals(model, content("s"));
    }

    private MemorySegment filled(final long bytes) {
        final HostRegion expected = region(bytes);
        return expected.segment().fill((byte) 77);
    }

    @Test
    void shouldEndEveryTransferWhenClosedMeanwhile() throws IOException {
        final int length = 4 * MIB;
        final TransferEngine with = engine(new TransferConfig(64 << 10, 30_000));
        final Segment segment = open(with, "s", PatternBytes.of(1, length));
        final HostRegion local = region(4L * length);
        final List<Transfer> transfers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            final RegionSlice target = local.slice((long) i * length, length);
            transfers.add(with.submit(List.of(TransferRequest.read(target, segment, 0))));
        }

        with.close();

        transfers.forEach(transfer -> assertTrue(transfer.isDone()));
        transfers.forEach(Transfer::await);
        assertEquals(-1, MemorySegment.ofArray(PatternBytes.of(1, length))
            .mismatch(local.segment().asSlice(3L * length)));
        assertThrows(IllegalStateException.class, () -> write(local.slice(0, 1), segment, 0));
    }

    @Test
    void shouldGiveEverythingBackWhenClosedTwice() throws IOException {
        final TransferEngine with = engine();
        open(with, "s", new byte[100]);

        with.close();
        with.close();

        assertFalse(with.abandoned());
    }
}
