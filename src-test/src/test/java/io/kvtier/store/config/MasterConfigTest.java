package io.kvtier.store.config;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.replica.KeyFolder;
import io.kvtier.store.replica.PageLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A master's options from each of their sources. */
class MasterConfigTest {
    @TempDir
    private Path directory;

    private static MasterConfig from(final Map<MasterOption, String> commandLine,
        final Map<String, String> variables) {
        return MasterConfig.read(commandLine, Environment.of(variables));
    }

    private MasterConfig fromFile(final String name, final String text) {
        return from(Map.of(MasterOption.CONFIG_PATH, file(name, text)), Map.of());
    }

    private String file(final String name, final String text) {
        try {
            return Files.writeString(directory.resolve(name), text).toString();
        } catch (final IOException e) {
            throw new AssertionError(e);
        }
    }

    private static String problem(final Runnable reading) {
        return assertThrows(IllegalArgumentException.class, reading::run).getMessage();
    }

    /** The reader of YAML goes as deep as the text. */
    @Test
    void shouldRefuseAFileThatIsNestedWithoutEnd() {
        for (final String deep : List.of("[", "{a: ", "- ")) {
            final String problem = problem(() -> fromFile("a.yaml", "x: \n " + deep.repeat(200_000)));
            assertTrue(problem.contains("a.yaml"), problem);
        }
    }

    /** The figures are those of the followed system's reference, but for addresses. */
    @Test
    void shouldHaveTheDefaultsOfTheReferenceOnLoopback() {
        final MasterConfig config = from(Map.of(), Map.of());

        assertEquals(new MasterConfig.Rpc("127.0.0.1", 50051, "", 0, 1024), config.rpc());
        assertEquals(new MasterConfig.Http("127.0.0.1", 9003, true), config.http());
        assertEquals(new MasterConfig.Security(false, "", "", "", "", ""), config.security());
        assertEquals("mooncake_cluster", config.clusterId());
        final MasterSettings settings = config.settings();
        assertEquals(new MasterSettings.Eviction(0.90, 0.05, 0.90, 0.05, true), settings.eviction());
        assertEquals(10_000, settings.leaseMs());
        assertTrue(settings.remoteReaders());
        assertEquals(new MasterSettings.Liveness(10_000, 30_000, 600_000, 3), settings.liveness());
        assertEquals(new MasterSettings.Pins(1_800_000, 86_400_000), settings.pins());
        assertEquals(new MasterSettings.Tasks(10_000, 10_000, 10_000, 300_000, 300_000, 11), settings.tasks());
        assertFalse(settings.strictTenants());
        assertEquals(MasterSettings.Strategy.RANDOM, settings.strategy());
        assertEquals(new MasterSettings.Pages(null, "mooncake_cluster", 0.90, 0.20, false,
            new MasterSettings.Promotion(false, 2, 50_000)), settings.pages());
        assertEquals(List.of(), config.warnings());
    }

    @Test
    void shouldTakeTheCommandLineBeforeTheFileBeforeTheEnvironment() {
        final Map<String, String> variables = new HashMap<>();
        for (final MasterOption option : List.of(MasterOption.RPC_PORT, MasterOption.METRICS_PORT,
            MasterOption.CLIENT_TTL)) {
            variables.put(option.variable(), "11");
        }
        variables.put("KVTIER_MASTER_CONFIG_PATH", file("a.yaml", "metrics_port: 12\nclient_ttl: 12\n"));
        final MasterConfig config = from(Map.of(MasterOption.CLIENT_TTL, "13"), variables);

        assertEquals(11, config.rpc().port());
        assertEquals(12, config.http().port());
        assertEquals(13_000, config.settings().liveness().clientTtlMs());
        final String other = file("b.yaml", "rpc_port: 14");
        assertEquals(14, from(Map.of(MasterOption.CONFIG_PATH, other), variables).rpc().port());
    }

