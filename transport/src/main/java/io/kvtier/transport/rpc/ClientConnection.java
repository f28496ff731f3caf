package io.kvtier.transport.rpc;

import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;

/**
 * One connection to a server, shared by all threads that call.
 *
 * <p><b>Threading:</b> there is no thread that reads: of those who wait for a reply one holds the lock to read, hands
 * every reply that comes to its caller, and leaves the lock when its own has come; it then wakes another one to read
 * on. So a lone caller reads its reply itself, and no thread is switched. A caller that arrives between finds the lock
 * free, or its call is marked as one that waits before the reader looks for a successor, and is woken. A caller that is
 * still sending is none: a server that waits for its answers to be read may not take what is sent. The JDK closes a
 * socket under a virtual thread that is interrupted, and this one is everybody's: {@link RpcClient} sees to it that
 * none of those which come here is known to anybody. <b>Lifetime:</b> ends with the first error, and when the server
 * does not take a call in the call's time: all calls under way fail, and none is begun.
 */
final class ClientConnection {
    private static final Logger LOG = System.getLogger(ClientConnection.class.getName());
    private static final int MAX_PENDING_CALLS = 64 << 20;
    /** How often it is looked whether who writes still has time: a write to a socket has no limit of its own. */
    private static final long LOOK_MS = 250;

    /** Closed in place of the next one: closing a socket of TLS waits for a thread that is writing to it. */
    private final Socket plain;
    private final String peer;
    private final TimedInput timed;
    private final FrameInput in;
    private final FrameOutput out;
    private final AtomicBoolean watched = new AtomicBoolean();
    private final int maxReply;
    private final int maxRequest;
    private final AtomicLong ids = new AtomicLong();
    private final Map<Long, Call> calls = new ConcurrentHashMap<>();
    private final ReentrantLock readLock = new ReentrantLock();
    private volatile RpcException broken;

    private static final class Call {
        private final Thread caller = Thread.currentThread();
        private byte[] reply;
        private RpcException failure;
        /** Sent, and its caller waits: only such a caller can be woken to read for the others. */
        private volatile boolean waits;
        private volatile boolean done;

        /** The first end counts: a reply that has come is not made a failure by the end of the connection. */
        synchronized void end(final byte[] with, final RpcException error) {
            if (!done) {
                reply = with;
                failure = error;
                done = true;
                LockSupport.unpark(caller);
            }
        }
    }

    /**
     * What comes from a socket while there is time. A socket's own limit is for each read: a peer that sends a byte at
     * a time would never pass it.
     *
     * <p><b>Threading:</b> for who holds the lock to read.
     */
    private static final class TimedInput extends InputStream {
        private final Socket socket;
        private final InputStream in;
        private long deadline;

        TimedInput(final Socket socket, final long deadline) throws IOException {
            this.socket = socket;
            this.in = socket.getInputStream();
            this.deadline = deadline;
        }

        /** Of {@link System#nanoTime()}. */
        void limit(final long to) {
            deadline = to;
        }

        @Override
        public int read() throws IOException {
            final byte[] one = new byte[1];
            return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
        }

        @Override
        public int read(final byte[] to, final int offset, final int length) throws IOException {
            final long left = deadline - System.nanoTime();
            if (left <= 0) {
                throw new SocketTimeoutException("Read timed out");
            }
            socket.setSoTimeout(Math.clamp(TimeUnit.NANOSECONDS.toMillis(left), 1, Integer.MAX_VALUE));
            return in.read(to, offset, length);
        }
    }

    private ClientConnection(final Socket plain, final Socket socket, final RpcClientConfig config,
        final long deadline) throws IOException {
        this.plain = plain;
        this.peer = config.server();
        this.timed = new TimedInput(socket, deadline);
        this.in = new FrameInput(timed);
        this.out = new FrameOutput(socket.getOutputStream(), MAX_PENDING_CALLS);
        this.maxReply = config.maxBodyBytes();
        this.maxRequest = new Handshake(in, out, config.secret(), maxReply).greet(config.name()).maxBody();
    }

