package io.kvtier.transport.file;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.NativeTag;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Direction;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportSegment;
import java.lang.foreign.MemorySegment;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * Files by {@code pread} and {@code pwrite} on platform threads; always there.
 *
 * <p><b>Threading:</b> thread-safe; one slice runs on one thread. <b>Lifetime:</b> owns its threads and one bounce
 * buffer a thread. <b>Blocking:</b> {@link #run}, while its slice
 * moves.
 */
public final class PosixTransport implements Transport {
    /** Staging memory of one thread: enough to amortize a call, small enough to stay in cache. */
    private static final long BOUNCE_BYTES = 1L << 20;

    private static final Capability CAPABILITY = new Capability(TransportKind.POSIX, Set.of(Segment.Kind.FILE),
        Availability.yes("pread and pwrite of the C library"));

    private final FileOpener opener;
    private final boolean direct;
    private final IoThreads threads;
    private final HostRegion bounceRegion;
    private final BlockingQueue<MemorySegment> bounces;

    /**
     * A transport over files of the C library.
     *
     * @param ioThreads platform threads, at least 1.
     * @param direct    whether to go past the page cache where the file system can.
     */
    public PosixTransport(final int ioThreads, final boolean direct) {
        this(FileOpener.POSIX, ioThreads, direct);
    }

    /**
     * A transport over files that an opener gives.
     *
     * @param opener    opens each file twice where {@code direct}: buffered and direct.
     * @param ioThreads platform threads, at least 1.
     * @param direct    whether to go past the page cache where the file system can.
     */
    public PosixTransport(final FileOpener opener, final int ioThreads, final boolean direct) {
        this.opener = opener;
        this.direct = direct;
        this.threads = new IoThreads("kvtier-io", ioThreads, Integer.MAX_VALUE);
        this.bounceRegion = HostRegion.allocate(NativeTag.BOUNCE, ioThreads * BOUNCE_BYTES);
        this.bounces = new ArrayBlockingQueue<>(ioThreads);
        for (int i = 0; i < ioThreads; i++) {
            bounces.add(bounceRegion.segment().asSlice(i * BOUNCE_BYTES, BOUNCE_BYTES));
        }
    }

    @Override
    public Capability capability() {
        return CAPABILITY;
    }

    @Override
    public TransportSegment open(final SegmentTarget target) {
        return FileHandle.open(opener, target.address().path(), direct);
    }

    @Override
    public String check(final Slice slice) {
        // The slice runs on another thread: memory of a confined arena would fail there, after others had started.
        return slice.local().scope().isAlive() && slice.local().isAccessibleBy(probe())
            ? null
            : "the local memory is closed or belongs to one thread; use a shared arena";
    }

    @Override
    public void submit(final Slice slice) {
        threads.execute(() -> run(slice));
    }

    @Override
    public void run(final Slice slice) {
        if (!slice.wanted()) {
            slice.canceled();
            return;
        }
        final MemorySegment bounce = takeBounce();
        try {
            move(slice, bounce);
        } finally {
            bounces.add(bounce);
        }
    }

    @Override
    public void sync(final Slice slice) {
        threads.execute(() -> {
            try {
                ((FileHandle) slice.handle()).buffered().sync();
            } catch (final RuntimeException | Error e) {
                slice.failed(e);
                return;
            }
            slice.completed();
        });
    }

    @Override
    public void close() {
        threads.close();
        bounceRegion.close();
    }

    /**
     * There are as many as I/O threads, and each is held for the length of a slice only. So one of these threads waits
     * for one at most while callers that run slices themselves hold them, and those wait for nothing else meanwhile.
     */
    private MemorySegment takeBounce() {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return bounces.take();
                } catch (final InterruptedException e) {
                    // The slice has to end one way or the other; the caller finds its interrupt afterwards.
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static void move(final Slice slice, final MemorySegment bounce) {
        final FileHandle handle = (FileHandle) slice.handle();
        final long count;
        try {
            if (slice.direction() == Direction.READ) {
                count = AlignedIo.read(handle, slice.local(), slice.offset(), bounce);
            } else {
                AlignedIo.write(handle, slice.local(), slice.offset(), bounce);
                count = slice.length();
            }
        } catch (final RuntimeException | Error e) {
            // An Error too, or the transfer would never end. InternalError: the caller's memory is a mapped file that
            // was cut under the transfer.
            slice.failed(e);
            return;
        }
        if (count < slice.length()) {
            slice.endedShort(count);
        } else {
            slice.completed();
        }
    }

    /** Any thread but the caller's tells whether memory is confined; this one is never started. */
    private static Thread probe() {
        return Probe.THREAD;
    }

    private static final class Probe {
        private static final Thread THREAD = Thread.ofPlatform().daemon().unstarted(() -> { });

        private Probe() {
        }
    }
}
