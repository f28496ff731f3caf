package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Direction;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Many threads on one transport, cancels among them; big regions; memory that goes away. */
@ExtendWith(LeakCheck.class)
class TcpThreadsTest {
    private static final int MIB = 1 << 20;
    private static final AccessToken TOKEN = AccessToken.random();

    private final SegmentServer server = SegmentServer.open(SegmentServerConfig.DEFAULT.withIoThreads(2));

    @AfterEach
    void close() {
        server.close();
    }

    @ParameterizedTest
    @CsvSource({"1, false", "8, false", "1, true", "8, true"})
    void shouldKeepEveryThreadsBytesApartWhileOthersCancel(final int threads, final boolean virtual) {
        final ThreadFactory factory = virtual ? Thread.ofVirtual().factory() : Thread.ofPlatform().daemon().factory();
        final int each = 2 * MIB;
        try (HostRegion remote = HostRegion.allocate(NativeTag.TEST, (long) threads * each);
            HostRegion local = HostRegion.allocate(NativeTag.TEST, 2L * threads * each);
            TransferEngine engine = TransferEngine.open(new TransferConfig(64 << 10, 30_000),
                List.of(new TcpTransport(TcpConfig.DEFAULT.withLanes(4, 2).withWindow(4, 16 << 10))))) {
            final ExportedSegment export = server.export("s", remote, TOKEN, Permission.READ_WRITE);
            final Segment segment = engine.openSegment(export.address(), TOKEN);
            final List<CompletableFuture<Void>> all = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                final int index = i;
                all.add(CompletableFuture.runAsync(() -> new Worker(engine, segment, local, remote, index, each).run(),
                    task -> factory.newThread(task).start()));
            }
            all.forEach(CompletableFuture::join);
            assertEquals(0, engine.outstanding());
            export.close();
        }
    }

    /** Writes and reads its own part again and again; some transfers are cancelled, at any moment. */
    private record Worker(TransferEngine engine, Segment segment, HostRegion local, HostRegion remote, int index,
                          int each) {
        void run() {
            final SplittableRandom random = new SplittableRandom(index);
            final long at = (long) index * each;
            for (int round = 0; round < 30; round++) {
                final int length = 1 + random.nextInt(each);
                final RegionSlice source = local.slice(2 * at, length);
                final RegionSlice target = local.slice(2 * at + each, length);
                PatternBytes.fill(source.segment(), 1000L * index + round);
                if (random.nextInt(3) == 0) {
                    cancelled(random.nextBoolean() ? Direction.READ : Direction.WRITE, source, at, random.nextInt(3));
                    PatternBytes.fill(source.segment(), 1000L * index + round);
                }
                engine.submit(List.of(TransferRequest.write(source, segment, at))).await();
                final byte[] expected = PatternBytes.of(1000L * index + round, length);
                assertArrayEquals(expected, PatternBytes.copyOf(remote.segment().asSlice(at, length)),
                    "a cancelled write came late, or another's bytes");
                engine.submit(List.of(TransferRequest.read(target, segment, at))).await();
                assertArrayEquals(expected, PatternBytes.copyOf(target.segment()));
            }
        }

        private void cancelled(final Direction way, final RegionSlice slice, final long at, final int slices) {
            final Transfer transfer =
                engine.submit(List.of(new TransferRequest(way, slice, segment, at, TransportKind.TCP, true)));
            while (!transfer.isDone() && transfer.movedBytes() < slices * 65_536L) {
                Thread.onSpinWait();
            }
            transfer.cancel();
            try {
                transfer.await();
            } catch (final TransferException e) {
                assertEquals(TransferFailure.Kind.CANCELED, e.failure().kind(), e.getMessage());
            }
        }
    }

    @Test
    void shouldMoveAcrossTheBordersOfItsWindowsInRegionsOfManyGibibytes() {
        final long size = 5L << 30;
        try (HostRegion remote = HostRegion.allocate(NativeTag.TEST, size);
            HostRegion local = HostRegion.allocate(NativeTag.TEST, size);
            TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT,
                List.of(new TcpTransport(TcpConfig.DEFAULT)))) {
            final ExportedSegment export = server.export("big", remote, TOKEN, Permission.READ_WRITE);
            final Segment segment = engine.openSegment(export.address(), TOKEN);
            for (final long border : new long[] {1L << 30, (1L << 31) - 1, 1L << 31, 3L << 30, 1L << 32, size - MIB}) {
                final long at = border - MIB;
                PatternBytes.fill(local.segment().asSlice(at, 2 * MIB), border);
                engine.submit(List.of(TransferRequest.write(local.slice(at, 2 * MIB), segment, at))).await();
                assertArrayEquals(PatternBytes.of(border, 2 * MIB),
                    PatternBytes.copyOf(remote.segment().asSlice(at, 2 * MIB)));
                local.segment().asSlice(at, 2 * MIB).fill((byte) 0);
                engine.submit(List.of(TransferRequest.read(local.slice(at, 2 * MIB), segment, at))).await();
                assertArrayEquals(PatternBytes.of(border, 2 * MIB),
                    PatternBytes.copyOf(local.segment().asSlice(at, 2 * MIB)));
            }
            export.close();
        }
    }

    @Test
    void shouldFailTheTransferAloneWhoseMemoryWasClosedUnderIt() {
        final CompletableFuture<Void> release = new CompletableFuture<>();
        try (HostRegion local = HostRegion.allocate(NativeTag.TEST, 2000);
            ScriptedPeer peer = peer(release, new CountDownLatch(0));
            TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT,
                List.of(new TcpTransport(TcpRig.PLAIN.withRetry(new TcpRetry(3, 1, 1)))))) {
            final Segment segment = engine.openSegment(peer.address("s"));
            final Transfer doomed;
            final Transfer other;
            try (Arena arena = Arena.ofShared()) {
                final MemorySegment gone = arena.allocate(1000);
                doomed = engine.submit(List.of(TransferRequest.read(RegionSlice.of(gone), segment, 0)));
                other = engine.submit(List.of(TransferRequest.read(local.slice(0, 1000), segment, 1000)));
            }
            release.complete(null);

            final TransferFailure failure = TcpRig.failureOf(doomed);
            assertTrue(failure.message().contains("closed under the transfer"), failure.message());
            other.await();
            assertArrayEquals(PatternBytes.of(1000, 1000), PatternBytes.copyOf(local.segment().asSlice(0, 1000)));
        } catch (final IOException e) {
            throw new AssertionError(e);
        }
    }

    /** Answers reads with the pattern of their offset, once it may. */
    private static ScriptedPeer peer(final CompletableFuture<Void> release, final CountDownLatch asked)
        throws IOException {
        return new ScriptedPeer(one -> {
            one.serve(ScriptedPeer.CONNECTION, MIB);
            while (true) {
                final ScriptedPeer.Frame read = one.expect(ScriptedPeer.READ);
                asked.countDown();
                release.join();
                one.frame(ScriptedPeer.DATA, 0, read.id(), 0, 0, PatternBytes.of(read.offset(), (int) read.length()));
            }
        });
    }

    @Test
    void shouldOpenNoMoreConnectionsThanItMayHoweverMuchWaits() throws Exception {
        final int lanes = 3;
        final int requests = 40;
        final CompletableFuture<Void> release = new CompletableFuture<>();
        final CountDownLatch busy = new CountDownLatch(lanes);
        try (HostRegion local = HostRegion.allocate(NativeTag.TEST, 1000L * requests);
            ScriptedPeer peer = peer(release, busy);
            TcpTransport transport = new TcpTransport(TcpRig.PLAIN.withLanes(lanes, 1).withWindow(1, 4096));
            TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT, List.of(transport))) {
            final Segment segment = engine.openSegment(peer.address("s"));
            final Transfer transfer = engine.newTransfer();
            for (int i = 0; i < requests; i++) {
                transfer.read(local, 1000L * i, 1000, segment, 1000L * i);
            }
            engine.submit(transfer);
            // One request each, which is all that they take at a time.
            busy.await();
            release.complete(null);
            transfer.await();

            assertEquals(lanes, transport.stats().connections() + transport.stats().failedConnects());
            for (int i = 0; i < requests; i++) {
                assertArrayEquals(PatternBytes.of(1000L * i, 1000),
                    PatternBytes.copyOf(local.segment().asSlice(1000L * i, 1000)));
            }
        }
    }

    @Test
    void shouldRefuseToOpenInACallback() {
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, 1000);
            TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT,
                List.of(new TcpTransport(TcpConfig.DEFAULT)))) {
            final ExportedSegment export = server.export("s", memory, TOKEN, Permission.READ_WRITE);
            final Segment segment = engine.openSegment(export.address(), TOKEN);
            final Transfer transfer = engine.newTransfer();
            // Many times: the callback runs on the transport's thread only when it was there before the end.
            boolean refused = false;
            while (!refused) {
                transfer.clear();
                engine.submit(transfer.read(memory, 0, 1000, segment, 0));
                final CompletableFuture<Boolean> inside = transfer.future().thenApply(done -> {
                    if (!IoThreads.isIoThread()) {
                        return false;
                    }
                    engine.openSegment(export.address() + "2", TOKEN);
                    return true;
                });
                try {
                    assertEquals(false, inside.join());
                } catch (final CompletionException e) {
                    assertTrue(assertThrows(IllegalStateException.class, () -> {
                        throw e.getCause();
                    }).getMessage().contains("callback"));
                    refused = true;
                }
            }
            segment.close();
            export.close();
        }
    }
}
