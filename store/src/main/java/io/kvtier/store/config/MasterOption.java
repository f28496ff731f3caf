package io.kvtier.store.config;

import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * An option of {@code kvtier master}. The constant's name in small letters is its name on the command line and in a
 * file; {@code KVTIER_MASTER_} and the constant's name is its environment variable. One table for the parser, the help
 * and the documentation.
 */
public enum MasterOption {
    /** The file. */
    CONFIG_PATH(new OptionKind.Text("a path", MasterOption.LONGEST), "",
        "Read options from this file: JSON when its name ends in .json, else YAML. Not for the file itself."),
    /** Port of calls. */
    RPC_PORT(new OptionKind.Whole(0, MasterOption.LAST_PORT), "" + MasterOption.USUAL_RPC_PORT,
        "Take calls at this port; 0 for any free one."),
    /** Address of calls. */
    RPC_ADDRESS(new OptionKind.Text("a name or an address of this host", MasterOption.LONGEST), "127.0.0.1",
        "Take calls at this address. Beyond loopback it wants tls_keystore, secret_file or insecure."),
    /** Interface of calls. */
    RPC_INTERFACE(new OptionKind.Text("the name of a network interface", MasterOption.LONGEST), "",
        "Take calls at the IPv4 address of this network interface, whatever rpc_address says."),
    /** Idle connections. */
    RPC_CONN_TIMEOUT_SECONDS(new OptionKind.Time("s", 0, MasterOption.DAY_MS), "0",
        "End a connection on which no call was made or under way for so long; 0 for never."),
    /** Most connections. */
    RPC_MAX_CONNECTIONS(new OptionKind.Whole(1, MasterOption.MOST_CONNECTIONS), "1024",
        "Refuse further connections; each takes a thread, and a client has two."),
    /** Port of HTTP. */
    METRICS_PORT(new OptionKind.Whole(0, MasterOption.LAST_PORT), "9003",
        "Answer HTTP (metrics and administration) at this port; 0 for any free one."),
    /** Address of HTTP. */
    METRICS_HOST(new OptionKind.Text("a name or an address of this host", MasterOption.LONGEST), "127.0.0.1",
        "Answer HTTP at this address. Beyond loopback it wants tls_keystore, admin_token_file or insecure."),
    /** Whether a summary is logged. */
    ENABLE_METRIC_REPORTING(new OptionKind.Flag(), "true", "Log a line of metrics every 10 s while they change."),
    /** The word that nothing protects the ports. */
    INSECURE(new OptionKind.Flag(), "false",
        "Listen beyond loopback with neither TLS nor a secret: whoever reaches the ports may do everything."),
    /** Shared secret of calls. */
    SECRET_FILE(new OptionKind.Text("a path", MasterOption.LONGEST), "",
        "Take calls only from clients that prove to know the secret in this file (its first line, 16 bytes or more)."),
    /** Token of HTTP. */
    ADMIN_TOKEN_FILE(new OptionKind.Text("a path", MasterOption.LONGEST), "",
        "Answer HTTP, but for /health, only to 'Authorization: Bearer TOKEN' with the first line of this file."),
    /** Certificate. */
    TLS_KEYSTORE(new OptionKind.Text("a path", MasterOption.LONGEST), "",
        "Use TLS for calls and HTTP, with the certificate and key in this PKCS #12 file."),
    /** Password of both stores. */
    TLS_PASSWORD_FILE(new OptionKind.Text("a path", MasterOption.LONGEST), "",
        "The first line of this file opens tls_keystore and tls_truststore."),
    /** Certificates of clients. */
    TLS_TRUSTSTORE(new OptionKind.Text("a path", MasterOption.LONGEST), "",
        "Ask clients for a certificate too, signed by one in this PKCS #12 file."),
    /** Name of the cluster. */
    CLUSTER_ID(new OptionKind.Word(MasterOption.LONGEST_NAME), "mooncake_cluster",
        "What this cluster is called in metrics and answers."),

