package io.kvtier.transport.tcp;

import io.kvtier.alloc.HostMemory;
import io.kvtier.bindings.Availability;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Direction;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportSegment;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionException;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Segments that a {@link SegmentServer} exports, over TCP: the bytes go from the socket straight into the caller's
 * memory and back.
 *
 * <p>Several requests are under way on each connection. A lost connection is replaced, and its requests are sent again
 * a bounded number of times; a request to which the server does not answer in time fails as TIMEOUT, together with the
 * others of its connection. Memory of a GPU is not served: copy it to host memory first.
 *
 * <p>A cancelled read ends at once, and what still comes of it is passed over. A cancelled write ends at the end of its
 * chunk; where the server does not take that, its connection is closed, and the other requests on it move to another.
 *
 * <p><b>Threading:</b> thread-safe. Slices are ended on the threads of the transport, which alone touch their memory.
 * <b>Lifetime:</b> threads start with the first segment. <b>Blocking:</b> {@link #open}, until the server has answered
 * or the attempts to reach it are used up; a virtual thread parks.
 */
public final class TcpTransport implements Transport {
    private final TcpConfig config;
    private final Capability capability;
    private final TcpCounts counts = new TcpCounts();
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, Peer> peers = new HashMap<>();
    /** Set once, under the lock, before the first segment is given out. */
    private volatile List<ClientLoop> loops = List.of();
    private boolean closed;

    /**
     * A transport.
     *
     * @param config limits, times, and the shared secret.
     */
    public TcpTransport(final TcpConfig config) {
        this.config = config;
        this.capability = new Capability(TransportKind.TCP, Set.of(Segment.Kind.REMOTE), config.enable()
            ? Availability.yes("sockets of the JDK")
            : Availability.no("it is switched off", "set transports/tcp/enable to true"));
    }

    @Override
    public Capability capability() {
        return capability;
    }

    /**
     * What its connections have been through.
     *
     * @return counts since it was made.
     */
    public TcpStats stats() {
        return counts.stats();
    }

    /**
     * Opens a segment of a server: connects if need be, shows the token, and learns size and permission.
     *
     * @throws TransferException FAILED when the server cannot be reached, which is retryable, or refuses; the failure
     *                           has the server's status.
     */
    @Override
    public TransportSegment open(final SegmentTarget target) {
        if (IoThreads.isIoThread()) {
            throw new IllegalStateException("a callback of a transfer must not open " + target.address().name()
                + ": it would wait for itself; open it on a thread of your own");
        }
        final String host = target.address().host();
        final InetSocketAddress address = new InetSocketAddress(host, target.address().port());
        if (address.isUnresolved()) {
            throw new TransferException(new TransferFailure(TransferFailure.Kind.FAILED, "", 0, true,
                target.address().name(), 0, 0, "the name of host " + host + " cannot be resolved"));
        }
        final TcpSegment segment = new TcpSegment(peer(host + ':' + target.address().port(), address),
            target.address(), target.token(), this::closed);
        try {
            return segment.peer().open(segment).join();
        } catch (final CompletionException e) {
            segment.close();
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw e;
        }
    }

    @Override
    public String check(final Slice slice) {
        final MemorySegment memory = ((HostMemory) slice.region()).segment();
        // The slice runs on another thread: memory of a confined arena would fail there.
        if (!memory.scope().isAlive() || !memory.isAccessibleBy(Probe.THREAD)) {
            return "the local memory is closed or belongs to one thread; use a shared arena";
        }
        final TcpSegment segment = (TcpSegment) slice.handle();
        if (slice.direction() == Direction.WRITE && !segment.isWritable()) {
            return "the segment is exported to be read only";
        }
        final long size = segment.byteSize();
        if (slice.length() > size - slice.offset()) {
            return "bytes " + slice.offset() + " to " + (slice.offset() + slice.length())
                + " are not inside the segment of " + size + " bytes";
        }
        return slice.length() > segment.maxRequestBytes()
            ? "a slice of " + slice.length() + " bytes is more than the server takes at once, "
                + segment.maxRequestBytes() + "; set the engine's sliceBytes to that or less"
            : null;
    }

    @Override
    public void submit(final Slice slice) {
        if (!((TcpSegment) slice.handle()).peer().submit(slice)) {
            slice.failed(slice.failure(TransferFailure.Kind.CANCELED, "the transport was closed"));
        }
    }

    @Override
    public void flush() {
        final List<ClientLoop> all = loops;
        for (int i = 0; i < all.size(); i++) {
            all.get(i).loop().flush();
        }
    }

    @Override
    public void cancel(final Slice slice) {
        if (slice.handle() instanceof TcpSegment segment) {
            segment.peer().cancelUnwanted();
        }
    }

    /** Completes at once: a write that has ended is in the server's memory, and memory is not durable. */
    @Override
    public void sync(final Slice slice) {
        slice.completed();
    }

    @Override
    public void abort() {
        lock.lock();
        try {
            peers.values().forEach(Peer::abort);
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void close() {
        final List<ClientLoop> all;
        lock.lock();
        try {
            closed = true;
            all = loops;
        } finally {
            lock.unlock();
        }
        all.forEach(one -> one.loop().stop());
    }

    /** The server of a name, with one user more. */
    private Peer peer(final String name, final InetSocketAddress address) {
        lock.lock();
        try {
            if (closed) {
                throw new IllegalStateException("the transport is closed");
            }
            if (loops.isEmpty()) {
                start();
            }
            Peer peer = peers.get(name);
            if (peer == null) {
                peer = new Peer(name, loops, config, counts);
                peers.put(name, peer);
                peer.start();
            }
            peer.address(address);
            peer.addUsers(1);
            return peer;
        } finally {
            lock.unlock();
        }
    }

    private void start() {
        final List<ClientLoop> started = new ArrayList<>();
        try {
            for (int i = 0; i < Math.min(config.ioThreads(), config.lanesPerPeer()); i++) {
                started.add(new ClientLoop(i));
            }
        } catch (final RuntimeException | Error e) {
            started.forEach(one -> one.loop().stop());
            throw e;
        }
        loops = List.copyOf(started);
    }

    /** A segment was closed; the last one takes the connections along, unless one of them has to be fenced off yet. */
    private void closed(final TcpSegment segment) {
        final Peer peer = segment.peer();
        boolean last;
        lock.lock();
        try {
            peer.addUsers(-1);
            last = peer.users() == 0 && peer.lostConnections().length == 0;
            if (last) {
                peers.remove(peer.name());
            }
        } finally {
            lock.unlock();
        }
        if (last) {
            peer.stop();
        } else {
            peer.release(segment);
        }
    }

    private static final class Probe {
        /** Any thread but the caller's tells whether memory is confined; this one is never started. */
        private static final Thread THREAD = Thread.ofPlatform().daemon().unstarted(() -> { });

        private Probe() {
        }
    }
}
