package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.HeldTransport;
import io.kvtier.kit.LeakCheck;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What a transfer takes is given back on the ways out that no transport should take. */
@ExtendWith(LeakCheck.class)
class GivenBackTest {
    private static final TransferFailure FAILED =
        new TransferFailure(TransferFailure.Kind.FAILED, "errno", 5, true, "s", 0, 1, "a test's failure");

    private final HeldTransport first = new HeldTransport(TransportKind.IO_URING, Segment.Kind.FILE);
    private final HeldTransport second = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);
    private final TransferEngine engine =
        TransferEngine.open(new TransferConfig(4096, 30_000), List.of(first, second));
    private final HostRegion memory = HostRegion.allocate(NativeTag.TEST, 8192);

    private static Stream<Throwable> throwables() {
        return Stream.of(new IllegalStateException("a test's exception"), new LinkageError("a test's error"));
    }

    private Transfer read(final Segment segment) {
        return engine.newTransfer().read(memory, 0, 4096, segment, 0);
    }

    /** Nothing is under way, nobody holds the segment or the memory, and all of it can be closed. */
    private void assertGivenBack(final Segment... segments) {
        assertEquals(0, engine.outstanding());
        assertEquals(0, engine.outstandingBytes());
        for (final Segment segment : segments) {
            segment.gate().close();
            assertTrue(segment.gate().awaitEmpty(0), "a segment is still held");
        }
        memory.close();
        assertFalse(memory.segment().scope().isAlive(), "the memory is still held");
        engine.close();
    }

    @ParameterizedTest
    @MethodSource("throwables")
    void shouldHoldNothingWhenATransportThrowsInsteadOfSayingWhatIsWrong(final Throwable thrown) {
        final Segment segment = engine.openSegment("file:///one");
        final Segment other = engine.openSegment("file:///two");
        final Transfer transfer = read(other).read(memory, 4096, 4096, segment, 0);
        first.failCheck(thrown);

        assertThrows(thrown.getClass(), () -> engine.submit(transfer));

        first.failCheck(null);
        engine.submit(transfer);
        assertEquals(2, first.slices().size());
        first.slices().forEach(Slice::completed);
        transfer.await();
        assertGivenBack(segment, other);
    }

    @ParameterizedTest
    @MethodSource("throwables")
    void shouldEndATransferWhoseNextTransportThrowsWhenItIsAsked(final Throwable thrown) {
        final Segment segment = engine.openSegment("file:///one");
        final Transfer transfer = read(segment);
        engine.submit(transfer);
        second.failCheck(thrown);

        first.slices().getFirst().failed(FAILED);

        assertTrue(transfer.isDone(), "nobody will ever end it");
        assertEquals(FAILED, transfer.failure());
        assertGivenBack(segment);
    }

    @ParameterizedTest
    @MethodSource("throwables")
    void shouldEndATransferWhoseTransportThrowsWhenItIsFlushed(final Throwable thrown) {
        final Segment segment = engine.openSegment("file:///one");
        final Transfer transfer = read(segment);
        first.failFlush(thrown);
        second.failFlush(thrown);

        engine.submit(transfer);
        first.slices().getFirst().failed(FAILED);
        second.slices().getFirst().completed();

        assertTrue(transfer.isDone(), "nobody will ever end it");
        transfer.await();
        assertGivenBack(segment);
    }

    @Test
    void shouldCloseTheHandlesItHasWhenAnErrorEndsAnOpening() {
        second.failOpen(new LinkageError("a test's error"));

        assertThrows(LinkageError.class, () -> engine.openSegment("file:///one"));

        assertEquals(0, first.openHandles());
        second.failOpen(null);
        assertGivenBack(engine.openSegment("file:///one"));
    }

    @Test
    void shouldCloseTheRestWhenAnErrorEndsOneClosing() {
        final Segment segment = engine.openSegment("file:///one");
        first.failClose(new LinkageError("a test's error"));

        assertThrows(LinkageError.class, segment::close);
        assertEquals(0, first.openHandles() + second.openHandles());
        assertThrows(LinkageError.class, engine::close);

        assertEquals(1, second.closes());
        memory.close();
    }
}
