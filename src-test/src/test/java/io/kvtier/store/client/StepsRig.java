package io.kvtier.store.client;

import io.kvtier.kit.ManualClock;
import io.kvtier.kit.SteppedFiles;
import io.kvtier.kit.SteppedTransport;
import io.kvtier.kit.Steps;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.EmbeddedMaster;
import io.kvtier.store.master.state.Effects;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.file.PosixTransport;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;

/**
 * A master whose clock a test moves, and a neighbour that lends it memory: what is there beside a client whose steps
 * are numbered. Time stands still unless it is told to pass, so nothing ends by itself.
 */
final class StepsRig implements AutoCloseable {
    static final int UNIT = StoreContract.UNIT;
    /** Of the file. */
    static final int FILE_UNITS = 14;
    static final int MEMORY_UNITS = 8;
    /** So long that no machine is too slow to read within it, since readers count by a clock of their own. */
    static final long LEASE_MS = 1_000_000;
    static final long TTL_MS = 2_000_000;
    private static final long DISCARD_MS = 3_000_000;
    static final long RELEASE_MS = 6_000_000;
    private static final long PATIENCE_MS = 300_000;
    /** Files by the transport that is numbered, and by no other. */
    private static final Environment ENVIRONMENT = Environment.of(Map.of("MC_TENT_CONF",
        "{\"max_failover_attempts\": 0, \"transports\": {\"gds\": {\"enable\": true, \"io_batch_depth\": 128}, "
            + "\"io_uring\": {\"enable\": false}, \"tcp\": {\"enable\": false}}}"));

    private final ManualClock clock = new ManualClock(1_000);
    private final EmbeddedMaster master;
    private final ConnectedStore neighbour;
    private final List<SteppedLink> alive = new ArrayList<>();

    /** A client, and its way to the master. */
    record Client(ConnectedStore store, SteppedLink link) {
    }

    StepsRig() {
        master = new EmbeddedMaster(new MasterSettings(new MasterSettings.Eviction(1, 0, 1, 0, true), LEASE_MS, true,
            1_000, new MasterSettings.Liveness(TTL_MS, DISCARD_MS, RELEASE_MS, 3), MasterSettings.Pins.DEFAULT,
            MasterSettings.Tasks.DEFAULT, false, MasterSettings.Strategy.RANDOM), clock, new Effects() {
                @Override
                public void workQueued(final UUID clientId, final WorkKind kind) {
                    // Announcements are lost.
                }

                @Override
                public void spaceFreed() {
                    // Nobody waits for room.
                }
            });
        neighbour = join(config -> config.name("neighbour").memoryBytes((long) MEMORY_UNITS * UNIT),
            Steps.free()).store();
    }

    /** Whose steps they are, so that those of each are in an order of their own. */
    enum Line {
        /** The thread that calls, and that which moves bytes for it. */
        CALLS,
        /** Writes the index, and what that needs; how much each time is not always the same. */
        INDEX,
        /** Frees what was dropped and asks about what is in doubt. */
        CHORES;

        static String of(final Steps.Kind kind, final String thread) {
            return (thread.equals("kvtier-gds") ? CHORES : thread.equals("kvtier-gds-index")
                || thread.startsWith("kvtier-io") && kind == Steps.Kind.SYNC ? INDEX : CALLS).name();
        }
    }

    private interface Settings {
        ConnectConfig.Builder of(ConnectConfig.Builder config);
    }

    private Client join(final Settings settings, final Steps steps) {
        final SteppedLink link = new SteppedLink(master, steps);
        final SteppedFiles files = new SteppedFiles(steps);
        final ConnectConfig config = settings.of(ConnectConfig.builder("127.0.0.1", 1).putTimeoutMs(0)
            .closeTimeoutMs(PATIENCE_MS).timeouts(PATIENCE_MS, PATIENCE_MS)).build();
        final ConnectedStore store = ConnectedStore.open(config, new StoreHooks(StoreHooks.SYSTEM.clockMs(), files,
            ENVIRONMENT, gds -> new SteppedTransport(TransportKind.GDS, new PosixTransport(files, 1, true), steps)),
            link);
        alive.add(link);
        return new Client(store, link);
    }

    /** A client with a file. */
    Client join(final Path file, final Steps steps) {
        return join(config -> config.name("node").gds(GdsConfig.NONE.withRoom(file, (long) FILE_UNITS * UNIT)
            .withTransport(GdsConfig.Mover.GDS).withWatermarks(1, 0.5).withRemoteReads(false)), steps);
    }

    /** From now on nothing is heard of it. */
    void silence(final SteppedLink link) {
        alive.remove(link);
    }

    /** Lets time pass, in which those that are alive are heard of. */
    void pass(final long ms) {
        for (long left = ms; left > 0; left -= TTL_MS / 2) {
            clock.advance(Math.min(left, TTL_MS / 2));
            alive.forEach(link -> master.apply(link.ping()));
            while (master.apply(new AdminCommand.Tick()).busy()) {
                continue;
            }
        }
    }

    ReadReply query(final ObjectKey key) {
        return master.apply(new ObjectCommand.Query(key));
    }

    MasterStats stats() {
        return master.apply(new AdminCommand.Statistics());
    }

    /** Versions of which there is something that can be read on a medium. */
    Map<ObjectKey, Long> versions(final Collection<ObjectKey> keys, final ReplicaType type) {
        final Map<ObjectKey, Long> found = new HashMap<>();
        for (final ObjectKey key : keys) {
            final ReadReply reply = query(key);
            if (reply.replicas().stream().anyMatch(replica -> replica.type() == type
                && replica.status() == ReplicaStatus.COMPLETE)) {
                found.put(key, reply.version());
            }
        }
        return found;
    }

    /** Where something lies in the file, as the master sees it. */
    List<ReplicaDescriptor.Gds> places(final Collection<ObjectKey> keys) {
        final List<ReplicaDescriptor.Gds> places = new ArrayList<>();
        for (final ObjectKey key : keys) {
            for (final Replica replica : query(key).replicas()) {
                if (replica.descriptor() instanceof ReplicaDescriptor.Gds place) {
                    places.add(place);
                }
            }
        }
        return places;
    }

    /** All files as they are at this moment, elsewhere: what a process leaves that dies now. */
    static void copy(final Path from, final Path to) {
        try (Stream<Path> all = Files.list(from)) {
            Files.createDirectories(to);
            for (final Path file : all.filter(one -> !one.toString().endsWith(".lock")).toList()) {
                Files.copy(file, to.resolve(file.getFileName()));
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            neighbour.close();
        } finally {
            master.close();
        }
    }
}
