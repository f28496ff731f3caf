package io.kvtier.transport.file;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.uring.Uring;
import io.kvtier.bindings.uring.UringOptions;
import io.kvtier.bindings.uring.UringRing;
import io.kvtier.transport.Capability;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.ThreadEnds;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportSegment;
import java.lang.System.Logger;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;

/**
 * Files by io_uring: many operations in the kernel at once, from few threads. Each thread has a ring for as long as the
 * transport lives; files are registered with a ring when it first meets them, and memory when the engine is told of it.
 *
 * <p>A single slice that its caller waits for is moved by {@code pread} and {@code pwrite} on the calling thread:
 * handing over and back costs more than a ring saves.
 *
 * <p>What a ring cannot do fails as worth trying elsewhere, so that an engine with {@link PosixTransport} behind this
 * one goes on when the kernel refuses. Full disks and read-only file systems fail for good.
 *
 * <p><b>Threading:</b> thread-safe; slices complete on the threads of the rings. <b>Lifetime:</b> owns threads, rings
 * and staging memory. <b>Blocking:</b> {@link #run}, while its slice moves; attaching, detaching and closing a segment
 * wait for the threads of the rings, which answer between two waits.
 */
public final class UringTransport implements Transport {
    private static final Logger LOG = System.getLogger(UringTransport.class.getName());
    /** A ring is set up in microseconds; its thread may wait longer than a drain may take to get a core for that. */
    private static final long OPEN_TIMEOUT_MS = 10_000;
    /** Files beyond these work, by descriptor. */
    private static final int FILE_SLOTS = 512;
    /** One for each GiB begun of a region. */
    private static final int BUFFER_SLOTS = 1024;
    /** Staging memory of a caller that moves its own slice. */
    private static final long BOUNCE_BYTES = 1L << 20;
    /** Pinning goes through the memory page by page. */
    private static final long BYTES_PINNED_A_MS = 1 << 20;

    private final FileOpener opener;
    private final UringConfig config;
    private final boolean direct;
    private final Capability capability;
    private final List<UringWorker> workers;
    private final IoThreads callers;
    private final BouncePool bounces;
    /** Never held while a ring is waited for: its thread may be in a callback that asks for the lock. */
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<MemoryRegion, Attached> attached = new IdentityHashMap<>();
    private volatile boolean closed;

    /** Memory that the rings were told of. */
    private static final class Attached {
        private final List<CompletableFuture<Void>> pinned;
        private int owners;

        Attached(final List<CompletableFuture<Void>> pinned) {
            this.pinned = pinned;
        }
    }

    /**
     * A transport over files of the C library. Where io_uring cannot be used it says so and does nothing.
     *
     * @param config threads, depth and memory.
     * @param direct whether to go past the page cache where the file system can.
     */
    public UringTransport(final UringConfig config, final boolean direct) {
        this(FileOpener.POSIX, config, direct);
    }

    /**
     * A transport over files that an opener gives.
     *
     * @param opener opens each file twice where {@code direct}: buffered and direct. A file without a
     *               {@linkplain FileOpener#descriptor descriptor} is left to the other transports.
     * @param config threads, depth and memory.
     * @param direct whether to go past the page cache where the file system can.
     */
    public UringTransport(final FileOpener opener, final UringConfig config, final boolean direct) {
        this(opener, UringRing::open, Uring.availability(), config, direct);
    }

    /** As above, with rings of a test and an answer of the probe. */
    UringTransport(final FileOpener opener, final Function<UringOptions, UringRing> rings, final Availability probed,
        final UringConfig config, final boolean direct) {
        this.opener = opener;
        this.config = config;
        this.direct = direct;
        final List<UringWorker> started = new ArrayList<>();
        final Availability availability;
        try {
            availability = probed.available() ? start(rings, started) : probed;
            bounces = started.isEmpty() ? null : new BouncePool(config.threads(), BOUNCE_BYTES);
        } catch (final RuntimeException | Error e) {
            end(started);
            throw e;
        }
        workers = List.copyOf(started);
        callers = new IoThreads("kvtier-uring-calls", config.threads(), Integer.MAX_VALUE);
        capability = new Capability(TransportKind.IO_URING, Set.of(Segment.Kind.FILE), availability);
    }

    private Availability start(final Function<UringOptions, UringRing> rings, final List<UringWorker> started) {
        final UringOptions options = new UringOptions(config.depth(), FILE_SLOTS,
            config.fixedBuffers() && Uring.features().bufferUpdates() ? BUFFER_SLOTS : 0, config.drainTimeoutMs());
        final List<CompletableFuture<Void>> opening = new ArrayList<>();
        for (int i = 0; i < config.threads(); i++) {
            started.add(new UringWorker(i, options, rings));
            opening.add(started.getLast().start());
        }
        Throwable problem = null;
        for (final CompletableFuture<Void> one : opening) {
            final Throwable failed = UringWorker.await(one, Math.max(OPEN_TIMEOUT_MS, config.drainTimeoutMs()));
            problem = problem == null ? failed : problem;
        }
        if (problem == null) {
            return Availability.yes(config.threads() + " rings of " + config.depth() + " operations each, "
                + Uring.availability().reason());
        }
        end(started);
        started.clear();
        return Availability.no("no ring could be opened: " + problem.getMessage(),
            "lower threads (" + config.threads() + ") or depth (" + config.depth()
                + "), or raise the limits on open files and locked memory (ulimit -n, ulimit -l)");
    }

