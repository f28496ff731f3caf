package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.KeyFileDrops;
import io.kvtier.store.protocol.DiskCommand.KeyFileResult;
import io.kvtier.store.protocol.DiskCommand.KeyFileTask;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.replica.KeyFolder;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.snapshot.Snapshot;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;

/**
 * A folder that outlives clients and masters, what three clients do there, and what a master may say of it. Which value
 * a file has is known from who wrote it, not from the master.
 */
final class KeyFileModel implements AutoCloseable {
    private static final long SUM = 99;
    private static final long SEGMENT_UNITS = 24;
    private static final long QUOTA = 20 * MasterRig.UNIT;
    private static final List<UUID> CLIENTS = List.of(MasterRig.ALICE, MasterRig.BOB, MasterRig.CAROL);
    private static final List<String> TENANTS = List.of("default", "red");
    private static final int KEYS = 8;
    private static final int WEIGHTS = 100;

    private final Random random;
    private MasterRig rig;
    /** What a file has: key and version. */
    private final Map<String, String> files = new HashMap<>();
    /** Files that somebody has deleted. */
    private final Set<String> deleted = new TreeSet<>();
    /** Tasks that a client has fetched and not answered, whatever has become of the master since. */
    private final Map<UUID, List<KeyFileTask>> fetched = new HashMap<>();
    private final Map<UUID, Long> done = new HashMap<>();
    private final Set<UUID> there = new TreeSet<>();
    /** Written when their time was over, by clients that died then: this master never hears of them. */
    private final Set<String> left = new TreeSet<>();
    private Snapshot snapshot;
    private long term = 7;

    KeyFileModel(final Random random) {
        this.random = random;
        rig = new MasterRig(settings());
        CLIENTS.forEach(this::join);
    }

    private static MasterSettings settings() {
        return MasterRig.settings().withFiles(new MasterSettings.FileReplicas(KeyFolder.of("/mnt/kv", "blue"), QUOTA,
            true));
    }

    private void join(final UUID client) {
        if (there.add(client)) {
            rig.ping(client, "");
            rig.memory(client, "segment" + client.hashCode() + there.size() + random.nextInt(),
                SEGMENT_UNITS * MasterRig.UNIT);
            rig.apply(new DiskCommand.MountKeyFiles(client, 0));
            fetched.computeIfAbsent(client, one -> new ArrayList<>());
        }
    }

    private ObjectKey key() {
        return ObjectKey.of(TENANTS.get(random.nextInt(TENANTS.size())), "k" + random.nextInt(KEYS));
    }

    private UUID client() {
        return CLIENTS.get(random.nextInt(CLIENTS.size()));
    }

    void step() {
        final int what = random.nextInt(WEIGHTS);
        if (what < 30) {
            put(client(), key(), random.nextInt(3) == 0);
        } else if (what < 60) {
            write(client());
        } else if (what < 75) {
            delete(client());
        } else if (what < 82) {
            rig.apply(new ObjectCommand.Remove(key(), random.nextBoolean()));
        } else if (what < 85) {
            rig.evict(1, 1);
        } else if (what < 88) {
            rig.apply(new ObjectCommand.ReadStart(key(), false));
        } else if (what < 91) {
            comeOrGo(client());
        } else if (what < 94) {
            rig.advance(random.nextInt((int) (MasterRig.LEASE_MS * 2)));
        } else if (what < 95) {
            rig.advance(MasterRig.RELEASE_MS);
        } else if (what < 98) {
            snapshot = rig.snapshot();
        } else if (what < 99 && snapshot != null) {
            restart();
        } else {
            sweep(client());
        }
        check();
    }

    private void put(final UUID client, final ObjectKey key, final boolean replace) {
        if (!there.contains(client)) {
            return;
        }
        final PutStartReply reply = rig.apply(new ObjectCommand.PutStart(client, random.nextLong(), key,
            (1 + random.nextInt(3)) * MasterRig.UNIT, PutOptions.DEFAULT, replace));
        if (reply instanceof PutStartReply.Started started) {
            rig.apply(new ObjectCommand.PutEnd(client, key, started.version(), ObjectCommand.Scope.ALL, false, 0));
        }
    }

    /** Fetches, or goes on with what it has fetched: it writes the file, or cannot, and says so, or dies before. */
    private void write(final UUID client) {
        final List<KeyFileTask> tasks = fetched.get(client);
        if (tasks.isEmpty()) {
            tasks.addAll(rig.apply(new DiskCommand.FetchKeyFiles(client, 1 + random.nextInt(4))));
            return;
        }
        final KeyFileTask task = tasks.removeFirst();
        final int how = random.nextInt(10);
        if (how == 0) {
            answer(client, task, KeyFileResult.FAILED);
        } else if (how == 1) {
            answer(client, task, KeyFileResult.NO_ROOM);
        } else {
            final String before = files.put(task.filePath(), value(task.key(), task.version()));
            assertTrue(before == null || before.equals(value(task.key(), task.version())), task.filePath());
            if (how == 2) {
                // It is killed before it can say so.
                if (!rig.apply(new DiskCommand.FetchKeyFiles(client, Integer.MAX_VALUE)).contains(task)) {
                    left.add(task.filePath());
                }
                go(client);
            } else {
                answer(client, task, KeyFileResult.WRITTEN);
            }
        }
    }