    /** Connects; the time limit is for all of it. */
    static ClientConnection open(final RpcClientConfig config) {
        final String peer = config.server();
        final int timeout = (int) Math.min(config.connectTimeoutMs(), Integer.MAX_VALUE);
        final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeout);
        final Socket plain = new Socket();
        // What of TLS is read and written for a handshake has no limit altogether.
        final CompletableFuture<Void> late = CompletableFuture.runAsync(() -> closeQuietly(plain),
            CompletableFuture.delayedExecutor(timeout + LOOK_MS, TimeUnit.MILLISECONDS, Runnable::run));
        try {
            plain.connect(new InetSocketAddress(config.host(), config.port()), timeout);
            plain.setTcpNoDelay(true);
            plain.setKeepAlive(true);
            plain.setSoTimeout(timeout);
            return new ClientConnection(plain, config.tls() == null ? plain : secure(plain, config), config, deadline);
        } catch (final IOException e) {
            final boolean taken = plain.isConnected();
            closeQuietly(plain);
            throw new RpcException(RpcStatus.UNREACHABLE, "cannot connect to " + peer + ": " + reason(taken, e), e);
        } catch (final MalformedMessageException e) {
            closeQuietly(plain);
            throw new RpcException(RpcStatus.MALFORMED, peer + " does not speak this protocol: " + e.getMessage(), e);
        } catch (final RuntimeException | Error e) {
            closeQuietly(plain);
            throw e;
        } finally {
            late.cancel(false);
        }
    }

    private static String reason(final boolean taken, final IOException e) {
        if (e instanceof UnknownHostException) {
            return "the host is not known";
        }
        return taken ? e.getMessage() + "; it took the connection and did not welcome it: if it has too many, or was"
            + " too slow, its log says so; is that its port for calls?" : e.getMessage();
    }

    private static Socket secure(final Socket plain, final RpcClientConfig config) throws IOException {
        final SSLSocket secure =
            (SSLSocket) config.tls().getSocketFactory().createSocket(plain, config.host(), config.port(), true);
        final SSLParameters parameters = secure.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        secure.setSSLParameters(parameters);
        return secure;
    }

    boolean isBroken() {
        return broken != null;
    }

    byte[] call(final int method, final byte[] body, final int length, final long timeoutMs) {
        if (length > maxRequest) {
            throw new RpcException(RpcStatus.TOO_LARGE, "a request of " + length + " bytes; " + peer + " takes "
                + maxRequest, null);
        }
        final long id = ids.incrementAndGet();
        final Call call = new Call();
        calls.put(id, call);
        try {
            final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
            send(id, method, timeoutMs, deadline, body, length);
            await(call, method, timeoutMs, deadline);
        } finally {
            calls.remove(id);
        }
        if (call.failure != null) {
            throw call.failure;
        }
        return call.reply;
    }

    void close(final RpcException why) {
        if (broken == null) {
            broken = why;
        }
        closeQuietly(plain);
        calls.values().forEach(call -> call.end(null, broken));
    }

    private void send(final long id, final int method, final long timeoutMs, final long deadline, final byte[] body,
        final int length) {
        if (!out.add(RpcFrame.CALL, method, id, timeoutMs, body, length)) {
            throw new RpcException(RpcStatus.BUSY, peer + " does not take the calls that wait to be sent", null);
        }
        boolean sent = true;
        try {
            sent = out.flush(deadline, this::watch);
        } catch (final IOException e) {
            close(disconnected(e));
        }
        if (broken != null) {
            throw broken;
        }
        if (!sent) {
            throw new RpcException(RpcStatus.TIMEOUT, peer + " did not take method " + method + " within " + timeoutMs
                + " ms", null);
        }
    }

    private void watch() {
        if (!watched.get() && watched.compareAndSet(false, true)) {
            lookLater();
        }
    }

    private void lookLater() {
        CompletableFuture.delayedExecutor(LOOK_MS, TimeUnit.MILLISECONDS, Runnable::run).execute(this::look);
    }

    private void look() {
        if (out.isLate()) {
            close(new RpcException(RpcStatus.DISCONNECTED, "the connection to " + peer
                + " ended: it did not take a call in the call's time", null));
        } else if (out.isLimited()) {
            lookLater();
        } else {
            watched.set(false);
            if (out.isLimited()) {
                watch();
            }
        }
    }

    private void await(final Call call, final int method, final long timeoutMs, final long deadline) {
        boolean interrupted = false;
        call.waits = true;
        while (!call.done) {
            final long left = deadline - System.nanoTime();
            if (left <= 0) {
                break;
            }
            if (readLock.tryLock()) {
                try {
                    readUntilDone(call, deadline);
                } finally {
                    readLock.unlock();
                }
                wakeAnother(call);
            } else {
                LockSupport.parkNanos(this, left);
                interrupted |= Thread.interrupted();
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        if (!call.done) {
            // It may have been woken to read on just when its own time was over.
            wakeAnother(call);
            throw new RpcException(RpcStatus.TIMEOUT, peer + " did not answer method " + method + " within " + timeoutMs
                + " ms", null);
        }
    }

    private void readUntilDone(final Call call, final long deadline) {
        timed.limit(deadline);
        try {
            while (!call.done && broken == null) {
                in.next(maxReply);
                receive();
            }
        } catch (final SocketTimeoutException e) {
            LOG.log(Logger.Level.TRACE, "a caller has waited enough; another one reads on");
        } catch (final IOException e) {
            close(disconnected(e));
        } catch (final MalformedMessageException e) {
            close(new RpcException(RpcStatus.MALFORMED, peer + " sent what is no frame: " + e.getMessage(), e));
        } catch (final RpcException e) {
            close(e);
        }
    }

    private RpcException disconnected(final IOException why) {
        return new RpcException(RpcStatus.DISCONNECTED, "the connection to " + peer + " ended: " + why.getMessage(),
            why);
    }

    private void receive() {
        final boolean failed = in.type() == RpcFrame.FAILURE;
        if (failed && in.id() == 0) {
            throw Handshake.failure(in);
        }
        if (!failed && in.type() != RpcFrame.REPLY) {
            throw new RpcException(RpcStatus.MALFORMED, peer + " sent a frame of type " + in.type()
                + "; a server sends replies and failures", null);
        }
        final Call call = calls.get(in.id());
        if (call != null) {
            call.end(failed ? null : in.takeBody(), failed ? Handshake.failure(in) : null);
        }
    }

    /** Lets one of the others who wait look for the lock to read; the caller's own call may still be in the map. */
    private void wakeAnother(final Call own) {
        for (final Call call : calls.values()) {
            if (call != own && call.waits && !call.done) {
                LockSupport.unpark(call.caller);
                return;
            }
        }
    }

    private static void closeQuietly(final Socket socket) {
        try {
            socket.close();
        } catch (final IOException e) {
            LOG.log(Logger.Level.DEBUG, "a socket could not be closed", e);
        }
    }
}
