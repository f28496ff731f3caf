package io.kvtier.transport.device;

import io.kvtier.bindings.cuda.DevicePointer;
import java.lang.foreign.MemorySegment;

/**
 * Copies by a device, one after the other, and memory to stage them in. Lengths are those of the source.
 *
 * <p><b>Threading:</b> one thread at a time. <b>Blocking:</b> {@link #synchronize()} waits for all copies so far; until
 * then their memory is in use.
 */
public interface CopyStream extends AutoCloseable {
    /**
     * Gives the device a copy.
     *
     * @param source native memory; that of a file may not be touched by a device.
     * @param target at least as long.
     */
    void toDevice(MemorySegment source, DevicePointer target);

    /**
     * Gives the device a copy.
     *
     * @param source all of it is copied.
     * @param target native memory, at least as long; that of a file may not be touched by a device.
     */
    void toHost(DevicePointer source, MemorySegment target);

    /**
     * Gives the device a copy.
     *
     * @param source all of it is copied.
     * @param target at least as long, of the same device; must not overlap.
     */
    void onDevice(DevicePointer source, DevicePointer target);

    /**
     * Waits for all copies so far.
     *
     * @throws RuntimeException when it is not known that they have ended.
     */
    void synchronize();

    /**
     * Pinned memory of this stream.
     *
     * @return as long as was asked for; empty when none was.
     */
    MemorySegment staging();

    @Override
    void close();
}
