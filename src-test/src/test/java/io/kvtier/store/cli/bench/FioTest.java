package io.kvtier.store.cli.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.transport.Direction;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

/** Answers recorded from fio 3.33. */
final class FioTest {
    private static final double MIB = 1 << 20;
    /** bw_bytes of "write" in the file. */
    private static final double BYTES_WRITTEN = 1942627753;

    private static String recorded(final String name) throws IOException {
        try (InputStream answer = FioTest.class.getResourceAsStream(name)) {
            return new String(answer.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    @Test
    void shouldReadTheBandwidthOfAllThreads() throws IOException {
        // bw_bytes of "read" in the file; io_bytes / runtime says the same.
        final double bytes = 1_320_008_566;
        assertEquals(670_564_352 / 0.508, bytes, 1);
        assertEquals(bytes / MIB, Fio.mebibytesPerSecond(recorded("fio-3.33-psync-randread.json"), Direction.READ));
    }

    @Test
    void shouldReadTheBandwidthOfWritesBehindRemarks() throws IOException {
        assertEquals(BYTES_WRITTEN / MIB, Fio.mebibytesPerSecond("note: both iodepth >= 1 and synchronous I/O engine\n"
            + recorded("fio-3.33-uring-randwrite.json"), Direction.WRITE));
    }

    @Test
    void shouldRefuseAnAnswerWithoutTheBandwidthAskedFor() throws IOException {
        final String answer = recorded("fio-3.33-psync-randread.json");
        assertThrows(IOException.class, () -> Fio.mebibytesPerSecond(answer, Direction.WRITE));
        final IOException garbage = assertThrows(IOException.class,
            () -> Fio.mebibytesPerSecond("fio: engine io_uring not loadable\n", Direction.READ));
        assertEquals("fio printed no bandwidth: fio: engine io_uring not loadable", garbage.getMessage());
        final IOException failed = assertThrows(IOException.class, () -> Fio.mebibytesPerSecond(
            answer.replace("\"error\" : 0", "\"error\" : 28"), Direction.READ));
        assertTrue(failed.getMessage().contains("error 28"), failed::getMessage);
    }
}
