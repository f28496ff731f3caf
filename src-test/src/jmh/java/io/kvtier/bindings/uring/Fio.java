package io.kvtier.bindings.uring;

import io.kvtier.kit.Commands;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Runs fio, the usual measuring tool for storage. */
public final class Fio {
    private static final Pattern BANDWIDTH = Pattern.compile("\"bw_bytes\" : (\\d+)");

    private Fio() {
    }

    /** Whether the program is there. */
    public static boolean isInstalled() throws InterruptedException {
        return Commands.run("fio", "--version").code() == 0;
    }

    /**
     * Runs one pattern with the io_uring engine.
     *
     * @param memory a file whose pages become fio's buffers, and which fio removes; null for what malloc gives.
     */
    static double mebibytesPerSecond(final Path file, final UringBenchmark.Pattern pattern, final Path memory,
                                     final int seconds) throws IOException, InterruptedException {
        final List<String> options =
            new ArrayList<>(List.of("--ioengine=io_uring", "--iodepth=" + pattern.depth()));
        if (memory != null) {
            options.add("--mem=mmapshared:" + memory);
        }
        if (pattern.registered()) {
            options.addAll(List.of("--fixedbufs=1", "--registerfiles=1"));
        }
        return mebibytesPerSecond(file, pattern.fio(), pattern.block(), seconds, false, options);
    }

    /**
     * Measures a pattern of transfers past the page cache, over the first GiB of a file.
     *
     * @param file    the file.
     * @param pattern as fio calls it, for example {@code randread}.
     * @param block   bytes a transfer.
     * @param seconds to run.
     * @param huge    whether to ask for huge pages behind its memory.
     * @param options engine, depth and number of jobs, which are counted together.
     * @return MiB/s.
     */
    public static double mebibytesPerSecond(final Path file, final String pattern, final int block, final int seconds,
                                            final boolean huge, final List<String> options)
        throws IOException, InterruptedException {
        // The C library's way of asking for huge pages behind malloc, where fio's buffers come from.
        final List<String> command = new ArrayList<>(huge ? List.of("env", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1")
            : List.of());
        command.addAll(List.of("fio", "--name=peer", "--filename=" + file, "--direct=1", "--rw=" + pattern,
            "--bs=" + block, "--size=1g", "--time_based", "--runtime=" + seconds, "--norandommap", "--randrepeat=0",
            "--thread", "--group_reporting", "--gtod_reduce=1", "--output-format=json"));
        command.addAll(options);
        final Commands.Result result = Commands.run(command);
        double bytes = 0;
        final Matcher matcher = BANDWIDTH.matcher(result.output());
        while (matcher.find()) {
            bytes = Math.max(bytes, Double.parseDouble(matcher.group(1)));
        }
        if (result.code() != 0 || bytes == 0) {
            throw new IOException("fio failed: " + result.output());
        }
        return bytes / (1 << 20);
    }
}
