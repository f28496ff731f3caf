package io.kvtier.bindings.uring;

import io.kvtier.kit.Commands;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Runs fio, the usual measuring tool for storage, with its io_uring engine. */
final class Fio {
    private static final Pattern BANDWIDTH = Pattern.compile("\"bw_bytes\" : (\\d+)");

    private Fio() {
    }

    static boolean isInstalled() throws InterruptedException {
        return Commands.run("fio", "--version").code() == 0;
    }

    /**
     * Runs one pattern.
     *
     * @param memory a file whose pages become fio's buffers, and which fio removes; null for what malloc gives.
     */
    static double mebibytesPerSecond(final Path file, final UringBenchmark.Pattern pattern, final Path memory,
                                     final int seconds) throws IOException, InterruptedException {
        final List<String> command = new ArrayList<>(List.of("fio", "--name=peer", "--filename=" + file,
            "--ioengine=io_uring", "--direct=1", "--rw=" + pattern.fio(), "--bs=" + pattern.block(),
            "--iodepth=" + pattern.depth(), "--size=1g", "--time_based", "--runtime=" + seconds, "--norandommap",
            "--randrepeat=0", "--thread", "--gtod_reduce=1", "--output-format=json"));
        if (memory != null) {
            command.add("--mem=mmapshared:" + memory);
        }
        if (pattern.registered()) {
            command.addAll(List.of("--fixedbufs=1", "--registerfiles=1"));
        }
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
