package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsDrop;
import io.kvtier.store.protocol.GdsCommand.GdsDrops;
import io.kvtier.store.protocol.GdsCommand.GdsValue;
import io.kvtier.store.protocol.GdsCommand.Settlement;
import io.kvtier.store.protocol.GdsCommand.UnsettledExtent;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.AddGdsReplicaStart;
import io.kvtier.store.protocol.ObjectCommand.CreateGdsOnlyObject;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;

/**
 * The owner of a file for GDS replicas, as simple as can be: it keeps the rules that {@code GdsCommand} gives owners,
 * and remembers for each unit of its file which version of which key was written there last. What it sends may be lost,
 * and so may the answers.
 */
final class GdsOwnerModel {
    static final long UNIT = ReplicaDescriptor.Gds.UNIT_BYTES;

    private final MasterRig rig;
    private final Random random;
    private final UUID client;
    private final UUID file;
    private final int units;
    /** What was written to each unit last. */
    private final String[] bytes;
    private final TreeMap<Integer, Held> held = new TreeMap<>();
    private final List<Put> open = new ArrayList<>();
    private long attempts;
    private long dropsDone;
    private int lossPercent;
    private int mounts;
    private long seen;

    /** An extent that is taken. */
    private static final class Held {
        private final ObjectKey key;
        private final int first;
        private final int count;
        private long version;
        private long replicaId;
        private boolean committed;
        private boolean unsettled;

        Held(final ObjectKey key, final int first, final int count) {
            this.key = key;
            this.first = first;
            this.count = count;
        }
    }

    /** A put under way. */
    private record Put(ObjectKey key, long version, Held extent, int mounts) {
    }

    GdsOwnerModel(final MasterRig rig, final Random random, final UUID client, final int units) {
        this.rig = rig;
        this.random = random;
        this.client = client;
        this.file = new UUID(client.getMostSignificantBits(), 99);
        this.units = units;
        this.bytes = new String[units];
    }

    void lossPercent(final int percent) {
        lossPercent = percent;
    }

    UUID client() {
        return client;
    }

    /** Null when the command or its answer is lost; what the master refuses is a refusal. */
    private <R> R send(final Command<R> command) {
        if (random.nextInt(100) < lossPercent) {
            if (random.nextBoolean()) {
                try {
                    rig.apply(command);
                } catch (final StoreException e) {
                    // Not heard either.
                }
            }
            return null;
        }
        return rig.apply(command);
    }

    private GdsExtent extent(final Held one) {
        return new GdsExtent(file, 1, one.first * UNIT, one.count * UNIT);
    }

    /** Registers the file and offers what is in it, as often as that is needed. */
    void mount() {
        mounts++;
        rig.ping(client, "");
        assertEquals(Ack.OK, rig.apply(new GdsCommand.RegisterGdsStorage(client,
            new GdsCommand.GdsStorageSpec(file, 1, "", units * UNIT, units * UNIT * 3 / 4, units * UNIT / 2))));
        final List<Held> offers = held.values().stream().filter(one -> one.committed).toList();
        final List<Long> ids = send(new GdsCommand.AdoptGdsReplicas(client, offers.stream()
            .map(one -> new GdsValue(one.key, one.version, size(one.count), extent(one), false, 0)).toList()));
        for (int i = 0; i < offers.size(); i++) {
            if (ids == null) {
                // Asked about like all that is in doubt.
                offers.get(i).committed = false;
                offers.get(i).unsettled = true;
            } else if (ids.get(i) == GdsCommand.AdoptGdsReplicas.REFUSED) {
                held.remove(offers.get(i).first);
            } else {
                offers.get(i).replicaId = ids.get(i);
            }
        }
    }

    private static long size(final int count) {
        return count * UNIT - 7;
    }

    /** First fit; null when there is no room. */
    private Held reserve(final ObjectKey key, final int count) {
        int from = 0;
        for (final Held one : held.values()) {
            if (one.first - from >= count) {
                break;
            }
            from = one.first + one.count;
        }
        if (from + count > units) {
            return null;
        }
        final Held taken = new Held(key, from, count);
        held.put(from, taken);
        return taken;
    }

    /** Begins a put of so many units, beside memory or alone. */
    void begin(final ObjectKey key, final int count, final boolean replace) {
        final Held room = reserve(key, count);
        final PutStart start = new PutStart(client, ++attempts, key, size(count), PutOptions.DEFAULT, replace);
        final PutStartReply reply;
        try {
            reply = send(start);
        } catch (final StoreException e) {
            assertEquals(ErrorCode.OBJECT_HAS_REPLICATION_TASK, e.code());
            giveBack(room);
            return;
        }
        if (reply instanceof PutStartReply.Started started) {
            beside(key, started, room);
        } else if (room != null
            && (reply instanceof PutStartReply.NoSpace || reply instanceof PutStartReply.TooLarge)) {
            alone(start, room);
        } else {
            giveBack(room);
        }
    }

    private void giveBack(final Held room) {
        if (room != null) {
            held.remove(room.first);
        }
    }

    private void beside(final ObjectKey key, final PutStartReply.Started started, final Held room) {
        if (room == null) {
            open.add(new Put(key, started.version(), null, mounts));
            return;
        }
        Long id;
        try {
            id = send(new AddGdsReplicaStart(client, key, started.version(), extent(room)));
        } catch (final StoreException e) {
            assertRefuses(e);
            id = AddGdsReplicaStart.STALE;
        }
        if (id == null) {
            room.unsettled = true;
            open.add(new Put(key, started.version(), null, mounts));
        } else if (id == AddGdsReplicaStart.STALE) {
            giveBack(room);
            open.add(new Put(key, started.version(), null, mounts));
        } else {
            written(key, started.version(), room, id);
            open.add(new Put(key, started.version(), room, mounts));
        }
    }

