package io.kvtier.kit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/** Compares numbers typed in by hand with what a C compiler makes of the headers of this machine. */
public final class CompiledNumbers {
    private final String headers;
    private final Map<String, Long> ours = new LinkedHashMap<>();

    private CompiledNumbers(final String headers) {
        this.headers = headers;
    }

    /**
     * Starts a comparison; without a compiler or one of the headers the test is skipped, visibly.
     *
     * @param directory for scratch files.
     * @param headers   what to include, for example {@code linux/stat.h}.
     * @return an empty comparison.
     * @throws IOException          when the scratch files cannot be written.
     * @throws InterruptedException when interrupted.
     */
    public static CompiledNumbers of(final Path directory, final String... headers)
        throws IOException, InterruptedException {
        final Commands.Result gcc = Commands.run("gcc", "--version");
        NotExercised.require("gcc", gcc.code() == 0, "no C compiler: " + gcc.output().lines().findFirst().orElse(""));
        final String prelude = "#define _GNU_SOURCE\n#include <stddef.h>\n#include <stdio.h>\n";
        final String includes = Arrays.stream(headers).map(CompiledNumbers::include)
            .collect(Collectors.joining("", prelude, ""));
        if (!compiles(directory, includes)) {
            for (final String header : headers) {
                NotExercised.require(header, compiles(directory, prelude + include(header)), "no header " + header);
            }
        }
        return new CompiledNumbers(includes);
    }

    private static String include(final String header) {
        return "#include <" + header + ">\n";
    }

    private static boolean compiles(final Path directory, final String source)
        throws IOException, InterruptedException {
        final Path probe = Files.writeString(directory.resolve("probe.c"), source);
        return Commands.run("gcc", "-c", "-o", directory.resolve("probe.o").toString(), probe.toString()).code() == 0;
    }

    /** Whether the headers define an expression. */
    public boolean knows(final Path directory, final String expression) throws IOException, InterruptedException {
        return compiles(directory, headers + "int x = sizeof(" + expression + ");\n");
    }

    public CompiledNumbers add(final String expression, final long value) {
        ours.put(expression, value);
        return this;
    }

    public void compare(final Path directory) throws IOException, InterruptedException {
        final String prints = ours.keySet().stream()
            .map(expression -> "    printf(\"%lld\\n\", (long long) (" + expression + "));\n")
            .collect(Collectors.joining());
        final Path source = Files.writeString(directory.resolve("numbers.c"),
            headers + "int main(void) {\n" + prints + "    return 0;\n}\n");
        final Path program = directory.resolve("numbers");
        final Commands.Result compiled =
            Commands.run("gcc", "-Wall", "-o", program.toString(), source.toString());
        assertEquals(0, compiled.code(), compiled.output());
        final String[] theirs = Commands.run(program.toString()).output().strip().split("\n");
        assertEquals(ours.size(), theirs.length);

        final Map<String, Long> expected = new LinkedHashMap<>();
        int i = 0;
        for (final String name : ours.keySet()) {
            expected.put(name, Long.valueOf(theirs[i++]));
        }
        assertEquals(expected, ours);
    }
}
