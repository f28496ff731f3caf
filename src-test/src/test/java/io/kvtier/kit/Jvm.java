package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** A further JVM that says in one line of standard output that it is ready; killed when closed. */
public final class Jvm implements AutoCloseable {
    private final Process process;
    private final BufferedReader out;
    private final String ready;
    /** Of a line that is not whole yet. */
    private final StringBuilder begun = new StringBuilder();

    private Jvm(final Process process, final BufferedReader out, final String ready) {
        this.process = process;
        this.out = out;
        this.ready = ready;
    }

    public static Jvm start(final Class<?> main, final String... arguments) {
        return start(ProcessBuilder.Redirect.INHERIT, main, arguments);
    }

    /** One whose standard error goes somewhere. */
    public static Jvm start(final ProcessBuilder.Redirect error, final Class<?> main, final String... arguments) {
        return start(List.of(), error, main, arguments);
    }

    /** One with further flags. */
    public static Jvm start(final List<String> further, final ProcessBuilder.Redirect error, final Class<?> main,
        final String... arguments) {
        final List<String> flags = new ArrayList<>(Commands.NATIVE_FLAGS);
        flags.addAll(further);
        // It lives for seconds.
        flags.add("-XX:TieredStopAtLevel=1");
        try {
            final Process process = new ProcessBuilder(Commands.javaCommand(flags, main, arguments))
                .redirectError(error).start();
            final BufferedReader out = process.inputReader(StandardCharsets.UTF_8);
            final String line = out.readLine();
            if (line == null) {
                process.destroyForcibly();
                throw new AssertionError(main.getName() + " ended before it was ready");
            }
            return new Jvm(process, out, line);
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The line that it printed. */
    public String ready() {
        return ready;
    }

    /** The next line that it prints; null when it has ended. */
    public String line() {
        try {
            final String rest = out.readLine();
            if (rest == null && begun.isEmpty()) {
                return null;
            }
            final String line = rest == null ? begun.toString() : begun + rest;
            begun.setLength(0);
            return line;
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Its standard input ends, after some text. */
    public void tell(final String text) {
        try (OutputStream in = process.getOutputStream()) {
            in.write(text.getBytes(StandardCharsets.UTF_8));
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** Sends a signal: STOP, CONT and the like. */
    public void signal(final String name) {
        try {
            assertEquals(0, Commands.run("kill", "-" + name, String.valueOf(process.pid())).code());
        } catch (final InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** SIGKILL: it does nothing more, as if the machine had died. */
    public void kill() {
        process.destroyForcibly();
        join();
    }

    /**
     * Kills it when it has printed so many more lines, each of words between spaces with a point as the last one.
     *
     * @param lines after how many, from 1; to end by itself before is a failure.
     * @param said  takes the words of each line, with those of lines that were printed until the kill took place; what
     *              that has cut off is left out.
     */
    public void killAt(final int lines, final Consumer<String[]> said) {
        int count = 0;
        // What was written before the kill is still in the pipe and counts.
        for (String line = line(); line != null; line = line()) {
            count++;
            if (count == lines) {
                // The handle, because killing the process object would throw away what is still in the pipe.
                process.toHandle().destroyForcibly();
            }
            take(line, said);
        }
        join();
        final int total = count;
        assertTrue(total >= lines, () -> "the process ended by itself after " + total + " lines");
    }

    /**
     * Lets it print so many more lines, stops all its threads wherever they are, which leaves its files as a kill does,
     * and lets it go on afterwards.
     *
     * @param lines after how many, from 1; to end by itself before is a failure.
     * @param said  as in {@link #killAt}, of what was printed until it stood still.
     * @param look  what is done while it stands still.
     */
    public void stopAt(final int lines, final Consumer<String[]> said, final Runnable look) {
        for (int count = 0; count < lines; count++) {
            final String line = line();
            assertTrue(line != null, "the process ended by itself");
            take(line, said);
        }
        signal("STOP");
        try {
            Threads.awaitUntil(this::standsStill, () -> "it does not stop");
            drain(said);
            look.run();
        } finally {
            signal("CONT");
        }
    }

    private static void take(final String line, final Consumer<String[]> said) {
        // What was announced by a line that is not whole was not done.
        if (line.endsWith(" .")) {
            said.accept(line.split(" "));
        }
    }

    /** Whether each of its threads has stopped. */
    private boolean standsStill() {
        try (Stream<Path> threads = Files.list(Path.of("/proc", String.valueOf(process.pid()), "task"))) {
            return threads.allMatch(Jvm::isStopped);
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isStopped(final Path thread) {
        try {
            // The state stands behind the name, which is in brackets and may have any characters.
            final String stat = Files.readString(thread.resolve("stat"));
            return stat.startsWith("T", stat.lastIndexOf(')') + 2);
        } catch (final IOException e) {
            // It has just ended.
            return true;
        }
    }

    /** Takes what is in the pipe, and waits for nothing. */
    private void drain(final Consumer<String[]> said) {
        try {
            while (out.ready()) {
                final int next = out.read();
                if (next == '\n') {
                    take(begun.toString(), said);
                    begun.setLength(0);
                } else {
                    begun.append((char) next);
                }
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** SIGTERM. Returns its exit status. */
    public int stop() {
        process.destroy();
        return join();
    }

    /** Waits for its end; its exit status. */
    public int join() {
        try {
            if (!process.waitFor(60, TimeUnit.SECONDS)) {
                throw new AssertionError("the process does not end");
            }
            return process.exitValue();
        } catch (final InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Where its threads are, for people. */
    public String dump() {
        try {
            return Commands.run(Path.of(System.getProperty("java.home"), "bin", "jcmd").toString(),
                String.valueOf(process.pid()), "Thread.print").output();
        } catch (final InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        kill();
    }
}