    private void alone(final PutStart start, final Held room) {
        final PutStartReply reply;
        try {
            reply = send(new CreateGdsOnlyObject(start, extent(room)));
        } catch (final StoreException e) {
            assertRefuses(e);
            giveBack(room);
            return;
        }
        if (reply == null) {
            room.unsettled = true;
        } else if (reply instanceof PutStartReply.Started started) {
            written(start.key(), started.version(), room, started.replicas().getFirst().id());
            open.add(new Put(start.key(), started.version(), room, mounts));
        } else {
            giveBack(room);
        }
    }

    /** The room overlaps what the master still knows there; the file is registered all the time. */
    private static void assertRefuses(final StoreException refusal) {
        assertEquals(ErrorCode.INVALID_PARAMS, refusal.code());
    }

    private void written(final ObjectKey key, final long version, final Held room, final long id) {
        room.version = version;
        room.replicaId = id;
        for (int i = 0; i < room.count; i++) {
            bytes[room.first + i] = key + "#" + version;
        }
    }

    /** Ends one of the puts under way, well or not. */
    void endOne() {
        if (open.isEmpty()) {
            return;
        }
        final Put put = open.remove(random.nextInt(open.size()));
        if (random.nextInt(4) == 0) {
            send(new ObjectCommand.PutRevoke(client, put.key(), put.version(), Scope.ALL));
            doubt(put.extent());
            return;
        }
        // Without room in the file that is surely the master's, only memory is said to be written.
        final Ack ack = send(new ObjectCommand.PutEnd(client, put.key(), put.version(),
            put.extent() == null ? Scope.MEMORY : Scope.ALL, false, 0));
        if (put.extent() == null) {
            send(new ObjectCommand.PutRevoke(client, put.key(), put.version(), Scope.GDS));
        } else if (ack == Ack.OK && put.mounts() == mounts) {
            if (held.get(put.extent().first) == put.extent()) {
                put.extent().committed = true;
            }
        } else {
            doubt(put.extent());
        }
    }

    private void doubt(final Held room) {
        if (room != null && held.get(room.first) == room) {
            room.unsettled = true;
        }
    }

    /** Frees what the master has dropped. */
    void fetchDrops() {
        final GdsDrops drops = send(new GdsCommand.FetchGdsDrops(client, 1 + random.nextInt(5), dropsDone));
        if (drops == null) {
            return;
        }
        for (final GdsDrop drop : drops.extents()) {
            final int first = (int) (drop.offset() / UNIT);
            final Held there = held.get(first);
            if (there != null && there.replicaId == drop.replicaId() && isEnded(there)) {
                held.remove(first);
            } else if (there != null && there.replicaId == drop.replicaId()) {
                // Its put has not ended here: what it hears then is not believed.
                there.unsettled = true;
                open.removeIf(put -> put.extent() == there);
            }
        }
        dropsDone = drops.last();
    }

    private boolean isEnded(final Held there) {
        return open.stream().noneMatch(put -> put.extent() == there);
    }

    /** Asks what has become of all that is in doubt. */
    void settle() {
        final List<Held> doubtful = held.values().stream().filter(one -> one.unsettled).toList();
        final List<Settlement> answers = send(new GdsCommand.SettleGdsExtents(client,
            doubtful.stream().map(one -> new UnsettledExtent(one.key, extent(one), one.replicaId)).toList()));
        for (int i = 0; answers != null && i < doubtful.size(); i++) {
            final Held one = doubtful.get(i);
            if (answers.get(i).replicaId() == 0) {
                held.remove(one.first);
            } else if (answers.get(i).version() != 0) {
                one.unsettled = false;
                one.committed = true;
                one.version = answers.get(i).version();
                one.replicaId = answers.get(i).replicaId();
            }
        }
    }

    void makeRoom(final int count) {
        try {
            send(new GdsCommand.MakeGdsRoom(client, count * UNIT));
        } catch (final StoreException e) {
            assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, e.code());
        }
    }

    /** The bytes of a replica that the master calls complete are those of its version. */
    void assertIsThere(final ObjectKey key, final long version, final Replica replica) {
        final ReplicaDescriptor.Gds gds = (ReplicaDescriptor.Gds) replica.descriptor();
        if (!gds.ownerClientId().equals(client)) {
            return;
        }
        seen++;
        final int first = (int) (gds.valueOffset() / UNIT);
        for (int i = 0; i < gds.allocatedSize() / UNIT; i++) {
            assertEquals(key + "#" + version, bytes[first + i], replica.toString());
        }
        final Held there = held.get(first);
        assertTrue(there != null && there.key.equals(key) && there.version == version,
            "the room of " + replica + " was given to somebody else");
    }

    /** Everything of this owner's that is under way ends. */
    void quiesce() {
        lossPercent = 0;
        while (!open.isEmpty()) {
            endOne();
        }
    }

    /** How often a replica of this owner was held against its file. */
    long seen() {
        return seen;
    }

    int taken() {
        return held.values().stream().mapToInt(one -> one.count).sum();
    }

    static List<Replica> gds(final List<Replica> replicas) {
        return replicas.stream().filter(replica -> replica.type() == ReplicaType.GDS).toList();
    }
}
