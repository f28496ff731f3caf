package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.config.MasterSettings.Eviction;
import io.kvtier.store.config.MasterSettings.FileReplicas;
import io.kvtier.store.config.MasterSettings.Liveness;
import io.kvtier.store.config.MasterSettings.Pages;
import io.kvtier.store.config.MasterSettings.Pins;
import io.kvtier.store.config.MasterSettings.Promotion;
import io.kvtier.store.config.MasterSettings.Strategy;
import io.kvtier.store.config.MasterSettings.Tasks;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.simulation.Tally.Kind;
import java.io.PrintStream;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;

/** One run: clients at work while things go wrong, then peace, then everything is removed and nothing may be left. */
final class Simulation {
    private static final int CLIENTS = 3;
    private static final int HOSTS = 3;
    private static final long BUSY_MS = 12_000;
    /** Longer than anything that was left behind is waited for. */
    private static final long REST_MS = Times.RELEASE + Times.TTL + 2 * Times.LEASE + 1000;

    private final World world;

    private Simulation(final World world) {
        this.world = world;
    }

    /**
     * Runs one seed.
     *
     * @param trace where everything that happens is written; null for nowhere.
     * @return what happened.
     * @throws Violation when something happened that must not.
     */
    static Tally run(final long seed, final Set<Rule> rules, final PrintStream trace) {
        try (World world = new World(seed, rules, settings(seed), trace)) {
            new Simulation(world).run();
            world.master().stop();
            return world.tally();
        } catch (final Violation e) {
            throw e;
        } catch (final RuntimeException e) {
            throw new IllegalStateException("seed " + seed + ": " + e, e);
        }
    }

    private static MasterSettings settings(final long seed) {
        final Strategy[] strategies = Strategy.values();
        return new MasterSettings(new Eviction(0.9, 0.2, 0.9, 0.2, true), Times.LEASE, true, Times.DISK_RETRY,
            new Liveness(Times.TTL, Times.DISCARD, Times.RELEASE, 3), Pins.DEFAULT, Tasks.DEFAULT, false,
            strategies[Math.floorMod(seed, strategies.length)]).withPages(pages(seed)).withFiles(folder(seed));
    }

    /** In one of three seeds values get files of their own. */
    private static FileReplicas folder(final long seed) {
        return seed % 3 == 1 ? new FileReplicas(ValueFolder.FOLDER, ValueFolder.QUOTA, true) : FileReplicas.NONE;
    }

    /** Without page mode in one of five seeds: there each client's own disk is filled. */
    private static Pages pages(final long seed) {
        return seed % 5 == 0 ? Pages.OFF : new Pages(SharedFiles.LAYOUT, "simulated", 0.9, 0.3, seed % 7 < 4,
            new Promotion(true, 2, 6));
    }

    private void run() {
        for (int i = 0; i < CLIENTS; i++) {
            final SimulatedClient client = new SimulatedClient(world, "client" + i, world.timeline().below(HOSTS));
            world.clients().add(client);
            client.start();
        }
        nextFault();
        until(BUSY_MS);
        world.calm();
        world.trace(() -> "faults have stopped");
        world.clients().forEach(this::mend);
        if (!world.master().isUp()) {
            world.master().start();
        }
        until(REST_MS);
        checkAtRest();
        world.clients().forEach(client -> world.keys().forEach(key -> new GetFlow(client, key, () -> { }).start()));
        until(Times.TTL);
        world.clients().forEach(this::checkFile);
        checkFolder();
        removeAll();
        until(REST_MS);
        checkEmpty();
        checkFolder();
    }

    private void until(final long forMs) {
        final long end = world.timeline().nowUs() + forMs * Timeline.MS;
        while (world.timeline().step(end)) {
            world.tally().count(Kind.EVENTS);
        }
    }

    private void mend(final SimulatedClient client) {
        client.resume();
        if (!client.isAlive()) {
            client.start();
        }
    }

    // ---- faults

    private void nextFault() {
        world.timeline().in(world.timeline().between(150, 1200) * Timeline.MS, () -> {
            if (!world.isCalm()) {
                fault();
                nextFault();
            }
        });
    }

    private void fault() {
        final SimulatedClient client = world.clients().get(world.timeline().below(CLIENTS));
        final int what = world.timeline().below(20);
        if (what == 0) {
            restartMaster();
        } else if (!client.isAlive() || client.isPaused()) {
            world.trace(() -> client.name() + ": has trouble already");
        } else if (what < 5) {
            client.kill();
            world.timeline().in(world.timeline().between(20, 2000) * Timeline.MS, () -> mend(client));
        } else {
            final long ms = what < 14 ? world.timeline().between(20, 700)
                : what < 19 ? world.timeline().between(900, 2500) : Times.RELEASE + world.timeline().between(0, 1500);
            if (ms > Times.TTL) {
                world.tally().count(Kind.PAUSES_BEYOND_TTL);
            }
            if (ms > Times.RELEASE) {
                world.tally().count(Kind.PAUSES_BEYOND_RELEASE);
            }
            client.pause();
            final long life = client.life();
            world.timeline().in(ms * Timeline.MS, () -> {
                if (client.life() == life) {
                    client.resume();
                }
            });
        }
    }

