package io.kvtier.store.client;

import io.kvtier.bindings.NativeAccess;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.transport.Gate;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import org.agrona.CloseHelper;
import org.agrona.concurrent.UnsafeBuffer;

/**
 * A store that many processes share, as one of them sees it.
 *
 * <p><b>Threading:</b> thread-safe; see {@link ConnectedParts} for its threads. <b>Lifetime:</b> owns what it lends,
 * its servers and connections, and gives everything back once no call is inside.
 */
public final class ConnectedStore extends ClientStore {
    private final ConnectConfig config;
    private final ConnectedParts all;
    private final ReentrantLock closing = new ReentrantLock();
    /** Guarded by {@code closing}: everything has been given back. */
    private boolean released;

    private ConnectedStore(final ConnectConfig config, final ConnectedParts all) {
        super(all.parts());
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

    /** Over a given master; it is closed with the store, and when this fails. */
    static ConnectedStore open(final ConnectConfig config, final StoreHooks hooks, final MasterLink master) {
        final ConnectedParts all;
        try {
            NativeAccess.require(UnsafeBuffer.class);
            all = new ConnectedParts(config, master, new Gate());
        } catch (final RuntimeException e) {
            CloseHelper.quietClose(master);
            throw e;
        }
        try {
            all.open(hooks);
            return new ConnectedStore(config, all);
        } catch (final RuntimeException e) {
            CloseHelper.quietClose(all::close);
            throw explained(e, config);
        }
    }

    private static RuntimeException explained(final RuntimeException e, final ConnectConfig config) {
        return e instanceof StoreException known && isUnreachable(known.code())
            ? new StoreException(known.code(), "the master at " + config.masterHost() + ':' + config.masterPort()
                + " does not answer; start one with 'kvtier master', or name another host and port ("
                + known.getMessage().substring(known.code().name().length() + 2) + ')', known) : e;
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
        closing.lock();
        try {
            if (!released) {
                if (!parts().gate().awaitEmpty(config.closeTimeoutMs())) {
                    throw stillRunning("calls", config.closeTimeoutMs());
                }
                async().close();
                if (!all.close()) {
                    throw stillRunning("disk transfers", config.closeTimeoutMs());
                }
                released = true;
            }
        } finally {
            closing.unlock();
        }
    }
}
