package io.kvtier.kit;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs programs: compilers, system tools, and further JVMs like the one of the test. */
public final class Commands {
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
        try {
            final ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
            builder.environment().put("LC_ALL", "C");
            final Process process = builder.start();
            process.getOutputStream().close();
            final String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return new Result(process.waitFor(), output);
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
