package io.kvtier.transport.file;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.BorrowedRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.uring.FaultyKernel;
import io.kvtier.bindings.uring.Uring;
import io.kvtier.kit.Commands;
import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.FaultyFiles;
import io.kvtier.kit.NotExercised;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferOptions;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportStats;
import io.kvtier.transport.Uninterrupted;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the transport over io_uring does, with a kernel whose operations fail as a test says. */
abstract class UringTransportContract extends FileTransportContract {
    private static final int BLOCK = 4096;

    private final FaultyKernel kernel = new FaultyKernel(faults());

    @BeforeEach
    void requireUring() {
        NotExercised.require("io_uring", Uring.availability().available(), Uring.availability().reason());
    }

    @Override
    protected TransportKind kind() {
        return TransportKind.IO_URING;
    }

    @Override
    Transport make(final FaultyFiles over, final int threads) {
        return make(UringConfig.DEFAULT.withRings(threads, 1));
    }

    private UringTransport make(final UringConfig config) {
        return new UringTransport(files(), kernel::open, Uring.availability(), config, direct());
    }

    /** An engine of the transport under test and, behind it, one whose files do not fail. */
    private TransferEngine engineWithPosix(final UringConfig config) {
        return TransferEngine.open(SMALL, List.of(make(config), new PosixTransport(2, direct())));
    }

    private static TransportStats stats(final TransferEngine engine, final TransportKind kind) {
        return engine.stats().stream().filter(one -> one.kind() == kind).findFirst().orElseThrow();
    }

    /** A segment whose reads do not end until somebody writes; past the page cache or not is all the same to it. */
    private Segment pipe(final TransferEngine engine) throws Exception {
        final Commands.Result made = Commands.run("mkfifo", path("pipe").toString());
        assertEquals(0, made.code(), made.output());
        return engine.openSegment(path("pipe").toUri().toString());
    }

    private static Transfer read(final TransferEngine engine, final HostRegion local, final int length,
        final Segment segment) {
        return engine.submit(List.of(TransferRequest.read(local.slice(0, length), segment, 0)));
    }

    private void awaitReads(final long count) {
        while (faults().count(Call.READ) < count) {
            Thread.onSpinWait();
        }
    }

    @Test
    void shouldWorkOnPinnedMemoryWhenItIsRegistered() throws IOException {
        final TransferEngine engine = engine(SMALL);
        final byte[] model = PatternBytes.of(1, 8 * BLOCK);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(8 * BLOCK);
        final HostRegion other = region(8 * BLOCK);
        try (Registration registration = engine.register(local)) {
            assertTrue(registration.results().get(kind()).available(), registration.results()::toString);
            assertTrue(NativeResources.snapshot().containsKey(NativeTag.RING_BUFFER));

            read(engine, local, 8 * BLOCK, segment).await();
            assertEquals(8, kernel.fixedOperations());
            assertArrayEquals(model, PatternBytes.copyOf(local.segment()));

            // Memory inside it, named by itself.
            PatternBytes.fill(local.segment(), 2);
            engine.submit(List.of(TransferRequest.write(RegionSlice.of(local.segment().asSlice(BLOCK, 2 * BLOCK)),
                segment, 5 * BLOCK))).await();
            assertEquals(10, kernel.fixedOperations());
            System.arraycopy(PatternBytes.of(2, 8 * BLOCK), BLOCK, model, 5 * BLOCK, 2 * BLOCK);
            assertArrayEquals(model, content("s"));

            // Memory beside it.
            read(engine, other, 8 * BLOCK, segment).await();
            assertArrayEquals(model, PatternBytes.copyOf(other.segment()));
            assertEquals(10, kernel.fixedOperations());
        }
        assertFalse(NativeResources.snapshot().containsKey(NativeTag.RING_BUFFER));
        read(engine, local, 8 * BLOCK, segment).await();
        assertEquals(10, kernel.fixedOperations());
    }

