package io.kvtier.transport.memory;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Slice;
import io.kvtier.transport.device.CopyStream;
import io.kvtier.transport.device.CopyThreads;
import io.kvtier.transport.device.Gpus;
import java.lang.foreign.MemorySegment;

/**
 * Copies of which one end at least is memory of a GPU, on threads of its own: each takes a stream, gives it the copy,
 * and waits for it. Pinned memory is copied by the device, pageable memory by the driver through memory of its own.
 * Memory that is mapped from a file only Java code may touch (a page that is gone would end the process): it goes
 * through pinned memory of the stream.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> owns threads, streams and their staging memory.
 */
final class DeviceCopies implements AutoCloseable {
    /** Large enough that a copy takes longer than starting it. */
    private static final long STAGING_BYTES = 1L << 20;

    private final Gpus gpus;
    private final CopyThreads threads;

    /**
     * Makes the streams.
     *
     * @param gpus  where the memory is.
     * @param count threads, and streams of each GPU; at least 1.
     */
    DeviceCopies(final Gpus gpus, final int count) {
        this.gpus = gpus;
        this.threads = new CopyThreads("kvtier-copy", gpus, count, STAGING_BYTES);
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
            if (gpus.indexOf(local) != gpus.indexOf(remote)) {
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
            return gpus.problem(device, offset, length, what);
        }
        final MemorySegment memory = ((HostMemory) region).segment();
        if (!memory.scope().isAlive() || !memory.isAccessibleBy(Probe.THREAD)) {
            return what + " is closed or belongs to one thread; use a shared arena";
        }
        return written && memory.isReadOnly() ? what + " is read-only" : null;
    }

    /** Takes a slice that was checked. */
    void submit(final Slice slice, final MemoryRegion region) {
        threads.execute((DeviceRegion) (region instanceof DeviceRegion ? region : slice.region()),
            stream -> run(stream, slice, region));
    }

    private static void run(final CopyStream stream, final Slice slice, final MemoryRegion region) {
        if (!slice.wanted()) {
            slice.canceled();
            return;
        }
        try {
            move(stream, slice, region);
        } catch (final RuntimeException | Error e) {
            // InternalError: mapped memory whose file was cut under the copy.
            slice.failed(e);
            return;
        }
        slice.completed();
    }

    /** The slice keeps its local memory; that of the segment its owner may close at any time, which no device heeds. */
    private static void move(final CopyStream stream, final Slice slice, final MemoryRegion region) {
        if (!region.tryRetain()) {
            throw new IllegalStateException("the region of the segment is closed");
        }
        try {
            if (slice.direction() == Direction.READ) {
                copy(stream, region, slice.offset(), slice.region(), slice.localOffset(), slice.length());
            } else {
                copy(stream, slice.region(), slice.localOffset(), region, slice.offset(), slice.length());
            }
        } finally {
            region.release();
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
    }

    /** Any thread but the caller's tells whether memory is confined; this one is never started. */
    private static final class Probe {
        private static final Thread THREAD = Thread.ofPlatform().daemon().unstarted(() -> { });

        private Probe() {
        }
    }
}
