package io.kvtier.store.client.engine;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.DiskConfig;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.SharedDiskConfig;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.SharedDiskVariables;
import io.kvtier.store.config.TentConfig;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Closings;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Selection;
import io.kvtier.transport.SelectionRule;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.file.UringConfig;
import io.kvtier.transport.file.UringTransport;
import io.kvtier.transport.memory.MemoryTransport;
import io.kvtier.transport.shm.ShmTransport;
import io.kvtier.transport.tcp.TcpConfig;
import io.kvtier.transport.tcp.TcpRetry;
import io.kvtier.transport.tcp.TcpTimeouts;
import io.kvtier.transport.tcp.TcpTransport;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.agrona.CloseHelper;

/**
 * The transfer engines of one store, as {@code MC_TENT_CONF} wants them; it is read once, when the store is opened.
 * What it does not name is as the store has it without it, but for io_uring, which is on wherever it is set.
 *
 * <p>Without it files are read and written by the C library alone, whose reads a calling thread does by itself. The
 * engine of a backing file has rules of its own, see {@link GdsEnablement}.
 *
 * <p><b>Threading:</b> immutable. <b>Errors:</b> what is wrong in the variable, or cannot be had on this machine, is a
 * {@link StoreException} with INVALID_PARAMS that names the key.
 */
public final class Engines {
    private static final System.Logger LOG = System.getLogger(Engines.class.getName());
    /** A reader has other replicas to turn to, and does not wait long for one that cannot be reached. */
    private static final TcpRetry ONCE_MORE = new TcpRetry(1, 50, 500);
    private static final long IDLE_MS = 60_000;

    private final StoreHooks hooks;
    private final TentConfig tent;
    /** Whether memory is shared with other processes of this host. */
    private final boolean shares;
    private final GdsConfig offload;
    private final SharedDiskConfig sharedDisk;
    private final long closeTimeoutMs;

    private Engines(final StoreHooks hooks, final TentConfig tent, final boolean shares, final GdsConfig offload,
        final SharedDiskConfig sharedDisk, final long closeTimeoutMs) {
        this.hooks = hooks;
        this.tent = tent;
        this.shares = shares;
        this.offload = offload;
        this.sharedDisk = sharedDisk;
        this.closeTimeoutMs = closeTimeoutMs;
    }

    /** Where settings are looked for that the store was not given. */
    public Environment environment() {
        return hooks.environment();
    }

    /** For a store that shares nothing. */
    public static Engines embedded(final StoreHooks hooks, final StoreConfig config) {
        return new Engines(hooks, read(hooks, TentConfig.DEFAULT), false,
            GdsEnablement.wanted(config, hooks.environment()), SharedDiskConfig.NONE, config.closeTimeoutMs());
    }

