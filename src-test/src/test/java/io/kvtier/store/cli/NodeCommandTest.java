package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ConnectConfig;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.Environment;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** What the command line of a node means for its store. */
class NodeCommandTest {
    private static final Console CONSOLE = new Console(new PrintStream(PrintStream.nullOutputStream()),
        new PrintStream(PrintStream.nullOutputStream()), false);

    private static ConnectConfig config(final String... arguments) {
        return config(Map.of(), arguments);
    }

    private static ConnectConfig config(final Map<String, String> variables, final String... arguments) {
        final NodeCommand node = new NodeCommand(CONSOLE, Environment.of(variables));
        new CommandLine(node).setCaseInsensitiveEnumValuesAllowed(true).parseArgs(arguments);
        return node.settings(ConnectConfig.builder("h", 1)).build();
    }

    @Test
    void shouldHaveGdsOffloadAsItIsTold() {
        final GdsConfig told = GdsConfig.NONE.withRoom(Path.of("/ssd/kv.gds"), 1 << 30);

        assertEquals(told, config("--gds-file", "/ssd/kv.gds", "--gds-bytes", "1G").gds());
        assertEquals(told.withTransport(GdsConfig.Mover.IO_URING),
            config("--gds-file=/ssd/kv.gds", "--gds-bytes=1G", "--gds-transport=io_uring").gds());
        assertEquals(told, config("--memory-bytes=0", "--gds-file=/ssd/kv.gds", "--gds-bytes=1G").gds());
    }

    /** A put or a get of the command line is no second user of a node's file. */
    @Test
    void shouldLeaveGdsOffloadToTheEnvironmentOnlyWhereNothingIsSaidOfIt() {
        assertTrue(config().isGdsLeftToEnvironment());
        assertFalse(new ExistsCommand(CONSOLE).settings(ConnectConfig.builder("h", 1)).build()
            .isGdsLeftToEnvironment());
    }

    /** A file alone is something to lend, whoever says so. */
    @Test
    void shouldLendAFileAloneThatTheEnvironmentNames() {
        final Map<String, String> variables = new HashMap<>(Map.of("MOONCAKE_GDS_OFFLOAD_ENABLED", "1",
            "MOONCAKE_GDS_OFFLOAD_PATH", "/ssd/kv.gds", "MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES", "1048576"));

        assertTrue(config(variables, "--memory-bytes=0").isGdsLeftToEnvironment());
        variables.put("MOONCAKE_GDS_OFFLOAD_ENABLED", "0");
        assertEquals("INVALID_PARAMS: --memory-bytes, --disk-bytes and --gds-bytes are 0, there is no --nof-device, "
            + "and MOONCAKE_GDS_OFFLOAD_ENABLED is not 1; nothing is lent",
            assertThrows(StoreException.class, () -> config(variables, "--memory-bytes=0")).getMessage());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "--gds-file=/x                   | --gds-file and --gds-bytes need each other",
        "--gds-bytes=1G                  | --gds-file and --gds-bytes need each other",
        "--gds-transport=posix           | --gds-transport needs --gds-file and --gds-bytes",
        "--gds-file=x --gds-bytes=1G     | gdsFile is 'x'; allowed is an absolute path",
        "--gds-file=/x --gds-bytes=17T   | gdsBytes is 18691697672192; allowed is 0 for no GDS offload, or one page"})
    void shouldRefuseWhatCannotBeMeant(final String line, final String message) {
        final String said = assertThrows(StoreException.class, () -> config(line.split(" "))).getMessage();

        assertTrue(said.contains(message), said);
    }
}
