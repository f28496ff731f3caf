package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferFailure.Kind;
import io.kvtier.transport.TransferOptions;
import io.kvtier.transport.TransferRequest;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The client against servers that are silent, broken, gone, or slow to let go. */
@ExtendWith(LeakCheck.class)
class BadPeerTest {
    private static final long SIZE = 64L * TcpRig.MIB;
    private static final TcpTimeouts SHORT_REQUEST = new TcpTimeouts(600_000, 100, 600_000);
    private static final TcpTimeouts SHORT_CONNECT = new TcpTimeouts(100, 600_000, 600_000);

    private static void hang() throws InterruptedException {
        new CountDownLatch(1).await();
    }

    private static ScriptedPeer.Script afterOpen(final ScriptedPeer.Script then) {
        return peer -> {
            peer.serve(ScriptedPeer.CONNECTION, SIZE);
            then.run(peer);
        };
    }

    @Test
    void shouldTryAgainAndFailRetryablyWhenTheServerAcceptsAndStaysSilent() throws Exception {
        try (ScriptedPeer peer = new ScriptedPeer(one -> hang());
            TcpRig rig = new TcpRig(TcpRig.PLAIN.withTimeouts(SHORT_CONNECT).withRetry(new TcpRetry(2, 1, 2)))) {
            final TransferFailure failure = rig.refusalOf(peer.address("s"), AccessToken.NONE);

            assertTrue(failure.retryable());
            assertTrue(failure.message().contains("tried 3 times"), failure.message());
            assertTrue(failure.message().contains("handshake within 100 ms"), failure.message());
            for (int i = 0; i < 3; i++) {
                assertEquals(i, peer.awaitConnection());
            }
            assertEquals(3, rig.stats().failedConnects());
        }
    }

    @Test
    void shouldFailRetryablyWhenNobodyListens() throws Exception {
        final String address;
        try (ScriptedPeer peer = new ScriptedPeer(one -> { })) {
            address = peer.address("s");
        }
        try (TcpRig rig = new TcpRig(TcpRig.PLAIN.withRetry(new TcpRetry(1, 1, 1)))) {
            final TransferFailure failure = rig.refusalOf(address, AccessToken.NONE);

            assertEquals(Kind.FAILED, failure.kind());
            assertTrue(failure.retryable());
            assertEquals(address, failure.segment());
            assertTrue(failure.message().contains("Connection refused"), failure.message());
        }
    }

