package io.kvtier.transport.rpc;

import io.kvtier.transport.HandOver;
import io.kvtier.transport.Uninterrupted;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Calls a server over one connection, which is made when it is first needed and made anew when it has broken.
 *
 * <p>A call whose outcome is not known ({@link RpcStatus#isUncertain()}) is not repeated here: only the caller knows
 * whether that may be done. After an attempt to connect has failed the next one waits, longer each time, and callers
 * whose time is over before it fail at once.
 *
 * <p><b>Threading:</b> thread-safe; threads share the connection and do not wait for one another's replies.
 * <b>Blocking:</b> {@link #call} until the reply has come or the time is over; a virtual thread parks, except while it
 * reads for all on a JDK before 24. An interrupt ends no call and is kept.
 */
public final class RpcClient implements AutoCloseable {
    private final RpcClientConfig config;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private volatile ClientConnection connection;
    private boolean connecting;
    private boolean closed;
    private long nextBackoffMs;
    private long notBeforeNanos;
    private RpcException lastFailure;

    /**
     * A client that has not connected yet.
     *
     * @param config where to, and limits.
     */
    public RpcClient(final RpcClientConfig config) {
        this.config = config;
        this.nextBackoffMs = config.backoffMs();
        this.notBeforeNanos = System.nanoTime();
    }

    /**
     * Calls a method.
     *
     * @param method    its number.
     * @param body      its request; not to be changed until this returns.
     * @param timeoutMs milliseconds, connecting included; more than 0.
     * @return its reply.
     * @throws RpcException when it failed, or may have.
     */
    public byte[] call(final int method, final byte[] body, final long timeoutMs) {
        return call(method, body, body.length, timeoutMs);
    }

    /**
     * Calls a method.
     *
     * @param method    its number.
     * @param request   its request; not to be changed until this returns.
     * @param timeoutMs milliseconds, connecting included; more than 0.
     * @return its reply.
     * @throws RpcException when it failed, or may have.
     */
    public byte[] call(final int method, final MessageWriter request, final long timeoutMs) {
        return call(method, request.buffer(), request.length(), timeoutMs);
    }

    private byte[] call(final int method, final byte[] body, final int length, final long timeoutMs) {
        if (timeoutMs < 1) {
            throw new IllegalArgumentException("timeoutMs is " + timeoutMs + "; every call has a limit of at least 1");
        }
        // A virtual thread's is made by one that nobody knows, and so nobody interrupts: the JDK would close its
        // socket.
        return Thread.currentThread().isVirtual()
            ? HandOver.call(Thread::startVirtualThread, () -> callHere(method, body, length, timeoutMs))
            : callHere(method, body, length, timeoutMs);
    }

    private byte[] callHere(final int method, final byte[] body, final int length, final long timeoutMs) {
        final long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
        ClientConnection open = connection;
        long left = timeoutMs;
        if (open == null || open.isBroken()) {
            open = connect(deadline);
            left = Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime()));
        }
        return open.call(method, body, length, left);
    }

    /** Ends the connection: calls under way fail, and so do later ones. A second call does nothing. */
    @Override
    public void close() {
        final ClientConnection open;
        lock.lock();
        try {
            closed = true;
            open = connection;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        if (open != null) {
            open.close(closedException());
        }
    }

    private ClientConnection connect(final long deadline) {
        boolean mine = false;
        lock.lock();
        try {
            while (!mine) {
                if (closed) {
                    throw closedException();
                }
                if (connection != null && !connection.isBroken()) {
                    return connection;
                }
                mine = !connecting && System.nanoTime() - notBeforeNanos >= 0;
                if (!mine) {
                    awaitTurn(deadline);
                }
            }
            connecting = true;
        } finally {
            lock.unlock();
        }
        return open();
    }

    /** Until somebody else has connected, or the pause after a failure is over; not beyond the caller's deadline. */
    private void awaitTurn(final long deadline) {
        final long now = System.nanoTime();
        final long until = connecting ? deadline : notBeforeNanos;
        if (deadline - now <= 0 || until - deadline > 0) {
            throw lastFailure != null ? lastFailure : new RpcException(RpcStatus.TIMEOUT, "no connection to "
                + config.server() + " in time", null);
        }
        Uninterrupted.awaitNanos(changed, until - now);
    }

    private ClientConnection open() {
        ClientConnection fresh = null;
        RpcException failure = null;
        try {
            fresh = ClientConnection.open(config);
            return fresh;
        } catch (final RpcException e) {
            failure = e;
            throw e;
        } finally {
            // Whatever was thrown, the turn is over, or nobody would connect any more.
            endTurn(fresh, failure);
        }
    }

    private void endTurn(final ClientConnection fresh, final RpcException failure) {
        lock.lock();
        try {
            connecting = false;
            changed.signalAll();
            lastFailure = failure;
            if (fresh == null) {
                notBeforeNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(nextBackoffMs);
                nextBackoffMs = Math.min(config.maxBackoffMs(), 2 * nextBackoffMs);
                return;
            }
            nextBackoffMs = config.backoffMs();
            connection = fresh;
            if (closed) {
                fresh.close(closedException());
            }
        } finally {
            lock.unlock();
        }
    }

    private static RpcException closedException() {
        return new RpcException(RpcStatus.DISCONNECTED, "the client is closed", null);
    }
}
