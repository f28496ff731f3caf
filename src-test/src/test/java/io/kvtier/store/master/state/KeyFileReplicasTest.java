package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.CAROL;
import static io.kvtier.store.master.state.MasterRig.UNIT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.ReferenceXxh64;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.KeyFileDrops;
import io.kvtier.store.protocol.DiskCommand.KeyFileResult;
import io.kvtier.store.protocol.DiskCommand.KeyFileTask;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.replica.KeyFolder;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.snapshot.Snapshot;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Values that get a file for themselves: written after memory, read by all, deleted with their keys. */
@ExtendWith(LeakCheck.class)
class KeyFileReplicasTest {
    private static final String FOLDER = "/mnt/kv/blue";
    private static final long SUM = 99;
    private static final PutOptions IN_ALICE = PutOptions.DEFAULT.withPreferredSegments("alice");

    private MasterRig rig;

    private static MasterSettings settings() {
        return MasterRig.settings()
            .withFiles(new MasterSettings.FileReplicas(KeyFolder.of("/mnt/kv", "blue"), 0, true));
    }

    @BeforeEach
    void open() {
        rig = new MasterRig(settings());
        rig.memory(ALICE, "alice", 64 * UNIT);
        rig.memory(BOB, "bob", 64 * UNIT);
        assertEquals(FOLDER, rig.apply(new DiskCommand.QueryKeyFolder()));
        assertEquals(Ack.OK, mount(rig, ALICE, 0));
        assertEquals(Ack.OK, mount(rig, BOB, 0));
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private static Ack mount(final MasterRig at, final UUID client, final long capacity) {
        return at.apply(new DiskCommand.MountKeyFiles(client, capacity));
    }

    private List<KeyFileTask> tasks(final UUID client) {
        return rig.apply(new DiskCommand.FetchKeyFiles(client, 100));
    }

    private Ack written(final UUID client, final KeyFileTask task, final KeyFileResult result) {
        return rig.apply(new DiskCommand.KeyFileWritten(client, task.replicaId(), result, SUM));
    }

    private KeyFileDrops drops(final UUID client, final long done) {
        return rig.apply(new DiskCommand.FetchKeyFileDrops(client, 100, done));
    }

    private List<Boolean> known(final String... paths) {
        return rig.apply(new DiskCommand.FindKeyFiles(ALICE, List.of(paths), false));
    }

    private static List<ReplicaType> types(final MasterRig of, final String key) {
        return of.query(key).replicas().stream().map(Replica::type).toList();
    }

    /** A put, and what its memory's owner is to do for it. */
    private KeyFileTask put(final String key) {
        rig.put(ALICE, key, UNIT, IN_ALICE);
        return tasks(ALICE).getLast();
    }

    /** A value in memory and in its file, whose path is the answer. */
    private String stored(final String key) {
        final KeyFileTask task = put(key);
        assertEquals(Ack.OK, written(ALICE, task, KeyFileResult.WRITTEN));
        return task.filePath();
    }

    @Test
    void shouldBeThereOnlyWhenTheFileIsDurable() {
        final KeyFileTask task = put("k");
        assertEquals(List.of(ReplicaType.MEMORY), types(rig, "k"));
        assertEquals(List.of(task), tasks(ALICE), "named again, for the answer may be lost");
        assertEquals(List.of(), tasks(BOB), "it has nothing of it in memory");
        assertEquals(1, rig.stats().heldReplicas(), "memory stays while it is read");

        assertEquals(Ack.STALE, written(BOB, task, KeyFileResult.WRITTEN), "that is not its task");
        assertEquals(Ack.OK, written(ALICE, task, KeyFileResult.WRITTEN));

        assertEquals(List.of(ReplicaType.MEMORY, ReplicaType.DISK), types(rig, "k"));
        assertEquals(new ReplicaDescriptor.Disk(task.filePath(), UNIT),
            rig.query("k").replicas().getLast().descriptor());
        assertEquals(SUM, rig.query("k").checksum());
        assertEquals(List.of(), tasks(ALICE));
        assertEquals(0, rig.stats().heldReplicas());
        assertEquals(1, rig.stats().diskReplicas());
        assertEquals(UNIT, rig.stats().diskUsed());
        assertEquals(Ack.STALE, written(ALICE, task, KeyFileResult.WRITTEN), "it has ended");
    }

    /** A hash and a version, in a folder by the first two digits: nothing of the key gets into a path. */
    @Test
    void shouldNameFilesByHashAndVersion() {
        final KeyFolder folder = new KeyFolder("/r/c");
        final String one = folder.file("default", "../../etc/passwd", 42);
        assertTrue(one.matches("/r/c/[0-9a-f]{2}/[0-9a-f]{16}-000000000000002a\\.kv"), one);
        final String hash = String.format("%016x",
            ReferenceXxh64.of("default\0../../etc/passwd".getBytes(StandardCharsets.UTF_8)));
        assertEquals("/r/c/" + hash.substring(0, 2) + '/' + hash + "-000000000000002a.kv", one);
        assertNotEquals(one, folder.file("default", "../../etc/passwd", 43));
        assertNotEquals(one, folder.file("other", "../../etc/passwd", 42));
        assertNotEquals(folder.file("a", "bc", 1), folder.file("ab", "c", 1));
        assertTrue(folder.has(one));
        assertFalse(folder.has("/r/c2/00/x.kv"));
        assertFalse(KeyFolder.NONE.has(one));
    }

    @Test
    void shouldGiveEachVersionAFileOfItsOwn() {
        final String first = stored("k");
        final long version = rig.replacing(ALICE, "k", UNIT, IN_ALICE).version();
        assertEquals(Ack.OK, rig.end(ALICE, "k", version));

        assertEquals(List.of(first), drops(BOB, 0).paths());
        final KeyFileTask second = tasks(ALICE).getFirst();
        assertNotEquals(first, second.filePath());
        assertEquals(Ack.OK, written(ALICE, second, KeyFileResult.WRITTEN));
        assertEquals(1, rig.stats().diskReplicas());
    }

    @Test
    void shouldDeleteTheFileOfAWriteThatFailed() {
        final KeyFileTask task = put("k");
        assertEquals(List.of(true), known(task.filePath()), "it is being written");
        assertEquals(Ack.STALE, written(ALICE, task, KeyFileResult.FAILED));

        assertEquals(List.of(ReplicaType.MEMORY), types(rig, "k"));
        assertEquals(List.of(task.filePath()), drops(ALICE, 0).paths());
        assertEquals(0, rig.stats().heldReplicas());
    }

    @Test
    void shouldNotTakeOtherBytesThanWereWritten() {
        final long version = rig.started(ALICE, "k", UNIT, IN_ALICE).version();
        assertEquals(Ack.OK, rig.apply(new ObjectCommand.PutEnd(ALICE, MasterRig.key("k"), version,
            ObjectCommand.Scope.ALL, true, SUM + 1)));
        assertEquals(Ack.STALE, written(ALICE, tasks(ALICE).getFirst(), KeyFileResult.WRITTEN));
        assertEquals(List.of(ReplicaType.MEMORY), types(rig, "k"));
    }

    @Test
    void shouldDropWhatWasRemovedWhileItWasWritten() {
        final KeyFileTask task = put("k");
        rig.remove("k", true);
        assertEquals(1, rig.stats().heldReplicas(), "the writer still reads it");
        assertEquals(Ack.STALE, written(ALICE, task, KeyFileResult.WRITTEN));

        assertFalse(rig.exists("k"));
        assertEquals(List.of(task.filePath()), drops(ALICE, 0).paths());
        assertEquals(0, rig.stats().memoryUsed());
    }

    /** By key, by pattern, all, for its writer, and because it cannot be read. */
    private List<Consumer<String>> removals() {
        return List.of(key -> rig.remove(key, true),
            key -> rig.apply(new ObjectCommand.RemoveMatching("", "^" + key + "$", true, 0)),
            key -> rig.apply(new ObjectCommand.RemoveMatching("", ".*", true, 0)),
            key -> rig.apply(new ObjectCommand.ReplicaClear(ALICE, List.of(MasterRig.key(key)), "")),
            key -> rig.apply(new ObjectCommand.ReplicaUnreadable(MasterRig.key(key), rig.query(key).version(),
                rig.query(key).replicas().getLast().id())));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 4})
    void shouldNameADropUntilItIsAnswered(final int way) {
        final String path = stored("k");
        removals().get(way).accept("k");
        assertEquals(way == 4 ? List.of(ReplicaType.MEMORY) : List.of(), types(rig, "k"));
        assertEquals(0, rig.stats().diskReplicas());
        assertEquals(0, rig.stats().diskUsed());

        final KeyFileDrops drops = drops(ALICE, 0);
        assertEquals(List.of(path), drops.paths());
        assertEquals(List.of(path), drops(BOB, 0).paths(), "ALICE may be dead by now");
        assertEquals(List.of(), drops(ALICE, drops.last()).paths());
        assertEquals(List.of(), drops(BOB, 0).paths());
    }

