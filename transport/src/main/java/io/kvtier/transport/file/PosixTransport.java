package io.kvtier.transport.file;

import io.kvtier.bindings.Availability;
import io.kvtier.transport.Capability;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportSegment;
import java.util.Set;

/**
 * Files by {@code pread} and {@code pwrite} on platform threads; always there.
 *
 * <p><b>Threading:</b> thread-safe; one slice runs on one thread. <b>Lifetime:</b> owns its threads and one bounce
 * buffer a thread. <b>Blocking:</b> {@link #run}, while its slice moves.
 */
public final class PosixTransport implements Transport {
    /** Staging memory of one thread: enough to amortize a call, small enough to stay in cache. */
    private static final long BOUNCE_BYTES = 1L << 20;

    private static final Capability CAPABILITY = new Capability(TransportKind.POSIX, Set.of(Segment.Kind.FILE),
        Availability.yes("pread and pwrite of the C library"));

    private final FileOpener opener;
    private final boolean direct;
    private final SliceThreads threads;
    private final IoThreads callers;
    private final BouncePool bounces;

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
        this.threads = new SliceThreads("kvtier-io", ioThreads, this::move);
        this.callers = new IoThreads("kvtier-io-calls", ioThreads, Integer.MAX_VALUE);
        this.bounces = new BouncePool(ioThreads, BOUNCE_BYTES);
    }

    @Override
    public Capability capability() {
        return CAPABILITY;
    }

    @Override
    public TransportSegment open(final SegmentTarget target) {
        return FileHandle.open(opener, target.address().path(), direct, callers);
    }

    @Override
    public String check(final Slice slice) {
        return BlockingIo.check(slice);
    }

    @Override
    public void submit(final Slice slice) {
        threads.add(slice);
    }

    @Override
    public void run(final Slice slice) {
        BlockingIo.run(slice, (FileHandle) slice.handle(), bounces);
    }

    @Override
    public void sync(final Slice slice) {
        threads.add(slice);
    }

    @Override
    public void close() {
        threads.close();
        callers.close();
        bounces.close();
    }

    /** A slice without memory is a call for durability. */
    private void move(final Slice slice) {
        if (slice.region() == null) {
            BlockingIo.sync(slice, (FileHandle) slice.handle());
        } else {
            run(slice);
        }
    }
}
