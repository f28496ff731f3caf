package io.kvtier.transport.device;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.bindings.cuda.CudaContext;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The GPUs that a transport was given a context of.
 *
 * <p><b>Threading:</b> immutable. <b>Lifetime:</b> the contexts stay the caller's.
 */
public final class Gpus {
    private final Devices devices;
    private final List<CudaContext> contexts;

    /**
     * Names them.
     *
     * @param devices  CUDA, or a simulation.
     * @param contexts one a GPU; one that is null in a simulation, to which all memory belongs.
     */
    public Gpus(final Devices devices, final List<CudaContext> contexts) {
        this.devices = devices;
        this.contexts = Collections.unmodifiableList(new ArrayList<>(contexts));
    }

    /**
     * How many there are.
     *
     * @return at least 0.
     */
    public int count() {
        return contexts.size();
    }

    /**
     * Which of them a region is on.
     *
     * @param region memory of a GPU.
     * @return from 0 on; negative when it is none of them.
     */
    public int indexOf(final DeviceRegion region) {
        for (int i = 0; i < contexts.size(); i++) {
            final CudaContext context = contexts.get(i);
            if (context == null || region.context() != null
                && context.device().ordinal() == region.context().device().ordinal()) {
                return i;
            }
        }
        return -1;
    }

    /**
     * Says what is wrong with a range of device memory. Memory that no owner of this library holds is asked about at
     * the driver.
     *
     * @param region the region.
     * @param offset start in bytes.
     * @param length bytes.
     * @param what   how the range is called.
     * @return null when it can be copied, else the reason in words.
     */
    public String problem(final DeviceRegion region, final long offset, final long length, final String what) {
        if (indexOf(region) < 0) {
            return what + " is of " + (region.context() == null ? "a GPU that the region does not name"
                : region.context().device()) + "; open the transport with a context of that GPU";
        }
        if (region.memory() == null) {
            try {
                devices.require(region.pointer().address() + offset, length);
            } catch (final IllegalArgumentException e) {
                return e.getMessage();
            }
        }
        return null;
    }

    /**
     * What their driver does.
     *
     * @return the devices.
     */
    public Devices devices() {
        return devices;
    }

    /**
     * Their contexts.
     *
     * @return one a GPU; null in a simulation.
     */
    public List<CudaContext> contexts() {
        return contexts;
    }
}
