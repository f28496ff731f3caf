package io.kvtier.store;

import io.kvtier.transport.SharedSecret;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.Objects;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;

/**
 * How to join a store that many processes share. Immutable; made with {@link #builder}.
 *
 * @param masterHost        name or address of the master's host.
 * @param masterPort        port of the master, 1 to 65,535.
 * @param secret            what all processes of the store know; null for none.
 * @param tls               certificates for calls, to the master and between clients; null for no TLS. Bytes of values
 *                          that one process moves from or to another are never encrypted.
 * @param name              what this client calls itself, for people; at most 64 characters.
 * @param hostId            what the host is called, by which segments of one host are told from others.
 * @param bindHost          address at which this client's own servers listen.
 * @param advertisedHost    name or address under which others reach it; null for {@code bindHost}, unless that stands
 *                          for all addresses, like 0.0.0.0.
 * @param open              the explicit word that an address beyond this host needs no secret.
 * @param memoryBytes       memory lent to the store, at least {@link StoreConfig#UNIT_BYTES}; 0 for none.
 * @param shm               whether memory lent is shared with processes of this host, in {@code /dev/shm}, and theirs
 *                          is used.
 * @param segmentName       what the memory lent is called, for preferences and drains; null for {@code name}.
 * @param directory         where this client's disk keeps its files; null when {@code diskBytes} is 0.
 * @param diskBytes         capacity of the disk in bytes, 0 for none.
 * @param diskHighWatermark share of the disk above which values are evicted.
 * @param diskLowWatermark  share down to which they are.
 * @param promoteOnHit      whether a value that this client reads from its own disk is copied back to memory.
 * @param directIo          whether the disk goes past the page cache where the file system can.
 * @param ioThreads         platform threads that do blocking disk calls, 1 to 256.
 * @param stagingBytes      memory through which other clients read this one's disk; values larger than it can be read
 *                          here only.
 * @param verify            whether values that have a checksum are compared with it when they are read.
 * @param rpcTimeoutMs      milliseconds for a call.
 * @param transferTimeoutMs milliseconds from the start of a put until its bytes are written, and for reading one
 *                          value. The master gives memory of a put that was not ended to others after its own, longer,
 *                          time.
 * @param putTimeoutMs      milliseconds that a put waits for room at most.
 * @param closeTimeoutMs    milliseconds that closing waits for running calls.
 * @param tenant            whose keys are that name no tenant: keys of {@link ObjectKey#DEFAULT_TENANT} are taken for
 *                          this one's.
 * @param nof               block devices that are lent.
 */
