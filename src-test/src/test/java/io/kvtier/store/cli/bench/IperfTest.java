package io.kvtier.store.cli.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Answers recorded from iperf3 3.12. */
final class IperfTest {
    private static final double MIB = 1 << 20;

    @Test
    void shouldReadWhatArrivedOverAllStreams() throws IOException {
        final String recorded;
        try (InputStream answer = IperfTest.class.getResourceAsStream("iperf3-3.12-two-streams.json")) {
            recorded = new String(answer.readAllBytes(), StandardCharsets.UTF_8);
        }
        // sum_received of the file: bytes and seconds. What was sent is a little more a second.
        final double bytesPerSecond = 4_732_223_488L / 1.003127;
        assertEquals(bytesPerSecond / MIB, Iperf.mebibytesPerSecond(recorded), 0.001);
    }

    @Test
    void shouldRefuseAnAnswerWithoutABandwidth() {
        final IOException refused = assertThrows(IOException.class, () -> Iperf.mebibytesPerSecond(
            "{\"start\":{},\"intervals\":[],\"end\":{},\"error\":\"unable to connect to server\"}"));
        assertEquals("iperf3 printed no bandwidth: {\"start\":{},\"intervals\":[],\"end\":{},"
            + "\"error\":\"unable to connect to server\"}", refused.getMessage());
    }
}
