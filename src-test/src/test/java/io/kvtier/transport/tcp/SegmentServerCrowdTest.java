package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.Crowd;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.LogLines;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** More clients than a server takes. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 3, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class SegmentServerCrowdTest {
    private static final int SIZE = 10_000;
    private static final int HEADER = 40;
    private static final int HELLO_BODY = 36;
    private static final int TOO_MANY = 67;
    private static final AccessToken TOKEN = AccessToken.of("000102030405060708090a0b0c0d0e0f");

    private static byte[] hello() {
        return ByteBuffer.allocate(HEADER + HELLO_BODY).put((byte) 'K').put((byte) 'V').put((byte) 1)
            .put((byte) ScriptedPeer.HELLO).putInt(0).putLong(0).putLong(0).putLong(0).putLong(HELLO_BODY)
            .put((byte) 1).put((byte) 1).array();
    }

    @Test
    void shouldServeThoseItHasWhileTenThousandOthersComeAndNewOnesAfterThem() throws IOException {
        try (LogLines log = new LogLines(SegmentServer.class); HostRegion memory = region();
            SegmentServer server = SegmentServer.open(SegmentServerConfig.DEFAULT.withIoThreads(2).withLimits(
                new ServerLimits(100, 1L << 30, 1 << 20, 64, 0, 2000, 600_000, 600_000)));
            ExportedSegment export = server.export("s", memory, TOKEN, Permission.READ_WRITE);
            TcpRig known = new TcpRig(TcpRig.PLAIN)) {
            final Segment segment = known.engine().openSegment(export.address(), TOKEN);
            try (Crowd crowd = new Crowd(server.address(), hello())) {
                for (int i = 1; i <= Crowd.ATTEMPTS; i++) {
                    crowd.join();
                    if (i % 50 == 0) {
                        known.read(segment, 0, SIZE, 0).await();
                        assertTrue(server.connections() <= 101, "one may just be turned away");
                    }
                }
                // The crowd is still there, and does nothing: its handshakes are not over in time.
                try (TcpRig late = new TcpRig(TcpRig.PLAIN)) {
                    late.read(awaitOpen(late, export), 0, SIZE, 0).await();
                    assertArrayEquals(PatternBytes.copyOf(memory.segment()),
                        PatternBytes.copyOf(late.local().slice(0, SIZE).segment()));
                }
            }
            known.read(segment, 0, SIZE, 0).await();
            assertEquals(0, known.stats().lostConnections());
            for (final String kind : List.of("too many connections; maxConnections is 100",
                "a handshake was not over in time; handshakeMs is 2000")) {
                LogLines.assertDoubling(log.with(kind));
            }
        }
    }

    private static HostRegion region() {
        final HostRegion memory = HostRegion.allocate(NativeTag.TEST, SIZE);
        PatternBytes.fill(memory.segment(), 1);
        return memory;
    }

    private static Segment awaitOpen(final TcpRig rig, final ExportedSegment export) {
        Segment segment = null;
        while (segment == null) {
            try {
                segment = rig.engine().openSegment(export.address(), TOKEN);
            } catch (final TransferException e) {
                assertEquals(TOO_MANY, e.failure().code(), e.getMessage());
                assertTrue(e.failure().retryable());
            }
        }
        return segment;
    }
}
