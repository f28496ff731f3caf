package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.uring.Uring;
import io.kvtier.kit.Commands;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.NotExercised;
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

/** The bench of GDS offload, with files so small that a quick run is one of seconds. */
@ExtendWith(LeakCheck.class)
final class GdsBenchTest {
    @TempDir
    private Path dir;

    private Map<String, Object> rows(final String rows) throws IOException {
        final Map<String, Object> json = CommandRun.of("bench", "gds", "--dir", dir.toString(), "--size", "64M",
            "--seconds", "0.01", "--runs", "1", "--rows", rows, "--json").done().json();
        assertEquals("gds", json.get("bench"));
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

    /** What puts and gets from the host goes by io_uring alone. */
    private static void requireUring() {
        NotExercised.require("io_uring", Uring.availability().available(), Uring.availability().reason());
    }

    /** Why nothing comes from a GPU whatever else there is; null when there is one. */
    private static String whyNoGpu() {
        final Availability driver = Cuda.availability();
        if (!driver.available()) {
            return driver.reason();
        }
        return Cuda.devices().isEmpty() ? "there is no GPU" : null;
    }

    @AfterEach
    void shouldLeaveNoFiles() throws IOException {
        try (var left = Files.list(dir)) {
            assertEquals(List.of(), left.toList());
        }
    }

    @Test
    void shouldPutAndGetBatchesOfValuesBesideFio() throws IOException, InterruptedException {
        requireUring();
        final Map<String, Object> json = rows("^host put 64 KiB|fdatasync|no warm restart|^host get 1 MiB, .* checked");
        assertEquals(List.of("host put 64 KiB, batch of 32",
            "host put 1 MiB, batch of 32, beside fdatasync each 32", "host put 1 MiB, batch of 32, no warm restart",
            "host get 1 MiB, batch of 32, checked"), names(json));
        final boolean fio = Commands.run("sh", "-c", "command -v fio").code() == 0;
        for (int row = 0; row < 4; row++) {
            assertEquals("MiB/s", json.get("rows." + row + ".unit"));
            assertEquals(0.9, number(json, row, "goal"));
            assertTrue(number(json, row, "ours") > 0, json::toString);
            if (fio) {
                assertEquals("fio", json.get("rows." + row + ".peer"));
                assertTrue(number(json, row, "peer_value") > 0, json::toString);
            } else {
                assertEquals("fio (not installed: Debian package fio)", json.get("rows." + row + ".peer"));
                assertNull(json.get("rows." + row + ".ratio"));
            }
        }
    }

    @Test
    void shouldShowWhatTheFileAddsToAPut() throws IOException {
        requireUring();
        final Map<String, Object> json = rows("^time");
        assertEquals(List.of("time of a put of 1 MiB to memory and file, 1 thread"), names(json));
        assertEquals("ns", json.get("rows.0.unit"));
        // Shown, and never missed.
        assertEquals(0, number(json, 0, "goal"));
        assertTrue(number(json, 0, "ours") > 0 && number(json, 0, "peer_value") > 0, json::toString);
    }

    @Test
    void shouldSayWhyNothingGoesFromAGpu() throws IOException {
        final Map<String, Object> json = rows("^gpu .* 1 MiB");
        assertEquals(List.of("gpu put 1 MiB, batch of 32", "gpu put 1 MiB, batch of 32, beside two steps",
            "gpu get 1 MiB, batch of 32", "gpu get 1 MiB, batch of 32, beside two steps"), names(json));
        final String why = whyNoGpu();
        for (int row = 0; row < 4; row++) {
            assertEquals(row % 2 == 0 ? 0.9 : 1, number(json, row, "goal"));
            final String peer = json.get("rows." + row + ".peer").toString();
            if (why == null) {
                assertTrue(peer.contains("(not run: ") || number(json, row, "ours") > 0, json::toString);
            } else {
                assertTrue(peer.startsWith(row % 2 == 0 ? "cuFile direct (not run: " + why
                    : "GPU to host to file (not run: " + why), json::toString);
                assertNull(json.get("rows." + row + ".ours"));
            }
        }
    }
}
