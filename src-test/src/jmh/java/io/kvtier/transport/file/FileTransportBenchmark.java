package io.kvtier.transport.file;

import io.kvtier.bindings.uring.Fio;
import io.kvtier.bindings.uring.Uring;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Throughput of the transfer engine over the file transports beside fio with the same pattern on the same file, past
 * the page cache, in runs that take turns. Prints one JSON object a row.
 *
 * <p>Arguments: directory of the file (needs 1 GiB), rounds (5), seconds a run (2), which rows (a regular expression),
 * {@code pin} to register the memory, {@code huge} to have it in huge pages.
 */
public final class FileTransportBenchmark {
    private static final double GOAL = 0.95;
    private static final double QUIET = 2;
    private static final long PAUSE_MS = 2000;
    private static final int MOST_PAUSES = 60;
    /** Threads of the posix transport, and jobs of fio beside it. */
    private static final int POSIX_THREADS = 4;

    private FileTransportBenchmark() {
    }

    private record Row(TransportKind kind, EngineLoad load) {
        String name() {
            return kind.configName() + (load.writes() ? " write " : " read ") + (load.block() >> 10) + " KiB, depth "
                + load.depth() + (load.pinned() ? ", pinned" : "") + (load.hugePages() ? ", huge pages" : "");
        }

        private int threads() {
            return Math.min(POSIX_THREADS, load.depth());
        }

        double ours(final Path path, final int seconds, final double[] costs) {
            final Transport transport = kind == TransportKind.POSIX ? new PosixTransport(threads(), true)
                : new UringTransport(UringConfig.DEFAULT, true);
            final EngineLoad.Result result = load.run(transport, path, seconds);
            costs[0] = result.heapBytes();
            costs[1] = result.cpuMicros();
            return result.mebibytesPerSecond();
        }

        double fio(final Path path, final int seconds) throws IOException, InterruptedException {
            final List<String> options = new ArrayList<>(kind == TransportKind.POSIX
                ? List.of("--ioengine=psync", "--numjobs=" + threads())
                : List.of("--ioengine=io_uring", "--iodepth=" + load.depth()));
            if (load.pinned()) {
                options.addAll(List.of("--fixedbufs=1", "--registerfiles=1"));
            }
            return Fio.mebibytesPerSecond(path, load.writes() ? "randwrite" : "randread", load.block(), seconds,
                load.hugePages(), options);
        }
    }

    /** Runs everything. */
    public static void main(final String[] arguments) throws IOException, InterruptedException {
        final Path directory = Path.of(arguments[0]).toAbsolutePath();
        final int rounds = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 5;
        final int seconds = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 2;
        final String wanted = arguments.length > 3 ? arguments[3] : ".*";
        final List<String> words = List.of(arguments);
        if (!Uring.availability().available()) {
            System.out.println(Uring.availability());
        }
        final boolean fio = Fio.isInstalled();
        final Path path = directory.resolve("file-transport-benchmark");
        try {
            fill(path);
            for (final Row row : rows(words.contains("pin"), words.contains("huge"))) {
                if (row.name().matches(wanted)
                    && (row.kind != TransportKind.IO_URING || Uring.availability().available())) {
                    compare(row, path, rounds, seconds, fio);
                }
            }
        } finally {
            Files.deleteIfExists(path);
        }
    }

    private static List<Row> rows(final boolean pinned, final boolean huge) {
        final List<Row> rows = new ArrayList<>();
        for (final TransportKind kind : List.of(TransportKind.IO_URING, TransportKind.POSIX)) {
            for (final boolean writes : new boolean[] {false, true}) {
                for (final int block : new int[] {64 << 10, 1 << 20, 16 << 20}) {
                    for (final int depth : new int[] {1, 8, 32}) {
                        rows.add(new Row(kind, new EngineLoad(block, depth, writes,
                            pinned && kind == TransportKind.IO_URING, huge)));
                    }
                }
            }
        }
        return rows;
    }

    /** Random bytes, really written: a device or host that knows zeros or holes must not profit. */
    private static void fill(final Path path) throws IOException {
        final byte[] piece = new byte[1 << 20];
        final SplittableRandom random = new SplittableRandom(1);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            for (long at = 0; at < EngineLoad.FILE_BYTES; at += piece.length) {
                random.nextBytes(piece);
                channel.write(ByteBuffer.wrap(piece), at);
            }
            channel.force(true);
        }
    }

    private static void compare(final Row row, final Path path, final int rounds, final int seconds,
        final boolean fio) throws IOException, InterruptedException {
        final double[] ours = new double[rounds];
        final double[] theirs = new double[rounds];
        final double[] ratios = new double[rounds];
        final double[] costs = new double[2];
        row.ours(path, seconds, costs);
        for (int round = 0; round < rounds; round++) {
            awaitQuiet();
            // Who goes first changes, so that a drift of the device hits both alike.
            if (round % 2 == 0) {
                ours[round] = row.ours(path, seconds, costs);
                theirs[round] = fio ? row.fio(path, seconds) : Double.NaN;
            } else {
                theirs[round] = fio ? row.fio(path, seconds) : Double.NaN;
                ours[round] = row.ours(path, seconds, costs);
            }
            ratios[round] = ours[round] / theirs[round];
        }
        System.out.printf(Locale.ROOT, "{\"row\": \"%s\", \"unit\": \"MiB/s\", \"ours\": %.0f, \"peer\": \"%s\", "
            + "\"peer_value\": %s, \"ratio\": %s, \"goal\": %.2f, \"heap_bytes\": %.0f, \"cpu_us\": %.1f, "
            + "\"load\": %.1f}%n", row.name(),
            median(ours), fio ? "fio" : "fio: not installed (package fio)", number(median(theirs)),
            number(median(ratios)), GOAL, costs[0],
            costs[1], load());
        System.out.println("  ours " + Arrays.toString(Arrays.stream(ours).mapToLong(Math::round).toArray()) + " fio "
            + Arrays.toString(Arrays.stream(theirs).mapToLong(Math::round).toArray()));
    }

    private static double load() {
        return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
    }

    /** Waits a while for other programs to be done; the row says how busy it was. */
    private static void awaitQuiet() throws InterruptedException {
        for (int i = 0; i < Integer.getInteger("pauses", MOST_PAUSES) && load() >= QUIET; i++) {
            Thread.sleep(PAUSE_MS);
        }
    }

    private static String number(final double value) {
        return Double.isNaN(value) ? "null" : String.format(Locale.ROOT, "%.3f", value);
    }

    private static double median(final double[] values) {
        final double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }
}
