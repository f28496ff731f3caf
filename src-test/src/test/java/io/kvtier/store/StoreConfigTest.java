package io.kvtier.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Settings of an embedded store: each is what it was given for. */
class StoreConfigTest {
    @Test
    void shouldHaveEachSettingWhereItBelongs() {
        final StoreConfig config = StoreConfig.builder().memoryBytes(1 << 20).hugePages(true).eviction(0.7, 0.3)
            .disk(Path.of("/disk"), 2 << 20).diskWatermarks(0.6, 0.5)
            .diskBackend(DiskBackend.BUCKET).diskEviction(DiskEviction.FIFO).promoteOnHit(false).directIo(false)
            .ioThreads(3).leaseMs(11).verifyDiskReads(false).putTimeoutMs(12).closeTimeoutMs(13)
            .gds(GdsConfig.NONE.withRoom(Path.of("/gds"), 3 << 20)).build();

        for (final StoreConfig one : List.of(config, config.toBuilder().build())) {
            assertEquals(new StoreConfig.Memory(1 << 20, true, 0.7, 0.3), one.memory());
            assertEquals(new DiskConfig(Path.of("/disk"), 2 << 20, 0.6, 0.5, false,
                new DiskConfig.Files(false, 3, DiskBackend.BUCKET, DiskEviction.FIFO)),
                one.disk());
            assertEquals(new GdsConfig(Path.of("/gds"), 3 << 20, GdsConfig.Mover.GDS, 0.95, 0.85, true, true),
                one.gds());
            assertFalse(one.isGdsLeftToEnvironment());
            assertEquals(11, one.leaseMs());
            assertFalse(one.verifyDiskReads());
            assertEquals(12, one.putTimeoutMs());
            assertEquals(13, one.closeTimeoutMs());
        }
    }

    @Test
    void shouldHaveMemoryAloneWhenNothingIsSaid() {
        final StoreConfig config = StoreConfig.builder().build();

        assertEquals(new StoreConfig.Memory(256 << 20, false, 0.90, 0.05), config.memory());
        assertEquals(new DiskConfig(null, 0, 0.90, 0.80, true, new DiskConfig.Files(true, 4, null,
            DiskEviction.LRU)), config.disk());
        assertEquals(0, config.gds().bytes());
        assertTrue(config.isGdsLeftToEnvironment());
        assertTrue(config.toBuilder().build().isGdsLeftToEnvironment());
        assertFalse(StoreConfig.builder().gds(GdsConfig.NONE).build().isGdsLeftToEnvironment());
        assertEquals(0, config.leaseMs());
        assertTrue(config.verifyDiskReads());
        assertEquals(10_000, config.putTimeoutMs());
        assertEquals(30_000, config.closeTimeoutMs());
    }

    private static Arguments wrong(final String message, final Function<StoreConfig.Builder, StoreConfig.Builder> by) {
        return Arguments.of(message, by);
    }

    private static Stream<Arguments> wrongSettings() {
        return Stream.of(
            wrong("memoryBytes is 4095; allowed is one page to 16 TiB", b -> b.memoryBytes(4095)),
            wrong("memoryBytes is 17592186044417; allowed is one page to 16 TiB",
                b -> b.memoryBytes(17_592_186_044_417L)),
            wrong("highWatermark is 0.0; allowed is more than 0 and at most 1", b -> b.eviction(0, 0)),
            wrong("highWatermark is NaN; allowed is more than 0 and at most 1", b -> b.eviction(Double.NaN, 0)),
            wrong("evictionRatio is 1.0; allowed is at least 0 and below 1", b -> b.eviction(1, 1)),
            wrong("diskLowWatermark is 0.0; allowed is more than 0 and at most diskHighWatermark (1.0)",
                b -> b.diskWatermarks(1, 0)),
            wrong("ioThreads is 0; allowed is 1 to 256", b -> b.ioThreads(0)),
            wrong("leaseMs is -1; allowed is 0 for none, up to 24 days", b -> b.leaseMs(-1)),
            wrong("putTimeoutMs is 2147483648; allowed is 0 for no waiting, up to 24 days",
                b -> b.putTimeoutMs(2_147_483_648L)));
    }

    @ParameterizedTest
    @MethodSource("wrongSettings")
    void shouldNameTheSettingTheValueAndWhatIsAllowed(final String message,
        final Function<StoreConfig.Builder, StoreConfig.Builder> by) {
        final StoreException e = assertThrows(StoreException.class, () -> by.apply(StoreConfig.builder()).build());

        assertEquals(ErrorCode.INVALID_PARAMS, e.code());
        assertEquals("INVALID_PARAMS: setting " + message, e.getMessage());
    }
}
