package io.kvtier.transport.gds;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.alloc.PinnedRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaDevice;
import io.kvtier.bindings.cuda.CudaException;
import io.kvtier.bindings.cufile.CuFile;
import io.kvtier.bindings.cufile.CuFileConfig;
import io.kvtier.bindings.cufile.CuFileDriver;
import io.kvtier.bindings.cufile.CuFileException;
import io.kvtier.bindings.cufile.CuFileMode;
import io.kvtier.bindings.cufile.CuFileProperties;
import io.kvtier.bindings.cufile.PoolSlabs;
import io.kvtier.transport.Capability;
import io.kvtier.transport.HostDetour;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportSegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/**
 * Files to and from memory of a GPU, and pinned memory of the host, through cuFile: directly where the machine can,
 * else in the library's compatibility mode through host memory; which of them it is stands in the capability's reason
 * and in {@link #mode()}.
 *
 * <p>Any offset, length and address works. Memory of a GPU that is not {@linkplain #attach registered} works too,
 * through buffers of the library. Host memory is left to others, who are no slower, unless {@code host_memory} is set,
 * compatibility mode is ruled out, in which libcufile 1.15.1 moved wrong bytes of it and ended the process, and a trial
 * at opening has succeeded. It has to be registered then, since an address that CUDA does not know can end the process
 * when it is in a batch; ordinary memory is pinned with it.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> owns its threads and a share of the process's one cuFile driver;
 * memory that is attached holds its own. Contexts that are given stay the caller's, who closes them after the engine.
 * <b>Blocking:</b> opening initialises the library, which takes seconds; opening a segment and attaching memory wait
 * for it.
 */
public final class GdsTransport implements Transport {
    private final CuFileDriver driver;
    private final CuFileMode mode;
    private final List<CudaContext> contexts;
    private final Set<MemoryKind> memory;
    /** Why host memory is not taken; null when it is. */
    private final Availability hostRefusal;
    private final Registrations registrations;
    private final List<Lane> lanes = new ArrayList<>();
    private final IoThreads callers;
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile Capability capability;
    /** Contexts that it has retained itself; set before it is handed out. */
    private List<CudaContext> own = List.of();

    /** One that cannot be used. */
    private GdsTransport(final Availability why) {
        driver = null;
        mode = CuFileMode.ABSENT;
        contexts = List.of();
        callers = null;
        memory = Set.of(MemoryKind.DEVICE);
        hostRefusal = why;
        registrations = null;
        capability = capabilityOf(why);
    }

    private GdsTransport(final CuFileDriver driver, final GdsConfig config, final Surroundings around,
        final String library) {
        this.driver = driver;
        this.registrations = new Registrations(around.pins());
        this.mode = mode(driver.properties(), config);
        this.contexts = around.contexts();
        this.callers = new IoThreads("kvtier-gds-calls", 1, Integer.MAX_VALUE);
        try {
            hostRefusal = HostTrial.refusal(config, mode,
                () -> call(() -> HostTrial.run(driver, context(), around.pins(), config.mode())));
            memory = hostRefusal == null ? Set.of(MemoryKind.DEVICE, MemoryKind.PINNED, MemoryKind.HOST)
                : Set.of(MemoryKind.DEVICE);
            final String way = library + ", " + way(driver.properties()) + hostWay(config);
            capability = capabilityOf(Availability.yes(way));
            if (contexts.isEmpty()) {
                addLane(config, null, way);
            }
            contexts.forEach(context -> addLane(config, context, way));
        } catch (final RuntimeException | Error e) {
            lanes.forEach(Lane::close);
            callers.close();
            throw e;
        }
    }

    /**
     * Opens the driver and probes it.
     *
     * @param config   the settings.
     * @param contexts one for each GPU whose memory is to be moved.
     * @return the transport; where it cannot be used, one whose capability says why and what to do.
     */
    public static GdsTransport open(final GdsConfig config, final List<CudaContext> contexts) {
        if (!config.enabled()) {
            return new GdsTransport(Availability.no("GPUDirect Storage is switched off",
                "set transports/gds/enable to true"));
        }
        if (!CuFile.availability().available()) {
            return new GdsTransport(CuFile.availability());
        }
        if (contexts.isEmpty()) {
            return new GdsTransport(Availability.no("no CUDA context was given",
                "retain one for each GPU and pass it"));
        }
        return open(CuFile.system(), config, new Surroundings(contexts, HostPins.CUDA),
            CuFileConfig.DEFAULT.posixPool());
    }

