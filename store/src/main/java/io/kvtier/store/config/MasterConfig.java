package io.kvtier.store.config;

import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What a master process is told once: where its ports are, how they are protected, and the settings of the master
 * itself. Every value is of a {@link MasterOption}, which names its range; times are in milliseconds. Files that are
 * named here are not opened here.
 *
 * @param rpc       where calls are taken.
 * @param http      where metrics and administration are answered.
 * @param security  how both are protected.
 * @param clusterId what the cluster is called.
 * @param settings  what the master does.
 * @param snapshots how its state is saved and restored.
 * @param warnings  what was given and has no effect, for people.
 */
public record MasterConfig(Rpc rpc, Http http, Security security, String clusterId, MasterSettings settings,
                           Snapshots snapshots, List<String> warnings) {
    /**
     * Validates.
     *
     * @throws IllegalArgumentException naming the option, the value and what is allowed.
     */
    public MasterConfig {
        MasterOption.CLUSTER_ID.check(clusterId);
        Objects.requireNonNull(settings, "settings");
        Objects.requireNonNull(snapshots, "snapshots");
        warnings = List.copyOf(warnings);
        final BucketConfig bucket = snapshots.bucket();
        if (bucket != null && !bucket.place().isPrivate() && !security.insecure()) {
            throw new IllegalArgumentException(MasterOption.SNAPSHOT_S3_ENDPOINT.key() + " is '"
                + bucket.place().endpoint() + "', and names of values and tokens of memory would go there as they are; "
                + "use https, or set " + MasterOption.INSECURE.key());
        }
    }

    /**
     * Where calls are taken.
     *
     * @param address        of this host.
     * @param port           0 for any free one.
     * @param interfaceName  whose IPv4 address counts instead of {@code address}; empty for none.
     * @param connTimeoutMs  after which an idle connection is ended; 0 for never.
     * @param maxConnections at once.
     */
    public record Rpc(String address, int port, String interfaceName, long connTimeoutMs, int maxConnections) {
        /** Validates. */
        public Rpc {
            MasterOption.RPC_ADDRESS.check(address);
            MasterOption.RPC_PORT.check((long) port);
            MasterOption.RPC_INTERFACE.check(interfaceName);
            MasterOption.RPC_CONN_TIMEOUT_SECONDS.check(connTimeoutMs);
            MasterOption.RPC_MAX_CONNECTIONS.check((long) maxConnections);
        }
    }

    /**
     * Where metrics and administration are answered.
     *
     * @param address   of this host.
     * @param port      0 for any free one.
     * @param reporting whether a summary is logged now and then.
     */
    public record Http(String address, int port, boolean reporting) {
        /** Validates. */
        public Http {
            MasterOption.METRICS_HOST.check(address);
            MasterOption.METRICS_PORT.check((long) port);
        }
    }

    /**
     * How a master's ports are protected; a path is empty when there is no such file.
     *
     * @param insecure       the explicit word that nothing is wanted beyond loopback.
     * @param secretFile     the shared secret of calls.
     * @param adminTokenFile the token of HTTP.
     * @param keystore       certificate and key.
     * @param passwordFile   what opens both stores.
     * @param truststore     whose certificates clients need.
     */
    public record Security(boolean insecure, String secretFile, String adminTokenFile, String keystore,
                           String passwordFile, String truststore) {
        /** Validates. */
        public Security {
            MasterOption.SECRET_FILE.check(secretFile);
            MasterOption.ADMIN_TOKEN_FILE.check(adminTokenFile);
            MasterOption.TLS_KEYSTORE.check(keystore);
            MasterOption.TLS_PASSWORD_FILE.check(passwordFile);
            MasterOption.TLS_TRUSTSTORE.check(truststore);
            if (keystore.isEmpty() && !truststore.isEmpty()) {
                throw new IllegalArgumentException("tls_truststore is " + truststore + " and there is no tls_keystore;"
                    + " clients show certificates only over TLS");
            }
            if (!keystore.isEmpty() && passwordFile.isEmpty()) {
                throw new IllegalArgumentException("tls_keystore is " + keystore + " and there is no tls_password_file"
                    + " to open it with");
            }
        }
    }

    /**
     * How a master's state is saved and restored.
     *
     * @param taken           whether snapshots are taken.
     * @param restored        whether the master begins with one.
     * @param directory       where they are; empty for nowhere, or for a bucket.
     * @param intervalMs      from the end of one to the beginning of the next.
     * @param retained        how many are kept.
     * @param remountMs       after which what has not come back after a restore is forgotten.
     * @param bucket          where they are in place of a directory; null for none.
     */
    public record Snapshots(boolean taken, boolean restored, String directory, long intervalMs, int retained,
                            long remountMs, BucketConfig bucket) {
        /** Validates. */
        public Snapshots {
            MasterOption.SNAPSHOT_BACKUP_DIR.check(directory);
            MasterOption.SNAPSHOT_INTERVAL_SECONDS.check(intervalMs);
            MasterOption.SNAPSHOT_RETENTION_COUNT.check((long) retained);
            MasterOption.SNAPSHOT_REMOUNT_TIMEOUT_SEC.check(remountMs);
            if ((taken || restored) && bucket == null && directory.isEmpty()) {
                throw new IllegalArgumentException((taken ? MasterOption.ENABLE_SNAPSHOT
                    : MasterOption.ENABLE_SNAPSHOT_RESTORE).key() + " is true and there is no "
                    + MasterOption.SNAPSHOT_BACKUP_DIR.key() + "; name a folder, or a bucket with "
                    + MasterOption.SNAPSHOT_OBJECT_STORE_TYPE.key() + '=' + MasterOption.S3);
            }
        }
    }

    /**
     * Reads a configuration: the command line counts before the file, the file before the environment, that before the
     * defaults.
     *
     * @param commandLine what was given there, as it was written.
     * @param environment variables.
     * @return the configuration.
     * @throws IllegalArgumentException when a file cannot be read or a value is wrong, naming the option, where it was
     *                                  given, the value and what is allowed.
     */
    public static MasterConfig read(final Map<MasterOption, String> commandLine, final Environment environment) {
        return MasterConfigReader.read(commandLine, environment);
    }
}
