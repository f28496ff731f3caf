package io.kvtier.store.storage.shared;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whose a shared folder is. */
class ClusterMarkerTest {
    private static final UUID VOLUME = UUID.fromString("5f1c0a52-0000-4000-8000-00000000beef");

    @TempDir
    private Path folder;

    private Path marker() {
        return folder.resolve("kvtier.cluster");
    }

    private List<String> names() throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            return all.map(path -> path.getFileName().toString()).toList();
        }
    }

    @Test
    void shouldReadWhatIsRecorded() throws IOException {
        assertNull(ClusterMarker.read(folder));
        Files.writeString(marker(), "kvtier shared disk 1\ncluster k\u00e4se 7\nvolume " + VOLUME
            + "\nwhat a later version adds\n");
        assertEquals(new ClusterMarker("k\u00e4se 7", VOLUME), ClusterMarker.read(folder));
    }

    @Test
    void shouldBeMadeOnceAndStay() throws IOException {
        final ClusterMarker made = ClusterMarker.claim(folder, "one");
        assertEquals("one", made.cluster());
        assertEquals(made, ClusterMarker.claim(folder, "one"));
        assertEquals(made, ClusterMarker.claim(folder, "two"), "whose it was first");
        assertEquals("kvtier shared disk 1\ncluster one\nvolume " + made.volume() + '\n', Files.readString(marker()));
        assertEquals(List.of("kvtier.cluster"), names());
    }

    @Test
    void shouldBeMadeOnceByManyHostsAtOnce() throws Exception {
        final int hosts = 8;
        for (int round = 0; round < 20; round++) {
            final Path shared = Files.createDirectory(folder.resolve("r" + round));
            final CyclicBarrier together = new CyclicBarrier(hosts);
            final Set<ClusterMarker> found = new HashSet<>();
            try (ExecutorService threads = Executors.newFixedThreadPool(hosts)) {
                final List<Future<ClusterMarker>> all = new ArrayList<>();
                for (int i = 0; i < hosts; i++) {
                    final String cluster = "c" + i;
                    all.add(threads.submit(() -> {
                        together.await();
                        return ClusterMarker.claim(shared, cluster);
                    }));
                }
                for (final Future<ClusterMarker> one : all) {
                    found.add(one.get());
                }
            }
            assertEquals(1, found.size(), "all know of the same");
            try (Stream<Path> left = Files.list(shared)) {
                assertEquals(1, left.count());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"something else\n", "kvtier shared disk 2\ncluster a\nvolume x\n", "kvtier shared disk 1\n",
        "kvtier shared disk 1\ncluster a\nvolume no-uuid\n", "kvtier shared disk 1\ncluster \nvolume "
        + "5f1c0a52-0000-4000-8000-00000000beef\n", "kvtier shared disk 1\nvolume a\ncluster b\n"})
    void shouldRefuseWhatIsNoMarkerAndLeaveItAsItIs(final String text) throws IOException {
        Files.writeString(marker(), text);
        final StoreException refused =
            assertThrows(StoreException.class, () -> ClusterMarker.claim(folder, "a"));
        assertEquals(ErrorCode.FILE_OPEN_FAIL, refused.code());
        assertTrue(refused.getMessage().contains(marker().toString())
            && refused.getMessage().contains("another folder"), refused::getMessage);
        assertEquals(text, Files.readString(marker()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", " a", "a\nb"})
    void shouldRefuseNamesThatAreNoLine(final String name) {
        assertThrows(IllegalArgumentException.class, () -> new ClusterMarker(name, VOLUME));
    }

    @Test
    void shouldSayThatTheFolderIsMissing() {
        final Path missing = folder.resolve("missing");
        final StoreException refused = assertThrows(StoreException.class, () -> ClusterMarker.claim(missing, "a"));
        assertTrue(refused.getMessage().contains(missing.toString()), refused::getMessage);
    }
}