    @Test
    void shouldStayWhenMemoryGoes() {
        stored("k");
        rig.passAlive(MasterRig.LEASE_MS);
        rig.evict(1, 1);
        assertEquals(List.of(ReplicaType.DISK), types(rig, "k"));

        rig.silence(ALICE);
        rig.advance(MasterRig.CLIENT_TTL_MS + 1);
        assertEquals(List.of(ReplicaType.DISK), types(rig, "k"), "nobody owns it");
        assertEquals(1, rig.stats().gets().diskHits() + (rig.read("k").found() ? 1 : 0));
    }

    @Test
    void shouldEndWhatADeadClientWrites() {
        final KeyFileTask task = put("k");
        rig.silence(ALICE);
        rig.advance(MasterRig.CLIENT_TTL_MS + 1);

        assertEquals(0, rig.stats().heldReplicas());
        assertEquals(List.of(task.filePath()), drops(BOB, 0).paths());
        assertEquals(Ack.STALE, written(ALICE, task, KeyFileResult.WRITTEN));
        assertEquals(List.of(), drops(ALICE, 0).paths(), "it has to mount the folder first");
    }

    @Test
    void shouldEndWhatIsNotWrittenInTime() {
        final KeyFileTask task = put("k");
        rig.passAlive(MasterRig.RELEASE_MS - 1);
        assertEquals(List.of(task), tasks(ALICE));
        rig.advance(1);

        assertEquals(List.of(), tasks(ALICE));
        assertEquals(Ack.STALE, written(ALICE, task, KeyFileResult.WRITTEN));
        assertEquals(List.of(task.filePath()), drops(BOB, 0).paths());
        assertEquals(0, rig.stats().heldReplicas());
    }

