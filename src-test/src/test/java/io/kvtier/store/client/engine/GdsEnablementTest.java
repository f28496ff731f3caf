package io.kvtier.store.client.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.Availability;
import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.client.EmbeddedStore;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.TentConfig;
import io.kvtier.transport.file.FileOpener;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Who decides about GDS offload, and each rule by which it may be, met and not met. */
@ExtendWith(LeakCheck.class)
class GdsEnablementTest {
    private static final Path CONFIGURED = Path.of("/configured");
    private static final Path NAMED = Path.of("/named");
    private static final GdsConfig OWN = GdsConfig.NONE.withRoom(CONFIGURED, 4096);
    private static final String WITHOUT = "or set MOONCAKE_GDS_OFFLOAD_TRANSPORT=io_uring (or posix) to run the same "
        + "tier without GPUDirect Storage";

    @TempDir
    private Path directory;

    /** One that turns GDS offload on, with more or other variables. */
    private static Environment environment(final String... more) {
        final Map<String, String> variables = new HashMap<>(Map.of("MOONCAKE_GDS_OFFLOAD_ENABLED", "1",
            "MOONCAKE_GDS_OFFLOAD_PATH", NAMED.toString(), "MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES", "8192"));
        for (int i = 0; i < more.length; i += 2) {
            variables.put(more[i], more[i + 1]);
        }
        return Environment.of(variables);
    }

    /** Of an embedded and of a connected store, which are the same; null where nothing is said. */
    private static GdsConfig wanted(final GdsConfig said, final Environment environment) {
        final StoreConfig.Builder embedded = StoreConfig.builder();
        final ConnectConfig.Builder connected = ConnectConfig.builder("h", 1);
        if (said != null) {
            embedded.gds(said);
            connected.gds(said);
        }
        final GdsConfig wanted = GdsEnablement.wanted(embedded.build(), environment);
        assertEquals(wanted, GdsEnablement.wanted(connected.build(), environment));
        return wanted;
    }

    @Test
    void shouldTakeTheEnvironmentWhereNothingIsSaid() {
        assertEquals(new GdsConfig(NAMED, 8192, GdsConfig.Mover.POSIX, 0.5, 0.25, false, false),
            wanted(null, environment("MOONCAKE_GDS_OFFLOAD_TRANSPORT", "posix", "MOONCAKE_GDS_OFFLOAD_HIGH_WATERMARK",
                "0.5", "MOONCAKE_GDS_OFFLOAD_LOW_WATERMARK", "0.25", "MOONCAKE_GDS_OFFLOAD_WARM_RESTART", "0",
                "MOONCAKE_GDS_OFFLOAD_REMOTE_READS", "0")));
        assertEquals(GdsConfig.NONE, wanted(null, Environment.of(Map.of())));
        assertEquals(GdsConfig.NONE, wanted(null, environment("MOONCAKE_GDS_OFFLOAD_ENABLED", "0")));
    }

