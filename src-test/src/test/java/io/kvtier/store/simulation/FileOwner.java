package io.kvtier.store.simulation;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.AdoptGdsReplicas;
import io.kvtier.store.protocol.GdsCommand.GdsDrop;
import io.kvtier.store.protocol.GdsCommand.GdsStorageSpec;
import io.kvtier.store.protocol.GdsCommand.GdsValue;
import io.kvtier.store.protocol.GdsCommand.Settlement;
import io.kvtier.store.protocol.GdsCommand.UnsettledExtent;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.replica.Locality;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.simulation.Tally.Kind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * A process's part in a file for GDS replicas: it allocates there, offers what it finds and what it writes to the
 * master, frees what the master drops, asks about what is in doubt, and writes an index behind all that.
 *
 * <p>What is said of rooms here dies with the process; what the {@link SimulatedFile} has stays.
 */
final class FileOwner {
    private static final int UNIT = SimulatedClient.UNIT;
    private static final int BATCH = 3;
    private static final int ANEW_ONE_IN = 8;
    private static final long IDLE_MS = 120;
    private static final long AGAIN_MS = 20;

    private final World world;
    private final SimulatedClient client;
    private final Map<Integer, Room> rooms = new TreeMap<>();
    /** Who waits until what was dropped has been fetched. */
    private final List<Runnable> fetchers = new ArrayList<>();
    private SimulatedFile file;
    private int mounts;
    private boolean mounted;
    private boolean fetching;
    private boolean busy;
    private boolean woken;
    private long dropsDone;

    /** How far a room is. */
    enum State {
        RESERVED, OFFERED, ACCEPTED, UNSETTLED, RECOVERED, COMMITTED, DROPPED
    }

    /** An extent. */
    static final class Room {
        private final ObjectKey key;
        private final int first;
        private final int count;
        private final Set<Long> drops = new HashSet<>();
        private State state;
        private int mounts;
        private int leases;
        private boolean named;
        private boolean written;
        private boolean inIndex;
        private long version;
        private long replicaId;

        Room(final ObjectKey key, final int first, final int count, final State state) {
            this.key = key;
            this.first = first;
            this.count = count;
            this.state = state;
        }

        int first() {
            return first;
        }

        int count() {
            return count;
        }

        State state() {
            return state;
        }

        boolean isAccepted() {
            return state == State.ACCEPTED;
        }

        /** Whether the master may have it, though it was not heard to say so. */
        boolean isDoubtful() {
            return state == State.OFFERED;
        }

        private void name(final long itsVersion, final long itsReplicaId) {
            named = true;
            version = itsVersion;
            replicaId = itsReplicaId;
        }

        private boolean isGoneWith(final long itsReplicaId) {
            return named && (replicaId == itsReplicaId
                || itsReplicaId > replicaId && (state == State.COMMITTED || state == State.RECOVERED));
        }

        private boolean isDropped() {
            return named && drops.contains(replicaId);
        }

        private boolean isReadable() {
            return switch (state) {
                case COMMITTED, RECOVERED -> true;
                case ACCEPTED, UNSETTLED -> written && !isDropped();
                case RESERVED, OFFERED, DROPPED -> false;
            };
        }

        private SimulatedFile.Stored stored() {
            return new SimulatedFile.Stored(key, version, first, count, replicaId);
        }

        /** Whether a reader who comes with this from the master finds it here. */
        boolean holds(final ObjectKey itsKey, final long itsVersion, final ReplicaDescriptor.Gds place) {
            return key.equals(itsKey) && version == itsVersion && place.valueOffset() == (long) first * UNIT
                && place.allocatedSize() == (long) count * UNIT;
        }

        @Override
        public String toString() {
            return described(key, version, first, count, replicaId, state);
        }
    }

    /** As a room that is committed tells of itself. */
    static String described(final ObjectKey key, final long version, final ReplicaDescriptor.Gds place,
        final long replicaId) {
        return described(key, version, (int) (place.valueOffset() / UNIT), (int) (place.allocatedSize() / UNIT),
            replicaId, State.COMMITTED);
    }

    private static String described(final ObjectKey key, final long version, final int first, final int count,
        final long replicaId, final State state) {
        return key + " version " + version + " in " + first + " to " + (first + count) + " as " + replicaId + ", "
            + state;
    }

