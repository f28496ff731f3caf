package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The benches of the master and of the store, which start processes. */
@ExtendWith(LeakCheck.class)
final class MasterBenchTest {
    @TempDir
    private Path dir;

    private BenchRows rows(final String bench, final String rows) throws IOException {
        return rows(bench, rows, 2000);
    }

    private BenchRows rows(final String bench, final String rows, final int objects) throws IOException {
        final CommandRun run = CommandRun.of("bench", bench, "--dir", dir.toString(), "--seconds", "0.01", "--runs",
            "1", "--objects", Integer.toString(objects), "--rows", rows, "--json").done();
        final Map<String, Object> json = run.json();
        assertEquals(bench, json.get("bench"));
        return new BenchRows(json);
    }

    @AfterEach
    void shouldLeaveNeitherFilesNorProcesses() throws IOException {
        try (var left = Files.list(dir)) {
            assertEquals(List.of(), left.toList());
        }
        assertEquals(List.of(), ProcessHandle.current().descendants().filter(ProcessHandle::isAlive)
            .map(process -> process.info().commandLine().orElse("")).filter(command -> command.contains("bench master")
                || command.contains(" node ") || command.contains("redis-server")).toList());
    }

    @Test
    void shouldAskAMasterInAProcessOfItsOwn() throws IOException {
        final BenchRows rows = rows("rpc",
            "^put start and end, 2|^get replica list, 1 |^exists, 1 |^put, batch of 32$|batch of 128, ");
        assertEquals(List.of("put start and end, 2 threads", "get replica list, 1 thread", "exists, 1 thread",
            "put, batch of 32", "get, batch of 128, 2000 objects"), rows.names());
        for (int row = 0; row < 5; row++) {
            assertTrue(rows.number(row, "ours") > 0, rows::toString);
            assertEquals("1/s", rows.get(row, "unit"));
        }
        // The figures that are written down, with the goals that were set for them.
        assertEquals("Mooncake master, recorded", rows.get(0, "peer"));
        assertEquals(23_995, rows.number(0, "peer_value"));
        assertEquals(2, rows.number(0, "goal"));
        assertEquals(rows.number(0, "ours") / 23_995, rows.number(0, "ratio"), 0.001 * rows.number(0, "ratio"));
        assertEquals(13_970, rows.number(1, "peer_value"));
        assertEquals("Mooncake master, recorded (no figure: this was not measured there)", rows.get(2, "peer"));
        assertNull(rows.get(2, "ratio"));
        assertEquals(238_000, rows.number(3, "peer_value"));
        assertEquals(1.5, rows.number(3, "goal"));
        assertEquals(532_000, rows.number(4, "peer_value"));
        assertTrue(rows.json().get("machine.Mooncake master, recorded").toString().contains("not measured beside ours"),
            rows::toString);
    }

    @Test
    void shouldMeasureAMasterWithoutANetwork() throws IOException {
        // So many that what other tests have left in the heap, and is freed meanwhile, does not matter.
        final BenchRows rows = rows("rpc", "^conductor alone, .* 4|^heap", 200_000);
        assertEquals(List.of("heap of a master for each of 200000 objects",
            "conductor alone, get replica list of 200000 objects, 4 threads"), rows.names());
        assertEquals("bytes", rows.get(0, "unit"));
        // A key of a dozen characters, two records and a place in a table are not less.
        assertTrue(rows.number(0, "ours") > 100, rows::toString);
        assertEquals(870, rows.number(0, "peer_value"));
        assertTrue(rows.number(1, "ours") > 0, rows::toString);
    }

    @Test
    void shouldPutAndGetValuesBesideRedis() throws IOException, InterruptedException {
        final BenchRows rows = rows("kv",
            "^tcp put 1 MiB, 4 threads$|^tcp get 1 MiB, 2 threads, beside|^shm put 16 MiB, 1 |^embedded");
        assertEquals(List.of("tcp put 1 MiB, 4 threads", "shm put 16 MiB, 1 thread",
            "tcp get 1 MiB, 2 threads, beside the record", "embedded get 1 MiB, 1 thread"), rows.names());
        for (int row = 0; row < 4; row++) {
            final String peer = rows.text(row, "peer");
            assertTrue(peer.contains("(not run: /dev/shm") || rows.number(row, "ours") > 0, rows::toString);
        }
        assertEquals(1696, rows.number(2, "peer_value"));
        assertEquals(2, rows.number(2, "goal"));
        assertEquals("MemorySegment.copy", rows.get(3, "peer"));
        assertEquals(0.9, rows.number(3, "goal"));
        if (isInstalled("redis-server")) {
            assertEquals("redis-server", rows.get(0, "peer"));
            assertTrue(rows.number(0, "peer_value") > 0, rows::toString);
        } else {
            assertEquals("redis-server (not installed: Debian package redis-server)", rows.get(0, "peer"));
            assertNull(rows.get(0, "ratio"));
        }
    }

    private static boolean isInstalled(final String program) throws IOException, InterruptedException {
        return Commands.run("sh", "-c", "command -v " + program).code() == 0;
    }
}
