package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.BorrowedRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.HeldTransport;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.Threads;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The engine alone, over transports whose slices the test ends itself. */
@ExtendWith(LeakCheck.class)
class TransferEngineTest {
    private static final TransferConfig CONFIG = new TransferConfig(4096, 30_000);

    private final HostRegion memory = HostRegion.allocate(NativeTag.TEST, 64 << 10);
    private final HeldTransport files = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);
    private final HeldTransport regions = new HeldTransport(TransportKind.MEMORY, Segment.Kind.MEMORY);
    private final TransferEngine engine = TransferEngine.open(CONFIG, List.of(files, regions));

    @AfterEach
    void freeMemory() {
        memory.close();
    }

    private static TransferFailure refusal(final Runnable call) {
        final TransferFailure failure = assertThrows(TransferException.class, call::run).failure();
        assertEquals(TransferFailure.Kind.INVALID, failure.kind());
        return failure;
    }

    private static TransferFailure failure(final String message) {
        return new TransferFailure(TransferFailure.Kind.FAILED, "errno", 5, true, "s", 0, 1, message);
    }

    private Transfer readOf(final Segment segment, final long bytes) {
        return engine.submit(List.of(TransferRequest.read(memory.slice(0, bytes), segment, 0)));
    }

    @Test
    void shouldCutARequestIntoSlicesThatCoverItOnce() {
        final Segment segment = engine.openSegment("file:///data");

        final Transfer transfer =
            engine.submit(List.of(TransferRequest.write(memory.slice(100, 10_000), segment, 77)));

        assertEquals(List.of("77+4096", "4173+4096", "8269+1808"),
            files.slices().stream().map(slice -> slice.offset() + "+" + slice.length()).toList());
        assertEquals(List.of(100L, 4196L, 8292L), files.slices().stream()
            .map(slice -> slice.local().address() - memory.segment().address()).toList());
        files.slices().forEach(slice -> {
            assertEquals(Direction.WRITE, slice.direction());
            assertSame(segment, slice.segment());
            slice.completed();
        });
        transfer.await();
        assertEquals(10_000, transfer.movedBytes());
        engine.close();
    }

    @Test
    void shouldEndOnlyWhenAllSlicesHaveEndedThoughOneFailedFirst() {
        final Transfer transfer = readOf(engine.openSegment("file:///data"), 3 * 4096);
        final CompletableFuture<Transfer> future = transfer.future();
        final List<Slice> slices = files.slices();
        assertNull(transfer.failure());
        assertTrue(slices.get(0).wanted());

        slices.get(1).failed(failure("first"));
        assertFalse(transfer.isDone());
        assertFalse(slices.get(0).wanted(), "those not started need not be");
        slices.get(0).completed();
        assertFalse(transfer.isDone());
        assertFalse(future.isDone());
        slices.get(2).failed(failure("second"));

        assertTrue(transfer.isDone());
        assertEquals(failure("first"), transfer.failure());
        assertEquals(failure("first"), assertThrows(TransferException.class, transfer::await).failure());
        final CompletionException thrown = assertThrows(CompletionException.class, future::join);
        assertEquals(failure("first"), ((TransferException) thrown.getCause()).failure());
        assertEquals(4096, transfer.movedBytes());
        engine.close();
    }

    @Test
    void shouldCountMovedBytesAsSlicesEnd() throws InterruptedException {
        final Transfer transfer = readOf(engine.openSegment("file:///data"), 2 * 4096 + 10);

        assertEquals(2 * 4096 + 10, transfer.bytes());
        assertEquals(0, transfer.movedBytes());
        files.slices().get(2).completed();
        assertEquals(10, transfer.movedBytes());
        files.slices().get(0).completed();
        assertEquals(4106, transfer.movedBytes());
        assertFalse(transfer.await(0));
        files.slices().get(1).completed();

        assertEquals(2 * 4096 + 10, transfer.movedBytes());
        assertTrue(transfer.await(0));
        assertNull(transfer.failure());
        assertSame(transfer, transfer.future().join());
        engine.close();
    }

    @Test
    void shouldStayInUseUntilRunningSlicesEndWhenCancelled() {
        final Transfer transfer = readOf(engine.openSegment("file:///data"), 2 * 4096);

        transfer.cancel();
        assertFalse(transfer.isDone());
        assertFalse(files.slices().get(1).wanted());
        files.slices().get(0).completed();
        assertFalse(transfer.isDone());
        files.slices().get(1).canceled();

        assertEquals(TransferFailure.Kind.CANCELED,
            assertThrows(TransferException.class, transfer::await).failure().kind());
        engine.close();
    }

    @Test
    void shouldStayWellWhenCancelledAfterItsEnd() {
        final Transfer transfer = readOf(engine.openSegment("file:///data"), 100);
        files.slices().getFirst().completed();

        transfer.cancel();

        transfer.await();
        assertNull(transfer.failure());
        assertSame(transfer, transfer.future().join());
        engine.close();
    }

    @Test
    void shouldStayWellWhenACallbackCancelsIt() {
        final Transfer transfer = readOf(engine.openSegment("file:///data"), 100);
        final CompletableFuture<Transfer> seen = transfer.future().thenApply(done -> {
            done.cancel();
            return done;
        });
        files.slices().getFirst().completed();

        assertNull(seen.join().failure());
        engine.close();
    }

    @Test
    void shouldNotBeCancelledByCancellingItsFuture() {
        final Transfer transfer = readOf(engine.openSegment("file:///data"), 100);
        assertTrue(transfer.future().cancel(true));

        assertTrue(files.slices().getFirst().wanted());
        files.slices().getFirst().completed();

        transfer.await();
        engine.close();
    }

    @Test
    void shouldGoOnWaitingAndKeepTheInterruptWhenInterrupted() throws InterruptedException {
        final Transfer transfer = readOf(engine.openSegment("file:///data"), 100);
        final AtomicBoolean kept = new AtomicBoolean();
        final Thread waiter = Thread.ofPlatform().start(() -> {
            transfer.await();
            kept.set(Thread.currentThread().isInterrupted());
        });
        waiter.interrupt();
        assertTrue(Threads.awaitWaiting(waiter), "it must not have ended: the memory is in use");

        files.slices().getFirst().completed();
        waiter.join();

        assertTrue(kept.get());
        engine.close();
    }

    /** As a transfer does that was admitted just before: closing waits for it, so it must not wait for closing. */
    @Test
    void shouldSetADeadlineWhenTheEngineIsWaitingToBeClosed() throws InterruptedException {
        final Transfer transfer = readOf(engine.openSegment("file:///data"), 100);
        final Thread closer = Thread.ofPlatform().start(engine::close);
        assertTrue(Threads.awaitWaiting(closer));

        final Deadlines.Deadline late = new Deadlines.Deadline(transfer);
        Threads.start(() -> engine.deadlines().add(late, 0, 60_000, System.nanoTime() + 60_000_000_000L)).join();
        engine.deadlines().remove(late);

        assertTrue(Threads.awaitWaiting(closer), "the deadline was set only after closing had given up");
        files.slices().getFirst().completed();
        closer.join();
        transfer.await();
        assertFalse(engine.abandoned());
    }

    @Test
    void shouldEndAtOnceWhenThereIsNothingToMove() {
        final Segment segment = engine.openSegment("file:///data");

        final Transfer none = engine.submit(List.of());
        final Transfer zero = engine.submit(List.of(TransferRequest.read(memory.slice(5, 0), segment, 9)));

        assertTrue(none.isDone());
        assertTrue(zero.isDone());
        none.await();
        zero.await();
        assertEquals(0, zero.bytes() + zero.movedBytes());
        assertEquals(List.of(), files.slices());
        engine.close();
    }

    @ParameterizedTest
    @CsvSource({"-1, 1", "-9223372036854775808, 10", "9223372036854775807, 1", "9223372036854775000, 4096"})
    void shouldRefuseARangeThatIsNegativeOrOverflows(final long offset, final long length) {
        final Segment segment = engine.openSegment("file:///data");
        final TransferRequest good = TransferRequest.read(memory.slice(0, 10), segment, 0);

        final TransferFailure failure = refusal(() ->
            engine.submit(List.of(good, TransferRequest.read(memory.slice(0, length), segment, offset))));

        assertTrue(failure.message().startsWith("request 1: "), failure.message());
        assertEquals("file:///data", failure.segment());
        assertEquals(offset, failure.offset());
        assertEquals(length, failure.length());
        assertNothingStarted(segment);
    }

    private void assertNothingStarted(final Segment segment) {
        assertEquals(List.of(), files.slices());
        assertTrue(engine.stats().stream().allMatch(stats ->
            stats.operations() == 0 && stats.readBytes() == 0 && stats.writtenBytes() == 0), engine.stats().toString());
        // Nothing may count as running, or these would wait.
        segment.close();
        engine.close();
        assertFalse(engine.abandoned());
    }

    @Test
    void shouldRefuseMemoryThatTheKernelCannotUse() {
        final Segment segment = engine.openSegment("file:///data");
        final TransferRequest good = TransferRequest.read(memory.slice(0, 10), segment, 0);
        final RegionSlice heap = RegionSlice.of(MemorySegment.ofArray(new byte[10]));
        final RegionSlice constant = RegionSlice.of(memory.segment().asReadOnly());

        refusal(() -> engine.submit(List.of(good, TransferRequest.read(heap, segment, 0))));
        refusal(() -> engine.submit(List.of(good, TransferRequest.write(heap, segment, 0))));
        refusal(() -> engine.submit(List.of(good, TransferRequest.read(constant, segment, 0))));

        assertNothingStarted(segment);
    }

    @Test
    void shouldRefuseAllWhenTheTransportRefusesTheLastSlice() {
        final Segment segment = engine.openSegment("file:///data");
        files.refuse("too far");

        final TransferFailure failure = refusal(() -> readOf(segment, 5 * 4096));

        assertEquals("request 0: too far", failure.message());
        assertNothingStarted(segment);
    }

    @Test
    void shouldRefuseASegmentThatIsClosedOrOfAnotherEngine() {
        final Segment segment = engine.openSegment("file:///data");
        segment.close();
        assertEquals(0, files.openHandles());
        refusal(() -> readOf(segment, 10));
        refusal(() -> engine.sync(segment));

        final Segment again = engine.openSegment("file:///data");
        assertNotSame(segment, again);
        refusal(() -> readOf(segment, 10));

        try (TransferEngine other = TransferEngine.open(CONFIG, List.of(new HeldTransport(TransportKind.POSIX,
            Segment.Kind.FILE)))) {
            final Segment foreign = other.openSegment("file:///data");
            refusal(() -> readOf(foreign, 10));
        }
        segment.close();
        assertEquals(1, files.openHandles(), "closing the old one must leave the new one open");
        assertNothingStarted(again);
    }

    @Test
    void shouldShareWhatIsOpenWhenTheNameIsOpenedAgain() {
        final Segment first = engine.openSegment("file:///data");
        final BorrowedRegion region = new BorrowedRegion(memory.segment());
        final Segment registered = engine.register("memory", region);

        final Segment second = engine.openSegment("file:///data");
        engine.register("memory", region);
        assertThrows(IllegalStateException.class, () -> engine.register("memory", memory));
        assertThrows(IllegalStateException.class, () -> engine.register("file:///data", memory));
        assertEquals(1, files.openHandles());
        assertEquals(1, regions.openHandles());
        first.close();
        first.close();
        assertEquals(1, files.openHandles(), "the other one still has it");
        readOf(second, 10);
        files.slices().getLast().completed();
        assertEquals(Segment.Kind.FILE, first.kind());
        assertNull(first.region());
        assertEquals(Segment.Kind.MEMORY, registered.kind());
        assertSame(region, registered.region());
        engine.close();
        assertEquals(0, files.openHandles() + regions.openHandles());
    }

    @Test
    void shouldTryAgainWhenOpeningFailedBefore() {
        files.failOpen(new IllegalStateException("not now"));
        assertEquals("not now",
            assertThrows(IllegalStateException.class, () -> engine.openSegment("file:///data")).getMessage());

        files.failOpen(null);
        final Segment segment = engine.openSegment("file:///data");

        assertEquals("file:///data", segment.name());
        engine.close();
    }

    @Test
    void shouldDoWithoutATransportThatCannotOpenTheSegment() {
        final HeldTransport second = new HeldTransport(TransportKind.GDS, Segment.Kind.FILE);
        second.failOpen(new IllegalStateException("not on this file system"));
        try (TransferEngine both = TransferEngine.open(CONFIG, List.of(second, files))) {
            final Segment segment = both.openSegment("file:///data");
            final RegionSlice local = memory.slice(0, 10);
            both.submit(List.of(new TransferRequest(Direction.READ, local, segment, 0, TransportKind.GDS, false)));
            assertEquals(1, files.slices().size());
            final TransferFailure failure = refusal(() -> both.submit(List.of(
                new TransferRequest(Direction.READ, local, segment, 0, TransportKind.GDS, true))));
            assertTrue(failure.message().contains("not on this file system"), failure.message());
            files.slices().getFirst().completed();
            segment.close();

            files.failOpen(new IllegalStateException("no such file"));
            assertThrows(IllegalStateException.class, () -> both.openSegment("file:///data"));
            assertEquals(0, files.openHandles());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "data", "/data", "http:///data", "file:data", "file://host/data", "file:///a b"})
    void shouldRefuseAnAddressThatIsNoAbsoluteFile(final String address) {
        assertThrows(IllegalArgumentException.class, () -> engine.openSegment(address));
        engine.close();
    }

    @Test
    void shouldUseTheHintedTransportAndFallBackUnlessStrict() {
        final HeldTransport second = new HeldTransport(TransportKind.GDS, Segment.Kind.FILE);
        try (TransferEngine both = TransferEngine.open(CONFIG, List.of(files, second))) {
            final Segment segment = both.openSegment("file:///data");
            final RegionSlice local = memory.slice(0, 10);
            both.submit(List.of(new TransferRequest(Direction.READ, local, segment, 0, TransportKind.GDS, true)));
            both.submit(List.of(new TransferRequest(Direction.READ, local, segment, 0, TransportKind.GDS, false)));
            both.submit(List.of(new TransferRequest(Direction.READ, local, segment, 0, null, true)));

            assertEquals(2, second.slices().size());
            assertEquals(1, files.slices().size());
            second.slices().forEach(Slice::completed);
            files.slices().forEach(Slice::completed);
        }
        final Segment segment = engine.openSegment("file:///data");
        final RegionSlice local = memory.slice(0, 10);
        refusal(() -> engine.submit(List.of(
            new TransferRequest(Direction.READ, local, segment, 0, TransportKind.GDS, true))));
        engine.submit(List.of(new TransferRequest(Direction.READ, local, segment, 0, TransportKind.GDS, false)));
        assertEquals(2, files.slices().size());
        files.slices().getLast().completed();
        engine.close();
    }

    @Test
    void shouldNeverChooseATransportWhoseProbeFailed() {
        final Availability absent = Availability.no("no such device", "plug it in");
        final HeldTransport broken = new HeldTransport(TransportKind.POSIX, absent, Segment.Kind.FILE);
        try (TransferEngine one = TransferEngine.open(CONFIG, List.of(broken, regions))) {
            assertFalse(one.hasTransport(TransportKind.POSIX));
            assertTrue(one.hasTransport(TransportKind.MEMORY));
            assertEquals(absent, one.availability(TransportKind.POSIX));
            assertEquals(List.of(broken.capability(), regions.capability()), one.capabilities());
            final IllegalStateException e =
                assertThrows(IllegalStateException.class, () -> one.openSegment("file:///data"));
            assertTrue(e.getMessage().contains("no such device"), e.getMessage());
        }
        assertEquals(1, broken.closes());
    }

    @Test
    void shouldSayWhatIsMissingWhenATransportWasNotGiven() {
        try (TransferEngine one = TransferEngine.open(CONFIG, List.of(regions))) {
            assertFalse(one.hasTransport(TransportKind.POSIX));
            assertFalse(one.availability(TransportKind.POSIX).remedy().isEmpty());
        }
    }

    @Test
    void shouldFailTheTransferWhenTheTransportThrows() {
        final Segment segment = engine.openSegment("file:///data");
        for (final Throwable thrown : List.of(new IllegalStateException("queue gone"),
            new LinkageError("a class is gone"))) {
            files.failSubmit(thrown);
            for (final Transfer transfer : List.of(readOf(segment, 2 * 4096), engine.sync(segment))) {
                assertTrue(transfer.isDone());
                final TransferFailure failure = assertThrows(TransferException.class, transfer::await).failure();
                assertEquals(TransferFailure.Kind.FAILED, failure.kind());
                assertEquals(thrown.getMessage(), failure.message());
            }
        }
        engine.close();
        assertFalse(engine.abandoned());
    }

    @Test
    void shouldStillWaitForWhatWasStartedWhenALaterSliceCannotBeHandedOver() {
        final Segment segment = engine.openSegment("file:///data");
        final Segment copies = engine.register("memory", new BorrowedRegion(memory.segment()));
        regions.failSubmit(new IllegalStateException("queue gone"));

        final Transfer transfer = engine.submit(List.of(TransferRequest.read(memory.slice(0, 2 * 4096), segment, 0),
            TransferRequest.read(memory.slice(0, 10), copies, 100),
            TransferRequest.read(memory.slice(0, 10), segment, 0)));

        assertEquals(3, files.slices().size(), "what was accepted is moved or skipped, and nothing is lost");
        assertFalse(transfer.isDone());
        assertEquals("queue gone", transfer.failure().message());
        assertFalse(files.slices().getLast().wanted());
        files.slices().getFirst().completed();
        files.slices().get(1).completed();
        assertFalse(transfer.isDone());
        assertEquals(4, engine.outstanding(), "its room is given back when the last slice has ended");
        files.slices().getLast().canceled();
        assertTrue(transfer.isDone());
        assertEquals("queue gone", assertThrows(TransferException.class, transfer::await).failure().message());
        assertEquals(2 * 4096, transfer.movedBytes());
        assertEquals(0, engine.outstanding());
        engine.close();
    }

    @Test
    void shouldSyncAFileOnceHoweverManyTransportsHaveItOpen() {
        final HeldTransport second = new HeldTransport(TransportKind.GDS, Segment.Kind.FILE);
        try (TransferEngine both = TransferEngine.open(CONFIG, List.of(second, files))) {
            final Transfer sync = both.sync(both.openSegment("file:///data"));

            assertEquals(1, files.syncs().size() + second.syncs().size());
            assertFalse(sync.isDone());
            files.syncs().getFirst().completed();
            sync.await();
        }
    }

    /** Not every file system makes durable by one descriptor what was written by another. */
    @Test
    void shouldSyncAFileByEachTransportThatHasWrittenToIt() {
        final HeldTransport second = new HeldTransport(TransportKind.IO_URING, Segment.Kind.FILE);
        try (TransferEngine both = TransferEngine.open(CONFIG, List.of(files, second))) {
            final Segment segment = both.openSegment("file:///data");
            both.submit(List.of(TransferRequest.read(memory.slice(0, 10), segment, 0),
                new TransferRequest(Direction.READ, memory.slice(0, 10), segment, 0, TransportKind.POSIX, true)));
            both.submit(List.of(TransferRequest.write(memory.slice(0, 300), segment, 0)));
            second.slices().forEach(Slice::completed);
            files.slices().forEach(Slice::completed);

            final Transfer one = both.sync(segment);
            assertEquals(List.of(0, 1), List.of(files.syncs().size(), second.syncs().size()),
                "reading by another one changes nothing");
            second.syncs().getFirst().completed();
            one.await();

            both.submit(List.of(new TransferRequest(Direction.WRITE, memory.slice(0, 10), segment, 0,
                TransportKind.POSIX, true)));
            files.slices().getLast().completed();
            final Transfer two = both.sync(segment);
            assertEquals(List.of(1, 2), List.of(files.syncs().size(), second.syncs().size()));
            second.syncs().getLast().completed();
            assertFalse(two.isDone());
            files.syncs().getFirst().completed();
            two.await();
        }
    }

    @Test
    void shouldCountTransfersAndBytesByDirection() {
        final Segment segment = engine.openSegment("file:///data");
        engine.submit(List.of(TransferRequest.read(memory.slice(0, 10_000), segment, 0),
            TransferRequest.write(memory.slice(0, 300), segment, 0)));
        files.slices().forEach(Slice::completed);

        final TransportStats stats = engine.stats().stream().filter(one -> one.kind() == TransportKind.POSIX)
            .findFirst().orElseThrow();

        assertEquals(10_000, stats.readBytes());
        assertEquals(300, stats.writtenBytes());
        assertEquals(4, stats.operations());
        assertEquals(0, stats.inFlight());
        assertEquals(4, stats.latency().count());
        engine.close();
    }

    @Test
    void shouldWaitForRunningTransfersWhenASegmentIsClosed() throws InterruptedException {
        final Segment segment = engine.openSegment("file:///data");
        final Segment other = engine.openSegment("file:///other");
        final Transfer transfer = readOf(segment, 10);
        final Thread closer = Thread.ofPlatform().start(() -> segment.close());
        assertTrue(Threads.awaitWaiting(closer));

        refusal(() -> readOf(segment, 10));
        assertEquals(2, files.openHandles());
        readOf(other, 10);
        files.slices().getLast().completed();
        assertTrue(Threads.awaitWaiting(closer), "another segment's transfer does not let it go on");

        files.slices().getFirst().completed();
        closer.join();
        transfer.await();
        assertEquals(1, files.openHandles());
        engine.close();
    }

    @Test
    void shouldWaitForRunningTransfersWhenClosed() throws InterruptedException {
        final Segment segment = engine.openSegment("file:///data");
        final Transfer transfer = readOf(segment, 10);
        final Thread closer = Thread.ofPlatform().start(engine::close);
        assertTrue(Threads.awaitWaiting(closer));

        assertThrows(IllegalStateException.class, () -> readOf(segment, 10));
        assertEquals(1, files.openHandles());
        assertEquals(0, files.closes());

        files.slices().getFirst().completed();
        closer.join();
        transfer.await();
        assertFalse(engine.abandoned());
        assertEquals(0, files.openHandles());
        assertEquals(1, files.closes());
    }

    @Test
    void shouldKeepTheInterruptAndStillWaitWhenInterruptedWhileClosing() throws InterruptedException {
        readOf(engine.openSegment("file:///data"), 10);
        final AtomicBoolean kept = new AtomicBoolean();
        final Thread closer = Thread.ofPlatform().start(() -> {
            engine.close();
            kept.set(Thread.currentThread().isInterrupted());
        });
        closer.interrupt();
        assertTrue(Threads.awaitWaiting(closer));

        files.slices().getFirst().completed();
        closer.join();

        assertTrue(kept.get());
        assertFalse(engine.abandoned());
    }

    @Test
    void shouldLeaveEverythingOpenWhenTransfersDoNotEndInTime() {
        final HeldTransport stuck = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);
        final TransferEngine impatient = TransferEngine.open(new TransferConfig(4096, 0), List.of(stuck));
        final Segment segment = impatient.openSegment("file:///data");
        final Transfer transfer = impatient.submit(List.of(TransferRequest.read(memory.slice(0, 10), segment, 0)));

        impatient.close();

        assertTrue(impatient.abandoned());
        assertEquals(1, stuck.openHandles());
        assertEquals(0, stuck.closes());
        assertFalse(transfer.isDone());
        stuck.slices().getFirst().completed();
        transfer.await();
    }

    @Test
    void shouldRefuseEverythingWhenClosed() {
        final Segment segment = engine.openSegment("file:///data");
        engine.close();
        engine.close();

        assertEquals(1, files.closes());
        assertEquals(1, regions.closes());
        assertThrows(IllegalStateException.class, () -> readOf(segment, 10));
        assertThrows(IllegalStateException.class, () -> engine.sync(segment));
        assertThrows(IllegalStateException.class, () -> engine.openSegment("file:///data"));
        assertThrows(IllegalStateException.class, () -> engine.register("memory", memory));
        segment.close();
    }

    @Test
    void shouldCloseTheRestWhenSomethingFailsToClose() {
        engine.openSegment("file:///one");
        engine.openSegment("file:///two");
        engine.register("memory", memory);
        files.failClose(new IllegalStateException("cannot close"));

        final IllegalStateException e = assertThrows(IllegalStateException.class, engine::close);

        assertEquals("cannot close", e.getMessage());
        assertEquals(0, files.openHandles() + regions.openHandles());
        assertEquals(1, files.closes());
        assertEquals(1, regions.closes());
    }

    @Test
    void shouldCloseOnceWhenSegmentsAndEngineAreClosedAtOnce() {
        for (int round = 0; round < 200; round++) {
            final HeldTransport held = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);
            final TransferEngine one = TransferEngine.open(CONFIG, List.of(held));
            final List<Segment> segments = List.of(one.openSegment("file:///a"), one.openSegment("file:///b"),
                one.openSegment("file:///c"), one.openSegment("file:///d"));
            final CompletableFuture<Void> closer = Threads.start(() -> segments.forEach(Segment::close));

            one.close();
            closer.join();

            assertEquals(0, held.openHandles());
            assertEquals(1, held.closes());
        }
    }

    @ParameterizedTest
    @CsvSource({"0, 1", "4095, 1", "4097, 1", "-4096, 1", "4096, -1"})
    void shouldRefuseAConfigurationThatNamesNoLimit(final long sliceBytes, final long closeTimeoutMs) {
        final IllegalArgumentException e =
            assertThrows(IllegalArgumentException.class, () -> new TransferConfig(sliceBytes, closeTimeoutMs));

        assertTrue(e.getMessage().contains(closeTimeoutMs < 0 ? "closeTimeoutMs is -1" : "sliceBytes is " + sliceBytes),
            e.getMessage());
        engine.close();
    }
}
