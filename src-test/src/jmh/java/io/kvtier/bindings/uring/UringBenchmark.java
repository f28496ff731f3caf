package io.kvtier.bindings.uring;

import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
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
 * Throughput of a ring beside fio's with the same pattern on the same file and in the same memory, past the page cache,
 * in runs that take turns; and what crossing into the kernel costs. Prints one JSON object a row.
 *
 * <p>Arguments: directory of the file (needs 1 GiB), rounds (7), seconds a run (2), which rows (a regular expression;
 * {@code crossings} for what crossing costs), a file system in memory with huge pages (made with
 * {@code mount -t tmpfs -o huge=always,size=64m none DIR}; without it the rows with huge pages are left out).
 */
public final class UringBenchmark {
    private static final long FILE_BYTES = 1L << 30;
    private static final Path SMALL_PAGES = Path.of("/dev/shm");
    private static final double GOAL = 0.95;
    private static final long NANOS = 1_000_000_000L;

    private UringBenchmark() {
    }

    /** A pattern of transfers. */
    record Pattern(String name, String fio, int block, int depth, boolean registered, boolean huge) {
        boolean random() {
            return fio.startsWith("rand");
        }

        boolean writes() {
            return fio.endsWith("write");
        }
    }

    private static final List<Pattern> PATTERNS = List.of(
        new Pattern("random read 4 KiB, depth 32", "randread", 4 << 10, 32, false, false),
        new Pattern("random read 4 KiB, depth 32, registered", "randread", 4 << 10, 32, true, false),
        new Pattern("random read 64 KiB, depth 32, small pages", "randread", 64 << 10, 32, false, false),
        new Pattern("sequential read 1 MiB, depth 8, small pages", "read", 1 << 20, 8, false, false),
        new Pattern("sequential read 1 MiB, depth 8, small pages, registered", "read", 1 << 20, 8, true, false),
        new Pattern("sequential write 1 MiB, depth 8, small pages", "write", 1 << 20, 8, false, false),
        new Pattern("random read 64 KiB, depth 32, huge pages", "randread", 64 << 10, 32, false, true),
        new Pattern("sequential read 1 MiB, depth 8, huge pages", "read", 1 << 20, 8, false, true),
        new Pattern("sequential read 1 MiB, depth 8, huge pages, registered", "read", 1 << 20, 8, true, true),
        new Pattern("sequential write 1 MiB, depth 8, huge pages", "write", 1 << 20, 8, false, true));

    /** Runs everything. */
    public static void main(final String[] arguments) throws IOException, InterruptedException {
        final Path directory = Path.of(arguments[0]);
        final int rounds = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 7;
        final int seconds = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 2;
        if (!Uring.availability().available()) {
            System.out.println(Uring.availability());
            return;
        }
        final boolean fio = Fio.isInstalled();
        final Path path = directory.resolve("uring-benchmark");
        final String wanted = arguments.length > 3 ? arguments[3] : ".*";
        try {
            fill(path);
            final Path huge = arguments.length > 4 ? Path.of(arguments[4]) : null;
            for (final Pattern pattern : PATTERNS.stream().filter(one -> one.name.matches(wanted)
                && (huge != null || !one.huge)).toList()) {
                try (SharedBuffers memory = new SharedBuffers(pattern.huge ? huge : SMALL_PAGES,
                    (long) pattern.block * pattern.depth)) {
                    compare(pattern, path, memory, rounds, seconds, fio);
                }
            }
        } finally {
            Files.deleteIfExists(path);
        }
        if ("crossings".matches(wanted)) {
            Crossings.report(rounds);
        }
    }

