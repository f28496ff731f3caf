package io.kvtier.store.client;

import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.master.MasterLink;
import io.kvtier.store.client.master.RemoteLink;
import io.kvtier.transport.Closings;
import io.kvtier.transport.rpc.RpcException;
import io.kvtier.transport.rpc.RpcStatus;
import java.io.EOFException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.SocketException;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import org.agrona.CloseHelper;

/**
 * A store that many processes share, as one of them sees it.
 *
 * <p><b>Threading:</b> thread-safe; see {@link ConnectedParts} for its threads. <b>Lifetime:</b> owns what it lends,
 * its servers and connections, and gives everything back once no call is inside.
 */
public final class ConnectedStore extends ClientStore {
    private static final String SILENT =
        "does not answer; start one with 'kvtier master', or name another host and port";

    private final ConnectConfig config;
    private final ConnectedParts all;
    private final ReentrantLock closing = new ReentrantLock();
    /** Guarded by {@code closing}: everything has been given back. */
    private boolean released;

    private ConnectedStore(final ConnectConfig config, final StoreHooks hooks, final ConnectedParts all) {
        super(all.parts(), hooks, config.timeouts().closeMs());
        this.config = config;
        this.all = all;
    }

    /**
     * Joins a store.
     *
     * @param config where the master is, and what is lent.
     * @param hooks  files and environment.
     * @return the store.
     */
    public static ConnectedStore open(final ConnectConfig config, final StoreHooks hooks) {
        return open(config, hooks, new RemoteLink(config));
    }

    /**
     * Joins a store whose master is reached in a way of the caller's.
     *
     * @param config what is lent.
     * @param hooks  files and environment.
     * @param master the master; it is closed with the store, and when this fails.
     * @return the store.
     */
    public static ConnectedStore open(final ConnectConfig config, final StoreHooks hooks, final MasterLink master) {
        try (Closings opened = new Closings()) {
            final ConnectedParts all = opened.keep(new ConnectedParts(config, hooks, master), ConnectedParts::close);
            all.start();
            final ConnectedStore store = new ConnectedStore(config, hooks, all);
            opened.stayOpen();
            return store;
        } catch (final RuntimeException e) {
            throw explained(e, config);
        }
    }

    private static RuntimeException explained(final RuntimeException e, final ConnectConfig config) {
        return e instanceof StoreException known && isUnreachable(known.code())
            ? new StoreException(known.code(), "the master at " + config.master() + ' '
                + why(known.getCause(), config.security().tls() != null) + " ("
                + known.getMessage().substring(known.code().name().length() + 2) + ')', known) : e;
    }

    /** What is wrong, and what to do about it. */
    private static String why(final Throwable cause, final boolean tls) {
        if (cause instanceof RpcException call && call.status() == RpcStatus.UNAUTHENTICATED) {
            return "does not let this client in; give both the same secret";
        }
        if (cause instanceof RpcException call && call.status() == RpcStatus.UNREACHABLE) {
            return switch (call.getCause()) {
                // What the other end refuses may come here, too.
                case SSLHandshakeException e when !String.valueOf(e.getMessage()).contains("Received fatal alert") ->
                    "and this client do not agree on TLS; give this client the certificate that the master's is "
                        + "signed by, and the master that of this client's";
                // The other end's reason is lost when it ends the connection while this one still writes.
                case EOFException e -> ended(tls);
                case SSLException e -> ended(tls);
                case SocketException e when !(e instanceof ConnectException || e instanceof NoRouteToHostException) ->
                    ended(tls);
                case null, default -> SILENT;
            };
        }
        return SILENT;
    }

    private static String ended(final boolean tls) {
        return "ends the connection before this client is in; " + (tls
            ? "it may not trust this client's certificate, or that is out of date: the master's log says so"
            : "if it wants TLS, give this client a certificate");
    }

    private static boolean isUnreachable(final ErrorCode code) {
        return code == ErrorCode.RPC_FAIL || code == ErrorCode.RPC_TIMEOUT;
    }

    /**
     * Where others reach what this client lends, for people.
     *
     * @return addresses of its memory, best first, of its block devices, and of the endpoint through which its disk is
     *         read; empty for a client that lends nothing.
     */
    public List<String> addresses() {
        return all.addresses();
    }

    @Override
    void removed(final ObjectKey key, final long version) {
        // The master tells the owners of disks.
    }

    @Override
    void removedSome() {
        // The master tells the owners of disks.
    }

    @Override
    public void close() {
        parts().gate().close();
        if (parts().file() != null) {
            // Puts that wait for room there look at the gate when they are woken.
            parts().file().lookAgain();
        }
        closing.lock();
        try {
            if (!released) {
                if (!parts().gate().awaitEmpty(config.timeouts().closeMs())) {
                    throw stillRunning("calls", config.timeouts().closeMs());
                }
                release();
            }
        } finally {
            closing.unlock();
        }
    }

    private void release() {
        try {
            CloseHelper.closeAll(async(), regions());
        } finally {
            released = all.close();
        }
        if (!released) {
            throw stillRunning("transfers of the disk or to files", config.timeouts().closeMs());
        }
    }
}
