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

/**
 * What is left, and counted, when nothing is heard of entries until the end: a main class, since it is left for good.
 * {@link UsrbioAbandonedTest} runs it.
 */
public final class UsrbioAbandonedVictim {
    private static final int BLOCK = 4096;

    private final SimulatedUsrbio simulated;
    private final Usrbio usrbio;
    private final Path path;

    private UsrbioAbandonedVictim(final Path directory) throws IOException {
        simulated = new SimulatedUsrbio(directory);
        usrbio = simulated.usrbio();
        path = Files.write(simulated.mount().resolve("file"), PatternBytes.of(1, 8 * BLOCK));
    }

    /** Which of them there are. */
    enum Scenario { RING, LANE, WRITE }

    /**
     * Runs one.
     *
     * @param args its name, and an empty folder.
     */
    public static void main(final String[] args) throws Exception {
        final UsrbioAbandonedVictim victim = new UsrbioAbandonedVictim(Path.of(args[1]));
        switch (Scenario.valueOf(args[0])) {
            case RING -> victim.leaveARingWithTheMemoryAndTheFileOfItsEntries();
            case LANE -> victim.closeTheLanesThatWereHeardOf();
            case WRITE -> victim.waitForAWriteNoLongerThanToTheClose();
            default -> throw new IllegalArgumentException(args[0]);
        }
        assertEquals(List.of(), victim.simulated.problems());
        System.out.println("done");
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

    private void leaveARingWithTheMemoryAndTheFileOfItsEntries() {
        final Map<NativeTag, Long> before = handles();
        final IoVector vector = IoVector.create(usrbio, simulated.mount().toString(), BLOCK, 0, -1);
        final Hf3fsFile file = registered();
        final IoRing ring = IoRing.create(usrbio, simulated.mount().toString(), IoRingOptions.of(2, true));
        simulated.faults().loseNth(Call.READ_ENTRY, 1);
        assertTrue(ring.prepare(vector, 0, BLOCK, file, 0, 1));
        file.close();
        vector.close();

        final IllegalStateException given = assertThrows(IllegalStateException.class, ring::close);

        assertTrue(given.getMessage().contains("10000 ms of 1 entries"), given.getMessage());
        assertEquals(1, Usrbio.abandonedRings());
        checkLeft(before, 1, 1, 1);
        // What may still be written is still there.
        vector.segment().fill((byte) 1);
        ring.close();
        assertEquals(1, Usrbio.abandonedRings());
    }

    private void closeTheLanesThatWereHeardOf() {
        final Map<NativeTag, Long> before = handles();
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

        assertEquals(1, Usrbio.abandonedRings());
        // Of two lanes one is left: its memory and its ring for reads, but not the one for writes.
        checkLeft(before, 1, 1, 1);
        channel.close();
    }

    private void waitForAWriteNoLongerThanToTheClose() throws Exception {
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
