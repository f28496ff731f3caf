package io.kvtier.store;

import io.kvtier.store.config.HostName;
import io.kvtier.transport.HostPort;
import io.kvtier.transport.SharedSecret;
import java.nio.file.Path;
import java.util.Objects;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;

/**
 * How to join a store that many processes share. Immutable; made with {@link #builder}, changed with
 * {@link #toBuilder()}. A setting that is wrong is refused by its name, its value and what is allowed.
 */
public final class ConnectConfig {
    /** Where a client listens that is told nothing: on this host only. */
    public static final String DEFAULT_BIND_HOST = "127.0.0.1";
    /** Memory through which others read a disk, in bytes, where nothing is said. */
    public static final long DEFAULT_STAGING_BYTES = 64L << 20;
    /** Milliseconds for a call where nothing is said. */
    public static final long DEFAULT_RPC_TIMEOUT_MS = 5_000;
    /** Milliseconds for the bytes of a value where nothing is said. */
    public static final long DEFAULT_TRANSFER_TIMEOUT_MS = 20_000;

    private static final int MAX_PORT = 65_535;
    private static final int MAX_NAME = 64;
    private static final int MAX_HOST = 255;
    /** 0.0.0.0, :: and other spellings of them. */
    private static final Pattern EVERY_ADDRESS = Pattern.compile("[0.:\\[\\]]+");

    private final HostPort master;
    private final Security security;
    private final Identity identity;
    private final Listening listening;
    private final Lending lending;
    private final DiskConfig disk;
    /** Null when nothing was said. */
    private final GdsConfig gds;
    /** Null when nothing was said. */
    private final SharedDiskConfig sharedDisk;
    private final NofConfig nof;
    private final Timeouts timeouts;
    private final boolean verify;

    /**
     * How calls and memory are protected.
     *
     * @param secret what all processes of the store know; null for none.
     * @param tls    certificates for calls, to the master and between clients; null for no TLS. Bytes of values that
     *               one process moves from or to another are never encrypted.
     * @param open   the explicit word that an address beyond this host needs no secret.
     */
    public record Security(SharedSecret secret, SSLContext tls, boolean open) {
    }

    /**
     * Who this client is.
     *
     * @param name   what it calls itself, for people; 1 to 64 characters.
     * @param hostId what the host is called, by which segments of one host are told from others; 1 to 64 characters.
     * @param tenant whose keys are that name no tenant: keys of {@link ObjectKey#DEFAULT_TENANT} are taken for this
     *               one's.
     */
    public record Identity(String name, String hostId, String tenant) {
        /** Validates. */
        public Identity {
            Setting.text("name", name, MAX_NAME);
            Setting.text("hostId", hostId, MAX_NAME);
            // Refuses what cannot be a tenant.
            tenant = ObjectKey.of(tenant, "key").tenant();
        }
    }

    /**
     * Where this client's own servers are.
     *
     * @param host       address at which they listen.
     * @param advertised name or address under which others reach it; null for {@code host}, unless that stands for all
     *                   addresses, like 0.0.0.0.
     */
    public record Listening(String host, String advertised) {
        /** Validates. */
        public Listening {
            Setting.text("bindHost", host, MAX_HOST);
            if (advertised != null) {
                Setting.text("advertisedHost", advertised, MAX_HOST);
            } else if (EVERY_ADDRESS.matcher(host).matches()) {
                throw Setting.invalid("bindHost is " + host + " and advertisedHost is not set; others "
                    + "cannot reach a host by an address that stands for all, so say by which name or address they "
                    + "reach this one (--advertise)");
            }
        }
    }

    /**
     * What this client lends of its memory.
     *
     * @param memoryBytes  lent to the store, at least {@link StoreConfig#UNIT_BYTES}; 0 for none.
     * @param shm          whether memory lent is shared with processes of this host, in {@code /dev/shm}, and theirs
     *                     is used.
     * @param segmentName  what the memory lent is called, for preferences and drains.
     * @param stagingBytes memory through which other clients read this one's disk; values larger than it can be read
     *                     here only.
     */
    public record Lending(long memoryBytes, boolean shm, String segmentName, long stagingBytes) {
        /** Validates. */
        public Lending {
            if (memoryBytes != 0) {
                Setting.room("memoryBytes", memoryBytes, "0 for none, or " + Setting.ROOM);
            }
            Setting.text("segmentName", segmentName, PutOptions.MAX_NAME);
            Setting.room("stagingBytes", stagingBytes, Setting.ROOM);
        }
    }