public record ConnectConfig(String masterHost, int masterPort, SharedSecret secret, SSLContext tls, String name,
                            String hostId, String bindHost, String advertisedHost, boolean open, long memoryBytes,
                            boolean shm, String segmentName, Path directory, long diskBytes, double diskHighWatermark,
                            double diskLowWatermark, boolean promoteOnHit, boolean directIo, int ioThreads,
                            long stagingBytes, boolean verify, long rpcTimeoutMs, long transferTimeoutMs,
                            long putTimeoutMs, long closeTimeoutMs, String tenant, NofConfig nof) {
    private static final int MAX_PORT = 65_535;
    private static final int MAX_NAME = 64;
    private static final int MAX_IO_THREADS = 256;
    /** 0.0.0.0, :: and other spellings of them. */
    private static final Pattern EVERY_ADDRESS = Pattern.compile("[0.:\\[\\]]+");
    private static final String DAYS = "1 ms to 24 days";

    /**
     * Validates.
     */
    @SuppressWarnings("checkstyle:ParameterNumber")
    public ConnectConfig {
        Objects.requireNonNull(masterHost, "masterHost");
        between("masterPort", masterPort, 1, MAX_PORT, "1 to 65,535");
        name = text("name", name);
        hostId = text("hostId", hostId);
        segmentName = segmentName == null ? name : segmentName;
        if (segmentName.isEmpty() || segmentName.length() > PutOptions.MAX_NAME) {
            throw invalid("segmentName has " + segmentName.length() + " characters; allowed is 1 to "
                + PutOptions.MAX_NAME);
        }
        Objects.requireNonNull(bindHost, "bindHost");
        if (advertisedHost == null && EVERY_ADDRESS.matcher(bindHost).matches()) {
            throw invalid("bindHost is " + bindHost + " and advertisedHost is not set; others cannot reach a host by"
                + " an address that stands for all, so say by which name or address they reach this one (--advertise)");
        }
        Objects.requireNonNull(nof, "nof");
        if (memoryBytes != 0) {
            between("memoryBytes", memoryBytes, StoreConfig.UNIT_BYTES, StoreConfig.MAX_TIER_BYTES,
                "0 for none, or one page to 16 TiB");
        }
        checkDisk(directory, diskBytes, diskHighWatermark, diskLowWatermark);
        between("ioThreads", ioThreads, 1, MAX_IO_THREADS, "1 to 256");
        between("stagingBytes", stagingBytes, StoreConfig.UNIT_BYTES, StoreConfig.MAX_TIER_BYTES,
            "one page to 16 TiB");
        between("rpcTimeoutMs", rpcTimeoutMs, 1, Integer.MAX_VALUE, DAYS);
        between("transferTimeoutMs", transferTimeoutMs, 1, Integer.MAX_VALUE, DAYS);
        between("putTimeoutMs", putTimeoutMs, 0, Integer.MAX_VALUE, "0 for no waiting, up to 24 days");
        between("closeTimeoutMs", closeTimeoutMs, 0, Integer.MAX_VALUE, "0 for no waiting, up to 24 days");
        // Refuses what cannot be a tenant.
        tenant = ObjectKey.of(tenant, "key").tenant();
    }

    private static void checkDisk(final Path directory, final long bytes, final double high, final double low) {
        if (bytes != 0) {
            between("diskBytes", bytes, StoreConfig.UNIT_BYTES, StoreConfig.MAX_TIER_BYTES,
                "0 for no disk, or one page to 16 TiB");
            if (directory == null) {
                throw invalid("diskBytes is " + bytes + " but directory is not set; set it, or diskBytes to 0");
            }
        }
        if (!(high > 0 && high <= 1 && low > 0 && low <= high)) {
            throw invalid("diskHighWatermark is " + high + " and diskLowWatermark " + low + "; both must be more than 0"
                + " and at most 1, the second not above the first");
        }
    }

    private static String text(final String name, final String value) {
        if (value == null || value.isEmpty() || value.length() > MAX_NAME) {
            throw invalid(name + " is '" + value + "'; it must have 1 to " + MAX_NAME + " characters");
        }
        return value;
    }

    private static void between(final String name, final long value, final long low, final long high,
        final String allowed) {
        if (value < low || value > high) {
            throw invalid(name + " is " + value + "; allowed is " + allowed);
        }
    }

    private static StoreException invalid(final String message) {
        return new StoreException(ErrorCode.INVALID_PARAMS, "setting " + message);
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

    /** Collects settings. <b>Threading:</b> one thread. */
    public static final class Builder {
        private final String masterHost;
        private final int masterPort;
        private SharedSecret secret;
        private SSLContext tls;
        private String name = defaultName();
        private String hostId = defaultHost();
        private String bindHost = "127.0.0.1";
        private String advertisedHost;
        private boolean open;
        private long memoryBytes;
        private boolean shm = true;
        private String segmentName;
        private Path directory;
        private long diskBytes;
        private double diskHighWatermark = 0.90;
        private double diskLowWatermark = 0.80;
        private boolean promoteOnHit = true;
        private boolean directIo = true;
        private int ioThreads = 4;
        private long stagingBytes = 64L << 20;
        private boolean verify = true;
        private long rpcTimeoutMs = 5_000L;
        private long transferTimeoutMs = 20_000L;
        private long putTimeoutMs = 10_000L;
        private long closeTimeoutMs = 30_000L;
        private String tenant = ObjectKey.DEFAULT_TENANT;
        private NofConfig nof = NofConfig.NONE;

        Builder(final String host, final int port) {
            masterHost = host;
            masterPort = port;
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
            directory = where;
            diskBytes = bytes;
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
            diskHighWatermark = high;
            diskLowWatermark = low;
            return this;
        }

        /**
         * Sets whether a value read from this client's own disk is copied back to memory.
         *
         * @param promote default true.
         * @return this.
         */
        public Builder promoteOnHit(final boolean promote) {
            promoteOnHit = promote;
            return this;
        }

        /**
         * Sets whether the disk goes past the page cache.
         *
         * @param direct default true.
         * @return this.
         */
        public Builder directIo(final boolean direct) {
            directIo = direct;
            return this;
        }

        /**
         * Sets the number of threads for blocking disk calls.
         *
         * @param threads 1 to 256; default 4.
         * @return this.
         */
        public Builder ioThreads(final int threads) {
            ioThreads = threads;
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
            return new ConnectConfig(masterHost, masterPort, secret, tls, name, hostId, bindHost, advertisedHost,
                open, memoryBytes, shm, segmentName, directory, diskBytes, diskHighWatermark, diskLowWatermark,
                promoteOnHit, directIo, ioThreads, stagingBytes, verify, rpcTimeoutMs, transferTimeoutMs,
                putTimeoutMs, closeTimeoutMs, tenant, nof);
        }

        private static String defaultName() {
            final String host = defaultHost();
            final String all = ProcessHandle.current().pid() + "@" + host;
            return all.substring(0, Math.min(all.length(), MAX_NAME));
        }

        private static String defaultHost() {
            try {
                final String host = InetAddress.getLocalHost().getHostName();
                return host.substring(0, Math.min(host.length(), MAX_NAME));
            } catch (final UnknownHostException e) {
                return "localhost";
            }
        }
    }
}
