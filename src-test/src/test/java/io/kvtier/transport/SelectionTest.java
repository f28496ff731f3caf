package io.kvtier.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.kit.HeldTransport;
import io.kvtier.kit.LeakCheck;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Which transport moves a request, and which one after it when that fails. */
@ExtendWith(LeakCheck.class)
class SelectionTest {
    private static final int PAGE = 4096;

    private final HostRegion memory = HostRegion.allocate(NativeTag.TEST, 16 * PAGE);
    private final HeldTransport posix = new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE);
    private final HeldTransport uring = new HeldTransport(TransportKind.IO_URING, Segment.Kind.FILE);
    private final HeldTransport gds = new HeldTransport(TransportKind.GDS, Segment.Kind.FILE);
    private final List<HeldTransport> all = List.of(posix, uring, gds);
    private TransferEngine engine;
    private Segment segment;

    @AfterEach
    void close() {
        all.forEach(transport -> transport.slices().stream().filter(Slice::isUnderWay).forEach(Slice::completed));
        engine.close();
        assertFalse(engine.abandoned());
        memory.close();
    }

    private void open(final TransferConfig config) {
        engine = TransferEngine.open(config, List.copyOf(all));
        segment = engine.openSegment("file:///data");
    }

    private void open() {
        open(new TransferConfig(PAGE, 30_000));
    }

    private Transfer read(final TransportKind hint, final boolean strict) {
        final RegionSlice local = memory.slice(0, 100);
        return engine.submit(List.of(new TransferRequest(Direction.READ, local, segment, 5, hint, strict)));
    }

    private static TransferFailure broken(final boolean retryable) {
        return new TransferFailure(TransferFailure.Kind.FAILED, "errno", 5, retryable, "s", 5, 100, "broken");
    }

    private Map<TransportKind, TransportStats> stats() {
        return engine.stats().stream().collect(Collectors.toMap(TransportStats::kind, one -> one));
    }

    @Test
    void shouldGoDownTheRowUntilATransportSucceeds() {
        open();
        final Transfer transfer = read(null, false);

        uring.slices().getFirst().failed(broken(true));
        assertFalse(transfer.isDone());
        posix.slices().getFirst().failed(broken(true));
        assertFalse(transfer.isDone());
        assertEquals(5, gds.slices().getFirst().offset());
        gds.slices().getFirst().completed();

        transfer.await();
        assertEquals(100, transfer.movedBytes());
        assertEquals(1, stats().get(TransportKind.IO_URING).fallbacks());
        assertEquals(1, stats().get(TransportKind.POSIX).fallbacks());
        assertEquals(0, stats().get(TransportKind.GDS).fallbacks());
        assertEquals(Map.of(TransferFailure.Kind.FAILED, 1L), stats().get(TransportKind.IO_URING).failures());
        assertEquals(100, stats().get(TransportKind.GDS).readBytes());
        assertEquals(0, stats().get(TransportKind.IO_URING).readBytes());
    }

    @Test
    void shouldEndWithTheLastFailureWhenNoTransportIsLeft() {
        open();
        final Transfer transfer = read(null, false);

        for (final HeldTransport transport : List.of(uring, posix, gds)) {
            transport.slices().getFirst().failed(broken(true));
        }

        assertEquals(broken(true), assertThrows(TransferException.class, transfer::await).failure());
    }

    @Test
    void shouldTryNoOtherWhenTheFailureIsFinalOrTheRequestStrictOrNoLongerWanted() {
        open();
        read(null, false);
        uring.slices().getLast().failed(broken(false));
        read(null, true);
        uring.slices().getLast().failed(broken(true));
        final Transfer cancelled = read(null, false);
        cancelled.cancel();
        uring.slices().getLast().failed(broken(true));

        assertEquals(3, uring.slices().size());
        assertEquals(0, posix.slices().size() + gds.slices().size());
        assertEquals(TransferFailure.Kind.CANCELED, cancelled.failure().kind());
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "1, 1", "2, 2", "9, 2"})
    void shouldFallBackNoMoreOftenThanAllowed(final int allowed, final int expected) {
        final TransferConfig base = new TransferConfig(PAGE, 30_000);
        open(new TransferConfig(base.sliceBytes(), base.closeTimeoutMs(), base.maxOutstanding(),
            base.maxOutstandingBytes(), allowed, base.selection()));
        final Transfer transfer = read(null, false);

        for (final HeldTransport transport : List.of(uring, posix, gds)) {
            transport.slices().forEach(slice -> slice.failed(broken(true)));
        }

        assertTrue(transfer.isDone());
        assertEquals(expected, stats().values().stream().mapToLong(TransportStats::fallbacks).sum());
    }

    @Test
    void shouldFallBackWithinSubmitWhenTheTransportThrowsThere() {
        open();
        // What is not known to be particular to one transport is not tried on another.
        uring.failSubmit(new IllegalStateException("closed"));
        assertTrue(read(null, false).isDone());
        uring.failSubmit(new ErrnoException("io_uring_enter", 16, "busy"));
        final Transfer transfer = read(null, false);

        assertFalse(transfer.isDone());
        posix.slices().getFirst().completed();
        transfer.await();
        assertEquals(1, posix.flushes());
    }

    @Test
    void shouldPassOverATransportThatCannotTakeTheSlice() {
        open();
        posix.refuse("not aligned");
        final Transfer transfer = read(null, false);

        uring.slices().getFirst().failed(broken(true));
        gds.slices().getFirst().completed();

        transfer.await();
        assertEquals(0, posix.slices().size());
        assertEquals(1, stats().get(TransportKind.IO_URING).fallbacks());
        assertEquals(0, stats().get(TransportKind.POSIX).fallbacks());
    }

    @Test
    void shouldStartWithTheFirstOfTheRowThatTakesTheSlice() {
        open();
        uring.refuse("not registered");
        read(null, false);

        assertEquals(0, uring.slices().size());
        assertEquals(1, posix.slices().size());
        assertEquals(0, stats().get(TransportKind.IO_URING).fallbacks(), "nothing failed");
        assertTrue(assertThrows(TransferException.class, () -> read(TransportKind.IO_URING, true)).getMessage()
            .contains("not registered"), "this transport or none");
        posix.refuse("not aligned");
        gds.refuse("not of a GPU");
        assertTrue(assertThrows(TransferException.class, () -> read(null, false)).getMessage()
            .contains("not registered"), "what the first one says");
    }

    @Test
    void shouldEndWithTheFirstFailureWhenNoOtherTransportCanTakeTheSlice() {
        open();
        posix.refuse("not aligned");
        gds.refuse("not registered");
        final Transfer transfer = read(null, false);

        uring.slices().getFirst().failed(broken(true));

        assertEquals(broken(true), assertThrows(TransferException.class, transfer::await).failure());
        assertEquals(0, posix.slices().size() + gds.slices().size());
        assertEquals(0, stats().get(TransportKind.IO_URING).fallbacks(), "it was not handed on");
    }

    @Test
    void shouldTryTheHintedOneFirstAndThenTheOthersInTheirOrder() {
        open();
        final Transfer transfer = read(TransportKind.GDS, false);

        gds.slices().getFirst().failed(broken(true));
        uring.slices().getFirst().failed(broken(true));
        posix.slices().getFirst().completed();

        transfer.await();
    }

    @Test
    void shouldChooseByTheFirstRuleThatFitsKindAndLength() {
        final Set<MemoryKind> host = Capability.HOST_MEMORY;
        open(TransferConfig.DEFAULT.withSelection(new Selection(List.of(
            new SelectionRule("small", Segment.Kind.FILE, host, 0, 99, List.of(TransportKind.POSIX)),
            new SelectionRule("device", Segment.Kind.FILE, Set.of(MemoryKind.DEVICE), TransportKind.IO_URING),
            new SelectionRule("mapped", Segment.Kind.FILE, Set.of(MemoryKind.MAPPED), TransportKind.POSIX),
            new SelectionRule("big", Segment.Kind.FILE, host, 200, 300, List.of(TransportKind.GDS))))));
        engine.submit(engine.newTransfer().read(memory, 0, 99, segment, 0).read(memory, 0, 200, segment, 0)
            .read(memory, 0, 300, segment, 0));

        assertEquals(1, posix.slices().size());
        assertEquals(2, gds.slices().size());
        for (final long length : new long[] {100, 199, 301}) {
            final TransferFailure failure = assertThrows(TransferException.class,
                () -> engine.newTransfer().read(memory, 0, length, segment, 0)).failure();
            assertEquals(TransferFailure.Kind.INVALID, failure.kind());
            assertTrue(failure.message().contains("HOST memory"), failure.message());
        }
    }

    @ParameterizedTest
    @CsvSource({"FILE, HOST, io_uring posix gds", "FILE, PINNED, io_uring posix gds",
        "FILE, MAPPED, io_uring posix gds", "FILE, DEVICE, gds io_uring posix",
        "MEMORY, HOST, memory", "MEMORY, DEVICE, memory", "SHARED, HOST, shm", "SHARED, DEVICE, shm",
        "REMOTE, HOST, tcp", "REMOTE, DEVICE, tcp"})
    void shouldHaveARowForEverySegmentAndMemoryWhenNothingIsSaid(final Segment.Kind kind, final MemoryKind local,
        final String transports) {
        open();
        for (final long length : new long[] {0, 1, Long.MAX_VALUE}) {
            final SelectionRule first = Selection.DEFAULT.rules().stream()
                .filter(rule -> rule.segment() == kind && rule.applies(local, length)).findFirst().orElseThrow();
            assertEquals(transports, first.transports().stream().map(TransportKind::configName)
                .collect(Collectors.joining(" ")));
        }
    }

    @ParameterizedTest
    @EnumSource(value = TransportKind.class, names = {"MEMORY", "SHM", "TCP"})
    void shouldRefuseAStrictHintThatTheSegmentHasNoUseFor(final TransportKind hint) {
        open();

        assertThrows(TransferException.class, () -> read(hint, true));
        read(hint, false);
        assertEquals(1, uring.slices().size());
    }

    @Test
    void shouldRefuseATableThatCannotBeMeant() {
        open();
        final Set<MemoryKind> host = Capability.HOST_MEMORY;
        final List<TransportKind> posixOnly = List.of(TransportKind.POSIX);
        assertThrows(IllegalArgumentException.class,
            () -> new SelectionRule("r", Segment.Kind.FILE, Set.of(), 0, 1, posixOnly));
        assertThrows(IllegalArgumentException.class,
            () -> new SelectionRule("r", Segment.Kind.FILE, host, 0, 1, List.of()));
        assertThrows(IllegalArgumentException.class,
            () -> new SelectionRule("r", Segment.Kind.FILE, host, 2, 1, posixOnly));
        assertThrows(IllegalArgumentException.class,
            () -> new SelectionRule("r", Segment.Kind.FILE, host, -1, 1, posixOnly));
        assertThrows(IllegalArgumentException.class, () -> new SelectionRule("r", Segment.Kind.FILE, host, 0, 1,
            List.of(TransportKind.POSIX, TransportKind.POSIX)));
        final IllegalArgumentException e =
            assertThrows(IllegalArgumentException.class, () -> TransportKind.of("rdma"));
        assertTrue(e.getMessage().contains("io_uring"), e.getMessage());
        assertThrows(IllegalArgumentException.class, () -> TransferEngine.open(TransferConfig.DEFAULT,
            List.of(posix, new HeldTransport(TransportKind.POSIX, Segment.Kind.FILE))));
    }
}