    @Override
    public Capability capability() {
        return capability;
    }

    @Override
    public TransportSegment open(final SegmentTarget target) {
        return UringSegment.of(FileHandle.open(opener, target.address().path(), direct, callers), opener, workers,
            config.drainTimeoutMs());
    }

    @Override
    public String check(final Slice slice) {
        return BlockingIo.check(slice);
    }

    @Override
    public void submit(final Slice slice) {
        if (closed) {
            throw new RejectedExecutionException("the transport is closed");
        }
        // Through the page cache the threads copy, so all of them shall; past it one drives a device.
        final boolean copies = ((UringSegment) slice.handle()).handle().direct() == null;
        chosen(copies ? 1 : config.depth()).add(slice);
    }

    @Override
    public void flush() {
        for (int i = 0; i < workers.size(); i++) {
            workers.get(i).wakeIfNeeded();
        }
    }

    @Override
    public void run(final Slice slice) {
        BlockingIo.run(slice, ((UringSegment) slice.handle()).handle(), bounces);
    }

    @Override
    public void cancel(final Slice slice) {
        // Which ring has it is not kept: the threads ask all of theirs, and a cancel is rare.
        workers.forEach(UringWorker::cancelUnwanted);
    }

    @Override
    public void sync(final Slice slice) {
        submit(slice);
        flush();
    }

    @Override
    public Availability attach(final MemoryRegion region) {
        if (!config.fixedBuffers()) {
            return Availability.no("fixedBuffers is off in the configuration of io_uring",
                "switch it on to have memory pinned for the rings");
        }
        final MemorySegment memory = ((HostMemory) region).segment();
        if (!memory.isNative() || memory.isReadOnly()) {
            return Availability.no("a ring pins native memory that can be written, and this is not",
                "register writable memory outside the heap");
        }
        final Throwable problem = UringWorker.awaitAll(hold(region, memory).pinned, config.drainTimeoutMs()
            + memory.byteSize() / BYTES_PINNED_A_MS);
        if (problem == null) {
            return Availability.yes(memory.byteSize() + " bytes are pinned for each of " + workers.size() + " rings");
        }
        detach(region);
        return refused(memory, problem);
    }

    @Override
    public void detach(final MemoryRegion region) {
        final Throwable problem = UringWorker.awaitAll(let(region), config.drainTimeoutMs());
        if (problem != null) {
            LOG.log(Logger.Level.WARNING, "memory stays pinned until the rings are closed", problem);
        }
    }

    /** The rings do what they are told in this order; who is told first is pinned first and unpinned last. */
    private Attached hold(final MemoryRegion region, final MemorySegment memory) {
        lock.lock();
        try {
            final Attached one = attached.computeIfAbsent(region,
                fresh -> new Attached(UringWorker.tellAll(workers, worker -> worker.attach(memory))));
            one.owners++;
            return one;
        } finally {
            lock.unlock();
        }
    }

    /** Empty while others hold the memory too. */
    private List<CompletableFuture<Void>> let(final MemoryRegion region) {
        lock.lock();
        try {
            final Attached one = attached.get(region);
            if (one != null && --one.owners > 0) {
                return List.of();
            }
            attached.remove(region);
            final MemorySegment memory = ((HostMemory) region).segment();
            return UringWorker.tellAll(workers, worker -> worker.detach(memory));
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void abort() {
        workers.forEach(UringWorker::abort);
    }

    @Override
    public void close() {
        closed = true;
        end(workers);
        callers.close();
        if (bounces != null) {
            bounces.close();
        }
    }

    private static void end(final List<UringWorker> all) {
        all.forEach(UringWorker::close);
        ThreadEnds.await(all.stream().map(UringWorker::thread).toList());
    }

    /**
     * The first ring that has fewer slices than would be enough for it, so that few slices keep one thread busy rather
     * than wake many; else the least laden.
     */
    private UringWorker chosen(final int enough) {
        UringWorker best = null;
        int least = Integer.MAX_VALUE;
        for (int i = 0; i < workers.size(); i++) {
            final UringWorker worker = workers.get(i);
            final int load = worker.load();
            if (worker.isUsable()) {
                if (load < enough) {
                    return worker;
                }
                if (load < least) {
                    best = worker;
                    least = load;
                }
            }
        }
        // Without a ring it fails there, or is the occasion to open one.
        return best == null ? workers.getFirst() : best;
    }

    private static Availability refused(final MemorySegment memory, final Throwable problem) {
        final boolean limit = problem instanceof ErrnoException e && e.errno() == Errno.ENOMEM;
        return Availability.no(memory.byteSize() + " bytes could not be pinned: " + problem.getMessage(), limit
            ? "raise the limit on locked memory (ulimit -l, LimitMEMLOCK=) to the region's size times the number of "
                + "rings, or lower threads"
            : "nothing need be done: transfers of this memory work, only slower");
    }
}
