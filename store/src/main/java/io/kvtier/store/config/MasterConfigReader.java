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
            option.sharedVariable().ifPresent(name -> reader.readVariable(option, name,
                environment.get(name).map(text -> option.isFlag() ? word(text) : text)));
            reader.readVariable(option, option.variable(), environment.get(option.variable()));
        }
        final Map<MasterOption, Object> typed = new EnumMap<>(MasterOption.class);
        commandLine.forEach((option, text) ->
            typed.put(option, option.parse(text.strip(), "option --" + option.key())));
        final Object file = typed.getOrDefault(MasterOption.CONFIG_PATH, reader.values.get(MasterOption.CONFIG_PATH));
        if (file != null && !file.equals("")) {
            reader.readFile((String) file);
        }
        reader.values.putAll(typed);
        return reader.config();
    }

    private void readVariable(final MasterOption option, final String name, final Optional<String> value) {
        value.ifPresent(text -> values.put(option, option.parse(text, "environment variable " + name)));
    }

    /** Clients, which have this variable too, take numbers and capitals for flags. */
    private static String word(final String flag) {
        return switch (flag) {
            case "1" -> "true";
            case "0" -> "false";
            default -> flag.toLowerCase(Locale.ROOT);
        };
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
        final MasterValues all = new MasterValues(values);
        checkQuota(all);
        return new MasterConfig(
            new MasterConfig.Rpc(all.text(MasterOption.RPC_ADDRESS), all.whole(MasterOption.RPC_PORT),
                all.text(MasterOption.RPC_INTERFACE), all.ms(MasterOption.RPC_CONN_TIMEOUT_SECONDS),
                all.whole(MasterOption.RPC_MAX_CONNECTIONS)),
            new MasterConfig.Http(all.text(MasterOption.METRICS_HOST), all.whole(MasterOption.METRICS_PORT),
                all.flag(MasterOption.ENABLE_METRIC_REPORTING)),
            new MasterConfig.Security(all.flag(MasterOption.INSECURE), all.text(MasterOption.SECRET_FILE),
                all.text(MasterOption.ADMIN_TOKEN_FILE), all.text(MasterOption.TLS_KEYSTORE),
                all.text(MasterOption.TLS_PASSWORD_FILE), all.text(MasterOption.TLS_TRUSTSTORE)),
            all.text(MasterOption.CLUSTER_ID), MasterSettings.of(all),
            new MasterConfig.Snapshots(all.flag(MasterOption.ENABLE_SNAPSHOT),
                all.flag(MasterOption.ENABLE_SNAPSHOT_RESTORE), all.text(MasterOption.SNAPSHOT_BACKUP_DIR),
                all.ms(MasterOption.SNAPSHOT_INTERVAL_SECONDS), all.whole(MasterOption.SNAPSHOT_RETENTION_COUNT),
                all.ms(MasterOption.SNAPSHOT_REMOUNT_TIMEOUT_SEC), bucket(all)), warnings);
    }

    /** Room for files of which there are none is no mistake, but not what was meant either. */
    private void checkQuota(final MasterValues all) {
        if (all.text(MasterOption.ROOT_FS_DIR).isEmpty() && all.number(MasterOption.QUOTA_BYTES) > 0) {
            warnings.add(MasterOption.QUOTA_BYTES.key() + " is " + all.number(MasterOption.QUOTA_BYTES)
                + " and has no effect without " + MasterOption.ROOT_FS_DIR.key());
        }
    }

    /** Where snapshots are in a bucket; null when they are not, or there are none. */
    private BucketConfig bucket(final MasterValues all) {
        final boolean wanted = all.text(MasterOption.SNAPSHOT_OBJECT_STORE_TYPE).equals(MasterOption.S3);
        final MasterOption idle = wanted ? MasterOption.SNAPSHOT_BACKUP_DIR : MasterOption.SNAPSHOT_S3_BUCKET;
        if (!all.text(idle).isEmpty()) {
            warnings.add(idle.key() + " is " + all.text(idle) + " and has no effect, since "
                + MasterOption.SNAPSHOT_OBJECT_STORE_TYPE.key() + " is "
                + all.text(MasterOption.SNAPSHOT_OBJECT_STORE_TYPE));
        }
        final boolean used = all.flag(MasterOption.ENABLE_SNAPSHOT) || all.flag(MasterOption.ENABLE_SNAPSHOT_RESTORE);
        return wanted && used ? new BucketConfig(new BucketConfig.Place(all.text(MasterOption.SNAPSHOT_S3_ENDPOINT),
            all.text(MasterOption.SNAPSHOT_S3_REGION), all.text(MasterOption.SNAPSHOT_S3_BUCKET),
            all.text(MasterOption.SNAPSHOT_S3_PREFIX), all.text(MasterOption.SNAPSHOT_S3_ADDRESSING)),
            all.text(MasterOption.SNAPSHOT_S3_CREDENTIALS_FILE), all.ms(MasterOption.SNAPSHOT_S3_TIMEOUT_SECONDS),
            all.whole(MasterOption.SNAPSHOT_S3_ATTEMPTS)) : null;
    }
}
