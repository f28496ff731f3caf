package io.kvtier.store.client;

import io.kvtier.store.ConnectConfig;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.wire.RemoteMaster;
import io.kvtier.transport.rpc.RpcClientConfig;
import java.util.UUID;

/** A master that is reached over a connection; waits for work have one of their own, to be ended alone. */
final class RemoteLink implements MasterLink {
    private final RemoteMaster calls;
    private final RemoteMaster waits;

    RemoteLink(final ConnectConfig config) {
        final RpcClientConfig base =
            RpcClientConfig.of(config.masterHost(), config.masterPort(), config.name()).withSecret(config.secret());
        final RpcClientConfig server = config.tls() == null ? base : base.withTls(config.tls());
        calls = new RemoteMaster(server, config.rpcTimeoutMs());
        waits = new RemoteMaster(server, config.rpcTimeoutMs());
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