    /** The five variables are those of the followed design, which a client reads too. */
    @Test
    void shouldTakeTheLayoutOfSharedFilesFromTheVariablesOfClients() {
        final Map<String, String> variables = new HashMap<>(Map.of("MOONCAKE_DISTRIBUTED_PAGE_MODE", "1"));
        assertEquals(new PageLayout("/mnt/3fs/mooncake", 256, 65_536, 4_294_967_296L),
            from(Map.of(), variables).settings().pages().layout());
        variables.putAll(Map.of("MOONCAKE_DISTRIBUTED_ROOT_DIR", "/mnt/b", "MOONCAKE_DISTRIBUTED_BUCKET_COUNT", "3",
            "MOONCAKE_DISTRIBUTED_PAGE_SIZE", "4096", "MOONCAKE_DISTRIBUTED_BUCKET_SIZE", "40960"));
        assertEquals(new PageLayout("/mnt/b", 3, 4096, 40_960), from(Map.of(), variables).settings().pages().layout());
        variables.put("KVTIER_MASTER_DISTRIBUTED_BUCKET_COUNT", "4");
        assertEquals(4, from(Map.of(), variables).settings().pages().layout().buckets());
        variables.put("MOONCAKE_DISTRIBUTED_PAGE_MODE", "FALSE");
        assertFalse(from(Map.of(), variables).settings().pages().isOn());
        variables.put("MOONCAKE_DISTRIBUTED_PAGE_MODE", "maybe");
        assertEquals("environment variable MOONCAKE_DISTRIBUTED_PAGE_MODE is 'maybe'; it must be true or false",
            problem(() -> from(Map.of(), variables)));
    }

    @Test
    void shouldRefuseALayoutOfSharedFilesThatCannotBeOne() {
        final Map<MasterOption, String> options = new EnumMap<>(Map.of(MasterOption.DISTRIBUTED_PAGE_MODE, "true",
            MasterOption.DISTRIBUTED_PAGE_SIZE, "12288"));
        assertEquals("the page size of the shared disk is 12288; it must be a power of two from 4096 to 1073741824; "
            + "see distributed_root_dir, distributed_bucket_count, distributed_page_size and distributed_bucket_size",
            problem(() -> from(options, Map.of())));
        options.put(MasterOption.DISTRIBUTED_PAGE_MODE, "false");
        assertFalse(from(options, Map.of()).settings().pages().isOn(), "nobody asks for it");
    }

    @Test
    void shouldGiveEveryOptionFromEverySource() {
        final Map<MasterOption, String> values = otherValues();
        final Map<String, String> variables = new HashMap<>();
        final StringBuilder yaml = new StringBuilder();
        final StringBuilder json = new StringBuilder("{");
        values.forEach((option, value) -> {
            variables.put("KVTIER_MASTER_" + option.name(), value);
            yaml.append(option.key()).append(": ").append(value).append('\n');
            json.append(json.length() == 1 ? "" : ",").append('"').append(option.key()).append("\": \"").append(value)
                .append('"');
        });
        final MasterConfig config = from(values, Map.of());

        assertEquals(config, from(Map.of(), variables));
        assertEquals(config, fromFile("a.yaml", yaml.toString()));
        assertEquals(config, fromFile("a.json", json + "}"));
        assertEquals(new MasterConfig(new MasterConfig.Rpc("::1", 1, "lo", 2000, 17),
            new MasterConfig.Http("::1", 3, false), new MasterConfig.Security(true, "s", "t", "k", "p", "c"), "blue-7",
            new MasterSettings(new MasterSettings.Eviction(0.5, 0.25, 0.75, 0.125, false), 4, true, 10_000,
                new MasterSettings.Liveness(9000, 7000, 8000, 6), new MasterSettings.Pins(5000, 360_000),
                new MasterSettings.Tasks(12, 13, 11, 14_000, 0, 17), true, MasterSettings.Strategy.LOCAL_FIRST,
                new MasterSettings.Pages(new PageLayout("/mnt/a", 2, 8192, 16_384), "blue-7", 0.625, 0.375, true,
                    new MasterSettings.Promotion(true, 3, 19)), new MasterSettings.FileReplicas(
                    new KeyFolder("/mnt/f/blue-7"), 23, false)),
            new MasterConfig.Snapshots(true, true, "d", 18_000, 19, 20_000, new BucketConfig(new BucketConfig.Place(
                "http://s3.test:81", "r-2", "buck.et", "p/q", "path"), "cf", 21_000, 22)),
            List.of("snapshot_backup_dir is d and has no effect, since snapshot_object_store_type is s3")), config);
    }

