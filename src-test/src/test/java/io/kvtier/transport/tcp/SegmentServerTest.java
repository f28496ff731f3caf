package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.BorrowedRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MappedRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SharedSecret;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.TransferFailure.Kind;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the server lets in, and what it refuses. */
@ExtendWith(LeakCheck.class)
class SegmentServerTest {
    private static final int SIZE = 10_000;
    private static final AccessToken TOKEN = AccessToken.of("000102030405060708090a0b0c0d0e0f");
    private static final ServerLimits PATIENT =
        new ServerLimits(256, 1L << 30, 1 << 20, 64, 0, 600_000, 600_000, 600_000);
    private static final SharedSecret SECRET = SharedSecret.of("a secret of more than 16 bytes");

    private final HostRegion memory = HostRegion.allocate(NativeTag.TEST, SIZE);
    private SegmentServer server;

    @BeforeEach
    void open() {
        PatternBytes.fill(memory.segment(), 1);
        serve(SegmentServerConfig.DEFAULT.withLimits(PATIENT));
    }

    @AfterEach
    void close() {
        server.close();
        memory.close();
    }

    private void serve(final SegmentServerConfig config) {
        if (server != null) {
            server.close();
        }
        server = SegmentServer.open(config);
    }

    private ExportedSegment export(final Permission permission) {
        return server.export("s", memory, TOKEN, permission);
    }

    private ScriptedPeer.Peer client() throws IOException {
        return ScriptedPeer.Peer.to(server.address().getPort());
    }