    /**
     * How long things may take, in milliseconds.
     *
     * @param rpcMs      a call.
     * @param transferMs from the start of a put until its bytes are written, and reading one value. The master gives
     *                   memory of a put that was not ended to others after its own, longer, time.
     * @param putMs      a put's wait for room.
     * @param closeMs    closing's wait for running calls.
     */
    public record Timeouts(long rpcMs, long transferMs, long putMs, long closeMs) {
        /** Validates. */
        public Timeouts {
            Setting.time("rpcTimeoutMs", rpcMs);
            Setting.time("transferTimeoutMs", transferMs);
            Setting.wait("putTimeoutMs", putMs);
            Setting.wait("closeTimeoutMs", closeMs);
        }
    }

    private ConnectConfig(final Builder builder) {
        Setting.text("masterHost", builder.masterHost, MAX_HOST);
        Setting.between("masterPort", builder.masterPort, 1, MAX_PORT, "1 to 65,535");
        master = new HostPort(builder.masterHost, builder.masterPort);
        security = new Security(builder.secret, builder.tls, builder.open);
        identity = new Identity(builder.name, builder.hostId, builder.tenant);
        listening = new Listening(builder.bindHost, builder.advertisedHost);
        lending = new Lending(builder.memoryBytes, builder.shm,
            builder.segmentName == null ? builder.name : builder.segmentName, builder.stagingBytes);
        disk = builder.disk;
        gds = builder.gds;
        sharedDisk = builder.sharedDisk;
        nof = builder.nof;
        timeouts = new Timeouts(builder.rpcTimeoutMs, builder.transferTimeoutMs, builder.putTimeoutMs,
            builder.closeTimeoutMs);
        verify = builder.verify;
    }

    /**
     * Settings to start from: lends nothing, no secret.
     *
     * @param host of the master.
     * @param port of the master.
     * @return a builder.
     */
    public static Builder builder(final String host, final int port) {
        return new Builder(host, port);
    }

    /** {@return where the master takes calls} */
    public HostPort master() {
        return master;
    }

    /** {@return how calls and memory are protected} */
    public Security security() {
        return security;
    }

    /** {@return who this client is} */
    public Identity identity() {
        return identity;
    }

    /** {@return where this client's own servers are} */
    public Listening listening() {
        return listening;
    }

    /** {@return what this client lends of its memory} */
    public Lending lending() {
        return lending;
    }

    /**
     * This client's disk, which values are copied to when memory is full.
     *
     * @return its settings; {@link DiskConfig#bytes()} is 0 when there is none.
     */
    public DiskConfig disk() {
        return disk;
    }

    /**
     * GDS offload: a file that values are written to by GPUDirect Storage.
     *
     * @return its settings; {@link GdsConfig#bytes()} is 0 when there is none, or when nothing was said of it.
     */
    public GdsConfig gds() {
        return gds == null ? GdsConfig.NONE : gds;
    }

    /**
     * Whether nothing was said of GDS offload, so that the environment of the process decides, see
     * {@code store/OPERATIONS.md}.
     *
     * @return true when {@link #gds()} was not set.
     */
    public boolean isGdsLeftToEnvironment() {
        return gds == null;
    }

    /**
     * The shared disk: files that all hosts mount.
     *
     * @return its settings; {@link SharedDiskConfig#isThere()} is false when there is none, or when nothing was said of
     *         it.
     */
    public SharedDiskConfig sharedDisk() {
        return sharedDisk == null ? SharedDiskConfig.NONE : sharedDisk;
    }

    /**
     * Whether nothing was said of a shared disk, so that the environment of the process decides, see
     * {@code store/OPERATIONS.md}.
     *
     * @return true when {@link #sharedDisk()} was not set.
     */
    public boolean isSharedDiskLeftToEnvironment() {
        return sharedDisk == null;
    }

    /** {@return the block devices that are lent} */
    public NofConfig nof() {
        return nof;
    }

    /** {@return how long things may take} */
    public Timeouts timeouts() {
        return timeouts;
    }

    /** {@return whether values that have a checksum are compared with it when they are read} */
    public boolean verify() {
        return verify;
    }

    /**
     * These settings to start from.
     *
     * @return a builder with this configuration's values.
     */
    public Builder toBuilder() {
        return new Builder(this);
    }

    /**
     * Settings to start from: lends nothing, no secret.
     *
     * @param master where it takes calls.
     * @return a builder.
     */
    public static Builder builder(final HostPort master) {
        return new Builder(master.host(), master.port());
    }

