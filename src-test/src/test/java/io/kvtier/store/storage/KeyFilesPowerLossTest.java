package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.PowerLossFiles;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Files of single values on a machine whose power fails: what was written is there, and what has its name is whole. */
@ExtendWith(LeakCheck.class)
class KeyFilesPowerLossTest {
    private static final int SEEDS = 8;
    private static final int VALUES = 6;

    @TempDir(factory = MemoryDirectory.class)
    private Path root;

    /** Two in each folder, of less than a block and of more. */
    private static Path path(final Path folder, final int number) {
        return folder.resolve("0" + number / 2).resolve("000000000000000" + number + "-0000000000000001.kv");
    }

    private static byte[] value(final int number) {
        return PatternBytes.of(number, 1 + number * 5_003);
    }

    private static void write(final KeyFiles files, final Path folder, final int number) {
        try (Arena arena = Arena.ofConfined()) {
            files.write(path(folder, number), arena.allocateFrom(ValueLayout.JAVA_BYTE, value(number)));
        }
    }

    /** Writes and deletes; says what it has done. */
    private static void live(final FileOpener opener, final Path folder, final List<Integer> written,
        final List<Integer> deleting) {
        final KeyFiles files = new KeyFiles(opener);
        if (files.prepare(folder) != null) {
            return;
        }
        for (int i = 0; i < VALUES; i++) {
            write(files, folder, i);
            written.add(i);
            if (i % 3 == 2) {
                deleting.add(i - 1);
                files.delete(path(folder, i - 1));
            }
        }
    }

    private static Map<Path, byte[]> left(final Path folder) throws IOException {
        final Map<Path, byte[]> left = new TreeMap<>();
        if (Files.isDirectory(folder)) {
            try (Stream<Path> all = Files.walk(folder)) {
                for (final Path file : all.filter(Files::isRegularFile).toList()) {
                    left.put(file, Files.readAllBytes(file));
                }
            }
        }
        return left;
    }

    private static void verify(final Path folder, final List<Integer> written, final List<Integer> deleting,
        final String when) throws IOException {
        final Map<Path, byte[]> left = left(folder);
        for (int i = 0; i < VALUES; i++) {
            final byte[] found = left.remove(path(folder, i));
            left.remove(Path.of(path(folder, i) + ".tmp"));
            if (found != null) {
                assertArrayEquals(value(i), found, when + ", value " + i);
            }
            // What was deleted may be there again: nobody names it.
            assertTrue(found != null || !written.contains(i) || deleting.contains(i), when + ": value " + i
                + " was written and is gone");
        }
        assertEquals(Set.of(), left.keySet(), when);
    }

    @Test
    void shouldHaveWhatWasWrittenWheneverThePowerFails() throws IOException {
        int cuts = 0;
        for (int seed = 1; seed <= SEEDS; seed++) {
            boolean cut = true;
            for (int n = 1; cut; n++) {
                final Path folder = Files.createTempDirectory(root, "life").resolve("c");
                final List<Integer> written = new ArrayList<>();
                final List<Integer> deleting = new ArrayList<>();
                try (PowerLossFiles files = new PowerLossFiles(seed)) {
                    files.cutAt(n);
                    try {
                        live(files, folder, written, deleting);
                    } catch (final RuntimeException e) {
                        assertTrue(files.isCut(), () -> "failed before the cut: " + e);
                    }
                    cut = files.isCut();
                    cuts += cut ? 1 : 0;
                    files.lose();
                }
                verify(folder, written, deleting, "seed " + seed + ", change " + n);
            }
        }
        assertTrue(cuts > SEEDS * VALUES, "it was cut only " + cuts + " times");
    }

    /** A process that died may have made a folder and not got to its sync; the next one finds it there. */
    @Test
    void shouldHaveWhatWasWrittenToAFolderThatAnotherProcessHasLeft() throws IOException {
        for (int seed = 1; seed <= SEEDS; seed++) {
            final Path folder = Files.createTempDirectory(root, "left");
            try (PowerLossFiles files = new PowerLossFiles(seed)) {
                files.entries().createDirectory(path(folder, 1).getParent());
                write(new KeyFiles(files), folder, 1);
                files.cut();
                files.lose();
            }
            assertEquals(Set.of(path(folder, 1)), left(folder).keySet().stream().collect(Collectors.toSet()),
                "seed " + seed);
        }
    }
}
