package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.UNIT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.PutOptions;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.KeyFileDrops;
import io.kvtier.store.protocol.DiskCommand.KeyFileResult;
import io.kvtier.store.protocol.DiskCommand.KeyFileTask;
import io.kvtier.store.replica.KeyFolder;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaType;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Files of single values that do not all have room: the oldest go, as far as they may. */
@ExtendWith(LeakCheck.class)
class KeyFileRoomTest {
    private static final long SUM = 99;

    private MasterRig rig;

    private void open(final long quotaBytes, final boolean evicts, final long... capacities) {
        rig = new MasterRig(MasterRig.settings().withFiles(new MasterSettings.FileReplicas(
            KeyFolder.of("/mnt/kv", "blue"), quotaBytes, evicts)));
        rig.memory(ALICE, "alice", 64 * UNIT);
        rig.memory(BOB, "bob", 64 * UNIT);
        assertEquals(Ack.OK, rig.apply(new DiskCommand.MountKeyFiles(ALICE, capacities[0])));
        for (int i = 1; i < capacities.length; i++) {
            assertEquals(Ack.OK, rig.apply(new DiskCommand.MountKeyFiles(BOB, capacities[i])));
        }
    }

    @AfterEach
    void close() {
        rig.close();
    }

    /** Null when the value gets no file. */
    private KeyFileTask put(final String key, final long size) {
        rig.put(ALICE, key, size, PutOptions.DEFAULT.withPreferredSegments("alice"));
        final List<KeyFileTask> tasks = rig.apply(new DiskCommand.FetchKeyFiles(ALICE, 100));
        return tasks.isEmpty() || !tasks.getLast().key().key().equals(key) ? null : tasks.getLast();
    }

    private Ack end(final KeyFileTask task, final KeyFileResult result) {
        return rig.apply(new DiskCommand.KeyFileWritten(ALICE,
            new DiskCommand.StoredVersion(task.key(), task.version()), task.replicaId(), result, SUM));
    }

    private String store(final String key) {
        final KeyFileTask task = put(key, UNIT);
        assertEquals(Ack.OK, end(task, KeyFileResult.WRITTEN));
        return task.filePath();
    }

    private boolean hasFile(final String key) {
        return rig.query(key).replicas().stream().anyMatch(replica -> replica.type() == ReplicaType.DISK);
    }

    private List<String> withFiles(final String... keys) {
        return List.of(keys).stream().filter(this::hasFile).toList();
    }

    private List<String> drops() {
        return rig.apply(new DiskCommand.FetchKeyFileDrops(ALICE, 1000, 0)).paths();
    }

    private void deleted() {
        final KeyFileDrops all = rig.apply(new DiskCommand.FetchKeyFileDrops(ALICE, 1000, 0));
        rig.apply(new DiskCommand.FetchKeyFileDrops(ALICE, 1, all.last()));
    }

    @Test
    void shouldMakeRoomByTheOldest() {
        open(3 * UNIT, true, 0);
        final List<String> files = new ArrayList<>();
        for (final String key : List.of("a", "b", "c")) {
            files.add(store(key));
        }
        assertEquals(List.of(), drops());
        store("d");
        assertEquals(files.subList(0, 1), drops());
        assertEquals(List.of("b", "c", "d"), withFiles("a", "b", "c", "d"));
        assertEquals(3 * UNIT, rig.stats().diskUsed());
        assertEquals(1, rig.stats().diskEvictions());
        final KeyFileTask two = put("e", 2 * UNIT);
        assertEquals(files, drops(), "as many as it takes, before it is written");
        assertEquals(Ack.OK, end(two, KeyFileResult.WRITTEN));
        assertEquals(3 * UNIT, rig.stats().diskUsed());
    }

    /** What is being written has its room already. */
    @Test
    void shouldCountWhatIsBeingWritten() {
        open(3 * UNIT, true, 0);
        store("a");
        final KeyFileTask two = put("b", 2 * UNIT);
        assertEquals(List.of(), drops());
        put("c", UNIT);
        assertEquals(List.of("b"), List.of(two.key().key()));
        assertEquals(1, drops().size(), "a makes way for c");
        assertEquals(null, put("d", UNIT), "there is nothing left that could");
        assertEquals(Ack.STALE, end(two, KeyFileResult.FAILED));
        assertTrue(put("e", UNIT) != null, "what failed has given its room back");
    }

