package io.kvtier.transport.file;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.FaultyFile;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.OpenDescriptors;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportContract;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.Arena;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What every transport of files does, past the page cache or through it. */
abstract class FileTransportContract extends TransportContract {
    static final TransferConfig SMALL = new TransferConfig(4096, 30_000);
    private static final TransferConfig IMPATIENT = new TransferConfig(4096, 0);

    @TempDir
    private Path directory;
    private final Faults faults = new Faults();
    private final FaultyFiles files = new FaultyFiles(faults);
    private Transport transport;

    abstract boolean direct();

    /** A transport over these files, of so many threads that each have one operation under way. */
    abstract Transport make(FaultyFiles over, int threads);

    /** Descriptors of one open segment. */
    abstract int descriptors();

    final Faults faults() {
        return faults;
    }

    @Override
    protected Transport newTransport() {
        return transport(2);
    }

    final Transport transport(final int threads) {
        transport = make(files, threads);
        return transport;
    }

    final FaultyFiles files() {
        return files;
    }

    @Override
    protected Segment open(final TransferEngine with, final String name, final byte[] content) throws IOException {
        Files.write(path(name), content);
        return with.openSegment(path(name).toUri().toString());
    }

    @Override
    protected byte[] content(final String name) throws IOException {
        return Files.readAllBytes(path(name));
    }

    final Path path(final String name) throws IOException {
        return directory.toRealPath().resolve(name);
    }

    static TransferFailure failureOf(final Transfer transfer) {
        return assertThrows(TransferException.class, transfer::await).failure();
    }

    @Test
    void shouldOpenEachSegmentOnceAndGiveItsDescriptorsBack() throws IOException {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final Segment segment = open(engine, "s", new byte[10]);

        assertEquals(descriptors(), OpenDescriptors.of(path("s").toString()).size());
        final Segment again = engine.openSegment(segment.name());
        assertEquals(descriptors(), OpenDescriptors.of(path("s").toString()).size());
        segment.close();
        assertEquals(descriptors(), OpenDescriptors.of(path("s").toString()).size());
        again.close();
        assertEquals(List.of(), OpenDescriptors.of(path("s").toString()));
        open(engine, "s", new byte[10]);
        engine.close();
        assertEquals(List.of(), OpenDescriptors.of(path("s").toString()));
    }

    @ParameterizedTest
    @CsvSource({"10000, 0, 10001", "10000, 9999, 2", "10000, 10000, 1", "10000, 4096, 8192", "10000, 1, 20000",
        "8192, 4096, 8192", "8192, 8192, 4096", "100, 50, 4096", "0, 0, 1", "10000, 1099511627776, 4096"})
    void shouldFailShortAndTellHowMuchThereWasWhenTheFileEnds(final int size, final long offset, final int length)
        throws IOException {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final byte[] model = PatternBytes.of(1, size);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(length + 4096L);
        for (final int shift : new int[] {0, 1}) {
            final Transfer transfer =
                engine.submit(List.of(TransferRequest.read(local.slice(shift, length), segment, offset)));

            final TransferFailure failure = failureOf(transfer);
            assertEquals(TransferFailure.Kind.SHORT, failure.kind());
            final long there = Math.max(0, size - offset);
            assertTrue(failure.message().startsWith("only " + there + " bytes were there"), failure.message());
            assertEquals(offset, failure.offset());
            assertEquals(length, failure.length());
            assertEquals(0, transfer.movedBytes());
        }
        assertArrayEquals(model, content("s"));
    }

    @Test
    void shouldGrowTheFileWhenWritingBehindItsEnd() throws IOException {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final Segment segment = open(engine, "s", PatternBytes.of(1, 100));
        final HostRegion local = region(10_000);
        PatternBytes.fill(local.segment(), 2);

        engine.submit(List.of(TransferRequest.write(local.slice(0, 10_000), segment, 5000))).await();

        final byte[] expected = Arrays.copyOf(PatternBytes.of(1, 100), 15_000);
        System.arraycopy(PatternBytes.of(2, 10_000), 0, expected, 5000, 10_000);
        assertArrayEquals(expected, content("s"));
    }

