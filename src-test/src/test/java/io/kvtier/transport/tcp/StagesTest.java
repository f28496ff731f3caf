package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedBuffers;
import io.kvtier.kit.SimulatedDevices;
import io.kvtier.kit.SimulatedMemory;
import io.kvtier.kit.Threads;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferOptions;
import io.kvtier.transport.TransferRequest;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What goes wrong on the way between a device and the network, with two stages of 4 KiB. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class StagesTest {
    private static final int PART = 4096;
    private static final int SIZE = 10 * PART + 100;

    private final SimulatedDevices devices = new SimulatedDevices(new SimulatedMemory());
    private final SimulatedBuffers buffers = new SimulatedBuffers(devices.memory());
    private final HostRegion served = HostRegion.allocate(NativeTag.TEST, SIZE);
    private final SegmentServer server = SegmentServer.open(SegmentServerConfig.DEFAULT);
    private final TransferEngine engine = TransferEngine.open(new TransferConfig(16 * PART, 30_000),
        List.of(new TcpTransport(TcpRig.PLAIN, devices.gpus(), new TcpStaging(2, PART, 2))));
    private Segment good;

    @AfterEach
    void close() {
        engine.close();
        assertFalse(engine.abandoned());
        assertEquals(0, devices.openStreams());
        server.close();
        served.close();
        buffers.close();
    }

    private Segment good() {
        if (good == null) {
            final ExportedSegment export = server.export("s", served, AccessToken.random(), Permission.READ_WRITE);
            good = engine.openSegment(export.address(), export.token());
        }
        return good;
    }

    private Transfer move(final boolean write, final DeviceRegion region, final Segment segment) {
        return move(write, region, SIZE, segment);
    }

    private Transfer move(final boolean write, final DeviceRegion region, final long length, final Segment segment) {
        return engine.submit(List.of(write ? TransferRequest.write(region.slice(0, length), segment, 0)
            : TransferRequest.read(region.slice(0, length), segment, 0)));
    }

    /** Whatever happened before: both stages are there, and what goes through them is what was sent. */
    private void assertGoesOn() {
        move(true, buffers.pattern(71, SIZE), good()).await();
        assertArrayEquals(PatternBytes.of(71, SIZE), PatternBytes.copyOf(served.segment()));
        final DeviceRegion back = buffers.pattern(72, SIZE);
        move(false, back, good()).await();
        assertArrayEquals(PatternBytes.of(71, SIZE), SimulatedBuffers.content(back));
    }

    private static Runnable holding(final CountDownLatch inside, final CountDownLatch go) {
        return () -> {
            inside.countDown();
            try {
                go.await();
            } catch (final InterruptedException e) {
                throw new AssertionError(e);
            }
        };
    }

    private static void hang() throws InterruptedException {
        new CountDownLatch(1).await();
    }

    private static ScriptedPeer scripted(final ScriptedPeer.Script then) throws IOException {
        return new ScriptedPeer(peer -> {
            peer.serve(ScriptedPeer.CONNECTION, SIZE);
            then.run(peer);
        });
    }

    @Test
    void shouldSayWhatIsMissingWhenThereIsNoContext() {
        try (TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            final ExportedSegment export = server.export("s", served, AccessToken.random(), Permission.READ_WRITE);
            final Segment segment = rig.engine().openSegment(export.address(), export.token());
            final TransferFailure failure = assertThrows(TransferException.class, () -> rig.engine().submit(
                List.of(TransferRequest.read(buffers.pattern(1, SIZE).slice(0, 10), segment, 0)))).failure();

            assertEquals(TransferFailure.Kind.INVALID, failure.kind());
            assertTrue(failure.message().contains("no CUDA context was given"), failure.message());
        }
        assertThrows(IllegalArgumentException.class,
            () -> new TcpTransport(TcpRig.PLAIN, List.of(), TcpStaging.DEFAULT));
        try (TcpTransport off = new TcpTransport(TcpConfig.DEFAULT.withEnable(false), devices.gpus(),
            TcpStaging.DEFAULT)) {
            assertFalse(off.capability().availability().available());
        }
    }

    @Test
    void shouldHoldNothingWhenStreamsCannotBeMade() {
        devices.failStreamsAfter(1, new IllegalStateException("no stream left"));
        assertThrows(IllegalStateException.class,
            () -> new TcpTransport(TcpRig.PLAIN, devices.gpus(), TcpStaging.DEFAULT));
    }

    @Test
    void shouldHoldNothingWhenStreamsDoNotEndWell() {
        final int before = devices.openStreams();
        final TcpTransport transport = new TcpTransport(TcpRig.PLAIN, devices.gpus(), new TcpStaging(2, PART, 3));
        assertEquals(before + 3, devices.openStreams());
        final RuntimeException failure = new IllegalStateException("the GPU has failed");
        devices.failCloses(failure);

        assertSame(failure, assertThrows(IllegalStateException.class, transport::close));

        devices.failCloses(null);
        assertEquals(before, devices.openStreams());
        assertFalse(devices.pinned().getLast().segment().scope().isAlive());
    }

    @ParameterizedTest
    @CsvSource({"0, 65536, 1", "1, 65536, 1", "1025, 65536, 1", "2, 4095, 1", "2, 67108865, 1", "2, 65536, 0",
        "2, 65536, 65"})
    void shouldRefuseSettingsOutOfRange(final int stages, final int bytes, final int threads) {
        assertThrows(IllegalArgumentException.class, () -> new TcpStaging(stages, bytes, threads));
    }

    @Test
    void shouldRefuseMemoryThatWasFreed() {
        final DeviceRegion gone = buffers.pattern(1, SIZE);
        final Segment segment = good();
        devices.memory().freed(gone.pointer().address());
        final TransferFailure failure =
            assertThrows(TransferException.class, () -> move(true, gone, segment)).failure();
        assertEquals(TransferFailure.Kind.INVALID, failure.kind());
        assertTrue(failure.message().contains("is no device memory"), failure.message());
        devices.memory().allocated(gone.pointer());
    }

    @ParameterizedTest
    @CsvSource({"true, true", "true, false", "false, true", "false, false"})
    void shouldFailTheSliceAndGoOnWhenACopyFails(final boolean write, final boolean atOnce) {
        final Segment segment = good();
        final RuntimeException failure = new IllegalStateException("the device is ill");
        if (atOnce) {
            devices.failCopy(failure);
        } else {
            devices.failWait(failure);
        }

        final TransferFailure told = TcpRig.failureOf(move(write, buffers.pattern(1, SIZE), segment));

        assertEquals(TransferFailure.Kind.FAILED, told.kind());
        assertEquals("the device is ill", told.message());
        assertEquals(0, engine.outstanding());
        assertGoesOn();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldNeverUseAStageAgainWhoseCopyCannotBeWaitedFor(final boolean write) {
        final Segment segment = good();
        final DeviceRegion region = buffers.pattern(1, SIZE);
        // One part, or two threads would share the failures.
        devices.failWaits(2, new IllegalStateException("the device is ill"));
        assertEquals("the device is ill", TcpRig.failureOf(move(write, region, PART, segment)).message());
        // One is left.
        assertGoesOn();
        devices.failWaits(2, new IllegalStateException("the device is ill"));
        assertEquals("the device is ill", TcpRig.failureOf(move(write, region, PART, segment)).message());

        final TransferFailure none = TcpRig.failureOf(move(write, region, PART, segment));
        assertTrue(none.message().startsWith("all 2 stages of pinned memory were lost"), none.message());

        engine.close();
        assertEquals(1, devices.pinned().size());
        final HostMemory kept = devices.pinned().getFirst();
        assertTrue(kept.segment().scope().isAlive(), "freed under a device that may still be at it");
        kept.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldEndOnlyAfterTheCopyWhenCancelledOrClosedUnderIt(final boolean write) throws Exception {
        final CountDownLatch inside = new CountDownLatch(1);
        final CountDownLatch go = new CountDownLatch(1);
        final Segment segment = good();
        devices.beforeWait(holding(inside, go));
        final Transfer running = move(write, buffers.pattern(1, SIZE), segment);
        inside.await();
        running.cancel();
        assertFalse(running.await(0), "a copy is still using the memory");
        final Thread closer = Thread.ofPlatform().start(engine::close);
        assertTrue(Threads.awaitWaiting(closer), "closed the engine under a copy");
        go.countDown();
        closer.join();

        assertEquals(TransferFailure.Kind.CANCELED, TcpRig.failureOf(running).kind());
    }

    @Test
    void shouldEndWhatWaitsForAStageAtOnceWhenCancelledOrLate() throws Exception {
        final CountDownLatch inside = new CountDownLatch(2);
        final CountDownLatch go = new CountDownLatch(1);
        final Segment segment = good();
        devices.beforeWait(holding(inside, go));
        final Transfer first = move(true, buffers.pattern(1, SIZE), segment);
        inside.await();
        final DeviceRegion untouched = buffers.pattern(2, SIZE);
        final Transfer waiting = move(true, untouched, segment);
        final Transfer late = engine.submit(List.of(TransferRequest.read(untouched.slice(0, SIZE), segment, 0)),
            TransferOptions.within(20));

        waiting.cancel();

        assertEquals(TransferFailure.Kind.CANCELED, TcpRig.failureOf(waiting).kind());
        assertEquals(TransferFailure.Kind.TIMEOUT, TcpRig.failureOf(late).kind());
        assertFalse(first.isDone());
        go.countDown();
        first.await();
        assertArrayEquals(PatternBytes.of(1, SIZE), PatternBytes.copyOf(served.segment()));
        assertArrayEquals(PatternBytes.of(2, SIZE), SimulatedBuffers.content(untouched));
        devices.beforeWait(() -> { });
        assertGoesOn();
    }

    @Test
    void shouldCopyOnePartWhileAnotherIsOnTheNetwork() throws Exception {
        final AtomicInteger waits = new AtomicInteger();
        devices.beforeWait(waits::incrementAndGet);
        try (ScriptedPeer peer = scripted(one -> {
            final ScriptedPeer.Frame write = one.expect(ScriptedPeer.WRITE);
            one.expect(ScriptedPeer.DATA);
            // No answer before the next part has been copied as well.
            while (waits.get() < 2) {
                Thread.onSpinWait();
            }
            one.frame(ScriptedPeer.STATUS, 0, write.id(), 0, 0);
            final ScriptedPeer.Frame second = one.expect(ScriptedPeer.WRITE);
            one.expect(ScriptedPeer.DATA);
            one.frame(ScriptedPeer.STATUS, 0, second.id(), 0, 0);
            hang();
        })) {
            final Segment segment = engine.openSegment(peer.address("s"));
            engine.submit(List.of(TransferRequest.write(buffers.pattern(1, SIZE).slice(0, 2 * PART), segment, 0)))
                .await();
            assertEquals(List.of(), peer.faults());
        }
    }

    @Test
    void shouldGiveItsStagesBackAtItsDeadlineThoughTheServerIsSilent() throws Exception {
        try (ScriptedPeer peer = scripted(one -> hang())) {
            final Segment segment = engine.openSegment(peer.address("s"));
            for (final boolean write : new boolean[] {false, true}) {
                final DeviceRegion region = buffers.pattern(1, SIZE);
                final Transfer transfer = engine.submit(List.of(write
                    ? TransferRequest.write(region.slice(0, SIZE), segment, 0)
                    : TransferRequest.read(region.slice(0, SIZE), segment, 0)), TransferOptions.within(20));
                assertEquals(TransferFailure.Kind.TIMEOUT, TcpRig.failureOf(transfer).kind());
                assertArrayEquals(PatternBytes.of(1, SIZE), SimulatedBuffers.content(region));
                assertGoesOn();
            }
        }
    }

    /** The late bytes of a cancelled read would come into a stage that holds another transfer's by then. */
    @Test
    void shouldPassOverWhatComesLateOfACancelledRead() throws Exception {
        final CountDownLatch half = new CountDownLatch(1);
        final CountDownLatch rest = new CountDownLatch(1);
        PatternBytes.fill(served.segment(), 5);
        good();
        try (ScriptedPeer peer = scripted(one -> {
            final ScriptedPeer.Frame first = one.expect(ScriptedPeer.READ);
            one.header(ScriptedPeer.DATA, 0, first.id(), 0, 0, PART);
            one.raw(PatternBytes.of(6, PART / 2));
            half.countDown();
            rest.await();
            one.raw(PatternBytes.of(6, PART / 2));
            final ScriptedPeer.Frame second = one.expect(ScriptedPeer.READ);
            one.frame(ScriptedPeer.DATA, 0, second.id(), 0, 0, PatternBytes.of(7, PART));
            hang();
        })) {
            final Segment segment = engine.openSegment(peer.address("s"));
            final Transfer cancelled =
                engine.submit(List.of(TransferRequest.read(buffers.pattern(1, SIZE).slice(0, PART), segment, 0)));
            half.await();
            cancelled.cancel();
            assertEquals(TransferFailure.Kind.CANCELED, TcpRig.failureOf(cancelled).kind());
            // Now it is another's: the last one that was freed is the next one to be taken.
            final CountDownLatch inside = new CountDownLatch(1);
            final CountDownLatch go = new CountDownLatch(1);
            devices.beforeWait(holding(inside, go));
            final DeviceRegion region = buffers.pattern(2, SIZE);
            final Transfer other = engine.submit(List.of(TransferRequest.read(region.slice(0, PART), good, 0)));
            inside.await();
            devices.beforeWait(() -> { });
            rest.countDown();
            engine.submit(List.of(TransferRequest.read(buffers.pattern(3, SIZE).slice(0, PART), segment, 0))).await();
            go.countDown();
            other.await();

            final byte[] expected = PatternBytes.of(2, SIZE);
            System.arraycopy(PatternBytes.of(5, SIZE), 0, expected, 0, PART);
            assertArrayEquals(expected, SimulatedBuffers.content(region));
            assertEquals(List.of(), peer.faults());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldFailRetryablyAndGoOnWhenTheServerDies(final boolean write) throws Exception {
        try (ScriptedPeer peer = scripted(one -> one.expect(write ? ScriptedPeer.WRITE : ScriptedPeer.READ))) {
            final Segment segment = engine.openSegment(peer.address("s"));
            final TransferFailure failure = TcpRig.failureOf(move(write, buffers.pattern(1, SIZE), segment));

            assertEquals(TransferFailure.Kind.FAILED, failure.kind());
            assertTrue(failure.retryable());
            assertEquals(peer.address("s"), failure.segment());
            assertEquals(0, engine.outstanding());
            assertGoesOn();
        }
    }

    @Test
    void shouldEndEverythingWhenTheEngineIsClosedUnderASilentServer() throws Exception {
        final TransferEngine hasty = TransferEngine.open(new TransferConfig(16 * PART, 2_000),
            List.of(new TcpTransport(TcpRig.PLAIN, devices.gpus(), new TcpStaging(2, PART, 2))));
        try (ScriptedPeer peer = scripted(one -> hang())) {
            final Segment segment = hasty.openSegment(peer.address("s"));
            final DeviceRegion region = buffers.pattern(1, SIZE);
            final Transfer transfer = hasty.submit(List.of(TransferRequest.write(region.slice(0, SIZE), segment, 0),
                TransferRequest.read(region.slice(0, SIZE), segment, 0)));

            hasty.close();

            assertFalse(hasty.abandoned());
            assertTrue(transfer.isDone());
            assertEquals(TransferFailure.Kind.CANCELED, transfer.failure().kind());
        }
    }

    /** Whoever gives a stage back too early mixes the bytes of two transfers, each of which has bytes of its own. */
    @Test
    void shouldMixNothingWhenTransfersAreCancelledAndLateAtRandom() {
        PatternBytes.fill(served.segment(), 40);
        final Segment segment = good();
        final int threads = 6;
        final CompletableFuture<?>[] all = new CompletableFuture<?>[threads];
        for (int i = 0; i < threads; i++) {
            final SplittableRandom random = new SplittableRandom(i);
            final DeviceRegion region = buffers.pattern(i, SIZE);
            // Each writes what is there already, or reads it: only a mixture can differ.
            all[i] = Threads.start(() -> {
                for (int round = 0; round < 150; round++) {
                    moveOnce(random, region, segment, round % 3 == 0);
                }
            });
        }
        CompletableFuture.allOf(all).join();

        assertArrayEquals(PatternBytes.of(40, SIZE), PatternBytes.copyOf(served.segment()));
        assertEquals(0, engine.outstanding());
        assertGoesOn();
    }

    private void moveOnce(final SplittableRandom random, final DeviceRegion region, final Segment segment,
        final boolean write) {
        final int offset = random.nextInt(SIZE);
        final int length = 1 + random.nextInt(SIZE - offset);
        final byte[] expected = PatternBytes.of(40, SIZE);
        SimulatedBuffers.bytes(region, 0, SIZE).copyFrom(MemorySegment.ofArray(write ? expected : new byte[SIZE]));
        final Transfer transfer = engine.submit(List.of(write
            ? TransferRequest.write(region.slice(offset, length), segment, offset)
            : TransferRequest.read(region.slice(offset, length), segment, offset)),
            random.nextInt(4) == 0 ? TransferOptions.within(1) : TransferOptions.DEFAULT);
        if (random.nextInt(3) == 0) {
            transfer.cancel();
        }
        try {
            transfer.await();
        } catch (final TransferException e) {
            assertTrue(e.failure().kind() == TransferFailure.Kind.CANCELED
                || e.failure().kind() == TransferFailure.Kind.TIMEOUT, e.failure().toString());
            return;
        }
        final byte[] seen = SimulatedBuffers.content(region);
        for (int i = 0; i < SIZE; i++) {
            final boolean inside = write || i >= offset && i < offset + length;
            if (seen[i] != (inside ? expected[i] : 0)) {
                throw new AssertionError("byte " + i + " of " + offset + '+' + length);
            }
        }
    }
}