    private void restartMaster() {
        if (!world.master().isUp()) {
            return;
        }
        world.tally().count(Kind.MASTER_RESTARTS);
        if (world.timeline().oneIn(4)) {
            world.trace(() -> "master: ended");
            world.master().end();
        } else {
            world.trace(() -> "master: killed");
            world.master().stop();
        }
        world.timeline().in(world.timeline().between(5, 500) * Timeline.MS, () -> {
            if (!world.master().isUp()) {
                world.trace(() -> "master: started anew");
                world.master().start();
            }
        });
    }

    // ---- the end

    private void checkAtRest() {
        final MasterStats stats = world.master().look(new AdminCommand.Statistics());
        none("writes are pending", stats.pendingWrites(), stats);
        none("promotions are active", stats.activePromotions(), stats);
        none("replicas are held", stats.heldReplicas(), stats);
        none("offloads are pending", stats.offloadsPending(), stats);
        none("writes to pages are pending", stats.pages().writing(), stats);
        final List<SegmentCommand.SegmentInfo> segments = world.master().look(new SegmentCommand.Segments());
        if (segments.stream().anyMatch(segment -> segment.status() == SegmentCommand.Status.UNMOUNTING)) {
            throw new Violation("segments are still to be swept: " + segments);
        }
        final Set<UUID> known =
            segments.stream().map(SegmentCommand.SegmentInfo::segmentId).collect(Collectors.toSet());
        for (final SimulatedClient client : world.clients()) {
            if (!known.containsAll(client.locality().segments())) {
                throw new Violation("the master does not know of memory that " + client.name() + " has lent: "
                    + client.locality().segments() + "; it knows " + known);
            }
        }
    }

    /** An owner and the master say the same of a file: nothing in it is held by nobody, or in doubt. */
    private void checkFile(final SimulatedClient client) {
        final Set<String> owned = new TreeSet<>();
        for (final FileOwner.Room room : client.files().rooms()) {
            owned.add(room.toString());
        }
        final Set<String> known = new TreeSet<>();
        for (final ObjectKey key : world.keys()) {
            final ReadReply object = world.master().look(new ObjectCommand.Query(key));
            for (final Replica replica : object.replicas()) {
                if (replica.descriptor() instanceof ReplicaDescriptor.Gds place
                    && place.ownerClientId().equals(client.id())) {
                    known.add(FileOwner.described(key, object.version(), place, replica.id()));
                }
            }
        }
        if (!owned.equals(known)) {
            throw new Violation("when nothing is under way, " + client.name() + " has in its file " + owned
                + ", and the master " + known);
        }
    }

    private void checkFolder() {
        if (world.folder() != null) {
            world.folder().checkAtRest();
        }
    }

    private void removeAll() {
        long cursor = 0;
        while (cursor != ObjectCommand.FindReply.END) {
            cursor = world.master().apply(new ObjectCommand.RemoveMatching("", "", true, cursor)).reply().cursor();
        }
    }

    private void checkEmpty() {
        final MasterStats stats = world.master().look(new AdminCommand.Statistics());
        none("objects", stats.objects(), stats);
        none("bytes are used", stats.memoryUsed(), stats);
        none("memory replicas", stats.memoryReplicas(), stats);
        none("replicas are held", stats.heldReplicas(), stats);
        none("disk replicas", stats.diskReplicas(), stats);
        none("offloads are pending", stats.offloadsPending(), stats);
        none("bytes are used in files", stats.gds().used(), stats);
        none("replicas in files", stats.gds().replicas(), stats);
        none("bytes are used in shared files", stats.pages().used(), stats);
        none("replicas in shared files", stats.pages().replicas(), stats);
        none("values wait to be promoted", stats.pages().hot().waiting(), stats);
        for (final SimulatedClient client : world.clients()) {
            if (!client.files().rooms().isEmpty() || !client.files().file().stored().isEmpty()) {
                throw new Violation("when nothing should be left, the file of " + client.name() + " has "
                    + client.files().rooms() + ", and its index " + client.files().file().stored());
            }
            if (!client.disk().values().isEmpty()) {
                throw new Violation("when nothing should be left, the disk of " + client.name() + " has "
                    + client.disk().values());
            }
        }
    }

    private static void none(final String what, final long count, final MasterStats stats) {
        if (count != 0) {
            throw new Violation(count + " " + what + " when nothing should be left: " + stats);
        }
    }
}
