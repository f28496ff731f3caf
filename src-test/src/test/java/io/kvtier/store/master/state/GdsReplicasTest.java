package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsCounts;
import io.kvtier.store.protocol.GdsCommand.GdsDrop;
import io.kvtier.store.protocol.GdsCommand.GdsDrops;
import io.kvtier.store.protocol.GdsCommand.GdsStorageSpec;
import io.kvtier.store.protocol.GdsCommand.GdsValue;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.AddGdsReplicaStart;
import io.kvtier.store.protocol.ObjectCommand.CreateGdsOnlyObject;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Files of clients in which these allocate: registered, written beside memory or alone, evicted, lost. */
@ExtendWith(LeakCheck.class)
class GdsReplicasTest {
    static final long UNIT = 4096;
    static final UUID FILE = new UUID(0xF11E, 1);
    static final long GENERATION = 77;

    private final MasterRig rig = new MasterRig();

    @AfterEach
    void close() {
        rig.close();
    }

    static GdsStorageSpec spec(final long units, final long high, final long low) {
        return new GdsStorageSpec(FILE, GENERATION, "host:9", units * UNIT, high * UNIT, low * UNIT);
    }

    private void register(final UUID client, final GdsStorageSpec spec) {
        assertEquals(Ack.OK, rig.apply(new GdsCommand.RegisterGdsStorage(client, spec)));
        rig.ping(client, "h");
    }

    /** A file of ten units that evicts only when it is asked to, and memory for four values of a unit. */
    private void aliceHasAFile() {
        rig.memory(MasterRig.ALICE, "m", 4 * UNIT);
        register(MasterRig.ALICE, spec(10, 10, 10));
    }

    static GdsExtent extent(final long unit, final long units) {
        return new GdsExtent(FILE, GENERATION, unit * UNIT, units * UNIT);
    }

    private static AddGdsReplicaStart adding(final String key, final long version, final GdsExtent extent) {
        return new AddGdsReplicaStart(MasterRig.ALICE, MasterRig.key(key), version, extent);
    }

    private long add(final String key, final long version, final long unit) {
        final long id = rig.apply(adding(key, version, extent(unit, 1)));
        assertNotEquals(AddGdsReplicaStart.STALE, id);
        return id;
    }

    /** Alice's put of a value of 100 bytes in memory and in a unit of her file. */
    private long put(final String key, final long unit) {
        final long version = rig.started(MasterRig.ALICE, key, 100).version();
        add(key, version, unit);
        assertEquals(Ack.OK, rig.end(MasterRig.ALICE, key, version));
        return version;
    }

    private static CreateGdsOnlyObject alone(final long attempt, final String key, final long size,
        final GdsExtent extent) {
        return new CreateGdsOnlyObject(new ObjectCommand.PutStart(MasterRig.ALICE, attempt, MasterRig.key(key), size,
            PutOptions.DEFAULT, false), extent);
    }

    private long putAlone(final String key, final long unit) {
        final PutStartReply.Started started = assertInstanceOf(PutStartReply.Started.class,
            rig.apply(alone(1000 + unit, key, 100, extent(unit, 1))));
        assertEquals(Ack.OK, rig.end(MasterRig.ALICE, key, started.version()));
        return started.version();
    }

    private static Replica gds(final List<Replica> replicas) {
        return replicas.stream().filter(replica -> replica.type() == ReplicaType.GDS).findFirst().orElse(null);
    }

    /** What Alice is to free, having taken note of it. */
    private List<GdsDrop> drops() {
        final List<GdsDrop> all = new ArrayList<>();
        GdsDrops next = rig.apply(new GdsCommand.FetchGdsDrops(MasterRig.ALICE, 2, 0));
        while (!next.extents().isEmpty()) {
            all.addAll(next.extents());
            next = rig.apply(new GdsCommand.FetchGdsDrops(MasterRig.ALICE, 2, next.last()));
        }
        return all;
    }

    private long used() {
        return rig.stats().gds().used() / UNIT;
    }

