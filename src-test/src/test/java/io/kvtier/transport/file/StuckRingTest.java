package io.kvtier.transport.file;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.uring.Uring;
import io.kvtier.kit.Commands;
import io.kvtier.kit.NotExercised;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A ring fails while the kernel does not let go of an operation: in a process of its own, as it leaks on purpose. */
class StuckRingTest {
    @TempDir
    private Path directory;

    @Test
    void shouldNeverCompleteWhatTheKernelMayStillTouchAndGoOnWithTheRest() throws InterruptedException {
        NotExercised.require("io_uring", Uring.availability().available(), Uring.availability().reason());
        final Commands.Result result = Commands.java(Commands.NATIVE_FLAGS, StuckRing.class, directory.toString());
        assertEquals(0, result.code(), result.output());
        assertTrue(result.output().contains("nothing was freed that the kernel may write"), result.output());
    }
}
