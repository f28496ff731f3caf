package io.kvtier.bindings.cuda;

import io.kvtier.bindings.cuda.gen.CudaFunctions;
import java.lang.foreign.MemorySegment;
import java.util.function.IntSupplier;

/**
 * Copies between host and device, and within a device.
 *
 * <p>Lengths are those of the source; the target must hold as much. Host memory is native: a heap array may be moved
 * under a running copy.
 *
 * <p><b>Threading:</b> stateless. <b>Lifetime:</b> memory of a copy given to a stream must stay until the stream has
 * passed it; it is the caller who synchronises. <b>Blocking:</b> copies without a stream return when they are done.
 */
public final class CudaCopies {
    private CudaCopies() {
    }

    /**
     * Copies from host to device and waits.
     *
     * @param context of the device.
     * @param source  native.
     * @param target  at least as long.
     */
    public static void toDevice(final CudaContext context, final MemorySegment source, final DevicePointer target) {
        checkHost(source);
        checkRoom(source.byteSize(), target.byteSize());
        context.call("cuMemcpyHtoD", target.toString(),
            () -> CudaFunctions.cuMemcpyHtoD_v2(target.address(), source, source.byteSize()));
    }

    /**
     * Copies from device to host and waits.
     *
     * @param context of the device.
     * @param source  all of it is copied.
     * @param target  native, writable, at least as long.
     */
    public static void toHost(final CudaContext context, final DevicePointer source, final MemorySegment target) {
        checkWritable(target);
        checkRoom(source.byteSize(), target.byteSize());
        context.call("cuMemcpyDtoH", source.toString(),
            () -> CudaFunctions.cuMemcpyDtoH_v2(target, source.address(), source.byteSize()));
    }

    /**
     * Copies within the device. The device may still be at it when this returns; what is asked of it next comes after.
     *
     * @param context of the device.
     * @param source  all of it is copied.
     * @param target  at least as long; must not overlap.
     */
    public static void onDevice(final CudaContext context, final DevicePointer source, final DevicePointer target) {
        checkRoom(source.byteSize(), target.byteSize());
        context.call("cuMemcpyDtoD", source + " to " + target,
            () -> CudaFunctions.cuMemcpyDtoD_v2(target.address(), source.address(), source.byteSize()));
    }

    /**
     * Sets every byte of device memory.
     *
     * @param context of the device.
     * @param target  all of it is set.
     * @param value   to this.
     */
    public static void fill(final CudaContext context, final DevicePointer target, final byte value) {
        context.call("cuMemsetD8", target.toString(),
            () -> CudaFunctions.cuMemsetD8_v2(target.address(), value, target.byteSize()));
    }

    /**
     * Gives a stream a copy from host to device.
     *
     * @param stream the order it takes its place in.
     * @param source pinned, so that the copy runs beside the CPU; it stays unchanged until the stream has passed.
     * @param target at least as long.
     */
    public static void toDevice(final CudaStream stream, final MemorySegment source, final DevicePointer target) {
        checkHost(source);
        checkRoom(source.byteSize(), target.byteSize());
        onStream(stream, "cuMemcpyHtoDAsync", target, () -> CudaFunctions.cuMemcpyHtoDAsync_v2(target.address(),
            source, source.byteSize(), stream.handle()));
    }

    /**
     * Gives a stream a copy from device to host.
     *
     * @param stream the order it takes its place in.
     * @param source all of it is copied.
     * @param target pinned, writable, at least as long; not to be read until the stream has passed.
     */
    public static void toHost(final CudaStream stream, final DevicePointer source, final MemorySegment target) {
        checkWritable(target);
        checkRoom(source.byteSize(), target.byteSize());
        onStream(stream, "cuMemcpyDtoHAsync", source, () -> CudaFunctions.cuMemcpyDtoHAsync_v2(target,
            source.address(), source.byteSize(), stream.handle()));
    }

    /**
     * Gives a stream a copy within the device.
     *
     * @param stream the order it takes its place in.
     * @param source all of it is copied.
     * @param target at least as long; must not overlap.
     */
    public static void onDevice(final CudaStream stream, final DevicePointer source, final DevicePointer target) {
        checkRoom(source.byteSize(), target.byteSize());
        onStream(stream, "cuMemcpyDtoDAsync", source, () -> CudaFunctions.cuMemcpyDtoDAsync_v2(target.address(),
            source.address(), source.byteSize(), stream.handle()));
    }

    private static void onStream(final CudaStream stream, final String call, final DevicePointer device,
        final IntSupplier body) {
        stream.retain();
        try {
            Cuda.check(call, stream.context().resultHeld(body), device.toString());
        } finally {
            stream.release();
        }
    }

    private static void checkHost(final MemorySegment memory) {
        if (!memory.isNative()) {
            throw new IllegalArgumentException("heap memory cannot be copied by a device; use native memory");
        }
        // The generated calls would turn this into an AssertionError.
        if (!memory.scope().isAlive() || !memory.isAccessibleBy(Thread.currentThread())) {
            throw new IllegalStateException("the host memory is closed or belongs to another thread");
        }
    }

    private static void checkWritable(final MemorySegment memory) {
        checkHost(memory);
        if (memory.isReadOnly()) {
            throw new IllegalArgumentException("the memory to copy into is read-only");
        }
    }

    private static void checkRoom(final long source, final long target) {
        if (source > target) {
            throw new IndexOutOfBoundsException(source + " bytes into " + target);
        }
    }
}
