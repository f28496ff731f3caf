package io.kvtier.store.client.transfer;

import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.storage.SyncGroup;
import io.kvtier.transport.Gate;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Uninterrupted;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/**
 * Segments of other processes that this one has opened, kept while they are used: those that were not for some time are
 * closed, and so are those that failed. One that could not be opened is not tried again for a while, or every get would
 * wait for a host that is gone.
 *
 * <p><b>Threading:</b> thread-safe; who needs a segment that another thread is opening waits for that one.
 * <b>Blocking:</b> {@link #enter} while a connection is made.
 */
public final class RemoteSegments implements AutoCloseable {
    private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Opener opener;
    /** By all of an address: who knows the id of another's segment could else lead those who look for that one here. */
    private final Map<SegmentAddress, FutureTask<Opened>> opened = new ConcurrentHashMap<>();

    /** Opens segments. */
    public interface Opener {
        /** Opens a segment; what it throws says why it could not. May block. */
        Segment open(SegmentAddress address);
    }

    /** A segment, or why it could not be opened. */
    public static final class Opened {
        private final SegmentAddress address;
        private final Segment segment;
        private final String problem;
        private final Gate gate = new Gate();
        private final SyncGroup syncs = new SyncGroup();
        /** Of one that could not be opened, when that was. */
        private volatile long usedNanos = System.nanoTime();

        Opened(final SegmentAddress address, final Segment segment, final String problem) {
            this.address = address;
            this.segment = segment;
            this.problem = problem;
        }

        /** The segment; null when it could not be opened. */
        public Segment segment() {
            return segment;
        }

        /** Why it could not be opened; null when it was. */
        public String problem() {
            return problem;
        }

        /** Makes what was written to it durable. */
        public SyncGroup syncs() {
            return syncs;
        }

        /** Ends a use that {@link RemoteSegments#enter} began. */
        public void leave() {
            if (segment != null) {
                // The other kind would never be tried again by one who asks for it often.
                usedNanos = System.nanoTime();
            }
            gate.leave();
        }

        private boolean isOver(final long now) {
            return now - usedNanos > (segment == null ? RETRY_NANOS : IDLE_NANOS);
        }
    }

    /** Segments by the addresses that they come with. */
    public RemoteSegments(final TransferEngine engine) {
        this(address -> first(engine, address));
    }

    /** Segments that are opened in another way. */
    public RemoteSegments(final Opener opener) {
        this.opener = opener;
    }

    /** Begins to use a segment; to be {@linkplain Opened#leave left}, even when it could not be opened. */
    public Opened enter(final SegmentAddress address) {
        while (true) {
            FutureTask<Opened> task = opened.get(address);
            if (task == null) {
                final FutureTask<Opened> mine = new FutureTask<>(() -> open(address));
                task = opened.putIfAbsent(address, mine);
                if (task == null) {
                    mine.run();
                    task = mine;
                }
            }
            final Opened one = get(task);
            if (one.segment() == null && one.isOver(System.nanoTime())) {
                drop(one);
            } else if (one.gate.tryEnter()) {
                return one;
            } else {
                // Closed meanwhile, and soon out of the map.
                opened.remove(address, task);
            }
        }
    }

    private static Opened get(final FutureTask<Opened> task) {
        return Uninterrupted.get(() -> {
            try {
                return task.get();
            } catch (final ExecutionException e) {
                // Opening catches what there is.
                throw new IllegalStateException("a segment could not be opened", e.getCause());
            }
        });
    }

    private Opened open(final SegmentAddress address) {
        try {
            return new Opened(address, opener.open(address), null);
        } catch (final RuntimeException | Error e) {
            // Also that there is no thread for it, or no memory now: next time there may be.
            return new Opened(address, null, String.valueOf(e.getMessage()));
        }
    }

    /** The first of its addresses that can be opened. */
    private static Segment first(final TransferEngine engine, final SegmentAddress address) {
        final StringBuilder problems = new StringBuilder();
        for (final String one : address.endpoint().split(" ")) {
            try {
                if (!one.isEmpty()) {
                    return engine.openSegment(one, address.accessToken());
                }
            } catch (final RuntimeException e) {
                problems.append(problems.isEmpty() ? "" : "; ").append(one).append(": ").append(e.getMessage());
            }
        }
        throw new IllegalStateException(problems.isEmpty() ? "segment " + address.segmentId()
            + " has no address for other processes" : problems.toString());
    }

    /** A transfer failed: whoever comes next opens it anew. The failed user leaves it as always. */
    public void failed(final Opened one) {
        drop(one);
    }

    private void drop(final Opened one) {
        if (one.gate.close()) {
            remove(one);
        }
    }

    private void remove(final Opened one) {
        opened.computeIfPresent(one.address, (its, task) -> task.isDone() && get(task) == one ? null : task);
        if (one.segment != null) {
            // Transfers of others on it are waited for by a thread that has the time.
            Thread.startVirtualThread(one.segment::close);
        }
    }

    /** Closes what was not used for some time. */
    public void sweep() {
        final long now = System.nanoTime();
        for (final FutureTask<Opened> task : opened.values()) {
            if (task.isDone() && get(task).isOver(now)) {
                drop(get(task));
            }
        }
    }

    /** How many are open or known to be out of reach. */
    int size() {
        return opened.size();
    }

    /** Forgets all; the engine closes them. */
    @Override
    public void close() {
        opened.clear();
    }
}