    private static void assertStatus(final int code, final String says, final ScriptedPeer.Frame frame) {
        assertEquals(ScriptedPeer.STATUS, frame.type());
        final String text = new String(frame.body(), StandardCharsets.UTF_8);
        assertEquals(code, frame.code(), text);
        assertTrue(text.contains(says), text);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0.0.0.0", "::"})
    void shouldListenBeyondThisMachineOnlyWithASecretOrTheWord(final String everywhere) {
        final SegmentServerConfig open = SegmentServerConfig.DEFAULT.at(everywhere, 0);

        final String refusal = assertThrows(IllegalArgumentException.class, () -> SegmentServer.open(open))
            .getMessage();
        assertTrue(refusal.contains(everywhere) && refusal.contains("insecure"), refusal);
        SegmentServer.open(open.withSecret(SECRET)).close();
        SegmentServer.open(open.withInsecure(true)).close();
    }

    @Test
    void shouldSayWhichPortIsTaken() {
        final int port = server.address().getPort();

        final String refusal = assertThrows(UncheckedIOException.class,
            () -> SegmentServer.open(SegmentServerConfig.DEFAULT.at("127.0.0.1", port))).getMessage();
        assertTrue(refusal.contains(Integer.toString(port)) && refusal.contains("in use"), refusal);
    }

    @Test
    void shouldRefuseAWrongTokenAndAnUnknownName() {
        final ExportedSegment export = export(Permission.READ_WRITE);
        try (TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            final TransferFailure token = rig.refusalOf(export.address(), AccessToken.random());
            assertEquals(2, token.code());
            assertFalse(token.retryable());
            assertTrue(token.message().contains("'s'"), token.message());
            assertEquals(export.address(), token.segment());

            final TransferFailure name = rig.refusalOf(export.address() + "x", TOKEN);
            assertEquals(1, name.code());
            assertFalse(name.retryable());
            assertTrue(name.message().contains("'sx'"), name.message());

            assertEquals(SIZE, sizeOf(rig, export), "and the connection serves on");
            assertEquals(2, rig.stats().refusedRequests());
        }
    }

    private static long sizeOf(final TcpRig rig, final ExportedSegment export) {
        final Segment segment = rig.engine().openSegment(export.address(), TOKEN);
        rig.read(segment, 0, SIZE, 0).await();
        return assertThrows(TransferException.class, () -> rig.read(segment, 0, SIZE + 1L, 0)).failure().message()
            .contains("segment of " + SIZE + " bytes") ? SIZE : -1;
    }

    @Test
    void shouldLetInOnlyWhoKnowsTheSecret() {
        serve(SegmentServerConfig.DEFAULT.withSecret(SECRET));
        final ExportedSegment export = export(Permission.READ_ONLY);
        final SharedSecret other = SharedSecret.of("another secret of more than 16 bytes");
        for (final TcpConfig config : new TcpConfig[] {TcpRig.PLAIN, TcpRig.PLAIN.withSecret(other)}) {
            try (TcpRig rig = new TcpRig(config)) {
                final TransferFailure failure = rig.refusalOf(export.address(), TOKEN);
                assertEquals(66, failure.code());
                assertFalse(failure.retryable());
                assertTrue(failure.message().contains("shared secret"), failure.message());
            }
        }
        try (TcpRig rig = new TcpRig(TcpRig.PLAIN.withSecret(SECRET))) {
            assertEquals(SIZE, sizeOf(rig, export));
        }
        serve(SegmentServerConfig.DEFAULT);
        try (TcpRig rig = new TcpRig(TcpRig.PLAIN.withSecret(SECRET))) {
            assertEquals(66, rig.refusalOf(export(Permission.READ_ONLY).address(), TOKEN).code(),
                "a server that does not ask may be another one");
        }
    }

    /** A client of this library does not even try without the secret. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 31, 32})
    void shouldRefuseAProofThatIsNone(final int length) throws IOException {
        serve(SegmentServerConfig.DEFAULT.withLimits(PATIENT).withSecret(SECRET));
        try (ScriptedPeer.Peer peer = client()) {
            final byte[] hello = new byte[36];
            hello[0] = 1;
            hello[1] = 1;
            peer.frame(ScriptedPeer.HELLO, 0, 0, 0, 0, hello);
            assertEquals(1, peer.expect(ScriptedPeer.CHALLENGE).body()[1], "it asks for the secret");
            peer.frame(ScriptedPeer.PROOF, 0, 0, 0, 0, new byte[length]);

            assertStatus(66, "did not prove", peer.next());
            peer.awaitEnd();
        }
    }

    @Test
    void shouldRefuseAServerThatDoesNotKnowTheSecretThoughItAsksForIt() throws IOException {
        try (ScriptedPeer liar = new ScriptedPeer(peer -> {
            peer.expect(ScriptedPeer.HELLO);
            final byte[] challenge = new byte[36];
            challenge[0] = 1;
            challenge[1] = 1;
            peer.frame(ScriptedPeer.CHALLENGE, 0, 0, 0, 0, challenge);
            final byte[] proof = peer.expect(ScriptedPeer.PROOF).body();
            // The client's own proof sent back.
            final byte[] welcome = ByteBuffer.allocate(64).putLong(1).putLong(1 << 20).putInt(1 << 20)
                .putInt(1).putInt(1).putInt(0).put(proof).array();
            peer.frame(ScriptedPeer.WELCOME, 0, 0, 0, 0, welcome);
            peer.awaitEnd();
        }); TcpRig rig = new TcpRig(TcpRig.PLAIN.withSecret(SECRET))) {
            final TransferFailure failure = rig.refusalOf(liar.address("s"), TOKEN);
            assertEquals(66, failure.code());
            assertTrue(failure.message().contains("did not prove"), failure.message());
        }
    }

    @Test
    void shouldOnlyBeReadWhenExportedReadOnly() throws IOException {
        final ExportedSegment export = export(Permission.READ_ONLY);
        try (TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            final Segment segment = rig.engine().openSegment(export.address(), TOKEN);
            rig.read(segment, 0, SIZE, 0).await();
            assertArrayEquals(PatternBytes.of(1, SIZE), PatternBytes.copyOf(rig.local().segment().asSlice(0, SIZE)));

            final TransferFailure failure =
                assertThrows(TransferException.class, () -> rig.write(segment, 0, 10, 0)).failure();
            assertEquals(Kind.INVALID, failure.kind());
            assertTrue(failure.message().contains("read only"), failure.message());
        }
        // The server does not take the client's word for it.
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            peer.open(0, 1, TOKEN.bytes(), "s");
            peer.frame(ScriptedPeer.WRITE, 0, 2, 0, 5);
            peer.frame(ScriptedPeer.DATA, 0, 2, 0, 0, new byte[5]);
            assertStatus(4, "read only", peer.next());
        }
        assertArrayEquals(PatternBytes.of(1, SIZE), PatternBytes.copyOf(memory.segment()));
    }

    @ParameterizedTest
    @CsvSource({"0, 10001", "10000, 1", "9999, 2", "-1, 1", "-1, 2", "9223372036854775807, 1",
        "9223372036854775807, 1000000", "-9223372036854775808, 10", "1099511627776, 10"})
    void shouldRefuseARangeOutsideAndGoOn(final long offset, final long length) throws IOException {
        export(Permission.READ_WRITE);
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            final ScriptedPeer.Frame opened = peer.open(3, 1, TOKEN.bytes(), "s");
            assertEquals(ScriptedPeer.OPENED, opened.type());
            assertEquals(SIZE, opened.length());
            assertEquals(2, opened.code());

            peer.frame(ScriptedPeer.READ, 3, 2, offset, length);
            assertStatus(3, "segment 's' of 10000 bytes", peer.next());
            final byte[] junk = new byte[(int) length];
            peer.frame(ScriptedPeer.WRITE, 3, 3, offset, length);
            peer.frame(ScriptedPeer.DATA, 0, 3, 0, 0, junk);
            assertStatus(3, Long.toUnsignedString(offset), peer.next());

            peer.frame(ScriptedPeer.READ, 3, 4, 0, 10);
            assertArrayEquals(Arrays.copyOf(PatternBytes.of(1, SIZE), 10), peer.next().body());
        }
        assertArrayEquals(PatternBytes.of(1, SIZE), PatternBytes.copyOf(memory.segment()));
    }

    @Test
    void shouldTakeARequestOfTheGreatestLengthAndNoneThatIsLonger() throws IOException {
        serve(SegmentServerConfig.DEFAULT.withLimits(
            new ServerLimits(256, SIZE - 1, 1 << 20, 64, 0, 600_000, 600_000, 600_000)));
        export(Permission.READ_WRITE);
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            peer.open(0, 1, TOKEN.bytes(), "s");
            peer.frame(ScriptedPeer.WRITE, 0, 2, 0, SIZE - 1);
            peer.frame(ScriptedPeer.DATA, 0, 2, 0, 0, PatternBytes.of(2, SIZE - 1));
            assertStatus(0, "", peer.next());
            peer.frame(ScriptedPeer.READ, 0, 3, 0, SIZE - 1);
            assertArrayEquals(PatternBytes.of(2, SIZE - 1), peer.expect(ScriptedPeer.DATA).body());

            peer.frame(ScriptedPeer.READ, 0, 4, 0, SIZE);
            assertStatus(7, "longest", peer.next());
            peer.awaitEnd();
        }
    }

    /** What a client must not say after its handshake, and what it is told. */
    @ParameterizedTest
    @CsvSource({"17, 0, 0, 1099511627776, 0, 7, 1099511627776", "18, 0, 0, 1099511627776, 0, 7, longest",
        "17, 0, 0, -1, 0, 7, 18446744073709551615", "17, 0, 0, 0, 0, 9, 0 bytes", "17, 1024, 0, 1, 0, 9, 1024",
        "17, -1, 0, 1, 0, 9, 4294967295", "33, 0, 0, 0, 10, 9, none is due", "33, 0, 0, 0, 1099511627776, 9, none",
        "16, 0, 0, 0, 1099511627776, 9, 1099511627776", "16, 0, 0, 0, 16, 9, name", "21, 0, 0, 0, 0, 9, ABORT",
        "34, 0, 0, 0, 0, 9, type 34", "99, 0, 0, 0, 0, 9, type 99"})
    void shouldSayWhatIsWrongAndEndTheConnectionWhenAFrameBreaksTheProtocol(final int type, final int code,
        final long offset, final long length, final long body, final int status, final String says) throws IOException {
        export(Permission.READ_WRITE);
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            peer.header(type, code, 1, offset, length, body);
            if (body > 0 && body < 100) {
                peer.raw(new byte[(int) body]);
            }
            final ScriptedPeer.Frame told = peer.next();
            assertStatus(status, says, told);
            assertEquals(0, told.id());
            peer.awaitEnd();
        }
    }

