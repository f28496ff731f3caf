package io.kvtier.transport.tcp;

import com.sun.management.ThreadMXBean;
import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.Commands;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Throughput between two processes of this machine beside iperf3's with as many streams, in runs that take turns.
 * Prints one JSON object a row; a ratio is the bigger the better.
 *
 * <p>Arguments: rounds (5), seconds a run (2), which rows (a regular expression). One thread submits and keeps some
 * requests under way on each connection; iperf3 writes blocks of the same size, but of 1 MiB at most.
 */
public final class TcpBenchmark {
    private static final double GOAL = 0.8;
    private static final long NANOS = 1_000_000_000L;
    private static final long REGION_BYTES = 256L << 20;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int WARM_SECONDS = 3;
    private static final List<String> FLAGS = List.of("--enable-native-access=ALL-UNNAMED",
        "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED", "-XX:+IgnoreUnrecognizedVMOptions",
        "--sun-misc-unsafe-memory-access=allow", "-Xmx256m");

    private TcpBenchmark() {
    }

    /** One row: size of a request, connections, and requests under way on each. */
    private record Row(String size, int bytes, int streams, boolean write, int depth) {
        String name() {
            return (write ? "write " : "read ") + size + ", streams " + streams;
        }
    }

    private static List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        for (final boolean write : new boolean[] {false, true}) {
            for (final int streams : new int[] {1, 4}) {
                rows.add(new Row("64 KiB", 64 << 10, streams, write, 32));
                rows.add(new Row("1 MiB", 1 << 20, streams, write, 8));
                rows.add(new Row("16 MiB", 16 << 20, streams, write, 2));
            }
        }
        return rows;
    }

    /** The process that serves: prints address and token, and ends with its standard input. */
    static final class Server {
        private Server() {
        }

        public static void main(final String[] arguments) throws IOException {
            try (HostRegion region = HostRegion.allocateHuge(NativeTag.TEST, REGION_BYTES);
                SegmentServer server = SegmentServer.open(SegmentServerConfig.DEFAULT)) {
                region.segment().fill((byte) 1);
                final ExportedSegment export =
                    server.export("benchmark", region, AccessToken.random(), Permission.READ_WRITE);
                System.out.println(export.address());
                System.out.println(export.token().hex());
                while (System.in.read() >= 0) {
                    Thread.onSpinWait();
                }
            }
        }
    }

    /** Runs everything. */
    public static void main(final String[] arguments) throws IOException, InterruptedException {
        final int rounds = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 5;
        final int seconds = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 2;
        final String wanted = arguments.length > 2 ? arguments[2] : ".*";
        final Process process =
            new ProcessBuilder(Commands.javaCommand(FLAGS, Server.class)).redirectError(
                ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader out =
            new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII));
            Iperf iperf = Iperf.start();
            HostRegion local = HostRegion.allocateHuge(NativeTag.TEST, REGION_BYTES)) {
            local.segment().fill((byte) 1);
            final String address = out.readLine();
            final AccessToken token = AccessToken.of(out.readLine());
            for (final Row row : rows()) {
                if (row.name().matches(wanted)) {
                    compare(row, new Rig(address, token, local, process, iperf), rounds, seconds);
                }
            }
        } finally {
            process.destroy();
        }
    }

    /** What all rows use. */
    private record Rig(String address, AccessToken token, HostRegion local, Process server, Iperf iperf) {
        /** Seconds of a processor that this process and the serving one have taken so far. */
        double cpuSeconds() {
            return (cpuNanos(server.toHandle()) + cpuNanos(ProcessHandle.current())) / (double) NANOS;
        }

        private static long cpuNanos(final ProcessHandle process) {
            return process.info().totalCpuDuration().map(Duration::toNanos).orElse(0L);
        }
    }

    private static void compare(final Row row, final Rig rig, final int rounds, final int seconds)
        throws InterruptedException {
        final TcpConfig config = TcpConfig.DEFAULT.withLanes(row.streams, TcpConfig.DEFAULT.ioThreads())
            .withWindow(row.depth, TcpConfig.DEFAULT_CHUNK_BYTES);
        final double[] ours = new double[rounds];
        final double[] ourCpu = new double[rounds];
        final double[] peer = new double[rounds];
        final double[] peerCpu = new double[rounds];
        final double[] heap = new double[rounds];
        try (TransferEngine engine =
            TransferEngine.open(TransferConfig.DEFAULT, List.of(new TcpTransport(config)))) {
            final Segment segment = engine.openSegment(rig.address, rig.token);
            final Ring ring = new Ring(engine, segment, rig.local, row);
            ring.run(WARM_SECONDS * NANOS);
            for (int i = 0; i < rounds; i++) {
                final double before = rig.cpuSeconds();
                final long allocated = THREADS.getTotalThreadAllocatedBytes();
                ours[i] = ring.run(seconds * NANOS);
                heap[i] = (THREADS.getTotalThreadAllocatedBytes() - allocated)
                    / (ours[i] * seconds * NANOS / row.bytes);
                ourCpu[i] = (rig.cpuSeconds() - before) / (ours[i] * seconds);
                final Iperf.Result result = rig.iperf.run(row.bytes, row.streams, seconds);
                peer[i] = result.rate();
                peerCpu[i] = result.cpu();
            }
        }
        final double mine = median(ours);
        final double other = median(peer);
        System.out.printf(Locale.ROOT, "{\"row\": \"%s\", \"unit\": \"GB/s\", \"ours\": %.3f, \"peer\": \"iperf3\", "
            + "\"peer_value\": %s, \"ratio\": %s, \"goal\": %.1f, ", row.name(), mine, number(other),
            number(mine / other), GOAL);
        System.out.printf(Locale.ROOT, "\"ours_cpu_s_per_gb\": %.2f, \"peer_cpu_s_per_gb\": %s, "
            + "\"ours_heap_bytes_per_request\": %.0f, \"ours_all\": \"%s\", \"peer_all\": \"%s\"}%n",
            median(ourCpu), number(median(peerCpu)), median(heap), all(ours), all(peer));
    }

    private static double median(final double[] values) {
        final double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private static String number(final double value) {
        return Double.isFinite(value) && value > 0 ? String.format(Locale.ROOT, "%.3f", value) : "null";
    }

    private static String all(final double[] values) {
        return String.join(" ", Arrays.stream(values).mapToObj(one -> String.format(Locale.ROOT, "%.2f", one))
            .toList());
    }

    /** Transfers of one request each that are submitted again as they end, the oldest first. */
    private static final class Ring {
        private final TransferEngine engine;
        private final Segment segment;
        private final HostRegion local;
        private final Row row;
        private final Transfer[] transfers;
        private long next;

        Ring(final TransferEngine engine, final Segment segment, final HostRegion local, final Row row) {
            this.engine = engine;
            this.segment = segment;
            this.local = local;
            this.row = row;
            transfers = new Transfer[row.depth * row.streams];
            for (int i = 0; i < transfers.length; i++) {
                transfers[i] = engine.newTransfer();
            }
        }

        /** Gigabytes a second. */
        double run(final long nanos) {
            final long start = System.nanoTime();
            long moved = 0;
            int at = 0;
            for (int i = 0; i < transfers.length; i++) {
                submit(i);
            }
            while (System.nanoTime() - start < nanos) {
                transfers[at].await();
                moved += row.bytes;
                submit(at);
                at = (at + 1) % transfers.length;
            }
            for (final Transfer transfer : transfers) {
                transfer.await();
                moved += row.bytes;
            }
            final double seconds = (System.nanoTime() - start) / (double) NANOS;
            for (final Transfer transfer : transfers) {
                transfer.clear();
            }
            return moved / seconds / NANOS;
        }

        private void submit(final int index) {
            final Transfer transfer = transfers[index];
            if (transfer.isDone()) {
                transfer.clear();
            }
            final long offset = next++ % (REGION_BYTES / row.bytes) * row.bytes;
            if (row.write) {
                transfer.write(local, offset, row.bytes, segment, offset);
            } else {
                transfer.read(local, offset, row.bytes, segment, offset);
            }
            engine.submit(transfer);
        }
    }
}
