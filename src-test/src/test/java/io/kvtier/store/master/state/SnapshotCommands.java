package io.kvtier.store.master.state;

import io.kvtier.store.DataType;
import io.kvtier.store.PutOptions;
import io.kvtier.store.SoftPin;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsStorageSpec;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;

/** Clients that do anything at random: with values, disks, files, segments, tasks and quotas. */
final class SnapshotCommands {
    static final long CAPACITY = 24 * MasterRig.UNIT;
    static final List<UUID> CLIENTS = List.of(MasterRig.ALICE, MasterRig.BOB, MasterRig.CAROL);
    private static final int KEYS = 30;
    private static final long FILE_UNIT = 4096;
    private static final long FILE_UNITS = 40;

    private final MasterRig rig;
    private final Random random;
    private final List<PutStartReply.Started> open = new ArrayList<>();
    private final List<ObjectCommand.PutStart> openPuts = new ArrayList<>();
    private final Map<UUID, SegmentAddress> addresses = new LinkedHashMap<>();
    private long attempts;
    private long segments;
    private long fileUnit;

    SnapshotCommands(final MasterRig rig, final long seed) {
        this.rig = rig;
        this.random = new Random(seed);
        for (final UUID client : CLIENTS) {
            lend(client);
            rig.disk(client);
            rig.apply(new GdsCommand.RegisterGdsStorage(client, file(client)));
        }
        rig.nof(MasterRig.ALICE, "device", CAPACITY);
    }

    static GdsStorageSpec file(final UUID client) {
        return new GdsStorageSpec(new UUID(0xF, client.getLeastSignificantBits()), 3, "host:9",
            FILE_UNITS * FILE_UNIT, FILE_UNITS * FILE_UNIT, FILE_UNITS * FILE_UNIT);
    }

    /** The memory that a client lends now. */
    SegmentAddress address(final UUID client) {
        return addresses.get(client);
    }

    static SegmentSpec memory(final UUID client, final SegmentAddress address) {
        return new SegmentSpec("memory of " + client.getLeastSignificantBits(), Medium.MEMORY, CAPACITY,
            MasterRig.UNIT, address, true);
    }

    private void lend(final UUID client) {
        final byte[] token = new byte[AccessToken.BYTES];
        random.nextBytes(token);
        final SegmentAddress address = new SegmentAddress(new UUID(0x5E7, ++segments), "tcp://x",
            AccessToken.of(token));
        rig.apply(new SegmentCommand.Mount(client, memory(client, address)));
        addresses.put(client, address);
        rig.ping(client, "host");
    }

    private UUID client() {
        return CLIENTS.get(random.nextInt(CLIENTS.size()));
    }

    private String key() {
        return "key" + random.nextInt(KEYS);
    }

    /** One thing; what the master refuses is no fault. */
    void step() {
        try {
            act(random.nextInt(40));
        } catch (final StoreException e) {
            // A copy of what is gone, a put without room, a removal of what is written.
        }
    }

    private void act(final int what) {
        switch (what) {
            case 0, 1 -> end();
            case 2 -> rig.remove(key(), random.nextBoolean());
            case 3 -> rig.removeMatching("", "key1\\d$", random.nextBoolean());
            case 4 -> rig.read(key());
            case 5 -> rig.passAlive(random.nextInt(3000));
            case 6 -> rig.evict(0.2, 0.1);
            case 7, 8 -> offload(client());
            case 9 -> adopt();
            case 10 -> promote();
            case 11 -> relend(client());
            case 12 -> rig.apply(new DiskCommand.UnmountDisk(client()));
            case 13 -> CLIENTS.forEach(rig::disk);
            case 14 -> rig.settle();
            case 15, 16, 17 -> actOnTasks(what);
            case 18 -> unreadable();
            case 19, 20 -> actOnFiles(what);
            case 21 -> rig.apply(new AdminCommand.SetQuota("default", 1 + random.nextLong(5 * CAPACITY)));
            case 22 -> rig.apply(new ObjectCommand.ReplicaClear(client(), List.of(MasterRig.key(key())), ""));
            case 23, 24, 25 -> startInFile();
            default -> start();
        }
    }

    private void actOnFiles(final int what) {
        if (what == 19) {
            rig.apply(new GdsCommand.UnregisterGdsStorage(client(), new UUID(0xF, 1), 3));
        } else {
            CLIENTS.forEach(client -> rig.apply(new GdsCommand.RegisterGdsStorage(client, file(client))));
        }
    }

