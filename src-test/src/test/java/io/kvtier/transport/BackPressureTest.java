package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.HeldTransport;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.Threads;
import io.kvtier.transport.TransferOptions.WhenFull;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** An engine that has as much under way as it may have. */
@ExtendWith(LeakCheck.class)
class BackPressureTest {
    private static final int PAGE = 4096;
    private static final TransferOptions REFUSE = new TransferOptions(0, WhenFull.REFUSE);

    private final HostRegion memory = HostRegion.allocate(NativeTag.TEST, 16 * PAGE);
    private final HeldTransport files = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);
    private final TransferEngine engine = TransferEngine.open(
        new TransferConfig(PAGE, 30_000).withOutstanding(4, 3 * PAGE), List.of(files));
    private final Segment segment = engine.openSegment("file:///data");

    @AfterEach
    void close() {
        files.slices().stream().filter(Slice::isUnderWay).forEach(Slice::completed);
        engine.close();
        assertFalse(engine.abandoned());
        memory.close();
    }

    private List<TransferRequest> read(final long bytes) {
        return List.of(TransferRequest.read(memory.slice(0, bytes), segment, 0));
    }

    @Test
    void shouldRefuseAtOnceAndStartNothingWhenToldNotToWait() {
        final Transfer first = engine.submit(read(3 * PAGE), REFUSE);
        assertEquals(3, engine.outstanding());
        assertEquals(3 * PAGE, engine.outstandingBytes());

        final TransferFailure failure =
            assertThrows(TransferException.class, () -> engine.submit(read(1), REFUSE)).failure();

        assertEquals(TransferFailure.Kind.BUSY, failure.kind());
        assertTrue(failure.retryable());
        assertTrue(failure.message().contains("3 of 4 slices and 12288 of 12288 bytes"), failure.message());
        assertEquals(3, files.slices().size());
        files.slices().forEach(Slice::completed);
        first.await();
        assertEquals(0, engine.outstanding() + engine.outstandingBytes());
        engine.submit(read(1), REFUSE);
        assertEquals(4, files.slices().size());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldWaitUntilThereIsRoom(final boolean virtual) {
        engine.submit(read(3 * PAGE));
        final CompletableFuture<Transfer> second = new CompletableFuture<>();
        final Thread submitter = (virtual ? Thread.ofVirtual() : Thread.ofPlatform())
            .start(() -> second.complete(engine.submit(read(PAGE))));
        assertTrue(Threads.awaitWaiting(submitter));
        assertEquals(3, files.slices().size());

        files.slices().forEach(Slice::completed);

        assertEquals(PAGE, second.join().bytes());
        assertEquals(4, files.slices().size());
    }

    @Test
    void shouldGiveUpWaitingForRoomAfterItsTime() {
        engine.submit(read(3 * PAGE));

        final TransferFailure failure = assertThrows(TransferException.class,
            () -> engine.submit(read(PAGE), TransferOptions.within(1))).failure();

        assertEquals(TransferFailure.Kind.TIMEOUT, failure.kind());
        assertTrue(failure.message().contains("within 1 ms"), failure.message());
        assertEquals(3, files.slices().size());
    }

    @Test
    void shouldRefuseRatherThanLetATransportsThreadWaitForItself() throws InterruptedException {
        engine.submit(read(3 * PAGE));
        final CompletableFuture<TransferFailure> failure = new CompletableFuture<>();
        final Thread callback = IoThreads.newThread("callback", () -> {
            try {
                engine.submit(read(PAGE));
            } catch (final TransferException e) {
                failure.complete(e.failure());
            }
        });
        callback.start();

        assertEquals(TransferFailure.Kind.BUSY, failure.join().kind());
        assertTrue(failure.join().message().contains("callback"), failure.join().message());
        callback.join();
    }

    @Test
    void shouldRefuseWhoWaitsWhenClosed() throws InterruptedException {
        engine.submit(read(3 * PAGE));
        final CompletableFuture<Void> waiting = new CompletableFuture<>();
        final Thread submitter = Thread.ofPlatform().start(() -> {
            try {
                engine.submit(read(PAGE));
            } catch (final IllegalStateException e) {
                waiting.completeExceptionally(e);
            }
        });
        assertTrue(Threads.awaitWaiting(submitter));
        final Thread closer = Thread.ofPlatform().start(engine::close);

        submitter.join();

        assertTrue(waiting.isCompletedExceptionally());
        files.slices().forEach(Slice::completed);
        closer.join();
        assertEquals(3, files.slices().size());
    }

    @Test
    void shouldTellWhoAwaitsATransferThatIsRefusedInTheEnd() throws InterruptedException {
        engine.submit(read(3 * PAGE));
        final Transfer refused = engine.newTransfer().read(memory, 0, PAGE, segment, 0);
        final Thread submitter = Thread.ofPlatform().start(() ->
            assertThrows(IllegalStateException.class, () -> engine.submit(refused)));
        assertTrue(Threads.awaitWaiting(submitter));
        final CompletableFuture<IllegalStateException> parked = new CompletableFuture<>();
        final CompletableFuture<IllegalStateException> observing = new CompletableFuture<>();
        for (final CompletableFuture<IllegalStateException> told : List.of(parked, observing)) {
            final Thread waiter = Thread.ofPlatform().start(() ->
                told.complete(assertThrows(IllegalStateException.class, refused::await)));
            assertTrue(Threads.awaitWaiting(waiter));
        }

        final Thread closer = Thread.ofPlatform().start(engine::close);

        assertTrue(parked.join().getMessage().contains("not submitted"));
        assertTrue(observing.join().getMessage().contains("not submitted"));
        submitter.join();
        files.slices().forEach(Slice::completed);
        closer.join();
    }

    @Test
    void shouldMoveWhatIsLargerThanTheBoundAlone() {
        final CompletableFuture<Transfer> large = Threads.start(() -> engine.submit(read(10 * PAGE)));
        while (files.slices().size() < 10) {
            Thread.onSpinWait();
        }

        assertThrows(TransferException.class, () -> engine.submit(read(1), REFUSE));
        files.slices().forEach(Slice::completed);
        large.join().await();
        engine.submit(read(1), REFUSE);
    }

    @Test
    void shouldAskItsTransportsToEndEarlyWhenClosingHasWaitedEnough() {
        final HeldTransport stuck = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);
        final TransferEngine impatient = TransferEngine.open(new TransferConfig(PAGE, 1), List.of(stuck));
        impatient.submit(List.of(TransferRequest.read(memory.slice(0, 1), impatient.openSegment("file:///x"), 0)));

        impatient.close();
        assertEquals(1, stuck.aborts());
        assertTrue(impatient.abandoned());
        assertEquals(0, stuck.closes());

        stuck.slices().getFirst().canceled();
        impatient.close();
        assertFalse(impatient.abandoned());
        assertEquals(1, stuck.closes());
        assertEquals(0, stuck.openHandles());
    }

    @Test
    void shouldRefuseBoundsThatCannotBeKept() {
        for (final long slices : new long[] {0, -1, 1L << 19}) {
            final IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
                () -> TransferConfig.DEFAULT.withOutstanding(slices, 1));
            assertTrue(e.getMessage().contains("maxOutstanding is " + slices), e.getMessage());
        }
        for (final long bytes : new long[] {0, -1, 1L << 44}) {
            final IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
                () -> TransferConfig.DEFAULT.withOutstanding(1, bytes));
            assertTrue(e.getMessage().contains("maxOutstandingBytes is " + bytes), e.getMessage());
        }
        assertThrows(IllegalArgumentException.class, () -> TransferOptions.within(-1));
        assertThrows(IllegalArgumentException.class, () -> new TransferOptions(0, null));
    }
}
