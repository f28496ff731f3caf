package io.kvtier.bindings.posix;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.Commands;
import io.kvtier.kit.NotExercised;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class TerminalTest {
    private static final String NATIVE = "--enable-native-access=ALL-UNNAMED";

    /** Tells on standard output what standard error is. */
    public static final class Asks {
        private Asks() {
        }

        public static void main(final String[] arguments) {
            System.out.println("terminal: " + Terminal.onStandardError()
                + ", " + Terminal.columnsOnStandardError());
        }
    }

    @Test
    void shouldSeeNoTerminalWhenStandardErrorIsAPipe() throws InterruptedException {
        assertEquals("terminal: false, 0", Commands.java(List.of(NATIVE), Asks.class).output().strip());
    }

    @Test
    void shouldSeeATerminalAndItsWidthWhenThereIsOne() throws InterruptedException {
        final Commands.Result script = Commands.run("script", "-qec", "true", "/dev/null");
        NotExercised.require("script", script.code() == 0, "the program that makes a terminal: " + script.output());
        final String command = "stty cols 97; '" + Path.of(System.getProperty("java.home"), "bin", "java") + "' "
            + NATIVE + " -cp '" + System.getProperty("java.class.path") + "' '" + Asks.class.getName() + "'";

        assertEquals("terminal: true, 97", Commands.run("script", "-qec", command, "/dev/null").output().strip());
    }
}