    @Test
    void shouldGiveNoFileToWhatIsLargerThanAllRoom() {
        open(3 * UNIT, true, 0);
        store("a");
        assertEquals(null, put("large", 4 * UNIT));
        assertEquals(List.of("a"), withFiles("a", "large"));
        assertEquals(0, rig.stats().heldReplicas());
    }

    @Test
    void shouldEvictNothingWhenItIsTold() {
        open(2 * UNIT, false, 0);
        store("a");
        store("b");
        assertEquals(null, put("c", UNIT));
        assertEquals(List.of("a", "b"), withFiles("a", "b", "c"));
        rig.remove("a", true);
        assertTrue(put("d", UNIT) != null, "there is room again");
    }

    /** Those that nobody has elsewhere stay while somebody reads them, or they are pinned. */
    @Test
    void shouldPassOverWhatIsLeasedOrPinned() {
        open(3 * UNIT, true, 0);
        assertEquals(Ack.OK, rig.apply(new DiskCommand.MountKeyFiles(BOB, 0)));
        final List<String> files = new ArrayList<>();
        for (final String key : List.of("pinned", "leased", "free")) {
            rig.put(BOB, key, UNIT, PutOptions.DEFAULT.withPreferredSegments("bob").withHardPin(key.equals("pinned")));
            final KeyFileTask task = rig.apply(new DiskCommand.FetchKeyFiles(BOB, 1)).getFirst();
            files.add(task.filePath());
            assertEquals(Ack.OK, rig.apply(new DiskCommand.KeyFileWritten(BOB,
            new DiskCommand.StoredVersion(task.key(), task.version()), task.replicaId(),
                KeyFileResult.WRITTEN, SUM)));
        }
        rig.silence(BOB);
        rig.passAlive(MasterRig.CLIENT_TTL_MS + 1);
        rig.read("leased");
        assertEquals(List.of(ReplicaType.DISK), rig.query("leased").replicas().stream().map(Replica::type).toList());
        store("new");
        assertEquals(files.subList(2, 3), drops());
        assertFalse(rig.exists("free"));
        store("newer");
        assertEquals(List.of("pinned", "leased", "newer"), withFiles("pinned", "leased", "new", "newer"));
        rig.passAlive(MasterRig.LEASE_MS + 1);
        store("newest");
        assertFalse(rig.exists("leased"), "its lease is over");
        assertEquals(List.of("pinned", "newest"), withFiles("pinned", "new", "newest"));
    }

    /** Nine tenths of what the client says that sees least. */
    @Test
    void shouldUseWhatClientsSayOfTheFileSystem() {
        open(0, true, 40 * UNIT, 20 * UNIT);
        for (int i = 0; i < 18; i++) {
            store("k" + i);
        }
        assertEquals(List.of(), drops());
        store("one more");
        assertEquals(1, drops().size());
        rig.apply(new DiskCommand.UnmountKeyFiles(BOB));
        for (int i = 0; i < 18; i++) {
            store("l" + i);
        }
        assertEquals(1, drops().size(), "the other one has gone");
    }

    @Test
    void shouldBeLimitedByNothingThatIsNotKnown() {
        open(0, true, 0);
        for (int i = 0; i < 40; i++) {
            store("k" + i);
        }
        assertEquals(List.of(), drops());
    }

    /** A twentieth goes when there is no room after all, once for all that find none at the same time. */
    @Test
    void shouldMakeRoomInAFileSystemThatIsFull() {
        open(0, true, 0);
        for (int i = 0; i < 40; i++) {
            store("k" + i);
        }
        final KeyFileTask one = put("one", UNIT);
        final KeyFileTask two = put("two", UNIT);
        assertEquals(Ack.STALE, end(one, KeyFileResult.NO_ROOM));
        assertEquals(Ack.STALE, end(two, KeyFileResult.NO_ROOM));
        assertEquals(List.of("k2", "k3"), withFiles("k0", "k1", "k2", "k3", "one", "two"));
        assertEquals(4, drops().size());
        deleted();
        assertEquals(Ack.STALE, end(put("three", UNIT), KeyFileResult.NO_ROOM));
        assertEquals(List.of("k4"), withFiles("k2", "k3", "k4"));
        assertEquals(36 * UNIT, rig.stats().diskUsed());
    }

    /** Whatever fails otherwise says nothing of room. */
    @Test
    void shouldEvictNothingForAWriteThatFailed() {
        open(0, true, 0);
        store("a");
        assertEquals(Ack.STALE, end(put("b", UNIT), KeyFileResult.FAILED));
        assertEquals(List.of("a"), withFiles("a", "b"));
    }
}
