package io.kvtier.transport.device;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.PinnedRegion;
import io.kvtier.bindings.cuda.Cuda;
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

        @Override
        public int gpuOf(final DeviceRegion region) {
            if (region.context() != null) {
                return region.context().device().ordinal();
            }
            final CudaAddress found = CudaAddress.of(region.pointer().address());
            // Memory that was mapped in pieces counts as several allocations: what is used of it is looked at later.
            found.require(1);
            return found.device();
        }

        @Override
        public CudaContext open(final int gpu) {
            return Cuda.devices().get(gpu).retainPrimaryContext();
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

    /**
     * Which GPU memory is on. Of memory that was borrowed without a context the driver is asked.
     *
     * @param region memory of a GPU.
     * @return its number in the order of the driver, from 0 on.
     * @throws IllegalArgumentException when the driver knows no such memory; with address, what was found and remedy.
     */
    int gpuOf(DeviceRegion region);

    /**
     * Opens a GPU.
     *
     * @param gpu its number.
     * @return a context that is the caller's own, to be closed; null in a simulation.
     * @throws io.kvtier.bindings.cuda.CudaException when the driver refuses.
     */
    CudaContext open(int gpu);
}