    /** The buffer of answers is 8 KiB: four fill it but for 79 bytes, and there is no room for the text any more. */
    @Test
    void shouldSayWhatIsWrongWhenTheAnswersBeforeHardlyLeaveRoomForIt() throws IOException {
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            final ByteBuffer all = ByteBuffer.allocate(5 * 40 + 4 * AccessToken.BYTES + 3 * 644 + 1000);
            for (final int length : new int[] {644, 644, 644, 1000}) {
                // Each byte of these names is three of the text.
                final byte[] name = new byte[length];
                Arrays.fill(name, (byte) 0xff);
                all.put(new byte[] {'K', 'V', 1, ScriptedPeer.OPEN, 0, 0, 0, 0}).putLong(1).putLong(0).putLong(0)
                    .putLong(AccessToken.BYTES + length).put(TOKEN.bytes()).put(name);
            }
            all.put(new byte[] {'K', 'V', 1, 99, 0, 0, 0, 0}).putLong(1).putLong(0).putLong(0).putLong(0);
            peer.raw(all.array());

            for (int i = 0; i < 4; i++) {
                assertStatus(1, "nothing is exported", peer.next());
            }
            assertStatus(9, "type 99", peer.next());
            peer.awaitEnd();
        }
    }

    @Test
    void shouldRefuseOtherFramesBetweenTheDataOfAWrite() throws IOException {
        export(Permission.READ_WRITE);
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            peer.open(0, 1, TOKEN.bytes(), "s");
            peer.frame(ScriptedPeer.WRITE, 0, 2, 0, 10);
            peer.frame(ScriptedPeer.DATA, 0, 2, 0, 0, new byte[5]);
            peer.frame(ScriptedPeer.READ, 0, 3, 0, 10);
            assertStatus(9, "between the data of write 2", peer.next());
            peer.awaitEnd();
        }
    }

    @ParameterizedTest
    @CsvSource({"33, 3, 5, 5, of request 2 is due", "33, 2, 0, 5, byte 5 of 10", "33, 2, 6, 4, byte 5 of 10",
        "33, 2, 5, 6, 6 bytes of data", "33, 2, 5, 0, 0 bytes of data", "21, 3, 0, 0, ABORT of request 3"})
    void shouldRefuseDataThatIsNotDue(final int type, final long id, final long offset, final int length,
        final String says) throws IOException {
        export(Permission.READ_WRITE);
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            peer.open(0, 1, TOKEN.bytes(), "s");
            peer.write(0, 2, 10, new byte[5]);
            peer.frame(type, 0, id, offset, 0, new byte[length]);
            assertStatus(9, says, peer.next());
            peer.awaitEnd();
        }
        final byte[] expected = PatternBytes.of(1, SIZE);
        Arrays.fill(expected, 0, 5, (byte) 0);
        assertArrayEquals(expected, PatternBytes.copyOf(memory.segment()));
    }

    @Test
    void shouldEndAWriteThatIsAborted() throws IOException {
        export(Permission.READ_WRITE);
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            peer.open(0, 1, TOKEN.bytes(), "s");
            peer.frame(ScriptedPeer.WRITE, 0, 2, 100, 10);
            peer.frame(ScriptedPeer.DATA, 0, 2, 0, 0, new byte[4]);
            peer.frame(ScriptedPeer.ABORT, 0, 2, 0, 0);
            assertStatus(6, "", peer.next());
        }
        final byte[] expected = PatternBytes.of(1, SIZE);
        Arrays.fill(expected, 100, 104, (byte) 0);
        assertArrayEquals(expected, PatternBytes.copyOf(memory.segment()));
    }

    @Test
    void shouldEndAHandshakeThatTricklesIn() throws IOException {
        serve(SegmentServerConfig.DEFAULT.withLimits(new ServerLimits(256, 1L << 30, 1 << 20, 64, 0, 50, 600_000,
            600_000)));
        try (ScriptedPeer.Peer peer = client()) {
            // One byte after the other, until it is cut off: -1 or a reset.
            int sent = 0;
            try {
                while (true) {
                    peer.raw(new byte[] {(byte) (sent == 0 ? 'K' : sent == 1 ? 'V' : 0)});
                    sent = Math.min(sent + 1, 2);
                    Thread.onSpinWait();
                }
            } catch (final IOException e) {
                assertEquals(2, sent);
            }
        }
    }

    @Test
    void shouldEndAHandshakeThatDoesNotBeginAndARequestThatDoesNotEnd() throws IOException {
        serve(SegmentServerConfig.DEFAULT.withLimits(
            new ServerLimits(256, 1L << 30, 1 << 20, 64, 0, 50, 600_000, 600_000)));
        try (ScriptedPeer.Peer silent = client()) {
            assertEquals(-1, silent.read());
        }
        // The handshakes that follow take as long as they take.
        serve(SegmentServerConfig.DEFAULT.withLimits(
            new ServerLimits(256, 1L << 30, 1 << 20, 64, 0, 600_000, 50, 600_000)));
        export(Permission.READ_WRITE);
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            peer.raw(new byte[] {'K', 'V', 1});
            assertEquals(-1, peer.read());
        }
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            peer.open(0, 1, TOKEN.bytes(), "s");
            peer.write(0, 2, 10, new byte[5]);
            assertEquals(-1, peer.read());
        }
    }

    @Test
    void shouldCloseAnIdleConnection() throws IOException {
        serve(SegmentServerConfig.DEFAULT.withLimits(
            new ServerLimits(256, 1L << 30, 1 << 20, 64, 0, 600_000, 600_000, 50)));
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            assertEquals(-1, peer.read());
        }
    }

    @Test
    void shouldTurnAwayWhoIsTooMany() throws IOException {
        serve(SegmentServerConfig.DEFAULT.withLimits(new ServerLimits(1, 1L << 30, 1 << 20, 64, 0, 600_000, 600_000,
            600_000)));
        final ExportedSegment export = export(Permission.READ_WRITE);
        try (TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            try (ScriptedPeer.Peer first = client()) {
                first.join();
                final TransferFailure failure = rig.refusalOf(export.address(), TOKEN);
                assertEquals(67, failure.code());
                assertTrue(failure.retryable());
                assertTrue(failure.message().contains("maxConnections"), failure.message());
            }
            while (server.connections() > 0) {
                Thread.onSpinWait();
            }
            assertEquals(SIZE, sizeOf(rig, export));
        }
    }

    @Test
    void shouldWaitForRunningRequestsWhenAnExportIsClosedAndThenRefuse() throws Exception {
        final ExportedSegment export = export(Permission.READ_WRITE);
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            peer.open(0, 1, TOKEN.bytes(), "s");
            peer.frame(ScriptedPeer.WRITE, 0, 2, 0, 10);
            peer.frame(ScriptedPeer.DATA, 0, 2, 0, 0, new byte[5]);
            // So that the server has seen the write begin: another connection's answer does not tell.
            while (memory.segment().get(ValueLayout.JAVA_INT_UNALIGNED, 1) != 0) {
                Thread.onSpinWait();
            }
            final Thread closer = Thread.ofPlatform().start(export::close);
            assertTrue(Threads.awaitWaiting(closer), "closed under a running request");

            peer.frame(ScriptedPeer.DATA, 0, 2, 5, 0, new byte[5]);
            assertStatus(0, "", peer.next());
            closer.join();
            peer.frame(ScriptedPeer.READ, 0, 3, 0, 10);
            assertStatus(5, "closed", peer.next());
        }
        try (TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            assertEquals(1, rig.refusalOf(export.address(), TOKEN).code());
        }
        export(Permission.READ_ONLY).close();
    }

    /** Each frame comes on time, and with one byte in each there are days of them. */
    @Test
    @Timeout(value = 1, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void shouldNotWaitForAClientThatGoesOnAndOnWhenAnExportIsClosed() throws Exception {
        serve(SegmentServerConfig.DEFAULT.withLimits(new ServerLimits(256, 1L << 30, 1 << 20, 64, 0, 600_000, 2000,
            600_000)));
        try (HostRegion large = HostRegion.allocate(NativeTag.TEST, 64L << 20); ScriptedPeer.Peer peer = client()) {
            final ExportedSegment export = server.export("s", large, TOKEN, Permission.READ_WRITE);
            peer.join();
            peer.open(0, 1, TOKEN.bytes(), "s");
            peer.frame(ScriptedPeer.WRITE, 0, 2, 0, large.byteSize());
            peer.frame(ScriptedPeer.DATA, 0, 2, 0, 0, (byte) 1);
            while (large.segment().get(ValueLayout.JAVA_BYTE, 0) == 0) {
                Thread.onSpinWait();
            }
            final Thread closer = Thread.ofPlatform().start(export::close);
            int sent = 1;
            try {
                while (closer.isAlive()) {
                    peer.frame(ScriptedPeer.DATA, 0, 2, sent++, 0, (byte) 1);
                }
            } catch (final IOException e) {
                assertTrue(sent > 1, "it had begun");
            }
            closer.join();
            assertTrue(sent < large.byteSize());
        }
    }

    @Test
    void shouldTellTheClientThatAnExportWasClosed() {
        final ExportedSegment export = export(Permission.READ_WRITE);
        try (TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            final Segment segment = rig.engine().openSegment(export.address(), TOKEN);
            export.close();

            final TransferFailure failure = TcpRig.failureOf(rig.read(segment, 0, 100, 50));
            assertEquals(Kind.FAILED, failure.kind());
            assertEquals("tcp", failure.domain());
            assertEquals(5, failure.code());
            assertFalse(failure.retryable());
            assertEquals(50, failure.offset());
            assertEquals(100, failure.length());
            assertEquals(5, TcpRig.failureOf(rig.write(segment, 0, 100, 50)).code());
        }
        assertArrayEquals(PatternBytes.of(1, SIZE), PatternBytes.copyOf(memory.segment()));
    }

    @Test
    void shouldKeepTheMemoryUntilTheExportIsClosed() {
        final HostRegion region = HostRegion.allocate(NativeTag.TEST, 100);
        PatternBytes.fill(region.segment(), 3);
        final ExportedSegment export = server.export("kept", region, TOKEN, Permission.READ_ONLY);
        region.close();
        try (TcpRig rig = new TcpRig(TcpRig.PLAIN)) {
            rig.read(rig.engine().openSegment(export.address(), TOKEN), 0, 100, 0).await();
            assertArrayEquals(PatternBytes.of(3, 100), PatternBytes.copyOf(rig.local().segment().asSlice(0, 100)));
        }
        export.close();
        assertFalse(region.tryRetain());
        assertThrows(IllegalStateException.class,
            () -> server.export("gone", region, TOKEN, Permission.READ_ONLY));
    }

    @Test
    void shouldNotHoldMemoryThatItCannotExport() {
        final HostRegion region = HostRegion.allocate(NativeTag.TEST, 100);
        assertThrows(RuntimeException.class,
            () -> server.export("half of a pair: \ud800", region, TOKEN, Permission.READ_ONLY));
        region.close();
        assertFalse(region.segment().scope().isAlive(), "the memory is still held");
    }

    /** Its release is the last word of whoever used the memory last, and may fail. */
    @Test
    void shouldNotBeWaitedForWhenItsMemoryCannotBeReleased() throws InterruptedException {
        final ExportedSegment export = server.export("kept", memory, TOKEN, Permission.READ_ONLY);
        memory.release();
        assertThrows(IllegalStateException.class, export::close);

        final Thread closer = Thread.ofPlatform().daemon().start(export::close);

        assertFalse(Threads.awaitWaiting(closer), "it is waited for for ever");
        closer.join();
    }

    @Test
    void shouldRefuseToExportWhatItCannotServe() {
        assertThrows(IllegalArgumentException.class, () -> server.export("", memory, TOKEN, Permission.READ_ONLY));
        assertThrows(IllegalArgumentException.class,
            () -> server.export("n".repeat(1025), memory, TOKEN, Permission.READ_ONLY));
        assertThrows(IllegalArgumentException.class, () -> server.export("heap",
            new BorrowedRegion(MemorySegment.ofArray(new byte[10])), TOKEN, Permission.READ_ONLY));
        assertThrows(IllegalArgumentException.class, () -> server.export("constant",
            new BorrowedRegion(memory.segment().asReadOnly()), TOKEN, Permission.READ_WRITE));
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment confined = arena.allocate(10);
            assertThrows(IllegalArgumentException.class, () -> server.export("confined",
                new BorrowedRegion(confined), TOKEN, Permission.READ_ONLY));
        }
        export(Permission.READ_ONLY);
        assertTrue(assertThrows(IllegalStateException.class, () -> export(Permission.READ_ONLY)).getMessage()
            .contains("exported already"));
        server.close();
        assertThrows(IllegalStateException.class, () -> server.export("late", memory, TOKEN, Permission.READ_ONLY));
    }

    @Test
    void shouldAnswerRunningRequestsWhenItIsClosed() throws Exception {
        export(Permission.READ_WRITE);
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            peer.open(0, 1, TOKEN.bytes(), "s");
            peer.frame(ScriptedPeer.WRITE, 0, 2, 0, 10);
            peer.frame(ScriptedPeer.DATA, 0, 2, 0, 0, new byte[5]);
            while (memory.segment().get(ValueLayout.JAVA_INT_UNALIGNED, 1) != 0) {
                Thread.onSpinWait();
            }
            final Thread closer = Thread.ofPlatform().start(server::close);
            assertTrue(Threads.awaitWaiting(closer), "closed under a running request");
            peer.frame(ScriptedPeer.DATA, 0, 2, 5, 0, new byte[5]);
            assertStatus(0, "", peer.next());
            assertEquals(-1, peer.read());
            closer.join();
        }
    }

    @Test
    void shouldNotWaitForEverForAClientWhenItIsClosed() throws Exception {
        serve(SegmentServerConfig.DEFAULT.withLimits(PATIENT).withCloseTimeoutMs(50));
        export(Permission.READ_WRITE);
        try (ScriptedPeer.Peer peer = client()) {
            peer.join();
            peer.open(0, 1, TOKEN.bytes(), "s");
            peer.frame(ScriptedPeer.WRITE, 0, 2, 0, 10);

            server.close();

            peer.awaitEnd();
        }
    }

    @Test
    void shouldEndAConnectionBeforeItSaysThatItIsFencedOff() throws IOException {
        serve(SegmentServerConfig.DEFAULT.withIoThreads(2).withLimits(PATIENT));
        export(Permission.READ_WRITE);
        try (ScriptedPeer.Peer old = client(); ScriptedPeer.Peer fresh = client()) {
            final long number = old.join();
            old.open(0, 1, TOKEN.bytes(), "s");
            old.frame(ScriptedPeer.WRITE, 0, 2, 0, 10);
            old.frame(ScriptedPeer.DATA, 0, 2, 0, 0, new byte[5]);
            fresh.join();
            fresh.open(0, 1, TOKEN.bytes(), "s");

            fresh.frame(ScriptedPeer.FENCE, 0, 2, number, 0);
            fresh.frame(ScriptedPeer.READ, 0, 3, 0, 10);
            assertStatus(0, "", fresh.next());
            old.awaitEnd();
            assertEquals(3, fresh.next().id());
            fresh.frame(ScriptedPeer.FENCE, 0, 4, number, 0);
            assertStatus(0, "", fresh.next());
        }
    }

    @Test
    void shouldFailAndServeOnWhenAMappedFileIsCutUnderAnExport(@TempDir final Path directory) throws IOException {
        final int page = 4096;
        final Path path = Files.write(directory.resolve("mapped"), PatternBytes.of(1, 4 * page));
        try (MappedRegion mapped = MappedRegion.map(path.toString(), 0, 4 * page, true);
            PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE);
            TcpRig rig = new TcpRig(TcpRig.PLAIN.withRetry(new TcpRetry(1, 1, 1)))) {
            final ExportedSegment cut = server.export("cut", mapped, TOKEN, Permission.READ_WRITE);
            final Segment segment = rig.engine().openSegment(cut.address(), TOKEN);
            file.resize(page);

            assertEquals(Kind.FAILED, TcpRig.failureOf(rig.read(segment, 0, 4 * page, 0)).kind());
            assertEquals(Kind.FAILED, TcpRig.failureOf(rig.write(segment, 0, 4 * page, 0)).kind());
            rig.read(segment, 0, page, 0).await();
            assertEquals(SIZE, sizeOf(rig, export(Permission.READ_ONLY)));
            cut.close();
        }
    }
}