    /** Read lease. */
    DEFAULT_KV_LEASE_TTL(new OptionKind.Time("ms", 1, MasterOption.DAY_MS), "10000",
        "How long a value that was read or looked up stays where it is."),
    /** Soft pin. */
    DEFAULT_KV_SOFT_PIN_TTL(new OptionKind.Time("ms", 1, MasterOption.YEAR_MS), "1800000",
        "How long a soft pin lasts that names no time; at most max_kv_soft_pin_ttl."),
    /** Longest soft pin. */
    MAX_KV_SOFT_PIN_TTL(new OptionKind.Time("ms", 1, MasterOption.YEAR_MS), "86400000",
        "The longest time that a soft pin may ask for."),
    /** Whether soft pins give way. */
    ALLOW_EVICT_SOFT_PINNED_OBJECTS(new OptionKind.Flag(), "true",
        "Evict soft-pinned values when evicting others is not enough."),
    /** Share evicted. */
    EVICTION_RATIO(new OptionKind.Share(true, false), "0.05", "Share of the memory that an eviction frees."),
    /** Watermark. */
    EVICTION_HIGH_WATERMARK_RATIO(new OptionKind.Share(false, true), "0.90",
        "Evict when more than this share of the memory is used."),
    /** Share evicted of block devices. */
    NOF_EVICTION_RATIO(new OptionKind.Share(true, false), "0.05", "The same for block devices."),
    /** Watermark of block devices. */
    NOF_EVICTION_HIGH_WATERMARK_RATIO(new OptionKind.Share(false, true), "0.90", "The same for block devices."),
    /** Failed probes. */
    NOF_HEARTBEAT_FAILURES_THRESHOLD(new OptionKind.Whole(1, MasterOption.MANY), "3",
        "Unmount a block device after so many failed probes in a row."),
    /** A file for each value. */
    ROOT_FS_DIR(new OptionKind.Text("an absolute path", MasterOption.LONGEST), "",
        "Write each new value to a file of its own as well, in this folder of a file system that all clients mount at "
            + "the same place; none without it. Each cluster_id has a folder in it."),
    /** Room for these files. */
    QUOTA_BYTES(new OptionKind.Whole(0, Long.MAX_VALUE), "0",
        "Most bytes of these files; 0 for 90 % of the file system that they are on."),
    /** What becomes of the oldest of them. */
    ENABLE_DISK_EVICTION(new OptionKind.Flag(), "true",
        "Delete the oldest of these files when a new one has no room; without it the new value gets none."),
    /** Pages of files that all mount. */
    DISTRIBUTED_PAGE_MODE(new OptionKind.Flag(), "false",
        "Offload values to files on a file system that all clients mount, whose pages this master gives out; the "
            + "clients have the same settings."),
    /** Where these files are. */
    DISTRIBUTED_ROOT_DIR(new OptionKind.Text("an absolute path", MasterOption.LONGEST), "/mnt/3fs/mooncake",
        "The folder of these files, as all hosts name it; the master itself does not open it."),
    /** How many these files are. */
    DISTRIBUTED_BUCKET_COUNT(new OptionKind.Whole(1, PageLayout.MAX_BUCKETS), "256", "How many files there are."),
    /** Bytes of a page. */
    DISTRIBUTED_PAGE_SIZE(new OptionKind.Whole(ReplicaDescriptor.DistributedDisk.UNIT_BYTES,
        PageLayout.MAX_PAGE_BYTES), "65536", "Bytes of a page, a power of two; a value takes whole ones."),
    /** Bytes of a file. */
    DISTRIBUTED_BUCKET_SIZE(new OptionKind.Whole(ReplicaDescriptor.DistributedDisk.UNIT_BYTES,
        PageLayout.MAX_BUCKET_BYTES), "4294967296", "Bytes of each file, a multiple of the page size."),
    /** Share evicted of these files. */
    DISTRIBUTED_EVICTION_RATIO(new OptionKind.Share(true, false), "0.20",
        "Share of their pages that an eviction frees."),
    /** Watermark of these files. */
    DISTRIBUTED_EVICTION_HIGH_WATERMARK_RATIO(new OptionKind.Share(false, true), "0.90",
        "Evict values from these files when more than this share of the pages is used."),
    /** When values go there. */
    DISTRIBUTED_OFFLOAD_AT_PUT(new OptionKind.Flag(), "false",
        "Copy a value there as soon as it is written, and not only when its memory is wanted for others."),
    /** Whether they come back. */
    PROMOTION_ON_HIT(new OptionKind.Flag(), "false",
        "Copy values that are often read from disks back to memory: from these files any client is asked to, from a "
            + "client's own disk that client."),
    /** How often is often. */
    PROMOTION_ADMISSION_THRESHOLD(new OptionKind.Whole(1, MasterOption.MOST_HITS), "2",
        "After so many reads; older ones count less and less."),
    /** How many at once. */
    PROMOTION_QUEUE_LIMIT(new OptionKind.Whole(1, MasterOption.MOST_QUEUED), "50000",
        "Most values that wait to be copied back."),
    /** Where values go. */
    ALLOCATION_STRATEGY(new OptionKind.Choice(MasterSettings.Strategy.configNames()), "random",
        "Which segment takes a new value: any, the emptiest of some, the one of some whose owner's SSD is emptiest, or "
            + "one of the writer's host."),
    /** Unfinished puts that another one takes over. */
    PUT_START_DISCARD_TIMEOUT_SEC(new OptionKind.Time("s", 1, MasterOption.DAY_MS), "30",
        "After so long another put may take the key of one that was not ended."),
    /** Unfinished puts that are freed. */
    PUT_START_RELEASE_TIMEOUT_SEC(new OptionKind.Time("s", 1, MasterOption.DAY_MS), "600",
        "After so long the memory of a put, copy or offload that was not ended is freed; more than "
            + "put_start_discard_timeout_sec."),
    /** Silent clients. */
    CLIENT_TTL(new OptionKind.Time("s", 1, MasterOption.DAY_MS), "10",
        "Take a client for dead that was silent for so long: what it lent is forgotten."),
    /** Tenants. */
    ENABLE_MULTI_TENANTS(new OptionKind.Flag(), "false",
        "Hold tenants to their quotas: one that has none can store nothing."),

