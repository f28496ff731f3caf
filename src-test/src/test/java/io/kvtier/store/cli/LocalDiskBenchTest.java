package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.uring.Uring;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
import io.kvtier.store.DiskBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The bench of a store's own disk, with so few values that a row is one of seconds. */
@ExtendWith(LeakCheck.class)
final class LocalDiskBenchTest {
    @TempDir
    private Path dir;

    private BenchRows rows(final String rows) throws IOException {
        final Map<String, Object> json = CommandRun.of("bench", "local-disk", "--dir", dir.toString(), "--size", "64M",
            "--seconds", "0.01", "--runs", "1", "--objects", "300", "--rows", rows, "--json").done().json();
        assertEquals("local-disk", json.get("bench"));
        return new BenchRows(json);
    }

    /** Also where the folder of the test is in memory, which nothing goes past. */
    private static void assertMeasured(final BenchRows rows, final int row) {
        assertTrue(rows.text(row, "peer").contains("(not run: the file system takes no O_DIRECT")
            || rows.number(row, "ours") > 0, rows::toString);
    }

    @AfterEach
    void shouldLeaveNoFiles() throws IOException {
        try (var left = Files.list(dir)) {
            assertEquals(List.of(), left.toList());
        }
    }

    /** Values of all parts of a stream are fetched and checked. */
    @Test
    void shouldTakeAllPutsOfFourTimesWhatMemoryHolds() throws IOException {
        final BenchRows rows = rows("share of puts|over its median");
        assertEquals(List.of("sustained put 1 MiB, share of puts taken",
            "sustained put 1 MiB, p99 of a put's time over its median"), rows.names());
        assertEquals(1.0, rows.number(0, "ours"), "while the disk has room no put is refused, however long it waits");
        assertEquals("times", rows.get(1, "unit"));
        assertEquals(100.0, rows.number(1, "peer_value"));
        assertTrue(rows.number(1, "ours") >= 1, rows::toString);
    }

    @Test
    void shouldPutWithAnOffloadByATimerToo() throws IOException {
        final BenchRows rows = rows("memory, offload by pressure");
        assertEquals(List.of("sustained put 1 MiB, 4 times memory, offload by pressure"), rows.names());
        assertTrue(rows.text(0, "peer").startsWith("offload each 10 s"), rows::toString);
        assertTrue(rows.number(0, "ours") > 0, rows::toString);
    }

    @Test
    void shouldStoreAndLoadByEachBackend() throws IOException {
        NotExercised.require("io_uring", Uring.availability().available(), Uring.availability().reason());
        final BenchRows rows = rows("(offload|load) 1 MiB, batch of 32$");
        assertEquals(2 * DiskBackend.values().length, rows.names().size(), rows::toString);
        assertTrue(Arrays.stream(DiskBackend.values()).allMatch(backend -> rows.names().stream().anyMatch(name ->
            name.startsWith(backend.configName().replace("_storage_backend", "").replace('_', ' ') + " load"))),
            rows::toString);
        for (int row = 0; row < rows.names().size(); row++) {
            assertEquals(0.9, rows.number(row, "goal"));
            assertMeasured(rows, row);
        }
    }

    @Test
    void shouldStoreAndLoadBesideAFileAKey() throws IOException {
        NotExercised.require("io_uring", Uring.availability().available(), Uring.availability().reason());
        final BenchRows rows = rows("64 KiB, .* beside a file a key");
        assertEquals(List.of("offset allocator offload 64 KiB, batch of 128, beside a file a key",
            "offset allocator load 64 KiB, batch of 128, beside a file a key"), rows.names());
        for (int row = 0; row < 2; row++) {
            assertTrue(rows.text(row, "peer").startsWith("loop over files"), rows::toString);
            assertMeasured(rows, row);
        }
    }

    /** The values are counted, and some of them checked. */
    @Test
    void shouldOpenADiskOfManyValues() throws IOException {
        final BenchRows rows = rows("^time to open");
        assertEquals(DiskBackend.values().length, rows.names().size());
        assertEquals("time to open offset allocator with 300 values", rows.names().getFirst());
        for (int row = 0; row < rows.names().size(); row++) {
            assertEquals("ns", rows.get(row, "unit"));
            assertNull(rows.get(row, "ratio"));
            assertMeasured(rows, row);
        }
    }
}
