package io.kvtier.kit;

import io.kvtier.bindings.cuda.CudaAddress;
import io.kvtier.bindings.cuda.DevicePointer;
import java.util.Map;
import java.util.TreeMap;

/** Which native memory of a test counts as memory of a device, as CUDA's pointer attributes would say. */
public final class SimulatedMemory {
    private final TreeMap<Long, Long> allocations = new TreeMap<>();
    private final TreeMap<Long, CudaAddress.Kind> others = new TreeMap<>();
    private final TreeMap<Long, Long> pinned = new TreeMap<>();

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

    /** From now on this is host memory that the driver keeps in place. */
    public synchronized void pinned(final long address, final long byteSize) {
        if (pinned.put(address, byteSize) != null) {
            throw new AssertionError("pinned already: 0x" + Long.toHexString(address));
        }
    }

    /** From now on it is ordinary memory again. */
    public synchronized void unpinned(final long address) {
        if (pinned.remove(address) == null) {
            throw new AssertionError("not pinned: 0x" + Long.toHexString(address));
        }
    }

    /** Whether pinned host memory begins here. */
    synchronized boolean isPinned(final long address) {
        return pinned.containsKey(address);
    }

    /** How many ranges of host memory are pinned. */
    public synchronized int pinnedCount() {
        return pinned.size();
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

    /** Whether all of a range is live device memory, or pinned memory of the host. */
    synchronized boolean holds(final long address, final long byteSize) {
        final Map.Entry<Long, Long> host = pinned.floorEntry(address);
        if (host != null && byteSize <= host.getValue() - (address - host.getKey())) {
            return true;
        }
        final CudaAddress one = at(address);
        return one.kind() == CudaAddress.Kind.DEVICE && byteSize <= one.byteSize() - (address - one.start());
    }
}
