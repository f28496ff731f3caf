package io.kvtier.store.config;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** Reads a {@link MasterConfig} from its sources. A value that is wrong is refused even where another one counts. */
final class MasterConfigReader {
    private static final long MAX_FILE_BYTES = 1 << 20;

    private final Map<MasterOption, Object> values = new EnumMap<>(MasterOption.class);
    private final List<String> warnings = new ArrayList<>();

    private MasterConfigReader() {
    }

    static MasterConfig read(final Map<MasterOption, String> commandLine, final Environment environment) {
        final MasterConfigReader reader = new MasterConfigReader();
        for (final MasterOption option : MasterOption.values()) {
            reader.values.put(option, option.parse(option.byDefault(), option.key()));
            environment.get(option.variable()).ifPresent(text ->
                reader.values.put(option, option.parse(text, "environment variable " + option.variable())));
        }
        final Map<MasterOption, Object> typed = new EnumMap<>(MasterOption.class);
        commandLine.forEach((option, text) ->
            typed.put(option, option.parse(text.strip(), "option --" + option.key())));
        final Object file = typed.getOrDefault(MasterOption.CONFIG_PATH, reader.values.get(MasterOption.CONFIG_PATH));
        if (!file.equals("")) {
            reader.readFile((String) file);
        }
        reader.values.putAll(typed);
        return reader.config();
    }

    private void readFile(final String path) {
        final Map<String, Object> document = path.toLowerCase(Locale.ROOT).endsWith(".json")
            ? JsonDocument.parse(text(path), path) : YamlDocument.parse(text(path), path);
        document.forEach((key, value) -> {
            final Optional<MasterOption> option = MasterOption.of(key);
            if (option.isEmpty() || option.get() == MasterOption.CONFIG_PATH) {
                warnings.add(path + ": '" + key + "' has no effect; is it misspelt, or of another version?");
            } else if (value instanceof String || value instanceof Number || value instanceof Boolean) {
                values.put(option.get(), option.get().parse(value.toString().strip(), path + ": '" + key + "'"));
            } else {
                throw new IllegalArgumentException(path + ": '" + key + "' is " + value + "; it must be "
                    + option.get().allowed());
            }
        });
    }

    private static String text(final String path) {
        try {
            final Path file = Path.of(path);
            if (Files.size(file) > MAX_FILE_BYTES) {
                throw new IllegalArgumentException("config_path is " + path + ": that file has " + Files.size(file)
                    + " bytes; at most " + MAX_FILE_BYTES + " are read");
            }
            return Files.readString(file, StandardCharsets.UTF_8);
        } catch (final IOException e) {
            throw new IllegalArgumentException("config_path is " + path + ": that file cannot be read (" + e + ")", e);
        }
    }

    private MasterConfig config() {
        return new MasterConfig(
            new MasterConfig.Rpc(text(MasterOption.RPC_ADDRESS), whole(MasterOption.RPC_PORT),
                text(MasterOption.RPC_INTERFACE), ms(MasterOption.RPC_CONN_TIMEOUT_SECONDS),
                whole(MasterOption.RPC_MAX_CONNECTIONS)),
            new MasterConfig.Http(text(MasterOption.METRICS_HOST), whole(MasterOption.METRICS_PORT),
                flag(MasterOption.ENABLE_METRIC_REPORTING)),
            new MasterConfig.Security(flag(MasterOption.INSECURE), text(MasterOption.SECRET_FILE),
                text(MasterOption.ADMIN_TOKEN_FILE), text(MasterOption.TLS_KEYSTORE),
                text(MasterOption.TLS_PASSWORD_FILE), text(MasterOption.TLS_TRUSTSTORE)),
            text(MasterOption.CLUSTER_ID),
            new MasterConfig.Leases(ms(MasterOption.DEFAULT_KV_LEASE_TTL), ms(MasterOption.DEFAULT_KV_SOFT_PIN_TTL),
                ms(MasterOption.MAX_KV_SOFT_PIN_TTL)),
            new MasterConfig.Eviction(share(MasterOption.EVICTION_RATIO),
                share(MasterOption.EVICTION_HIGH_WATERMARK_RATIO), flag(MasterOption.ALLOW_EVICT_SOFT_PINNED_OBJECTS)),
            new MasterConfig.Nof(share(MasterOption.NOF_EVICTION_RATIO),
                share(MasterOption.NOF_EVICTION_HIGH_WATERMARK_RATIO),
                whole(MasterOption.NOF_HEARTBEAT_FAILURES_THRESHOLD)),
            new MasterConfig.Writes(ms(MasterOption.PUT_START_DISCARD_TIMEOUT_SEC),
                ms(MasterOption.PUT_START_RELEASE_TIMEOUT_SEC)),
            ms(MasterOption.CLIENT_TTL), text(MasterOption.ALLOCATION_STRATEGY),
            flag(MasterOption.ENABLE_MULTI_TENANTS),
            new MasterConfig.Tasks(whole(MasterOption.MAX_TOTAL_FINISHED_TASKS),
                whole(MasterOption.MAX_TOTAL_PENDING_TASKS), whole(MasterOption.MAX_TOTAL_PROCESSING_TASKS),
                ms(MasterOption.PENDING_TASK_TIMEOUT_SEC), ms(MasterOption.PROCESSING_TASK_TIMEOUT_SEC),
                whole(MasterOption.MAX_RETRY_ATTEMPTS)),
            warnings);
    }

    private boolean flag(final MasterOption option) {
        return (Boolean) values.get(option);
    }

    private int whole(final MasterOption option) {
        return Math.toIntExact((Long) values.get(option));
    }

    private long ms(final MasterOption option) {
        return (Long) values.get(option);
    }

    private double share(final MasterOption option) {
        return (Double) values.get(option);
    }

    private String text(final MasterOption option) {
        return (String) values.get(option);
    }
}
