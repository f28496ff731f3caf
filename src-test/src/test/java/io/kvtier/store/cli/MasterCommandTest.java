package io.kvtier.store.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PrometheusText;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.MasterConfig;
import io.kvtier.store.config.MasterOption;
import io.kvtier.store.config.MasterSettings;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The command's options, what becomes of them, and what the documentation says of them. */
@ExtendWith(LeakCheck.class)
class MasterCommandTest {
    private static final Path DOCUMENT = Path.of(System.getProperty("kvtier.root"), "store", "OPERATIONS.md");
    private static final Pattern REQUESTS = Pattern.compile("master_(?:batch_)?(.*?)_(requests_total|failures_total"
        + "|items_total|failed_items_total|partial_successes_total)");

    @TempDir
    private Path directory;

    private static MasterConfig config(final Map<MasterOption, String> options) {
        final Map<MasterOption, String> all = new EnumMap<>(Map.of(MasterOption.RPC_PORT, "0",
            MasterOption.METRICS_PORT, "0"));
        all.putAll(options);
        return MasterConfig.read(all, Environment.of(Map.of()));
    }

    @Test
    void shouldOfferEveryOptionInBothSpellings() {
        final String help = CommandRun.of("master", "--help").done().out();
        for (final MasterOption option : MasterOption.values()) {
            assertTrue(help.contains("--" + option.key()), option.key());
            assertTrue(help.contains("--" + option.key().replace('_', '-')), option.key());
        }
        for (final String spelling : List.of("--eviction_ratio=7", "--eviction-ratio=7")) {
            assertEquals("kvtier master: option --eviction_ratio is '7'; it must be a number from 0 to below 1\n",
                CommandRun.of("master", spelling).err());
        }
    }

    /** Options that did not reach the service were a fault of the system that this one follows. */
    @Test
    void shouldPassEveryFigureOnToTheState() {
        final Map<MasterOption, String> options = new EnumMap<>(MasterOption.class);
        options.put(MasterOption.EVICTION_HIGH_WATERMARK_RATIO, "0.5");
        options.put(MasterOption.EVICTION_RATIO, "0.25");
        options.put(MasterOption.NOF_EVICTION_HIGH_WATERMARK_RATIO, "0.75");
        options.put(MasterOption.NOF_EVICTION_RATIO, "0.125");
        options.put(MasterOption.ALLOW_EVICT_SOFT_PINNED_OBJECTS, "false");
        options.put(MasterOption.DEFAULT_KV_LEASE_TTL, "1");
        options.put(MasterOption.CLIENT_TTL, "2ms");
        options.put(MasterOption.PUT_START_DISCARD_TIMEOUT_SEC, "3ms");
        options.put(MasterOption.PUT_START_RELEASE_TIMEOUT_SEC, "4ms");
        options.put(MasterOption.NOF_HEARTBEAT_FAILURES_THRESHOLD, "5");
        options.put(MasterOption.DEFAULT_KV_SOFT_PIN_TTL, "6");
        options.put(MasterOption.MAX_KV_SOFT_PIN_TTL, "7");
        options.put(MasterOption.MAX_TOTAL_PENDING_TASKS, "8");
        options.put(MasterOption.MAX_TOTAL_PROCESSING_TASKS, "9");
        options.put(MasterOption.MAX_TOTAL_FINISHED_TASKS, "10");
        options.put(MasterOption.PENDING_TASK_TIMEOUT_SEC, "11ms");
        options.put(MasterOption.PROCESSING_TASK_TIMEOUT_SEC, "12ms");
        options.put(MasterOption.MAX_RETRY_ATTEMPTS, "13");
        options.put(MasterOption.ENABLE_MULTI_TENANTS, "true");
        options.put(MasterOption.ALLOCATION_STRATEGY, "free_ratio_first");
        assertEquals(new MasterSettings(new MasterSettings.Eviction(0.5, 0.25, 0.75, 0.125, false), 1, true, 10_000,
            new MasterSettings.Liveness(2, 3, 4, 5), new MasterSettings.Pins(6, 7),
            new MasterSettings.Tasks(8, 9, 10, 11, 12, 14), true, MasterSettings.Strategy.FREE_RATIO_FIRST),
            config(options).settings());
        for (final String word : List.of("random", "free_ratio_first", "ssd_free_ratio_first", "local_first")) {
            assertEquals(word, config(Map.of(MasterOption.ALLOCATION_STRATEGY, word)).settings()
                .strategy().name().toLowerCase(Locale.ROOT));
        }
    }