    /**
     * Collects settings. <b>Threading:</b> one thread. <b>Errors:</b> settings of the disk, of GDS offload and of
     * block devices are refused where they are given, the others by {@link #build()}.
     */
    public static final class Builder {
        private final String masterHost;
        private final int masterPort;
        private SharedSecret secret;
        private SSLContext tls;
        private boolean open;
        private String name = defaultName();
        private String hostId = HostName.local();
        private String tenant = ObjectKey.DEFAULT_TENANT;
        private String bindHost = DEFAULT_BIND_HOST;
        private String advertisedHost;
        private long memoryBytes;
        private boolean shm = true;
        private String segmentName;
        private long stagingBytes = DEFAULT_STAGING_BYTES;
        private DiskConfig disk = DiskConfig.NONE;
        /** Null when nothing was said. */
        private GdsConfig gds;
        /** Null when nothing was said. */
        private SharedDiskConfig sharedDisk;
        private NofConfig nof = NofConfig.NONE;
        private long rpcTimeoutMs = DEFAULT_RPC_TIMEOUT_MS;
        private long transferTimeoutMs = DEFAULT_TRANSFER_TIMEOUT_MS;
        private long putTimeoutMs = 10_000;
        private long closeTimeoutMs = 30_000;
        private boolean verify = true;

        private Builder(final String host, final int port) {
            masterHost = host;
            masterPort = port;
        }

        private Builder(final ConnectConfig from) {
            this(from.master.host(), from.master.port());
            secret = from.security.secret();
            tls = from.security.tls();
            open = from.security.open();
            name = from.identity.name();
            hostId = from.identity.hostId();
            tenant = from.identity.tenant();
            bindHost = from.listening.host();
            advertisedHost = from.listening.advertised();
            memoryBytes = from.lending.memoryBytes();
            shm = from.lending.shm();
            segmentName = from.lending.segmentName();
            stagingBytes = from.lending.stagingBytes();
            disk = from.disk;
            gds = from.gds;
            sharedDisk = from.sharedDisk;
            nof = from.nof;
            rpcTimeoutMs = from.timeouts.rpcMs();
            transferTimeoutMs = from.timeouts.transferMs();
            putTimeoutMs = from.timeouts.putMs();
            closeTimeoutMs = from.timeouts.closeMs();
            verify = from.verify;
        }

        /**
         * Sets the secret that all processes of the store know.
         *
         * @param shared null for none, the default.
         * @return this.
         */
        public Builder secret(final SharedSecret shared) {
            secret = shared;
            return this;
        }

        /**
         * Sets the certificates for calls.
         *
         * @param context null for no TLS, the default.
         * @return this.
         */
        public Builder tls(final SSLContext context) {
            tls = context;
            return this;
        }

        /**
         * Sets what this client calls itself.
         *
         * @param text 1 to 64 characters; default {@code pid@host}.
         * @return this.
         */
        public Builder name(final String text) {
            name = text;
            return this;
        }

        /**
         * Sets what the host is called.
         *
         * @param text 1 to 64 characters; default its name.
         * @return this.
         */
        public Builder hostId(final String text) {
            hostId = text;
            return this;
        }

        /**
         * Sets where this client's own servers listen.
         *
         * @param host an address of this host; default 127.0.0.1.
         * @param advertised name or address under which others reach it; null for the same, which 0.0.0.0 and
         *                   {@code ::} cannot be.
         * @return this.
         */
        public Builder listen(final String host, final String advertised) {
            bindHost = host;
            advertisedHost = advertised;
            return this;
        }

        /**
         * Says that no secret is wanted, wherever the servers listen.
         *
         * @param word default false.
         * @return this.
         */
        public Builder open(final boolean word) {
            open = word;
            return this;
        }

        /**
         * Sets how much memory is lent.
         *
         * @param bytes 0 for none, the default.
         * @return this.
         */
        public Builder memoryBytes(final long bytes) {
            memoryBytes = bytes;
            return this;
        }

        /**
         * Sets whether processes of this host share memory.
         *
         * @param share default true.
         * @return this.
         */
        public Builder shm(final boolean share) {
            shm = share;
            return this;
        }

        /**
         * Sets what the memory lent is called.
         *
         * @param text default the client's name.
         * @return this.
         */
        public Builder segmentName(final String text) {
            segmentName = text;
            return this;
        }

        /**
         * Adds a disk, which values are copied to when memory is full.
         *
         * @param where directory for its files; made when absent. One store at a time may use it.
         * @param bytes at least 4,096; reserved on the disk when the store is opened.
         * @return this.
         */
        public Builder disk(final Path where, final long bytes) {
            disk = disk.withRoom(where, bytes);
            return this;
        }

        /**
         * Sets how values lie in files of the disk.
         *
         * @param kind a backend; null for what {@link DiskBackend#VARIABLE} says, which is the default.
         * @return this.
         */
        public Builder diskBackend(final DiskBackend kind) {
            disk = disk.withBackend(kind);
            return this;
        }

        /**
         * Sets which values go first when the disk has no room for more.
         *
         * @param order default {@link DiskEviction#LRU}.
         * @return this.
         */
        public Builder diskEviction(final DiskEviction order) {
            disk = disk.withEviction(order);
            return this;
        }

