package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.HeldTransport;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.transport.memory.MemoryTransport;
import java.lang.foreign.ValueLayout;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** One transfer: filled, submitted, ended early or late, and used again. */
@ExtendWith(LeakCheck.class)
class TransferTest {
    private static final int PAGE = 4096;

    private final HostRegion memory = HostRegion.allocate(NativeTag.TEST, 16 * PAGE);
    private final HeldTransport files = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);
    private final TransferEngine engine =
        TransferEngine.open(new TransferConfig(PAGE, 30_000), List.of(files, new MemoryTransport()));
    private final Segment segment = engine.openSegment("file:///data");

    @AfterEach
    void close() {
        files.slices().forEach(slice -> {
            if (slice.isUnderWay()) {
                slice.canceled();
            }
        });
        engine.close();
        assertFalse(engine.abandoned());
        memory.close();
    }

    private static TransferFailure failureOf(final Transfer transfer) {
        return assertThrows(TransferException.class, transfer::await).failure();
    }

    @Test
    void shouldMoveAnotherRoundWhenClearedAndFilledAgain() {
        final Transfer transfer = engine.newTransfer();
        for (int round = 1; round <= 3; round++) {
            for (int i = 0; i < round; i++) {
                transfer.read(memory, 0, 100, segment, 1000 * round + i).write(memory, 100, PAGE + 1, segment, i);
            }
            final int before = files.slices().size();
            engine.submit(transfer);
            final List<Slice> slices = files.slices().subList(before, files.slices().size());

            assertEquals(3 * round, slices.size());
            assertEquals(round * (100 + PAGE + 1L), transfer.bytes());
            assertEquals(0, transfer.movedBytes());
            assertFalse(transfer.isDone());
            assertEquals(1000 * round, slices.getFirst().offset());
            slices.forEach(Slice::completed);
            transfer.await();
            assertEquals(transfer.bytes(), transfer.movedBytes());
            transfer.clear();
        }
        assertEquals(0, transfer.bytes());
    }

    @Test
    void shouldForgetItsFailureWhenCleared() {
        final Transfer transfer = engine.newTransfer().read(memory, 0, 100, segment, 0);
        engine.submit(transfer);
        final CompletableFuture<Transfer> first = transfer.future();
        files.slices().getFirst().endedShort(3);
        assertEquals(TransferFailure.Kind.SHORT, failureOf(transfer).kind());

        transfer.clear();
        transfer.read(memory, 0, 100, segment, 0);
        engine.submit(transfer);
        assertNull(transfer.failure());
        final CompletableFuture<Transfer> second = transfer.future();
        files.slices().getLast().completed();

        transfer.await();
        assertSame(transfer, second.join());
        assertTrue(first.isCompletedExceptionally());
    }

    @Test
    void shouldRefuseToBeChangedWhileItRunsAndToBeAwaitedBefore() {
        final Transfer transfer = engine.newTransfer().read(memory, 0, 100, segment, 0);
        assertThrows(IllegalStateException.class, transfer::await);
        assertThrows(IllegalStateException.class, () -> transfer.await(1));
        assertThrows(IllegalStateException.class, transfer::future);
        engine.submit(transfer);

        assertThrows(IllegalStateException.class, () -> transfer.read(memory, 0, 100, segment, 0));
        assertThrows(IllegalStateException.class, () -> transfer.prefer(TransportKind.POSIX, true));
        assertThrows(IllegalStateException.class, transfer::clear);
        assertThrows(IllegalStateException.class, () -> engine.submit(transfer));
        files.slices().getFirst().completed();
        transfer.await();
        assertThrows(IllegalStateException.class, () -> engine.submit(transfer));
        assertEquals(1, files.slices().size());
    }

    @Test
    void shouldKeepWhatItHasWhenAFurtherRequestIsWrong() {
        final Transfer transfer = engine.newTransfer().read(memory, 0, 100, segment, 0);

        final TransferFailure failure = assertThrows(TransferException.class,
            () -> transfer.write(memory, 0, 100, segment, Long.MAX_VALUE)).failure();
        assertThrows(IndexOutOfBoundsException.class, () -> transfer.read(memory, 16 * PAGE - 5, 6, segment, 0));
        engine.submit(transfer);

        assertTrue(failure.message().startsWith("request 1: "), failure.message());
        assertEquals(1, files.slices().size());
        assertEquals(100, transfer.bytes());
    }

    @Test
    void shouldBeSubmittableAgainWhenTheSegmentWasClosedMeanwhile() {
        final Segment other = engine.openSegment("file:///other");
        final Transfer transfer = engine.newTransfer().read(memory, 0, 100, segment, 0).read(memory, 0, 100, other, 0);
        other.close();

        final TransferFailure failure =
            assertThrows(TransferException.class, () -> engine.submit(transfer)).failure();
        assertTrue(failure.message().startsWith("request 1: "), failure.message());
        assertEquals(0, engine.outstanding());
        transfer.clear();
        transfer.read(memory, 0, 100, segment, 0);
        engine.submit(transfer);
        files.slices().getFirst().completed();

        transfer.await();
    }

    /** Closing waits for who is inside: one that was let in and never out again would be waited for for ever. */
    @Test
    void shouldHoldNothingOfTheSegmentWhenTheRegionWasClosedMeanwhile() {
        final HostRegion region = HostRegion.allocate(NativeTag.TEST, PAGE);
        final Segment other = engine.openSegment("file:///other");
        final Transfer transfer = engine.newTransfer().read(memory, 0, 1, segment, 0).read(region, 0, PAGE, other, 0);
        region.close();

        final TransferFailure failure =
            assertThrows(TransferException.class, () -> engine.submit(transfer)).failure();

        assertTrue(failure.message().contains("the local memory is closed"), failure.message());
        other.gate().close();
        assertTrue(other.gate().awaitEmpty(0), "the segment is still in use");
        segment.gate().close();
        assertTrue(segment.gate().awaitEmpty(0), "the segment of the request before is still in use");
    }

    @Test
    void shouldKeepARegionUntilItsTransferHasEnded() {
        final HostRegion region = HostRegion.allocate(NativeTag.TEST, PAGE);
        final Transfer transfer = engine.newTransfer().read(region, 0, PAGE, segment, 0);
        engine.submit(transfer);

        region.close();
        files.slices().getFirst().local().fill((byte) 1);
        assertTrue(region.segment().scope().isAlive(), "the transfer may still write to it");
        assertThrows(TransferException.class,
            () -> engine.submit(engine.newTransfer().read(region, 0, PAGE, segment, 0)));
        files.slices().getFirst().completed();
        transfer.await();

        assertFalse(region.segment().scope().isAlive());
    }

    @Test
    void shouldAskTheTransportToEndWhatRunsAndStillWaitForItWhenCancelled() {
        final Transfer transfer = engine.newTransfer().read(memory, 0, 3 * PAGE, segment, 0);
        transfer.cancel();
        assertNull(transfer.failure(), "nothing has been asked for yet");
        engine.submit(transfer);
        final List<Slice> slices = files.slices();
        slices.get(1).completed();

        transfer.cancel();
        transfer.cancel();

        assertEquals(List.of(slices.get(0), slices.get(2)), files.cancels());
        assertFalse(transfer.isDone(), "the device still has the memory");
        slices.get(0).canceled();
        slices.get(2).completed();
        assertEquals(TransferFailure.Kind.CANCELED, failureOf(transfer).kind());
        assertEquals(2 * PAGE, transfer.movedBytes());
        transfer.cancel();
        assertEquals(2, files.cancels().size());
    }

    @Test
    void shouldFailAsLateOnceTheTimeIsOverAndTheTransportHasLetGo() throws InterruptedException {
        final Transfer transfer = engine.newTransfer().read(memory, 0, 2 * PAGE, segment, 0);
        engine.submit(transfer, TransferOptions.within(1));
        final List<Slice> slices = files.slices();

        // It may be late before its second slice was handed over: that one is then not under way and not cancelled.
        while (transfer.failure() == null) {
            Thread.onSpinWait();
        }
        assertFalse(transfer.await(0));
        assertFalse(slices.get(0).wanted());
        slices.forEach(Slice::canceled);

        final TransferFailure failure = failureOf(transfer);
        assertEquals(TransferFailure.Kind.TIMEOUT, failure.kind());
        assertTrue(failure.message().contains("within"), failure.message());
    }

    @Test
    void shouldNeverMeetTheDeadlineOfAnEarlierRound() {
        final Transfer transfer = engine.newTransfer();
        for (int round = 0; round < 3000; round++) {
            transfer.read(memory, 0, 100, segment, 0);
            engine.submit(transfer, round % 2 == 0 ? TransferOptions.within(1) : TransferOptions.DEFAULT);
            files.slices().getLast().completed();
            if (round % 2 == 1) {
                transfer.await();
            }
            while (!transfer.isDone()) {
                Thread.onSpinWait();
            }
            transfer.clear();
            files.forget();
        }
    }

    /** Who stops what is late may come when the round that was late is over. */
    @Test
    void shouldBeStoppedForTheRoundThatIsLateOnly() {
        final Transfer transfer = engine.newTransfer().read(memory, 0, 100, segment, 0);
        engine.submit(transfer);
        files.slices().getLast().completed();
        transfer.await();
        transfer.clear();
        transfer.read(memory, 0, 100, segment, 0);
        engine.submit(transfer);

        transfer.late(0, 5);
        assertNull(transfer.failure());
        assertEquals(List.of(), files.cancels());
        transfer.late(1, 5);
        assertEquals(TransferFailure.Kind.TIMEOUT, transfer.failure().kind());
        files.slices().getLast().canceled();
        assertEquals(TransferFailure.Kind.TIMEOUT, failureOf(transfer).kind());
    }

    /** The transport ends each round on a thread of its own, while others wait in every way there is. */
    @Test
    void shouldTellEveryoneWhoWaitsHoweverTheyWaitRoundAfterRound() throws InterruptedException {
        final Transfer transfer = engine.newTransfer();
        for (int round = 0; round < 2000; round++) {
            transfer.read(memory, 0, 100, segment, 0);
            engine.submit(transfer);
            final Slice slice = files.slices().getLast();
            final List<CompletableFuture<Void>> waiters = new ArrayList<>();
            if (round % 3 == 0) {
                waiters.add(Threads.start(() -> transfer.await()));
            }
            if (round % 5 == 0) {
                waiters.add(Threads.start(() -> assertSame(transfer, transfer.future().join())));
            }
            final CompletableFuture<Void> transport = Threads.start(() -> slice.completed());
            if (round % 7 == 0) {
                assertTrue(transfer.await(60_000));
            }
            if (round % 2 == 0) {
                assertSame(transfer, transfer.future().join());
            }
            transfer.await();
            waiters.forEach(CompletableFuture::join);
            // The transport's thread may still be on its way out of the round that is over.
            transfer.clear();
            files.forget();
            if (round % 11 == 0) {
                transport.join();
            }
        }
    }

    @Test
    void shouldKeepAnInterruptAndGoOnWaitingForTheEnd() throws InterruptedException {
        final Transfer transfer = engine.newTransfer().read(memory, 0, 100, segment, 0);
        engine.submit(transfer);
        final CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        final Thread waiting = Thread.ofPlatform().start(() -> {
            transfer.await();
            interrupted.complete(Thread.currentThread().isInterrupted());
        });
        waiting.interrupt();
        assertTrue(Threads.awaitWaiting(waiting));
        assertFalse(interrupted.isDone());

        files.slices().getFirst().completed();

        assertTrue(interrupted.join());
        waiting.join();
    }

    @Test
    void shouldIgnoreASliceThatIsCompletedTwice() {
        final Transfer transfer = engine.newTransfer().read(memory, 0, 2 * PAGE, segment, 0);
        engine.submit(transfer);

        files.slices().getFirst().completed();
        files.slices().getFirst().completed();

        assertFalse(transfer.isDone());
        assertEquals(PAGE, transfer.movedBytes());
        files.slices().getLast().completed();
        transfer.await();
    }

    @Test
    void shouldFlushEachTransportOnceASubmit() {
        engine.submit(engine.newTransfer().read(memory, 0, 3 * PAGE, segment, 0).write(memory, 0, 10, segment, 0));

        assertEquals(4, files.slices().size());
        assertEquals(1, files.flushes());
    }

    @Test
    void shouldMakeNoGarbageWhenUsedAgainOnceWarm() {
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        final HostRegion target = HostRegion.allocate(NativeTag.TEST, 16 * PAGE);
        PatternBytes.fill(memory.segment(), 1);
        final Segment copies = engine.register("copies", target);
        final Transfer transfer = engine.newTransfer();
        final int rounds = 20_000;
        long bytes = Long.MAX_VALUE;
        // The compiler may take some rounds to see that objects need not be made; it is the last figure that counts.
        for (int attempt = 0; attempt < 10 && bytes > 64L * rounds; attempt++) {
            final long before = threads.getCurrentThreadAllocatedBytes();
            for (int round = 0; round < rounds; round++) {
                transfer.write(memory, 0, PAGE, copies, PAGE);
                engine.submitAndWaitNext(transfer);
                transfer.await();
                transfer.clear();
            }
            bytes = threads.getCurrentThreadAllocatedBytes() - before;
        }
        copies.close();

        assertTrue(bytes <= 64L * rounds, bytes / rounds + " bytes a request");
        assertEquals(PatternBytes.of(1, PAGE)[17], target.segment().get(ValueLayout.JAVA_BYTE,
            PAGE + 17));
        target.close();
    }
}