    FileOwner(final World world, final SimulatedClient client) {
        this.world = world;
        this.client = client;
    }

    /** A new life of its process: it opens a file that nobody has open, and finds what the index says. */
    void start() {
        rooms.clear();
        fetchers.clear();
        mounts = 0;
        mounted = false;
        fetching = false;
        busy = false;
        woken = false;
        dropsDone = 0;
        final SimulatedFile last = file;
        file = world.freeFile(last);
        if (last != null && file != last) {
            world.tally().count(Kind.FILES_TAKEN_OVER);
        }
        file.open(client);
        if (world.timeline().oneIn(ANEW_ONE_IN)) {
            world.tally().count(Kind.FILES_ANEW);
            file.makeAnew();
        }
        for (final SimulatedFile.Stored stored : file.stored()) {
            final Room room = new Room(stored.key(), stored.first(), stored.count(), State.RECOVERED);
            room.name(stored.version(), stored.replicaId());
            room.inIndex = true;
            rooms.put(room.first, room);
        }
        world.trace(() -> client.name() + ": has file " + file.id() + " with " + rooms.values());
        idle();
    }

    /** The process dies, or leaves: then the master is told. */
    void stop(final boolean leaves) {
        if (leaves) {
            world.tally().count(Kind.FILES_LEFT);
            world.network().call(client, new GdsCommand.UnregisterGdsStorage(client.id(), file.id(),
                file.generation()), 1, answer -> { });
        }
        file.letGo();
    }

    Locality.GdsFile place() {
        return new Locality.GdsFile(file.id(), file.generation());
    }

    SimulatedFile file() {
        return file;
    }

    Collection<Room> rooms() {
        return rooms.values();
    }

    private void idle() {
        wake();
        client.later(IDLE_MS * Timeline.MS, this::idle);
    }

    // ---- offered to the master

    /** What the client lends is lent (again): so is the file, and what is in it. */
    void lent(final long of) {
        mounts++;
        mounted = false;
        world.network().call(client, new GdsCommand.RegisterGdsStorage(client.id(), new GdsStorageSpec(file.id(),
            file.generation(), "tcp://" + client.name(), (long) SimulatedFile.UNITS * UNIT,
            (long) SimulatedFile.UNITS * UNIT * 3 / 4, (long) SimulatedFile.UNITS * UNIT / 2)), 1, answer -> {
                if (of != client.incarnation()) {
                    return;
                }
                if (answer == null || answer.refusal() != null) {
                    client.later(AGAIN_MS * Timeline.MS, () -> again(of));
                } else {
                    offer(of);
                }
            });
    }

    private void again(final long of) {
        if (of == client.incarnation()) {
            lent(of);
        }
    }

    private void offer(final long of) {
        final List<SimulatedFile.Stored> offers = rooms.values().stream()
            .filter(room -> room.state == State.RECOVERED || room.state == State.COMMITTED).map(Room::stored).toList();
        world.network().call(client, new AdoptGdsReplicas(client.id(), offers.stream().map(this::value).toList()), 1,
            answer -> {
                if (of != client.incarnation()) {
                    return;
                }
                if (answer == null || answer.refusal() != null) {
                    client.later(AGAIN_MS * Timeline.MS, () -> again(of));
                    return;
                }
                for (int i = 0; i < offers.size(); i++) {
                    answered(offers.get(i), answer.reply().get(i));
                }
                mounted = true;
                wake();
            });
    }

    private void answered(final SimulatedFile.Stored offer, final long id) {
        final Room there = rooms.get(offer.first());
        final Room room = there != null && (there.state == State.RECOVERED || there.state == State.COMMITTED)
            && there.stored().equals(offer) ? there : null;
        final boolean refused = id == AdoptGdsReplicas.REFUSED;
        world.tally().count(refused ? Kind.FILE_OFFERS_REFUSED : Kind.FILE_OFFERS_ADOPTED);
        if (refused && room != null) {
            drop(room);
        } else if (!refused && (room == null || !adopt(room, id))) {
            forget(offer.key(), offer.version(), id);
        }
    }

