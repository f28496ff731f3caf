package io.kvtier.kit;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.DevicePointer;
import io.kvtier.transport.device.CopyStream;
import io.kvtier.transport.device.Devices;
import io.kvtier.transport.device.Gpus;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A GPU whose streams copy late: nothing before somebody waits. */
@SuppressWarnings("restricted")
public final class SimulatedDevices implements Devices {
    /** Less than asked for, so that a test needs no megabytes to go on in a second piece. */
    private static final long MOST_STAGING_BYTES = 64 << 10;

    private final SimulatedMemory memory;
    private final AtomicInteger openStreams = new AtomicInteger();
    private volatile RuntimeException copyFailure;
    private volatile RuntimeException waitFailure;
    private volatile int failingWaits;
    private final List<HostMemory> pinned = new CopyOnWriteArrayList<>();
    private volatile RuntimeException streamFailure;
    private volatile int streamsUntilFailure;
    private volatile RuntimeException closeFailure;
    private volatile RuntimeException openFailure;
    private volatile Runnable beforeWait = () -> { };

    public SimulatedDevices(final SimulatedMemory memory) {
        this.memory = memory;
    }

    /** What counts as device memory. */
    public SimulatedMemory memory() {
        return memory;
    }

    /** Streams that are not closed. */
    public int openStreams() {
        return openStreams.get();
    }

    /** The one GPU, which all memory is on. */
    public Gpus gpus() {
        return new Gpus(this, Collections.singletonList(null));
    }

    /** The next copy is refused. */
    public void failCopy(final RuntimeException failure) {
        copyFailure = failure;
    }

    /** The next wait fails, and what it waited for is done nevertheless. */
    public void failWait(final RuntimeException failure) {
        failWaits(1, failure);
    }

    /** As {@link #failWait}, so many times. */
    public void failWaits(final int count, final RuntimeException failure) {
        failingWaits = count;
        waitFailure = failure;
    }

    /** All memory that was pinned, whether or not it was given back. */
    public List<HostMemory> pinned() {
        return List.copyOf(pinned);
    }

    /** Streams cannot be made after so many. */
    public void failStreamsAfter(final int count, final RuntimeException failure) {
        streamsUntilFailure = count;
        streamFailure = failure;
    }

    /** From now on no stream ends well, as after a fault of the GPU. */
    public void failCloses(final RuntimeException failure) {
        closeFailure = failure;
    }

    /** The GPU cannot be opened any more; null for once more. */
    public void failOpens(final RuntimeException failure) {
        openFailure = failure;
    }

    /** Runs in the thread that waits for copies, before they are done. */
    public void beforeWait(final Runnable told) {
        beforeWait = told;
    }

    @Override
    public void require(final long address, final long bytes) {
        memory.at(address).require(bytes);
    }

    @Override
    public CopyStream newStream(final CudaContext context, final long stagingBytes) {
        if (streamFailure != null && streamsUntilFailure-- <= 0) {
            throw streamFailure;
        }
        openStreams.incrementAndGet();
        return new Stream(Math.min(stagingBytes, MOST_STAGING_BYTES));
    }

    @Override
    public HostMemory pinned(final CudaContext context, final long bytes) {
        final HostRegion region = HostRegion.allocate(NativeTag.TEST, bytes);
        pinned.add(region);
        return region;
    }

    @Override
    public int gpuOf(final DeviceRegion region) {
        memory.at(region.pointer().address()).require(1);
        return 0;
    }

    @Override
    public CudaContext open(final int gpu) {
        if (openFailure != null) {
            throw openFailure;
        }
        return null;
    }

    private static MemorySegment bytes(final DevicePointer range) {
        return MemorySegment.ofAddress(range.address()).reinterpret(range.byteSize());
    }

    private final class Stream implements CopyStream {
        private final Arena arena = Arena.ofShared();
        private final MemorySegment staging;
        private final Deque<Runnable> copies = new ArrayDeque<>();

        Stream(final long stagingBytes) {
            staging = arena.allocate(stagingBytes);
        }

        private void give(final long source, final long target, final Runnable copy) {
            if (source > target) {
                throw new AssertionError(source + " bytes into " + target);
            }
            final RuntimeException failure = copyFailure;
            if (failure != null) {
                copyFailure = null;
                throw failure;
            }
            copies.add(copy);
        }

        @Override
        public void toDevice(final MemorySegment source, final DevicePointer target) {
            require(target.address(), target.byteSize());
            give(source.byteSize(), target.byteSize(), () -> bytes(target).copyFrom(source));
        }

        @Override
        public void toHost(final DevicePointer source, final MemorySegment target) {
            require(source.address(), source.byteSize());
            give(source.byteSize(), target.byteSize(), () -> target.copyFrom(bytes(source)));
        }

        @Override
        public void onDevice(final DevicePointer source, final DevicePointer target) {
            give(source.byteSize(), target.byteSize(), () -> bytes(target).copyFrom(bytes(source)));
        }

        @Override
        public void synchronize() {
            beforeWait.run();
            copies.forEach(Runnable::run);
            copies.clear();
            final RuntimeException failure = waitFailure;
            if (failure != null) {
                failingWaits--;
                if (failingWaits == 0) {
                    waitFailure = null;
                }
                throw failure;
            }
        }

        @Override
        public MemorySegment staging() {
            return staging;
        }

        @Override
        public void close() {
            if (!copies.isEmpty()) {
                throw new AssertionError("closed with copies that nobody waited for");
            }
            arena.close();
            openStreams.decrementAndGet();
            if (closeFailure != null) {
                throw closeFailure;
            }
        }
    }
}
