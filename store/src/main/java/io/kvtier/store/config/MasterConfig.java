package io.kvtier.store.config;

import java.util.List;
import java.util.Map;

/**
 * What a master process is told once. Every value is of a {@link MasterOption}, which names its range; times are in
 * milliseconds. Files that are named here are not opened here.
 *
 * @param rpc                where calls are taken.
 * @param http               where metrics and administration are answered.
 * @param security           how both are protected.
 * @param clusterId          what the cluster is called.
 * @param leases             how long values stay.
 * @param memory             when memory is evicted.
 * @param nof                when block devices are evicted and given up.
 * @param writes             what becomes of writes that are not ended.
 * @param clientTtlMs        after which a silent client is taken for dead.
 * @param allocationStrategy which segment takes a value.
 * @param multiTenants       whether tenants are told apart and have quotas.
 * @param tasks              limits of copies and moves.
 * @param warnings           what was given and has no effect, for people.
 */
public record MasterConfig(Rpc rpc, Http http, Security security, String clusterId, Leases leases, Eviction memory,
                           Nof nof, Writes writes, long clientTtlMs, String allocationStrategy, boolean multiTenants,
                           Tasks tasks, List<String> warnings) {
    /**
     * Validates.
     *
     * @throws IllegalArgumentException naming the option, the value and what is allowed.
     */
    public MasterConfig {
        MasterOption.CLUSTER_ID.check(clusterId);
        MasterOption.CLIENT_TTL.check(clientTtlMs);
        MasterOption.ALLOCATION_STRATEGY.check(allocationStrategy);
        warnings = List.copyOf(warnings);
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
     * How long values stay.
     *
     * @param readMs       after a read.
     * @param softPinMs    of a soft pin that names no time.
     * @param maxSoftPinMs longest soft pin.
     */
    public record Leases(long readMs, long softPinMs, long maxSoftPinMs) {
        /** Validates. */
        public Leases {
            MasterOption.DEFAULT_KV_LEASE_TTL.check(readMs);
            MasterOption.DEFAULT_KV_SOFT_PIN_TTL.check(softPinMs);
            MasterOption.MAX_KV_SOFT_PIN_TTL.check(maxSoftPinMs);
            if (softPinMs > maxSoftPinMs) {
                throw new IllegalArgumentException("default_kv_soft_pin_ttl is " + softPinMs + "ms; it must be at most"
                    + " max_kv_soft_pin_ttl, which is " + maxSoftPinMs + "ms");
            }
        }
    }

    /**
     * When memory is evicted.
     *
     * @param ratio         share that an eviction frees.
     * @param highWatermark share above which it begins.
     * @param softPinned    whether soft-pinned values may go when others are not enough.
     */
    public record Eviction(double ratio, double highWatermark, boolean softPinned) {
        /** Validates. */
        public Eviction {
            MasterOption.EVICTION_RATIO.check(ratio);
            MasterOption.EVICTION_HIGH_WATERMARK_RATIO.check(highWatermark);
        }
    }

    /**
     * When block devices are evicted and given up.
     *
     * @param ratio         share that an eviction frees.
     * @param highWatermark share above which it begins.
     * @param failures      failed probes in a row after which a device is unmounted.
     */
    public record Nof(double ratio, double highWatermark, int failures) {
        /** Validates. */
        public Nof {
            MasterOption.NOF_EVICTION_RATIO.check(ratio);
            MasterOption.NOF_EVICTION_HIGH_WATERMARK_RATIO.check(highWatermark);
            MasterOption.NOF_HEARTBEAT_FAILURES_THRESHOLD.check((long) failures);
        }
    }

    /**
     * What becomes of writes that are not ended.
     *
     * @param discardMs after which another writer may take the key.
     * @param releaseMs after which their room is freed; more than {@code discardMs}.
     */
    public record Writes(long discardMs, long releaseMs) {
        /** Validates. */
        public Writes {
            MasterOption.PUT_START_DISCARD_TIMEOUT_SEC.check(discardMs);
            MasterOption.PUT_START_RELEASE_TIMEOUT_SEC.check(releaseMs);
            if (releaseMs <= discardMs) {
                throw new IllegalArgumentException("put_start_release_timeout_sec is " + releaseMs + "ms; it must be "
                    + "more than put_start_discard_timeout_sec, which is " + discardMs + "ms");
            }
        }
    }

    /**
     * Limits of copies and moves.
     *
     * @param maxFinished  ended ones that are remembered.
     * @param maxPending   that wait for their client.
     * @param maxProcessing under way.
     * @param pendingMs    after which one that waits is given up; 0 for never.
     * @param processingMs after which one under way is given up; 0 for never.
     * @param maxRetries   how often a move of a drain is tried again.
     */
    public record Tasks(int maxFinished, int maxPending, int maxProcessing, long pendingMs, long processingMs,
                        int maxRetries) {
        /** Validates. */
        public Tasks {
            MasterOption.MAX_TOTAL_FINISHED_TASKS.check((long) maxFinished);
            MasterOption.MAX_TOTAL_PENDING_TASKS.check((long) maxPending);
            MasterOption.MAX_TOTAL_PROCESSING_TASKS.check((long) maxProcessing);
            MasterOption.PENDING_TASK_TIMEOUT_SEC.check(pendingMs);
            MasterOption.PROCESSING_TASK_TIMEOUT_SEC.check(processingMs);
            MasterOption.MAX_RETRY_ATTEMPTS.check((long) maxRetries);
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
