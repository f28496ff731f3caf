package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GdsConfigTest {
    @Test
    void shouldBeOffWhenNothingIsSet() {
        assertEquals(new GdsConfig(false, 128, GdsConfig.Mode.BATCH, 0, 4, false, true, 1000),
            GdsConfig.of(Map.of()));
    }

    @Test
    void shouldTakeEverySetting() {
        assertEquals(new GdsConfig(true, 32, GdsConfig.Mode.SYNC, 3, 2, true, false, 5),
            GdsConfig.of(Map.of("enable", true, "io_batch_depth", 32, "mode", "sync", "threads", 3L, "batches", 2,
                "require_direct", true, "allow_compat", false, "cancel_wait_ms", 5)));
    }

    @ParameterizedTest
    @CsvSource({"io_batch_depth, 0", "io_batch_depth, 257", "threads, -1", "threads, 65", "batches, 0", "batches, 17",
        "cancel_wait_ms, -1", "cancel_wait_ms, 60001", "io_batch_depth, 1.5", "threads, 4294967297"})
    void shouldNameANumberThatIsOutOfRange(final String key, final double value) {
        final Number number = value == Math.rint(value) ? (Number) (long) value : value;
        final String message = assertThrows(IllegalArgumentException.class,
            () -> GdsConfig.of(Map.of(key, number))).getMessage();
        assertTrue(message.contains("transports/gds/" + key + " is " + number), message);
    }

    @ParameterizedTest
    @CsvSource({"mode, both", "enable, yes", "io_batch_depth, many", "depth, 3"})
    void shouldNameATextThatIsNoValueAndAKeyThatIsNone(final String key, final String value) {
        final String message = assertThrows(IllegalArgumentException.class,
            () -> GdsConfig.of(Map.of(key, value))).getMessage();
        assertTrue(message.contains("transports/gds/" + key + " is "), message);
    }

    @Test
    void shouldTakeEveryDepthOfItsRange() {
        for (final int depth : new int[] {1, 128, 256}) {
            assertEquals(depth, GdsConfig.of(Map.of("io_batch_depth", depth)).ioBatchDepth());
        }
    }
}
