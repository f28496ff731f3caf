package io.kvtier.store.cli.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/**
 * Runs the programs of peers. None of them outlives this process, nor an interrupt of the thread that waits for it.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> until the program has ended.
 */
final class Programs {
    private Programs() {
    }

    /**
     * How a program ended.
     *
     * @param status its exit status.
     * @param text   what it printed, both streams together.
     */
    record Output(int status, String text) {
        /** What it printed, when it ended well. */
        String orFail(final String what) throws IOException {
            if (status != 0) {
                throw new IOException(what + " failed with status " + status + ": "
                    + text.strip().replaceAll("\\s+", " "));
            }
            return text;
        }
    }

    static Output run(final String... command) throws IOException, InterruptedException {
        return run(List.of(command), Map.of());
    }

    static Output run(final List<String> command, final Map<String, String> environment)
        throws IOException, InterruptedException {
        final Process process = start(command, environment);
        final Thread atTheEnd = new Thread(process::destroyForcibly, "kvtier-end-" + command.getFirst());
        Runtime.getRuntime().addShutdownHook(atTheEnd);
        boolean ended = false;
        try {
            process.getOutputStream().close();
            // Reading ignores interrupts; a program runs for seconds.
            final String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            final int status = process.waitFor();
            ended = true;
            return new Output(status, text);
        } finally {
            if (!ended) {
                process.destroyForcibly();
            }
            forget(atTheEnd);
        }
    }

    /** Starts a program that is to be ended by closing its standard input; both its output streams are one. */
    static Process start(final List<String> command, final Map<String, String> environment) throws IOException {
        final ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("LC_ALL", "C");
        builder.environment().putAll(environment);
        return builder.start();
    }

    private static void forget(final Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (final IllegalStateException expected) {
            // The JVM is ending, and the hook runs.
        }
    }
}
