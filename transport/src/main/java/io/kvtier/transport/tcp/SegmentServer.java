package io.kvtier.transport.tcp;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.Closings;
import io.kvtier.transport.RareLog;
import io.kvtier.transport.Uninterrupted;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.channels.ServerSocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Serves regions of this process to {@link TcpTransport}s of others; {@code transport/PROTOCOL.md} is what they say.
 *
 * <p>It listens on this machine only, unless it has a shared secret or the explicit word that none is wanted.
 *
 * <p><b>Threading:</b> thread-safe; its own threads move the bytes. <b>Lifetime:</b> closing refuses new requests,
 * waits for running ones for some time, then ends all connections and exports. <b>Blocking:</b> {@link #close()}.
 */
public final class SegmentServer implements AutoCloseable {
    /** Connections that wait to be taken: many clients may come at once, when they all learn of this server. */
    private static final int BACKLOG = 1024;
    private static final Thread PROBE = Thread.ofPlatform().daemon().unstarted(() -> { });

    private final SegmentServerConfig config;
    private final InetSocketAddress address;
    private final Acceptor acceptor;
    private final List<Loop> loops = new ArrayList<>();
    private final Map<String, ExportedSegment> exports = new ConcurrentHashMap<>();
    private final Map<Long, ServerConnection> connections = new ConcurrentHashMap<>();
    private final AtomicInteger nextLoop = new AtomicInteger();
    private final AtomicInteger connectionCount = new AtomicInteger();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition connectionEnded = lock.newCondition();
    private final AtomicBoolean closed = new AtomicBoolean();
    private final RareLog notes = new RareLog(System.getLogger(SegmentServer.class.getName()));

    /** Opens it; what was opened when this throws is given back by the caller. */
    private SegmentServer(final SegmentServerConfig config, final InetAddress host, final Closings opened)
        throws IOException {
        this.config = config;
        final ServerSocketChannel channel = opened.keep(ServerSocketChannel.open(), SegmentServer::close);
        channel.bind(new InetSocketAddress(host, config.port()), BACKLOG);
        channel.configureBlocking(false);
        this.address = (InetSocketAddress) channel.getLocalAddress();
        for (int i = 0; i < config.ioThreads(); i++) {
            loops.add(opened.keep(new Loop("kvtier-tcp-server-" + (i + 1), item -> { }, () -> { }, () -> false),
                Loop::stop));
        }
        this.acceptor = new Acceptor(this, channel, loops.getFirst());
    }

    /**
     * Opens a server that listens.
     *
     * @param config where, for whom, and how much.
     * @return the server.
     * @throws IllegalArgumentException when it would listen beyond this machine without a secret.
     * @throws UncheckedIOException     when it cannot listen there.
     */
    public static SegmentServer open(final SegmentServerConfig config) {
        try (Closings opened = new Closings()) {
            final InetAddress host = InetAddress.getByName(config.host());
            if (!host.isLoopbackAddress() && config.secret() == null && !config.insecure()) {
                throw new IllegalArgumentException("host is " + config.host() + ", which others can reach, and there is"
                    + " no shared secret; set one on both sides, listen on 127.0.0.1, or set insecure to say that"
                    + " anybody who reaches the port may try tokens");
            }
            final SegmentServer server = new SegmentServer(config, host, opened);
            server.acceptor.start();
            opened.stayOpen();
            return server;
        } catch (final IOException e) {
            throw new UncheckedIOException("cannot listen on host " + config.host() + ", port " + config.port() + ": "
                + e.getMessage() + "; choose another port, or 0 for any", e);
        }
    }

    private static void close(final ServerSocketChannel channel) {
        try {
            channel.close();
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * Where it listens.
     *
     * @return host and port.
     */
    public InetSocketAddress address() {
        return address;
    }

    /**
     * Exports memory.
     *
     * @param name       what clients open, at most 1,024 bytes in UTF-8.
     * @param region     the memory; it is kept from being released until the export is closed.
     * @param token      what clients have to show; {@link AccessToken#random()} for memory whose content does not
     *                   survive this process, so that nobody takes later content for it.
     * @param permission what clients may do.
     * @return the export, to be closed.
     * @throws IllegalArgumentException when the name or the memory cannot be exported.
     * @throws IllegalStateException    when the name is exported already, or region or server is closed.
     */
    public ExportedSegment export(final String name, final MemoryRegion region, final AccessToken token,
        final Permission permission) {
        final int nameBytes = name.getBytes(StandardCharsets.UTF_8).length;
        if (nameBytes < 1 || nameBytes > Wire.MAX_NAME) {
            throw new IllegalArgumentException("the name of an export has " + nameBytes + " bytes; it must have 1 to "
                + Wire.MAX_NAME);
        }
        final HostMemory memory = usable(name, region, permission);
        // Before the region is held: not every text can be part of an address.
        final String its = segmentAddress(name);
        if (!region.tryRetain()) {
            throw new IllegalStateException("cannot export " + name + ": its region is closed");
        }
        final ExportedSegment export = new ExportedSegment(name, its, memory, token, permission,
            one -> exports.remove(one.name(), one));
        if (closed.get() || exports.putIfAbsent(name, export) != null) {
            export.close();
            throw new IllegalStateException("cannot export " + name + ": "
                + (closed.get() ? "the server is closed" : "the name is exported already; close that export first"));
        }
        if (closed.get()) {
            // Closed meanwhile, perhaps before it could see this one.
            export.close();
            throw new IllegalStateException("cannot export " + name + ": the server is closed");
        }
        return export;
    }

    /**
     * How many connections there are.
     *
     * @return the number now, those in their handshake included.
     */
    public int connections() {
        return connectionCount.get();
    }

    /** Refuses new requests, waits for running ones, and ends everything. A second call does nothing. */
    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        acceptor.close();
        for (final Loop loop : loops) {
            loop.execute(() -> connections.values().forEach(one -> one.drain(loop)));
        }
        awaitConnections();
        loops.forEach(Loop::stop);
        exports.values().forEach(ExportedSegment::close);
    }

    SegmentServerConfig config() {
        return config;
    }

    ExportedSegment exported(final String name) {
        return exports.get(name);
    }

    RareLog notes() {
        return notes;
    }

    boolean isClosed() {
        return closed.get();
    }

    /** A loop for a new connection, in turn; null when there are too many connections. */
    Loop admit() {
        if (connectionCount.incrementAndGet() > config.limits().maxConnections()) {
            ended();
            return null;
        }
        return loops.get(Math.floorMod(nextLoop.getAndIncrement(), loops.size()));
    }

    /** One connection that was admitted is gone. */
    void ended() {
        if (connectionCount.decrementAndGet() == 0) {
            lock.lock();
            try {
                connectionEnded.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    Map<Long, ServerConnection> connectionsByNumber() {
        return connections;
    }

    private void awaitConnections() {
        long left = TimeUnit.MILLISECONDS.toNanos(config.closeTimeoutMs());
        lock.lock();
        try {
            while (connectionCount.get() > 0 && left > 0) {
                left = Uninterrupted.awaitNanos(connectionEnded, left);
            }
        } finally {
            lock.unlock();
        }
    }

    private static HostMemory usable(final String name, final MemoryRegion region, final Permission permission) {
        if (!(region instanceof HostMemory host)) {
            throw new IllegalArgumentException("cannot export " + name + ": it is memory of a device, which a socket"
                + " cannot reach; export pinned or ordinary host memory and copy");
        }
        final MemorySegment memory = host.segment();
        if (!memory.isNative() || !memory.isAccessibleBy(PROBE)) {
            throw new IllegalArgumentException("cannot export " + name + ": its memory is "
                + (memory.isNative() ? "confined to one thread; use a shared arena" : "a heap array, which can move;"
                + " use native memory"));
        }
        if (memory.isReadOnly() && permission == Permission.READ_WRITE) {
            throw new IllegalArgumentException("cannot export " + name + " to be written: its memory is read-only");
        }
        return host;
    }

    private String segmentAddress(final String name) {
        try {
            return new URI("tcp", null, address.getAddress().getHostAddress(), address.getPort(), "/" + name, null,
                null).toASCIIString();
        } catch (final URISyntaxException e) {
            throw new IllegalArgumentException("the name '" + name + "' cannot be part of an address", e);
        }
    }
}
