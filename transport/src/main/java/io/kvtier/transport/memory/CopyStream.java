package io.kvtier.transport.memory;

import io.kvtier.bindings.cuda.DevicePointer;
import java.lang.foreign.MemorySegment;

/**
 * Copies by a device, one after the other, and memory to stage them in. Lengths are those of the source.
 *
 * <p><b>Threading:</b> one thread at a time. <b>Blocking:</b> {@link #synchronize()} waits for all copies so far; until
 * then their memory is in use.
 */
interface CopyStream extends AutoCloseable {
    void toDevice(MemorySegment source, DevicePointer target);

    void toHost(DevicePointer source, MemorySegment target);

    void onDevice(DevicePointer source, DevicePointer target);

    void synchronize();

    /** Pinned memory of this stream. */
    MemorySegment staging();

    @Override
    void close();
}
