package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferFailure.Kind;
import io.kvtier.transport.TransferOptions;
import java.io.IOException;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A thread that moves the bytes it waits for itself: what disturbs it, and what else comes meanwhile. */
@ExtendWith(LeakCheck.class)
class CallerLedTest {
    private static final long SIZE = 64L * TcpRig.MIB;
    private static final int LENGTH = 1000;
    /** Reads of this byte are answered at once; others when the test says so. */
    private static final long AT_ONCE = 7;

    private final CountDownLatch arrived = new CountDownLatch(1);
    private final CountDownLatch answer = new CountDownLatch(1);

    /** Answers reads with the pattern of their place, held ones after the latch. */
    private void serve(final ScriptedPeer.Peer peer) throws IOException, InterruptedException {
        peer.serve(ScriptedPeer.CONNECTION, SIZE);
        while (true) {
            final ScriptedPeer.Frame read = peer.expect(ScriptedPeer.READ);
            if (read.offset() != AT_ONCE) {
                arrived.countDown();
                answer.await();
            }
            peer.frame(ScriptedPeer.DATA, 0, read.id(), 0, 0, PatternBytes.of(read.offset(), LENGTH));
        }
    }

    private static Transfer readAndWaitNext(final TcpRig rig, final Segment segment, final long at,
        final TransferOptions options) {
        final Transfer transfer = rig.engine().newTransfer();
        transfer.read(rig.local(), at, LENGTH, segment, at);
        rig.engine().submitAndWaitNext(transfer, options);
        return transfer;
    }

    /** From now on the loop's thread rests: a caller has just led. */
    private static Segment led(final TcpRig rig, final ScriptedPeer peer) {
        final Segment segment = rig.open(peer.address("s"));
        final long before = rig.stats().ledRequests();
        while (rig.stats().ledRequests() == before) {
            readAndWaitNext(rig, segment, AT_ONCE, TransferOptions.DEFAULT).await();
        }
        return segment;
    }

    private static byte[] read(final TcpRig rig, final long at) {
        return rig.local().segment().asSlice(at, LENGTH).toArray(ValueLayout.JAVA_BYTE);
    }

    @Test
    void shouldReturnWithTheBytesOfWhatItMovedItself() throws Exception {
        try (ScriptedPeer peer = new ScriptedPeer(this::serve); TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            final Segment segment = led(rig, peer);
            answer.countDown();

            for (int i = 0; i < 10; i++) {
                final long at = 1000L * (i + 1);
                readAndWaitNext(rig, segment, at, TransferOptions.DEFAULT).await();
                assertArrayEquals(PatternBytes.of(at, LENGTH), read(rig, at));
            }
            assertEquals(1, rig.stats().connections());
        }
    }

    @Test
    void shouldBeStoppedByItsTimeLimitWhenTheServerIsSilent() throws Exception {
        try (ScriptedPeer peer = new ScriptedPeer(this::serve); TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            final Segment segment = led(rig, peer);

            final Transfer late = readAndWaitNext(rig, segment, 2000, TransferOptions.within(50));

            final TransferFailure failure = TcpRig.failureOf(late);
            assertEquals(Kind.TIMEOUT, failure.kind());
            assertTrue(failure.message().contains("50 ms"), failure.message());
            answer.countDown();
        }
    }

    @Test
    void shouldBeStoppedByACancelOfAnotherThread() throws Exception {
        try (ScriptedPeer peer = new ScriptedPeer(this::serve); TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            final Segment segment = led(rig, peer);
            final Transfer transfer = rig.engine().newTransfer();
            transfer.read(rig.local(), 0, LENGTH, segment, 3000);
            final CompletableFuture<Void> caller = Threads.start(() -> rig.engine().submitAndWaitNext(transfer));
            arrived.await();

            transfer.cancel();

            caller.join();
            assertEquals(Kind.CANCELED, TcpRig.failureOf(transfer).kind());
            answer.countDown();
        }
    }

    @Test
    void shouldKeepAnInterruptAndStillGetItsBytes() throws Exception {
        try (ScriptedPeer peer = new ScriptedPeer(this::serve); TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            final Segment segment = led(rig, peer);
            final CompletableFuture<Thread> started = new CompletableFuture<>();
            final CompletableFuture<Boolean> caller = Threads.start(() -> {
                started.complete(Thread.currentThread());
                readAndWaitNext(rig, segment, 4000, TransferOptions.DEFAULT).await();
                return Thread.interrupted();
            });
            arrived.await();
            started.join().interrupt();
            answer.countDown();

            assertTrue(caller.join());
            assertArrayEquals(PatternBytes.of(4000, LENGTH), read(rig, 4000));
            assertEquals(0, rig.stats().lostConnections(), "the interrupt closed no socket");
        }
    }

    @Test
    void shouldServeOthersWhileItWaits() throws Exception {
        try (ScriptedPeer peer = new ScriptedPeer(this::serve); TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            final Segment segment = led(rig, peer);
            final CompletableFuture<Void> caller =
                Threads.start(() -> readAndWaitNext(rig, segment, 5000, TransferOptions.DEFAULT).await());
            arrived.await();

            final Transfer other = rig.read(segment, 6000, LENGTH, 6000);
            answer.countDown();

            caller.join();
            other.await();
            assertNull(other.failure());
            assertArrayEquals(PatternBytes.of(5000, LENGTH), read(rig, 5000));
            assertArrayEquals(PatternBytes.of(6000, LENGTH), read(rig, 6000));
        }
    }

    @Test
    void shouldGoOverToANewConnectionWhenItsOwnIsLost() throws Exception {
        final TcpConfig patient = TcpRig.PLAIN.withRetry(new TcpRetry(3, 1, 2));
        try (ScriptedPeer peer = new ScriptedPeer(one -> {
            one.serve(ScriptedPeer.CONNECTION, SIZE);
            while (true) {
                final ScriptedPeer.Frame read = one.expect(ScriptedPeer.READ);
                if (read.offset() != AT_ONCE) {
                    return;
                }
                one.frame(ScriptedPeer.DATA, 0, read.id(), 0, 0, PatternBytes.of(read.offset(), LENGTH));
            }
        }, this::serve); TcpRig rig = new TcpRig(patient)) {
            final Segment segment = led(rig, peer);
            answer.countDown();

            readAndWaitNext(rig, segment, 8000, TransferOptions.DEFAULT).await();

            assertArrayEquals(PatternBytes.of(8000, LENGTH), read(rig, 8000));
            assertEquals(1, rig.stats().lostConnections());
            assertEquals(1, rig.stats().retriedRequests());
        }
    }
}