    private void actOnTasks(final int what) {
        switch (what) {
            case 15 -> rig.apply(new TaskCommand.CreateTask(TaskCommand.Kind.COPY, MasterRig.key(key()),
                memory(client(), null).name(), List.of(memory(client(), null).name())));
            case 16 -> rig.apply(new TaskCommand.FetchTasks(client(), 2)).forEach(task -> {
                if (random.nextBoolean()) {
                    rig.apply(new TaskCommand.MarkTask(client(), task.id(), random.nextBoolean(), "so it was"));
                }
            });
            default -> rig.apply(new TaskCommand.CreateDrain(List.of(memory(client(), null).name())));
        }
    }

    private PutOptions options() {
        final SoftPin pin = switch (random.nextInt(4)) {
            case 0 -> SoftPin.ENABLE;
            case 1 -> SoftPin.forMillis(1 + random.nextInt(5000));
            default -> SoftPin.PRESERVE;
        };
        return new PutOptions(1 + random.nextInt(2), random.nextInt(5) == 0 ? 1 : 0, List.of(), false, pin,
            random.nextInt(8) == 0, DataType.of(random.nextInt(10)), random.nextInt(4) == 0 ? "group" : "", false);
    }

    private void start() {
        final ObjectCommand.PutStart put = new ObjectCommand.PutStart(client(), ++attempts, MasterRig.key(key()),
            1 + random.nextInt(3000), options(), random.nextInt(3) == 0);
        started(put, rig.apply(put));
    }

    private void started(final ObjectCommand.PutStart put, final PutStartReply reply) {
        if (reply instanceof PutStartReply.Started started) {
            open.add(started);
            openPuts.add(put);
            if (random.nextInt(5) == 0) {
                rig.apply(new ObjectCommand.AddGdsReplicaStart(put.clientId(), put.key(), started.version(),
                    extent(put.clientId(), put.size())));
            }
            if (random.nextInt(4) != 0) {
                end();
            }
        }
    }

    private void startInFile() {
        final UUID client = client();
        final ObjectCommand.PutStart put = new ObjectCommand.PutStart(client, ++attempts, MasterRig.key(key()),
            1 + random.nextInt(3000), options(), random.nextInt(3) == 0);
        started(put, rig.apply(new ObjectCommand.CreateGdsOnlyObject(put, extent(client, put.size()))));
    }

    private GdsExtent extent(final UUID client, final long size) {
        fileUnit = (fileUnit + 1) % FILE_UNITS;
        final GdsStorageSpec file = file(client);
        return new GdsExtent(file.storageId(), file.generation(), fileUnit * FILE_UNIT, FILE_UNIT);
    }

    private void end() {
        if (open.isEmpty()) {
            return;
        }
        final int which = random.nextInt(open.size());
        final PutStartReply.Started started = open.remove(which);
        final ObjectCommand.PutStart put = openPuts.remove(which);
        if (random.nextInt(8) == 0) {
            rig.apply(new ObjectCommand.PutRevoke(put.clientId(), put.key(), started.version(), Scope.ALL));
        } else {
            rig.apply(new ObjectCommand.PutEnd(put.clientId(), put.key(), started.version(), Scope.ALL,
                random.nextInt(3) != 0, started.version() * 31));
        }
    }

    private void offload(final UUID client) {
        rig.evict(0.3, 0.1);
        for (final OffloadTask task : rig.fetch(client)) {
            rig.apply(new DiskCommand.OffloadDone(client, task, DiskCommand.OffloadResult.STORED,
                task.version() * 31));
        }
    }

    /** Some value of a disk of before: one that never was, so that it is a key of its own. */
    private void adopt() {
        final String name = "found" + random.nextInt(5);
        rig.adopt(client(), name, 1 + random.nextInt(3), 500);
    }

    private void promote() {
        final String key = key();
        final var reply = rig.query(key);
        final UUID client = client();
        final var promotion = rig.promote(client, key, reply.version());
        if (promotion.replicaId() != 0 && random.nextBoolean()) {
            rig.promoted(client, key, promotion, random.nextBoolean());
        }
    }

    private void relend(final UUID client) {
        rig.unmount(client, addresses.get(client).segmentId(), random.nextInt(3) == 0 ? 1000 : 0);
        lend(client);
    }

    private void unreadable() {
        final String key = key();
        final var object = rig.query(key);
        if (object.found()) {
            rig.apply(new ObjectCommand.ReplicaUnreadable(MasterRig.key(key), object.version(),
                object.replicas().get(random.nextInt(object.replicas().size())).id()));
        }
    }
}
