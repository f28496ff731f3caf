package io.kvtier.kit;

import io.kvtier.bindings.cuda.CudaAddress;
import io.kvtier.bindings.cuda.DevicePointer;
import java.util.Map;
import java.util.TreeMap;

/** Which native memory of a test counts as memory of a device, as CUDA's pointer attributes would say. */
public final class SimulatedMemory {
    private final TreeMap<Long, Long> allocations = new TreeMap<>();
    private final TreeMap<Long, CudaAddress.Kind> others = new TreeMap<>();

    /** From now on this is one allocation of device memory. */
    public synchronized DevicePointer allocated(final DevicePointer range) {
        allocations.put(range.address(), range.byteSize());
        return range;
    }

    /** From now on it is nothing. */
    public synchronized void freed(final long address) {
        if (allocations.remove(address) == null) {
            throw new AssertionError("no such allocation: 0x" + Long.toHexString(address));
        }
    }

    /** This address is memory of another kind. */
    public synchronized void is(final long address, final CudaAddress.Kind kind) {
        others.put(address, kind);
    }

    /** What the driver would say. */
    public synchronized CudaAddress at(final long address) {
        final CudaAddress.Kind other = others.get(address);
        if (other != null) {
            return new CudaAddress(address, other, -1, address, 1);
        }
        final Map.Entry<Long, Long> below = allocations.floorEntry(address);
        return below == null || address - below.getKey() >= below.getValue()
            ? new CudaAddress(address, CudaAddress.Kind.UNKNOWN, -1, 0, 0)
            : new CudaAddress(address, CudaAddress.Kind.DEVICE, 0, below.getKey(), below.getValue());
    }

    /** Whether all of a range is live device memory. */
    boolean holds(final long address, final long byteSize) {
        final CudaAddress one = at(address);
        return one.kind() == CudaAddress.Kind.DEVICE && byteSize <= one.byteSize() - (address - one.start());
    }
}
