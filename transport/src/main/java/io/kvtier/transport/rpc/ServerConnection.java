package io.kvtier.transport.rpc;

import java.io.EOFException;
import java.io.IOException;
import java.lang.System.Logger;
import java.net.Socket;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.SSLSocket;

/**
 * One client of a server. Its thread reads the calls and hands each to the handler; answers given meanwhile by that
 * thread are written before it waits for the next call, in one write however many they are. Answers from other threads
 * are written by a second thread, which exists from the first of them on, so that nobody who answers waits for a client
 * that does not read.
 *
 * <p><b>Threading:</b> {@link #run} on one thread; {@link #answer} and {@link #close} on any. Nobody waits for a client
 * that does not read but its own two threads: to end it, its plain socket is closed. Closing a socket of TLS would wait
 * for the thread that writes to it, to say goodbye.
 */
final class ServerConnection {
    private static final Logger LOG = System.getLogger(ServerConnection.class.getName());
    /** A client that lets this many bytes of answers pile up does not read, and is given up. */
    private static final int MAX_PENDING_ANSWERS = 64 << 20;

    private final RpcServer server;
    private final Socket plain;
    /** The same unless there is TLS between; of the connection's thread. */
    private Socket socket;
    private final long number;
    private final Semaphore toWrite = new Semaphore(0);
    private final AtomicLong answered = new AtomicLong();
    /** Calls that came; written by the connection's thread alone. */
    private volatile long came;
    /** What {@link #came} was, and when it was first that; of the thread that looks for idle connections. */
    private long cameBefore = -1;
    private long sinceNs;
    private final Thread thread;
    private volatile String peer;
    private FrameInput in;
    private volatile FrameOutput out;
    private Thread writer;
    private volatile boolean closed;

    ServerConnection(final RpcServer server, final Socket socket, final long number) {
        this.server = server;
        this.plain = socket;
        this.socket = socket;
        this.number = number;
        this.peer = String.valueOf(socket.getRemoteSocketAddress());
        this.thread = Thread.ofPlatform().daemon().name("kvtier-rpc-" + number).unstarted(this::run);
    }

    void start() {
        thread.start();
    }

    long number() {
        return number;
    }

    String peer() {
        return peer;
    }

    void answer(final int type, final int code, final long id, final byte[] body, final int length,
        final boolean counted) {
        boolean told = false;
        try {
            if (!closed) {
                add(type, code, id, body, length);
            }
            told = true;
        } finally {
            if (!told) {
                // No memory to keep it in: the client would wait for an answer that nobody gives any more.
                close();
            }
            answered.incrementAndGet();
            if (counted) {
                server.calls().leave();
            }
        }
    }

    private void add(final int type, final int code, final long id, final byte[] body, final int length) {
        if (!out.add(type, code, id, 0, body, length)) {
            if (!closed) {
                server.note("a client does not read its answers, and no more of them can be kept", peer, null);
                close();
            }
        } else if (Thread.currentThread() != thread) {
            startWriter();
            toWrite.release();
        }
    }

    RpcException unexpected(final int method, final Throwable error) {
        LOG.log(Logger.Level.WARNING, () -> "method " + method + " failed for " + peer, error);
        return new RpcException(RpcStatus.INTERNAL, "the server failed on method " + method + ": " + error, null);
    }

    /** Ends the connection when no call came and none was under way for so long; called now and then, by one thread. */
    void endIfIdle(final long idleMs) {
        final long now = System.nanoTime();
        final long calls = came;
        if (calls != cameBefore || calls != answered.get()) {
            cameBefore = calls;
            sinceNs = now;
        } else if (now - sinceNs >= TimeUnit.MILLISECONDS.toNanos(idleMs)) {
            LOG.log(Logger.Level.DEBUG, "{0} was idle for {1} ms", peer, idleMs);
            close();
        }
    }

    /** Ends the connection when its client has taken nothing of what is written to it for too long. */
    void endIfStalled() {
        final FrameOutput output = out;
        if (output != null && !closed
            && output.stalledNanos() > TimeUnit.MILLISECONDS.toNanos(server.config().stallTimeoutMs())) {
            server.note("a client did not read its answers for " + server.config().stallTimeoutMs() + " ms", peer,
                null);
            close();
        }
    }

