package io.kvtier.transport.memory;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.cuda.CudaAddress;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.transport.Direction;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Slice;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * Copies of which one end at least is memory of a GPU, on threads of its own: each takes a stream, gives it the copy,
 * and waits for it. Pinned memory is copied by the device, pageable memory by the driver through memory of its own.
 * Memory that is mapped from a file only Java code may touch (a page that is gone would end the process): it goes
 * through pinned memory of the stream.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> owns threads, streams and their staging memory.
 */
final class DeviceCopies implements AutoCloseable {
    /** What it needs of CUDA. */
    interface Devices {
        CopyStream newStream(CudaContext context);

        /** Refuses what is no live memory of a device. */
        void require(long address, long bytes);
    }

    /** CUDA itself. */
    static final Devices CUDA = new Devices() {
        @Override
        public CopyStream newStream(final CudaContext context) {
            return new CudaCopyStream(context);
        }

        @Override
        public void require(final long address, final long bytes) {
            CudaAddress.requireDeviceMemory(address, bytes);
        }
    };

    private final Devices devices;
    private final List<CudaContext> contexts;
    private final IoThreads threads;
    private final List<CopyStream> all = new ArrayList<>();
    private final List<BlockingQueue<CopyStream>> free = new ArrayList<>();

    /**
     * Makes the streams.
     *
     * @param devices  CUDA, or a simulation.
     * @param contexts one a GPU; one that is null in a simulation.
     * @param count    threads, and streams of each GPU; at least 1.
     */
    DeviceCopies(final Devices devices, final List<CudaContext> contexts, final int count) {
        this.devices = devices;
        this.contexts = contexts;
        try {
            for (final CudaContext context : contexts) {
                final BlockingQueue<CopyStream> streams = new ArrayBlockingQueue<>(count);
                for (int i = 0; i < count; i++) {
                    final CopyStream stream = devices.newStream(context);
                    all.add(stream);
                    streams.add(stream);
                }
                free.add(streams);
            }
            threads = new IoThreads("kvtier-copy", count, Integer.MAX_VALUE);
        } catch (final RuntimeException | Error e) {
            all.forEach(CopyStream::close);
            throw e;
        }
    }

    /**
     * Says what is wrong with a slice.
     *
     * @param slice  the slice.
     * @param region of the segment; it or the local region is memory of a device.
     * @return null when nothing is.
     */
    String check(final Slice slice, final MemoryRegion region) {
        final String localProblem = check(slice.region(), slice.localOffset(), slice.length(), "the local memory",
            slice.direction() == Direction.READ);
        if (localProblem != null) {
            return localProblem;
        }
        final String problem = check(region, slice.offset(), slice.length(), "the region of the segment",
            slice.direction() == Direction.WRITE);
        if (problem != null) {
            return problem;
        }
        if (slice.region() instanceof DeviceRegion local && region instanceof DeviceRegion remote) {
            if (gpuOf(local) != gpuOf(remote)) {
                return "the memory is of two GPUs; copy through host memory";
            }
            final long distance = local.pointer().address() + slice.localOffset() - remote.pointer().address()
                - slice.offset();
            if (Math.abs(distance) < slice.length()) {
                return "the two ranges of device memory overlap; copy in parts that do not";
            }
        }
        return null;
    }

    private String check(final MemoryRegion region, final long offset, final long length, final String what,
        final boolean written) {
        if (region instanceof DeviceRegion device) {
            return checkDevice(device, offset, length, what);
        }
        final MemorySegment memory = ((HostMemory) region).segment();
        if (!memory.scope().isAlive() || !memory.isAccessibleBy(Probe.THREAD)) {
            return what + " is closed or belongs to one thread; use a shared arena";
        }
        return written && memory.isReadOnly() ? what + " is read-only" : null;
    }

