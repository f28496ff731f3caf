package io.kvtier.store.master;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.metrics.RequestMetrics;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.StoredObject;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.store.snapshot.SnapshotCounts;
import io.kvtier.store.snapshot.files.DirectoryStore;
import io.kvtier.store.snapshot.files.SnapshotArchive;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.rpc.RpcServerConfig;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** Masters that take snapshots and begin with them. */
@ExtendWith(LeakCheck.class)
class SnapshotsTest {
    private static final UUID CLIENT = new UUID(1, 2);
    private static final long NEVER_MS = 86_400_000;
    private static final long NOW_MS = 1_796_000_000_000L;

    @TempDir
    private Path directory;

    private SnapshotArchive archive() throws IOException {
        return new SnapshotArchive(DirectoryStore.open(directory, "c"), "c", 2);
    }

    private static MasterSettings settings() {
        return new MasterSettings(MasterSettings.Eviction.DEFAULT, 1000, true, 50, MasterSettings.Liveness.FOREVER,
            MasterSettings.Pins.DEFAULT, MasterSettings.Tasks.DEFAULT, false, MasterSettings.Strategy.RANDOM);
    }

    private MasterServer start(final long nowMs) throws IOException {
        return MasterServer.start(RpcServerConfig.loopback(0), settings(), new RequestMetrics(),
            SnapshotPlan.of(archive(), new SnapshotPlan.Terms(true, true, NEVER_MS, NEVER_MS), nowMs));
    }

    private static void lend(final Master master) {
        master.apply(new SegmentCommand.Ping(CLIENT, "c", "h", ""));
        master.apply(new SegmentCommand.Mount(CLIENT, new SegmentSpec("m", Medium.MEMORY, 1 << 20, 4096,
            new SegmentAddress(UUID.randomUUID(), "", AccessToken.NONE), true)));
    }

    private static long put(final Master master, final String key) {
        final PutStartReply.Started put = (PutStartReply.Started) master.apply(new ObjectCommand.PutStart(CLIENT,
            key.hashCode(), ObjectKey.of(key), 100, PutOptions.DEFAULT, false));
        master.apply(new ObjectCommand.PutEnd(CLIENT, ObjectKey.of(key), put.version(), Scope.ALL, true, 7));
        return put.version();
    }

    private static boolean adopt(final Master master, final String key, final long version) {
        master.apply(new DiskCommand.MountDisk(CLIENT, "host:1", 1 << 20));
        return master.apply(new DiskCommand.AdoptDisk(CLIENT,
            List.of(new StoredObject(ObjectKey.of(key), version, 100, 7)))).getFirst();
    }

    @Test
    void shouldTakeASnapshotWhenItIsAskedTo() throws IOException {
        try (MasterServer master = start(NOW_MS)) {
            lend(master.master());
            put(master.master(), "a");
            put(master.master(), "b");
            assertEquals(SnapshotCounts.NONE, master.snapshots().counts());

            final SnapshotCounts counts = master.snapshots().take();
            assertEquals(1, counts.taken());
            assertEquals(0, counts.failed());
            assertEquals(2, counts.lastObjects());
            assertTrue(counts.longestNanos() > 0);
            assertEquals(counts, master.snapshots().counts());
            assertEquals(counts.lastId(), archive().named().orElseThrow().toString());
            assertEquals(counts.lastBytes(),
                Files.size(directory.resolve("c").resolve(counts.lastId() + ".payload")));
        }
    }

    @Test
    void shouldTakeALastSnapshotWhenItEnds() throws IOException {
        final long version;
        try (MasterServer master = start(NOW_MS)) {
            lend(master.master());
            version = put(master.master(), "a");
        }
        final var found = archive().find().best();
        assertEquals(version, found.snapshot().objects().getFirst().version());

        try (MasterServer next = start(NOW_MS + 1_000_000)) {
            assertFalse(next.master().apply(new ObjectCommand.Query(ObjectKey.of("a"))).found());
            assertTrue(adopt(next.master(), "a", version));
            assertTrue(next.master().apply(new ObjectCommand.Query(ObjectKey.of("a"))).found());
        }
    }

    @Test
    void shouldNotLetARemovedValueComeBackAfterARestart() throws IOException {
        final long version;
        try (MasterServer master = start(NOW_MS)) {
            lend(master.master());
            version = put(master.master(), "a");
            master.master().apply(new ObjectCommand.Remove(ObjectKey.of("a"), true));
        }
        try (MasterServer next = start(NOW_MS + 1_000_000)) {
            assertFalse(adopt(next.master(), "a", version));
        }
    }

    @Test
    void shouldGiveOutHigherVersionsWhateverTheClockSays() throws IOException {
        long last = 0;
        for (final long nowMs : List.of(NOW_MS, NOW_MS + 1, NOW_MS - 1_000_000, NOW_MS + 10_000_000, 5L)) {
            try (MasterServer master = start(nowMs)) {
                lend(master.master());
                final long version = put(master.master(), "key of " + nowMs);
                // As many as the master before can have given out after its last snapshot.
                assertTrue(version > last + (60_000L << 20), version + " after " + last);
                last = version;
            }
        }
    }

    private long term(final long nowMs) throws IOException {
        return SnapshotPlan.of(archive(), new SnapshotPlan.Terms(true, true, NEVER_MS, NEVER_MS), nowMs).term();
    }