    /** Without retries the first try is the only one. */
    @Test
    void shouldTryAMoveOnceMoreThanItIsTriedAgain() {
        for (final int retries : new int[] {0, 10}) {
            assertEquals(retries + 1, config(Map.of(MasterOption.MAX_RETRY_ATTEMPTS,
                String.valueOf(retries))).settings().tasks().tries());
        }
    }

    @Test
    void shouldListenAtTheAddressOfAnInterface() throws IOException {
        final MasterProcess.Plan plan = MasterProcess.plan(config(Map.of(MasterOption.RPC_INTERFACE, "lo",
            MasterOption.RPC_ADDRESS, "10.1.2.3", MasterOption.METRICS_HOST, "::1")));
        assertEquals("127.0.0.1", plan.rpc().address().getAddress().getHostAddress());
        try (MasterProcess master = MasterProcess.start(plan)) {
            assertTrue(master.toString().matches("calls 127\\.0\\.0\\.1:\\d+, http://\\[0:0:0:0:0:0:0:1]:\\d+, cluster "
                + "mooncake_cluster"), master.toString());
        }
    }

    @Test
    void shouldNotShowWhatIsInAFileThatItCannotUse() throws IOException {
        final Path file = Files.writeString(directory.resolve("secret"), "short-secret");
        for (final Map<MasterOption, String> options : List.of(Map.of(MasterOption.SECRET_FILE, file.toString()),
            Map.of(MasterOption.ADMIN_TOKEN_FILE, file.toString()),
            Map.of(MasterOption.TLS_KEYSTORE, file.toString(), MasterOption.TLS_PASSWORD_FILE, file.toString()))) {
            final String message = assertThrows(IllegalArgumentException.class,
                () -> MasterProcess.plan(config(options))).getMessage();
            assertTrue(message.contains("secret") && !message.contains("short-secret"), message);
        }
    }

    @Test
    void shouldDocumentTheOptionsThatThereAre() throws IOException {
        final List<String> rows = Stream.of(MasterOption.values()).map(option -> "| `" + option.key() + "` | "
            + (option.byDefault().isEmpty() ? "–" : '`' + option.byDefault() + '`') + " | " + option.allowed() + " | "
            + option.description() + " |").toList();
        assertEquals(rows, section("## Options", "Two pairs"));
    }

    /** The rows of the table between two texts, without its head. */
    private static List<String> section(final String begin, final String end) throws IOException {
        final String document = Files.readString(DOCUMENT);
        final int from = document.indexOf(begin);
        return document.substring(from, document.indexOf(end, from)).lines().filter(line -> line.startsWith("| "))
            .skip(1).toList();
    }

    @Test
    void shouldDocumentThePagesAndRequestsThatThereAre() throws IOException, InterruptedException {
        final String document = Files.readString(DOCUMENT);
        try (MasterProcess master = MasterProcess.start(MasterProcess.plan(config(Map.of())));
             HttpClient http = HttpClient.newHttpClient()) {
            final String base = master.toString().replaceAll(".*(http://[^,]*),.*", "$1");
            final String nowhere = get(http, base + "/nowhere");
            final Matcher pages =
                Pattern.compile("/[a-z0-9_/]+").matcher(nowhere.substring(nowhere.indexOf("there are")));
            int count = 0;
            while (pages.find()) {
                assertTrue(document.contains(" `" + pages.group() + "` |"), pages.group());
                count++;
            }
            assertTrue(count >= 15, nowhere);
            final Map<String, PrometheusText.Family> metrics = PrometheusText.parse(get(http, base + "/metrics"));
            metrics.keySet().stream().map(REQUESTS::matcher).filter(Matcher::matches)
                .forEach(name -> assertTrue(document.contains('`' + name.group(1) + '`')
                    || document.contains("| `" + name.group() + "` |"), name.group()));
        }
    }

    private static String get(final HttpClient http, final String uri) throws IOException, InterruptedException {
        return http.send(HttpRequest.newBuilder(URI.create(uri)).build(), HttpResponse.BodyHandlers.ofString()).body();
    }
}
