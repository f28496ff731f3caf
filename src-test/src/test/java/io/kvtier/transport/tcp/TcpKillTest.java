package io.kvtier.transport.tcp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferFailure;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A server in another process is killed while bytes move, and comes back at the same port. */
@ExtendWith(LeakCheck.class)
class TcpKillTest {
    private static final int SIZE = 16 << 20;
    private static final AccessToken TOKEN = AccessToken.of("000102030405060708090a0b0c0d0e0f");
    private static final List<String> FLAGS = List.of("-XX:TieredStopAtLevel=1", "-Xmx128m",
        "--enable-native-access=ALL-UNNAMED", "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED",
        "-XX:+IgnoreUnrecognizedVMOptions", "--sun-misc-unsafe-memory-access=allow");

    /** The process that is killed: serves a pattern, and prints its port. */
    static final class Victim {
        private Victim() {
        }

        public static void main(final String[] arguments) throws IOException {
            try (HostRegion memory = HostRegion.allocate(NativeTag.TEST, SIZE);
                SegmentServer server = SegmentServer.open(
                    SegmentServerConfig.DEFAULT.at("127.0.0.1", Integer.parseInt(arguments[0])))) {
                PatternBytes.fill(memory.segment(), Long.parseLong(arguments[1]));
                server.export("s", memory, AccessToken.of(arguments[2]), Permission.READ_WRITE);
                System.out.println(server.address().getPort());
                // Until the parent is gone.
                while (System.in.read() >= 0) {
                    Thread.onSpinWait();
                }
            }
        }
    }

    private record Serving(Process process, int port) {
        static Serving start(final int port, final long seed, final AccessToken token) throws IOException {
            final Process process = new ProcessBuilder(Commands.javaCommand(FLAGS, Victim.class,
                Integer.toString(port), Long.toString(seed), token.hex()))
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            final BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII));
            return new Serving(process, Integer.parseInt(out.readLine()));
        }

        String address() {
            return "tcp://127.0.0.1:" + port + "/s";
        }

        void kill() throws InterruptedException {
            process.destroyForcibly().waitFor();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldFailRetryablyWhenTheServerIsKilledAndGoOnWhenItIsBack(final boolean write) throws Exception {
        final Serving first = Serving.start(0, 1, TOKEN);
        Serving second = null;
        try (TcpRig rig = new TcpRig(TcpConfig.DEFAULT.withLanes(2, 1).withRetry(new TcpRetry(1, 1, 1)))) {
            final Segment segment = rig.engine().openSegment(first.address(), TOKEN);
            move(rig, segment, write).await();
            final Transfer[] running = new Transfer[40];
            for (int i = 0; i < running.length; i++) {
                running[i] = move(rig, segment, write);
            }
            // In the middle of it: some have moved, and not all can have.
            while (running[0].movedBytes() == 0) {
                Thread.onSpinWait();
            }
            first.kill();

            final TransferFailure failure = TcpRig.failureOf(running[running.length - 1]);
            assertEquals(TransferFailure.Kind.FAILED, failure.kind());
            assertTrue(failure.retryable());
            assertEquals(first.address(), failure.segment());
            for (final Transfer one : running) {
                while (!one.isDone()) {
                    Thread.onSpinWait();
                }
            }
            second = Serving.start(first.port(), 2, TOKEN);
            rig.read(segment, 0, SIZE, 0).await();
            assertArrayEquals(PatternBytes.of(2, SIZE), PatternBytes.copyOf(rig.local().segment().asSlice(0, SIZE)));
            rig.write(segment, SIZE, 1000, 5).await();
            rig.read(segment, 0, 1000, 5).await();
            assertArrayEquals(PatternBytes.copyOf(rig.local().segment().asSlice(SIZE, 1000)),
                PatternBytes.copyOf(rig.local().segment().asSlice(0, 1000)));
            assertTrue(rig.stats().lostConnections() > 0);
        } finally {
            first.kill();
            if (second != null) {
                second.kill();
            }
        }
    }

    private static Transfer move(final TcpRig rig, final Segment segment, final boolean write) {
        return write ? rig.write(segment, 0, SIZE, 0) : rig.read(segment, 0, SIZE, 0);
    }

    @Test
    void shouldNotReadAnotherIncarnationUnderAnOldToken() throws Exception {
        final Serving first = Serving.start(0, 1, TOKEN);
        Serving second = null;
        try (TcpRig rig = new TcpRig(TcpRig.PLAIN.withRetry(new TcpRetry(3, 1, 1)))) {
            final Segment segment = rig.engine().openSegment(first.address(), TOKEN);
            rig.read(segment, 0, 1000, 0).await();
            first.kill();
            second = Serving.start(first.port(), 2, AccessToken.random());

            final TransferFailure failure = TcpRig.failureOf(rig.read(segment, 0, 1000, 0));

            assertEquals(2, failure.code());
            assertFalse(failure.retryable());
            assertTrue(failure.message().contains("exported anew"), failure.message());
            assertArrayEquals(Arrays.copyOf(PatternBytes.of(1, SIZE), 1000),
                PatternBytes.copyOf(rig.local().segment().asSlice(0, 1000)));
        } finally {
            first.kill();
            if (second != null) {
                second.kill();
            }
        }
    }
}