    /** Random bytes, really written: a device or host that knows zeros or holes must not profit. */
    private static void fill(final Path path) throws IOException {
        final byte[] piece = new byte[1 << 20];
        final SplittableRandom random = new SplittableRandom(1);
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            for (long at = 0; at < FILE_BYTES; at += piece.length) {
                random.nextBytes(piece);
                channel.write(ByteBuffer.wrap(piece), at);
            }
            channel.force(true);
        }
    }

    private static void compare(final Pattern pattern, final Path path, final SharedBuffers memory, final int rounds,
                                final int seconds, final boolean fio) throws IOException, InterruptedException {
        final double[] ours = new double[rounds];
        final double[] theirs = new double[rounds];
        run(pattern, path, memory.segment(), seconds);
        for (int round = 0; round < rounds; round++) {
            // Who goes first changes, so that a drift of the device hits both alike.
            if (round % 2 == 0) {
                ours[round] = run(pattern, path, memory.segment(), seconds);
            }
            theirs[round] = fio ? Fio.mebibytesPerSecond(path, pattern, memory.lend(), seconds) : Double.NaN;
            if (round % 2 != 0) {
                ours[round] = run(pattern, path, memory.segment(), seconds);
            }
        }
        row(pattern.name, "MiB/s", median(ours), fio ? "fio" : "fio: not installed (package fio)", median(theirs),
            median(ours) / median(theirs));
        System.out.println("  ours " + text(ours) + " fio " + text(theirs) + ", buffers in " + memory.pieces()
            + " pieces, load " + Files.readString(Path.of("/proc/loadavg")).strip());
    }

    private static double run(final Pattern pattern, final Path path, final MemorySegment memory, final int seconds) {
        final UringOptions options = UringOptions.ofDepth(pattern.depth);
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE_DIRECT);
            UringRing ring = UringRing.open(pattern.registered ? options.withSlots(1, 1) : options);
            UringFile attached = ring.attach(file)) {
            final Load load = new Load(pattern, ring, attached, memory);
            final long start = System.nanoTime();
            final long end = start + seconds * NANOS;
            load.start();
            long now = start;
            while (now < end) {
                ring.submitAndWait(1);
                ring.reap(load);
                now = System.nanoTime();
            }
            final double mebibytes = (double) load.done * pattern.block / (1 << 20);
            load.stop();
            return mebibytes * NANOS / (now - start);
        }
    }

    /** Starts another transfer for each that ends. */
    private static final class Load implements CompletionHandler {
        private final Pattern pattern;
        private final UringRing ring;
        private final UringFile file;
        private final MemorySegment[] pieces;
        private final RegisteredBuffer buffer;
        private final SplittableRandom random = new SplittableRandom(System.nanoTime());
        private final int blocks;
        private long next;
        private long done;
        private boolean stopping;

        Load(final Pattern pattern, final UringRing ring, final UringFile file, final MemorySegment memory) {
            this.pattern = pattern;
            this.ring = ring;
            this.file = file;
            this.buffer = pattern.registered ? ring.register(memory) : null;
            this.pieces = new MemorySegment[pattern.depth];
            for (int i = 0; i < pieces.length; i++) {
                pieces[i] = memory.asSlice((long) i * pattern.block, pattern.block);
            }
            this.blocks = (int) (FILE_BYTES / pattern.block);
        }

        void start() {
            for (int i = 0; i < pieces.length; i++) {
                prepare(i);
            }
        }

        void stop() {
            stopping = true;
            ring.drain(this, Long.MAX_VALUE);
        }

        @Override
        public void completed(final long userData, final int result) {
            if (result != pattern.block) {
                throw new IllegalStateException("ended with " + result);
            }
            if (!stopping) {
                done++;
                prepare((int) userData);
            }
        }

        private void prepare(final int piece) {
            final long offset = (pattern.random() ? random.nextInt(blocks) : next++ % blocks) * pattern.block;
            final boolean prepared;
            if (pattern.registered) {
                prepared = ring.readFixed(file, buffer, (long) piece * pattern.block, pattern.block, offset, piece);
            } else if (pattern.writes()) {
                prepared = ring.write(file, pieces[piece], offset, piece);
            } else {
                prepared = ring.read(file, pieces[piece], offset, piece);
            }
            if (!prepared) {
                throw new IllegalStateException("the ring is full");
            }
        }
    }

    static void row(final String what, final String unit, final double ours, final String peer, final double theirs,
                    final double ratio) {
        System.out.println("{\"row\": \"" + what + "\", \"unit\": \"" + unit + "\", \"ours\": " + number(ours)
            + ", \"peer\": \"" + peer + "\", \"peer_value\": " + number(theirs) + ", \"ratio\": " + number(ratio)
            + ", \"goal\": " + GOAL + "}");
    }

    static double median(final double[] values) {
        final double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private static String number(final double value) {
        return Double.isNaN(value) ? "null" : String.format(Locale.ROOT, "%.3f", value);
    }

    private static String text(final double[] values) {
        final List<String> texts = new ArrayList<>();
        for (final double value : values) {
            texts.add(String.format(Locale.ROOT, "%.0f", value));
        }
        return texts.toString();
    }
}
