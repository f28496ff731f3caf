package io.kvtier.store.cli.bench;

import io.kvtier.store.config.GdsVariables;
import io.kvtier.store.config.SharedDiskVariables;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/**
 * Runs the programs of peers. None of them outlives this process, nor an interrupt of the thread that waits for it.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> until the program has ended.
 */
final class Programs {
    private static final int MOST_SAID = 300;

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
                final String said = text.strip().replaceAll("\\s+", " ");
                // Of what some print only the beginning is for people.
                throw new IOException(what + " failed with status " + status + ": "
                    + said.substring(0, Math.min(said.length(), MOST_SAID)));
            }
            return text;
        }
    }

    static Output run(final String... command) throws IOException, InterruptedException {
        return run(List.of(command), Map.of());
    }

    static Output run(final List<String> command, final Map<String, String> environment)
        throws IOException, InterruptedException {
        final Process process = started(command, environment);
        final Thread atTheEnd = endWithThisProcess(process);
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

    /**
     * A program that goes on until it is closed.
     *
     * <p><b>Threading:</b> one thread.
     */
    static final class Background implements AutoCloseable {
        private static final long END_SECONDS = 10;

        private final Process process;
        private final Thread atTheEnd;
        private final BufferedReader printed;

        private Background(final Process process) throws IOException {
            this.process = process;
            this.atTheEnd = endWithThisProcess(process);
            this.printed = process.inputReader(StandardCharsets.UTF_8);
        }

        /** Reads what it prints up to the first line with a prefix, and gives that line. */
        String line(final String prefix) throws IOException {
            return line(printedLine -> printedLine.startsWith(prefix));
        }

        /** Reads what it prints up to the first line with that in it, and gives that line. */
        String lineWith(final String part) throws IOException {
            return line(printedLine -> printedLine.contains(part));
        }

        private String line(final Predicate<String> wanted) throws IOException {
            final StringBuilder before = new StringBuilder();
            String line = printed.readLine();
            while (line != null && !wanted.test(line)) {
                before.append(line).append(' ');
                line = printed.readLine();
            }
            if (line == null) {
                throw new IOException("a program that should go on has ended: " + before.toString().strip());
            }
            return line;
        }

        /** Asks it to end, and waits some time; when it has not ended then, or the thread is interrupted, kills it. */
        void end() {
            process.destroy();
            try {
                process.waitFor(END_SECONDS, TimeUnit.SECONDS);
            } catch (final InterruptedException e) {
                Thread.currentThread().interrupt();
            } finally {
                close();
            }
        }

        @Override
        public void close() {
            process.destroyForcibly();
            forget(atTheEnd);
        }
    }

    /** Starts a program; both its output streams are one. What it prints after the awaited line must be little. */
    static Background start(final List<String> command) throws IOException {
        return start(command, Map.of());
    }

    /** The same, with variables beside those of this process. */
    static Background start(final List<String> command, final Map<String, String> environment) throws IOException {
        return new Background(started(command, environment));
    }

    /** A port on this machine that nobody listens at, at this moment. */
    static int freePort() throws IOException {
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return free.getLocalPort();
        }
    }

    private static Process started(final List<String> command, final Map<String, String> environment)
        throws IOException {
        final ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("LC_ALL", "C");
        // A node of a bench is no second user of the backing file of this machine's node, nor of its shared disk.
        builder.environment().remove(GdsVariables.ENABLED);
        builder.environment().remove(SharedDiskVariables.PAGE_MODE);
        builder.environment().putAll(environment);
        return builder.start();
    }

    private static Thread endWithThisProcess(final Process process) throws IOException {
        final Thread atTheEnd = new Thread(process::destroyForcibly, "kvtier-end-" + process.pid());
        try {
            Runtime.getRuntime().addShutdownHook(atTheEnd);
        } catch (final IllegalStateException e) {
            // The JVM is ending already, and runs no hook that comes now.
            process.destroyForcibly();
            throw new IOException("the command is being ended", e);
        }
        return atTheEnd;
    }

    /** Whether this process is being ended, by a signal or by {@link System#exit}: its programs are killed then. */
    static boolean areBeingEnded() {
        final Thread probe = new Thread(() -> { }, "kvtier-end-probe");
        try {
            Runtime.getRuntime().addShutdownHook(probe);
            return !Runtime.getRuntime().removeShutdownHook(probe);
        } catch (final IllegalStateException ending) {
            return true;
        }
    }

    private static void forget(final Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (final IllegalStateException expected) {
            // The JVM is ending, and the hook runs.
        }
    }
}
