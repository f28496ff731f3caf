package io.kvtier.transport.device;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.PinnedRegion;
import io.kvtier.bindings.cuda.CudaAddress;
import io.kvtier.bindings.cuda.CudaContext;

/**
 * What copies need of a GPU's driver.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public interface Devices {
    /** CUDA itself. */
    Devices CUDA = new Devices() {
        @Override
        public CopyStream newStream(final CudaContext context, final long stagingBytes) {
            return new CudaCopyStream(context, stagingBytes);
        }

        @Override
        public HostMemory pinned(final CudaContext context, final long bytes) {
            return PinnedRegion.allocate(context, bytes);
        }

        @Override
        public void require(final long address, final long bytes) {
            CudaAddress.requireDeviceMemory(address, bytes);
        }
    };

    /**
     * Makes a stream.
     *
     * @param context      of the GPU; null in a simulation.
     * @param stagingBytes of pinned memory that it brings along; 0 for none.
     * @return the stream, to be closed.
     */
    CopyStream newStream(CudaContext context, long stagingBytes);

    /**
     * Allocates host memory that the devices copy from and to without staging.
     *
     * @param context of any of the GPUs; null in a simulation.
     * @param bytes   how much, more than 0.
     * @return the owner.
     */
    HostMemory pinned(CudaContext context, long bytes);

    /**
     * Refuses what is no live memory of a device.
     *
     * @param address where a range starts.
     * @param bytes   its length.
     * @throws IllegalArgumentException with address, what was found and remedy.
     */
    void require(long address, long bytes);
}