    private void answer(final UUID client, final KeyFileTask task, final KeyFileResult result) {
        final Ack ack = rig.apply(new DiskCommand.KeyFileWritten(client,
            new DiskCommand.StoredVersion(task.key(), task.version()), task.replicaId(), result, SUM));
        if (ack == Ack.STALE && result == KeyFileResult.WRITTEN) {
            gone(task.filePath());
        }
    }

    private static String value(final ObjectKey key, final long version) {
        return key + " version " + version;
    }

    private void gone(final String path) {
        files.remove(path);
        deleted.add(path);
    }

    private void delete(final UUID client) {
        final KeyFileDrops drops = rig.apply(new DiskCommand.FetchKeyFileDrops(client, 1 + random.nextInt(8),
            done.getOrDefault(client, 0L)));
        final Set<String> named = named();
        drops.paths().forEach(path -> assertTrue(!named.contains(path), () -> path + " is a replica's"));
        drops.paths().forEach(this::gone);
        if (random.nextInt(4) > 0) {
            done.put(client, drops.last());
        }
    }

    private void sweep(final UUID client) {
        if (rig.apply(new DiskCommand.FetchKeyFileDrops(client, 0, 0)).sweep()) {
            final List<String> all = List.copyOf(new TreeSet<>(files.keySet()));
            final List<Boolean> known = rig.apply(new DiskCommand.FindKeyFiles(client, all, false));
            final Set<String> named = named();
            for (int i = 0; i < all.size(); i++) {
                if (!known.get(i)) {
                    final String path = all.get(i);
                    assertTrue(!named.contains(path), () -> path + " is a replica's");
                    gone(path);
                }
            }
            rig.apply(new DiskCommand.FindKeyFiles(client, List.of(), true));
        }
    }

    private void comeOrGo(final UUID client) {
        if (there.contains(client)) {
            go(client);
        } else {
            join(client);
        }
    }

    private void go(final UUID client) {
        rig.silence(client);
        there.remove(client);
        fetched.get(client).clear();
        rig.advance(MasterRig.CLIENT_TTL_MS + 1);
    }

    /** Another master takes over with the last snapshot; clients go on with what the old one had told them. */
    private void restart() {
        term++;
        // It has the whole folder looked through.
        left.clear();
        final MasterRig next = MasterRig.restored(settings(), snapshot, MasterRig.LEASE_MS, term);
        rig.close();
        rig = next;
        final List<UUID> were = List.copyOf(there);
        there.clear();
        were.forEach(this::join);
    }

    /** The replicas of this kind, by file. */
    private Map<String, String> replicas() {
        final Map<String, String> found = new HashMap<>();
        for (final String tenant : TENANTS) {
            for (int i = 0; i < KEYS; i++) {
                final ObjectKey key = ObjectKey.of(tenant, "k" + i);
                final var object = rig.apply(new ObjectCommand.Query(key));
                for (final Replica replica : object.replicas()) {
                    if (replica.descriptor() instanceof ReplicaDescriptor.Disk disk) {
                        assertEquals(null, found.put(disk.filePath(), value(key, object.version())), disk.filePath());
                    }
                }
            }
        }
        return found;
    }

    private Set<String> named() {
        return replicas().keySet();
    }

    private void check() {
        final Map<String, String> replicas = replicas();
        replicas.forEach((path, value) -> {
            if (files.containsKey(path)) {
                assertEquals(value, files.get(path), path);
            } else {
                assertTrue(snapshot != null && deleted.contains(path), () -> path + " of " + value + " is not there");
            }
        });
        assertEquals(replicas.size(), rig.stats().diskReplicas());
        assertTrue(rig.stats().diskUsed() <= QUOTA, () -> rig.stats().toString());
        if (!replicas.isEmpty()) {
            assertEquals(List.of(true), List.copyOf(new TreeSet<>(rig.apply(new DiskCommand.FindKeyFiles(
                MasterRig.ALICE, List.copyOf(replicas.keySet()), false)))));
        }
    }

    /** Everybody is there, and does all that is to be done. */
    void quiesce() {
        CLIENTS.forEach(this::join);
        for (final UUID client : CLIENTS) {
            fetched.get(client).forEach(task -> answer(client, task, KeyFileResult.FAILED));
            fetched.get(client).clear();
        }
        rig.advance(MasterRig.RELEASE_MS);
        CLIENTS.forEach(this::sweep);
        final KeyFileDrops drops = rig.apply(new DiskCommand.FetchKeyFileDrops(MasterRig.BOB, Integer.MAX_VALUE, 0));
        drops.paths().forEach(this::gone);
        assertEquals(List.of(), rig.apply(new DiskCommand.FetchKeyFileDrops(MasterRig.BOB, 1, drops.last())).paths());
        check();
        assertEquals(0, rig.stats().heldReplicas(), () -> rig.stats().toString());
        final Set<String> unknown = new TreeSet<>(files.keySet());
        unknown.removeAll(named());
        unknown.removeAll(left);
        assertEquals(Set.of(), unknown, "nobody knows them");
        TENANTS.forEach(tenant -> rig.apply(new ObjectCommand.RemoveMatching(tenant, ".*", true, 0)));
        rig.advance(MasterRig.RELEASE_MS);
        assertEquals(List.of(0L, 0L), List.of(rig.stats().diskReplicas(), rig.stats().diskUsed()));
    }

    @Override
    public void close() {
        rig.close();
    }
}
