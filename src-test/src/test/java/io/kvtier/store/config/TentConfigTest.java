package io.kvtier.store.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.MemoryKind;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Selection;
import io.kvtier.transport.SelectionRule;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.gds.GdsConfig;
import io.kvtier.transport.tcp.TcpRetry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code MC_TENT_CONF}, by its keys and defaults. */
class TentConfigTest {
    @TempDir
    private Path directory;

    private static TentConfig from(final String value) {
        return TentConfig.from(Environment.of(Map.of("MC_TENT_CONF", value))).orElseThrow();
    }

    private static String problem(final String json) {
        return assertThrows(IllegalArgumentException.class, () -> TentConfig.parse(json)).getMessage();
    }

    @Test
    void shouldHaveTheDefaultsOfTheReferenceWhenNothingIsSaid() {
        final TentConfig config = TentConfig.parse("{}");

        assertTrue(config.tcp().enable());
        assertEquals(new TcpRetry(3, 100, 2000), config.tcp().retry());
        assertEquals(16, config.tcp().maxConcurrentTasks());
        assertEquals(new GdsConfig(false, 32, GdsConfig.Mode.BATCH, 0, 4, false, true, 1000, false), config.gds());
        assertTrue(config.uring());
        assertEquals(new TentConfig.Shm(false, ""), config.shm());
        assertEquals(3, config.maxFailovers());
        assertEquals(1024, config.maxOutstanding());
        assertEquals(1L << 30, config.maxOutstandingBytes());
        assertEquals(Selection.DEFAULT, config.selection());
        assertEquals(List.of(), config.warnings());
        assertTrue(TentConfig.from(Environment.of(Map.of())).isEmpty());
        assertTrue(TentConfig.from(Environment.of(Map.of("MC_TENT_CONF", "  "))).isEmpty());
    }

    @Test
    void shouldReadTheJsonItselfOrAFileOfIt() throws IOException {
        final String json = """
            {"transports": {"gds": {"enable": true, "io_batch_depth": 128, "mode": "sync", "threads": 3,
             "require_direct": true, "allow_compat": false}, "io_uring": {"enable": false},
             "tcp/max_retry_count": 7}, "transports/shm/enable": true, "max_failover_attempts": 0,
             "runtime_queue": {"max_outstanding_owners": 10, "max_outstanding_bytes": 4096}}""";
        final Path file = Files.writeString(directory.resolve("tent.json"), json);

        for (final TentConfig config : List.of(from(json), from("  " + json), from(file.toString()))) {
            assertEquals(new GdsConfig(true, 128, GdsConfig.Mode.SYNC, 3, 4, true, false, 1000, false), config.gds());
            assertFalse(config.uring());
            assertEquals(7, config.tcp().retry().maxRetryCount());
            assertTrue(config.shm().enable());
            assertEquals(List.of(), config.warnings());
            final TransferConfig transfer = config.transfer(new TransferConfig(8192, 5));
            assertEquals(new TransferConfig(8192, 5, 10, 4096, 0, Selection.DEFAULT), transfer);
        }
    }

