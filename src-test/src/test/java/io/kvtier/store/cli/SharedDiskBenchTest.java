package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The bench of the shared disk, with so few values that a row is one of seconds; most of them start processes. */
@ExtendWith(LeakCheck.class)
final class SharedDiskBenchTest {
    @TempDir
    private Path temporary;
    private Path dir;
    private Path ownerDir;

    @BeforeEach
    void makeFolders() throws IOException {
        dir = Files.createDirectory(temporary.resolve("shared"));
        ownerDir = Files.createDirectory(temporary.resolve("owner"));
    }

    private BenchRows rows(final String rows) throws IOException {
        final Map<String, Object> json = CommandRun.of("bench", "shared-disk", "--dir", dir.toString(), "--owner-dir",
            ownerDir.toString(), "--size", "64M", "--seconds", "0.01", "--runs", "1", "--rows", rows, "--json").done()
            .json();
        assertEquals("shared-disk", json.get("bench"));
        return new BenchRows(json);
    }

    /** Several values are read together by io_uring alone. */
    private static void requireUring() {
        NotExercised.require("io_uring", Uring.availability().available(), Uring.availability().reason());
    }

    /** Also where the folders of the test are in memory, which has no other way. */
    private static void assertMeasured(final BenchRows rows, final int row) {
        assertTrue(rows.text(row, "peer").contains("(not run: the file system takes no O_DIRECT")
            || rows.number(row, "ours") > 0, rows::toString);
    }

    @AfterEach
    void shouldLeaveNeitherFilesNorProcesses() throws IOException {
        for (final Path one : List.of(dir, ownerDir)) {
            try (var left = Files.list(one)) {
                assertEquals(List.of(), left.toList());
            }
        }
        assertEquals(List.of(), ProcessHandle.current().descendants().filter(ProcessHandle::isAlive)
            .map(process -> process.info().commandLine().orElse(""))
            .filter(command -> command.contains(" master ") || command.contains(" node ")).toList());
    }

    /** Every value is checked, and so is where it came from; see {@code ValueBatchesTest}. */
    @Test
    void shouldGetWhatAnotherProcessWroteFromSharedFilesAndThroughItsOwner() throws IOException {
        final BenchRows rows = rows("^cross-node get 64 KiB, batch");
        assertEquals(List.of("cross-node get 64 KiB, batch of 100, shared files past the page cache"), rows.names());
        assertEquals("MiB/s", rows.get(0, "unit"));
        assertEquals(3.0, rows.number(0, "goal"));
        assertTrue(rows.text(0, "peer").startsWith("LOCAL_DISK of another process, read past the page cache, sent "
            + "over TCP"), rows::toString);
        assertMeasured(rows, 0);
    }

    @Test
    void shouldGetABatchWithAndWithoutFilesThatStayOpen() throws IOException {
        requireUring();
        final BenchRows rows = rows("^batch get 64 KiB, 100 keys, files");
        assertEquals(List.of("batch get 64 KiB, 100 keys, files kept open"), rows.names());
        assertTrue(rows.text(0, "peer").startsWith("each value's file opened anew"), rows::toString);
        assertEquals(1.0, rows.number(0, "goal"));
        assertMeasured(rows, 0);
    }

    @Test
    void shouldReadBesideFioOnTheSameFile() throws IOException, InterruptedException {
        requireUring();
        final BenchRows rows = rows("^direct read 64 KiB|^direct read 1 MiB, .* compared");
        assertEquals(List.of("direct read 64 KiB, depth 1", "direct read 64 KiB, batch of 32",
            "direct read 1 MiB, batch of 32, checksum compared"), rows.names());
        final boolean fio = Commands.run("sh", "-c", "command -v fio").code() == 0;
        for (int row = 0; row < 3; row++) {
            assertEquals(0.9, rows.number(row, "goal"));
            assertMeasured(rows, row);
            if (fio) {
                assertTrue(rows.text(row, "peer").startsWith("fio"), rows::toString);
            } else {
                assertTrue(rows.text(row, "peer").contains("Debian package fio") && rows.get(row, "ratio") == null,
                    rows::toString);
            }
        }
    }

    @Test
    void shouldAskAMasterForPages() throws IOException {
        final BenchRows rows = rows("^page allocation.*128, 4|^filled .* even sizes, beside");
        assertEquals(List.of("page allocation and release, batch of 128, 4 threads", "filled at the first NO_SPACE, "
            + "100 files of 4 GiB, 64 KiB to 16 MiB, even sizes, beside home files"), rows.names());
        assertEquals("1/s", rows.get(0, "unit"));
        assertTrue(rows.number(0, "ours") > 0, rows::toString);
        assertNull(rows.get(0, "ratio"));
        // Counted, not timed: what the state of a master does by itself is known from PageFillTest.
        assertEquals("share", rows.get(1, "unit"));
        assertTrue(rows.number(1, "ours") > 0.98 && rows.number(1, "ours") < 1, rows::toString);
        assertTrue(rows.number(1, "peer_value") < 0.95 && rows.number(1, "peer_value") > 0.7, rows::toString);
    }
}
