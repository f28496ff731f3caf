package io.kvtier.store.client.master;

import io.kvtier.store.ConnectConfig;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.wire.RemoteMaster;
import io.kvtier.transport.rpc.RpcClientConfig;
import java.util.UUID;

/** A master that is reached over a connection; waits for work have one of their own, to be ended alone. */
public final class RemoteLink implements MasterLink {
    private final RemoteMaster calls;
    private final RemoteMaster waits;

    /** Connects with the first call. */
    public RemoteLink(final ConnectConfig config) {
        final ConnectConfig.Security security = config.security();
        final RpcClientConfig base = RpcClientConfig.of(config.master().host(), config.master().port(),
            config.identity().name()).withSecret(security.secret());
        final RpcClientConfig server = security.tls() == null ? base : base.withTls(security.tls());
        calls = new RemoteMaster(server, config.timeouts().rpcMs());
        waits = new RemoteMaster(server, config.timeouts().rpcMs());
    }

    @Override
    public <R> R apply(final Command<R> command) {
        return calls.apply(command);
    }

    @Override
    public PutStartReply putStart(final ObjectCommand.PutStart command, final long waitMs) {
        return calls.putStart(command, waitMs);
    }

    @Override
    public int awaitWork(final UUID clientId, final long timeoutMs) {
        return waits.awaitWork(clientId, timeoutMs);
    }

    @Override
    public void endWaits() {
        waits.close();
    }

    @Override
    public void close() {
        waits.close();
        calls.close();
    }
}
