package io.kvtier.kit;

import io.kvtier.alloc.DeviceRegion;
import java.lang.foreign.MemorySegment;

/** Memory of a GPU, real or simulated, for tests that only have bytes. Closing frees all of it. */
public interface DeviceBuffers extends AutoCloseable {
    DeviceRegion allocate(long bytes);

    /** Copies all of host memory to a place in device memory, and waits. */
    void put(MemorySegment source, DeviceRegion target, long offset);

    /** Fills host memory from a place in device memory, and waits. */
    void get(DeviceRegion source, long offset, MemorySegment target);

    @Override
    void close();
}
