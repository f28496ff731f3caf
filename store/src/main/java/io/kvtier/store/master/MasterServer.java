package io.kvtier.store.master;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.metrics.RequestMetrics;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.wire.Failures;
import io.kvtier.store.protocol.wire.Request;
import io.kvtier.store.protocol.wire.WireCodec;
import io.kvtier.store.protocol.wire.WriterPool;
import io.kvtier.store.snapshot.SnapshotService;
import io.kvtier.transport.rpc.MessageWriter;
import io.kvtier.transport.rpc.RpcCall;
import io.kvtier.transport.rpc.RpcException;
import io.kvtier.transport.rpc.RpcHandler;
import io.kvtier.transport.rpc.RpcServer;
import io.kvtier.transport.rpc.RpcServerConfig;
import io.kvtier.transport.rpc.RpcStatus;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;

/**
 * A master that clients reach over the network: decodes calls, gives them to a {@link Conductor}, encodes its answers.
 *
 * <p><b>Threading:</b> thread-safe; threads are those of {@link RpcServer} and {@link Conductor}. <b>Lifetime:</b>
 * {@link #close()} stops listening, answers what is under way and frees the state.
 */
public final class MasterServer implements AutoCloseable {
    /** Longest wait for work; a client asks again. */
    private static final long MAX_WAIT_MS = 60_000;
    /** What a client takes of a reply: more would be gathered for nobody. */
    private static final int MAX_REPLY_BYTES = 64 << 20;

    private final WireCodec codec = new WireCodec();
    private final WriterPool writers = new WriterPool(MAX_REPLY_BYTES);
    private final Conductor conductor;
    private final RequestMetrics requests;
    private Snapshots snapshots;
    private RpcServer server;

    private MasterServer(final Conductor conductor, final RequestMetrics requests) {
        this.conductor = conductor;
        this.requests = requests;
    }

    /**
     * Starts with an empty state.
     *
     * @param config   where to listen, and limits.
     * @param settings what the state is told once.
     * @param requests counts the commands that come in calls.
     * @return the server, listening.
     * @throws IOException when the address cannot be bound, naming it.
     */
    public static MasterServer start(final RpcServerConfig config, final MasterSettings settings,
        final RequestMetrics requests) throws IOException {
        // Grows from start to start, also on another machine: versions of an earlier master are smaller than ours.
        return start(config, settings, requests, SnapshotPlan.none(System.currentTimeMillis()));
    }

    /**
     * Starts with an empty state, or with one that is restored.
     *
     * @param config   where to listen, and limits.
     * @param settings what the state is told once.
     * @param requests counts the commands that come in calls.
     * @param plan     whether a snapshot is restored, and whether some are taken.
     * @return the server, listening.
     * @throws IOException when the address cannot be bound, naming it.
     */
    public static MasterServer start(final RpcServerConfig config, final MasterSettings settings,
        final RequestMetrics requests, final SnapshotPlan plan) throws IOException {
        final Conductor conductor = new Conductor(plan.begin(settings,
            () -> TimeUnit.NANOSECONDS.toMillis(System.nanoTime())), Conductor.Limits.DEFAULT);
        final MasterServer master = start(config, conductor, requests);
        master.snapshots = plan.snapshots(conductor);
        if (master.snapshots != null) {
            master.snapshots.start();
        }
        return master;
    }

    /**
     * Starts with an empty state, and counts for nobody.
     *
     * @param config   where to listen, and limits.
     * @param settings what the state is told once.
     * @return the server, listening.
     * @throws IOException when the address cannot be bound, naming it.
     */
    public static MasterServer start(final RpcServerConfig config, final MasterSettings settings) throws IOException {
        return start(config, settings, new RequestMetrics());
    }

    static MasterServer start(final RpcServerConfig config, final Conductor conductor) throws IOException {
        return start(config, conductor, new RequestMetrics());
    }

    static MasterServer start(final RpcServerConfig config, final Conductor conductor, final RequestMetrics requests)
        throws IOException {
        final MasterServer master = new MasterServer(conductor, requests);
        conductor.start();
        try {
            master.server = RpcServer.start(config, master.handler());
        } catch (final IOException | RuntimeException | Error e) {
            conductor.close();
            throw e;
        }
        return master;
    }

    /**
     * Where it listens.
     *
     * @return the address with the port that was really taken.
     */
    public InetSocketAddress address() {
        return server.address();
    }

    /**
     * The master without a network between.
     *
     * @return applies commands of this process.
     */
    public Master master() {
        return conductor;
    }

    /**
     * Its snapshots.
     *
     * @return takes some, and tells of them; null when this master takes none.
     */
    public SnapshotService snapshots() {
        return snapshots;
    }