    /**
     * Opens the driver and probes it, for the memory of every GPU there is.
     *
     * @param config the settings.
     * @return the transport, which holds the primary context of each GPU until it is closed; where it cannot be used,
     *         one whose capability says why and what to do.
     */
    public static GdsTransport open(final GdsConfig config) {
        if (!config.enabled() || !CuFile.availability().available()) {
            return open(config, List.of());
        }
        if (!Cuda.availability().available()) {
            return new GdsTransport(Cuda.availability());
        }
        final List<CudaContext> retained = new ArrayList<>();
        GdsTransport opened = null;
        try {
            for (final CudaDevice device : Cuda.devices()) {
                retained.add(device.retainPrimaryContext());
            }
            opened = open(config, retained);
            opened.own = List.copyOf(retained);
            return opened;
        } catch (final CudaException e) {
            return new GdsTransport(Availability.no("a GPU gives no CUDA context: " + e.getMessage(),
                "`kvtier doctor` says what the GPUs can do; CUDA_VISIBLE_DEVICES hides those that cannot"));
        } finally {
            if (opened == null) {
                retained.forEach(CudaContext::close);
            }
        }
    }

    /**
     * What is there beside cuFile.
     *
     * @param contexts one a GPU; none for a simulation.
     * @param pins     makes host memory known to CUDA.
     */
    record Surroundings(List<CudaContext> contexts, HostPins pins) {
        Surroundings {
            contexts = List.copyOf(contexts);
        }
    }

    /**
     * The same over any cuFile.
     *
     * @param cuFile the library, or a simulation of it.
     * @param config the settings.
     * @param around GPUs and host memory.
     * @param pool   compatibility mode's buffers.
     */
    static GdsTransport open(final CuFile cuFile, final GdsConfig config, final Surroundings around,
        final List<PoolSlabs> pool) {
        final CuFileDriver driver;
        try {
            driver = cuFile.open(new CuFileConfig(pool, config.allowCompat()
                ? CuFileConfig.Compatibility.AS_CONFIGURED : CuFileConfig.Compatibility.REFUSED, 0));
        } catch (final CuFileException | IllegalStateException e) {
            return new GdsTransport(Availability.no("the cuFile driver does not open: " + e.getMessage(),
                "see cufile.log; `kvtier doctor` tries it and names what is missing"));
        }
        try {
            final Availability refusal = refusal(driver.properties(), config);
            if (refusal == null) {
                return new GdsTransport(driver, config, around,
                    "cuFile " + cuFile.version() / 1000 + "." + cuFile.version() % 1000 / 10);
            }
            driver.close();
            return new GdsTransport(refusal);
        } catch (final CuFileException | IllegalStateException e) {
            driver.close();
            return new GdsTransport(Availability.no("the cuFile driver opens and cannot be used: " + e.getMessage(),
                "see cufile.log; `kvtier doctor` tries it and names what is missing"));
        } catch (final RuntimeException | Error e) {
            driver.close();
            throw e;
        }
    }

    /** Why a driver with these properties is not enough; null when it is. */
    private static Availability refusal(final CuFileProperties properties, final GdsConfig config) {
        if (properties.directPossible()) {
            return null;
        }
        final String found = "only compatibility mode is to be had: neither nvidia-fs nor PCI P2PDMA is there";
        final String get = "load nvidia-fs, or use an NVMe disk and a kernel with PCI P2PDMA";
        if (config.requireDirect()) {
            return Availability.no(found + ", and transports/gds/require_direct is true",
                get + "; or set require_direct to false");
        }
        if (!config.allowCompat()) {
            return Availability.no(found + ", and transports/gds/allow_compat is false",
                get + "; or set allow_compat to true");
        }
        return properties.compatibilityAllowed() ? null : Availability.no(found + ", and cufile.json forbids it",
            get + "; or set allow_compat_mode in cufile.json to true");
    }

