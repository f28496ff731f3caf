package io.kvtier.kit;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Runs programs: compilers, system tools, and further JVMs like the one of the test. */
public final class Commands {
    /** The exit code of a program that was stopped at its limit, as {@code timeout(1)} gives it. */
    public static final int STOPPED = 124;
    /** What a JVM needs to call native code and to use the allocators' buffers, on the class path. */
    public static final List<String> NATIVE_FLAGS = List.of("--enable-native-access=ALL-UNNAMED", "--add-exports",
        "java.base/jdk.internal.misc=ALL-UNNAMED");

    private Commands() {
    }

    /**
     * How a program ended.
     *
     * @param code   its exit code; 127 when it could not be started.
     * @param output standard output and error together.
     */
    public record Result(int code, String output) {
    }

    public static Result run(final List<String> command) throws InterruptedException {
        return run(null, command);
    }

    /**
     * Runs a program for a bounded time; for those that may hang.
     *
     * @param limit   after which it is stopped; null for none.
     * @param command its words.
     * @return how it ended; code {@link #STOPPED} when it was stopped.
     * @throws InterruptedException when interrupted.
     */
    public static Result run(final Duration limit, final List<String> command) throws InterruptedException {
        try {
            final ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
            builder.environment().put("LC_ALL", "C");
            final Process process = builder.start();
            process.getOutputStream().close();
            final AtomicBoolean stopped = new AtomicBoolean();
            if (limit != null) {
                CompletableFuture.delayedExecutor(limit.toMillis(), TimeUnit.MILLISECONDS).execute(() -> {
                    stopped.set(process.isAlive());
                    process.destroyForcibly();
                });
            }
            final String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            final int code = process.waitFor();
            return new Result(stopped.get() ? STOPPED : code, output);
        } catch (final IOException e) {
            return new Result(127, e.getMessage());
        }
    }

    public static Result run(final String... command) throws InterruptedException {
        return run(List.of(command));
    }

    /**
     * Runs a main class in a JVM of its own, on the class path of the test.
     *
     * @param flags     for the JVM.
     * @param main      the class.
     * @param arguments for it.
     * @return how it ended.
     * @throws InterruptedException when interrupted.
     */
    public static Result java(final List<String> flags, final Class<?> main, final String... arguments)
        throws InterruptedException {
        return run(javaCommand(flags, main, arguments));
    }

    /**
     * The command line of such a JVM, for a test that keeps the process.
     *
     * @param flags     for the JVM.
     * @param main      the class.
     * @param arguments for it.
     * @return the words.
     */
    public static List<String> javaCommand(final List<String> flags, final Class<?> main, final String... arguments) {
        final List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(flags);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        return command;
    }
}