    @Test
    void shouldNameKeysThatHaveNoEffect() {
        final TentConfig config = TentConfig.parse("""
            {"transports": {"gds": {"enabel": true}, "rdma": {"enable": true}}, "log_level": "info", "merge": null}""");

        assertEquals(3, config.warnings().size());
        for (final String key : List.of("transports/gds/enabel", "transports/rdma/enable", "log_level")) {
            assertTrue(config.warnings().stream().anyMatch(warning -> warning.contains("'" + key + "'")),
                config.warnings().toString());
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "{'transports': {'gds': {'io_batch_depth': 0}}} | transports/gds/io_batch_depth | 0 | from 1 to 256",
        "{'transports': {'gds': {'io_batch_depth': 257}}} | transports/gds/io_batch_depth | 257 | from 1 to 256",
        "{'transports': {'gds': {'io_batch_depth': '32'}}} | transports/gds/io_batch_depth | 32 | whole number",
        "{'transports': {'gds': {'io_batch_depth': 1.5}}} | transports/gds/io_batch_depth | 1.5 | whole number",
        "{'transports': {'gds': {'mode': 'fast'}}} | transports/gds/mode | fast | batch or sync",
        "{'transports': {'gds': {'threads': 65}}} | transports/gds/threads | 65 | from 0 to 64",
        "{'transports': {'gds': {'batches': 0}}} | transports/gds/batches | 0 | from 1 to 16",
        "{'transports': {'gds': {'cancel_wait_ms': -1}}} | transports/gds/cancel_wait_ms | -1 | from 0 to 60000",
        "{'transports': {'tcp': {'enable': 1}}} | transports/tcp/enable | 1 | true or false",
        "{'transports': {'tcp': {'enable': {}}}} | | |",
        "{'transports': {'tcp': {'retry_max_delay_ms': 99}}} | transports/tcp/retry_max_delay_ms | 99 | 100",
        "{'transports': {'shm': {'cxl_mount_path': 5}}} | transports/shm/cxl_mount_path | 5 | a text",
        "{'max_failover_attempts': -1} | max_failover_attempts | -1 | from 0",
        "{'runtime_queue/max_outstanding_bytes': 17592186044416} | max_outstanding_bytes | 17592186044416 | from 1",
        "{'policy': {}} | | |",
        "{'policy': 7} | policy | 7 | a list",
        "{'policy': [7]} | policy[0] | 7 | an object",
        "{'policy': [{'transports': ['tcp']}]} | segment_type | not given | file or memory",
        "{'policy': [{'segment_type': 'disk', 'transports': ['tcp']}]} | segment_type | disk | file or memory",
        "{'policy': [{'segment_type': 'file', 'local_memory': 'gpu'}]} | local_memory | gpu | cuda",
        "{'policy': [{'segment_type': 'file', 'min_size': 5, 'max_size': 4}]} | max_size | 4 | from 5",
        "{'policy': [{'segment_type': 'file', 'transports': ['posixx']}]} | policy[0] | posixx | io_uring"})
    void shouldRefuseAWrongValueAndNameKeyValueAndWhatIsAllowed(final String json, final String key,
        final String value, final String allowed) {
        if (key == null) {
            // An empty object has no values, so it says nothing.
            assertEquals(List.of(), TentConfig.parse(json.replace('\'', '"')).warnings());
            return;
        }
        final String problem = problem(json.replace('\'', '"'));

        assertTrue(problem.contains(key) && problem.contains(value) && problem.contains(allowed), problem);
        assertTrue(problem.startsWith("MC_TENT_CONF"), problem);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "[]", "7", "{", "{\"a\": }", "{} {}", "{\"a\": 1, \"a\": 2}",
        "{\"a\": {\"b\": 1}, \"a/b\": 2}", "{\"a\": 99999999999999999999}", "{'a': 1}"})
    void shouldRefuseWhatIsNoJsonObjectOrSaysAThingTwice(final String json) {
        assertTrue(problem(json).startsWith("MC_TENT_CONF"), problem(json));
    }

    @Test
    void shouldRefuseJsonThatIsNestedWithoutEnd() {
        final String nested = "{\"a\":".repeat(5000) + "1" + "}".repeat(5000);

        assertTrue(problem(nested).contains("nest") || problem(nested).contains("JSON"), problem(nested));
    }

    @Test
    void shouldSayWhichFileCannotBeRead() {
        final String missing = directory.resolve("missing.json").toString();

        final String problem = assertThrows(IllegalArgumentException.class, () -> from(missing)).getMessage();

        assertTrue(problem.contains(missing) && problem.contains("MC_TENT_CONF"), problem);
    }

    @Test
    void shouldPutPoliciesBeforeTheRulesThereAre() {
        final TentConfig config = TentConfig.parse("""
            {"policy": [
              {"name": "big", "segment_type": "file", "local_memory": "cpu", "min_size": 1000, "max_size": 5000,
               "transports": ["posix", "rdma", "io_uring"], "service_level": 3},
              {"segment_type": "memory", "local_memory": "cuda", "transports": ["tcp"]},
              {"segment_type": "file", "transports": ["rdma"]}]}""");

        final List<SelectionRule> rules = config.selection().rules();
        assertEquals(new SelectionRule("big", Segment.Kind.FILE, Capability.HOST_MEMORY, 1000, 5000,
            List.of(TransportKind.POSIX, TransportKind.IO_URING)), rules.getFirst());
        assertEquals(new SelectionRule("policy-1", Segment.Kind.REMOTE, Set.of(MemoryKind.DEVICE), TransportKind.TCP),
            rules.get(1), "the other segments of memory are none that TCP serves");
        assertEquals(Selection.DEFAULT.rules(), rules.subList(2, rules.size()));
        final String warnings = String.join("\n", config.warnings());
        assertEquals(4, config.warnings().size(), warnings);
        assertTrue(warnings.contains("service_level") && warnings.contains("'rdma'") && warnings.contains("policy[2]"),
            warnings);
    }

    @Test
    void shouldLetASystemPropertyOverrideTheVariable() {
        System.setProperty("kvtier.test.setting", " value ");
        try {
            assertEquals("value", Environment.system().get("kvtier.test.setting").orElseThrow());
            assertTrue(Environment.system().get("kvtier.test.other").isEmpty());
            assertEquals(System.getenv("PATH"), Environment.system().get("PATH").orElseThrow());
        } finally {
            System.clearProperty("kvtier.test.setting");
        }
    }
}
