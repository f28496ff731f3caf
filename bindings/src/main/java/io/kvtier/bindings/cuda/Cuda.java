package io.kvtier.bindings.cuda;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeLibrary;
import io.kvtier.bindings.cuda.gen.CudaFunctions;
import io.kvtier.bindings.cuda.gen.CudaTypes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/**
 * Whether CUDA can be used in this process, and what is there.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> the driver library is loaded and initialised at the first question
 * and stays. <b>Blocking:</b> that first question takes some hundred milliseconds on a machine with GPUs.
 */
public final class Cuda {
    /** Every function of the driver that the generated bindings call, as on the list {@code symbols/cuda.txt}. */
    static final List<String> SYMBOLS = List.of("cuInit", "cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString",
        "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDeviceGetUuid_v2",
        "cuDeviceTotalMem_v2", "cuDeviceGetPCIBusId", "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2",
        "cuCtxSetCurrent", "cuCtxGetCurrent", "cuCtxSynchronize", "cuMemGetInfo_v2", "cuMemAlloc_v2", "cuMemFree_v2",
        "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2", "cuMemcpyDtoD_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2",
        "cuMemcpyDtoDAsync_v2", "cuMemsetD8_v2", "cuMemHostAlloc", "cuMemFreeHost", "cuMemHostRegister_v2",
        "cuMemHostUnregister", "cuPointerGetAttributes", "cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize",
        "cuStreamQuery", "cuStreamWaitEvent", "cuEventCreate", "cuEventDestroy_v2", "cuEventRecord", "cuEventQuery",
        "cuEventSynchronize");
    /** The generated code asks for the first name; a file found under the second answers to it by its SONAME. */
    static final List<String> LIBRARY_NAMES = List.of("libcuda.so.1", "libcuda.so");
    static final String REMEDY = "install NVIDIA's driver; in a container, pass the GPU and the driver's libraries in";

    /** Set once, by whoever asks first. */
    private static final class Probe {
        static final NativeLibrary LIBRARY = NativeLibrary.find(LIBRARY_NAMES, SYMBOLS, REMEDY);
        static final Availability AVAILABILITY = probe();

        private static Availability probe() {
            if (!LIBRARY.availability().available()) {
                return LIBRARY.availability();
            }
            try {
                return initialise();
            } catch (final LinkageError e) {
                return Availability.no("the CUDA driver library could not be linked: " + e.getMessage(), REMEDY);
            }
        }

        private static Availability initialise() {
            final int result = CudaFunctions.cuInit(0);
            if (result != CudaTypes.CUDA_SUCCESS()) {
                return Availability.no("cuInit gives " + nameOf(result) + " (" + result + ")", REMEDY);
            }
            try (Arena arena = Arena.ofConfined()) {
                final MemorySegment number = arena.allocate(ValueLayout.JAVA_INT);
                CudaFunctions.cuDriverGetVersion(number);
                final int version = number.get(ValueLayout.JAVA_INT, 0);
                final int counted = CudaFunctions.cuDeviceGetCount(number);
                final int count = number.get(ValueLayout.JAVA_INT, 0);
                if (counted != CudaTypes.CUDA_SUCCESS() || count == 0) {
                    return Availability.no("the CUDA driver sees no device", REMEDY);
                }
                return Availability.yes("CUDA " + versionText(version) + ", " + count
                    + (count == 1 ? " device" : " devices"));
            }
        }
    }

    private Cuda() {
    }

    /**
     * Whether the driver is there, initialised and sees a device.
     *
     * @return the answer of the first probe, with reason and remedy.
     */
    public static Availability availability() {
        return Probe.AVAILABILITY;
    }

    /**
     * The version of CUDA that the driver supports.
     *
     * @return 1000 · major + 10 · minor.
     * @throws IllegalStateException when CUDA is not available.
     */
    public static int driverVersion() {
        require();
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment version = arena.allocate(ValueLayout.JAVA_INT);
            check("cuDriverGetVersion", CudaFunctions.cuDriverGetVersion(version), "");
            return version.get(ValueLayout.JAVA_INT, 0);
        }
    }

    /**
     * The devices that this process sees, in the driver's order ({@code CUDA_VISIBLE_DEVICES} applies).
     *
     * @return at least one.
     * @throws IllegalStateException when CUDA is not available.
     */
    public static List<CudaDevice> devices() {
        require();
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment number = arena.allocate(ValueLayout.JAVA_INT);
            check("cuDeviceGetCount", CudaFunctions.cuDeviceGetCount(number), "");
            final int count = number.get(ValueLayout.JAVA_INT, 0);
            final List<CudaDevice> devices = new ArrayList<>(count);
            for (int ordinal = 0; ordinal < count; ordinal++) {
                check("cuDeviceGet", CudaFunctions.cuDeviceGet(number, ordinal), "ordinal " + ordinal);
                devices.add(new CudaDevice(ordinal, number.get(ValueLayout.JAVA_INT, 0)));
            }
            return devices;
        }
    }

    /**
     * The symbolic name of a result code.
     *
     * @param code a {@code CUresult}.
     * @return for example {@code CUDA_ERROR_OUT_OF_MEMORY}; {@code CUresult 2} where no driver is loaded.
     */
    public static String errorName(final int code) {
        return Probe.LIBRARY.availability().available() ? nameOf(code) : "CUresult " + code;
    }

    static String errorText(final int code) {
        return Probe.LIBRARY.availability().available() ? textOf(code) : "no driver to explain it";
    }

    static void require() {
        final Availability availability = availability();
        if (!availability.available()) {
            throw new IllegalStateException("CUDA is not available: " + availability.reason() + "; "
                + availability.remedy());
        }
    }

    static void check(final String call, final int result, final String detail) {
        if (result != CudaTypes.CUDA_SUCCESS()) {
            throw new CudaException(call, result, detail);
        }
    }

    static String versionText(final int version) {
        return version / 1000 + "." + version % 1000 / 10;
    }

    private static String nameOf(final int code) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment text = arena.allocate(ValueLayout.ADDRESS);
            return CudaFunctions.cuGetErrorName(code, text) == CudaTypes.CUDA_SUCCESS() ? string(text)
                : "CUresult " + code;
        }
    }

    private static String textOf(final int code) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment text = arena.allocate(ValueLayout.ADDRESS);
            return CudaFunctions.cuGetErrorString(code, text) == CudaTypes.CUDA_SUCCESS() ? string(text)
                : "unknown code";
        }
    }

    /** The driver's texts are constants of the library. */
    private static String string(final MemorySegment pointer) {
        return pointer.get(CudaTypes.C_POINTER, 0).getString(0);
    }
}
