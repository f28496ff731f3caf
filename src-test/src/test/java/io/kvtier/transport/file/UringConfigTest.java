package io.kvtier.transport.file;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class UringConfigTest {
    @ParameterizedTest
    @CsvSource({"0, 1, 1, threads is 0", "65, 1, 1, threads is 65", "1, 0, 1, depth is 0", "1, 4097, 1, depth is 4097",
        "1, 1, 0, drainTimeoutMs is 0", "1, 1, 2147483648, drainTimeoutMs is 2147483648"})
    void shouldRefuseAndNameWhatIsOutOfRange(final int threads, final int depth, final long timeoutMs,
        final String words) {
        final IllegalArgumentException e =
            assertThrows(IllegalArgumentException.class, () -> new UringConfig(threads, depth, true, timeoutMs));

        assertTrue(e.getMessage().startsWith(words), e.getMessage());
    }

    @Test
    void shouldChangeOneSettingAndKeepTheOthers() {
        final UringConfig config = new UringConfig(3, 7, true, 11);

        assertEquals(new UringConfig(4, 8, true, 11), config.withRings(4, 8));
        assertEquals(new UringConfig(3, 7, false, 11), config.withFixedBuffers(false));
        assertEquals(new UringConfig(3, 7, true, 12), config.withDrainTimeout(12));
    }
}