    /** Half of the 128 units of memory may wait for files: values beyond that get none. */
    @Test
    void shouldLeaveHalfOfTheMemoryToOthers() {
        for (int i = 0; i < 48; i++) {
            rig.put(ALICE, "a" + i, UNIT, IN_ALICE);
        }
        for (int i = 0; i < 48; i++) {
            rig.put(BOB, "b" + i, UNIT, PutOptions.DEFAULT.withPreferredSegments("bob"));
        }
        assertEquals(48, tasks(ALICE).size());
        assertEquals(16, tasks(BOB).size());
    }

    @Test
    void shouldWriteNothingWithoutAFolderOrSomebodyWhoHasIt() {
        assertEquals(Ack.OK, rig.apply(new DiskCommand.UnmountKeyFiles(ALICE)));
        assertEquals(Ack.STALE, rig.apply(new DiskCommand.UnmountKeyFiles(ALICE)));
        rig.put(ALICE, "k", UNIT, IN_ALICE);
        assertEquals(List.of(), tasks(ALICE));
        assertEquals(0, rig.stats().heldReplicas());
        try (MasterRig off = new MasterRig()) {
            off.memory(CAROL, "carol", UNIT);
            assertEquals("", off.apply(new DiskCommand.QueryKeyFolder()));
            assertEquals(Ack.STALE, mount(off, CAROL, 0));
            off.put(CAROL, "k", UNIT);
            assertEquals(List.of(), off.apply(new DiskCommand.FetchKeyFiles(CAROL, 1)));
        }
        rig.assertRefused(ErrorCode.INVALID_PARAMS, new DiskCommand.FindKeyFiles(ALICE,
            Collections.nCopies(Batch.MAX_ITEMS + 1, "/x"), false));
    }