    /** For a store that other processes have a part in. Either side may say no to shared memory. */
    public static Engines connected(final StoreHooks hooks, final ConnectConfig config) {
        final TcpConfig tcp = TcpConfig.DEFAULT.withSecret(config.security().secret()).withRetry(ONCE_MORE)
            .withTimeouts(new TcpTimeouts(config.timeouts().rpcMs(), config.timeouts().transferMs(), IDLE_MS));
        final TentConfig unsaid =
            TentConfig.DEFAULT.withTcp(tcp).withShm(new TentConfig.Shm(config.lending().shm(), ""));
        final TentConfig tent = read(hooks, unsaid);
        final boolean shares = config.lending().shm() && tent.shm().enable();
        if (tent.shm().enable() && !shares) {
            warn("'transports/shm/enable' is true and has no effect: this store is opened without shared memory "
                + "(--no-shm, or ConnectConfig.Builder.shm)");
        }
        if (!shares && !tent.tcp().enable()) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, TentConfig.VARIABLE + ": 'transports/tcp/enable' is "
                + "false, and this store uses no shared memory: nothing would lead to memory of other processes; set "
                + "one of 'transports/tcp/enable' and 'transports/shm/enable' to true");
        }
        return new Engines(hooks, tent, shares, GdsEnablement.wanted(config, hooks.environment()),
            wantedSharedDisk(hooks, config), config.timeouts().closeMs());
    }

    private static TentConfig read(final StoreHooks hooks, final TentConfig unsaid) {
        final Optional<TentConfig> set;
        try {
            set = TentConfig.from(hooks.environment(), unsaid);
        } catch (final IllegalArgumentException e) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, e.getMessage(), e);
        }
        set.ifPresent(tent -> tent.warnings().forEach(warning -> LOG.log(System.Logger.Level.WARNING, warning)));
        return set.orElse(unsaid.withUring(false));
    }

    private static SharedDiskConfig wantedSharedDisk(final StoreHooks hooks, final ConnectConfig config) {
        try {
            return config.isSharedDiskLeftToEnvironment() ? SharedDiskVariables.from(hooks.environment())
                .map(SharedDiskConfig::of).orElse(SharedDiskConfig.NONE) : config.sharedDisk();
        } catch (final IllegalArgumentException e) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, e.getMessage(), e);
        }
    }

    private static void warn(final String problem) {
        LOG.log(System.Logger.Level.WARNING, TentConfig.VARIABLE + ": " + problem);
    }

    /** Opens files. */
    public FileOpener opener() {
        return hooks.files();
    }

    /** Where memory is made that other processes map; null when none is. */
    public SharedMemory shared() {
        if (!shares) {
            return null;
        }
        return tent.shm().mountPath().isEmpty() ? SharedMemory.SYSTEM
            : new SharedMemory(Path.of(tent.shm().mountPath()));
    }

    /** Whether memory is read and written over TCP, here and by others. */
    public boolean overTcp() {
        return tent.tcp().enable();
    }

    /**
     * For files and block devices.
     *
     * @param directIo  whether to go past the page cache where the file system can.
     * @param ioThreads threads for blocking calls.
     */
    public TransferEngine files(final boolean directIo, final int ioThreads) {
        final List<Transport> transports = new ArrayList<>();
        // Rings have threads.
        try (Closings opened = new Closings()) {
            transports.add(opened.keep(new MemoryTransport(), Transport::close));
            if (tent.gds().enabled()) {
                transports.add(opened.keep(hooks.gds().apply(tent.gds()), Transport::close));
                sayWhatGdsIsFor(transports.getLast().capability());
            }
            if (tent.uring()) {
                transports.add(opened.keep(new UringTransport(hooks.files(), UringConfig.DEFAULT, directIo),
                    Transport::close));
            }
            transports.add(opened.keep(new PosixTransport(hooks.files(), ioThreads, directIo), Transport::close));
            final TransferEngine engine = open(transports);
            requireAWay(engine);
            opened.stayOpen();
            return engine;
        }
    }

    /**
     * For files that all hosts mount: past the page cache, by io_uring where several are read at once, unless
     * {@code MC_TENT_CONF} switches that off. Its policies are for other files.
     *
     * @param opener opens them.
     */
    public TransferEngine sharedFiles(final FileOpener opener) {
        final List<Transport> transports = new ArrayList<>();
        try (Closings opened = new Closings()) {
            if (tent.uring() || hooks.environment().get(TentConfig.VARIABLE).isEmpty()) {
                transports.add(opened.keep(new UringTransport(opener, UringConfig.DEFAULT, true),
                    Transport::close));
            }
            transports.add(opened.keep(new PosixTransport(opener, DiskConfig.NONE.files().ioThreads(), true),
                Transport::close));
            final TransferEngine engine =
                TransferEngine.open(limits().withSelection(Selection.DEFAULT), transports);
            opened.stayOpen();
            return engine;
        }
    }

    /** The shared disk as the configuration, or else the environment, wants it. */
    public SharedDiskConfig sharedDisk() {
        return sharedDisk;
    }

    /** GDS offload as the configuration, or else the environment, wants it; its bytes are 0 for none. */
    public GdsConfig offload() {
        return offload;
    }

    /**
     * For the backing file of GDS offload. {@link GdsEngines#straight} says which memory goes to it as it is;
     * {@link #gdsFile} opens the file.
     *
     * @param config what is wanted.
     * @return the engine.
     * @throws StoreException INVALID_PARAMS, saying which rule is not met and how to meet it.
     */
    public TransferEngine gds(final GdsConfig config) {
        return GdsEngines.open(config, hooks, tent, limits());
    }

    /**
     * Opens the backing file of GDS offload, which exists.
     *
     * @param engine of {@link #gds}.
     * @param config what it was opened with.
     * @return the file.
     * @throws StoreException INVALID_PARAMS, when the transport that was asked for cannot open it.
     */
    public static Segment gdsFile(final TransferEngine engine, final GdsConfig config) {
        return GdsEngines.file(engine, config);
    }

    /** For memory of other processes. */
    public TransferEngine memory() {
        final List<Transport> transports = new ArrayList<>();
        try (Closings opened = new Closings()) {
            if (shares) {
                transports.add(opened.keep(new ShmTransport(shared().directory()), Transport::close));
                requireMount(transports.getLast().capability().availability());
            }
            if (tent.tcp().enable()) {
                transports.add(opened.keep(new TcpTransport(tent.tcp()), Transport::close));
            }
            final TransferEngine engine = open(transports);
            opened.stayOpen();
            return engine;
        }
    }

    private TransferEngine open(final List<Transport> transports) {
        return TransferEngine.open(limits(), transports);
    }

    private TransferConfig limits() {
        return tent.transfer(new TransferConfig(TransferConfig.DEFAULT.sliceBytes(), closeTimeoutMs));
    }

    private void requireMount(final Availability found) {
        final String path = tent.shm().mountPath();
        if (!path.isEmpty() && !found.available()) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, TentConfig.VARIABLE + ": 'transports/shm/cxl_mount_path'"
                + " is " + path + ": " + found.reason() + "; " + found.remedy());
        }
    }

    /**
     * Values pass through memory of the host of every kind, registered or not: a policy that leaves no way for some of
     * it would lose them.
     */
    private void requireAWay(final TransferEngine engine) {
        for (final SelectionRule rule : tent.selection().rules()) {
            if (rule.segment() == Segment.Kind.FILE && rule.memory().contains(MemoryKind.HOST)
                && engine.capabilities().stream().noneMatch(one -> rule.transports().contains(one.kind())
                && one.availability().available() && one.memory().containsAll(Capability.HOST_MEMORY))) {
                final StringBuilder found = new StringBuilder();
                rule.transports().forEach(kind -> found.append("; ").append(kind.configName()).append(": ")
                    .append(engine.availability(kind).available() ? "it does not move all memory of the host"
                        : engine.availability(kind).reason()));
                throw new StoreException(ErrorCode.INVALID_PARAMS, TentConfig.VARIABLE + ": policy '" + rule.name()
                    + "' gives files to " + rule.transports().stream().map(TransportKind::configName).toList()
                    + ", none of which moves all memory of a store here" + found + "; add posix behind them");
            }
        }
    }

    private void sayWhatGdsIsFor(final Capability gds) {
        if (!gds.availability().available()) {
            warn("'transports/gds/enable' is true and GPUDirect Storage cannot be used here: "
                + gds.availability().reason() + "; " + gds.availability().remedy());
        } else if (!gds.memory().contains(MemoryKind.HOST) && offload.bytes() == 0) {
            warn("'transports/gds/enable' is true and moves nothing of this store, whose values are in memory of the "
                + "host: " + gds.availability().reason() + "; set 'transports/gds/host_memory' to true and name gds in "
                + "a policy for files");
        }
    }

    /**
     * Prepares memory of a store for an engine whose devices move only memory that they know; what cannot be prepared
     * goes by the other transports.
     *
     * @return to be closed before the engine; empty where nothing has to be prepared.
     */
    public static List<Registration> prepare(final TransferEngine engine, final List<HostMemory> memory) {
        final boolean wanted = engine.capabilities().stream().anyMatch(one -> one.kind() == TransportKind.GDS
            && one.availability().available() && one.memory().contains(MemoryKind.HOST));
        final List<Registration> prepared = new ArrayList<>();
        try {
            for (final HostMemory region : wanted ? memory : List.<HostMemory>of()) {
                prepared.add(register(engine, region));
            }
            return prepared;
        } catch (final RuntimeException | Error e) {
            CloseHelper.quietCloseAll(prepared);
            throw e;
        }
    }

    /** Prepares memory; says so where GPUDirect Storage would move such memory and does not take this. */
    public static Registration register(final TransferEngine engine, final MemoryRegion region) {
        final Registration made = engine.register(region);
        final Availability result = made.results().get(TransportKind.GDS);
        if (result != null && !result.available()) {
            LOG.log(System.Logger.Level.WARNING, "{0} bytes of memory are not moved by GPUDirect Storage: {1}; {2}",
                Long.toString(region.byteSize()), result.reason(), result.remedy());
        }
        return made;
    }
}