    private String checkDevice(final DeviceRegion region, final long offset, final long length, final String what) {
        if (gpuOf(region) < 0) {
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

    /** Which of the contexts; negative for none. */
    private int gpuOf(final DeviceRegion region) {
        for (int i = 0; i < contexts.size(); i++) {
            final CudaContext context = contexts.get(i);
            if (context == null || region.context() != null
                && context.device().ordinal() == region.context().device().ordinal()) {
                return i;
            }
        }
        return -1;
    }

    /** Takes a slice that was checked. */
    void submit(final Slice slice, final MemoryRegion region) {
        threads.execute(() -> run(slice, region));
    }

    private void run(final Slice slice, final MemoryRegion region) {
        if (!slice.wanted()) {
            slice.canceled();
            return;
        }
        final BlockingQueue<CopyStream> streams =
            free.get(gpuOf((DeviceRegion) (region instanceof DeviceRegion ? region : slice.region())));
        // There are as many of each GPU as threads.
        final CopyStream stream = streams.remove();
        Throwable problem = null;
        try {
            if (slice.direction() == Direction.READ) {
                copy(stream, region, slice.offset(), slice.region(), slice.localOffset(), slice.length());
            } else {
                copy(stream, slice.region(), slice.localOffset(), region, slice.offset(), slice.length());
            }
        } catch (final RuntimeException | Error e) {
            // InternalError: mapped memory whose file was cut under the copy.
            problem = e;
        }
        streams.add(stream);
        if (problem == null) {
            slice.completed();
        } else {
            slice.failed(problem);
        }
    }

    private static void copy(final CopyStream stream, final MemoryRegion source, final long sourceOffset,
        final MemoryRegion target, final long targetOffset, final long length) {
        if (source instanceof HostMemory host) {
            toDevice(stream, host, sourceOffset, (DeviceRegion) target, targetOffset, length);
        } else if (target instanceof HostMemory host) {
            toHost(stream, (DeviceRegion) source, sourceOffset, host, targetOffset, length);
        } else {
            stream.onDevice(((DeviceRegion) source).pointer().slice(sourceOffset, length),
                ((DeviceRegion) target).pointer().slice(targetOffset, length));
            stream.synchronize();
        }
    }

    private static void toDevice(final CopyStream stream, final HostMemory source, final long sourceOffset,
        final DeviceRegion target, final long targetOffset, final long length) {
        if (mayBeTouched(source)) {
            stream.toDevice(source.segment().asSlice(sourceOffset, length),
                target.pointer().slice(targetOffset, length));
            stream.synchronize();
            return;
        }
        final MemorySegment staging = stream.staging();
        long done = 0;
        while (done < length) {
            final long part = Math.min(staging.byteSize(), length - done);
            MemorySegment.copy(source.segment(), sourceOffset + done, staging, 0, part);
            source.raiseFault();
            stream.toDevice(staging.asSlice(0, part), target.pointer().slice(targetOffset + done, part));
            stream.synchronize();
            done += part;
        }
    }

    private static void toHost(final CopyStream stream, final DeviceRegion source, final long sourceOffset,
        final HostMemory target, final long targetOffset, final long length) {
        if (mayBeTouched(target)) {
            stream.toHost(source.pointer().slice(sourceOffset, length),
                target.segment().asSlice(targetOffset, length));
            stream.synchronize();
            return;
        }
        final MemorySegment staging = stream.staging();
        long done = 0;
        while (done < length) {
            final long part = Math.min(staging.byteSize(), length - done);
            stream.toHost(source.pointer().slice(sourceOffset + done, part), staging.asSlice(0, part));
            stream.synchronize();
            MemorySegment.copy(staging, 0, target.segment(), targetOffset + done, part);
            target.raiseFault();
            done += part;
        }
    }

    /** Whether native code may read and write it. */
    private static boolean mayBeTouched(final HostMemory memory) {
        return memory.kind() != MemoryKind.MAPPED && !memory.segment().isMapped();
    }

    @Override
    public void close() {
        threads.close();
        all.forEach(CopyStream::close);
    }

    /** Any thread but the caller's tells whether memory is confined; this one is never started. */
    private static final class Probe {
        private static final Thread THREAD = Thread.ofPlatform().daemon().unstarted(() -> { });

        private Probe() {
        }
    }
}