    private boolean adopt(final Room room, final long id) {
        final boolean renamed = room.replicaId != id;
        room.replicaId = id;
        if (room.isDropped()) {
            drop(room);
            return false;
        }
        if (room.state == State.RECOVERED) {
            room.state = State.COMMITTED;
        }
        if (renamed) {
            record(room);
        }
        return true;
    }

    private GdsValue value(final SimulatedFile.Stored one) {
        return new GdsValue(one.key(), one.version(), (long) one.count() * UNIT, extent(one.first(), one.count()),
            false, 0);
    }

    GdsExtent extent(final int first, final int count) {
        return new GdsExtent(file.id(), file.generation(), (long) first * UNIT, (long) count * UNIT);
    }

    private void forget(final ObjectKey key, final long version, final long replicaId) {
        world.network().call(client, new ObjectCommand.ReplicaUnreadable(key, version, replicaId), 2, answer -> { });
    }

    // ---- rooms

    /** Room for a value, made if there is none; null when there is none all the same. */
    void reserve(final ObjectKey key, final int count, final Consumer<Room> then) {
        final Room room = fit(key, count);
        if (room != null) {
            then.accept(room);
            return;
        }
        fetchDrops(() -> world.network().call(client, new GdsCommand.MakeGdsRoom(client.id(), (long) count * UNIT), 1,
            answer -> fetchDrops(() -> then.accept(fit(key, count)))));
    }

    private Room fit(final ObjectKey key, final int count) {
        int from = 0;
        for (final Room one : rooms.values()) {
            if (one.first - from >= count) {
                break;
            }
            from = one.first + one.count;
        }
        if (from + count > SimulatedFile.UNITS) {
            return null;
        }
        final Room room = new Room(key, from, count, State.RESERVED);
        rooms.put(from, room);
        return room;
    }

    /** From now on the master may have it. */
    void offered(final Room room) {
        room.state = State.OFFERED;
        room.mounts = mounts;
    }

    void declined(final Room room) {
        world.tally().count(Kind.ROOMS_DECLINED);
        room.state = State.RESERVED;
        room.named = false;
        room.drops.clear();
    }

    void accepted(final Room room, final long version, final long replicaId) {
        room.name(version, replicaId);
        room.state = State.ACCEPTED;
    }

    void write(final Room room, final int place, final long unit) {
        file.write(room.first + place, unit);
        room.written = place == room.count - 1;
    }

    /** The master says that the put has ended well. */
    void commit(final Room room) {
        if (room.mounts == mounts) {
            publish(room);
        }
    }

    private boolean publish(final Room room) {
        if (room.isDropped() || !room.written) {
            drop(room);
            return false;
        }
        room.state = State.COMMITTED;
        world.history().onDisk(room.version);
        record(room);
        return true;
    }

    /** Its put is over, however that ended. */
    void close(final Room room) {
        switch (room.state) {
            case RESERVED -> drop(room);
            case OFFERED, ACCEPTED -> {
                if (room.isDropped()) {
                    drop(room);
                } else {
                    world.tally().count(Kind.ROOMS_IN_DOUBT);
                    room.state = State.UNSETTLED;
                    wake();
                }
            }
            default -> {
                // Committed, or dropped.
            }
        }
    }

    private void record(final Room room) {
        client.later(client.thinkUs(), () -> {
            if (room.state == State.COMMITTED) {
                file.record(room.stored());
                room.inIndex = true;
            }
        });
    }

    /** Free when nobody reads it, and no record can name it any more. */
    private void drop(final Room room) {
        room.state = State.DROPPED;
        if (room.inIndex) {
            client.later(client.thinkUs(), () -> {
                file.forget(room.first);
                room.inIndex = false;
                free(room);
            });
        }
        free(room);
    }

    private void free(final Room room) {
        if (room.state == State.DROPPED && room.leases == 0 && !room.inIndex) {
            rooms.remove(room.first, room);
        }
    }

    // ---- readers

    /** A hold on a value; null when it is not there. */
    Room acquire(final ObjectKey key, final long version, final ReplicaDescriptor.Gds place) {
        final Room room = rooms.get((int) (place.valueOffset() / UNIT));
        if (room == null || !place().isOf(place) || world.keeps(Rule.CHECK_THE_EXTENT)
            && !(room.isReadable() && room.holds(key, version, place))) {
            return null;
        }
        room.leases++;
        return room;
    }