    /** Whole: no part of it comes from the environment, which may even be wrong. */
    @Test
    void shouldTakeTheConfigurationWhereItSaysSomething() {
        assertEquals(OWN, wanted(OWN, environment("MOONCAKE_GDS_OFFLOAD_TRANSPORT", "posix")));
        assertEquals(OWN, wanted(OWN, environment("MOONCAKE_GDS_OFFLOAD_TRANSPORT", "nonsense")));
        assertEquals(OWN, wanted(OWN, environment("MOONCAKE_GDS_OFFLOAD_ENABLED", "0")));
        assertEquals(GdsConfig.NONE, wanted(GdsConfig.NONE, environment()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "false"})
    void shouldRefuseGdsOffloadWithoutTheEngine(final String value) {
        final Environment without = environment("MC_USE_TENT", value);

        for (final GdsConfig said : new GdsConfig[] {null, OWN}) {
            final String message = EngineSettings.refused(() -> wanted(said, without));
            assertTrue(message.startsWith("INVALID_PARAMS: MC_USE_TENT is '" + value + "', and GDS offload is on"),
                message);
        }
        assertEquals(GdsConfig.NONE, wanted(GdsConfig.NONE, without));
        assertEquals(GdsConfig.NONE, wanted(null, Environment.of(Map.of("MC_USE_TENT", value))));
    }

    /** Memory of one process is always copied here, whatever that variable wants. */
    @ParameterizedTest
    @ValueSource(strings = {"0", "1"})
    void shouldAcceptTheVariablesOfTheSystemThatThisFollows(final String copies) {
        assertEquals(GdsConfig.NONE.withRoom(NAMED, 8192),
            wanted(null, environment("MC_USE_TENT", "1", "MC_STORE_MEMCPY", copies)));
    }

    @ParameterizedTest
    @CsvSource({"MOONCAKE_GDS_OFFLOAD_ENABLED, maybe", "MOONCAKE_GDS_OFFLOAD_PATH, here",
        "MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES, much", "MOONCAKE_GDS_OFFLOAD_TRANSPORT, rdma",
        "MOONCAKE_GDS_OFFLOAD_LOW_WATERMARK, 0.99", "MC_USE_TENT, maybe"})
    void shouldOpenNoStoreWhenAVariableIsWrong(final String name, final String value) {
        final StoreHooks hooks = new StoreHooks(() -> 0, FileOpener.POSIX, environment(name, value));

        for (final String message : List.of(
            EngineSettings.refused(() -> EmbeddedStore.open(StoreConfig.builder().memoryBytes(4096).build(), hooks)),
            EngineSettings.refused(() -> Engines.connected(hooks, ConnectConfig.builder("h", 1).build())))) {
            assertTrue(message.startsWith("INVALID_PARAMS: " + name + " is '" + value + "'; it must be "), message);
        }
    }

    private static TentConfig tent(final String json) {
        return TentConfig.from(EngineSettings.environment(json)).orElseThrow();
    }

    /** What the first rule says that is not met. */
    private static Availability problem(final GdsConfig config, final TentConfig tent) {
        final Availability answer = GdsEnablement.allowed(config, tent);
        assertFalse(answer.available(), answer.reason());
        assertFalse(answer.remedy().isEmpty());
        return answer;
    }

    private GdsConfig in(final Path file) {
        return GdsConfig.NONE.withRoom(file, 4096);
    }

    private GdsConfig good() {
        return in(directory.resolve("kv.gds"));
    }

    private List<String> names() throws IOException {
        try (Stream<Path> there = Files.list(directory)) {
            return there.map(path -> path.getFileName().toString()).toList();
        }
    }

    @Test
    void shouldAllowWhatMeetsEveryRuleAndLeaveNothingBehind() throws IOException {
        assertTrue(GdsEnablement.allowed(good(), tent(EngineSettings.GDS)).available());
        assertEquals(List.of(), names());
        Files.writeString(directory.resolve("kv.gds"), "of an earlier store");
        assertTrue(GdsEnablement.allowed(good(), tent(EngineSettings.GDS)).available());
        assertEquals(List.of("kv.gds"), names());
    }

    @ParameterizedTest
    @EnumSource
    void shouldWantRoomForTheFile(final GdsConfig.Mover mover) {
        final Availability problem = problem(GdsConfig.NONE.withTransport(mover), tent(EngineSettings.GDS));

        assertTrue(problem.reason().contains("gdsBytes is 0"), problem.reason());
        assertTrue(problem.remedy().contains("MOONCAKE_OFFLOAD_TOTAL_SIZE_LIMIT_BYTES"), problem.remedy());
    }

    @ParameterizedTest
    @EnumSource
    void shouldWantAFolderThatExistsAndCanBeWrittenTo(final GdsConfig.Mover mover) throws IOException {
        final Path absent = directory.resolve("absent");
        final Path plain = Files.createFile(directory.resolve("plain"));
        // Root, too, makes no files there.
        final Path unwritable = Path.of("/proc");
        final Map<Path, String> wrong = Map.of(
            absent.resolve("f"), "the folder " + absent + " of the backing file does not exist",
            plain.resolve("f"), "the folder " + plain + " of the backing file is not a folder",
            unwritable.resolve("f"), "no file can be made in the folder /proc of the backing file",
            directory, "the backing file " + directory + " is a folder",
            Path.of("/dev/null"), "the backing file /dev/null is no regular file",
            Path.of("/"), "the backing file / is a folder");
        wrong.forEach((file, why) -> {
            final Availability problem = problem(in(file).withTransport(mover), tent(EngineSettings.GDS));
            assertTrue(problem.reason().startsWith(why), problem.reason());
            assertTrue(problem.remedy().endsWith(", or name another file (MOONCAKE_GDS_OFFLOAD_PATH, gdsFile)"),
                problem.remedy());
            assertFalse(problem.remedy().contains("TRANSPORT"), "another transport would not help");
        });
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "{'transports/io_uring/enable': false} | 'transports/gds/enable' is false | set it to true: MC_TENT_CONF='{",
        "{'transports/gds': {'enable': true, 'io_batch_depth': 128}} | 'transports/io_uring/enable' is true"
            + " | set it to false: MC_TENT_CONF='{",
        "{'transports': {'gds': {'enable': true, 'io_batch_depth': 128}, 'io_uring/enable': true}}"
            + " | 'transports/io_uring/enable' is true | set it to false: MC_TENT_CONF='{",
        "{'transports': {'gds': {'enable': true}, 'io_uring/enable': false}}"
            + " | 'transports/gds/io_batch_depth' is 32; a store puts up to 128 entries | set it to 128 or more",
        "{'transports': {'gds': {'enable': true, 'io_batch_depth': 127}, 'io_uring/enable': false}}"
            + " | 'transports/gds/io_batch_depth' is 127; a store puts up to 128 entries | set it to 128 or more"})
    void shouldWantAnEngineThatLeavesFilesToGpuDirectStorage(final String json, final String reason,
        final String remedy) {
        final Availability problem = problem(good(), tent(json));

        assertTrue(problem.reason().startsWith("MC_TENT_CONF: " + reason), problem.reason());
        assertTrue(problem.remedy().startsWith(remedy), problem.remedy());
        assertTrue(problem.remedy().contains(WITHOUT), problem.remedy());
        for (final GdsConfig.Mover other : List.of(GdsConfig.Mover.IO_URING, GdsConfig.Mover.POSIX)) {
            assertTrue(GdsEnablement.allowed(good().withTransport(other), tent(json)).available(), other::toString);
        }
    }