    @Test
    void shouldFailAsTimeoutEverythingOnAConnectionThatIsSilent() throws Exception {
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> hang()));
            TcpRig rig = new TcpRig(TcpRig.PLAIN.withTimeouts(SHORT_REQUEST))) {
            final Segment segment = rig.open(peer.address("s"));
            final Transfer read = rig.read(segment, 0, TcpRig.MIB, 0);
            final Transfer write = rig.write(segment, TcpRig.MIB, TcpRig.MIB, 0);

            for (final Transfer one : List.of(read, write)) {
                final TransferFailure failure = TcpRig.failureOf(one);
                assertEquals(Kind.TIMEOUT, failure.kind());
                assertTrue(failure.retryable());
                assertTrue(failure.message().contains("100 ms"), failure.message());
                assertEquals(TcpRig.MIB, failure.length());
            }
            assertEquals(1, rig.stats().timeouts());
        }
    }

    @Test
    void shouldFailAsTimeoutWhenHalfAFrameComes() throws Exception {
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> {
            final ScriptedPeer.Frame read = one.expect(ScriptedPeer.READ);
            one.header(ScriptedPeer.DATA, 0, read.id(), 0, 0, 1000);
            one.raw(new byte[500]);
            hang();
        })); TcpRig rig = new TcpRig(TcpRig.PLAIN.withTimeouts(SHORT_REQUEST))) {
            final Transfer read = rig.read(rig.open(peer.address("s")), 0, 1000, 0);

            assertEquals(Kind.TIMEOUT, TcpRig.failureOf(read).kind());
            assertEquals(0, read.movedBytes());
        }
    }

    /** What breaks the protocol in answer to a read of 1,000 bytes, and what the failure says. */
    static Stream<Arguments> breaches() {
        return Stream.of(
            breach("another id", "oldest one is 2", (one, id) -> one.frame(ScriptedPeer.DATA, 0, id + 5, 0, 0,
                new byte[1000])),
            breach("garbage", "no frame of this protocol", (one, id) -> one.raw("HTTP/1.1 400 Bad Request\r\n\r\n0123"
                .repeat(3).getBytes(StandardCharsets.US_ASCII))),
            breach("2^40 bytes of data", "1099511627776", (one, id) -> one.header(ScriptedPeer.DATA, 0, id, 0, 0,
                1L << 40)),
            breach("2^64 - 1 bytes of data", "18446744073709551615", (one, id) -> one.header(ScriptedPeer.DATA, 0, id,
                0, 0, -1)),
            breach("2^40 bytes of text", "1099511627776", (one, id) -> one.header(ScriptedPeer.STATUS, 3, id, 0, 0,
                1L << 40)),
            breach("one byte too many", "1001", (one, id) -> one.frame(ScriptedPeer.DATA, 0, id, 0, 0,
                new byte[1001])),
            breach("no byte", "sent 0 bytes", (one, id) -> one.frame(ScriptedPeer.DATA, 0, id, 0, 0)),
            breach("the wrong bytes", "from byte 1 on", (one, id) -> one.frame(ScriptedPeer.DATA, 0, id, 1, 0,
                new byte[10])),
            breach("the end without the data", "too early", (one, id) -> one.frame(ScriptedPeer.STATUS, 0, id, 0, 0)),
            breach("a frame of a client", "none of its own", (one, id) -> one.frame(ScriptedPeer.READ, 0, id, 0, 10)),
            breach("OPENED", "not to be opened", (one, id) -> one.frame(ScriptedPeer.OPENED, 2, id, 0, 10)),
            breach("another version", "version 2", (one, id) -> one.raw(new byte[] {'K', 'V', 2, 33, 0, 0, 0, 0,
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})));
    }

    @FunctionalInterface
    private interface Breach {
        void send(ScriptedPeer.Peer peer, long id) throws IOException;
    }

    private static Arguments breach(final String name, final String says, final Breach breach) {
        return Arguments.of(name, says, breach);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("breaches")
    void shouldEndTheConnectionAndFailWhenTheServerBreaksTheProtocol(final String name, final String says,
        final Breach breach) throws Exception {
        final CountDownLatch ended = new CountDownLatch(1);
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> {
            breach.send(one, one.expect(ScriptedPeer.READ).id());
            one.awaitEnd();
            ended.countDown();
        })); TcpRig rig = new TcpRig(TcpRig.PLAIN.withRetry(new TcpRetry(5, 1, 1)))) {
            final Transfer read = rig.read(rig.open(peer.address("s")), 0, 1000, 0);

            final TransferFailure failure = TcpRig.failureOf(read);
            assertEquals(Kind.FAILED, failure.kind());
            assertFalse(failure.retryable(), "it would break it again");
            assertEquals("tcp", failure.domain());
            assertEquals(9, failure.code());
            assertTrue(failure.message().contains(says), failure.message());
            ended.await();
            assertEquals(0, rig.stats().retriedRequests());
        }
    }

    /** The memory is the caller's again then: the rest would be sent with whatever he has put there meanwhile. */
    @Test
    void shouldNotTakeAWriteForDoneWhoseBytesItHasNotSent() throws Exception {
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> {
            // The sockets cannot hold all of it, and nobody reads.
            one.frame(ScriptedPeer.STATUS, 0, one.nextHeader().id(), 0, 0);
            hang();
        })); TcpRig rig = new TcpRig(TcpRig.PLAIN.withRetry(new TcpRetry(5, 1, 1)))) {
            final Transfer write = rig.write(rig.open(peer.address("s")), 0, 2L * TcpRig.MIB, 0);

            final TransferFailure failure = TcpRig.failureOf(write);
            assertEquals(9, failure.code());
            assertFalse(failure.retryable(), "it would break it again");
            assertTrue(failure.message().contains("too early"), failure.message());
        }
    }

    @Test
    void shouldSendAgainOnANewConnectionWhatALostOneCarried() throws Exception {
        final byte[] bytes = PatternBytes.of(1, 2000);
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> {
            final ScriptedPeer.Frame first = one.expect(ScriptedPeer.READ);
            one.expect(ScriptedPeer.READ);
            one.frame(ScriptedPeer.DATA, 0, first.id(), 0, 0, new byte[700]);
        }), afterOpen(one -> {
            final ScriptedPeer.Frame first = one.expect(ScriptedPeer.READ);
            one.frame(ScriptedPeer.DATA, 0, first.id(), 0, 0, PatternBytes.copyOf(
                MemorySegment.ofArray(bytes).asSlice(first.offset(), 1000)));
            final ScriptedPeer.Frame second = one.expect(ScriptedPeer.READ);
            one.frame(ScriptedPeer.DATA, 0, second.id(), 0, 0, PatternBytes.copyOf(
                MemorySegment.ofArray(bytes).asSlice(second.offset(), 1000)));
            hang();
        })); TcpRig rig = new TcpRig(TcpRig.PLAIN.withRetry(new TcpRetry(1, 1, 1)))) {
            final Segment segment = rig.open(peer.address("s"));
            final Transfer both = rig.engine().submit(List.of(
                TransferRequest.read(rig.local().slice(0, 1000), segment, 0),
                TransferRequest.read(rig.local().slice(1000, 1000), segment, 1000)));
            both.await();

            assertArrayEquals(bytes, PatternBytes.copyOf(rig.local().segment().asSlice(0, 2000)));
            assertEquals(2, rig.stats().retriedRequests());
            assertEquals(1, rig.stats().lostConnections());
            assertEquals(List.of(), peer.faults());
        }
    }

    @Test
    void shouldGiveUpWhenConnectionsAreLostAgainAndAgain() throws Exception {
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> one.expect(ScriptedPeer.READ)));
            TcpRig rig = new TcpRig(TcpRig.PLAIN.withRetry(new TcpRetry(2, 1, 1)))) {
            final TransferFailure failure = TcpRig.failureOf(rig.read(rig.open(peer.address("s")), 0, 1000, 0));

            assertEquals(Kind.FAILED, failure.kind());
            assertTrue(failure.retryable());
            assertTrue(failure.message().contains("the last of 3 times"), failure.message());
            for (int i = 0; i < 3; i++) {
                assertEquals(i, peer.awaitConnection());
            }
        }
    }

    @Test
    void shouldFenceOffALostConnectionBeforeItRepeatsAWrite() throws Exception {
        final List<Integer> types = new ArrayList<>();
        final long[] fenced = {0};
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> {
            one.expect(ScriptedPeer.WRITE);
            one.expect(ScriptedPeer.DATA);
        }), one -> {
            one.welcome(7);
            for (int i = 0; i < 4; i++) {
                final ScriptedPeer.Frame frame = one.next();
                types.add(frame.type());
                if (frame.type() == ScriptedPeer.FENCE) {
                    fenced[0] = frame.offset();
                }
                switch (frame.type()) {
                    case ScriptedPeer.OPEN -> one.frame(ScriptedPeer.OPENED, 2, frame.id(), 0, SIZE);
                    case ScriptedPeer.WRITE -> { }
                    default -> one.frame(ScriptedPeer.STATUS, 0, frame.id(), 0, 0);
                }
            }
            hang();
        }); TcpRig rig = new TcpRig(TcpRig.PLAIN.withRetry(new TcpRetry(1, 1, 1)))) {
            rig.write(rig.open(peer.address("s")), 0, 1000, 0).await();

            assertEquals(List.of(ScriptedPeer.FENCE, ScriptedPeer.OPEN, ScriptedPeer.WRITE, ScriptedPeer.DATA), types);
            assertEquals(ScriptedPeer.CONNECTION, fenced[0]);
        }
    }

    @Test
    void shouldConnectAgainWhenTheServerHasEndedAnIdleConnection() throws Exception {
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> { }), afterOpen(BadPeerTest::answerOne));
            TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            final Segment segment = rig.open(peer.address("s"));
            // Until the client has seen it: a request that met the end would be lost with its connection.
            while (NativeResources.snapshot().containsKey(NativeTag.FILE_DESCRIPTOR)) {
                Thread.onSpinWait();
            }

            rig.read(segment, 0, 1000, 0).await();

            assertArrayEquals(PatternBytes.of(3, 1000), PatternBytes.copyOf(rig.local().segment().asSlice(0, 1000)));
            assertEquals(2, rig.stats().connections());
            assertEquals(0, rig.stats().lostConnections());
        }
    }

    /** Two loops share a peer, and each new request goes to the one with fewer bytes to move. */
    @Test
    void shouldNotCountACancelledReadAsMovedForEver() throws Exception {
        final CountDownLatch halfSent = new CountDownLatch(1);
        final CountDownLatch cancelled = new CountDownLatch(1);
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> {
            final ScriptedPeer.Frame first = one.expect(ScriptedPeer.READ);
            one.header(ScriptedPeer.DATA, 0, first.id(), 0, 0, 1000);
            one.raw(PatternBytes.of(1, 400));
            halfSent.countDown();
            cancelled.await();
            one.raw(PatternBytes.of(2, 600));
            answerOne(one);
        }), afterOpen(BadPeerTest::answerOne)); TcpRig rig = new TcpRig(TcpRig.PLAIN.withLanes(2, 2))) {
            final Segment segment = rig.open(peer.address("s"));
            final Transfer first = rig.read(segment, 0, 1000, 0);
            halfSent.await();
            first.cancel();
            assertEquals(Kind.CANCELED, TcpRig.failureOf(first).kind());
            cancelled.countDown();

            rig.read(segment, 2000, 1000, 0).await();

            assertArrayEquals(PatternBytes.of(3, 1000), PatternBytes.copyOf(rig.local().segment().asSlice(2000, 1000)));
            assertEquals(1, rig.stats().connections(), "the loop of the first has nothing to do");
        }
    }

    private static void answerOne(final ScriptedPeer.Peer one) throws IOException, InterruptedException {
        final ScriptedPeer.Frame read = one.expect(ScriptedPeer.READ);
        one.frame(ScriptedPeer.DATA, 0, read.id(), 0, 0, PatternBytes.of(3, (int) read.length()));
        hang();
    }

    @Test
    void shouldGiveTheMemoryOfACancelledReadBackAtOnceAndKeepTheConnection() throws Exception {
        final CountDownLatch cancelled = new CountDownLatch(1);
        final CountDownLatch halfSent = new CountDownLatch(1);
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> {
            final ScriptedPeer.Frame first = one.expect(ScriptedPeer.READ);
            final ScriptedPeer.Frame second = one.expect(ScriptedPeer.READ);
            one.header(ScriptedPeer.DATA, 0, first.id(), 0, 0, 1000);
            one.raw(PatternBytes.of(1, 400));
            halfSent.countDown();
            cancelled.await();
            one.raw(PatternBytes.of(2, 600));
            one.frame(ScriptedPeer.DATA, 0, second.id(), 0, 0, PatternBytes.of(3, 1000));
            hang();
        })); TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            final Segment segment = rig.open(peer.address("s"));
            final Transfer first = rig.read(segment, 0, 1000, 0);
            final Transfer second = rig.read(segment, 2000, 1000, 0);
            halfSent.await();

            first.cancel();
            assertEquals(Kind.CANCELED, TcpRig.failureOf(first).kind());
            // Nobody but the caller touches it any more.
            rig.local().segment().asSlice(0, 1000).fill((byte) 5);
            cancelled.countDown();
            second.await();

            assertArrayEquals(PatternBytes.of(3, 1000), PatternBytes.copyOf(rig.local().segment().asSlice(2000, 1000)));
            for (final byte one : PatternBytes.copyOf(rig.local().segment().asSlice(0, 1000))) {
                assertEquals(5, one);
            }
            assertEquals(0, rig.stats().lostConnections());
        }
    }

    @Test
    void shouldEndACancelledWriteBetweenChunksAndKeepTheConnection() throws Exception {
        final CountDownLatch begun = new CountDownLatch(1);
        final CountDownLatch asked = new CountDownLatch(1);
        final List<Integer> types = new ArrayList<>();
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> {
            final ScriptedPeer.Frame write = one.expect(ScriptedPeer.WRITE);
            begun.countDown();
            // The sockets cannot hold all of it, so it is still being sent when the cancel comes.
            asked.await();
            ScriptedPeer.Frame frame = one.next();
            while (frame.type() == ScriptedPeer.DATA) {
                frame = one.next();
            }
            types.add(frame.type());
            one.frame(ScriptedPeer.STATUS, 6, write.id(), 0, 0);
            final ScriptedPeer.Frame read = one.expect(ScriptedPeer.READ);
            one.frame(ScriptedPeer.DATA, 0, read.id(), 0, 0, PatternBytes.of(3, 1000));
            hang();
        })); TcpRig rig = new TcpRig(TcpRig.PLAIN.withWindow(16, 4096))) {
            final Segment segment = rig.open(peer.address("s"));
            final Transfer write = rig.write(segment, 0, 16L * TcpRig.MIB, 0);
            begun.await();
            write.cancel();
            asked.countDown();

            final boolean whole = awaitEnd(write) == null;
            rig.read(segment, 0, 1000, 0).await();

            assertEquals(List.of(), peer.faults());
            assertEquals(0, rig.stats().lostConnections());
            assertFalse(whole, "the script answers an aborted write only");
            assertEquals(List.of(ScriptedPeer.ABORT), types);
        }
    }

    private static TransferFailure awaitEnd(final Transfer transfer) {
        while (!transfer.isDone()) {
            Thread.onSpinWait();
        }
        return transfer.failure();
    }

    @Test
    void shouldCloseTheConnectionOfACancelledWriteThatIsStuckAndMoveTheOthers() throws Exception {
        final CountDownLatch begun = new CountDownLatch(1);
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> {
            one.nextHeader();
            begun.countDown();
            hang();
        }), one -> {
            one.welcome(8);
            one.frame(ScriptedPeer.STATUS, 0, one.expect(ScriptedPeer.FENCE).id(), 0, 0);
            one.open(SIZE);
            final ScriptedPeer.Frame read = one.expect(ScriptedPeer.READ);
            one.frame(ScriptedPeer.DATA, 0, read.id(), 0, 0, PatternBytes.of(4, 1000));
            hang();
        }); TcpRig rig = new TcpRig(TcpRig.PLAIN.withRetry(new TcpRetry(1, 1, 1)))) {
            final Segment segment = rig.open(peer.address("s"));
            final Transfer write = rig.write(segment, 0, 16L * TcpRig.MIB, 0);
            begun.await();
            final Transfer read = rig.read(segment, 20L * TcpRig.MIB, 1000, 0);
            write.cancel();

            assertEquals(Kind.CANCELED, TcpRig.failureOf(write).kind());
            read.await();

            assertArrayEquals(PatternBytes.of(4, 1000),
                PatternBytes.copyOf(rig.local().segment().asSlice(20L * TcpRig.MIB, 1000)));
            assertEquals(List.of(), peer.faults());
        }
    }

    @Test
    void shouldEndWhatIsStillQueuedAtOnceWhenCancelled() throws Exception {
        final CountDownLatch closing = new CountDownLatch(1);
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> {
            final ScriptedPeer.Frame first = one.expect(ScriptedPeer.READ);
            closing.await();
            one.frame(ScriptedPeer.DATA, 0, first.id(), 0, 0, new byte[1000]);
            hang();
        })); TcpRig rig = new TcpRig(TcpRig.PLAIN.withWindow(1, 4096))) {
            final Segment segment = rig.open(peer.address("s"));
            final Transfer first = rig.read(segment, 0, 1000, 0);
            final Transfer queued = rig.read(segment, 1000, 1000, 0);

            queued.cancel();
            assertEquals(Kind.CANCELED, TcpRig.failureOf(queued).kind());
            assertFalse(first.isDone());
            closing.countDown();
            first.await();
            first.cancel();
            assertNull(first.failure(), "cancelled after its end");
        }
    }

    @Test
    void shouldEndAtItsDeadlineThoughTheServerIsSilent() throws Exception {
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> hang())); TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            final Segment segment = rig.open(peer.address("s"));
            final Transfer read = rig.engine().submit(
                List.of(TransferRequest.read(rig.local().slice(0, 1000), segment, 0)), TransferOptions.within(50));
            final Transfer write = rig.engine().submit(List.of(
                TransferRequest.write(rig.local().slice(0, 1000), segment, 0)), TransferOptions.within(50));

            assertEquals(Kind.TIMEOUT, TcpRig.failureOf(read).kind());
            assertEquals(Kind.TIMEOUT, TcpRig.failureOf(write).kind());
        }
    }

    @Test
    void shouldEndEverythingWhenTheEngineIsClosedUnderASilentServer() throws Exception {
        try (ScriptedPeer peer = new ScriptedPeer(afterOpen(one -> hang()))) {
            final TcpTransport transport = new TcpTransport(TcpRig.PLAIN);
            final TransferEngine engine = TransferEngine.open(
                new TransferConfig(16L << 20, 50), List.of(transport));
            final Transfer transfer;
            try (HostRegion local = HostRegion.allocate(NativeTag.TEST, 1000)) {
                final Segment segment = engine.openSegment(peer.address("s"));
                transfer = engine.submit(List.of(TransferRequest.write(local.slice(0, 500), segment, 0),
                    TransferRequest.read(local.slice(500, 500), segment, 0)));
                engine.close();
            }
            assertFalse(engine.abandoned());
            assertTrue(transfer.isDone());
            assertEquals(Kind.CANCELED, transfer.failure().kind());
        }
    }
}
