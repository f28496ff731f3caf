package io.kvtier.transport.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.SocketTimeoutException;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Frames by their bytes: what is recorded here is what {@code transport/RPC.md} draws, and does not change. */
class RpcFrameTest {
    private static final String CALL =
        "4b52" + "01" + "10" + "00000102" + "0000000000000007" + "000003e8" + "00000003" + "93c203";
    private static final String FAILURE =
        "4b52" + "01" + "12" + "00000100" + "ffffffffffffffff" + "00000000" + "00000004" + "91a26e6f";

    private static byte[] hex(final String text) {
        return HexFormat.of().parseHex(text);
    }

    @Test
    void shouldWriteFramesAsTheyAreRecorded() throws IOException {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        final FrameOutput out = new FrameOutput(bytes, 1000);

        out.add(RpcFrame.CALL, 0x102, 7, 1000, hex("93c203"));
        out.add(RpcFrame.FAILURE, 256, -1, 0, Handshake.failureBody("no"));
        out.flush();

        assertEquals(CALL + FAILURE, HexFormat.of().formatHex(bytes.toByteArray()));
    }

    @Test
    void shouldReadFramesAsTheyAreRecorded() throws IOException {
        final FrameInput in = new FrameInput(new ByteArrayInputStream(hex(CALL + FAILURE)));

        in.next(3);
        assertEquals(RpcFrame.CALL, in.type());
        assertEquals(0x102, in.code());
        assertEquals(7, in.id());
        assertEquals(1000, in.limitMs());
        assertArrayEquals(hex("93c203"), in.body());
        assertTrue(in.hasBuffered());
        in.next(4);
        assertEquals(RpcFrame.FAILURE, in.type());
        assertEquals(-1, in.id());
        final RpcException failure = Handshake.failure(in);
        assertEquals("no", failure.getMessage());
        assertEquals(RpcStatus.APPLICATION, failure.status());
        assertEquals(0, failure.applicationCode());
        assertThrows(EOFException.class, () -> in.next(4));
    }

    @ParameterizedTest
    @CsvSource({"0, 4b53, MALFORMED", "0, 474554, MALFORMED", "2, 02, VERSION", "20, 00000004, TOO_LARGE",
        "20, ffffffff, TOO_LARGE", "20, 80000000, TOO_LARGE"})
    void shouldRefuseWhatIsNoFrameBeforeItTakesMemory(final int at, final String bytes, final RpcStatus status) {
        final byte[] frame = hex(CALL);
        final byte[] wrong = hex(bytes);
        System.arraycopy(wrong, 0, frame, at, wrong.length);

        final RpcException e = assertThrows(RpcException.class,
            () -> new FrameInput(new ByteArrayInputStream(frame)).next(3));

        assertEquals(status, e.status());
    }

    /** A stream that gives few bytes at a time, and a time-out between. */
    private static InputStream dripping(final byte[] bytes, final long seed) {
        final SplittableRandom random = new SplittableRandom(seed);
        return new InputStream() {
            private int at;

            @Override
            public int read() {
                throw new UnsupportedOperationException();
            }

            @Override
            public int read(final byte[] to, final int offset, final int length) throws IOException {
                if (random.nextInt(3) == 0) {
                    throw new SocketTimeoutException("nothing yet");
                }
                if (at == bytes.length) {
                    return -1;
                }
                final int count = Math.min(Math.min(length, 1 + random.nextInt(9000)), bytes.length - at);
                System.arraycopy(bytes, at, to, offset, count);
                at += count;
                return count;
            }
        };
    }

    @Test
    void shouldLoseNothingWhenTheStreamDripsAndTimesOut() throws IOException {
        for (int seed = 0; seed < 50; seed++) {
            final SplittableRandom random = new SplittableRandom(seed);
            final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            final FrameOutput out = new FrameOutput(bytes, Integer.MAX_VALUE);
            final byte[][] bodies = new byte[20][];
            for (int i = 0; i < bodies.length; i++) {
                bodies[i] = new byte[random.nextInt(random.nextBoolean() ? 50 : 60_000)];
                random.nextBytes(bodies[i]);
                out.add(RpcFrame.CALL, i, i, i, bodies[i]);
                if (random.nextBoolean()) {
                    out.flush();
                }
            }
            out.flush();
            final FrameInput in = new FrameInput(dripping(bytes.toByteArray(), seed));
            for (int i = 0; i < bodies.length; i++) {
                readOn(in);
                assertEquals(i, in.id());
                assertArrayEquals(bodies[i], in.body());
            }
        }
    }

    private static void readOn(final FrameInput in) throws IOException {
        while (true) {
            try {
                in.next(60_000);
                return;
            } catch (final SocketTimeoutException e) {
                // As a caller that has waited enough leaves it to the next one.
                continue;
            }
        }
    }

    @Test
    void shouldAddNoMoreThanMayWaitButAlwaysOneFrame() throws IOException {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        final FrameOutput out = new FrameOutput(bytes, 100);
        final byte[] large = new byte[500];
        Arrays.fill(large, (byte) 5);

        assertTrue(out.add(RpcFrame.REPLY, 0, 1, 0, large));
        assertEquals(false, out.add(RpcFrame.REPLY, 0, 2, 0, new byte[0]));
        out.flush();
        assertTrue(out.add(RpcFrame.REPLY, 0, 3, 0, new byte[76]));
        assertEquals(false, out.add(RpcFrame.REPLY, 0, 4, 0, new byte[0]));
        out.flush();

        assertEquals(500 + 76 + 2 * RpcFrame.HEADER_BYTES, bytes.size());
    }
}