    @Test
    void shouldNotTakeForPinnedWhatReachesPastIt() throws IOException {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final byte[] model = PatternBytes.of(1, 2 * BLOCK);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(4 * BLOCK);
        final BorrowedRegion part = new BorrowedRegion(local.segment().asSlice(BLOCK, 2 * BLOCK));
        try (Registration registration = engine.register(part)) {
            assertTrue(registration.results().get(kind()).available(), registration.results()::toString);
            for (final int at : new int[] {0, 2 * BLOCK}) {
                engine.submit(List.of(TransferRequest.read(local.slice(at, 2 * BLOCK), segment, 0))).await();
                assertArrayEquals(model, PatternBytes.copyOf(local.segment().asSlice(at, 2 * BLOCK)));
            }
            assertEquals(0, kernel.fixedOperations());
            engine.submit(List.of(TransferRequest.read(local.slice(BLOCK, 2 * BLOCK), segment, 0))).await();
            assertEquals(1, kernel.fixedOperations(), "all of it is pinned");
        }
    }

    /** What is pinned are pages: memory that is at their addresses now has others. */
    @Test
    void shouldNotTakeForPinnedWhatWasMappedInThePlaceOfClosedMemory() throws IOException {
        final TransferEngine engine = engine(SMALL);
        final byte[] model = PatternBytes.of(1, BLOCK);
        final Segment segment = open(engine, "s", model);
        final HostRegion gone = HostRegion.allocate(NativeTag.TEST, 64 * BLOCK);
        final long place = gone.segment().address();
        try (Registration registration = engine.register(new BorrowedRegion(gone.segment()))) {
            assertTrue(registration.results().get(kind()).available(), registration.results()::toString);
            gone.close();
            final HostRegion next = region(64 * BLOCK);
            NotExercised.require("mapping-reuse", next.segment().address() == place,
                "the kernel has mapped the next memory elsewhere");

            read(engine, next, BLOCK, segment).await();

            assertArrayEquals(model, PatternBytes.copyOf(next.segment().asSlice(0, BLOCK)));
            assertEquals(0, kernel.fixedOperations());
        }
    }

    @Test
    void shouldUnpinWithTheLastRegistrationOnly() throws IOException {
        final TransferEngine engine = engine(SMALL);
        final Segment segment = open(engine, "s", PatternBytes.of(1, BLOCK));
        final HostRegion local = region(BLOCK);
        final Registration first = engine.register(local);
        final Registration second = engine.register(local);

        first.close();
        read(engine, local, BLOCK, segment).await();
        assertEquals(1, kernel.fixedOperations());
        second.close();
        read(engine, local, BLOCK, segment).await();
        assertEquals(1, kernel.fixedOperations());
    }

    @Test
    void shouldSayWhatToDoAndGoOnUnpinnedWhenMemoryCannotBeLocked() throws IOException {
        final TransferEngine engine = engine(SMALL);
        final Segment segment = open(engine, "s", PatternBytes.of(1, BLOCK));
        final HostRegion local = region(BLOCK);
        kernel.failRegister(Errno.ENOMEM);
        try (Registration registration = engine.register(local)) {
            final Availability answer = registration.results().get(kind());

            assertFalse(answer.available());
            assertTrue(answer.reason().contains("4096 bytes could not be pinned")
                && answer.reason().contains("ENOMEM"), answer.reason());
            assertTrue(answer.remedy().contains("ulimit -l"), answer.remedy());
            read(engine, local, BLOCK, segment).await();
            assertArrayEquals(PatternBytes.of(1, BLOCK), PatternBytes.copyOf(local.segment()));
        }
        assertEquals(0, kernel.fixedOperations());
    }

    @Test
    void shouldPinNothingWhenToldNotTo() throws IOException {
        final TransferEngine engine =
            TransferEngine.open(SMALL, List.of(make(UringConfig.DEFAULT.withFixedBuffers(false))));
        final HostRegion local = region(BLOCK);
        try (Registration registration = engine.register(local)) {
            assertTrue(registration.results().get(kind()).reason().contains("fixedBuffers is off"));
        }
        engine.close();
    }

    @Test
    void shouldKeepPinnedMemoryWhenItsRegionIsClosedFirst() throws IOException {
        final TransferEngine engine = engine(SMALL);
        final Segment segment = open(engine, "s", PatternBytes.of(1, BLOCK));
        final HostRegion local = HostRegion.allocate(NativeTag.TEST, BLOCK);
        final Registration registration = engine.register(local);

        local.close();
        assertThrows(TransferException.class, () -> read(engine, local, BLOCK, segment));
        registration.close();

        assertFalse(local.segment().scope().isAlive());
    }