    @Test
    void shouldShowAReplicaBesideMemoryWhenItsPutHasEnded() {
        aliceHasAFile();
        final long version = rig.started(MasterRig.ALICE, "k", 5000).version();
        final long id = rig.apply(adding("k", version, extent(3, 2)));
        assertEquals(id, rig.apply(adding("k", version, extent(3, 2))), "the same again");
        assertFalse(rig.exists("k"), "PROCESSING");
        assertEquals(Ack.OK, rig.end(MasterRig.ALICE, "k", version));
        final ReadReply found = rig.read("k");
        assertEquals(2, found.replicas().size());
        assertEquals(new ReplicaDescriptor.Gds(MasterRig.ALICE, FILE, GENERATION, 3 * UNIT, 5000, 2 * UNIT),
            gds(found.replicas()).descriptor());
        assertEquals(id, gds(found.replicas()).id());
        assertEquals(2, used());
        assertEquals(new GdsCounts(1, 0, 0, 0, 0, 0, 0), rig.stats().gds().counts());
    }

    @Test
    void shouldFreeAnExtentWhenItsLeaseIsOverAndSaySoUntilItIsHeard() {
        aliceHasAFile();
        put("k", 3);
        final long id = gds(rig.read("k").replicas()).id();
        assertEquals(0, rig.announced(MasterRig.ALICE) & WorkKind.GDS_DROPS.bit());
        rig.remove("k", true);
        assertEquals(1, used(), "somebody may be reading it");
        assertEquals(List.of(), drops());
        rig.passAlive(MasterRig.LEASE_MS);
        rig.settle();
        assertEquals(0, used());
        assertEquals(WorkKind.GDS_DROPS.bit(), rig.announced(MasterRig.ALICE) & WorkKind.GDS_DROPS.bit());
        final GdsDrops first = rig.apply(new GdsCommand.FetchGdsDrops(MasterRig.ALICE, 9, 0));
        assertEquals(List.of(new GdsDrop(3 * UNIT, id)), first.extents());
        assertEquals(first, rig.apply(new GdsCommand.FetchGdsDrops(MasterRig.ALICE, 9, 0)), "the answer was lost");
        assertEquals(List.of(),
            rig.apply(new GdsCommand.FetchGdsDrops(MasterRig.ALICE, 9, first.last())).extents());
        rig.assertEmpty();
    }

    @Test
    void shouldStartAnObjectInAFileAloneWhereThereIsNoMemory() {
        register(MasterRig.ALICE, spec(10, 10, 10));
        assertEquals(new PutStartReply.NoSpace(false), rig.start(MasterRig.ALICE, "k", 100));
        final PutStartReply.Started started = assertInstanceOf(PutStartReply.Started.class,
            rig.apply(alone(7, "k", 100, extent(0, 1))));
        assertEquals(started, rig.apply(alone(7, "k", 100, extent(0, 1))), "the same again");
        assertEquals(List.of(ReplicaType.GDS), started.replicas().stream().map(Replica::type).toList());
        assertEquals(new PutStartReply.Taken(PutOutcome.BEING_WRITTEN),
            rig.apply(alone(8, "k", 100, extent(1, 1))));
        assertEquals(Ack.OK, rig.end(MasterRig.ALICE, "k", started.version(), Scope.GDS));
        assertEquals(new PutStartReply.Taken(PutOutcome.ALREADY_EXISTS),
            rig.apply(alone(9, "k", 100, extent(1, 1))));
        assertEquals(List.of(ReplicaType.GDS), rig.read("k").replicas().stream().map(Replica::type).toList());
        assertEquals(new GdsCounts(0, 1, 0, 0, 0, 0, 0), rig.stats().gds().counts());
        assertEquals(List.of(1L, 100L), List.of(rig.stats().gets().gdsHits(), rig.stats().gets().gdsBytes()));
    }

