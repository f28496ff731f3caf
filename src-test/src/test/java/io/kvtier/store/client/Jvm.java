package io.kvtier.store.client;

import io.kvtier.kit.Commands;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A further JVM that says in one line of standard output that it is ready; killed when closed. */
final class Jvm implements AutoCloseable {
    private final Process process;
    private final String ready;

    private Jvm(final Process process, final String ready) {
        this.process = process;
        this.ready = ready;
    }

    static Jvm start(final Class<?> main, final String... arguments) {
        final List<String> flags = new ArrayList<>(Commands.NATIVE_FLAGS);
        // It lives for seconds.
        flags.add("-XX:TieredStopAtLevel=1");
        try {
            final Process process = new ProcessBuilder(Commands.javaCommand(flags, main, arguments))
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            final String line = new BufferedReader(
                new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8)).readLine();
            if (line == null) {
                process.destroyForcibly();
                throw new AssertionError(main.getName() + " ended before it was ready");
            }
            return new Jvm(process, line);
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The line that it printed. */
    String ready() {
        return ready;
    }

    /** SIGKILL: it does nothing more, as if the machine had died. */
    void kill() {
        process.destroyForcibly();
        join();
    }

    /** SIGTERM. Returns its exit status. */
    int stop() {
        process.destroy();
        return join();
    }

    private int join() {
        try {
            if (!process.waitFor(60, TimeUnit.SECONDS)) {
                throw new AssertionError("the process does not end");
            }
            return process.exitValue();
        } catch (final InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        kill();
    }
}
