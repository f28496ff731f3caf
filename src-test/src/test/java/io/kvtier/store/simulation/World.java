package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.WorkKind;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Supplier;

/** What all parts of one run share. */
final class World implements AutoCloseable {
    private static final int KEYS = 9;
    /** So many of them are used for a while, and then others: what nobody uses can be evicted. */
    private static final int KEYS_IN_USE = 5;
    private static final long IN_USE_MS = 1300;
    private static final int OTHERS_ONE_IN = 12;
    /** One more than there are clients: one that is started may have another's. */
    private static final int FILES = 4;

    private final Timeline timeline;
    private final Tally tally = new Tally();
    private final History history = new History(tally);
    private final Set<Rule> rules;
    private final PrintStream trace;
    private final List<ObjectKey> keys = new ArrayList<>();
    private final List<SimulatedClient> clients = new ArrayList<>();
    private final List<SimulatedFile> files = new ArrayList<>();
    private final Map<UUID, Lent> lent = new HashMap<>();
    private final SharedFiles shared;
    private final ValueFolder folder;
    private final SimulatedSnapshots snapshots;
    private final boolean pages;
    private final SimulatedMaster master;
    private final Network network;
    private boolean calm;

    World(final long seed, final Set<Rule> rules, final MasterSettings settings, final PrintStream trace) {
        this.rules = rules;
        this.trace = trace;
        timeline = new Timeline(seed);
        for (int i = 0; i < KEYS; i++) {
            keys.add(ObjectKey.of("key" + i));
        }
        for (int i = 0; i < FILES; i++) {
            files.add(new SimulatedFile(id()));
        }
        pages = settings.pages().isOn();
        shared = new SharedFiles(this, timeline.oneIn(2));
        folder = settings.files().folder().isOn() ? new ValueFolder(this) : null;
        // A cluster without them loses all that its master knew.
        snapshots = timeline.oneIn(3) ? null : new SimulatedSnapshots(this);
        master = new SimulatedMaster(this, settings);
        network = new Network(this);
    }

    Timeline timeline() {
        return timeline;
    }

    Tally tally() {
        return tally;
    }

    History history() {
        return history;
    }

    /** Whether clients keep to a rule. */
    boolean keeps(final Rule rule) {
        return rules.contains(rule);
    }

    List<ObjectKey> keys() {
        return keys;
    }

    ObjectKey anyKey() {
        final int first = timeline.oneIn(OTHERS_ONE_IN) ? timeline.below(KEYS)
            : (int) (timeline.nowUs() / (IN_USE_MS * Timeline.MS)) * (KEYS_IN_USE - 1);
        return keys.get((first + timeline.below(KEYS_IN_USE)) % KEYS);
    }

    List<SimulatedClient> clients() {
        return clients;
    }

    /** A file that nobody has open, mostly the one that is asked for. */
    SimulatedFile freeFile(final SimulatedFile wanted) {
        if (wanted != null && wanted.holder() == null && !timeline.oneIn(4)) {
            return wanted;
        }
        final List<SimulatedFile> free = files.stream().filter(file -> file.holder() == null).toList();
        return free.get(timeline.below(free.size()));
    }

    /** Whether the master has page mode. */
    boolean hasPages() {
        return pages;
    }

    /** The files that all clients mount. */
    SharedFiles shared() {
        return shared;
    }

    /** Where values have files of their own; null when they have none. */
    ValueFolder folder() {
        return folder;
    }

    /** Of the master; null when none are taken. */
    SimulatedSnapshots snapshots() {
        return snapshots;
    }

    SimulatedMaster master() {
        return master;
    }

    Network network() {
        return network;
    }

    /** Whether faults have stopped and clients begin nothing new. */
    boolean isCalm() {
        return calm;
    }

    void calm() {
        calm = true;
    }

    /** A segment that was lent once: the process that lent it, whether it still does or not, and its memory. */
    record Lent(SimulatedClient lender, UUID lenderId, long[] units) {
    }

    /** The way to a segment; null when nobody ever lent it. */
    Lent lent(final UUID segmentId) {
        return lent.get(segmentId);
    }

    void lends(final SimulatedClient client, final UUID segmentId, final long[] units) {
        lent.put(segmentId, new Lent(client, client.id(), units));
    }

    SimulatedClient client(final UUID clientId) {
        return clients.stream().filter(client -> client.id().equals(clientId)).findFirst().orElse(null);
    }

    /** The master has work for a client: it learns so when a call of its that waits for it is answered. */
    void workQueued(final UUID clientId, final WorkKind kind) {
        final SimulatedClient client = client(clientId);
        if (client != null) {
            client.later(timeline.between(0, 2 * Timeline.MS), switch (kind) {
                case GDS_DROPS -> client.files()::wake;
                case PROMOTIONS -> client.pages()::wake;
                case DISK_PROMOTIONS -> client.disk()::promote;
                case KEY_FILES -> client.folder()::wake;
                case OFFLOADS, DROPS, TASKS -> client.disk()::wake;
            });
        }
    }

    UUID id() {
        return new UUID(timeline.between(Long.MIN_VALUE, Long.MAX_VALUE - 1),
            timeline.between(Long.MIN_VALUE, Long.MAX_VALUE - 1));
    }

    void trace(final Supplier<String> line) {
        if (trace != null) {
            trace.printf("%,14d %s%n", timeline.nowUs(), line.get());
        }
    }

    @Override
    public void close() {
        master.close();
    }
}