    private static CuFileMode mode(final CuFileProperties properties, final GdsConfig config) {
        if (!properties.directPossible()) {
            return CuFileMode.COMPATIBILITY;
        }
        if (config.allowCompat() && properties.compatibilityAllowed()) {
            return CuFileMode.UNKNOWN;
        }
        return properties.nvidiaFsMajor() != 0 ? CuFileMode.NVIDIA_FS : CuFileMode.PCI_P2PDMA;
    }

    private String way(final CuFileProperties properties) {
        final String direct = properties.nvidiaFsMajor() != 0
            ? "nvidia-fs " + properties.nvidiaFsMajor() + "." + properties.nvidiaFsMinor() : "PCI P2PDMA";
        return switch (mode) {
            case COMPATIBILITY -> "compatibility mode, through host memory: neither nvidia-fs nor PCI P2PDMA is there";
            case UNKNOWN -> "direct through " + direct + " where the file system can, else in compatibility mode";
            default -> "direct through " + direct + "; compatibility mode is refused";
        };
    }

    /** What the capability says of host memory; nothing where nobody asked for it. */
    private String hostWay(final GdsConfig config) {
        if (!config.hostMemory()) {
            return "";
        }
        return hostRefusal == null ? "; host memory too" : "; no host memory: " + hostRefusal.reason();
    }

    private Capability capabilityOf(final Availability availability) {
        return new Capability(TransportKind.GDS, Set.of(Segment.Kind.FILE), memory, availability, switch (mode) {
            case COMPATIBILITY -> HostDetour.ALWAYS;
            case UNKNOWN -> HostDetour.POSSIBLE;
            default -> HostDetour.NONE;
        });
    }

    private void addLane(final GdsConfig config, final CudaContext context, final String way) {
        final LaneParts parts = new LaneParts(driver, context, config, registrations, "kvtier-gds-"
            + (context == null ? 0 : context.device().ordinal()));
        String calls = "synchronous calls";
        if (config.mode() == GdsConfig.Mode.BATCH) {
            try {
                final BatchLane lane = new BatchLane(parts, why -> sayFallenBack(way, why));
                lanes.add(lane);
                capability = capabilityOf(Availability.yes(way + "; batches of " + lane.depth() + " entries"));
                return;
            } catch (final CuFileException | IllegalArgumentException e) {
                calls = callsInstead(e);
            }
        }
        lanes.add(new SyncLane(parts));
        capability = capabilityOf(Availability.yes(way + "; " + calls));
    }

    private void sayFallenBack(final String way, final CuFileException why) {
        capability = capabilityOf(Availability.yes(way + "; " + callsInstead(why)));
    }

    private static String callsInstead(final RuntimeException why) {
        return "synchronous calls, because a batch could not be set up: " + why.getMessage();
    }

    /**
     * Which way data takes.
     *
     * @return {@code UNKNOWN} where it depends on the file system of each file, {@code ABSENT} where the transport
     *         cannot be used.
     */
    public CuFileMode mode() {
        return mode;
    }

    @Override
    public Capability capability() {
        return capability;
    }

    @Override
    public TransportSegment open(final SegmentTarget target) {
        return call(() -> GdsFile.open(driver, target.address().path(), this::run));
    }

    @Override
    public String check(final Slice slice) {
        final long address = Registrations.address(slice.region()) + slice.localOffset();
        if (slice.region() instanceof DeviceRegion region) {
            if (laneOf(region) < 0) {
                return "the memory is of " + (region.context() == null ? "a GPU that the region does not name"
                    : region.context().device()) + "; open the transport with a context of that GPU";
            }
        } else if (hostRefusal != null) {
            return hostRefusal.reason() + "; " + hostRefusal.remedy();
        } else if (registrations.find(address, slice.length()) == null) {
            return "host memory has to be registered with the engine before GPUDirect Storage moves it, all of it; or "
                + "leave it to io_uring or posix";
        }
        final long past = registrations.past(address, slice.length());
        if (past > 0) {
            return "the range reaches " + past + " bytes past the registration that it begins in; register the whole "
                + "allocation";
        }
        return slice.region() instanceof DeviceRegion region && region.memory() == null
            ? checkBorrowed(address, slice.length()) : null;
    }

