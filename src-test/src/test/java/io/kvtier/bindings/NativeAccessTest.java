package io.kvtier.bindings;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.kit.Commands;
import io.kvtier.kit.NotExercised;
import java.util.List;
import org.agrona.concurrent.UnsafeBuffer;
import org.junit.jupiter.api.Test;

/** Each case is a JVM of its own: flags are of a process. */
class NativeAccessTest {
    private static final String NATIVE = "--enable-native-access=ALL-UNNAMED";
    private static final String EXPORTS = "--add-exports java.base/jdk.internal.misc=ALL-UNNAMED";
    private static final String[] EXPORTS_ARGUMENTS = EXPORTS.split(" ");

    /** Asks for the flags as a store does when it opens, then makes a native call. */
    public static final class Host {
        private Host() {
        }

        public static void main(final String[] arguments) {
            NativeAccess.require(arguments.length > 0 ? null : UnsafeBuffer.class);
            System.out.println("allowed: " + Errno.text(Errno.ENOENT));
        }
    }

    @Test
    void shouldNameBothFlagsWhenBothAreMissing() throws InterruptedException {
        final Commands.Result result = Commands.java(List.of(), Host.class);

        assertEquals(1, result.code(), result.output());
        assertTrue(result.output().contains("lacks 2 flag(s). Add to the java command line: " + NATIVE + " " + EXPORTS
            + System.lineSeparator()), result.output());
    }

    @Test
    void shouldNameTheExportWhenOnlyItIsMissing() throws InterruptedException {
        final Commands.Result result = Commands.java(List.of(NATIVE), Host.class);

        assertEquals(1, result.code(), result.output());
        assertTrue(result.output().contains("lacks 1 flag(s). Add to the java command line: " + EXPORTS
            + System.lineSeparator()), result.output());
    }

    @Test
    void shouldNameNativeAccessWhenOnlyItIsMissing() throws InterruptedException {
        final Commands.Result result = Commands.java(List.of(EXPORTS_ARGUMENTS), Host.class);

        assertEquals(1, result.code(), result.output());
        assertTrue(result.output().contains("lacks 1 flag(s). Add to the java command line: " + NATIVE
            + System.lineSeparator()), result.output());
    }

    @Test
    void shouldGoOnWhenNothingIsMissing() throws InterruptedException {
        final Commands.Result result =
            Commands.java(List.of(NATIVE, EXPORTS_ARGUMENTS[0], EXPORTS_ARGUMENTS[1]), Host.class);

        assertEquals(0, result.code(), result.output());
        assertEquals("allowed: No such file or directory", result.output().strip());
    }

    @Test
    void shouldNotAskForTheExportWhenOnlyNativeAccessIsWanted() throws InterruptedException {
        final Commands.Result result = Commands.java(List.of(NATIVE), Host.class, "native access only");

        assertEquals(0, result.code(), result.output());
    }

    @Test
    void shouldNameTheFlagBeforeTheJvmRefusesWhenIllegalNativeAccessIsDenied() throws InterruptedException {
        final String deny = "--illegal-native-access=deny";
        NotExercised.require("illegal-native-access", Runtime.version().feature() >= 24,
            "the flag exists from JDK 24 on");

        final Commands.Result refused = Commands.java(List.of(deny), Host.class, "native access only");
        assertEquals(1, refused.code(), refused.output());
        assertTrue(refused.output().contains("java.lang.IllegalStateException: kvtier cannot start"), refused.output());
        assertTrue(refused.output().contains(NATIVE + System.lineSeparator()), refused.output());

        final Commands.Result allowed = Commands.java(List.of(deny, NATIVE), Host.class, "native access only");
        assertEquals(0, allowed.code(), allowed.output());
    }
}
