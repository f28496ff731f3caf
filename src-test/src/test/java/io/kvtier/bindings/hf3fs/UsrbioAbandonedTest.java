package io.kvtier.bindings.hf3fs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.SimulatedUsrbio;
import io.kvtier.kit.Threads;
import io.kvtier.kit.UsrbioFaults.Call;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is left, and counted, when nothing is heard of entries until the end. It is left on purpose, here too. */
class UsrbioAbandonedTest {
    private static final int BLOCK = 4096;

    @TempDir
    private Path directory;
    private SimulatedUsrbio simulated;
    private Usrbio usrbio;
    private Path path;

    @BeforeEach
    void begin() throws IOException {
        simulated = new SimulatedUsrbio(directory);
        usrbio = simulated.usrbio();
        path = Files.write(simulated.mount().resolve("file"), PatternBytes.of(1, 8 * BLOCK));
    }

    @AfterEach
    void end() {
        assertEquals(List.of(), simulated.problems());
        simulated.close();
    }

    private static Map<NativeTag, Long> handles() {
        final Map<NativeTag, Long> handles = new EnumMap<>(NativeTag.class);
        NativeResources.snapshot().forEach((tag, usage) -> handles.put(tag, usage.handles()));
        return handles;
    }

    private static void checkLeft(final Map<NativeTag, Long> before, final long memory, final long rings,
        final long files) {
        final Map<NativeTag, Long> after = handles();
        final Map<NativeTag, Long> left = Map.of(NativeTag.USRBIO_MEMORY, memory, NativeTag.USRBIO_RING, rings,
            NativeTag.USRBIO_FILE, files, NativeTag.FILE_DESCRIPTOR, files);
        left.forEach((tag, count) -> assertEquals(count.longValue(),
            after.getOrDefault(tag, 0L) - before.getOrDefault(tag, 0L), tag.name()));
    }

    private Hf3fsFile registered() {
        try (PosixFile file = PosixFile.open(path.toString(), OpenMode.READ_WRITE)) {
            return Hf3fsFile.register(usrbio, file);
        }
    }

    @Test
    void shouldLeaveARingWithTheMemoryAndTheFileOfItsEntries() {
        final Map<NativeTag, Long> before = handles();
        final long abandoned = Usrbio.abandonedRings();
        final IoVector vector = IoVector.create(usrbio, simulated.mount().toString(), BLOCK, 0, -1);
        final Hf3fsFile file = registered();
        final IoRing ring = IoRing.create(usrbio, simulated.mount().toString(), IoRingOptions.of(2, true));
        simulated.faults().loseNth(Call.READ_ENTRY, 1);
        assertTrue(ring.prepare(vector, 0, BLOCK, file, 0, 1));
        file.close();
        vector.close();

        final IllegalStateException given = assertThrows(IllegalStateException.class, ring::close);

        assertTrue(given.getMessage().contains("10000 ms of 1 entries"), given.getMessage());
        assertEquals(abandoned + 1, Usrbio.abandonedRings());
        checkLeft(before, 1, 1, 1);
        // What may still be written is still there.
        vector.segment().fill((byte) 1);
        ring.close();
        assertEquals(abandoned + 1, Usrbio.abandonedRings());
    }

    @Test
    void shouldCloseTheLanesOfAChannelThatWereHeardOf() {
        final Map<NativeTag, Long> before = handles();
        final long abandoned = Usrbio.abandonedRings();
        final UsrbioChannel channel = UsrbioChannel.open(usrbio, simulated.mount().toString(),
            new UsrbioOptions(2, 2, BLOCK, 1_000, false, -1));
        final Hf3fsFile file = registered();
        final MemorySegment memory = MemorySegment.ofArray(new byte[2 * BLOCK]);
        channel.write(file, memory, 0);
        simulated.faults().loseNth(Call.READ_ENTRY, 2);
        assertTrue(assertThrows(UsrbioException.class, () -> channel.read(file, memory, 0)).uncertain());
        assertEquals(2 * BLOCK, channel.read(file, memory, 0));
        file.close();

        assertThrows(IllegalStateException.class, channel::close);

        assertEquals(abandoned + 1, Usrbio.abandonedRings());
        // Of two lanes one is left: its memory and its ring for reads, but not the one for writes.
        checkLeft(before, 1, 1, 1);
        channel.close();
    }

    @Test
    void shouldWaitForAWriteNoLongerWhenTheChannelIsClosed() throws Exception {
        final Map<NativeTag, Long> before = handles();
        final UsrbioChannel channel = UsrbioChannel.open(usrbio, simulated.mount().toString(),
            new UsrbioOptions(1, 2, BLOCK, 1_000, true, -1));
        final Hf3fsFile file = registered();
        simulated.faults().loseNth(Call.WRITE_ENTRY, 1);
        final CountDownLatch waiting = new CountDownLatch(50);
        simulated.onWait(waiting::countDown);
        final CompletableFuture<Void> write =
            Threads.start(() -> channel.write(file, MemorySegment.ofArray(new byte[BLOCK]), 0));
        waiting.await();

        channel.close();

        final ExecutionException ended = assertThrows(ExecutionException.class, write::get);
        assertTrue(assertInstanceOf(UsrbioException.class, ended.getCause()).uncertain());
        file.close();
        checkLeft(before, 1, 1, 1);
    }
}