    /** Those that die before their first snapshot have given out versions of their terms, too. */
    @Test
    void shouldBeginATermAboveThoseOfMastersThatTookNoSnapshot() throws IOException {
        try (MasterServer before = start(NOW_MS - 10_000)) {
            before.snapshots().take();
        }
        long last = NOW_MS - 10_000;
        for (final long nowMs : List.of(NOW_MS, NOW_MS + 1000, NOW_MS + 120_000, NOW_MS - 1_000_000)) {
            final long term = term(nowMs);
            assertTrue(term > last, term + " after " + last);
            last = term;
        }
        assertEquals(NOW_MS - 10_000, archive().list().getFirst().term(), "none of them took one");
    }

    @Test
    void shouldNotBeginWhereItsTermCannotBeWritten() throws IOException {
        // What a blob is written to first is taken by a folder that is not empty.
        Files.createDirectories(directory.resolve("c").resolve("term.tmp").resolve("in use"));

        final String why = assertThrows(IOException.class, () -> start(NOW_MS)).getMessage();
        assertTrue(why.startsWith("term " + NOW_MS + " of this master cannot be written to ")
            && why.contains("let the master write there"), why);
    }

    @Test
    void shouldTakeNoSnapshotsAnyMoreWhenAnotherMasterDoes() throws IOException {
        try (MasterServer old = start(NOW_MS)) {
            old.snapshots().take();
            try (MasterServer next = start(NOW_MS)) {
                final String taken = next.snapshots().take().lastId();
                assertTrue(assertThrows(IOException.class, () -> old.snapshots().take()).getMessage()
                    .contains("another master has taken over"));
                assertEquals(1, old.snapshots().counts().failed());
                assertEquals(taken, archive().named().orElseThrow().toString());
            }
        }
    }

    @Test
    void shouldNotBeginWhereOnlyALaterVersionCanRead() throws IOException {
        try (MasterServer master = start(NOW_MS)) {
            lend(master.master());
        }
        final Path manifest = directory.resolve("c").resolve(archive().list().getFirst() + ".manifest");
        final String line = Files.readAllLines(manifest).getFirst().replace("\"format\":1", "\"format\":2");
        final CRC32C sum = new CRC32C();
        sum.update(line.getBytes(StandardCharsets.UTF_8));
        Files.writeString(manifest, line + "\ncrc32c " + String.format("%08x", sum.getValue()) + "\n");

        final String why = assertThrows(IOException.class, () -> start(NOW_MS)).getMessage();
        assertTrue(why.contains("can be restored by this version") && why.contains("has format 2"), why);
    }

    @Test
    void shouldBeginEmptyWhereNothingIsWhole() throws IOException {
        try (MasterServer master = start(NOW_MS)) {
            lend(master.master());
        }
        Files.write(directory.resolve("c").resolve(archive().list().getFirst() + ".payload"), new byte[10]);
        try (MasterServer master = start(NOW_MS + 1_000_000)) {
            lend(master.master());
            assertEquals(1, master.snapshots().take().taken());
        }
        assertEquals(List.of(), archive().find().refused());
    }

    @Test
    void shouldSayThatNoSnapshotWasTakenWhenTheFolderIsGone() throws IOException {
        try (MasterServer master = start(NOW_MS)) {
            Files.move(directory.resolve("c"), directory.resolve("away"));
            assertThrows(IOException.class, () -> master.snapshots().take());
            Files.createDirectory(directory.resolve("c"));
            assertEquals(1, master.snapshots().take().taken());
            assertEquals(1, master.snapshots().counts().failed());
        }
    }

    @Test
    void shouldTakeNoneUnlessItIsToldTo() throws IOException {
        try (MasterServer master = MasterServer.start(RpcServerConfig.loopback(0), settings())) {
            assertNull(master.snapshots());
        }
        try (MasterServer master = MasterServer.start(RpcServerConfig.loopback(0), settings(), new RequestMetrics(),
            SnapshotPlan.of(archive(), new SnapshotPlan.Terms(false, true, NEVER_MS, NEVER_MS), NOW_MS))) {
            assertNull(master.snapshots());
        }
        assertEquals(List.of(), archive().list());
    }

    @Test
    void shouldTakeASnapshotBesideCommands() throws IOException, InterruptedException {
        try (MasterServer master = start(NOW_MS)) {
            lend(master.master());
            final Thread busy = Thread.ofPlatform().start(() -> {
                for (int i = 0; i < 200; i++) {
                    put(master.master(), "key" + i);
                }
            });
            long before = 0;
            for (int i = 0; i < 20; i++) {
                final long objects = master.snapshots().take().lastObjects();
                assertTrue(objects >= before, objects + " after " + before);
                before = objects;
            }
            busy.join();
            assertEquals(200, master.snapshots().take().lastObjects());
            assertEquals(21, master.snapshots().counts().taken());
        }
        assertEquals(200, archive().find().best().snapshot().objects().size());
    }

    @Test
    void shouldRefuseASnapshotOfAMasterThatHasEnded() throws IOException {
        final MasterServer master = start(NOW_MS);
        final var snapshots = master.snapshots();
        master.close();

        assertThrows(StoreException.class, snapshots::take);
        assertEquals(1, snapshots.counts().taken());
    }
}