    /** Finished tasks. */
    MAX_TOTAL_FINISHED_TASKS(new OptionKind.Whole(1, MasterOption.MOST_TASKS), "10000",
        "Ended copies and moves that can still be asked for."),
    /** Pending tasks. */
    MAX_TOTAL_PENDING_TASKS(new OptionKind.Whole(1, MasterOption.MOST_TASKS), "10000",
        "Most copies and moves that wait for their client."),
    /** Tasks under way. */
    MAX_TOTAL_PROCESSING_TASKS(new OptionKind.Whole(1, MasterOption.MOST_TASKS), "10000",
        "Most copies and moves under way."),
    /** Time to be fetched. */
    PENDING_TASK_TIMEOUT_SEC(new OptionKind.Time("s", 0, MasterOption.DAY_MS), "300",
        "Give a copy or move up that no client fetched for so long; 0 for never."),
    /** Time to be done. */
    PROCESSING_TASK_TIMEOUT_SEC(new OptionKind.Time("s", 0, MasterOption.DAY_MS), "300",
        "Give a copy or move up that its client did not end for so long; 0 for never."),
    /** Retries. */
    MAX_RETRY_ATTEMPTS(new OptionKind.Whole(0, MasterOption.MANY), "10",
        "How often a move of a drain is tried again."),

    /** Whether snapshots are taken. */
    ENABLE_SNAPSHOT(new OptionKind.Flag(), "false",
        "Save the master's state now and then, and when it is asked to end, where snapshot_object_store_type says."),
    /** Whether one is restored. */
    ENABLE_SNAPSHOT_RESTORE(new OptionKind.Flag(), "false",
        "Begin with the last snapshot there that is whole; values can be read when their owners have brought them "
            + "back."),
    /** What kind of place snapshots are in. */
    SNAPSHOT_OBJECT_STORE_TYPE(new OptionKind.Choice(List.of(MasterOption.LOCAL, MasterOption.S3)), MasterOption.LOCAL,
        "Where snapshots are: in a folder (local), or in a bucket of a store that speaks S3."),
    /** Where snapshots are. */
    SNAPSHOT_BACKUP_DIR(new OptionKind.Text("a path", MasterOption.LONGEST), "",
        "Folder of snapshots; each cluster_id has one of its own in it."),
    /** How often. */
    SNAPSHOT_INTERVAL_SECONDS(new OptionKind.Time("s", 1, MasterOption.DAY_MS), "600",
        "From the end of one snapshot to the beginning of the next."),
    /** How many are kept. */
    SNAPSHOT_RETENTION_COUNT(new OptionKind.Whole(1, MasterOption.MANY), "2", "Keep the last so many snapshots."),
    /** How long owners may take. */
    SNAPSHOT_REMOUNT_TIMEOUT_SEC(new OptionKind.Time("s", 1, MasterOption.DAY_MS), "300",
        "What its owner has not brought back so long after a restore is forgotten."),
    /** Where S3 is. */
    SNAPSHOT_S3_ENDPOINT(new OptionKind.Text("an address", MasterOption.LONGEST), "",
        "Address of the store (https://host, with a port if need be); without one, that of AWS in the region."),
    /** Which region. */
    SNAPSHOT_S3_REGION(new OptionKind.Word(MasterOption.LONGEST_NAME), "us-east-1",
        "Region that requests are signed for; most stores but AWS take any."),
    /** Which bucket. */
    SNAPSHOT_S3_BUCKET(new OptionKind.Text("a name", MasterOption.LONGEST), "", "Bucket of snapshots."),
    /** Where in it. */
    SNAPSHOT_S3_PREFIX(new OptionKind.Text("the beginning of a key", MasterOption.LONGEST_PREFIX), "",
        "Keys of snapshots begin with this; each cluster_id has a part of its own behind it."),
    /** Where the bucket's name stands. */
    SNAPSHOT_S3_ADDRESSING(new OptionKind.Choice(List.of(MasterOption.AUTO, "path", "virtual")), MasterOption.AUTO,
        "Name the bucket in the path, or in front of the host (virtual); auto: the latter at AWS alone."),
    /** Where credentials are. */
    SNAPSHOT_S3_CREDENTIALS_FILE(new OptionKind.Text("a path", MasterOption.LONGEST), "",
        "Credentials as the tools of AWS keep them, of section AWS_PROFILE or 'default'; without a file, "
            + "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of the environment."),
    /** How long one try may take. */
    SNAPSHOT_S3_TIMEOUT_SECONDS(new OptionKind.Time("s", 1, MasterOption.DAY_MS), "60",
        "Time for one try of a request, which moves 16 MiB at most."),
    /** How often a request is tried. */
    SNAPSHOT_S3_ATTEMPTS(new OptionKind.Whole(1, MasterOption.MANY), "5",
        "How often a request is tried that may go well another time; pauses grow from 0.2 s to 10 s.");