    long unit(final Room room, final int place) {
        return file.unit(Math.min(room.first + place, SimulatedFile.UNITS - 1));
    }

    /** Ends a hold; whether what was read counts. */
    boolean release(final Room room) {
        room.leases--;
        free(room);
        return room.isReadable() || !world.keeps(Rule.CHECK_THE_EXTENT);
    }

    /** A whole value for another client; null when it is not there. */
    long[] copy(final ObjectKey key, final long version, final long replicaId, final ReplicaDescriptor.Gds place) {
        final Room room = acquire(key, version, place);
        if (room == null) {
            gone(key, version, replicaId);
            return null;
        }
        final long[] units = new long[(int) (place.valueSize() / UNIT)];
        for (int i = 0; i < units.length; i++) {
            units[i] = unit(room, i);
        }
        release(room);
        return units;
    }

    /** The master says that something is here which is not. */
    void gone(final ObjectKey key, final long version, final long replicaId) {
        world.tally().count(Kind.FILE_READS_STALE);
        forget(key, version, replicaId);
    }

    // ---- the thread

    void wake() {
        if (busy || !mounted) {
            woken = true;
            return;
        }
        busy = true;
        woken = false;
        fetchDrops(() -> settle(() -> {
            busy = false;
            if (woken) {
                client.later(Timeline.MS, this::wake);
            }
        }));
    }

    /** Frees what the master has dropped, one who does so at a time. */
    private void fetchDrops(final Runnable then) {
        fetchers.add(then);
        if (!fetching) {
            fetching = true;
            fetchMore();
        }
    }

    private void fetchMore() {
        world.network().call(client, new GdsCommand.FetchGdsDrops(client.id(), BATCH, dropsDone), 1, answer -> {
            if (answer == null || answer.reply().extents().isEmpty()) {
                fetching = false;
                final List<Runnable> waiting = List.copyOf(fetchers);
                fetchers.clear();
                waiting.forEach(Runnable::run);
                return;
            }
            client.later(client.thinkUs(), () -> {
                answer.reply().extents().forEach(this::dropped);
                dropsDone = answer.reply().last();
                fetchMore();
            });
        });
    }

    private void dropped(final GdsDrop drop) {
        final Room there = rooms.get((int) (drop.offset() / UNIT));
        if (there == null || there.state == State.RESERVED || there.state == State.DROPPED) {
            world.tally().count(Kind.FILE_DROPS_OF_OTHERS);
        } else if (!there.isGoneWith(drop.replicaId()) || there.state == State.ACCEPTED) {
            world.tally().count(Kind.FILE_DROPS_KEPT);
            there.drops.add(drop.replicaId());
        } else {
            world.tally().count(Kind.FILE_DROPS);
            drop(there);
        }
    }

    private void settle(final Runnable then) {
        final List<Room> open = rooms.values().stream().filter(room -> room.state == State.UNSETTLED).toList();
        if (open.isEmpty() || !world.keeps(Rule.ASK_WHAT_IS_IN_DOUBT)) {
            then.run();
            return;
        }
        world.network().call(client, new GdsCommand.SettleGdsExtents(client.id(), open.stream().map(room ->
            new UnsettledExtent(room.key, extent(room.first, room.count), room.named ? room.replicaId : 0)).toList()),
            1, answer -> {
                if (answer != null && answer.refusal() == null) {
                    for (int i = 0; i < open.size(); i++) {
                        settled(open.get(i), answer.reply().get(i));
                    }
                }
                then.run();
            });
    }

    private void settled(final Room room, final Settlement answer) {
        if (room.state != State.UNSETTLED || rooms.get(room.first) != room) {
            return;
        }
        if (answer.replicaId() == 0) {
            world.tally().count(Kind.ROOMS_SETTLED_GONE);
            drop(room);
        } else if (answer.version() != 0) {
            world.tally().count(Kind.ROOMS_SETTLED_COMPLETE);
            room.name(answer.version(), answer.replicaId());
            if (!publish(room)) {
                forget(room.key, answer.version(), answer.replicaId());
            }
        }
    }
}
