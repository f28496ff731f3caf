package io.kvtier.transport.gds;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Settings of the transport. */
class GdsConfigTest {
    private static GdsConfig of(final int depth, final int threads, final int batches, final long waitMs) {
        return new GdsConfig(true, depth, GdsConfig.Mode.BATCH, threads, batches, false, true, waitMs, false);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 32, 128, 256})
    void shouldTakeADepthThatTheLibraryDocuments(final int depth) {
        assertEquals(depth, of(depth, 0, 1, 0).ioBatchDepth());
    }

    @ParameterizedTest
    @CsvSource({"0, 0, 1, 0, io_batch_depth is 0", "257, 0, 1, 0, io_batch_depth is 257", "1, -1, 1, 0, threads is -1",
        "1, 65, 1, 0, threads is 65", "1, 0, 0, 0, batches is 0", "1, 0, 17, 0, batches is 17",
        "1, 0, 1, -1, cancel_wait_ms is -1", "1, 0, 1, 60001, cancel_wait_ms is 60001"})
    void shouldRefuseAValueOutOfRangeAndNameKeyAndValue(final int depth, final int threads, final int batches,
        final long waitMs, final String said) {
        final IllegalArgumentException e =
            assertThrows(IllegalArgumentException.class, () -> of(depth, threads, batches, waitMs));

        assertTrue(e.getMessage().contains("transports/gds/" + said), e.getMessage());
    }

    @Test
    void shouldHaveAsManyThreadsAsTheModeCanUse() {
        assertEquals(1, of(1, 0, 1, 0).threadsFor(GdsConfig.Mode.BATCH));
        assertTrue(of(1, 0, 1, 0).threadsFor(GdsConfig.Mode.SYNC) >= 1);
        assertEquals(7, of(1, 7, 1, 0).threadsFor(GdsConfig.Mode.BATCH));
    }
}