    /** Where a master takes calls when nobody says otherwise. */
    public static final int USUAL_RPC_PORT = 50_051;
    /** What the names of all environment variables begin with. */
    public static final String VARIABLES = "KVTIER_MASTER_";

    /** Snapshots in a folder. */
    static final String LOCAL = "local";
    /** Snapshots in a bucket. */
    static final String S3 = "s3";
    /** What is usual there. */
    static final String AUTO = "auto";

    private static final int LAST_PORT = 65_535;
    private static final int LONGEST = 4096;
    private static final int LONGEST_NAME = 128;
    /** Keys have 1,024 bytes at most, and a cluster_id and names of snapshots stand behind it. */
    private static final int LONGEST_PREFIX = 512;
    private static final long DAY_MS = 86_400_000;
    private static final long YEAR_MS = 365 * DAY_MS;
    private static final long MANY = 1000;
    private static final long MOST_CONNECTIONS = 65_536;
    private static final long MOST_TASKS = 1_000_000;
    private static final long MOST_HITS = 255;
    private static final long MOST_QUEUED = 100_000_000;
    /** What the names of variables begin with that a client has too. */
    private static final String SHARED_VARIABLES = "MOONCAKE_";

    private final OptionKind kind;
    private final String byDefault;
    private final String description;

    MasterOption(final OptionKind kind, final String byDefault, final String description) {
        this.kind = kind;
        this.byDefault = byDefault;
        this.description = description;
    }

    /**
     * The option of a name.
     *
     * @param key as it stands in a file.
     * @return the option, if there is one.
     */
    public static Optional<MasterOption> of(final String key) {
        return Stream.of(values()).filter(option -> option.key().equals(key)).findFirst();
    }

    /**
     * Its name in a file; on the command line two hyphens stand before it, and hyphens may stand for its underscores.
     *
     * @return for example {@code rpc_port}.
     */
    public String key() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * Its environment variable.
     *
     * @return for example {@code KVTIER_MASTER_RPC_PORT}.
     */
    public String variable() {
        return VARIABLES + name();
    }

    /**
     * Another environment variable that it has, which clients read too: for the layout of the shared files, which both
     * must agree on. The option's own variable counts before it.
     *
     * @return for example {@code MOONCAKE_DISTRIBUTED_PAGE_SIZE}; empty for most.
     */
    public Optional<String> sharedVariable() {
        return switch (this) {
            case DISTRIBUTED_PAGE_MODE, DISTRIBUTED_ROOT_DIR, DISTRIBUTED_BUCKET_COUNT, DISTRIBUTED_PAGE_SIZE,
                DISTRIBUTED_BUCKET_SIZE -> Optional.of(SHARED_VARIABLES + name());
            default -> Optional.empty();
        };
    }

    /**
     * Its value when nobody gives one.
     *
     * @return as it would be written; empty for none.
     */
    public String byDefault() {
        return byDefault;
    }

    /**
     * Which values there may be.
     *
     * @return words that go behind "it must be".
     */
    public String allowed() {
        return kind.allowed();
    }

    /**
     * What it does, for people.
     *
     * @return sentences.
     */
    public String description() {
        return description;
    }

    /**
     * Whether it is true or false, so that on the command line its name alone says true.
     *
     * @return true when it is.
     */
    public boolean isFlag() {
        return kind instanceof OptionKind.Flag;
    }

    /**
     * Reads a value.
     *
     * @param text   as it was written.
     * @param source where, for the error.
     * @return the value: Boolean, Long (times in milliseconds), Double or String.
     */
    Object parse(final String text, final String source) {
        final Object value = kind.parse(text);
        if (value == null || !kind.allows(value)) {
            throw new IllegalArgumentException(source + " is '" + text + "'; it must be " + kind.allowed());
        }
        return value;
    }

    /** Checks a value that did not come through {@link #parse}. */
    void check(final Object value) {
        if (!kind.allows(value)) {
            throw new IllegalArgumentException(key() + " is " + value + "; it must be " + kind.allowed());
        }
    }
}
