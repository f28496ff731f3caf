package io.kvtier.transport.tcp;

import io.kvtier.transport.Slice;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A server as a client sees it: its connections, over one or more loops, and those that were lost with writes under
 * way, which have to be fenced off before anything else is sent.
 *
 * <p><b>Threading:</b> thread-safe. Who adds a lost connection does so before it ends or repeats a request of it, so
 * whatever follows from that sees it.
 */
final class Peer {
    private final String name;
    private final PeerLanes[] lanes;
    private final AtomicLong[] pending;
    private final TcpCounts counts;
    private volatile InetSocketAddress address;
    private volatile long[] lost = {};
    /** Segments that are open; under the lock of the transport. */
    private int users;

    Peer(final String name, final List<ClientLoop> loops, final TcpConfig config, final TcpCounts counts) {
        this.name = name;
        this.counts = counts;
        final int groups = Math.min(loops.size(), config.lanesPerPeer());
        lanes = new PeerLanes[groups];
        pending = new AtomicLong[groups];
        for (int i = 0; i < groups; i++) {
            final int share = config.lanesPerPeer() / groups + (i < config.lanesPerPeer() % groups ? 1 : 0);
            lanes[i] = new PeerLanes(this, i, share, loops.get(i), config, counts);
            pending[i] = new AtomicLong();
        }
    }

    /** Lets its loops look after it. */
    void start() {
        for (final PeerLanes one : lanes) {
            one.loop().execute(() -> one.loop().add(one));
        }
    }

    /** Ends its connections; nothing is under way. */
    void stop() {
        for (final PeerLanes one : lanes) {
            one.loop().execute(one::stop);
        }
    }

    String name() {
        return name;
    }

    InetSocketAddress address() {
        return address;
    }

    void address(final InetSocketAddress resolved) {
        address = resolved;
    }

    int users() {
        return users;
    }

    void addUsers(final int more) {
        users += more;
    }

    PeerLanes lanes(final int index) {
        return lanes[index];
    }

    /** Puts a slice where least is pending; false when the transport is closed. */
    boolean submit(final Slice slice) {
        return emptiest(slice.length()).put(slice);
    }

    /**
     * Moves a slice on the calling thread where a loop has nothing else to do, else as {@link #submit(Slice)}, waking
     * the loop; false when the transport is closed.
     */
    boolean run(final Slice slice) {
        final int first = emptiest();
        for (int i = 0; i < lanes.length; i++) {
            final int index = (first + i) % lanes.length;
            pending[index].addAndGet(slice.length());
            if (lanes[index].loop().lead(slice)) {
                counts.ledRequests.increment();
                return true;
            }
            pending[index].addAndGet(-slice.length());
        }
        final Loop loop = emptiest(slice.length());
        final boolean accepted = loop.put(slice);
        loop.flush();
        return accepted;
    }

    /** As {@link #submit(Slice)}, and wakes the loop: nobody flushes what follows from a copy. */
    boolean submit(final Stage stage) {
        final Loop loop = emptiest(stage.length());
        final boolean accepted = loop.put(stage);
        loop.flush();
        return accepted;
    }

    private Loop emptiest(final long more) {
        final int best = emptiest();
        pending[best].addAndGet(more);
        return lanes[best].loop();
    }

    private int emptiest() {
        int best = 0;
        for (int i = 1; i < lanes.length; i++) {
            if (pending[i].get() < pending[best].get()) {
                best = i;
            }
        }
        return best;
    }

    void ended(final int index, final long bytes) {
        pending[index].addAndGet(-bytes);
    }

    /** Opens a segment; completed exceptionally when that fails. */
    CompletableFuture<TcpSegment> open(final TcpSegment segment) {
        final CompletableFuture<TcpSegment> opening = new CompletableFuture<>();
        final Request request = Request.of(Wire.OPEN, segment, 0);
        request.opening = opening;
        if (!lanes[0].loop().execute(() -> lanes[0].enqueue(request))) {
            opening.completeExceptionally(new IllegalStateException("the transport is closed"));
        }
        return opening;
    }

    void release(final TcpSegment segment) {
        for (final PeerLanes one : lanes) {
            one.loop().execute(() -> one.release(segment));
        }
    }

    void cancelUnwanted() {
        for (final PeerLanes one : lanes) {
            one.askToCancel();
        }
    }

    void abort() {
        for (final PeerLanes one : lanes) {
            one.loop().execute(() -> one.abort("the engine was closed before it ended"));
        }
    }

    /** Connections that may still bring late writes; not to be changed. */
    long[] lostConnections() {
        return lost;
    }

    synchronized void addLost(final long connection) {
        final long[] more = Arrays.copyOf(lost, lost.length + 1);
        more[lost.length] = connection;
        lost = more;
    }

    /** The server says that a lost connection has ended for it as well. */
    synchronized void fenced(final long connection) {
        lost = Arrays.stream(lost).filter(one -> one != connection).toArray();
    }
}
