package io.kvtier.bindings.cufile;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeLibrary;
import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaAddress;
import io.kvtier.bindings.cufile.gen.CUfileDrvProps;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * cuFile in this process: whether it is there, and the one driver that everybody shares.
 *
 * <p>The driver is opened by the first {@link #open} and closed when the last {@link CuFileDriver} and everything made
 * with it are closed, and never by a shutdown hook or a cleaner: that would race transfers that are still running. A
 * process may as well end with it open, unless statistics are on ({@link CuFileConfig#statisticsLevel()}).
 *
 * <p><b>Threading:</b> thread-safe. <b>Blocking:</b> opening initialises the library, which takes seconds.
 */
public final class CuFile {
    /** Every function that the generated bindings call, as on the list {@code symbols/cufile.txt}, but the closes. */
    static final List<String> SYMBOLS = List.of("cuFileGetVersion", "cuFileDriverOpen", "cuFileUseCount",
        "cuFileDriverGetProperties", "cuFileHandleRegister", "cuFileHandleDeregister", "cuFileBufRegister",
        "cuFileBufDeregister", "cuFileRead", "cuFileWrite", "cuFileBatchIOSetUp", "cuFileBatchIOSubmit",
        "cuFileBatchIOGetStatus", "cuFileBatchIOCancel", "cuFileBatchIODestroy", "cuFileReadAsync",
        "cuFileWriteAsync", "cuFileGetParameterSizeT", "cuFileGetParameterBool", "cuFileSetParameterSizeT",
        "cuFileSetParameterBool",
        "cuFileSetParameterPosixPoolSlabArray", "cuFileGetParameterPosixPoolSlabArray", "cuFileSetStatsLevel",
        "cuFileStatsStart", "cuFileGetStatsL3", "cuFileStreamRegister", "cuFileStreamDeregister",
        "cuFileGetParameterString", "cuFileSetParameterString");
    /** The header renames the plain close to this by a macro; an older library exports only the plain one. */
    static final String CLOSE_2 = "cuFileDriverClose_v2";
    static final String CLOSE = "cuFileDriverClose";
    /** The generated code asks for the first name; a file found under the second answers to it by its SONAME. */
    static final List<String> LIBRARY_NAMES = List.of("libcufile.so.0", "libcufile.so");
    static final String REMEDY = "install libcufile of CUDA 13.0 or newer (GPUDirect Storage) and put it on the"
        + " loader's path";

    private static final System.Logger LOG = System.getLogger(CuFile.class.getName());
    /** The library has this many classes of pool buffers; arrays of another length are refused. */
    private static final int POOL_CLASSES = 3;

    /** Set once, by whoever asks first. */
    private static final class Probe {
        static final NativeLibrary LIBRARY = NativeLibrary.find(LIBRARY_NAMES, SYMBOLS, REMEDY);
        static final boolean CLOSE_HAS_VERSION_2 = has(CLOSE_2).available();
        static final CuFile SHARED = usable() ? shared() : null;
        static final Availability AVAILABILITY = probe();

        private static Availability has(final String symbol) {
            return LIBRARY.availability().available()
                ? NativeLibrary.find(List.of(LIBRARY.name()), List.of(symbol), REMEDY).availability()
                : LIBRARY.availability();
        }

        private static boolean usable() {
            return LIBRARY.availability().available() && (CLOSE_HAS_VERSION_2 || has(CLOSE).available())
                && Cuda.availability().available();
        }

        private static CuFile shared() {
            try {
                return new CuFile(new CuFileNative(CLOSE_HAS_VERSION_2), CudaAddress::requireDeviceMemory);
            } catch (final LinkageError e) {
                return null;
            }
        }

        private static Availability probe() {
            if (SHARED != null) {
                return Availability.yes(LIBRARY.name() + ", version " + versionText(SHARED.version()));
            }
            if (!LIBRARY.availability().available()) {
                return LIBRARY.availability();
            }
            if (!Cuda.availability().available()) {
                return Availability.no(LIBRARY.name() + " is here, but no CUDA: " + Cuda.availability().reason(),
                    Cuda.availability().remedy());
            }
            return CLOSE_HAS_VERSION_2 || has(CLOSE).available()
                ? Availability.no(LIBRARY.name() + " could not be linked", REMEDY) : has(CLOSE);
        }
    }

    private final CuFileApi api;
    private final CudaAddress.Check memory;
    /** Whether the library copies the arrays that it is given is not documented: they stay as long as this does. */
    private final Arena settings = Arena.ofAuto();
    private CuFileConfig config;
    private CuFileDriver.Opened opened;
    private int users;

    private CuFile(final CuFileApi api, final CudaAddress.Check memory) {
        this.api = api;
        this.memory = memory;
    }

    /**
     * Whether the library and CUDA are there. That files can be registered is another matter: open and try.
     *
     * @return the answer of the first probe, with reason and remedy.
     */
    public static Availability availability() {
        return Probe.AVAILABILITY;
    }

    /**
     * The library of this process.
     *
     * @return the one.
     * @throws IllegalStateException when it is not available.
     */
    public static CuFile system() {
        if (Probe.SHARED == null) {
            final Availability availability = availability();
            throw new IllegalStateException("cuFile is not available: " + availability.reason() + "; "
                + availability.remedy());
        }
        return Probe.SHARED;
    }

    /**
     * cuFile over another implementation of its interface, for tests.
     *
     * @param api    a simulation.
     * @param memory refuses addresses that are no device memory of the simulation.
     * @return with a driver of its own.
     */
    public static CuFile over(final CuFileApi api, final CudaAddress.Check memory) {
        return new CuFile(api, memory);
    }

    /**
     * The library's version.
     *
     * @return 1000 · major + 10 · minor.
     */
    public int version() {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment version = arena.allocate(ValueLayout.JAVA_INT);
            check("cuFileGetVersion", api.version(version), "");
            return version.get(ValueLayout.JAVA_INT, 0);
        }
    }

    /**
     * Opens the driver, or shares the one that is open.
     *
     * @param wanted what to set before it is opened.
     * @return a share; the driver is closed with the last.
     * @throws IllegalStateException when it is open with other settings.
     * @throws CuFileException       when a setting was refused or the driver does not open.
     */
    public synchronized CuFileDriver open(final CuFileConfig wanted) {
        if (users == 0) {
            opened = openDriver(wanted);
            config = wanted;
            NativeResources.created(NativeTag.CUFILE_HANDLE, 0);
        } else if (!wanted.equals(config)) {
            throw new IllegalStateException("the cuFile driver is open with " + config + " and cannot be opened with "
                + wanted + ": it has one configuration a process");
        }
        users++;
        return new CuFileDriver(this, opened);
    }

    /** Another share for something that was made with an open driver. */
    synchronized void retain() {
        users++;
    }

    synchronized void release() {
        users--;
        if (users == 0) {
            opened = null;
            NativeResources.released(NativeTag.CUFILE_HANDLE, 0);
            check("cuFileDriverClose", api.driverClose(), "");
        }
    }

    CuFileApi api() {
        return api;
    }

    /** Refuses an address whose memory nobody here holds, unless it is device memory at this moment. */
    void requireMemory(final long address, final long byteSize) {
        memory.require(address, byteSize);
    }

    static String versionText(final int version) {
        return version / 1000 + "." + version % 1000 / 10;
    }

    static void check(final String call, final long status, final String detail) {
        // 5011 can come with a CUDA code of its own; any other pair with a cuFile code of 0 is a success.
        if (CuFileStatus.code(status) != CuFileTypes.CU_FILE_SUCCESS()) {
            throw CuFileException.ofStatus(call, status, detail);
        }
    }

    private CuFileDriver.Opened openDriver(final CuFileConfig wanted) {
        try {
            configure(wanted);
        } catch (final CuFileException e) {
            if (e.code() != CuFileTypes.CU_FILE_DRIVER_ALREADY_OPEN()) {
                throw e;
            }
            LOG.log(System.Logger.Level.WARNING, "the cuFile driver was opened by another part of this process; its"
                + " settings stay as they are");
        }
        check("cuFileDriverOpen", api.driverOpen(), "");
        try (Arena arena = Arena.ofConfined()) {
            // Before the properties: asking for those makes the library answer with its defaults.
            final List<PoolSlabs> pool = posixPool(arena);
            if (wanted.statisticsLevel() > 0) {
                // Counting is a convenience: without it the mode is told by the properties.
                final long started = api.statisticsStart();
                if (CuFileStatus.code(started) != CuFileTypes.CU_FILE_SUCCESS()) {
                    LOG.log(System.Logger.Level.DEBUG, "cuFileStatsStart: "
                        + CuFileCode.name(CuFileStatus.code(started)));
                }
            }
            final MemorySegment properties = arena.allocate(CUfileDrvProps.layout());
            check("cuFileDriverGetProperties", api.properties(properties), "");
            if (!wanted.posixPool().isEmpty() && !wanted.posixPool().equals(pool)) {
                LOG.log(System.Logger.Level.WARNING, "cuFile's posix pool is " + pool + ", not " + wanted.posixPool()
                    + " as was asked for; batches are kept smaller");
            }
            return new CuFileDriver.Opened(CuFileProperties.of(properties), pool, wanted.statisticsLevel());
        } catch (final RuntimeException | Error e) {
            api.driverClose();
            throw e;
        }
    }

    private void configure(final CuFileConfig wanted) {
        if (!wanted.posixPool().isEmpty()) {
            final int length = wanted.posixPool().size();
            final MemorySegment sizes = settings.allocateFrom(ValueLayout.JAVA_LONG,
                wanted.posixPool().stream().mapToLong(PoolSlabs::slabKb).toArray());
            final MemorySegment counts = settings.allocateFrom(ValueLayout.JAVA_LONG,
                wanted.posixPool().stream().mapToLong(PoolSlabs::count).toArray());
            check("cuFileSetParameterPosixPoolSlabArray", api.setPosixPool(sizes, counts, length),
                wanted.posixPool().toString());
        }
        if (wanted.compatibility() != CuFileConfig.Compatibility.AS_CONFIGURED) {
            setFlag(CuFileTypes.CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE(),
                wanted.compatibility() != CuFileConfig.Compatibility.REFUSED);
            setFlag(CuFileTypes.CUFILE_PARAM_FORCE_COMPAT_MODE(),
                wanted.compatibility() == CuFileConfig.Compatibility.FORCED);
        }
        wanted.texts().forEach((parameter, text) -> check("cuFileSetParameterString",
            api.setTextParameter(parameter.number(), settings.allocateFrom(text)), parameter + ", " + text));
        if (wanted.statisticsLevel() > 0) {
            check("cuFileSetStatsLevel", api.setStatisticsLevel(wanted.statisticsLevel()),
                "level " + wanted.statisticsLevel());
        }
    }

    private void setFlag(final int parameter, final boolean value) {
        check("cuFileSetParameterBool", api.setFlagParameter(parameter, value), "parameter " + parameter + ", "
            + value);
    }

    private List<PoolSlabs> posixPool(final Arena arena) {
        final MemorySegment sizes = arena.allocate(ValueLayout.JAVA_LONG, POOL_CLASSES);
        final MemorySegment counts = arena.allocate(ValueLayout.JAVA_LONG, POOL_CLASSES);
        check("cuFileGetParameterPosixPoolSlabArray", api.posixPool(sizes, counts, POOL_CLASSES), "");
        final List<PoolSlabs> pool = new ArrayList<>(POOL_CLASSES);
        for (int i = 0; i < POOL_CLASSES; i++) {
            final long slabKb = sizes.getAtIndex(ValueLayout.JAVA_LONG, i);
            final long count = counts.getAtIndex(ValueLayout.JAVA_LONG, i);
            if (slabKb > 0 && count > 0) {
                pool.add(new PoolSlabs(slabKb, count));
            }
        }
        return pool;
    }
}
