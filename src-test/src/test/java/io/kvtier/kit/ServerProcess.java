package io.kvtier.kit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A program that serves a test, with all that it says in a file. */
final class ServerProcess implements AutoCloseable {
    private final Process process;
    private final Path log;

    ServerProcess(final Path log, final List<String> command) throws IOException {
        this.log = log;
        this.process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
        process.getOutputStream().close();
    }

    /** Waits until it has said something; fails when it ends before. */
    ServerProcess awaitSaid(final String text) {
        Threads.awaitUntil(() -> said().contains(text), () -> failure("does not say '" + text + "'"));
        return this;
    }

    /** What it has said, unless it has ended. */
    private String said() {
        final boolean alive = process.isAlive();
        final String said = read();
        if (!alive) {
            throw new AssertionError("ended with " + process.exitValue() + ": " + said);
        }
        return said;
    }

    boolean isAlive() {
        return process.isAlive();
    }

    String failure(final String what) {
        return (process.isAlive() ? "" : "ended, ") + what + ": " + read();
    }

    private String read() {
        try {
            return Files.readString(log);
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends it as a loss of power would. */
    void kill() {
        process.destroyForcibly();
        awaitEnd();
    }

    @Override
    public void close() {
        kill();
    }

    private void awaitEnd() {
        boolean interrupted = false;
        while (process.isAlive()) {
            try {
                process.waitFor();
            } catch (final InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