    /**
     * How many clients there are.
     *
     * @return connections, those in their handshake included.
     */
    public int connections() {
        return server.connections();
    }

    /**
     * From now on ends connections that are idle. Called once.
     *
     * @param idleMs milliseconds, at least 1, without a call that comes or is under way.
     */
    public void endIdle(final long idleMs) {
        server.endIdle(idleMs);
    }

    /**
     * Stops listening, answers what is under way, takes a last snapshot where some are taken, frees the state. A second
     * call does nothing.
     */
    @Override
    public void close() {
        // Those who wait for room or work would keep the server from ending.
        conductor.endWaits();
        server.close();
        final Snapshots last = snapshots;
        snapshots = null;
        if (last != null) {
            last.close();
        }
        conductor.close();
    }

    private RpcHandler handler() {
        return new RpcHandler() {
            @Override
            public void handle(final RpcCall call) {
                MasterServer.this.handle(call);
            }

            @Override
            public void disconnected(final long connection) {
                conductor.disconnected(connection);
            }
        };
    }

    private void handle(final RpcCall call) {
        final Entry entry;
        try {
            if (call.method() == WireCodec.AWAIT_WORK) {
                entry = new Wait(call, codec.readAwaitWork(call.takeBody()));
            } else {
                entry = command(call, codec.readRequest(call.method(), call.takeBody()));
            }
        } catch (final StoreException e) {
            throw Failures.sent(e);
        }
        if (!conductor.submit(entry)) {
            throw new RpcException(RpcStatus.BUSY, "the master has too many commands waiting", null);
        }
    }

    private <R> Entry command(final RpcCall call, final Request<R> request) {
        if (request.command() instanceof Batch<?> batch) {
            batch.items().forEach(MasterServer::checkRemote);
            batch.items().forEach(MasterServer::checkSmall);
        } else {
            checkRemote(request.command());
        }
        return new Exchange<>(call, request);
    }

    /**
     * Holds are for readers in the master's own process. One of a client that dies would never end, and a client that
     * ends one it does not have would end somebody else's.
     */
    private static void checkRemote(final Command<?> command) {
        if (command instanceof ObjectCommand.ReadDone
            || command instanceof ObjectCommand.ReadStart read && read.hold()) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE,
                "a replica cannot be held from another process; read under the lease that the answer gives");
        }
    }

    /**
     * A batch is applied with nobody between. What may take long by itself, like a look at all keys, would stop the
     * master for everybody else for that thousands of times over; nobody needs it, and a client never sends it.
     */
    private static void checkSmall(final Command<?> command) {
        if (!(command instanceof ObjectCommand<?>) || command instanceof ObjectCommand.Find
            || command instanceof ObjectCommand.RemoveMatching || command instanceof ObjectCommand.ReplicaClear) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "commands of type " + command.getClass().getSimpleName()
                + " cannot be in a batch");
        }
    }

    /** A command that came in a call. */
    private final class Exchange<R> extends CommandEntry<R> {
        private final RpcCall call;
        private final long beganNs = System.nanoTime();

        Exchange(final RpcCall call, final Request<R> request) {
            super(request.command(), request.waitMs());
            this.call = call;
        }

        @Override
        boolean isLate() {
            return call.isLate();
        }

        @Override
        long connection() {
            return call.connection();
        }

        @Override
        public void deliver() {
            final long took = System.nanoTime() - beganNs;
            if (wasLate() || refusal() != null) {
                requests.refused(command(), took);
            } else {
                requests.answered(command(), reply(), took);
            }
            if (wasLate()) {
                call.fail(new RpcException(RpcStatus.LATE, "the time limit was over before it was begun", null));
            } else if (refusal() != null) {
                call.fail(Failures.sent(refusal()));
            } else {
                answer();
            }
        }

        private void answer() {
            final MessageWriter writer = writers.take();
            try {
                codec.writeReply(command(), reply(), writer);
                call.reply(writer);
                writers.give(writer);
            } catch (final RuntimeException | Error e) {
                call.fail(e);
            }
        }
    }

    /** A wait for work that came in a call. */
    private final class Wait extends AwaitEntry {
        private final RpcCall call;

        Wait(final RpcCall call, final WireCodec.AwaitWork wait) {
            super(wait.clientId(), Math.min(wait.timeoutMs(), MAX_WAIT_MS));
            this.call = call;
        }

        @Override
        long connection() {
            return call.connection();
        }

        @Override
        public void deliver() {
            final MessageWriter writer = writers.take();
            WireCodec.writeWork(kinds(), writer);
            call.reply(writer);
            writers.give(writer);
        }
    }
}
