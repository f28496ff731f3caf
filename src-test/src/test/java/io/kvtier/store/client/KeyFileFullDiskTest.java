package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Faults;
import io.kvtier.kit.Faults.Call;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.LogLines;
import io.kvtier.kit.Mounts;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.ValueInfo;
import io.kvtier.store.client.shared.KeyFileTier;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.replica.KeyFolder;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Files of single values on a real file system of 64 MiB, as root can make one, that others fill. */
@ExtendWith(LeakCheck.class)
class KeyFileFullDiskTest {
    private static final long DISK_BYTES = 64L << 20;
    private static final int SIZE = 300_000;
    private static final int BEFORE = 40;
    private static final int LATER = 20;

    @TempDir
    private Path directory;
    private Path disk;
    private Mounts mounted;
    private Cluster cluster;
    private final Faults faults = new Faults();

    @BeforeEach
    void mount() throws IOException, InterruptedException {
        disk = Files.createDirectory(directory.resolve("disk"));
        mounted = Mounts.ext4(directory.resolve("image"), disk, DISK_BYTES);
        cluster = new Cluster(Cluster.settings(1, 0).withFiles(new MasterSettings.FileReplicas(
            KeyFolder.of(disk.toString(), "c"), 0, true)));
    }

    @AfterEach
    void unmount() {
        if (cluster != null) {
            cluster.close();
        }
        if (mounted != null) {
            mounted.close();
        }
    }

    private static ObjectKey key(final int number) {
        return ObjectKey.of("key" + number);
    }

    /** Puts a value, and waits until it has a file or gets none. */
    private static boolean put(final ConnectedStore store, final int number) {
        assertEquals(PutOutcome.STORED, store.put(key(number), MemorySegment.ofArray(PatternBytes.of(number, SIZE))));
        Threads.awaitUntil(() -> store.masterStats().heldReplicas() == 0, () -> "value " + number + " is held");
        return hasFile(store, number);
    }

    private static boolean hasFile(final ConnectedStore store, final int number) {
        return store.stat(key(number)).map(ValueInfo::tiers).orElse(List.of()).contains(ReplicaType.DISK);
    }

    private static List<Integer> withFiles(final ConnectedStore store, final int count) {
        return IntStream.range(0, count).filter(number -> hasFile(store, number)).boxed().toList();
    }

    private List<Path> files() {
        try (Stream<Path> all = Files.walk(disk.resolve("c"))) {
            return all.filter(Files::isRegularFile).toList();
        } catch (final IOException | UncheckedIOException e) {
            // Something was deleted while it was looked at.
            return List.of();
        }
    }

    /** All that there is, what is put by for root included. */
    private void fill() throws IOException {
        try (OutputStream filler = Files.newOutputStream(disk.resolve("filler"))) {
            final byte[] block = new byte[4096];
            for (long written = 0; written < DISK_BYTES; written += block.length) {
                filler.write(block);
            }
        } catch (final IOException expected) {
            assertTrue(expected.getMessage().contains("No space"), expected.getMessage());
        }
    }

    /** Each value is tried once, the oldest make room for later ones, and memory has all of them. */
    @Test
    void shouldMakeRoomByTheOldestWhenOthersFillTheFileSystem() throws IOException {
        final ConnectedStore writer = cluster.join(config -> config.memoryBytes(32 << 20), faults);
        for (int i = 0; i < BEFORE; i++) {
            assertTrue(put(writer, i), "value " + i + " has no file");
        }
        fill();
        final long opened = faults.count(Call.OPEN);
        int stored = 0;
        try (LogLines lines = new LogLines(KeyFileTier.class)) {
            for (int i = BEFORE; i < BEFORE + LATER; i++) {
                stored += put(writer, i) ? 1 : 0;
                // What goes is deleted by the same thread.
                final int count = withFiles(writer, i + 1).size();
                Threads.awaitUntil(() -> files().size() == count, this::files);
            }
            LogLines.assertDoubling(lines.with("a file of a single value could not be written"));
            assertEquals(List.of(), lines.with("are tried again"));
            assertTrue(lines.with("could not be written").getFirst().contains("No space left on device"),
                () -> lines.with("").toString());
        }
        assertTrue(faults.count(Call.OPEN) - opened <= LATER, "none was tried twice");
        assertTrue(stored > 0, "no room was made");
        final List<Integer> left = withFiles(writer, BEFORE);
        assertTrue(left.size() < BEFORE);
        assertEquals(IntStream.range(BEFORE - left.size(), BEFORE).boxed().toList(), left, "the oldest went");
        for (int i = 0; i < BEFORE + LATER; i++) {
            final byte[] bytes = new byte[SIZE];
            assertEquals(new GetOutcome(true, SIZE, ReplicaType.MEMORY), writer.get(key(i),
                MemorySegment.ofArray(bytes)));
            assertArrayEquals(PatternBytes.of(i, SIZE), bytes);
        }
        Files.delete(disk.resolve("filler"));
        assertTrue(put(writer, BEFORE + LATER), "there is room again");
        final List<Integer> last = withFiles(writer, BEFORE + LATER + 1);
        writer.close();
        final ConnectedStore reader = cluster.join(config -> config);
        for (final int number : last) {
            final byte[] bytes = new byte[SIZE];
            assertEquals(new GetOutcome(true, SIZE, ReplicaType.DISK), reader.get(key(number),
                MemorySegment.ofArray(bytes)));
            assertArrayEquals(PatternBytes.of(number, SIZE), bytes);
        }
    }
}
