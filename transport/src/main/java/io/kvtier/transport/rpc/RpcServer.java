package io.kvtier.transport.rpc;

import io.kvtier.transport.Gate;
import io.kvtier.transport.RareLog;
import io.kvtier.transport.ThreadEnds;
import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Listens, and hands the calls of its clients to a handler.
 *
 * <p>A peer that breaks the protocol, is too slow with the handshake, does not know the secret, is one too many or does
 * not read its answers is told so where that can be done, and its connection ends; the others are served on. What went
 * wrong is logged the first time, and then each time the number of its kind has doubled.
 *
 * <p><b>Threading:</b> thread-safe; one platform thread a connection (a second one when answers come from elsewhere),
 * one that accepts and one that watches the time of handshakes, all daemons. Not virtual ones: to wake one that waits
 * for a socket takes the poller's thread and a carrier, which costs more than all else that a small call does.
 * <b>Lifetime:</b> {@link #close()} stops listening, waits for calls under way and ends the connections.
 */
public final class RpcServer implements AutoCloseable {
    private static final Logger LOG = System.getLogger(RpcServer.class.getName());
    private static final int BACKLOG = 1024;
    private static final long ACCEPT_PAUSE_MS = 100;
    /** How often connections are looked at in the time after which an idle one is ended. */
    private static final int IDLE_LOOKS = 4;
    /** Share of the heap that answers may take which wait for clients to read. */
    private static final int SHARE_OF_ANSWERS = 4;

    private final RpcServerConfig config;
    private final RpcHandler handler;
    private final ServerSocket listener;
    private final Thread acceptor;
    private final ScheduledThreadPoolExecutor clock;
    private final Map<Long, ServerConnection> connections = new ConcurrentHashMap<>();
    private final Gate calls = new Gate();
    private final AtomicLong numbers = new AtomicLong();
    private final LongAdder refused = new LongAdder();
    private final RareLog notes = new RareLog(LOG);
    private final FrameOutput.Budget answers =
        new FrameOutput.Budget(Runtime.getRuntime().maxMemory() / SHARE_OF_ANSWERS);

    private RpcServer(final RpcServerConfig config, final RpcHandler handler, final ServerSocket listener) {
        this.config = config;
        this.handler = handler;
        this.listener = listener;
        this.clock = new ScheduledThreadPoolExecutor(1,
            task -> Thread.ofPlatform().daemon().name("kvtier-rpc-clock").unstarted(task),
            // After the end there is nothing to watch: who connects until the last moment is ended with the others.
            new ThreadPoolExecutor.DiscardPolicy());
        this.clock.setRemoveOnCancelPolicy(true);
        // Often enough that a stalled client is ended within a quarter more than its time.
        final long period = Math.max(1, config.stallTimeoutMs() / IDLE_LOOKS);
        this.clock.scheduleWithFixedDelay(() -> connections.values().forEach(ServerConnection::endIfStalled), period,
            period, TimeUnit.MILLISECONDS);
        this.acceptor = Thread.ofPlatform().daemon().name("kvtier-rpc-accept").unstarted(this::accept);
    }

    /**
     * Listens from now on.
     *
     * @param config  where, and limits.
     * @param handler gets the calls.
     * @return the server.
     * @throws IOException when the address cannot be bound, naming it.
     */
    public static RpcServer start(final RpcServerConfig config, final RpcHandler handler) throws IOException {
        final ServerSocket listener = new ServerSocket();
        try {
            listener.setReuseAddress(true);
            listener.bind(config.address(), BACKLOG);
        } catch (final IOException e) {
            listener.close();
            throw new IOException("cannot listen at " + config.address() + ": " + e.getMessage()
                + "; is another server there?", e);
        }
        RpcServer server = null;
        boolean started = false;
        try {
            server = new RpcServer(config, handler, listener);
            server.acceptor.start();
            started = true;
            return server;
        } finally {
            if (!started) {
                // There is no thread left for it.
                listener.close();
                stop(server);
            }
        }
    }

    private static void stop(final RpcServer server) {
        if (server != null) {
            server.clock.shutdownNow();
        }
    }

    /**
     * Where it listens.
     *
     * @return the address with the port that was really taken.
     */
    public InetSocketAddress address() {
        return (InetSocketAddress) listener.getLocalSocketAddress();
    }

    /**
     * How many clients there are.
     *
     * @return connections, those in their handshake included.
     */
    public int connections() {
        return connections.size();
    }

    /**
     * How many connections were ended because there were too many.
     *
     * @return the count since the start.
     */
    public long refused() {
        return refused.sum();
    }

    /**
     * From now on ends connections that are idle. Their clients learn of it with their next call, which is
     * DISCONNECTED, and connect anew with the one after that. Called once.
     *
     * @param idleMs milliseconds, at least 1, without a call that comes or is under way; it may be a quarter more.
     */
    public void endIdle(final long idleMs) {
        final long period = Math.max(1, idleMs / IDLE_LOOKS);
        clock.scheduleWithFixedDelay(() -> connections.values().forEach(connection -> connection.endIfIdle(idleMs)),
            period, period, TimeUnit.MILLISECONDS);
    }

    /**
     * Stops listening, answers calls that come with SHUTTING_DOWN, waits for those under way and for their answers to
     * be written, ends the connections. A second call does nothing. After it another server can listen there.
     */
    @Override
    public void close() {
        if (!calls.close()) {
            return;
        }
        try {
            listener.close();
        } catch (final IOException e) {
            LOG.log(Logger.Level.WARNING, "the listening socket could not be closed", e);
        }
        // The kernel keeps the port until the thread that accepts has left its call; that waits for nobody else.
        acceptor.interrupt();
        ThreadEnds.await(acceptor);
        if (!calls.awaitEmpty(config.drainTimeoutMs())) {
            LOG.log(Logger.Level.WARNING, "calls were still under way after {0} ms; their clients get no answer",
                config.drainTimeoutMs());
        }
        // Who does not read its last answers is cut off when the same time is over once more.
        clock.schedule(() -> connections.values().forEach(ServerConnection::close), config.drainTimeoutMs(),
            TimeUnit.MILLISECONDS);
        connections.values().forEach(ServerConnection::finish);
        clock.shutdownNow();
    }

    RpcServerConfig config() {
        return config;
    }

    RpcHandler handler() {
        return handler;
    }

    Gate calls() {
        return calls;
    }

    /** Ends a connection whose handshake takes too long; to be cancelled when it is over. */
    Future<?> closeAfterHandshakeTime(final ServerConnection connection) {
        return clock.schedule(() -> {
            note("a handshake was not over in time", connection.peer(), null);
            connection.close();
        }, config.handshakeTimeoutMs(), TimeUnit.MILLISECONDS);
    }

    void ended(final ServerConnection connection) {
        connections.remove(connection.number());
        try {
            handler.disconnected(connection.number());
        } catch (final RuntimeException e) {
            LOG.log(Logger.Level.WARNING, "a handler failed on the end of a connection", e);
        }
    }

    /** Logs the first of a kind, and then each time their number has doubled. */
    void note(final String kind, final String peer, final Throwable error) {
        notes.warn(kind, () -> peer + (error == null ? "" : ": " + error.getMessage()));
    }

    FrameOutput.Budget answers() {
        return answers;
    }

    private void accept() {
        while (!calls.isClosed()) {
            try {
                admit(listener.accept());
            } catch (final IOException e) {
                if (!calls.isClosed()) {
                    note("a connection could not be accepted; if files are short, raise ulimit -n",
                        address().toString(), e);
                    pause();
                }
            } catch (final RuntimeException | Error e) {
                // Whatever it is, the next client may have more luck; without this thread none would.
                note("a connection could not be served", address().toString(), e);
                pause();
            }
        }
    }

    private void admit(final Socket socket) {
        if (connections.size() >= config.maxConnections()) {
            turnAway(socket);
            return;
        }
        final ServerConnection connection = new ServerConnection(this, socket, numbers.incrementAndGet());
        connections.put(connection.number(), connection);
        try {
            connection.start();
        } catch (final OutOfMemoryError e) {
            connections.remove(connection.number());
            connection.close();
            note("there is no thread for a connection; if threads are short, raise ulimit -u", connection.peer(), e);
            pause();
        }
        if (calls.isClosed()) {
            connection.close();
        }
    }

    /**
     * Says why, without waiting for anybody: the few bytes fit the buffer of a socket that is new. A client that speaks
     * TLS could not read them before a handshake, which takes time that one who is too many is not given.
     */
    private void turnAway(final Socket socket) {
        refused.increment();
        note("too many connections; the limit is " + config.maxConnections(),
            String.valueOf(socket.getRemoteSocketAddress()), null);
        try (socket) {
            if (config.tls() == null) {
                final FrameOutput out = new FrameOutput(socket.getOutputStream(), Integer.MAX_VALUE);
                out.add(RpcFrame.FAILURE, RpcStatus.BUSY.code(), 0, 0, Handshake.failureBody("the server has all"
                    + " of its " + config.maxConnections() + " connections in use; try again later, or raise that limit"
                    + " (of a master rpc_max_connections)"));
                out.flush();
                socket.shutdownOutput();
                // What the client has said already must be read, or closing would reset the connection under the text.
                final InputStream in = socket.getInputStream();
                in.skipNBytes(in.available());
            }
        } catch (final IOException e) {
            LOG.log(Logger.Level.DEBUG, "a connection was turned away without a word", e);
        }
    }

    /** No descriptor left, most likely: the next attempt would fail as well. */
    private static void pause() {
        try {
            TimeUnit.MILLISECONDS.sleep(ACCEPT_PAUSE_MS);
        } catch (final InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
