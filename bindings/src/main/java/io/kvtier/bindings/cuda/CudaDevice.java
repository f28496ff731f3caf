package io.kvtier.bindings.cuda;

import io.kvtier.bindings.cuda.gen.CUuuid_st;
import io.kvtier.bindings.cuda.gen.CudaFunctions;
import io.kvtier.bindings.cuda.gen.CudaTypes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HexFormat;

/**
 * One GPU.
 *
 * <p><b>Threading:</b> immutable. <b>Blocking:</b> never.
 */
public final class CudaDevice {
    private static final int NAME_BYTES = 256;

    private final int ordinal;
    private final int handle;

    CudaDevice(final int ordinal, final int handle) {
        this.ordinal = ordinal;
        this.handle = handle;
    }

    /**
     * Its place in {@link Cuda#devices()}.
     *
     * @return from 0 up.
     */
    public int ordinal() {
        return ordinal;
    }

    /**
     * The name of its model.
     *
     * @return for example {@code NVIDIA H200}.
     */
    public String name() {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment text = arena.allocate(NAME_BYTES);
            Cuda.check("cuDeviceGetName", CudaFunctions.cuDeviceGetName(text, NAME_BYTES, handle), this.toString());
            return text.getString(0);
        }
    }

    /**
     * What tells it from every other GPU, across restarts and renumbering.
     *
     * @return 32 hexadecimal digits.
     */
    public String uuid() {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment uuid = arena.allocate(CUuuid_st.layout());
            Cuda.check("cuDeviceGetUuid", CudaFunctions.cuDeviceGetUuid_v2(uuid, handle), toString());
            return HexFormat.of().formatHex(uuid.toArray(ValueLayout.JAVA_BYTE));
        }
    }

    /**
     * Its place on the PCI bus.
     *
     * @return domain:bus:device.function, as in {@code lspci}.
     */
    public String pciAddress() {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment text = arena.allocate(NAME_BYTES);
            Cuda.check("cuDeviceGetPCIBusId", CudaFunctions.cuDeviceGetPCIBusId(text, NAME_BYTES, handle), toString());
            return text.getString(0);
        }
    }

    /**
     * The size of its memory.
     *
     * @return bytes.
     */
    public long totalBytes() {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment bytes = arena.allocate(ValueLayout.JAVA_LONG);
            Cuda.check("cuDeviceTotalMem", CudaFunctions.cuDeviceTotalMem_v2(bytes, handle), toString());
            return bytes.get(ValueLayout.JAVA_LONG, 0);
        }
    }

    /**
     * Its generation.
     *
     * @return 10 · major + minor; 90 for Hopper.
     */
    public int computeCapability() {
        return 10 * attribute(CudaTypes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR())
            + attribute(CudaTypes.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR());
    }

    /**
     * Retains the primary context, which this process shares with every other library that uses the device.
     *
     * @return its owner.
     */
    public CudaContext retainPrimaryContext() {
        return CudaContext.retain(this);
    }

    @Override
    public String toString() {
        return "device " + ordinal;
    }

    int handle() {
        return handle;
    }

    private int attribute(final int number) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment value = arena.allocate(ValueLayout.JAVA_INT);
            Cuda.check("cuDeviceGetAttribute", CudaFunctions.cuDeviceGetAttribute(value, number, handle),
                "attribute " + number);
            return value.get(ValueLayout.JAVA_INT, 0);
        }
    }
}
