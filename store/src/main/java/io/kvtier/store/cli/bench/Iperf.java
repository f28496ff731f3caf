package io.kvtier.store.cli.bench;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.kvtier.transport.Direction;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * iperf3, the usual measuring tool for TCP, between two processes of this machine.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> has a server of iperf3's own until closed.
 */
final class Iperf implements AutoCloseable {
    /** The largest block that it takes. */
    static final long MAX_BLOCK_BYTES = 1L << 20;
    private static final JsonFactory JSON = new JsonFactory();
    private static final double MIB = 1 << 20;

    private final int port;
    private final Programs.Background server;

    private Iperf(final int port, final Programs.Background server) {
        this.port = port;
        this.server = server;
    }

    static Peer peer() throws InterruptedException {
        return Peer.program("iperf3", "iperf3");
    }

    static Iperf open() throws IOException {
        final int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        final Programs.Background server = Programs.start(List.of("iperf3", "--server", "--bind", "127.0.0.1",
            "--port", Integer.toString(port), "--forceflush"));
        boolean listening = false;
        try {
            server.line("Server listening");
            listening = true;
            return new Iperf(port, server);
        } finally {
            if (!listening) {
                server.close();
            }
        }
    }

    /** Measures for whole seconds; MiB a second over all streams. */
    double run(final Direction direction, final long blockBytes, final int streams, final long nanos)
        throws IOException, InterruptedException {
        final long seconds = Math.max(1, Math.round((double) nanos / TimeUnit.SECONDS.toNanos(1)));
        final List<String> command = new ArrayList<>(List.of("iperf3", "--client", "127.0.0.1", "--port",
            Integer.toString(port), "--time", Long.toString(seconds), "--parallel", Integer.toString(streams),
            "--length", Long.toString(Math.min(blockBytes, MAX_BLOCK_BYTES)), "--json"));
        if (direction == Direction.READ) {
            command.add("--reverse");
        }
        return mebibytesPerSecond(Programs.run(command, Map.of()).orFail("iperf3"));
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

    @Override
    public void close() {
        server.close();
    }
}