    @Test
    void shouldUnpinOnlyWhenTheOperationsOnTheMemoryHaveEnded() throws Exception {
        final TransferEngine engine = engine(SMALL);
        final Segment pipe = pipe(engine);
        final HostRegion local = region(BLOCK);
        final Registration registration = engine.register(local);
        final Transfer transfer = read(engine, local, 10, pipe);
        // As an operation on pinned memory, or this waits for ever.
        while (kernel.fixedOperations() < 1) {
            Thread.onSpinWait();
        }

        final Thread closer = Thread.ofPlatform().start(registration::close);
        assertTrue(Threads.awaitWaiting(closer), "unpinned memory that the kernel is to write");
        Files.write(path("pipe"), PatternBytes.of(1, 10));
        transfer.await();
        closer.join();

        assertArrayEquals(PatternBytes.of(1, 10), PatternBytes.copyOf(local.segment().asSlice(0, 10)));
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EAGAIN, Errno.EINTR})
    void shouldTryAgainForAWhileWhatTheKernelPutsOff(final int errno) throws IOException {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final Segment segment = open(engine, "s", PatternBytes.of(1, BLOCK));
        final HostRegion local = region(BLOCK);
        for (int n = 1; n <= 16; n++) {
            faults().failNth(Call.READ, n, errno);
        }
        read(engine, local, BLOCK, segment).await();
        assertArrayEquals(PatternBytes.of(1, BLOCK), PatternBytes.copyOf(local.segment()));
        assertEquals(17, faults().count(Call.READ));

        faults().failAlways(Call.READ, errno);
        final TransferFailure failure = failureOf(read(engine, local, BLOCK, segment));
        assertEquals(errno, failure.code());
        assertTrue(failure.retryable());
        assertEquals(17 + 17, faults().count(Call.READ));
    }

    @Test
    void shouldWaitForStagingMemoryWhenMoreSlicesNeedItThanThereIs() throws IOException {
        final int slices = 64;
        final TransferEngine engine =
            TransferEngine.open(SMALL, List.of(make(UringConfig.DEFAULT.withRings(1, slices))));
        final byte[] model = PatternBytes.of(1, slices * BLOCK + 1);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(slices * BLOCK + 1);

        engine.submit(List.of(TransferRequest.read(local.slice(1, slices * BLOCK), segment, 1))).await();
        engine.submit(List.of(TransferRequest.write(local.slice(1, slices * BLOCK), segment, 0))).await();

        System.arraycopy(PatternBytes.of(1, slices * BLOCK + 1), 1, model, 0, slices * BLOCK);
        assertArrayEquals(model, content("s"));
        engine.close();
    }

    @Test
    void shouldEndWhatIsQueuedAndWhatIsInTheKernelWhenCancelled() throws Exception {
        final TransferEngine engine = TransferEngine.open(SMALL, List.of(transport(1)));
        final Segment pipe = pipe(engine);
        final Segment file = open(engine, "s", PatternBytes.of(1, BLOCK));
        final HostRegion local = region(8 * BLOCK);
        final Transfer running = read(engine, local, 4 * BLOCK, pipe);
        awaitReads(1);
        final Transfer queued = read(engine, local, BLOCK, file);

        queued.cancel();
        assertEquals(TransferFailure.Kind.CANCELED, failureOf(queued).kind());
        assertFalse(running.isDone());
        running.cancel();
        assertEquals(TransferFailure.Kind.CANCELED, failureOf(running).kind());

        assertEquals(1, faults().count(Call.READ));
        running.cancel();
        read(engine, local, BLOCK, file).await();
        assertArrayEquals(PatternBytes.of(1, BLOCK), PatternBytes.copyOf(local.segment().asSlice(0, BLOCK)));
        engine.close();
    }

    /** Past the page cache a transfer holds all the staging memory there is, and the one behind it waits for some. */
    @Test
    void shouldNotMoveWhatWasCancelledWhileItWaitedForStagingMemory() throws Exception {
        final int bounces = RingSlices.BOUNCES;
        final TransferEngine engine =
            TransferEngine.open(SMALL, List.of(make(UringConfig.DEFAULT.withRings(1, 2 * bounces))));
        final byte[] model = PatternBytes.of(1, (bounces + 2) * BLOCK);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(model.length + 1);
        final Transfer first;
        final Transfer running;
        final Transfer waiting;
        try (Faults.Gate before = faults().blockNext(Call.READ)) {
            first = read(engine, region(BLOCK), BLOCK, segment);
            before.awaitEntered();
            // The ring takes both in at once when it comes back.
            running = engine.submit(List.of(TransferRequest.read(local.slice(1, bounces * BLOCK), segment, 0)));
            waiting = engine.submit(List.of(TransferRequest.read(local.slice(bounces * BLOCK + 1, BLOCK), segment, 0)));
            try (Faults.Gate gate = faults().blockNext(Call.READ)) {
                before.release();
                gate.awaitEntered();
                waiting.cancel();
            }
        }

        assertEquals(TransferFailure.Kind.CANCELED, failureOf(waiting).kind());
        running.await();
        first.await();
        assertArrayEquals(Arrays.copyOf(model, bounces * BLOCK),
            PatternBytes.copyOf(local.segment().asSlice(1, bounces * BLOCK)));
        // Through the page cache there is nothing to wait for: all of them were in the kernel.
        assertEquals(1 + bounces + (direct() ? 0 : 1), faults().count(Call.READ));
        engine.close();
    }

    @Test
    void shouldGiveUpAtTheDeadline() throws Exception {
        final TransferEngine engine = engine(SMALL);
        final Segment pipe = pipe(engine);
        final HostRegion local = region(2 * BLOCK);

        final Transfer late = engine.submit(List.of(TransferRequest.read(local.slice(0, 2 * BLOCK), pipe, 0)),
            TransferOptions.within(20));

        assertEquals(TransferFailure.Kind.TIMEOUT, failureOf(late).kind());
        assertEquals(0, late.movedBytes());
    }

    @Test
    void shouldGiveUpWhatDoesNotEndWhenTheEngineIsClosed() throws Exception {
        final TransferEngine engine = TransferEngine.open(new TransferConfig(BLOCK, 100), List.of(transport(1)));
        final Segment pipe = pipe(engine);
        final HostRegion local = region(4 * BLOCK);
        final Transfer transfer = read(engine, local, 4 * BLOCK, pipe);
        awaitReads(1);

        engine.close();

        assertFalse(engine.abandoned());
        assertEquals(TransferFailure.Kind.CANCELED, failureOf(transfer).kind());
    }

    @ParameterizedTest
    @ValueSource(ints = {Errno.EFAULT, Errno.EBADF, Errno.EPERM, Errno.EINVAL, Errno.EINTR, Errno.EAGAIN, Errno.EBUSY,
        Errno.ENOMEM})
    void shouldLeaveItToTheNextTransportWhenTheKernelRefusesSubmissions(final int errno) throws Exception {
        final TransferEngine engine = engineWithPosix(UringConfig.DEFAULT.withRings(2, 4));
        final byte[] model = PatternBytes.of(1, 16 * BLOCK);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(16 * BLOCK);

        kernel.failEnter(errno);
        read(engine, local, 16 * BLOCK, segment).await();
        assertArrayEquals(model, PatternBytes.copyOf(local.segment()));
        assertEquals(16, stats(engine, TransportKind.IO_URING).fallbacks());
        assertEquals(16L * BLOCK, stats(engine, TransportKind.POSIX).readBytes());

        kernel.failEnter(0);
        while (stats(engine, TransportKind.IO_URING).readBytes() < 16L * BLOCK) {
            read(engine, local, 16 * BLOCK, segment).await();
        }
        engine.close();
        assertFalse(engine.abandoned());
    }

    @Test
    void shouldFailAsWorthTryingAgainWhenThereIsNoOtherTransport() throws Exception {
        final TransferEngine engine = engine(SMALL);
        final Segment segment = open(engine, "s", PatternBytes.of(1, BLOCK));
        final HostRegion local = region(BLOCK);
        kernel.failEnter(Errno.EFAULT);

        final TransferFailure failure = failureOf(read(engine, local, BLOCK, segment));

        assertEquals(TransferFailure.Kind.FAILED, failure.kind());
        assertEquals(14, failure.code());
        assertTrue(failure.retryable());
        kernel.failEnter(0);
    }

    @Test
    void shouldGoOnWithoutARingAndOpenOneLaterWhenNoneIsToBeHad() throws Exception {
        final TransferEngine engine = engineWithPosix(UringConfig.DEFAULT.withRings(1, 4));
        final byte[] model = PatternBytes.of(1, 8 * BLOCK);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(8 * BLOCK);
        try (Registration registration = engine.register(local)) {
            kernel.failSetup(Errno.EMFILE);
            kernel.failEnter(Errno.EFAULT);
            for (int i = 0; i < 3; i++) {
                local.segment().fill((byte) 0);
                read(engine, local, 8 * BLOCK, segment).await();
                assertArrayEquals(model, PatternBytes.copyOf(local.segment()));
            }
            assertEquals(0, stats(engine, TransportKind.IO_URING).readBytes());
            try (Registration refused = engine.register(region(BLOCK))) {
                assertFalse(refused.results().get(kind()).available());
            }

            kernel.failEnter(0);
            kernel.failSetup(0);
            while (stats(engine, TransportKind.IO_URING).readBytes() < 8L * BLOCK) {
                read(engine, local, 8 * BLOCK, segment).await();
            }
            assertTrue(kernel.fixedOperations() > 0, "the new ring was not told of the registered memory");
            assertTrue(registration.results().get(kind()).available());
        }
        segment.close();
        engine.close();
        assertFalse(engine.abandoned());
    }

    @Test
    void shouldLeaveToTheNextTransportWhatTheKernelRefusesToARingOnly() throws Exception {
        final TransferEngine engine = engineWithPosix(UringConfig.DEFAULT);
        final byte[] model = PatternBytes.of(1, 8 * BLOCK);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(8 * BLOCK);
        faults().failNth(Call.READ, 3, Errno.EPERM);

        read(engine, local, 8 * BLOCK, segment).await();

        assertArrayEquals(model, PatternBytes.copyOf(local.segment()));
        assertEquals(1, stats(engine, TransportKind.IO_URING).fallbacks());
        assertEquals(BLOCK, stats(engine, TransportKind.POSIX).readBytes());
        engine.close();
    }

    @Test
    void shouldSayWhyAndLeaveNothingWhenRingsCannotBeOpened() throws IOException {
        kernel.failSetup(Errno.EMFILE);
        final Transport none = make(UringConfig.DEFAULT.withRings(2, 4));
        final Availability answer = none.capability().availability();
        assertFalse(answer.available());
        assertTrue(answer.reason().contains("EMFILE"), answer.reason());
        assertTrue(answer.remedy().contains("ulimit -n"), answer.remedy());

        final TransferEngine engine = TransferEngine.open(SMALL, List.of(none, new PosixTransport(1, direct())));
        final Segment segment = open(engine, "s", PatternBytes.of(1, BLOCK));
        final HostRegion local = region(BLOCK);
        read(engine, local, BLOCK, segment).await();
        assertEquals(BLOCK, stats(engine, TransportKind.POSIX).readBytes());
        engine.close();
    }

    @Test
    void shouldSayWhatTheProbeSaysAndDoNothingWhenItSaysNo() {
        final Availability no = Availability.no("kernel.io_uring_disabled is 2", "set it to 0");
        final UringTransport transport =
            new UringTransport(files(), kernel::open, no, UringConfig.DEFAULT, direct());

        assertEquals(no, transport.capability().availability());
        assertEquals(0, kernel.setups());
        transport.close();
    }

    @Test
    void shouldLeaveFilesWithoutADescriptorToOthers() throws IOException {
        final FileOpener opaque = (path, mode) -> files().open(path, mode);
        final TransferEngine alone = TransferEngine.open(SMALL,
            List.of(new UringTransport(opaque, UringConfig.DEFAULT, direct())));
        Files.write(path("s"), new byte[1]);
        final IllegalArgumentException e = assertThrows(IllegalArgumentException.class,
            () -> alone.openSegment(path("s").toUri().toString()));
        assertTrue(e.getMessage().contains("no descriptor"), e.getMessage());
        alone.close();
    }

    @Test
    void shouldLetACallbackSubmitMoreAndCloseWhatItUsed() throws IOException {
        final TransferEngine engine = engine(SMALL);
        final Segment first = open(engine, "first", PatternBytes.of(1, BLOCK));
        final Segment second = open(engine, "second", PatternBytes.of(2, BLOCK));
        final HostRegion local = region(2 * BLOCK);

        final CompletableFuture<Transfer> behind = read(engine, local, BLOCK, first).future()
            .thenCompose(done -> {
                first.close();
                return engine.submit(List.of(TransferRequest.read(local.slice(BLOCK, BLOCK), second, 0))).future();
            });
        behind.join();

        assertArrayEquals(PatternBytes.of(1, BLOCK), PatternBytes.copyOf(local.segment().asSlice(0, BLOCK)));
        assertArrayEquals(PatternBytes.of(2, BLOCK), PatternBytes.copyOf(local.segment().asSlice(BLOCK)));
    }

    @Test
    void shouldRegisterMemoryWhenACallbackClosesAnotherRegistrationMeanwhile() throws Exception {
        final TransferEngine engine = TransferEngine.open(SMALL,
            List.of(make(UringConfig.DEFAULT.withRings(1, 4))));
        final Segment pipe = pipe(engine);
        final HostRegion local = region(BLOCK);
        final HostRegion other = region(BLOCK);
        final Registration first = engine.register(region(BLOCK));
        final CountDownLatch inside = new CountDownLatch(1);
        final CountDownLatch go = new CountDownLatch(1);
        final CompletableFuture<Void> closing = read(engine, local, 10, pipe).future().thenAccept(done -> {
            inside.countDown();
            Uninterrupted.await(go::await);
            first.close();
        });
        Files.write(path("pipe"), PatternBytes.of(1, 10));
        inside.await();
        // The only ring has a callback to end first.
        final CompletableFuture<Availability> answer = new CompletableFuture<>();
        final Thread registering = Thread.ofPlatform().start(() -> {
            try (Registration second = engine.register(other)) {
                answer.complete(second.results().get(kind()));
            }
        });
        assertTrue(Threads.awaitWaiting(registering));

        go.countDown();
        closing.join();
        registering.join();

        assertTrue(answer.join().available(), answer.join()::toString);
        engine.close();
    }

    @Test
    void shouldSetUpEachRingOnceHoweverMuchItMoves() throws IOException {
        final TransferEngine engine = TransferEngine.open(SMALL, List.of(make(UringConfig.DEFAULT.withRings(3, 4))));
        final byte[] model = PatternBytes.of(1, 16 * BLOCK);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(16 * BLOCK);

        for (int round = 0; round < 50; round++) {
            read(engine, local, 16 * BLOCK, segment).await();
        }

        assertEquals(3, kernel.setups());
        assertArrayEquals(model, PatternBytes.copyOf(local.segment()));
        engine.close();
    }

    @Test
    void shouldSpreadOverTheRingsWhenOneIsFull() throws Exception {
        final TransferEngine engine = TransferEngine.open(SMALL, List.of(transport(2)));
        final Segment pipe = pipe(engine);
        final HostRegion local = region(2 * BLOCK);
        final List<Transfer> transfers = new ArrayList<>();
        final Segment file = open(engine, "s", PatternBytes.of(1, BLOCK));

        transfers.add(read(engine, local, BLOCK, pipe));
        awaitReads(1);
        // Its ring is full; the other one is not.
        read(engine, local, BLOCK, file).await();
        assertFalse(transfers.getFirst().isDone());
        transfers.getFirst().cancel();
        assertThrows(TransferException.class, transfers.getFirst()::await);
        engine.close();
    }

    @Test
    void shouldMoveTheBytesOfACallerThatWaitsOnItsOwnThread() throws Exception {
        final TransferEngine engine = engine(TransferConfig.DEFAULT);
        final byte[] model = PatternBytes.of(1, 10_000);
        final Segment segment = open(engine, "s", model);
        final HostRegion local = region(10_000);
        try (Faults.Gate gate = faults().blockNext(Call.SYNC)) {
            // The only ring that has slices is held; the caller does without.
            final Transfer sync = engine.sync(segment);
            gate.awaitEntered();
            engine.submitAndWaitNext(List.of(TransferRequest.read(local.slice(0, 10_000), segment, 0))).await();
            assertFalse(sync.isDone());
        }
        assertArrayEquals(model, PatternBytes.copyOf(local.segment()));
    }
}