    /** Nothing here keeps borrowed memory: the driver is asked whether it is still there. */
    private String checkBorrowed(final long address, final long length) {
        try {
            driver.requireMemory(address, length);
            return null;
        } catch (final IllegalArgumentException e) {
            return e.getMessage();
        }
    }

    /** The lane of a region's GPU, any one for host memory; negative when there is none. */
    private int laneOf(final MemoryRegion any) {
        if (!(any instanceof DeviceRegion region)) {
            return 0;
        }
        if (lanes.size() == 1 && (region.context() == null || contexts.isEmpty())) {
            return 0;
        }
        for (int i = 0; i < contexts.size() && region.context() != null; i++) {
            if (contexts.get(i).device().ordinal() == region.context().device().ordinal()) {
                return i;
            }
        }
        return -1;
    }

    @Override
    public void submit(final Slice slice) {
        lanes.get(laneOf(slice.region())).submit(slice);
    }

    @Override
    public void flush() {
        for (int i = 0; i < lanes.size(); i++) {
            lanes.get(i).flush();
        }
    }

    @Override
    public void cancel(final Slice slice) {
        // It may have ended meanwhile.
        final MemoryRegion region = slice.region();
        if (region != null && laneOf(region) >= 0) {
            lanes.get(laneOf(region)).cancel();
        }
    }

    @Override
    public void abort() {
        lanes.forEach(Lane::abort);
    }

    @Override
    public void sync(final Slice slice) {
        callers.execute(() -> {
            try {
                ((GdsFile) slice.handle()).sync();
            } catch (final RuntimeException | Error e) {
                slice.failed(e);
                return;
            }
            slice.completed();
        });
    }

    @Override
    public Availability attach(final MemoryRegion region) {
        final Availability refusal = refusal(region);
        if (refusal != null) {
            return refusal;
        }
        try {
            return call(() -> {
                registrations.add(driver, context(), region);
                return Availability.yes(region.byteSize() + " bytes registered with cuFile");
            });
        } catch (final CuFileException | CudaException | IllegalArgumentException e) {
            return Availability.no(e.getMessage(), region instanceof DeviceRegion
                ? "transfers of it work all the same, through buffers of the library; "
                + "max_device_pinned_mem_size_kb in cufile.json bounds what can be registered"
                : "leave it to io_uring or posix; max_device_pinned_mem_size_kb in cufile.json and the memory of the "
                + "machine bound what can be pinned");
        }
    }

    /** Why a region cannot be registered; null when that is to be tried. */
    private Availability refusal(final MemoryRegion region) {
        if (region instanceof DeviceRegion device) {
            return laneOf(device) >= 0 ? null : Availability.no("it is memory of a GPU that this transport does not "
                + "serve", "open the transport with a context of that GPU");
        }
        if (hostRefusal != null) {
            return hostRefusal;
        }
        return region instanceof PinnedRegion || region instanceof HostRegion ? null
            : Availability.no("it is host memory that a device may not keep: borrowed, or mapped from a file",
                "use a PinnedRegion, or leave it to io_uring or posix");
    }

    @Override
    public void detach(final MemoryRegion region) {
        run(() -> registrations.remove(region));
    }

    /** Calls the library on a platform thread that has a context: the calling one, unless that is virtual. */
    private <T> T call(final Supplier<T> body) {
        return callers.call(() -> LaneParts.inContext(context(), body));
    }

    /** Of any GPU; null in a simulation. */
    private CudaContext context() {
        return contexts.isEmpty() ? null : contexts.getFirst();
    }

    private void run(final Runnable body) {
        call(() -> {
            body.run();
            return null;
        });
    }

    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        if (driver != null) {
            lanes.forEach(Lane::close);
            callers.close();
            driver.close();
        }
        if (driver == null || driver.lost() == 0) {
            own.forEach(CudaContext::close);
        }
    }
}
