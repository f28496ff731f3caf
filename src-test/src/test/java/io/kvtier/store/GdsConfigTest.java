package io.kvtier.store;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.transport.TransportKind;
import java.nio.file.Path;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Settings of GDS offload: each is what it was given for, and what cannot be is refused by name. */
class GdsConfigTest {
    private static final Path FILE = Path.of("/ssd/kv.gds");

    @Test
    void shouldBeOffAndStrictWhenNothingIsSaid() {
        assertEquals(new GdsConfig(null, 0, GdsConfig.Mover.GDS, 0.95, 0.85, true, true), GdsConfig.NONE);
    }

    @Test
    void shouldChangeWhatIsSaidAndNothingElse() {
        final GdsConfig on = GdsConfig.NONE.withRoom(FILE, 1 << 20);

        assertEquals(new GdsConfig(FILE, 1 << 20, GdsConfig.Mover.GDS, 0.95, 0.85, true, true), on);
        assertEquals(new GdsConfig(FILE, 1 << 20, GdsConfig.Mover.IO_URING, 0.95, 0.85, true, true),
            on.withTransport(GdsConfig.Mover.IO_URING));
        assertEquals(new GdsConfig(FILE, 1 << 20, GdsConfig.Mover.GDS, 0.5, 0.25, true, true),
            on.withWatermarks(0.5, 0.25));
        assertEquals(new GdsConfig(FILE, 1 << 20, GdsConfig.Mover.GDS, 0.95, 0.85, false, true),
            on.withWarmRestart(false));
        assertEquals(new GdsConfig(FILE, 1 << 20, GdsConfig.Mover.GDS, 0.95, 0.85, true, false),
            on.withRemoteReads(false));
    }

    @ParameterizedTest
    @CsvSource({"GDS, gds", "IO_URING, io_uring", "POSIX, posix"})
    void shouldNameEachTransportAsTheEngineDoes(final GdsConfig.Mover mover, final String name) {
        assertEquals(TransportKind.of(name), mover.kind());
    }

    private static Arguments wrong(final String message, final UnaryOperator<GdsConfig> by) {
        return Arguments.of(message, by);
    }

    private static Stream<Arguments> wrongSettings() {
        return Stream.of(
            wrong("gdsBytes is 4095; allowed is 0 for no GDS offload, or one page to 16 TiB",
                c -> c.withRoom(FILE, 4095)),
            wrong("gdsBytes is 17592186044417; allowed is 0 for no GDS offload, or one page to 16 TiB",
                c -> c.withRoom(FILE, 17_592_186_044_417L)),
            wrong("gdsBytes is -1; allowed is 0 for no GDS offload, or one page to 16 TiB", c -> c.withRoom(FILE, -1)),
            wrong("gdsBytes is 4096 but gdsFile is not set; set it, or gdsBytes to 0", c -> c.withRoom(null, 4096)),
            wrong("gdsFile is 'kv.gds'; allowed is an absolute path", c -> c.withRoom(Path.of("kv.gds"), 4096)),
            wrong("gdsFile is 'kv.gds'; allowed is an absolute path", c -> c.withRoom(Path.of("kv.gds"), 0)),
            wrong("gdsHighWatermark is 0.0; allowed is more than 0 and at most 1", c -> c.withWatermarks(0, 0)),
            wrong("gdsHighWatermark is 1.5; allowed is more than 0 and at most 1", c -> c.withWatermarks(1.5, 0.5)),
            wrong("gdsHighWatermark is NaN; allowed is more than 0 and at most 1",
                c -> c.withWatermarks(Double.NaN, 0.5)),
            wrong("gdsLowWatermark is 0.0; allowed is more than 0 and at most gdsHighWatermark (1.0)",
                c -> c.withWatermarks(1, 0)),
            wrong("gdsLowWatermark is 0.6; allowed is more than 0 and at most gdsHighWatermark (0.5)",
                c -> c.withWatermarks(0.5, 0.6)));
    }

    @ParameterizedTest
    @MethodSource("wrongSettings")
    void shouldNameTheSettingTheValueAndWhatIsAllowed(final String message, final UnaryOperator<GdsConfig> by) {
        final StoreException e = assertThrows(StoreException.class, () -> by.apply(GdsConfig.NONE));

        assertEquals(ErrorCode.INVALID_PARAMS, e.code());
        assertEquals("INVALID_PARAMS: setting " + message, e.getMessage());
    }
}
