package io.kvtier.store.client.request;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.transport.Closings;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferRequest;
import io.kvtier.transport.device.Devices;
import io.kvtier.transport.device.Gpus;
import io.kvtier.transport.memory.MemoryTransport;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Copies between memory of GPUs, which callers give, and staging memory of the host, which the rest of the store works
 * on.
 *
 * <p>A GPU is opened when the first memory of it is met: a context of its own, and an engine with streams on it. The
 * staging memory is pinned, so that the GPU copies by itself; most stores meet no GPU and pin nothing.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> closed after the last call of the store; every piece of staging
 * memory was given back before. <b>Blocking:</b> on the GPU; the first copy of a store also pins memory and makes
 * streams.
 */
final class GpuCopies implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(GpuCopies.class.getName());
    private static final String STAGING = "staging";

    private final Devices devices;
    private final long closeTimeoutMs;
    private final Map<Integer, Gpu> gpus = new ConcurrentHashMap<>();
    private final AtomicLong names = new AtomicLong();
    private final ReentrantLock lock = new ReentrantLock();
    /** Written under the lock; null until a GPU is met. */
    private volatile Staging staging;

    /**
     * A GPU that memory of a caller was on.
     *
     * @param context of this store; null in a simulation.
     * @param engine  copies to and from it.
     * @param pool    the pool of the staging memory, as the engine knows it.
     */
    private record Gpu(CudaContext context, TransferEngine engine, Segment pool) {
    }

    /**
     * No GPU is open yet.
     *
     * @param devices        drives them.
     * @param closeTimeoutMs milliseconds that closing waits for copies under way.
     */
    GpuCopies(final Devices devices, final long closeTimeoutMs) {
        this.devices = devices;
        this.closeTimeoutMs = closeTimeoutMs;
    }

    /**
     * Goes on only with memory that a GPU can copy.
     *
     * @param region a caller's, kept open by the caller of this.
     * @param offset start in bytes.
     * @param length bytes, more than 0.
     * @throws IllegalArgumentException when the driver knows no such memory; with address, what was found and remedy.
     */
    void require(final DeviceRegion region, final long offset, final long length) {
        if (region.memory() == null) {
            devices.require(region.pointer().address() + offset, length);
        }
    }

    /**
     * Takes staging memory for bytes of a region.
     *
     * @param region of a GPU, which is opened if it was not.
     * @param bytes  how many, more than 0.
     * @throws StoreException TRANSFER_FAIL when the GPU cannot be opened.
     */
    Staging.Piece take(final DeviceRegion region, final long bytes) {
        gpu(region);
        return staging.take(bytes);
    }

    /**
     * Copies from GPUs, and waits.
     *
     * @param sources ranges of device memory, none of them empty.
     * @param room    their bytes one behind the other, from its start.
     * @throws StoreException TRANSFER_FAIL when a copy failed; none is under way any more.
     */
    void toHost(final List<RegionSlice> sources, final Staging.Piece room) {
        move(Direction.WRITE, sources, room);
    }

    /**
     * Copies to GPUs, and waits.
     *
     * @param room    the bytes of all ranges one behind the other, from its start.
     * @param targets ranges of device memory, none of them empty.
     * @throws StoreException TRANSFER_FAIL when a copy failed; none is under way any more, and the memory of the GPU
     *                        may hold anything.
     */
    void toGpus(final Staging.Piece room, final List<RegionSlice> targets) {
        move(Direction.READ, targets, room);
    }

    /** As the engines see it: the staging memory is the segment that is written from, or read into, a GPU's memory. */
    private void move(final Direction direction, final List<RegionSlice> ranges, final Staging.Piece room) {
        final Map<Gpu, List<TransferRequest>> requests = new LinkedHashMap<>();
        // A segment is closed when its transfers have ended, which is before this returns.
        try (Closings segments = new Closings()) {
            final Map<Gpu, Segment> places = new LinkedHashMap<>();
            long at = room.slice().offset();
            for (final RegionSlice range : ranges) {
                final Gpu gpu = gpu((DeviceRegion) range.region());
                final Segment place = places.computeIfAbsent(gpu, one -> segment(one, room, segments));
                final RegionSlice local = onGpu(gpu, range);
                requests.computeIfAbsent(gpu, one -> new ArrayList<>(ranges.size())).add(
                    direction == Direction.WRITE ? TransferRequest.write(local, place, at)
                        : TransferRequest.read(local, place, at));
                at += range.length();
            }
            run(requests);
        }
    }

    /** The pool is known to each engine; memory beside it is made known for the one copy. */
    private Segment segment(final Gpu gpu, final Staging.Piece room, final Closings segments) {
        if (room.slice().region() == staging.pool()) {
            return gpu.pool();
        }
        return segments.keep(gpu.engine().register(STAGING + names.incrementAndGet(), room.slice().region()),
            Segment::close);
    }

    /** Of memory that was borrowed without a context the engine would not know where it is. */
    private static RegionSlice onGpu(final Gpu gpu, final RegionSlice range) {
        final DeviceRegion region = (DeviceRegion) range.region();
        return region.context() != null || gpu.context() == null ? range
            : DeviceRegion.borrow(gpu.context(), region.pointer()).slice(range.offset(), range.length());
    }

    /** All GPUs at the same time; whatever fails, none uses the memory any more at the end. */
    private static void run(final Map<Gpu, List<TransferRequest>> requests) {
        final List<Transfer> moving = new ArrayList<>(requests.size());
        RuntimeException problem = null;
        try {
            requests.forEach((gpu, all) -> moving.add(gpu.engine().submit(all)));
        } catch (final RuntimeException e) {
            problem = e;
        } finally {
            // After an error, too.
            for (final Transfer one : moving) {
                final TransferException failed = ended(one);
                problem = problem == null ? failed : problem;
            }
        }
        if (problem != null) {
            throw failed(requests.values().stream().flatMap(List::stream).mapToLong(TransferRequest::length).sum()
                + " bytes could not be copied between memory of a GPU and of the host", problem);
        }
    }

    /** Null when it went well. */
    private static TransferException ended(final Transfer transfer) {
        try {
            transfer.await();
            return null;
        } catch (final TransferException e) {
            return e;
        }
    }

    private static StoreException failed(final String what, final Exception why) {
        return new StoreException(ErrorCode.TRANSFER_FAIL, what + ": " + why.getMessage(), why);
    }

    private Gpu gpu(final DeviceRegion region) {
        final int number = devices.gpuOf(region);
        final Gpu known = gpus.get(number);
        if (known != null) {
            return known;
        }
        lock.lock();
        try {
            final Gpu first = gpus.get(number);
            if (first != null) {
                return first;
            }
            final Gpu opened = open(number);
            gpus.put(number, opened);
            return opened;
        } catch (final RuntimeException e) {
            throw failed("GPU " + number + " could not be opened for copies", e);
        } finally {
            lock.unlock();
        }
    }

    private Gpu open(final int number) {
        try (Closings opened = new Closings()) {
            final CudaContext context = devices.open(number);
            opened.add(() -> closeContext(context));
            if (staging == null) {
                staging = new Staging(pinned(context));
            }
            final MemoryTransport transport = opened.keep(new MemoryTransport(
                new Gpus(devices, Collections.singletonList(context))), MemoryTransport::close);
            final TransferEngine engine = opened.keep(TransferEngine.open(new TransferConfig(
                TransferConfig.DEFAULT.sliceBytes(), closeTimeoutMs), List.of(transport)), TransferEngine::close);
            final Gpu gpu = new Gpu(context, engine, engine.register(STAGING, staging.pool()));
            opened.stayOpen();
            return gpu;
        }
    }

    /** A host that does not let so much be pinned copies more slowly, through the driver's own memory. */
    private HostMemory pinned(final CudaContext context) {
        try {
            return devices.pinned(context, Staging.POOL_BYTES);
        } catch (final NativeException e) {
            LOG.log(System.Logger.Level.WARNING, "{0} bytes of staging memory for GPUs could not be pinned, copies are "
                + "slower without: {1}", Long.toString(Staging.POOL_BYTES), e.getMessage());
            return HostRegion.allocate(NativeTag.BOUNCE, Staging.POOL_BYTES);
        }
    }

    private static void closeContext(final CudaContext context) {
        if (context != null) {
            context.close();
        }
    }

    /** How many GPUs were met. */
    int size() {
        return gpus.size();
    }

    /** What a GPU still uses stays as it is. */
    @Override
    public void close() {
        lock.lock();
        try (Closings closings = new Closings()) {
            gpus.values().forEach(gpu -> closings.add(() -> closeContext(gpu.context())));
            closings.add(this::closeStaging);
            gpus.values().forEach(gpu -> closings.keep(gpu.engine(), TransferEngine::close));
        } finally {
            lock.unlock();
        }
    }

    private void closeStaging() {
        if (staging != null && gpus.values().stream().noneMatch(gpu -> gpu.engine().abandoned())) {
            staging.close();
        }
    }
}