        /**
         * Sets when and how far the disk evicts.
         *
         * @param high share above which it evicts; default 0.90.
         * @param low share down to which it evicts; default 0.80.
         * @return this.
         */
        public Builder diskWatermarks(final double high, final double low) {
            disk = disk.withWatermarks(high, low);
            return this;
        }

        /**
         * Sets whether a value read from this client's own disk is copied back to memory.
         *
         * @param promote default true.
         * @return this.
         */
        public Builder promoteOnHit(final boolean promote) {
            disk = disk.withPromoteOnHit(promote);
            return this;
        }

        /**
         * Sets whether the disk goes past the page cache.
         *
         * @param direct default true.
         * @return this.
         */
        public Builder directIo(final boolean direct) {
            disk = disk.withDirectIo(direct);
            return this;
        }

        /**
         * Sets the number of threads for blocking disk calls.
         *
         * @param threads 1 to 256; default 4.
         * @return this.
         */
        public Builder ioThreads(final int threads) {
            disk = disk.withIoThreads(threads);
            return this;
        }

        /**
         * Sets GDS offload, whatever the environment says of it. Without this call the environment decides.
         *
         * @param settings {@link GdsConfig#NONE} for none, else that with changes.
         * @return this.
         */
        public Builder gds(final GdsConfig settings) {
            gds = Objects.requireNonNull(settings, "settings");
            return this;
        }

        /**
         * Sets the shared disk, whatever the environment says of it. Without this call the environment decides.
         *
         * @param settings {@link SharedDiskConfig#NONE} for none, else that with changes.
         * @return this.
         */
        public Builder sharedDisk(final SharedDiskConfig settings) {
            sharedDisk = Objects.requireNonNull(settings, "settings");
            return this;
        }

        /**
         * Sets the memory through which other clients read this one's disk.
         *
         * @param bytes default 64 MiB.
         * @return this.
         */
        public Builder stagingBytes(final long bytes) {
            stagingBytes = bytes;
            return this;
        }

        /**
         * Sets whether checksums are compared.
         *
         * @param compare default true.
         * @return this.
         */
        public Builder verify(final boolean compare) {
            verify = compare;
            return this;
        }

        /**
         * Sets how long calls and transfers may take.
         *
         * @param rpcMs milliseconds for a call; default 5,000.
         * @param transferMs milliseconds for the bytes of a value; default 20,000.
         * @return this.
         */
        public Builder timeouts(final long rpcMs, final long transferMs) {
            rpcTimeoutMs = rpcMs;
            transferTimeoutMs = transferMs;
            return this;
        }

        /**
         * Sets how long a put waits for room.
         *
         * @param ms milliseconds; default 10,000.
         * @return this.
         */
        public Builder putTimeoutMs(final long ms) {
            putTimeoutMs = ms;
            return this;
        }

        /**
         * Sets how long closing waits for running calls.
         *
         * @param ms milliseconds; default 30,000.
         * @return this.
         */
        public Builder closeTimeoutMs(final long ms) {
            closeTimeoutMs = ms;
            return this;
        }

        /**
         * Sets whose keys are that name no tenant.
         *
         * @param text default {@link ObjectKey#DEFAULT_TENANT}.
         * @return this.
         */
        public Builder tenant(final String text) {
            tenant = text;
            return this;
        }

        /**
         * Adds a block device, or a file in place of one, which values are written to that ask for it
         * ({@link PutOptions#withNofReplicas}). Nothing on it is kept that is not the store's: see
         * {@code store/OPERATIONS.md} for what is refused.
         *
         * @param path  where it is, on this host and on all others that shall use it.
         * @param bytes how much of it is used; 0 for all of it. A file that is absent is made.
         * @return this.
         */
        public Builder nofDevice(final Path path, final long bytes) {
            nof = nof.with(new NofConfig.Device(path, bytes));
            return this;
        }

        /**
         * Sets how often the block devices that are lent are looked at.
         *
         * @param everyMs   milliseconds; default 10,000.
         * @param timeoutMs milliseconds after which a look counts as failed; default 1,000.
         * @return this.
         */
        public Builder nofProbe(final long everyMs, final long timeoutMs) {
            nof = new NofConfig(nof.devices(), everyMs, timeoutMs);
            return this;
        }

        /**
         * Validates.
         *
         * @return the settings.
         * @throws StoreException INVALID_PARAMS, naming the setting, the value and what is allowed.
         */
        public ConnectConfig build() {
            return new ConnectConfig(this);
        }

        private static String defaultName() {
            final String host = HostName.local();
            final String all = ProcessHandle.current().pid() + "@" + host;
            return all.substring(0, Math.min(all.length(), MAX_NAME));
        }
    }
}
