package io.kvtier.transport.tcp;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.MemoryKind;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.transport.Capability;
import io.kvtier.transport.Closings;
import io.kvtier.transport.Direction;
import io.kvtier.transport.HandOver;
import io.kvtier.transport.IoThreads;
import io.kvtier.transport.Segment;
import io.kvtier.transport.SegmentTarget;
import io.kvtier.transport.Slice;
import io.kvtier.transport.TransferException;
import io.kvtier.transport.TransferFailure;
import io.kvtier.transport.Transport;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.TransportSegment;
import io.kvtier.transport.device.Devices;
import io.kvtier.transport.device.Gpus;
import java.lang.foreign.MemorySegment;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Segments that a {@link SegmentServer} exports, over TCP: the bytes go from the socket straight into the caller's
 * memory and back.
 *
 * <p>Several requests are under way on each connection. A lost connection is replaced, and its requests are sent again
 * a bounded number of times; a request to which the server does not answer in time fails as TIMEOUT, together with the
 * others of its connection.
 *
 * <p>Memory of a GPU, for which a CUDA context is given, goes in parts through pinned memory ({@link TcpStaging}), one
 * part being copied while another is on the network.
 *
 * <p>A cancelled read ends at once, and what still comes of it is passed over. A cancelled write ends at the end of its
 * chunk; where the server does not take that, its connection is closed, and the other requests on it move to another.
 *
 * <p><b>Threading:</b> thread-safe. Slices are ended on the threads of the transport, which alone touch their memory.
 * <b>Lifetime:</b> threads start with the first segment; those for GPUs, their streams and the pinned memory when it
 * is made. <b>Blocking:</b> {@link #open}, until the server has answered
 * or the attempts to reach it are used up; a virtual thread parks.
 */
public final class TcpTransport implements Transport {
    private final TcpConfig config;
    private final Capability capability;
    private final TcpCounts counts = new TcpCounts();
    /** For memory of GPUs; null without a context. */
    private final Gpus gpus;
    private final Stages stages;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<String, Peer> peers = new HashMap<>();
    /** Set once, under the lock, before the first segment is given out. */
    private volatile List<ClientLoop> loops = List.of();
    private boolean closed;

    /**
     * For host memory alone.
     *
     * @param config limits, times, and the shared secret.
     */
    public TcpTransport(final TcpConfig config) {
        this(config, (Gpus) null, null);
    }

    /**
     * For host memory and that of GPUs.
     *
     * @param config   limits, times, and the shared secret.
     * @param contexts one of each GPU, at least one; they stay the caller's, who closes them after the engine.
     * @param staging  how much pinned memory, which is allocated now; unless the transport is switched off.
     * @throws io.kvtier.bindings.cuda.CudaException when a stream cannot be made, or not so much memory pinned.
     */
    public TcpTransport(final TcpConfig config, final List<CudaContext> contexts, final TcpStaging staging) {
        this(config, new Gpus(Devices.CUDA, contexts), staging);
    }

    /** Over any GPUs; null for none. */
    TcpTransport(final TcpConfig config, final Gpus gpus, final TcpStaging staging) {
        if (gpus != null && gpus.count() == 0) {
            throw new IllegalArgumentException("no CUDA context was given; for host memory alone give no list");
        }
        this.config = config;
        this.gpus = gpus;
        this.stages = gpus == null || !config.enable() ? null : new Stages(gpus, staging);
        this.capability = new Capability(TransportKind.TCP, Set.of(Segment.Kind.REMOTE),
            stages == null ? Capability.HOST_MEMORY : EnumSet.allOf(MemoryKind.class), availability(config, staging));
    }

    private Availability availability(final TcpConfig settings, final TcpStaging staging) {
        if (!settings.enable()) {
            return Availability.no("it is switched off", "set transports/tcp/enable to true");
        }
        return Availability.yes("sockets of the JDK; " + (stages == null
            ? "host memory only: no CUDA context was given"
            : "memory of " + gpus.count() + " GPUs through " + staging.stages() + " stages of " + staging.stageBytes()
                + " bytes of pinned memory"));
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
        try (Closings opened = new Closings()) {
            opened.keep(segment, TcpSegment::close);
            final TransportSegment open = HandOver.join(segment.peer().open(segment));
            opened.stayOpen();
            return open;
        }
    }

    @Override
    public String check(final Slice slice) {
        final String problem = checkLocal(slice);
        if (problem != null) {
            return problem;
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
        return slice.length() > segment.maxRequestBytes() && slice.region() instanceof HostMemory
            ? "a slice of " + slice.length() + " bytes is more than the server takes at once, "
                + segment.maxRequestBytes() + "; set the engine's sliceBytes to that or less"
            : null;
    }

    private String checkLocal(final Slice slice) {
        if (slice.region() instanceof DeviceRegion region) {
            return stages == null ? "memory of a GPU needs a CUDA context: open the TCP transport with one"
                : gpus.problem(region, slice.localOffset(), slice.length(), "the local memory");
        }
        final MemorySegment memory = ((HostMemory) slice.region()).segment();
        // The slice runs on another thread: memory of a confined arena would fail there.
        return !memory.scope().isAlive() || !memory.isAccessibleBy(Probe.THREAD)
            ? "the local memory is closed or belongs to one thread; use a shared arena" : null;
    }

    @Override
    public void submit(final Slice slice) {
        if (slice.region() instanceof DeviceRegion) {
            stages.submit(slice);
        } else if (!((TcpSegment) slice.handle()).peer().submit(slice)) {
            slice.failed(slice.failure(TransferFailure.Kind.CANCELED, "the transport was closed"));
        }
    }

    @Override
    public void run(final Slice slice) {
        if (slice.region() instanceof DeviceRegion || IoThreads.isIoThread()) {
            submit(slice);
            flush();
        } else if (!((TcpSegment) slice.handle()).peer().run(slice)) {
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
            if (slice.region() instanceof DeviceRegion) {
                stages.cancelUnwanted();
            }
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
        if (stages != null) {
            stages.abort();
        }
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
            if (closed) {
                return;
            }
            closed = true;
            all = loops;
        } finally {
            lock.unlock();
        }
        all.forEach(one -> one.loop().stop());
        if (stages != null) {
            stages.close();
        }
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
