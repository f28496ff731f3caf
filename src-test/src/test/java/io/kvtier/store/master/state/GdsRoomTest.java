package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.PutOptions;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsRoomReply;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.CreateGdsOnlyObject;
import io.kvtier.store.protocol.PutStartReply;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What the owner of a full file is told of room to come. There is no memory. */
@ExtendWith(LeakCheck.class)
class GdsRoomTest {
    private static final long UNIT = GdsReplicasTest.UNIT;
    private static final GdsRoomReply NONE = new GdsRoomReply(0, false, 0);

    private final MasterRig rig = new MasterRig();

    @BeforeEach
    void register() {
        assertEquals(Ack.OK, rig.apply(new GdsCommand.RegisterGdsStorage(MasterRig.ALICE,
            GdsReplicasTest.spec(4, 4, 4))));
        rig.ping(MasterRig.ALICE, "h");
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private PutStartReply.Started begin(final String key, final long unit, final PutOptions options) {
        return (PutStartReply.Started) rig.apply(new CreateGdsOnlyObject(new ObjectCommand.PutStart(MasterRig.ALICE,
            unit, MasterRig.key(key), 100, options, false), GdsReplicasTest.extent(unit, 1)));
    }

    private void put(final String key, final long unit, final PutOptions options) {
        assertEquals(Ack.OK, rig.end(MasterRig.ALICE, key, begin(key, unit, options).version()));
    }

    private GdsRoomReply makeRoom() {
        return rig.apply(new GdsCommand.MakeGdsRoom(MasterRig.ALICE, UNIT));
    }

    @Test
    void shouldSayThatNothingComesFreeWhereAllIsPinned() {
        put("pinned", 0, PutOptions.DEFAULT.withHardPin(true));
        assertEquals(NONE, makeRoom());
    }

    @Test
    void shouldSayWhenTheNextLeaseEnds() {
        put("first", 0, PutOptions.DEFAULT);
        put("second", 1, PutOptions.DEFAULT);
        rig.read("first");
        rig.pass(3_000);
        rig.read("second");
        rig.pass(1_000);
        assertEquals(new GdsRoomReply(0, true, MasterRig.LEASE_MS - 4_000), makeRoom());
        rig.pass(MasterRig.LEASE_MS - 4_000);
        assertEquals(new GdsRoomReply(UNIT, true, 3_000), makeRoom());
        rig.pass(3_000);
        assertEquals(new GdsRoomReply(UNIT, false, 0), makeRoom());
        assertEquals(NONE, makeRoom());
    }

    @Test
    void shouldSayThatWhatIsBeingWrittenWillGo() {
        final PutStartReply.Started started = begin("k", 0, PutOptions.DEFAULT);
        assertEquals(new GdsRoomReply(0, true, 0), makeRoom());
        rig.end(MasterRig.ALICE, "k", started.version());
        assertEquals(new GdsRoomReply(UNIT, false, 0), makeRoom());
    }

    /** What was removed under a lease rests until that is over; it is among the drops then. */
    @Test
    void shouldSayThatWhatRestsWillBeFree() {
        put("k", 0, PutOptions.DEFAULT);
        rig.read("k");
        assertEquals(RemoveOutcome.REMOVED,
            rig.apply(new ObjectCommand.Remove(MasterRig.key("k"), true)).outcome());
        assertEquals(new GdsRoomReply(0, true, 0), makeRoom());
        rig.passAlive(MasterRig.LEASE_MS);
        assertEquals(NONE, makeRoom());
    }

    /** Memory that nobody lends does not come free because something rests in a file. */
    @Test
    void shouldNotKeepAPutWaitingForMemoryBecauseOfAFile() {
        put("k", 0, PutOptions.DEFAULT);
        rig.read("k");
        rig.apply(new ObjectCommand.Remove(MasterRig.key("k"), true));
        assertEquals(new PutStartReply.NoSpace(false), rig.start(MasterRig.ALICE, "other", 100));
        assertEquals(new GdsRoomReply(0, true, 0), makeRoom());
    }

    /** A file that goes takes with it what rests there. */
    @Test
    void shouldForgetWhatRestsInAFileThatIsGone() {
        put("k", 0, PutOptions.DEFAULT);
        rig.read("k");
        rig.apply(new ObjectCommand.Remove(MasterRig.key("k"), true));
        rig.apply(new GdsCommand.UnregisterGdsStorage(MasterRig.ALICE, GdsReplicasTest.FILE,
            GdsReplicasTest.GENERATION));
        register();
        assertEquals(NONE, makeRoom());
        assertEquals(new PutStartReply.NoSpace(false), rig.start(MasterRig.ALICE, "other", 100));
    }
}