    @Test
    void shouldReadWhatASnapshotNames() {
        final String path = stored("k");
        put("written");
        stored("removed later");
        final Snapshot snapshot = rig.snapshot();
        for (final MasterSettings next : List.of(settings(), MasterRig.settings())) {
            try (MasterRig restored = MasterRig.restored(next, snapshot, 1000)) {
                assertEquals(List.of(ReplicaType.DISK), types(restored, "k"), "its memory is not back");
                assertEquals(new ReplicaDescriptor.Disk(path, UNIT),
                    restored.query("k").replicas().getFirst().descriptor());
                assertEquals(SUM, restored.query("k").checksum());
                assertFalse(restored.exists("written"));
                assertEquals(2, restored.stats().diskReplicas());
                restored.advance(1000);
                assertTrue(restored.exists("k"), "it does not wait for anybody");
                assertEquals(2, restored.snapshot().objects().size());
                restored.remove("removed later", true);
                assertEquals(1, restored.snapshot().objects().size(), "and is not away either");
                assertEquals(List.of(true), restored.apply(new DiskCommand.FindKeyFiles(ALICE, List.of(path), false)),
                    "no sweep deletes it");
            }
        }
    }

    private static String named(final long version) {
        return new KeyFolder(FOLDER).file("default", "another", version);
    }

    /** What this master wants gone of its own names it drops; what a later one has named is not its to judge. */
    @Test
    void shouldJudgeTheNamesOfEarlierMastersAlone() {
        final long own = rig.query(keyOf(put("k"))).version();
        assertEquals(List.of(false, true, true, true), known(named(1), named(own), named(own << 1), named(-1)));
        assertEquals(List.of(true, true), known(FOLDER + "/00/readme", FOLDER + "/00/-0000000000000001.kv.old"),
            "that is no name of such a file");
    }

    private static String keyOf(final KeyFileTask task) {
        return task.key().key();
    }

    private boolean looks(final UUID client) {
        return rig.apply(new DiskCommand.FetchKeyFileDrops(client, 1, 0)).sweep();
    }

    /** The first one looks for what nobody knows; when it goes before it is done, another one does. */
    @Test
    void shouldHandTheLookOnUntilItIsDone() {
        assertTrue(looks(ALICE));
        assertFalse(looks(BOB));
        rig.silence(ALICE);
        rig.advance(MasterRig.CLIENT_TTL_MS + 1);
        rig.memory(BOB, "bob", 64 * UNIT);
        assertFalse(looks(ALICE));
        assertEquals(Ack.OK, mount(rig, BOB, 0));
        assertTrue(looks(BOB));
        rig.apply(new DiskCommand.FindKeyFiles(ALICE, List.of(), true));
        assertTrue(looks(BOB), "it is not ALICE who was asked");
        rig.apply(new DiskCommand.FindKeyFiles(BOB, List.of(named(1)), false));
        assertTrue(looks(BOB), "there may be more");
        rig.apply(new DiskCommand.FindKeyFiles(BOB, List.of(), true));
        assertFalse(looks(BOB));
        rig.apply(new DiskCommand.UnmountKeyFiles(BOB));
        mount(rig, BOB, 0);
        assertFalse(looks(BOB), "once for a master");
    }

    @Test
    void shouldLeaveFilesOutsideOfTheFolderAlone() {
        stored("k");
        final Snapshot snapshot = rig.snapshot();
        try (MasterRig restored = MasterRig.restored(MasterRig.settings().withFiles(
            new MasterSettings.FileReplicas(KeyFolder.of("/mnt/other", "blue"), 0, true)), snapshot, 1000)) {
            restored.memory(ALICE, "alice", UNIT);
            assertEquals(Ack.OK, mount(restored, ALICE, 0));
            restored.remove("k", true);
            assertFalse(restored.exists("k"));
            assertEquals(List.of(), restored.apply(new DiskCommand.FetchKeyFileDrops(ALICE, 10, 0)).paths());
        }
    }
}
