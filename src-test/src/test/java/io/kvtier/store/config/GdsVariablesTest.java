package io.kvtier.store.config;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.transport.TransportKind;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code MOONCAKE_GDS_OFFLOAD_*}, by their names and defaults. */
class GdsVariablesTest {
    private static final String SIZE = "MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES";

    /** GDS offload of a mebibyte, and what is added; names are without what all begin with, but for the size. */
    private static Map<String, String> enabled(final String... more) {
        final Map<String, String> variables = new HashMap<>(Map.of("MOONCAKE_GDS_OFFLOAD_ENABLED", "1",
            "MOONCAKE_GDS_OFFLOAD_PATH", "/ssd/kv.gds", SIZE, "1048576"));
        for (int i = 0; i < more.length; i += 2) {
            variables.put(name(more[i]), more[i + 1]);
        }
        return variables;
    }

    private static String name(final String end) {
        return end.equals("SIZE") ? SIZE : "MOONCAKE_GDS_OFFLOAD_" + end;
    }

    private static GdsVariables read(final Map<String, String> variables) {
        return GdsVariables.from(Environment.of(variables)).orElseThrow();
    }

    private static String problem(final Map<String, String> variables) {
        return assertThrows(IllegalArgumentException.class, () -> read(variables)).getMessage();
    }

    @Test
    void shouldTakeTheDefaultsForWhatIsNotSaid() {
        assertEquals(new GdsVariables(Path.of("/ssd/kv.gds"), 1 << 20, TransportKind.GDS, 0.95, 0.85, true, true),
            read(enabled()));
    }

    @Test
    void shouldReadEachVariable() {
        assertEquals(new GdsVariables(Path.of("/x"), 17_592_186_044_416L, TransportKind.POSIX, 0.5, 0.25, false, false),
            read(enabled("PATH", "/x", "SIZE", "17592186044416", "TRANSPORT", "posix", "HIGH_WATERMARK", "0.5",
                "LOW_WATERMARK", "0.25", "WARM_RESTART", "0", "REMOTE_READS", "false")));
        assertEquals(TransportKind.IO_URING, read(enabled("TRANSPORT", "io_uring")).transport());
        assertEquals(TransportKind.GDS, read(enabled("TRANSPORT", "gds")).transport());
        assertEquals(4096, read(enabled("SIZE", "4096")).bytes());
        assertEquals(1, read(enabled("HIGH_WATERMARK", "1")).highWatermark());
    }

    /** Else a high watermark below the usual low one could not be set alone. */
    @Test
    void shouldLowerTheLowWatermarkThatIsNotSaidWithTheHighOne() {
        final GdsVariables read = read(enabled("HIGH_WATERMARK", "0.5"));

        assertEquals(0.5, read.highWatermark());
        assertEquals(0.5, read.lowWatermark());
    }

    @ParameterizedTest
    @CsvSource({"1, true", "true, true", "TRUE, true", "0, false", "false, false", "False, false", "' ', false"})
    void shouldBeOnWhereItIsEnabled(final String value, final boolean on) {
        assertEquals(on, GdsVariables.from(Environment.of(enabled("ENABLED", value))).isPresent());
    }

    /** Somebody else's disk may have its size there, and who has no GDS offload need not mind. */
    @ParameterizedTest
    @ValueSource(strings = {"PATH", "SIZE", "TRANSPORT", "HIGH_WATERMARK", "WARM_RESTART"})
    void shouldLookAtNothingElseWhereItIsNotEnabled(final String end) {
        assertEquals(Optional.empty(), GdsVariables.from(Environment.of(Map.of(name(end), "nonsense"))));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "ENABLED        | yes            | it must be 1, true, 0 or false; unset it for false",
        "PATH           | kv.gds         | it must be the absolute path of a file in a folder that exists; or set",
        "SIZE           | 100G           | a whole number from 4096 to 17592186044416; or set MOONCAKE_GDS",
        "SIZE           | 0              | a whole number from 4096 to 17592186044416; or set MOONCAKE_GDS",
        "SIZE           | 4095           | a whole number from 4096 to 17592186044416; or set MOONCAKE_GDS",
        "SIZE           | 17592186044417 | a whole number from 4096 to 17592186044416; or set MOONCAKE_GDS",
        "TRANSPORT      | tcp            | it must be gds, io_uring or posix; unset it for gds",
        "TRANSPORT      | GDS            | it must be gds, io_uring or posix; unset it for gds",
        "HIGH_WATERMARK | 0              | it must be a number above 0, at most 1; unset it for 0.95",
        "HIGH_WATERMARK | 1.1            | it must be a number above 0, at most 1; unset it for 0.95",
        "HIGH_WATERMARK | NaN            | it must be a number above 0, at most 1; unset it for 0.95",
        "HIGH_WATERMARK | 90%            | it must be a number above 0, at most 1; unset it for 0.95",
        "LOW_WATERMARK  | 0              | at most MOONCAKE_GDS_OFFLOAD_HIGH_WATERMARK (0.95); unset it for 0.85",
        "LOW_WATERMARK  | 0.96           | at most MOONCAKE_GDS_OFFLOAD_HIGH_WATERMARK (0.95); unset it for 0.85",
        "WARM_RESTART   | 2              | it must be 1, true, 0 or false; unset it for true",
        "REMOTE_READS   | off            | it must be 1, true, 0 or false; unset it for true"})
    void shouldNameTheVariableItsValueAndWhatToDo(final String end, final String value, final String allowed) {
        final String problem = problem(enabled(end, value));

        assertTrue(problem.startsWith(name(end) + " is '" + value + "'; "), problem);
        assertTrue(problem.contains(allowed), problem);
    }

    @Test
    void shouldRefuseAPathThatCannotBeOne() {
        assertTrue(problem(enabled("PATH", "/a\0b")).startsWith("MOONCAKE_GDS_OFFLOAD_PATH is '/a"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"PATH", "SIZE"})
    void shouldSayWhatIsMissing(final String end) {
        final String problem = problem(enabled(end, ""));

        assertTrue(problem.startsWith("MOONCAKE_GDS_OFFLOAD_ENABLED is true and " + name(end) + " is not set; set it "
            + "to the "), problem);
        assertTrue(problem.endsWith("; or set MOONCAKE_GDS_OFFLOAD_ENABLED to 0"), problem);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "1", "true"})
    void shouldTakeTheEngineForGranted(final String value) {
        assertDoesNotThrow(() -> GdsVariables.requireEngine(Environment.of(Map.of("MC_USE_TENT", value))));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "0      | and GDS offload is on: what moves its bytes are transports of the engine that this switches off",
        "false  | unset MC_USE_TENT or set it to 1",
        "perhaps| it must be 1, true, 0 or false; unset it for true"})
    void shouldRefuseToGoWithoutTheEngine(final String value, final String why) {
        final String problem = assertThrows(IllegalArgumentException.class,
            () -> GdsVariables.requireEngine(Environment.of(Map.of("MC_USE_TENT", value)))).getMessage();

        assertTrue(problem.startsWith("MC_USE_TENT is '" + value + "'"), problem);
        assertTrue(problem.contains(why), problem);
    }
}