    @Test
    void shouldRefuseAnExtentThatCannotBeOneAndLeaveNoTrace() {
        aliceHasAFile();
        put("there", 4);
        final long version = rig.started(MasterRig.ALICE, "k", 5000).version();
        for (final GdsExtent wrong : List.of(extent(4, 2), extent(3, 2), extent(9, 2), extent(-1, 2), extent(0, 1),
            extent(0, 3), new GdsExtent(FILE, GENERATION, 100, 2 * UNIT), new GdsExtent(FILE, GENERATION, 0, 5000),
            new GdsExtent(FILE, GENERATION, Long.MAX_VALUE - UNIT + 1, 2 * UNIT))) {
            rig.assertRefused(ErrorCode.INVALID_PARAMS, adding("k", version, wrong));
            rig.assertRefused(ErrorCode.INVALID_PARAMS, alone(5, "other", 5000, wrong));
        }
        for (final GdsExtent another : List.of(new GdsExtent(new UUID(1, 1), GENERATION, 0, 2 * UNIT),
            new GdsExtent(FILE, GENERATION + 1, 0, 2 * UNIT))) {
            rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, adding("k", version, another));
        }
        rig.assertRefused(ErrorCode.ILLEGAL_CLIENT, new AddGdsReplicaStart(MasterRig.BOB, MasterRig.key("k"), version,
            extent(0, 2)));
        assertEquals(AddGdsReplicaStart.STALE, rig.apply(adding("k", version + 1, extent(0, 2))));
        rig.apply(adding("k", version, extent(0, 2)));
        rig.assertRefused(ErrorCode.INVALID_PARAMS, adding("k", version, extent(2, 2)));
    }

    @Test
    void shouldRevokeEitherSideOrBoth() {
        aliceHasAFile();
        final long version = rig.started(MasterRig.ALICE, "k", 100).version();
        final long id = add("k", version, 2);
        assertEquals(Ack.OK, rig.revoke(MasterRig.ALICE, "k", version, Scope.GDS));
        assertEquals(List.of(new GdsDrop(2 * UNIT, id)), drops());
        assertEquals(Ack.OK, rig.end(MasterRig.ALICE, "k", version));
        assertEquals(List.of(ReplicaType.MEMORY), rig.read("k").replicas().stream().map(Replica::type).toList());
        final long second = rig.started(MasterRig.ALICE, "l", 100).version();
        add("l", second, 2);
        assertEquals(Ack.OK, rig.revoke(MasterRig.ALICE, "l", second));
        assertEquals(0, used());
        assertFalse(rig.exists("l"));
        assertEquals(1, rig.stats().objects());
    }

    @Test
    void shouldEvictFromAFileByItsOwnWatermarksAndOldestFirst() {
        rig.memory(MasterRig.ALICE, "m", 100 * UNIT);
        register(MasterRig.ALICE, spec(10, 8, 5));
        for (int i = 0; i < 8; i++) {
            put("k" + i, i);
        }
        assertEquals(8, used());
        put("k8", 8);
        assertEquals(5, used(), "down to the low watermark, with the new one");
        assertEquals(List.of(0L, 1L, 2L, 3L), drops().stream().map(drop -> drop.offset() / UNIT).toList());
        for (int i = 0; i < 9; i++) {
            assertEquals(i < 4 ? 0 : 1, MasterRig.replicas(rig.query("k" + i), ReplicaType.GDS), "k" + i);
            assertEquals(1, MasterRig.replicas(rig.query("k" + i), ReplicaType.MEMORY), "k" + i);
        }
        assertEquals(new GdsCounts(9, 0, 0, 0, 4, 4 * UNIT, 0), rig.stats().gds().counts());
    }

    @Test
    void shouldKeepWhatIsLeasedOrPinnedWhenRoomIsMade() {
        aliceHasAFile();
        final long version = rig.started(MasterRig.ALICE, "hard", 100, PutOptions.DEFAULT.withHardPin(true)).version();
        add("hard", version, 0);
        rig.end(MasterRig.ALICE, "hard", version);
        put("leased", 1);
        put("old", 2);
        rig.read("leased");
        assertEquals(UNIT, rig.apply(new GdsCommand.MakeGdsRoom(MasterRig.ALICE, 10 * UNIT)).bytes());
        assertEquals(List.of(2 * UNIT), drops().stream().map(GdsDrop::offset).toList());
        assertEquals(1, MasterRig.replicas(rig.query("hard"), ReplicaType.GDS));
        assertEquals(1, MasterRig.replicas(rig.query("leased"), ReplicaType.GDS));
        assertEquals(0, MasterRig.replicas(rig.query("old"), ReplicaType.GDS));
        rig.passAlive(MasterRig.LEASE_MS);
        assertEquals(UNIT, rig.apply(new GdsCommand.MakeGdsRoom(MasterRig.ALICE, 1)).bytes());
    }

    @Test
    void shouldEvictInOneFileOnlyForThatFile() {
        aliceHasAFile();
        final GdsStorageSpec bobs =
            new GdsStorageSpec(new UUID(0xF11E, 2), GENERATION, "", 2 * UNIT, 2 * UNIT, 2 * UNIT);
        register(MasterRig.BOB, bobs);
        put("a", 0);
        final long version = rig.started(MasterRig.BOB, "b", 100).version();
        rig.apply(new AddGdsReplicaStart(MasterRig.BOB, MasterRig.key("b"), version,
            new GdsExtent(bobs.storageId(), GENERATION, 0, UNIT)));
        rig.end(MasterRig.BOB, "b", version);
        assertEquals(UNIT, rig.apply(new GdsCommand.MakeGdsRoom(MasterRig.BOB, 2 * UNIT)).bytes());
        assertEquals(1, MasterRig.replicas(rig.query("a"), ReplicaType.GDS));
        assertEquals(List.of(), drops());
    }

    @Test
    void shouldEvictAGroupOfTwoFilesOnlyWhereRoomIsMade() {
        aliceHasAFile();
        register(MasterRig.BOB, new GdsStorageSpec(new UUID(0xF11E, 2), GENERATION, "", 2 * UNIT, 2 * UNIT,
            2 * UNIT));
        final PutOptions group = PutOptions.DEFAULT.withGroup("g");
        final long mine = rig.started(MasterRig.ALICE, "a", 100, group).version();
        add("a", mine, 0);
        rig.end(MasterRig.ALICE, "a", mine);
        final long his = rig.started(MasterRig.BOB, "b", 100, group).version();
        rig.apply(new AddGdsReplicaStart(MasterRig.BOB, MasterRig.key("b"), his,
            new GdsExtent(new UUID(0xF11E, 2), GENERATION, 0, UNIT)));
        rig.end(MasterRig.BOB, "b", his);
        assertEquals(UNIT, rig.apply(new GdsCommand.MakeGdsRoom(MasterRig.BOB, UNIT)).bytes());
        assertEquals(1, MasterRig.replicas(rig.query("a"), ReplicaType.GDS));
        assertEquals(UNIT, rig.apply(new GdsCommand.MakeGdsRoom(MasterRig.ALICE, UNIT)).bytes());
        assertEquals(0, MasterRig.replicas(rig.query("a"), ReplicaType.GDS));
    }

    @Test
    void shouldEvictMemoryAtOnceWhereTheFileHasACopy() {
        aliceHasAFile();
        rig.disk(MasterRig.ALICE);
        put("k", 0);
        rig.evict(1, 1);
        assertEquals(List.of(), rig.fetch(MasterRig.ALICE), "nothing is to be saved");
        assertEquals(List.of(ReplicaType.GDS), rig.read("k").replicas().stream().map(Replica::type).toList());
    }

    @Test
    void shouldForgetWhatIsInTheFileOfAClientThatIsNotHeardOf() {
        aliceHasAFile();
        rig.memory(MasterRig.BOB, "n", 4 * UNIT);
        putAlone("only", 0);
        rig.silence(MasterRig.ALICE);
        rig.passAlive(MasterRig.CLIENT_TTL_MS);
        assertFalse(rig.exists("only"), "hidden at once");
        rig.settle();
        assertEquals(List.of(0L, 0L, 0L, 0L), List.of(rig.stats().gds().storages(), rig.stats().gds().capacity(),
            rig.stats().gds().used(), rig.stats().gds().replicas()));
        rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
            new GdsCommand.RegisterGdsStorage(MasterRig.ALICE, spec(10, 10, 10)));
        rig.ping(MasterRig.ALICE, "h");
        register(MasterRig.ALICE, spec(10, 10, 10));
        assertEquals(List.of(), drops(), "it starts empty");
    }

    @Test
    void shouldTakeAFileBackOnlyByItsRightName() {
        aliceHasAFile();
        putAlone("only", 0);
        assertEquals(Ack.STALE, rig.apply(new GdsCommand.UnregisterGdsStorage(MasterRig.ALICE, FILE, GENERATION + 1)));
        assertEquals(Ack.STALE, rig.apply(new GdsCommand.UnregisterGdsStorage(MasterRig.BOB, FILE, GENERATION)));
        assertTrue(rig.exists("only"));
        assertEquals(Ack.OK, rig.apply(new GdsCommand.UnregisterGdsStorage(MasterRig.ALICE, FILE, GENERATION)));
        assertEquals(Ack.STALE, rig.apply(new GdsCommand.UnregisterGdsStorage(MasterRig.ALICE, FILE, GENERATION)));
        assertFalse(rig.exists("only"));
        rig.settle();
        rig.assertEmpty();
    }

    @Test
    void shouldForgetTheFileOfAnEarlierGeneration() {
        aliceHasAFile();
        putAlone("only", 0);
        register(MasterRig.ALICE, spec(10, 10, 10));
        assertTrue(rig.exists("only"), "registered again, nothing changes");
        register(MasterRig.ALICE, new GdsStorageSpec(FILE, GENERATION + 1, "", 10 * UNIT, 10 * UNIT, 10 * UNIT));
        assertFalse(rig.exists("only"));
        rig.settle();
        assertEquals(1, rig.stats().gds().storages());
        assertEquals(new GdsCounts(0, 1, 0, 0, 0, 0, 0), rig.stats().gds().counts(), "what was counted stays");
    }

    @Test
    void shouldRefuseAFileThatCannotBeOne() {
        for (final GdsStorageSpec wrong : List.of(new GdsStorageSpec(FILE, 0, "", UNIT, 0, 0),
            new GdsStorageSpec(FILE, 1, "", 0, 0, 0), new GdsStorageSpec(FILE, 1, "", UNIT + 1, 0, 0),
            new GdsStorageSpec(FILE, 1, "", UNIT, UNIT + 1, 0), new GdsStorageSpec(FILE, 1, "", UNIT, 0, 1),
            new GdsStorageSpec(FILE, 1, "", Long.MAX_VALUE / UNIT * UNIT, UNIT, 0))) {
            rig.assertRefused(ErrorCode.INVALID_PARAMS, new GdsCommand.RegisterGdsStorage(MasterRig.ALICE, wrong));
        }
        rig.assertRefused(ErrorCode.INVALID_PARAMS, new SegmentCommand.Mount(MasterRig.ALICE,
            MasterRig.spec(new UUID(4, 4), "x", Medium.GDS, UNIT, true)));
        assertEquals(List.of(), rig.apply(new SegmentCommand.Segments()));
    }

    @Test
    void shouldKeepTheFileThatIsThereWhenAnotherOneIsRefused() {
        register(MasterRig.ALICE, spec(10, 10, 10));
        putAlone("k", 0);
        final GdsStorageSpec tooLarge =
            new GdsStorageSpec(FILE, GENERATION + 1, "", (16L << 40) + UNIT, 10 * UNIT, 10 * UNIT);
        rig.ping(MasterRig.BOB, "h");
        rig.assertRefused(ErrorCode.INVALID_PARAMS, new GdsCommand.RegisterGdsStorage(MasterRig.ALICE, tooLarge));
        rig.assertRefused(ErrorCode.INVALID_PARAMS, new GdsCommand.RegisterGdsStorage(MasterRig.BOB, tooLarge));
        assertTrue(rig.exists("k"));
    }

    /** Within the master a file is a segment, too; to clients it is none, whatever number they try. */
    @Test
    void shouldNotBeUnmountedAsASegment() {
        register(MasterRig.ALICE, spec(10, 10, 10));
        putAlone("k", 0);
        final long next = gds(rig.query("k").replicas()).id();
        // It was given its number shortly before the replica in it.
        for (long number = next - 10; number <= next; number++) {
            final UUID id = new UUID(0, number);
            rig.assertRefused(ErrorCode.SEGMENT_NOT_FOUND, new SegmentCommand.Unmount(MasterRig.ALICE, id, 0));
            rig.assertRefused(ErrorCode.SEGMENT_NOT_FOUND, new SegmentCommand.Unmount(MasterRig.ALICE, id, 50));
        }
        assertTrue(rig.exists("k"));
    }

    private static GdsValue value(final String key, final long version, final long unit) {
        return new GdsValue(MasterRig.key(key), version, 100, extent(unit, 1), false, 0);
    }

    private List<Long> adopt(final GdsValue... values) {
        return rig.apply(new GdsCommand.AdoptGdsReplicas(MasterRig.ALICE, List.of(values)));
    }

    @Test
    void shouldAdoptWhatAFileHasAndAnswerTheSameAgain() {
        register(MasterRig.ALICE, spec(10, 10, 10));
        final List<Long> ids = adopt(value("a", 5, 0), value("b", 6, 1), value("a", 4, 2), value("c", 8, 1),
            value("d", 9, 10), new GdsValue(MasterRig.key("e"), 10, 100, new GdsExtent(FILE, 1, 2 * UNIT, UNIT), false,
                0));
        assertEquals(List.of(true, true, false, false, false, false), ids.stream().map(id -> id != 0).toList());
        assertEquals(ids, adopt(value("a", 5, 0), value("b", 6, 1), value("a", 4, 2), value("c", 8, 1),
            value("d", 9, 10), new GdsValue(MasterRig.key("e"), 10, 100, new GdsExtent(FILE, 1, 2 * UNIT, UNIT), false,
                0)));
        assertEquals(List.of(ids.get(0), 5L), List.of(gds(rig.read("a").replicas()).id(), rig.read("a").version()));
        assertEquals(2, rig.stats().objects());
        assertEquals(2, used());
        assertEquals(Ack.OK, rig.apply(new GdsCommand.UnregisterGdsStorage(MasterRig.ALICE, FILE, GENERATION)));
        // Before it has been swept: offered anew, it is taken anew.
        register(MasterRig.ALICE, spec(10, 10, 10));
        assertNotEquals(0, adopt(value("a", 5, 0)).getFirst());
        rig.settle();
        assertTrue(rig.exists("a"));
        assertFalse(rig.exists("b"));
    }

    /** A disk that came back first had an older value of the key, and its own replica stays in the file with that. */
    @Test
    void shouldAdoptANewerValueThanAnotherStoreHad() {
        register(MasterRig.ALICE, spec(10, 10, 10));
        rig.ping(MasterRig.BOB, "h");
        rig.disk(MasterRig.BOB);
        assertTrue(rig.adopt(MasterRig.BOB, "a", 5, 100));
        assertTrue(rig.adopt(MasterRig.BOB, "b", 9, 100));
        final List<Long> ids = adopt(value("a", 6, 0), value("b", 8, 1));
        assertEquals(List.of(true, false), ids.stream().map(id -> id != 0).toList());
        assertEquals(List.of(6L, 9L), List.of(rig.read("a").version(), rig.read("b").version()));
        assertEquals(List.of(ids.getFirst()), rig.read("a").replicas().stream().map(Replica::id).toList());
        // In one file too: what is older is named to its owner, and rests.
        final long later = adopt(value("a", 7, 2)).getFirst();
        assertEquals(List.of(later), rig.read("a").replicas().stream().map(Replica::id).toList());
    }

    /** Its process has ended, which the master does not know yet, and another one has the file. */
    @Test
    void shouldAdoptWhatAFileHasThatAnotherClientHadBefore() {
        register(MasterRig.ALICE, spec(10, 10, 10));
        final List<Long> before = adopt(value("a", 5, 0), value("b", 6, 1));
        rig.ping(MasterRig.BOB, "h");
        register(MasterRig.BOB, spec(10, 10, 10));
        assertFalse(rig.exists("b"), "it is Bob's file");
        // Alive after all, with a copy of the file: it does not take the file back and forth.
        rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
            new GdsCommand.RegisterGdsStorage(MasterRig.ALICE, spec(10, 10, 10)));
        final long id = rig.apply(new GdsCommand.AdoptGdsReplicas(MasterRig.BOB, List.of(value("a", 5, 0)))).getFirst();
        assertFalse(id == GdsCommand.AdoptGdsReplicas.REFUSED || id == before.getFirst(), () -> "adopted as " + id);
        final ReplicaDescriptor.Gds place =
            assertInstanceOf(ReplicaDescriptor.Gds.class, gds(rig.read("a").replicas()).descriptor());
        assertEquals(MasterRig.BOB, place.ownerClientId());
        rig.settle();
        assertTrue(rig.exists("a"));
        assertEquals(List.of(1L, 1L), List.of(rig.stats().gds().storages(), used()));
        rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, alone(1, "c", 100, extent(2, 1)));
    }

    @Test
    void shouldNotAdoptWhatWasRemovedOrReplaced() {
        aliceHasAFile();
        final long old = putAlone("replaced", 0);
        final long gone = putAlone("gone", 1);
        rig.remove("gone", true);
        rig.end(MasterRig.ALICE, "replaced", rig.replacing(MasterRig.ALICE, "replaced", 100).version());
        rig.advance(MasterRig.LEASE_MS);
        assertEquals(List.of(0L, 0L), adopt(value("gone", gone, 1), value("replaced", old, 0)));
        assertEquals(0, used());
    }

    @Test
    void shouldGiveUpAPutThatDoesNotEndAndFreeItsExtent() {
        aliceHasAFile();
        final long id = add("k", rig.started(MasterRig.ALICE, "k", 100).version(), 2);
        rig.advance(MasterRig.RELEASE_MS);
        assertEquals(List.of(new GdsDrop(2 * UNIT, id)), drops());
        rig.assertEmpty();
    }

    @Test
    void shouldHoldTheExtentOfAReplacedPutUntilItsWriterIsDone() {
        aliceHasAFile();
        final long first = rig.started(MasterRig.ALICE, "k", 100).version();
        final long id = add("k", first, 2);
        final long second = rig.replacing(MasterRig.BOB, "k", 100).version();
        assertEquals(1, used(), "its writer may be at it");
        assertEquals(Ack.STALE, rig.end(MasterRig.ALICE, "k", first));
        assertEquals(List.of(new GdsDrop(2 * UNIT, id)), drops());
        assertEquals(Ack.OK, rig.end(MasterRig.BOB, "k", second));
        assertEquals(AddGdsReplicaStart.STALE, rig.apply(adding("k", first, extent(0, 1))));
    }

    @Test
    void shouldForgetAReplicaThatCannotBeRead() {
        aliceHasAFile();
        final long version = put("k", 0);
        final long id = gds(rig.query("k").replicas()).id();
        assertEquals(Ack.OK, rig.apply(new ObjectCommand.ReplicaUnreadable(MasterRig.key("k"), version, id)));
        assertEquals(List.of(ReplicaType.MEMORY), rig.query("k").replicas().stream().map(Replica::type).toList());
        assertEquals(List.of(new GdsDrop(0, id)), drops());
    }

    @Test
    void shouldListTheFiles() {
        aliceHasAFile();
        put("k", 0);
        final GdsCommand.GdsStorageInfo info = rig.apply(new GdsCommand.GdsStorages()).getFirst();
        assertEquals(new GdsCommand.GdsStorageInfo(MasterRig.ALICE, FILE, GENERATION, "host:9", 10 * UNIT, UNIT, 1,
            new GdsCounts(1, 0, 0, 0, 0, 0, 0), GdsCommand.GdsWork.NONE, GdsCommand.GdsState.UNKNOWN), info);
    }
}
