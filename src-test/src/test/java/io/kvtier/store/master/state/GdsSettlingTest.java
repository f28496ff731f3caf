package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.GdsReplicasTest.FILE;
import static io.kvtier.store.master.state.GdsReplicasTest.GENERATION;
import static io.kvtier.store.master.state.GdsReplicasTest.UNIT;
import static io.kvtier.store.master.state.GdsReplicasTest.extent;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsDrop;
import io.kvtier.store.protocol.GdsCommand.Settlement;
import io.kvtier.store.protocol.GdsCommand.UnsettledExtent;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.AddGdsReplicaStart;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaType;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What the owner of a file asks about extents whose puts ended without an answer, and what that does to the puts. */
@ExtendWith(LeakCheck.class)
class GdsSettlingTest {
    private final MasterRig rig = new MasterRig();

    /** Memory for four values of a unit, of Bob, and a file of ten units, of Alice. */
    @BeforeEach
    void lend() {
        rig.memory(MasterRig.BOB, "m", 4 * UNIT);
        assertEquals(Ack.OK, rig.apply(new GdsCommand.RegisterGdsStorage(MasterRig.ALICE,
            GdsReplicasTest.spec(10, 10, 10))));
        rig.ping(MasterRig.ALICE, "h");
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private long add(final String key, final long version, final long unit) {
        final long id = rig.apply(new AddGdsReplicaStart(MasterRig.ALICE, MasterRig.key(key), version,
            extent(unit, 1)));
        assertNotEquals(AddGdsReplicaStart.STALE, id);
        return id;
    }

    private List<GdsDrop> drops() {
        return rig.apply(new GdsCommand.FetchGdsDrops(MasterRig.ALICE, 100, 0)).extents();
    }

    private List<Settlement> settle(final UnsettledExtent one) {
        return rig.apply(new GdsCommand.SettleGdsExtents(MasterRig.ALICE, List.of(one)));
    }

    private List<Settlement> settle(final String key, final long unit) {
        return settle(new UnsettledExtent(MasterRig.key(key), extent(unit, 1), 0));
    }

    @Test
    void shouldSettleWhatBecameOfAnExtent() {
        assertEquals(List.of(Settlement.FREE), settle("never", 0));
        final long complete = rig.started(MasterRig.ALICE, "complete", 100).version();
        final long id = add("complete", complete, 1);
        assertEquals(Ack.OK, rig.end(MasterRig.ALICE, "complete", complete));
        assertEquals(List.of(new Settlement(id, complete)), settle("complete", 1));
        assertEquals(List.of(Settlement.FREE), settle("another key", 1));
        final long version = rig.started(MasterRig.ALICE, "begun", 100).version();
        final long begun = add("begun", version, 2);
        assertEquals(List.of(new Settlement(begun, 0)), settle("begun", 2), "it is given up");
        assertEquals(Ack.STALE, rig.end(MasterRig.ALICE, "begun", version));
        assertFalse(rig.exists("begun"));
        assertEquals(List.of(new GdsDrop(2 * UNIT, begun)), drops());
        assertEquals(List.of(Settlement.FREE), settle("begun", 2));
        rig.read("complete");
        rig.remove("complete", true);
        assertEquals(List.of(new Settlement(id, 0)), settle("complete", 1), "it rests, and is among the drops then");
        assertEquals(List.of(Settlement.FREE), settle(new UnsettledExtent(MasterRig.key("complete"),
            new GdsExtent(FILE, GENERATION + 1, UNIT, UNIT), id)));
        assertEquals(0, rig.stats().pendingWrites());
    }

    /** Bob may still write into his memory what Alice sent there, and her revocation of it was lost. */
    @Test
    void shouldGiveTheMemoryOfAPutThatIsGivenUpToNobodyWhileItMayBeWritten() {
        final long size = 4 * UNIT;
        final long version = rig.started(MasterRig.ALICE, "k", size).version();
        final long id = rig.apply(new AddGdsReplicaStart(MasterRig.ALICE, MasterRig.key("k"), version, extent(0, 4)));
        assertEquals(List.of(new Settlement(id, 0)),
            settle(new UnsettledExtent(MasterRig.key("k"), extent(0, 4), id)));
        assertEquals(List.of(new GdsDrop(0, id)), drops(), "of the file its owner knows that nothing is under way");
        assertEquals(0, rig.stats().pendingWrites());
        assertEquals(new PutStartReply.NoSpace(true), rig.start(MasterRig.CAROL, "another", size));
        rig.advance(MasterRig.RELEASE_MS - 1);
        assertEquals(new PutStartReply.NoSpace(true), rig.start(MasterRig.CAROL, "another", size));
        rig.advance(1);
        rig.started(MasterRig.CAROL, "another", size);
    }

    /** A question about one put comes again, late, when the next put of the key has the same room. */
    @Test
    void shouldNotEndALaterPutOfTheSameKeyInTheSamePlace() {
        final long first = rig.started(MasterRig.ALICE, "k", 100).version();
        final long old = add("k", first, 2);
        final UnsettledExtent question = new UnsettledExtent(MasterRig.key("k"), extent(2, 1), old);
        assertEquals(List.of(new Settlement(old, 0)), settle(question));
        final long second = rig.started(MasterRig.ALICE, "k", 100).version();
        final long id = add("k", second, 2);
        assertNotEquals(old, id);
        assertEquals(List.of(Settlement.FREE), settle(question));
        assertEquals(Ack.OK, rig.end(MasterRig.ALICE, "k", second));
        assertEquals(2, rig.read("k").replicas().size());
    }

    /** Offered anew it has another id, which its owner may not have heard; it is his all the same. */
    @Test
    void shouldSayWhatACompleteReplicaIsCalledNow() {
        final long version = rig.started(MasterRig.ALICE, "k", 100).version();
        final long id = add("k", version, 2);
        assertEquals(Ack.OK, rig.end(MasterRig.ALICE, "k", version));
        assertEquals(List.of(new Settlement(id, version)),
            settle(new UnsettledExtent(MasterRig.key("k"), extent(2, 1), id + 1)));
    }

    @Test
    void shouldGiveUpAnObjectInAFileAloneOnce() {
        final PutStartReply.Started started = (PutStartReply.Started) rig.apply(new ObjectCommand.CreateGdsOnlyObject(
            new ObjectCommand.PutStart(MasterRig.ALICE, 1, MasterRig.key("k"), 100,
                PutOptions.DEFAULT, false), extent(3, 1)));
        final Replica replica = started.replicas().getFirst();
        assertEquals(ReplicaType.GDS, replica.type());
        assertEquals(List.of(new Settlement(replica.id(), 0)), settle("k", 3));
        assertEquals(List.of(new GdsDrop(3 * UNIT, replica.id())), drops());
        assertEquals(Ack.STALE, rig.end(MasterRig.ALICE, "k", started.version(), Scope.GDS));
        rig.assertEmpty();
    }

    /** A put that its writer has long given up begins where something else lies by then, which is dropped. */
    @Test
    void shouldSayWhatWasDroppedAlsoWhenAPutBeginsThereLate() {
        final long version = rig.started(MasterRig.ALICE, "k", 100).version();
        final long id = add("k", version, 3);
        assertEquals(Ack.OK, rig.end(MasterRig.ALICE, "k", version));
        rig.remove("k", true);
        final GdsDrop drop = new GdsDrop(3 * UNIT, id);
        assertEquals(List.of(drop), drops());
        final PutStartReply.Started late = (PutStartReply.Started) rig.apply(new ObjectCommand.CreateGdsOnlyObject(
            new ObjectCommand.PutStart(MasterRig.ALICE, 1, MasterRig.key("late"), 100, PutOptions.DEFAULT, false),
            extent(3, 1)));
        assertEquals(List.of(drop), drops(), "its owner may not have heard of it");
        rig.advance(MasterRig.RELEASE_MS);
        final GdsDrop second = new GdsDrop(3 * UNIT, late.replicas().getFirst().id());
        assertEquals(List.of(drop, second), drops());
        final GdsCommand.GdsDrops all = rig.apply(new GdsCommand.FetchGdsDrops(MasterRig.ALICE, 100, 0));
        assertEquals(List.of(),
            rig.apply(new GdsCommand.FetchGdsDrops(MasterRig.ALICE, 100, all.last())).extents());
    }

    /** Its process had the file before: what it sent then comes when another one has it. */
    @Test
    void shouldLeaveAFileWithTheClientThatCameLast() {
        rig.ping(MasterRig.CAROL, "h");
        final GdsCommand.RegisterGdsStorage again =
            new GdsCommand.RegisterGdsStorage(MasterRig.CAROL, GdsReplicasTest.spec(10, 10, 10));
        assertEquals(Ack.OK, rig.apply(again));
        rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
            new GdsCommand.RegisterGdsStorage(MasterRig.ALICE, GdsReplicasTest.spec(10, 10, 10)));
        assertEquals(List.of(MasterRig.CAROL), rig.apply(new GdsCommand.GdsStorages()).stream()
            .map(GdsCommand.GdsStorageInfo::clientId).toList());
        rig.silence(MasterRig.CAROL);
        rig.passAlive(MasterRig.CLIENT_TTL_MS + 1);
        assertEquals(Ack.OK, rig.apply(new GdsCommand.RegisterGdsStorage(MasterRig.ALICE,
            GdsReplicasTest.spec(10, 10, 10))), "nobody has it any more");
    }
}
