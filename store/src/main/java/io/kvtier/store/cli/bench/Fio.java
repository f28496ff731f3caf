package io.kvtier.store.cli.bench;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.kvtier.transport.Direction;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * fio, the usual measuring tool for storage: random block-aligned transfers past the page cache.
 *
 * <p><b>Threading:</b> immutable. <b>Blocking:</b> for the time of a measurement.
 */
final class Fio {
    /** What the C library's {@code malloc} takes, where fio's buffers come from: the same pages as ours. */
    private static final Map<String, String> HUGE_PAGES = Map.of("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
    private static final JsonFactory JSON = new JsonFactory();
    private static final double MIB = 1 << 20;

    private final List<String> engine;
    private final Direction direction;
    private final long blockBytes;

    private Fio(final List<String> engine, final Direction direction, final long blockBytes) {
        this.engine = engine;
        this.direction = direction;
        this.blockBytes = blockBytes;
    }

    static Peer peer() throws InterruptedException {
        return Peer.program("fio", "fio");
    }

    /** One thread that keeps a number of requests in io_uring. */
    static Fio uring(final Direction direction, final long blockBytes, final int depth) {
        return new Fio(List.of("--ioengine=io_uring", "--iodepth=" + depth), direction, blockBytes);
    }

    /** The same, which makes durable what was written after each so many writes. */
    static Fio durableUring(final long blockBytes, final int depth, final int writes) {
        return new Fio(List.of("--ioengine=io_uring", "--iodepth=" + depth, "--fdatasync=" + writes), Direction.WRITE,
            blockBytes);
    }

    /** A number of threads, each with one system call. */
    static Fio threads(final Direction direction, final long blockBytes, final int depth) {
        return new Fio(List.of("--ioengine=psync", "--numjobs=" + depth), direction, blockBytes);
    }

    /** Measures; MiB a second. What it wrote is durable afterwards, which does not count. */
    double run(final Path file, final long fileBytes, final long nanos) throws IOException, InterruptedException {
        final String mode = direction == Direction.READ ? "randread" : "randwrite";
        final List<String> command = new ArrayList<>(List.of("fio", "--name=peer", "--filename=" + file,
            "--allow_file_create=0", "--thread", "--direct=1", "--rw=" + mode, "--bs=" + blockBytes,
            "--size=" + fileBytes, "--time_based", "--runtime=" + TimeUnit.NANOSECONDS.toMillis(nanos) + "ms",
            "--norandommap", "--randrepeat=0", "--group_reporting", "--gtod_reduce=1", "--output-format=json"));
        command.addAll(engine);
        final double speed = mebibytesPerSecond(Programs.run(command, HUGE_PAGES).orFail("fio"), direction);
        if (direction == Direction.WRITE) {
            makeDurable(file);
        }
        return speed;
    }

    /**
     * What a run has left in the device's cache would be written in the other side's time, when that makes its own
     * durable: a flush is of the whole device.
     */
    private static void makeDurable(final Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.force(false);
        }
    }

    /**
     * Reads fio's answer.
     *
     * @param printed   what it printed: remarks, then a JSON object.
     * @param direction which of the two figures is wanted.
     * @return MiB a second, of all jobs together.
     */
    static double mebibytesPerSecond(final String printed, final Direction direction) throws IOException {
        final int start = printed.indexOf('{');
        double bytes = 0;
        if (start >= 0) {
            try (JsonParser json = JSON.createParser(printed.substring(start))) {
                json.nextToken();
                while (json.nextToken() == JsonToken.FIELD_NAME) {
                    final boolean jobs = json.currentName().equals("jobs");
                    json.nextToken();
                    if (jobs) {
                        bytes = jobs(json, direction.name().toLowerCase(Locale.ROOT));
                    } else {
                        json.skipChildren();
                    }
                }
            }
        }
        if (bytes == 0) {
            throw new IOException("fio printed no bandwidth: " + printed.strip().replaceAll("\\s+", " "));
        }
        return bytes / MIB;
    }

    /** Over the array of jobs, the bandwidth of one direction. */
    private static double jobs(final JsonParser json, final String direction) throws IOException {
        double bytes = 0;
        while (json.nextToken() == JsonToken.START_OBJECT) {
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                final String name = json.currentName();
                json.nextToken();
                if (name.equals("error") && json.getIntValue() != 0) {
                    throw new IOException("fio reports error " + json.getIntValue() + " of a job");
                } else if (name.equals(direction)) {
                    bytes += bandwidth(json);
                } else {
                    json.skipChildren();
                }
            }
        }
        return bytes;
    }

    private static double bandwidth(final JsonParser json) throws IOException {
        double bytes = 0;
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            final boolean wanted = json.currentName().equals("bw_bytes");
            json.nextToken();
            if (wanted) {
                bytes = json.getDoubleValue();
            } else {
                json.skipChildren();
            }
        }
        return bytes;
    }
}
