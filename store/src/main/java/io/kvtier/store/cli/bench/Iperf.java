package io.kvtier.store.cli.bench;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.kvtier.transport.Direction;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * iperf3, the usual measuring tool for TCP, between two processes of this machine: a server for each measurement.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> for the time of a measurement, at least a second.
 */
final class Iperf {
    /** The largest block that it takes. */
    private static final long MAX_BLOCK_BYTES = 1L << 20;
    private static final JsonFactory JSON = new JsonFactory();
    private static final double MIB = 1 << 20;

    private Iperf() {
    }

    static Peer peer() throws InterruptedException {
        return Peer.program("iperf3", "iperf3");
    }

    /** Measures for whole seconds; MiB a second over all streams. */
    static double run(final Direction direction, final long blockBytes, final int streams, final long nanos)
        throws IOException, InterruptedException {
        final String port = Integer.toString(Programs.freePort());
        try (Programs.Background server = Programs.start(List.of("iperf3", "--server", "--one-off", "--bind",
            "127.0.0.1", "--port", port, "--forceflush"))) {
            server.line("Server listening");
            final long seconds = Math.max(1, Math.round((double) nanos / TimeUnit.SECONDS.toNanos(1)));
            final List<String> command = new ArrayList<>(List.of("iperf3", "--client", "127.0.0.1", "--port", port,
                "--time", Long.toString(seconds), "--parallel", Integer.toString(streams), "--length",
                Long.toString(Math.min(blockBytes, MAX_BLOCK_BYTES)), "--json"));
            if (direction == Direction.READ) {
                command.add("--reverse");
            }
            return mebibytesPerSecond(Programs.run(command, Map.of()).orFail("iperf3"));
        }
    }

    /**
     * Reads iperf3's answer.
     *
     * @param printed a JSON object.
     * @return MiB a second that arrived, over all streams.
     */
    static double mebibytesPerSecond(final String printed) throws IOException {
        double bits = 0;
        try (JsonParser json = JSON.createParser(printed)) {
            JsonToken token = json.nextToken();
            boolean inSum = false;
            while (token != null) {
                if (token == JsonToken.FIELD_NAME && json.currentName().equals("sum_received")) {
                    inSum = true;
                } else if (inSum && token == JsonToken.END_OBJECT) {
                    inSum = false;
                } else if (inSum && token == JsonToken.VALUE_NUMBER_FLOAT
                    && json.currentName().equals("bits_per_second")) {
                    bits = json.getDoubleValue();
                }
                token = json.nextToken();
            }
        }
        if (bits == 0) {
            throw new IOException("iperf3 printed no bandwidth: " + printed.strip().replaceAll("\\s+", " "));
        }
        return bits / Byte.SIZE / MIB;
    }
}