    /** Ends the connection once the answers that were given are written; blocks while the client does not read. */
    void finish() {
        final FrameOutput output = out;
        try {
            if (output != null && !closed) {
                output.flush();
            }
        } catch (final IOException e) {
            LOG.log(Logger.Level.DEBUG, "the last answers did not reach " + peer, e);
        } finally {
            close();
        }
    }

    /** Ends the connection, without waiting for anything. A second call does nothing. */
    void close() {
        closed = true;
        try {
            plain.close();
        } catch (final IOException e) {
            LOG.log(Logger.Level.DEBUG, "a socket could not be closed", e);
        }
        final FrameOutput output = out;
        if (output != null) {
            output.close();
        }
        toWrite.release();
    }

    private void run() {
        try {
            serve();
        } catch (final EOFException e) {
            LOG.log(Logger.Level.DEBUG, "{0} has left", peer);
        } catch (final RpcException e) {
            server.note(e.status().toString(), peer, e);
            sayLast(e.wireCode(), e.getMessage());
        } catch (final MalformedMessageException e) {
            server.note("MALFORMED", peer, e);
            sayLast(RpcStatus.MALFORMED.code(), e.getMessage());
        } catch (final IOException e) {
            if (!closed) {
                server.note("a connection broke", peer, e);
            }
        } catch (final RuntimeException | Error e) {
            server.note("a connection failed", peer, e);
        } finally {
            close();
            server.ended(this);
        }
    }

    private void serve() throws IOException {
        greet();
        while (!closed) {
            if (!in.hasBuffered()) {
                out.flush();
            }
            in.next(server.config().maxBodyBytes());
            if (in.type() != RpcFrame.CALL) {
                throw new RpcException(RpcStatus.MALFORMED, "a frame of type " + in.type()
                    + " came; a client sends calls", null);
            }
            handle(new RpcCall(this, in, server.calls().tryEnter()));
        }
    }

    private void greet() throws IOException {
        final Future<?> watch = server.closeAfterHandshakeTime(this);
        try {
            plain.setTcpNoDelay(true);
            plain.setKeepAlive(true);
            if (server.config().tls() != null) {
                socket = secure();
            }
            in = new FrameInput(socket.getInputStream());
            out = new FrameOutput(socket.getOutputStream(), MAX_PENDING_ANSWERS, server.answers());
            final Handshake handshake =
                new Handshake(in, out, server.config().secret(), server.config().maxBodyBytes());
            peer = handshake.answer().name() + '@' + peer;
        } finally {
            watch.cancel(false);
        }
    }

    private Socket secure() throws IOException {
        final SSLSocket secure = (SSLSocket) server.config().tls().getSocketFactory().createSocket(plain, null, true);
        secure.setNeedClientAuth(server.config().clientCertificate());
        return secure;
    }

    private void handle(final RpcCall call) {
        came++;
        try {
            if (server.calls().isClosed()) {
                throw new RpcException(RpcStatus.SHUTTING_DOWN, "the server is closing", null);
            }
            server.handler().handle(call);
        } catch (final RuntimeException | Error e) {
            call.fail(e);
        }
    }

    private void sayLast(final int code, final String message) {
        final FrameOutput output = out;
        if (output == null || closed) {
            return;
        }
        try {
            output.add(RpcFrame.FAILURE, code, 0, 0, Handshake.failureBody(message));
            output.flush();
            socket.shutdownOutput();
        } catch (final IOException | UnsupportedOperationException e) {
            LOG.log(Logger.Level.DEBUG, "the last word did not reach " + peer, e);
        }
    }

    private synchronized void startWriter() {
        if (writer == null) {
            final Thread fresh =
                Thread.ofPlatform().daemon().name("kvtier-rpc-" + number + "-writer").unstarted(this::write);
            try {
                fresh.start();
                writer = fresh;
            } catch (final OutOfMemoryError e) {
                server.note("there is no thread for the answers of a client; if threads are short, raise ulimit -u",
                    peer, e);
                close();
            }
        }
    }

    private void write() {
        while (!closed) {
            toWrite.acquireUninterruptibly();
            toWrite.drainPermits();
            try {
                out.flush();
            } catch (final IOException e) {
                close();
            }
        }
    }
}
