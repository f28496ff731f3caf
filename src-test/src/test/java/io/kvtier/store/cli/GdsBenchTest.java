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

    private BenchRows rows(final String rows) throws IOException {
        final Map<String, Object> json = CommandRun.of("bench", "gds", "--dir", dir.toString(), "--size", "64M",
            "--seconds", "0.01", "--runs", "1", "--rows", rows, "--json").done().json();
        assertEquals("gds", json.get("bench"));
        return new BenchRows(json);
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
        final BenchRows rows = rows("^host put 64 KiB|fdatasync|no warm restart|^host get 1 MiB, .* checked");
        assertEquals(List.of("host put 64 KiB, batch of 32",
            "host put 1 MiB, batch of 32, beside fdatasync each 32", "host put 1 MiB, batch of 32, no warm restart",
            "host get 1 MiB, batch of 32, checked"), rows.names());
        final boolean fio = Commands.run("sh", "-c", "command -v fio").code() == 0;
        for (int row = 0; row < 4; row++) {
            assertEquals("MiB/s", rows.get(row, "unit"));
            assertEquals(0.9, rows.number(row, "goal"));
            assertTrue(rows.number(row, "ours") > 0, rows::toString);
            if (fio) {
                assertEquals("fio", rows.get(row, "peer"));
                assertTrue(rows.number(row, "peer_value") > 0, rows::toString);
            } else {
                assertEquals("fio (not installed: Debian package fio)", rows.get(row, "peer"));
                assertNull(rows.get(row, "ratio"));
            }
        }
    }

    @Test
    void shouldShowWhatTheFileAddsToAPut() throws IOException {
        requireUring();
        final BenchRows rows = rows("^time");
        assertEquals(List.of("time of a put of 1 MiB to memory and file, 1 thread"), rows.names());
        assertEquals("ns", rows.get(0, "unit"));
        // Shown, and never missed.
        assertEquals(0, rows.number(0, "goal"));
        assertTrue(rows.number(0, "ours") > 0 && rows.number(0, "peer_value") > 0, rows::toString);
    }

    @Test
    void shouldSayWhyNothingGoesFromAGpu() throws IOException {
        final BenchRows rows = rows("^gpu .* 1 MiB");
        assertEquals(List.of("gpu put 1 MiB, batch of 32", "gpu put 1 MiB, batch of 32, beside two steps",
            "gpu get 1 MiB, batch of 32", "gpu get 1 MiB, batch of 32, beside two steps"), rows.names());
        final String why = whyNoGpu();
        for (int row = 0; row < 4; row++) {
            assertEquals(row % 2 == 0 ? 0.9 : 1, rows.number(row, "goal"));
            final String peer = rows.text(row, "peer");
            if (why == null) {
                assertTrue(peer.contains("(not run: ") || rows.number(row, "ours") > 0, rows::toString);
            } else {
                assertTrue(peer.startsWith(row % 2 == 0 ? "cuFile direct (not run: " + why
                    : "GPU to host to file (not run: " + why), rows::toString);
                assertNull(rows.get(row, "ours"));
            }
        }
    }
}
