package io.kvtier.transport.tcp;

import io.kvtier.kit.Commands;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** iperf3 between two of its own processes on this machine. */
final class Iperf implements AutoCloseable {
    private static final int MAX_BLOCK = 1 << 20;
    /** In the sums at the end; the last one is what was received. */
    private static final Pattern RATE = Pattern.compile("\"bits_per_second\":\\s*([0-9.e+]+)");
    /** Of one processor, sender and receiver. */
    private static final Pattern SHARE = Pattern.compile("\"(?:host|remote)_total\":\\s*([0-9.e+-]+)");
    private static final double BITS = 8e9;
    private static final double PERCENT = 100;

    /**
     * A run.
     *
     * @param rate gigabytes a second that were received; not a number when iperf3 is not there.
     * @param cpu  seconds of a processor that both ends took for a gigabyte.
     */
    record Result(double rate, double cpu) {
    }

    private final Process server;
    private final int port;

    private Iperf(final Process server, final int port) {
        this.server = server;
        this.port = port;
    }

    /** Without a server when iperf3 is not installed. */
    static Iperf start() throws IOException, InterruptedException {
        if (Commands.run("iperf3", "--version").code() != 0) {
            System.out.println("iperf3 is not installed; the package iperf3 brings it");
            return new Iperf(null, 0);
        }
        final int free;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            free = socket.getLocalPort();
        }
        return new Iperf(new ProcessBuilder("iperf3", "-s", "-B", "127.0.0.1", "-p", Integer.toString(free))
            .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start(), free);
    }

    Result run(final int block, final int streams, final int seconds) throws InterruptedException {
        if (server == null) {
            return new Result(Double.NaN, Double.NaN);
        }
        final String output = Commands.run("iperf3", "-c", "127.0.0.1", "-p", Integer.toString(port), "-J", "-l",
            Integer.toString(Math.min(block, MAX_BLOCK)), "-P", Integer.toString(streams), "-t",
            Integer.toString(seconds)).output();
        final int sums = output.indexOf("\"sum_received\"");
        final Matcher rate = RATE.matcher(sums < 0 ? "" : output.substring(sums));
        if (!rate.find()) {
            return new Result(Double.NaN, Double.NaN);
        }
        final double received = Double.parseDouble(rate.group(1)) / BITS;
        double share = 0;
        for (final Matcher one = SHARE.matcher(output); one.find();) {
            share += Double.parseDouble(one.group(1)) / PERCENT;
        }
        return new Result(received, share / received);
    }

    @Override
    public void close() {
        if (server != null) {
            server.destroy();
        }
    }
}