    @Test
    void shouldRefuseMemoryOfOneThreadBeforeAnythingStarts() throws IOException {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final byte[] model = PatternBytes.of(1, 100);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(100);
        try (Arena arena = Arena.ofConfined()) {
            final RegionSlice confined = RegionSlice.of(arena.allocate(100));
            final TransferFailure failure = assertThrows(TransferException.class,
                () -> engine.submit(List.of(TransferRequest.write(local.slice(0, 100), segment, 0),
                    TransferRequest.read(confined, segment, 0)))).failure();

            assertEquals(TransferFailure.Kind.INVALID, failure.kind());
            assertTrue(failure.message().contains("shared arena"), failure.message());
        }
        assertArrayEquals(model, content("s"));
        assertEquals(0, faults.count(Call.READ) + faults.count(Call.WRITE));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4})
    void shouldDoAsTheModelWhenCallsAreShortAndInterrupted(final long seed) throws IOException {
        faults.randomShort(seed);
        final SplittableRandom random = new SplittableRandom(seed);
        final int size = 300_000;
        final byte[] model = PatternBytes.of(seed, size);
        final TransferEngine engine = engine(new TransferConfig(4096L << random.nextInt(6), 30_000));
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(size);
        PatternBytes.fill(local.segment(), seed + 1);
        final byte[] localModel = PatternBytes.copyOf(local.segment());
        for (int step = 0; step < 60; step++) {
            final int length = random.nextInt(60_000);
            final int offset = random.nextInt(size - length) & -(1 << random.nextInt(13));
            final int at = random.nextInt(size - length) & -(1 << random.nextInt(13));
            if (random.nextBoolean()) {
                engine.submit(List.of(TransferRequest.write(local.slice(at, length), segment, offset))).await();
                System.arraycopy(localModel, at, model, offset, length);
            } else {
                engine.submit(List.of(TransferRequest.read(local.slice(at, length), segment, offset))).await();
                System.arraycopy(model, offset, localModel, at, length);
            }
        }
        assertArrayEquals(model, content("s"));
        assertArrayEquals(localModel, PatternBytes.copyOf(local.segment()));
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 3, 8})
    void shouldFailWithTheErrnoOfTheCallThatFailed(final long n) throws IOException {
        final int slices = 8;
        final TransferEngine engine = TransferEngine.open(SMALL, List.of(transport(1)));
        final byte[] model = PatternBytes.of(1, slices * 4096);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(slices * 4096);
        PatternBytes.fill(local.segment(), 2);
        faults.failNth(Call.WRITE, n, Errno.EDQUOT);

        final Transfer transfer =
            engine.submit(List.of(TransferRequest.write(local.slice(0, slices * 4096), segment, 0)));

        final TransferFailure failure = failureOf(transfer);
        assertEquals(TransferFailure.Kind.FAILED, failure.kind());
        assertEquals("errno", failure.domain());
        assertEquals(122, failure.code());
        assertEquals(segment.name(), failure.segment());
        // One thread takes the slices in order: those behind the failed one are skipped.
        assertEquals((n - 1) * 4096, failure.offset());
        assertEquals((n - 1) * 4096, transfer.movedBytes());
        assertEquals(n, faults.count(Call.WRITE));
        System.arraycopy(PatternBytes.of(2, slices * 4096), 0, model, 0, (int) (n - 1) * 4096);
        assertArrayEquals(model, content("s"));

        // What failed once is not remembered.
        engine.submit(List.of(TransferRequest.write(local.slice(0, slices * 4096), segment, 0))).await();
        assertArrayEquals(PatternBytes.of(2, slices * 4096), content("s"));
        engine.close();
    }

    @Test
    void shouldFailWithEnospcWhenTheDiskFills() throws IOException {
        final TransferEngine engine = engine(SMALL);
        final Segment segment = open(engine, "s", new byte[0]);
        final HostRegion local = region(10 * 4096);
        faults.fullAfter(5 * 4096);

        final TransferFailure failure =
            failureOf(engine.submit(List.of(TransferRequest.write(local.slice(0, 10 * 4096), segment, 0))));

        assertEquals(28, failure.code());
        assertTrue(failure.message().contains("ENOSPC"), failure.message());
    }

    @Test
    void shouldEndOnlyAfterTheRunningSliceWhenAnotherFailedOrItWasCancelled() throws Exception {
        for (final boolean cancel : new boolean[] {true, false}) {
            // A second thread would have read all the others before the cancel, if it is quick.
            final TransferEngine engine = TransferEngine.open(SMALL, List.of(transport(cancel ? 1 : 2)));
            final Segment segment = open(engine, "s", PatternBytes.of(1, 8 * 4096));
            final HostRegion local = region(8 * 4096);
            final Transfer transfer;
            try (Faults.Gate gate = faults.blockNext(Call.READ)) {
                if (!cancel) {
                    faults.failNth(Call.READ, 2, Errno.EIO);
                }
                transfer = engine.submit(List.of(TransferRequest.read(local.slice(0, 8 * 4096), segment, 0)));
                gate.awaitEntered();
                if (cancel) {
                    transfer.cancel();
                } else {
                    // The second thread meets the failure and skips the rest.
                    while (transfer.failure() == null) {
                        Thread.onSpinWait();
                    }
                }
                assertFalse(transfer.await(0), "a call is still using the memory");
            }
            final TransferFailure failure = failureOf(transfer);
            assertEquals(cancel ? TransferFailure.Kind.CANCELED : TransferFailure.Kind.FAILED, failure.kind());
            assertTrue(transfer.movedBytes() < transfer.bytes());
            engine.close();
        }
    }

    @Test
    void shouldNeverReportFewerBytesThanBefore() throws IOException {
        final TransferEngine engine = engine(SMALL);
        final Segment segment = open(engine, "s", PatternBytes.of(1, 1 << 20));
        final HostRegion local = region(1 << 20);

        final Transfer transfer = engine.submit(List.of(TransferRequest.read(local.slice(0, 1 << 20), segment, 0)));
        long last = 0;
        while (!transfer.isDone()) {
            final long now = transfer.movedBytes();
            assertTrue(now >= last && now % 4096 == 0 && now <= 1 << 20, now + " after " + last);
            last = now;
        }

        assertEquals(1 << 20, transfer.movedBytes());
    }

    @Test
    void shouldKeepTheDescriptorsUntilTheLastCallEndsWhenClosedUnderIt() throws Exception {
        final TransferEngine engine = TransferEngine.open(SMALL, List.of(transport(2)));
        final Segment segment = open(engine, "s", PatternBytes.of(1, 4096));
        final Segment other = open(engine, "other", PatternBytes.of(2, 4096));
        final HostRegion local = region(4096);
        final Transfer transfer;
        final Thread engineCloser;
        try (Faults.Gate gate = faults.blockNext(Call.READ)) {
            transfer = engine.submit(List.of(TransferRequest.read(local.slice(0, 4096), segment, 0)));
            gate.awaitEntered();
            final Thread segmentCloser = Thread.ofPlatform().start(() -> segment.close());
            assertTrue(Threads.awaitWaiting(segmentCloser), "closed a segment under a call");
            other.close();
            engineCloser = Thread.ofPlatform().start(engine::close);
            assertTrue(Threads.awaitWaiting(engineCloser), "closed the engine under a call");

            assertEquals(0, faults.count(Call.CLOSE) - descriptors(), "only the other segment's");
            assertEquals(descriptors(), OpenDescriptors.of(path("s").toString()).size());
            gate.release();
            segmentCloser.join();
        }
        engineCloser.join();

        transfer.await();
        assertArrayEquals(PatternBytes.of(1, 4096), PatternBytes.copyOf(local.segment()));
        assertFalse(engine.abandoned());
        assertEquals(List.of(), OpenDescriptors.of(path("s").toString()));
        assertThrows(IllegalStateException.class, () -> engine.openSegment(segment.name()));
    }

    @Test
    void shouldFreeNothingUnderARunningCallWhenItDoesNotEndInTime() throws Exception {
        final TransferEngine engine = TransferEngine.open(IMPATIENT, List.of(transport(1)));
        final Segment segment = open(engine, "s", PatternBytes.of(1, 4096));
        final HostRegion local = region(4096);
        final Transfer transfer;
        try (Faults.Gate gate = faults.blockNext(Call.READ)) {
            transfer = engine.submit(List.of(TransferRequest.read(local.slice(0, 4096), segment, 0)));
            gate.awaitEntered();

            engine.close();

            assertTrue(engine.abandoned());
            assertFalse(transfer.isDone());
            assertEquals(descriptors(), OpenDescriptors.of(path("s").toString()).size());
            assertTrue(NativeResources.snapshot().containsKey(NativeTag.BOUNCE));
        }
        assertTrue(transfer.await(30_000));
        if (transfer.failure() == null) {
            assertArrayEquals(PatternBytes.of(1, 4096), PatternBytes.copyOf(local.segment()));
        } else {
            // A ring may still give up what it was asked to; a system call cannot be called back.
            assertEquals(TransportKind.IO_URING, kind());
            assertEquals(TransferFailure.Kind.CANCELED, transfer.failure().kind());
        }

        transport.close();
        files.opened().forEach(FaultyFile::close);
    }

    @Test
    void shouldCallFdatasyncOnceForEachSync() throws IOException {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final Segment segment = open(engine, "s", new byte[10]);
        assertEquals(0, faults.count(Call.SYNC));

        engine.sync(segment).await();
        assertEquals(1, faults.count(Call.SYNC));

        faults.failNth(Call.SYNC, 1, Errno.EIO);
        final TransferFailure failure = failureOf(engine.sync(segment));
        assertEquals(5, failure.code());
        assertEquals(TransferFailure.Kind.FAILED, failure.kind());
        assertTrue(failure.message().contains("fdatasync"), failure.message());
        engine.sync(segment).await();
        assertEquals(3, faults.count(Call.SYNC));
    }

    @Test
    void shouldOpenAgainWhenOpeningFailedBefore() throws IOException {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final String address = path("s").toUri().toString();
        assertEquals(2, assertThrows(ErrnoException.class, () -> engine.openSegment(address)).errno());
        for (int n = 1; n <= descriptors(); n++) {
            Files.write(path("s"), PatternBytes.of(1, 10));
            faults.failNth(Call.OPEN, n, Errno.EMFILE);
            assertEquals(24, assertThrows(ErrnoException.class, () -> engine.openSegment(address)).errno());
            assertEquals(List.of(), OpenDescriptors.of(path("s").toString()));
        }

        final Segment segment = engine.openSegment(address);
        final HostRegion local = region(10);
        engine.submit(List.of(TransferRequest.read(local.slice(0, 10), segment, 0))).await();

        assertArrayEquals(PatternBytes.of(1, 10), PatternBytes.copyOf(local.segment()));
    }

    @Test
    void shouldRefuseADirectoryAsASegment() throws IOException {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final String address = path("").toUri().toString();

        assertEquals(21, assertThrows(ErrnoException.class, () -> engine.openSegment(address)).errno());
    }

    @Test
    void shouldFindAFileWhoseNameIsEscapedInItsAddress() throws IOException {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final String name = "with space and 100%";
        final Segment segment = open(engine, name, PatternBytes.of(1, 10));
        final HostRegion local = region(10);

        assertTrue(segment.name().contains("with%20space"), segment.name());
        engine.submit(List.of(TransferRequest.read(local.slice(0, 10), segment, 0))).await();

        assertArrayEquals(PatternBytes.of(1, 10), PatternBytes.copyOf(local.segment()));
    }

    @Test
    void shouldEndEveryTransferWhenSubmitsWaitForAPlaceBehindABlockedCall() throws Exception {
        final TransferEngine engine =
            TransferEngine.open(SMALL.withOutstanding(100, 1L << 30), List.of(transport(1)));
        final int slices = 1000;
        final Segment segment = open(engine, "s", PatternBytes.of(1, slices * 4096));
        final HostRegion local = region(slices * 4096L);
        final List<Thread> submitters = new ArrayList<>();
        final List<Transfer> transfers = new ArrayList<>();
        try (Faults.Gate gate = faults.blockNext(Call.READ)) {
            final Transfer first = engine.submit(List.of(TransferRequest.read(local.slice(0, 4096), segment, 0)));
            transfers.add(first);
            gate.awaitEntered();
            final Thread submitter = Thread.ofVirtual().start(() -> transfers.add(engine.submit(
                List.of(TransferRequest.read(local.slice(4096, (slices - 1) * 4096L), segment, 4096)))));
            submitters.add(submitter);
            assertTrue(Threads.awaitWaiting(submitter), "it wants more places than there are, and must be alone");
            assertEquals(1, faults.count(Call.READ));
        }
        for (final Thread submitter : submitters) {
            submitter.join();
        }
        transfers.forEach(Transfer::await);
        engine.close();

        assertEquals(2, transfers.size());
        assertArrayEquals(PatternBytes.of(1, slices * 4096), PatternBytes.copyOf(local.segment()));
    }

    @Test
    void shouldGiveDescriptorsBackThatWereUsed() throws IOException {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final Segment segment = open(engine, "s", PatternBytes.of(1, 10_000));
        final HostRegion local = region(10_000);

        engine.submit(List.of(TransferRequest.read(local.slice(0, 10_000), segment, 0))).await();
        engine.submit(List.of(TransferRequest.write(local.slice(0, 10_000), segment, 1))).await();
        segment.close();

        assertEquals(List.of(), OpenDescriptors.of(path("s").toString()));
    }

    @ParameterizedTest
    @CsvSource({"-4096, 4096", "-4096, 8192", "0, 4096", "-100, 10000", "-1, 2", "123, 5000"})
    void shouldReachPastFourGibibytes(final long before, final int length) throws IOException {
        final long offset = (4L << 30) + before;
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final Segment segment = open(engine, "s", new byte[0]);
        final HostRegion local = region(2L * length);
        PatternBytes.fill(local.segment(), 1);

        engine.submit(List.of(TransferRequest.write(local.slice(0, length), segment, offset))).await();
        engine.submit(List.of(TransferRequest.read(local.slice(length, length), segment, offset))).await();

        final byte[] expected = Arrays.copyOf(PatternBytes.of(1, 2 * length), length);
        assertArrayEquals(expected, PatternBytes.copyOf(local.segment().asSlice(length)));
        final byte[] there = new byte[length];
        try (RandomAccessFile file = new RandomAccessFile(path("s").toFile(), "r")) {
            assertEquals(offset + length, file.length());
            file.seek(offset);
            file.readFully(there);
            assertArrayEquals(expected, there);
            file.seek(before < 0 ? before & 0xffffffffL : 0);
            assertEquals(before < 0 ? expected[0] : 0, file.readByte(), "an offset lost its upper half");
        }
    }

    @Test
    void shouldTellHowMuchIsLeftWhenTheFileWasCutMeanwhile() throws IOException {
        final TransferEngine engine = engine(new TransferConfig(65_536, 30_000));
        final Segment segment = open(engine, "s", PatternBytes.of(1, 200_000));
        final HostRegion local = region(200_000);
        engine.submit(List.of(TransferRequest.read(local.slice(0, 200_000), segment, 0))).await();

        try (RandomAccessFile file = new RandomAccessFile(path("s").toFile(), "rw")) {
            file.setLength(65_536 + 5000);
        }
        final Transfer cut = engine.submit(List.of(TransferRequest.read(local.slice(0, 131_072), segment, 0)));

        final TransferFailure failure = failureOf(cut);
        assertEquals(TransferFailure.Kind.SHORT, failure.kind());
        assertTrue(failure.message().startsWith("only 5000 bytes were there"), failure.message());
        assertEquals(65_536, failure.offset());
        // The slice before the cut may have been skipped, if the other one failed first.
        assertTrue(cut.movedBytes() == 65_536 || cut.movedBytes() == 0, "moved " + cut.movedBytes());
    }

    @Test
    void shouldServeManyThreadsOfBothKindsWithFewOperationsAtOnce() throws Exception {
        final int threads = 16;
        final int each = 100;
        final int length = 5000;
        final TransferEngine engine = TransferEngine.open(SMALL, List.of(transport(2)));
        final byte[] model = PatternBytes.of(1, threads * each * 100 + length);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region((long) threads * each * length);
        final List<Thread> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            final int first = i * each;
            final Runnable reads = () -> {
                final List<TransferRequest> requests = new ArrayList<>();
                for (int j = first; j < first + each; j++) {
                    requests.add(TransferRequest.read(local.slice((long) j * length, length), segment, j * 100L));
                }
                engine.submit(requests).await();
            };
            all.add(i % 2 == 0 ? Thread.ofPlatform().start(reads) : Thread.ofVirtual().start(reads));
        }
        for (final Thread one : all) {
            one.join();
        }
        for (int j = 0; j < threads * each; j++) {
            assertArrayEquals(Arrays.copyOfRange(model, j * 100, j * 100 + length),
                PatternBytes.copyOf(local.segment().asSlice((long) j * length, length)), "request " + j);
        }
        engine.close();
    }
}