    @Test
    void shouldAllowASettingThatItsOwnRemedyGives() {
        final String remedy = problem(good(), TentConfig.DEFAULT.withUring(false)).remedy();
        final String json = remedy.substring(remedy.indexOf("'{") + 1, remedy.indexOf("}'") + 1);

        assertTrue(GdsEnablement.allowed(good(), tent(json)).available(), json);
    }

    /** Batches there are none. */
    @Test
    void shouldNotMindTheDepthOfBatchesThatAreNotMade() {
        assertTrue(GdsEnablement.allowed(good(), tent("{'transports': {'gds': {'enable': true, 'mode': 'sync'}, "
            + "'io_uring/enable': false}}")).available());
    }

    @Test
    void shouldPassOnWhatAProbeSays() {
        final Availability no = Availability.no("it is not here", "install it");
        final Availability yes = Availability.yes("it is here");
        for (final GdsConfig.Mover mover : GdsConfig.Mover.values()) {
            assertSame(yes, GdsEnablement.answered(mover, yes));
        }
        final Availability gds = GdsEnablement.answered(GdsConfig.Mover.GDS, no);
        assertEquals("GPUDirect Storage cannot be used: it is not here", gds.reason());
        assertTrue(gds.remedy().startsWith("install it; " + WITHOUT), gds.remedy());
        final Availability uring = GdsEnablement.answered(GdsConfig.Mover.IO_URING, no);
        assertEquals("io_uring cannot be used: it is not here", uring.reason());
        assertTrue(uring.remedy().startsWith("install it; or set MOONCAKE_GDS_OFFLOAD_TRANSPORT=posix"),
            uring.remedy());
    }
}
