package io.kvtier.store.cli.bench;

import io.kvtier.store.ConnectConfig;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.Store;
import io.kvtier.store.client.ConnectedStore;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.master.MasterLink;
import io.kvtier.store.client.master.RemoteLink;
import io.kvtier.store.master.MasterServer;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.DiskCommand.FetchOffloads;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.transport.HostPort;
import io.kvtier.transport.rpc.RpcServerConfig;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * What a store would be whose offloads begin by a timer, as with Mooncake's heartbeat, and not when memory is wanted:
 * at each tick the store is given what has been queued by then, and nothing until the next one, however many puts wait.
 *
 * <p><b>Threading:</b> {@link #period} by any thread.
 */
final class OffloadTimer {
    /** Of Mooncake's heartbeat. */
    static final int PERIOD_SECONDS = 10;
    /** Short measurements are for tests, which are not to wait for it. */
    private static final int MOST_MEASUREMENTS = 5;
    /** Nobody reads values for longer, and room of what is removed is to be free soon. */
    private static final long LEASE_MS = 100;

    private volatile long periodNanos = TimeUnit.SECONDS.toNanos(PERIOD_SECONDS);

    /** Says how long a measurement is. */
    void period(final long measurementNanos) {
        periodNanos = Math.min(TimeUnit.SECONDS.toNanos(PERIOD_SECONDS), MOST_MEASUREMENTS * measurementNanos);
    }

    /** Between two ticks. */
    long periodNanos() {
        return periodNanos;
    }

    /**
     * A master of this process behind RPC, and a store that lends it memory and has a disk.
     *
     * @param rig         keeps them.
     * @param folder      of the disk.
     * @param memoryBytes that it lends.
     * @param diskBytes   of the disk.
     * @param timer       by which it offloads; null for by pressure.
     * @return the store.
     */
    static Store connect(final Rig rig, final Path folder, final long memoryBytes, final long diskBytes,
        final OffloadTimer timer) throws IOException {
        final MasterServer master = rig.keep(MasterServer.start(RpcServerConfig.loopback(0),
            MasterHost.settings(LEASE_MS)), MasterServer::close);
        final ConnectConfig config =
            ConnectConfig.builder(HostPort.parse(HostPort.of(null, master.address()).toString())).gds(GdsConfig.NONE)
                .memoryBytes(memoryBytes).shm(false).disk(folder, diskBytes).diskWatermarks(1, 1)
                .timeouts(MasterProgram.TIMEOUT_MS, MasterProgram.TIMEOUT_MS).build();
        final RemoteLink link = new RemoteLink(config);
        return rig.keep(ConnectedStore.open(config, StoreHooks.SYSTEM, timer == null ? link
            : new Timed(link, timer, master.master())), Store::close);
    }

    /** Keeps offloads back between ticks. Fetched by the store's offloader alone, awaited by another thread of it. */
    private static final class Timed implements MasterLink {
        /** All that is queued. */
        private static final long ALL_BYTES = 1L << 40;

        private static final AdminCommand.Evict EVERYTHING = new AdminCommand.Evict(1, 1);

        private final MasterLink real;
        private final OffloadTimer timer;
        private final Master master;
        private final ArrayDeque<OffloadTask> given = new ArrayDeque<>();
        private volatile boolean due;
        private long lastTick = System.nanoTime();

        Timed(final MasterLink real, final OffloadTimer timer, final Master master) {
            this.real = real;
            this.timer = timer;
            this.master = master;
        }

        @Override
        @SuppressWarnings("unchecked") // The command names the type of its answer.
        public <R> R apply(final Command<R> command) {
            return command instanceof FetchOffloads fetch ? (R) fetch(fetch) : real.apply(command);
        }

        private List<OffloadTask> fetch(final FetchOffloads fetch) {
            // Not before what was given has been asked for: the master names first what is not answered.
            if (due && given.isEmpty()) {
                due = false;
                // By then Mooncake's eviction, which goes on as long as memory is full, has queued all there is.
                master.apply(EVERYTHING);
                given.addAll(real.apply(new FetchOffloads(fetch.clientId(), ALL_BYTES)));
            }
            final List<OffloadTask> next = new ArrayList<>();
            long bytes = 0;
            while (!given.isEmpty() && (next.isEmpty() || bytes < fetch.maxBytes())) {
                bytes += given.peek().source().size();
                next.add(given.remove());
            }
            return next;
        }

        @Override
        public PutStartReply putStart(final ObjectCommand.PutStart command, final long waitMs) {
            return real.putStart(command, waitMs);
        }

        @Override
        public int awaitWork(final UUID clientId, final long timeoutMs) {
            final long leftMs =
                TimeUnit.NANOSECONDS.toMillis(lastTick + timer.periodNanos() - System.nanoTime());
            final int work = real.awaitWork(clientId, Math.clamp(leftMs, 1, timeoutMs));
            if (System.nanoTime() - lastTick < timer.periodNanos()) {
                return work;
            }
            lastTick = System.nanoTime();
            due = true;
            return work | WorkKind.OFFLOADS.bit();
        }

        @Override
        public void endWaits() {
            real.endWaits();
        }

        @Override
        public void close() {
            real.close();
        }
    }
}
