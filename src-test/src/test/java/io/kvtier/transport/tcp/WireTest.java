package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SharedSecret;
import io.kvtier.transport.Transfer;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * The bytes of every frame, as transport/PROTOCOL.md draws them, written down by hand from there. When one of these
 * changes, peers of different versions stop to understand each other: give the new form a new version instead.
 */
@ExtendWith(LeakCheck.class)
class WireTest {
    private static final HexFormat HEX = HexFormat.of();
    private static final String ZERO = "0000000000000000";
    private static final SharedSecret SECRET = SharedSecret.of(
        HEX.parseHex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"));
    private static final AccessToken TOKEN = AccessToken.of("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");

    /** Magic, version, type, code, id, offset, length, length of the body. */
    private static String header(final String type, final String code, final String id, final String offset,
        final String length, final String body) {
        return "4b5601" + type + code + id + offset + length + body;
    }

    private static byte[] bytes(final String... hex) {
        return HEX.parseHex(String.join("", hex));
    }

    private static String hex(final byte[] bytes) {
        return HEX.formatHex(bytes);
    }

    private static String small(final int number) {
        return String.format("%016x", number);
    }

    @Test
    void shouldProveASecretAsWrittenDown() {
        // hmac.new(key, b"kvtier client" + b"\x01" + b"\x11" * 32 + b"\x22" * 32, hashlib.sha256) of Python.
        final byte[] client = HEX.parseHex("11".repeat(32));
        final byte[] server = HEX.parseHex("22".repeat(32));
        assertEquals("2456bb9368a42afd1a1e59d2f53915ffd4b21957c07c3ff48d9a5c97865eb8fe",
            hex(SECRET.proof("kvtier client", 1, client, server)));
        assertEquals("899ed12ed480c21c5b4189ef1f78f0ae28c1392c44809df16a378b883ab970bf",
            hex(SECRET.proof("kvtier server", 1, client, server)));
    }

    @Test
    void shouldAnswerAsAServerByteForByte() throws IOException {
        try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, 0x1234)) {
            memory.segment().fill((byte) 0xAB);
            try (SegmentServer server = SegmentServer.open(SegmentServerConfig.DEFAULT);
                ScriptedPeer.Peer peer = ScriptedPeer.Peer.to(server.address().getPort())) {
                server.export("näme", memory, TOKEN, Permission.READ_WRITE);
                server.export("constant", memory, TOKEN, Permission.READ_ONLY);
                // HELLO, versions 1 to 3.
                peer.raw(bytes(header("01", "00000000", ZERO, ZERO, ZERO, small(36)), "01030000", "11".repeat(32)));
                assertEquals(header("02", "00000000", ZERO, ZERO, ZERO, small(36)) + "01000000",
                    hex(peer.rawBytes(44)));
                peer.rawBytes(32);
                // PROOF without a secret; WELCOME: number, 1 GiB, 1 MiB, 64, 1,024, 0.
                peer.raw(bytes(header("03", "00000000", ZERO, ZERO, ZERO, ZERO)));
                assertEquals(header("04", "00000000", ZERO, ZERO, ZERO, small(32)), hex(peer.rawBytes(40)));
                peer.rawBytes(8);
                assertEquals("0000000040000000" + "00100000" + "00000040" + "00000400" + "00000000",
                    hex(peer.rawBytes(24)));
                // OPEN under handle 5: token, then the name.
                peer.raw(bytes(header("10", "00000005", small(1), ZERO, ZERO, small(21)),
                    "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", "6ec3a46d65"));
                assertEquals(header("20", "00000002", small(1), ZERO, small(0x1234), ZERO), hex(peer.rawBytes(40)));
                peer.raw(bytes(header("10", "00000006", small(2), ZERO, ZERO, small(24)),
                    "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", "636f6e7374616e74"));
                assertEquals(header("20", "00000001", small(2), ZERO, small(0x1234), ZERO), hex(peer.rawBytes(40)));
                // READ of 3 bytes at 7, and its DATA.
                peer.raw(bytes(header("11", "00000005", small(3), small(7), small(3), ZERO)));
                assertEquals(header("21", "00000000", small(3), ZERO, ZERO, small(3)) + "ababab",
                    hex(peer.rawBytes(43)));
                // WRITE of 4 bytes at 8 in two DATA frames, and its STATUS.
                peer.raw(bytes(header("12", "00000005", small(4), small(8), small(4), ZERO),
                    header("21", "00000000", small(4), ZERO, ZERO, small(1)), "01",
                    header("21", "00000000", small(4), small(1), ZERO, small(3)), "020304"));
                assertEquals(header("22", "00000000", small(4), ZERO, ZERO, ZERO), hex(peer.rawBytes(40)));
                assertEquals("ab01020304ab", hex(PatternBytes.copyOf(memory.segment().asSlice(7, 6))));
                // ABORT of a write.
                peer.raw(bytes(header("12", "00000005", small(5), small(8), small(4), ZERO),
                    header("15", "00000000", small(5), ZERO, ZERO, ZERO)));
                assertEquals(header("22", "00000006", small(5), ZERO, ZERO, ZERO), hex(peer.rawBytes(40)));
                // RELEASE, then a READ by a handle that is none any more.
                peer.raw(bytes(header("13", "00000005", small(6), ZERO, ZERO, ZERO),
                    header("11", "00000005", small(7), ZERO, small(1), ZERO)));
                assertEquals(header("22", "00000000", small(6), ZERO, ZERO, ZERO), hex(peer.rawBytes(40)));
                final ScriptedPeer.Frame refused = peer.next();
                assertEquals(header("22", "00000008", small(7), ZERO, ZERO, small(refused.body().length)),
                    hex(refused.header()));
                // FENCE of a connection that is not.
                peer.raw(bytes(header("14", "00000000", small(8), small(99), ZERO, ZERO)));
                assertEquals(header("22", "00000000", small(8), ZERO, ZERO, ZERO), hex(peer.rawBytes(40)));
            }
        }
    }

    @Test
    void shouldRefuseVersionsOfTheFutureAndPassOverWhatTheyAppend() throws IOException {
        try (SegmentServer server = SegmentServer.open(SegmentServerConfig.DEFAULT)) {
            try (ScriptedPeer.Peer peer = ScriptedPeer.Peer.to(server.address().getPort())) {
                peer.raw(bytes(header("01", "00000000", ZERO, ZERO, ZERO, small(36)), "02030000", "11".repeat(32)));
                final ScriptedPeer.Frame told = peer.next();
                assertEquals(65, told.code());
                assertTrue(new String(told.body()).contains("2 to 3"), () -> new String(told.body()));
                assertEquals(-1, peer.read());
            }
            // A header of a later version, with bytes that this one does not know behind the body.
            try (ScriptedPeer.Peer peer = ScriptedPeer.Peer.to(server.address().getPort())) {
                peer.raw(bytes("4b560201", "00000007", ZERO, small(1), small(2), small(39), "01090000",
                    "11".repeat(32), "ffffff"));
                assertEquals(2, peer.next().type());
                peer.raw(bytes(header("03", "00000000", ZERO, ZERO, ZERO, small(2)), "0000"));
                assertEquals(4, peer.next().type());
            }
        }
    }

    @Test
    void shouldAskAsAClientByteForByte() throws Exception {
        final List<String> seen = new ArrayList<>();
        final CountDownLatch done = new CountDownLatch(1);
        try (ScriptedPeer peer = new ScriptedPeer(one -> {
            seen.add(hex(one.rawBytes(44)));
            final byte[] clientNonce = one.rawBytes(32);
            one.raw(bytes(header("02", "00000000", ZERO, ZERO, ZERO, small(36)), "01010000", "22".repeat(32)));
            final ScriptedPeer.Frame proof = one.next();
            seen.add(hex(proof.header()));
            seen.add(Boolean.toString(hex(proof.body()).equals(hex(SECRET.proof("kvtier client", 1, clientNonce,
                bytes("22".repeat(32)))))));
            // Chunks of at most 4,096 bytes.
            one.raw(bytes(header("04", "00000000", ZERO, ZERO, ZERO, small(64)), "00000000000000aa",
                "0000000000100000", "00001000", "00000010", "00000010", "00000000",
                hex(SECRET.proof("kvtier server", 1, clientNonce, bytes("22".repeat(32))))));
            seen.add(hex(one.rawBytes(40 + 16 + 4)));
            one.raw(bytes(header("20", "00000002", small(1), ZERO, small(1 << 20), ZERO)));
            seen.add(hex(one.rawBytes(40)));
            one.raw(bytes(header("21", "00000000", small(2), ZERO, ZERO, small(2)), "0102",
                header("21", "00000000", small(2), small(2), ZERO, small(1)), "03"));
            seen.add(hex(one.rawBytes(80)));
            one.rawBytes(4096);
            seen.add(hex(one.rawBytes(40)));
            one.rawBytes(4);
            one.raw(bytes(header("22", "00000000", small(3), ZERO, ZERO, ZERO)));
            seen.add(hex(one.rawBytes(40 + 16 + 1)));
            one.raw(bytes(header("20", "00000001", small(4), ZERO, small(1), ZERO)));
            seen.add(hex(one.rawBytes(40)));
            one.raw(bytes(header("22", "00000000", small(5), ZERO, ZERO, ZERO)));
            done.countDown();
            one.awaitEnd();
        }); TcpRig rig = new TcpRig(TcpRig.PLAIN.withSecret(SECRET))) {
            final Segment segment = rig.engine().openSegment(peer.address("a%20b/"), TOKEN);
            rig.read(segment, 0, 3, 0x10).await();
            assertEquals("010203", hex(PatternBytes.copyOf(rig.local().segment().asSlice(0, 3))));
            final Transfer write = rig.write(segment, 0, 4100, 0x20);
            write.await();
            final Segment other = rig.engine().openSegment(peer.address("c"), TOKEN);
            segment.close();
            done.await();
            other.close();

            assertEquals(List.of(), peer.faults());
            assertEquals(List.of(
                header("01", "00000000", ZERO, ZERO, ZERO, small(36)) + "01010000",
                header("03", "00000000", ZERO, ZERO, ZERO, small(32)), "true",
                header("10", "00000000", small(1), ZERO, ZERO, small(20)) + "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff"
                    + "6120622f",
                header("11", "00000000", small(2), small(0x10), small(3), ZERO),
                header("12", "00000000", small(3), small(0x20), small(4100), ZERO)
                    + header("21", "00000000", small(3), ZERO, ZERO, small(4096)),
                header("21", "00000000", small(3), small(4096), ZERO, small(4)),
                header("10", "00000001", small(4), ZERO, ZERO, small(17)) + "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff" + "63",
                header("13", "00000000", small(5), ZERO, ZERO, ZERO)), seen);
        }
    }
}
