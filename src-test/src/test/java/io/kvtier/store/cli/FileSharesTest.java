package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How many connections fit the files that a process may open. */
class FileSharesTest {
    @ParameterizedTest
    @CsvSource({"1024, 20000, 1024, 256", "1024, 1408, 1024, 256", "1024, 1407, 1023, 256", "10, 1024, 10, 256",
        "65536, 9223372036854775807, 65536, 256", "1024, 400, 172, 100", "1024, 200, 50, 50", "1, 3, 1, 1"})
    void shouldLeaveFilesForEverythingElse(final int wanted, final long files, final int calls, final int http) {
        assertEquals(new FileShares(calls, http), FileShares.of(wanted, files));
    }

    @Test
    void shouldKnowTheLimitOfThisProcess() {
        assertTrue(FileShares.limit() > 0);
    }
}
