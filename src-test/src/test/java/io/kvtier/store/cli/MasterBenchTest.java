package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
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

    private Map<String, Object> rows(final String bench, final String rows) throws IOException {
        return rows(bench, rows, 2000);
    }

    private Map<String, Object> rows(final String bench, final String rows, final int objects) throws IOException {
        final CommandRun run = CommandRun.of("bench", bench, "--dir", dir.toString(), "--seconds", "0.01", "--runs",
            "1", "--objects", Integer.toString(objects), "--rows", rows, "--json").done();
        final Map<String, Object> json = run.json();
        assertEquals(bench, json.get("bench"));
        return json;
    }

    private static List<String> names(final Map<String, Object> json) {
        final List<String> names = new ArrayList<>();
        while (json.containsKey("rows." + names.size() + ".row")) {
            names.add(json.get("rows." + names.size() + ".row").toString());
        }
        return names;
    }

    private static double number(final Map<String, Object> json, final int row, final String field) {
        return ((Number) json.get("rows." + row + '.' + field)).doubleValue();
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
        final Map<String, Object> json = rows("rpc",
            "^put start and end, 2|^get replica list, 1 |^exists, 1 |^put, batch of 32$|batch of 128, ");
        assertEquals(List.of("put start and end, 2 threads", "get replica list, 1 thread", "exists, 1 thread",
            "put, batch of 32", "get, batch of 128, 2000 objects"), names(json));
        for (int row = 0; row < 5; row++) {
            assertTrue(number(json, row, "ours") > 0, json::toString);
            assertEquals("1/s", json.get("rows." + row + ".unit"));
        }
        // The figures that are written down, with the goals that were set for them.
        assertEquals("Mooncake master, recorded", json.get("rows.0.peer"));
        assertEquals(23_995, number(json, 0, "peer_value"));
        assertEquals(2, number(json, 0, "goal"));
        assertEquals(number(json, 0, "ours") / 23_995, number(json, 0, "ratio"), 0.001 * number(json, 0, "ratio"));
        assertEquals(13_970, number(json, 1, "peer_value"));
        assertEquals("Mooncake master, recorded (no figure: this was not measured there)", json.get("rows.2.peer"));
        assertNull(json.get("rows.2.ratio"));
        assertEquals(238_000, number(json, 3, "peer_value"));
        assertEquals(1.5, number(json, 3, "goal"));
        assertEquals(532_000, number(json, 4, "peer_value"));
        assertTrue(json.get("machine.Mooncake master, recorded").toString().contains("not measured beside ours"),
            json::toString);
    }

    @Test
    void shouldMeasureAMasterWithoutANetwork() throws IOException {
        // So many that what other tests have left in the heap, and is freed meanwhile, does not matter.
        final Map<String, Object> json = rows("rpc", "^conductor alone, .* 4|^heap", 200_000);
        assertEquals(List.of("heap of a master for each of 200000 objects",
            "conductor alone, get replica list of 200000 objects, 4 threads"), names(json));
        assertEquals("bytes", json.get("rows.0.unit"));
        // A key of a dozen characters, two records and a place in a table are not less.
        assertTrue(number(json, 0, "ours") > 100, json::toString);
        assertEquals(870, number(json, 0, "peer_value"));
        assertTrue(number(json, 1, "ours") > 0, json::toString);
    }

    @Test
    void shouldPutAndGetValuesBesideRedis() throws IOException, InterruptedException {
        final Map<String, Object> json = rows("kv",
            "^tcp put 1 MiB, 4 threads$|^tcp get 1 MiB, 2 threads, beside|^shm put 16 MiB, 1 |^embedded");
        assertEquals(List.of("tcp put 1 MiB, 4 threads", "shm put 16 MiB, 1 thread",
            "tcp get 1 MiB, 2 threads, beside the record", "embedded get 1 MiB, 1 thread"), names(json));
        for (int row = 0; row < 4; row++) {
            final String peer = json.get("rows." + row + ".peer").toString();
            assertTrue(peer.contains("(not run: /dev/shm") || number(json, row, "ours") > 0, json::toString);
        }
        assertEquals(1696, number(json, 2, "peer_value"));
        assertEquals(2, number(json, 2, "goal"));
        assertEquals("MemorySegment.copy", json.get("rows.3.peer"));
        assertEquals(0.9, number(json, 3, "goal"));
        if (isInstalled("redis-server")) {
            assertEquals("redis-server", json.get("rows.0.peer"));
            assertTrue(number(json, 0, "peer_value") > 0, json::toString);
        } else {
            assertEquals("redis-server (not installed: Debian package redis-server)", json.get("rows.0.peer"));
            assertNull(json.get("rows.0.ratio"));
        }
    }

    private static boolean isInstalled(final String program) throws IOException, InterruptedException {
        return Commands.run("sh", "-c", "command -v " + program).code() == 0;
    }
}