    private static Map<MasterOption, String> withBucket(final MasterOption option, final String value) {
        final Map<MasterOption, String> options = new EnumMap<>(Map.of(MasterOption.ENABLE_SNAPSHOT, "true",
            MasterOption.SNAPSHOT_OBJECT_STORE_TYPE, "s3", MasterOption.SNAPSHOT_S3_BUCKET, "bucket",
            MasterOption.SNAPSHOT_S3_REGION, "eu-central-1"));
        options.put(option, value);
        return options;
    }

    private BucketConfig.Place place(final MasterOption option, final String value) {
        return from(withBucket(option, value), Map.of()).snapshots().bucket().place();
    }

    @Test
    void shouldKnowWhereABucketIs() {
        final BucketConfig.Place aws = place(MasterOption.SNAPSHOT_S3_BUCKET, "bucket");
        assertEquals("https://s3.eu-central-1.amazonaws.com", aws.uri().toString());
        assertFalse(aws.isPathStyle());
        assertTrue(place(MasterOption.SNAPSHOT_S3_ADDRESSING, "path").isPathStyle());
        assertTrue(place(MasterOption.SNAPSHOT_S3_ENDPOINT, "https://minio.example:9000").isPathStyle());
        assertEquals("http://127.0.0.1:9000", place(MasterOption.SNAPSHOT_S3_ENDPOINT, "http://127.0.0.1:9000").uri()
            .toString());
        assertNull(from(Map.of(), Map.of()).snapshots().bucket());
        final Map<MasterOption, String> local = withBucket(MasterOption.SNAPSHOT_OBJECT_STORE_TYPE, "local");
        local.put(MasterOption.SNAPSHOT_BACKUP_DIR, "d");
        assertNull(from(local, Map.of()).snapshots().bucket());
        assertEquals(
            List.of("snapshot_s3_bucket is bucket and has no effect, since snapshot_object_store_type is local"),
            from(local, Map.of()).warnings());
        local.remove(MasterOption.SNAPSHOT_BACKUP_DIR);
        assertEquals("enable_snapshot is true and there is no snapshot_backup_dir; name a folder, or a bucket with "
            + "snapshot_object_store_type=s3", problem(() -> from(local, Map.of())));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', nullValues = "none", value = {
        "SNAPSHOT_S3_BUCKET     | ''             | 3 to 63 small letters, digits, '.' or '-'",
        "SNAPSHOT_S3_BUCKET     | No             | 3 to 63 small letters, digits, '.' or '-'",
        "SNAPSHOT_S3_BUCKET     | with.dot       | a name without '.' where it stands in front of the host",
        "SNAPSHOT_S3_PREFIX     | /a             | letters, digits, '.', '_', '=' or '-', in parts",
        "SNAPSHOT_S3_PREFIX     | a/../b         | and no part '.' or '..'",
        "SNAPSHOT_S3_PREFIX     | a/.            | and no part '.' or '..'",
        "SNAPSHOT_S3_PREFIX     | a//b           | letters, digits, '.', '_', '=' or '-', in parts",
        "SNAPSHOT_S3_REGION     | ''             | 1 to 128 letters",
        "SNAPSHOT_S3_ENDPOINT   | s3.example.com | https://HOST or https://HOST:PORT",
        "SNAPSHOT_S3_ENDPOINT   | ftp://a        | https://HOST or https://HOST:PORT",
        "SNAPSHOT_S3_ENDPOINT   | https://a/b    | https://HOST or https://HOST:PORT",
        "SNAPSHOT_S3_ENDPOINT   | https://u@a    | https://HOST or https://HOST:PORT",
        "SNAPSHOT_S3_ENDPOINT   | https://a b    | https://HOST or https://HOST:PORT",
        "SNAPSHOT_S3_ENDPOINT   | http://a       | use https, or set insecure",
        "SNAPSHOT_S3_ADDRESSING | host           | auto or path or virtual",
        "SNAPSHOT_S3_ATTEMPTS   | 0              | a whole number from 1 to 1000"})
    void shouldRefuseABucketThatCannotBeOne(final MasterOption option, final String value, final String allowed) {
        final String problem = problem(() -> from(withBucket(option, value), Map.of()));
        assertTrue(problem.contains(option.key() + " is '" + value + "'") && problem.contains(allowed), problem);
    }

    /** One that is not the default for each but the file itself. */
    private static Map<MasterOption, String> otherValues() {
        final List<String> values = List.of("1", "::1", "lo", "2", "17", "3", "::1", "false", "true", "s", "t", "k",
            "p", "c", "blue-7", "4", "5s", "6m", "false", "0.25", "0.5", "0.125", "0.75", "6", "/mnt/f", "23", "false",
            "true", "/mnt/a/", "2", "8192", "16384", "0.375", "0.625", "true", "true", "3", "19", "local_first", "7",
            "8s", "9", "true", "11", "12", "13", "14", "0", "16", "true", "true", "s3", "d", "18", "19", "20",
            "http://s3.test:81", "r-2", "buck.et", "p/q", "path", "cf", "21", "22");
        final Map<MasterOption, String> all = new EnumMap<>(MasterOption.class);
        final List<MasterOption> options =
            Stream.of(MasterOption.values()).filter(option -> option != MasterOption.CONFIG_PATH).toList();
        assertEquals(options.size(), values.size());
        for (int i = 0; i < options.size(); i++) {
            all.put(options.get(i), values.get(i));
        }
        return all;
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "rpc_port                         | 65536  | a whole number from 0 to 65535",
        "rpc_port                         | -1     | a whole number from 0 to 65535",
        "rpc_port                         | 5e4    | a whole number from 0 to 65535",
        "enable_multi_tenants             | yes    | true or false",
        "eviction_ratio                   | 1.0    | a number from 0 to below 1",
        "eviction_ratio                   | NaN    | a number from 0 to below 1",
        "eviction_high_watermark_ratio    | 0.0    | a number above 0 to 1",
        "eviction_high_watermark_ratio    | 1.01   | a number above 0 to 1",
        "default_kv_lease_ttl             | 0      | a time from 1ms to 24h (with ms, s, m or h behind it; a "
            + "bare number is milliseconds)",
        "default_kv_lease_ttl             | 25h    | a time from 1ms to 24h",
        "default_kv_lease_ttl             | 10d    | a time from 1ms to 24h",
        "default_kv_lease_ttl             | -5s    | a time from 1ms to 24h",
        "default_kv_lease_ttl             | 99999999999999999h | a time from 1ms to 24h",
        "client_ttl                       | 0      | a time from 1ms to 24h (with ms, s, m or h behind it; a "
            + "bare number is seconds)",
        "allocation_strategy              | cxl    | random or free_ratio_first or ssd_free_ratio_first or "
            + "local_first",
        "cluster_id                       | a/b    | 1 to 128 letters, digits, '.', '_' or '-'",
        "nof_heartbeat_failures_threshold | 0      | a whole number from 1 to 1000"})
    void shouldRefuseAValueFromEverySource(final String key, final String value, final String allowed) {
        final MasterOption option = MasterOption.of(key).orElseThrow();
        final String behind = " is '" + value + "'; it must be " + allowed;

        assertTrue(problem(() -> from(Map.of(option, value), Map.of())).startsWith("option --" + key + behind));
        assertTrue(problem(() -> from(Map.of(), Map.of(option.variable(), value)))
            .startsWith("environment variable KVTIER_MASTER_" + option.name() + behind));
        final String yaml = directory.resolve("a.yaml").toString();
        assertTrue(problem(() -> fromFile("a.yaml", key + ": '" + value + "'\n")).startsWith(yaml + ": '" + key + "'"
            + behind));
        // Also where another source counts.
        file("a.yaml", key + ": '" + value + "'");
        assertTrue(problem(() -> from(Map.of(MasterOption.CONFIG_PATH, yaml, option, option.byDefault()), Map.of()))
            .startsWith(yaml));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "default_kv_lease_ttl | 5000  | 5000", "default_kv_lease_ttl | 7s | 7000", "default_kv_lease_ttl | 250ms | 250",
        "default_kv_lease_ttl | 2 m   | 120000", "default_kv_lease_ttl | 1h | 3600000"})
    void shouldTakeTimesInAnyUnit(final String key, final String value, final long ms) {
        assertEquals(ms, from(Map.of(MasterOption.of(key).orElseThrow(), value), Map.of()).settings().leaseMs());
        assertEquals(ms, fromFile("a.yaml", key + ": " + value).settings().leaseMs());
    }

    @Test
    void shouldTakeTheTypesOfYamlAndJsonAsTheyAre() {
        final MasterConfig yaml = fromFile("a.yml", """
            # as in a sample that is going round
            rpc_port: 0x1F90
            eviction_ratio: 0.1
            eviction_high_watermark_ratio: 1
            enable_multi_tenants: true
            cluster_id: 42
            rpc_interface:
            """);
        assertEquals(8080, yaml.rpc().port());
        assertEquals(new MasterSettings.Eviction(1.0, 0.1, 0.9, 0.05, true), yaml.settings().eviction());
        assertTrue(yaml.settings().strictTenants());
        assertEquals("42", yaml.clusterId());
        final MasterConfig json =
            fromFile("a.json", "{\"rpc_port\": 81, \"enable_multi_tenants\": true, \"client_ttl\": \"2m\"}");
        assertEquals(81, json.rpc().port());
        assertTrue(json.settings().strictTenants());
        assertEquals(120_000, json.settings().liveness().clientTtlMs());
        assertEquals(from(Map.of(), Map.of()), fromFile("empty.yaml", "# nothing\n"));
    }

    @Test
    void shouldWarnOfAQuotaForFilesThatThereAreNot() {
        final Map<MasterOption, String> options = new EnumMap<>(Map.of(MasterOption.QUOTA_BYTES, "4096"));
        assertEquals(List.of("quota_bytes is 4096 and has no effect without root_fs_dir"),
            from(options, Map.of()).warnings());
        options.put(MasterOption.ROOT_FS_DIR, "/mnt/f");
        assertEquals(List.of(), from(options, Map.of()).warnings());
        assertEquals(4096, from(options, Map.of()).settings().files().quotaBytes());
    }

    @Test
    void shouldWarnOfUnknownNamesInAFile() {
        final MasterConfig config = fromFile("a.yaml",
            "rpc_prot: 1\nenable_oplog: true\nha:\n  backend: etcd\nconfig_path: x\nrpc_port: 9\n");

        final String path = directory.resolve("a.yaml").toString();
        assertEquals(Stream.of("rpc_prot", "enable_oplog", "ha/backend", "config_path").map(key -> path + ": '" + key
            + "' has no effect; is it misspelt, or of another version?").toList(), config.warnings());
        assertEquals(9, config.rpc().port());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "a.yaml | rpc_port: [1, 2]            | 'rpc_port' is [1, 2]; it must be a whole number from 0 to 65535",
        "a.yaml | - rpc_port                  | a YAML mapping is expected",
        "a.yaml | 'rpc_port: 1: 2'            | this is not YAML",
        "a.yaml | '{rpc_port: 1, rpc_port: 2}' | this is not YAML: found duplicate key",
        "a.yaml | 'rpc_port: !!java.net.URL [\"http://x\"]' | this is not YAML",
        "a.json | '[1]'                       | a JSON object is expected",
        "a.json | '{\"rpc_port\": 1'          | this is not JSON",
        "a.json | '{\"rpc_port\": 1, \"rpc_port\": 2}' | this is not JSON: Duplicate field 'rpc_port'"})
    void shouldSayWhereAFileIsWrong(final String name, final String text, final String message) {
        final String problem = problem(() -> fromFile(name, text));
        assertTrue(problem.startsWith(directory.resolve(name) + ": ") && problem.contains(message), problem);
    }

    @Test
    void shouldNotReadWhatIsNoSmallFile() throws IOException {
        final Path missing = directory.resolve("missing.yaml");
        assertTrue(problem(() -> from(Map.of(MasterOption.CONFIG_PATH, missing.toString()), Map.of()))
            .startsWith("config_path is " + missing + ": that file cannot be read"));
        assertTrue(problem(() -> fromFile("big.yaml", "#".repeat((1 << 20) + 1))).contains("at most 1048576 are read"));
        // What would grow without bounds when it is read.
        assertTrue(problem(() -> fromFile("aliases.yaml", "a: &a [x]\nb: [" + "*a,".repeat(17) + "]\n"))
            .contains("aliases"));
        assertTrue(problem(() -> fromFile("endless.yaml", "a: &a\n  b: *a\n")).contains("nested more than 16 deep"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "PUT_START_RELEASE_TIMEOUT_SEC | 30 | put_start_release_timeout_sec is 30000ms; it must be more than "
            + "put_start_discard_timeout_sec, which is 30000ms",
        "DEFAULT_KV_SOFT_PIN_TTL | 25h | default_kv_soft_pin_ttl is 90000000ms; it must be at most "
            + "max_kv_soft_pin_ttl, which is 86400000ms",
        "TLS_TRUSTSTORE | t | tls_truststore is t and there is no tls_keystore",
        "TLS_KEYSTORE | k | tls_keystore is k and there is no tls_password_file"})
    void shouldRefuseOptionsThatDoNotGoTogether(final MasterOption option, final String value, final String message) {
        assertTrue(problem(() -> from(Map.of(option, value), Map.of())).startsWith(message));
    }

    @Test
    void shouldCheckValuesThatComeFromAProgram() {
        assertEquals("eviction_ratio is 1.5; it must be a number from 0 to below 1",
            problem(() -> new MasterSettings.Eviction(0.9, 1.5, 1, 0, true)));
        assertEquals("nof_eviction_high_watermark_ratio is 0.0; it must be a number above 0 to 1",
            problem(() -> new MasterSettings.Eviction(0.9, 0.5, 0, 0, true)));
        assertEquals("max_retry_attempts is -1; it must be a whole number from 0 to 1000",
            problem(() -> new MasterSettings.Tasks(1, 1, 1, 0, 0, 0)));
        assertEquals("put_start_release_timeout_sec is 5ms; it must be more than put_start_discard_timeout_sec, which "
            + "is 5ms", problem(() -> new MasterSettings.Liveness(1, 5, 5, 1)));
        assertEquals("nof_heartbeat_failures_threshold is 0; it must be 1 or more",
            problem(() -> new MasterSettings.Liveness(1, 5, 6, 0)));
        assertEquals("default_kv_lease_ttl is -1ms; it must not be negative",
            problem(() -> MasterSettings.embedded(1, 0, -1, 0)));
        assertEquals("rpc_port is -1; it must be a whole number from 0 to 65535",
            problem(() -> new MasterConfig.Rpc("127.0.0.1", -1, "", 0, 1024)));
    }
}
