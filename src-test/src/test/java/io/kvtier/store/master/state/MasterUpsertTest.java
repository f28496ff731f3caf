package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.LEASE_MS;
import static io.kvtier.store.master.state.MasterRig.RELEASE_MS;
import static io.kvtier.store.master.state.MasterRig.UNIT;
import static io.kvtier.store.master.state.MasterRig.key;
import static io.kvtier.store.master.state.MasterRig.memoryReplicas;
import static io.kvtier.store.master.state.MasterRig.replicas;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Puts that replace a value: in place, or beside it until they end. */
@ExtendWith(LeakCheck.class)
class MasterUpsertTest {
    private final MasterRig rig = new MasterRig();

    @AfterEach
    void closeRig() {
        rig.close();
    }

    @Test
    void shouldPutWhatIsNotThere() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long version = rig.replacing(ALICE, "key", UNIT).version();
        assertFalse(rig.exists("key"));
        assertEquals(Ack.OK, rig.end(ALICE, "key", version));
        assertEquals(version, rig.query("key").version());
    }

    @Test
    void shouldLeaveNothingWhenItPutsWhatIsNotThereAndIsRevoked() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long version = rig.replacing(ALICE, "key", UNIT).version();
        assertEquals(Ack.OK, rig.revoke(ALICE, "key", version));
        rig.assertEmpty();
    }

    @Test
    void shouldOverwriteAnUnusedValueOfTheSameSizeWhereItLies() {
        rig.memory(ALICE, "memory", UNIT);
        final long first = rig.put(ALICE, "key", UNIT);
        final ReplicaDescriptor place = rig.query("key").replicas().getFirst().descriptor();
        final PutStartReply.Started second = rig.replacing(BOB, "key", UNIT);
        assertNotEquals(first, second.version());
        assertEquals(place, second.replicas().getFirst().descriptor());
        assertEquals(ReadReply.NOT_FOUND, rig.read("key"));
        assertEquals(Ack.OK, rig.end(BOB, "key", second.version()));
        assertEquals(second.version(), rig.query("key").version());
        assertEquals(UNIT, rig.stats().memoryUsed());
    }

    @Test
    void shouldLeaveNothingWhenAnOverwriteInPlaceIsRevoked() {
        rig.memory(ALICE, "memory", UNIT);
        rig.put(ALICE, "key", UNIT);
        final long second = rig.replacing(BOB, "key", UNIT).version();
        assertEquals(Ack.OK, rig.revoke(BOB, "key", second));
        rig.assertEmpty();
    }

    @Test
    void shouldKeepTheOldValueReadableUntilOneOfAnotherSizeIsComplete() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long first = rig.put(ALICE, "key", UNIT);
        final long second = rig.replacing(BOB, "key", 2 * UNIT).version();
        assertEquals(first, rig.query("key").version());
        assertEquals(3 * UNIT, rig.stats().memoryUsed());
        assertEquals(Ack.OK, rig.end(BOB, "key", second));
        assertEquals(second, rig.query("key").version());
        assertEquals(2 * UNIT, rig.query("key").size());
        assertEquals(2 * UNIT, rig.stats().memoryUsed());
    }

    @Test
    void shouldLeaveTheOldValueWhenTheNewOneIsRevoked() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long first = rig.put(ALICE, "key", UNIT);
        final long second = rig.replacing(BOB, "key", 2 * UNIT).version();
        assertEquals(Ack.OK, rig.revoke(BOB, "key", second));
        assertEquals(first, rig.query("key").version());
        assertEquals(UNIT, rig.stats().memoryUsed());
        assertEquals(0, rig.stats().pendingWrites());
    }

    @Test
    void shouldLeaveTheOldValueWhenTheNewOneNeverEnds() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long first = rig.put(ALICE, "key", UNIT);
        rig.replacing(BOB, "key", 2 * UNIT);
        rig.advance(RELEASE_MS);
        assertEquals(first, rig.query("key").version());
        assertEquals(UNIT, rig.stats().memoryUsed());
    }

    @Test
    void shouldNotOverwriteWhatIsLeasedAndLetItsRangeRestUntilTheLeaseEnds() {
        rig.memory(ALICE, "memory", 3 * UNIT);
        rig.put(ALICE, "key", UNIT);
        final ReadReply read = rig.read("key");
        final PutStartReply.Started second = rig.replacing(BOB, "key", UNIT);
        assertNotEquals(read.replicas().getFirst().descriptor(), second.replicas().getFirst().descriptor());
        rig.end(BOB, "key", second.version());
        assertEquals(2 * UNIT, rig.stats().memoryUsed());
        rig.advance(LEASE_MS - 1);
        assertEquals(2 * UNIT, rig.stats().memoryUsed());
        rig.advance(1);
        assertEquals(UNIT, rig.stats().memoryUsed());
    }

    @Test
    void shouldNotOverwriteWhatIsHeld() {
        rig.memory(ALICE, "memory", 3 * UNIT);
        rig.put(ALICE, "key", UNIT);
        final ReadReply read = rig.hold("key");
        rig.pass(LEASE_MS);
        final PutStartReply.Started second = rig.replacing(BOB, "key", UNIT);
        assertNotEquals(read.replicas().getFirst().descriptor(), second.replicas().getFirst().descriptor());
        rig.end(BOB, "key", second.version());
        assertEquals(2 * UNIT, rig.stats().memoryUsed());
        assertEquals(Ack.OK, rig.apply(new ObjectCommand.ReadDone(key("key"), read.held())));
        assertEquals(UNIT, rig.stats().memoryUsed());
        assertEquals(0, rig.stats().heldReplicas());
    }

    @Test
    void shouldNotOverwriteInMemoryWhatIsToLieOnABlockDeviceToo() {
        rig.memory(ALICE, "memory", 3 * UNIT);
        rig.nof(ALICE, "device", 3 * UNIT);
        final long first = rig.put(ALICE, "key", UNIT);
        final PutStartReply.Started second =
            rig.replacing(BOB, "key", UNIT, PutOptions.DEFAULT.withNofReplicas(1));
        assertEquals(2, second.replicas().size());
        assertEquals(first, rig.query("key").version(), "readable until then");
        assertEquals(Ack.OK, rig.end(BOB, "key", second.version()));
        final ReadReply object = rig.query("key");
        assertEquals(List.of(1L, 1L), List.of(memoryReplicas(object), replicas(object, ReplicaType.NOF)));
        assertEquals(List.of(UNIT, UNIT), List.of(rig.stats().memoryUsed(), rig.stats().nofUsed()));
    }

    @Test
    void shouldPreemptAPutThatHasNotEnded() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long put = rig.started(ALICE, "key", UNIT).version();
        final long upsert = rig.replacing(BOB, "key", UNIT).version();
        assertEquals(2 * UNIT, rig.stats().memoryUsed(), "the first writer may still be at it");
        assertEquals(Ack.STALE, rig.end(ALICE, "key", put));
        assertFalse(rig.exists("key"));
        assertEquals(Ack.OK, rig.end(BOB, "key", upsert));
        assertEquals(upsert, rig.query("key").version());
        assertEquals(UNIT, rig.stats().memoryUsed());
        assertEquals(1, rig.stats().discardedWrites());
    }

    @Test
    void shouldPreemptAnUpsertThatHasNotEnded() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long first = rig.put(ALICE, "key", UNIT);
        final long second = rig.replacing(ALICE, "key", 2 * UNIT).version();
        final long third = rig.replacing(BOB, "key", 3 * UNIT).version();
        assertEquals(first, rig.query("key").version());
        assertEquals(Ack.STALE, rig.revoke(ALICE, "key", second));
        assertEquals(4 * UNIT, rig.stats().memoryUsed());
        assertEquals(Ack.OK, rig.end(BOB, "key", third));
        assertEquals(3 * UNIT, rig.stats().memoryUsed());
        assertEquals(third, rig.query("key").version());
    }

    @Test
    void shouldRefuseWhileTheValueIsBeingPromoted() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.disk(ALICE);
        final long version = rig.put(ALICE, "key", UNIT);
        assertEquals(1, rig.offloadAll(ALICE));
        final PromotionReply promotion = rig.promote(BOB, "key", version);
        assertTrue(promotion.accepted());
        rig.assertRefused(ErrorCode.OBJECT_HAS_REPLICATION_TASK,
            new ObjectCommand.PutStart(BOB, 999, key("key"), UNIT, PutOptions.DEFAULT, true));
        assertEquals(Ack.OK, rig.promoted(BOB, "key", promotion, true));
        final long next = rig.replacing(BOB, "key", UNIT).version();
        assertEquals(Ack.OK, rig.end(BOB, "key", next));
        assertEquals(next, rig.query("key").version());
        assertEquals(0, rig.stats().diskReplicas());
        assertEquals(1, rig.drops(ALICE).size(), "the owner of the disk is told of the replaced value");
    }

    @Test
    void shouldTakeTheRoomOfWhatIsQueuedForADiskOnlyWhenTheTaskIsOver() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.disk(ALICE);
        rig.put(ALICE, "key", UNIT);
        rig.evict(1, 1);
        assertEquals(1, rig.stats().offloadsPending());
        final long next = rig.replacing(ALICE, "key", UNIT).version();
        assertEquals(Ack.OK, rig.end(ALICE, "key", next));
        assertEquals(2 * UNIT, rig.stats().memoryUsed());
        assertEquals(0, rig.fetch(ALICE).size(), "what is replaced is not copied any more");
        assertEquals(UNIT, rig.stats().memoryUsed());
        assertEquals(0, rig.stats().offloadsPending());
    }

    @Test
    void shouldKeepAValueWhoseSuccessorFindsNoRoomBesideIt() {
        rig.memory(ALICE, "memory", 10 * UNIT);
        final long first = rig.put(ALICE, "key", 6 * UNIT);
        assertEquals(new PutStartReply.NoSpace(false), rig.start(BOB, "key", 7 * UNIT, PutOptions.DEFAULT, true));
        assertEquals(first, rig.query("key").version());
        assertEquals(1, rig.stats().objects());
        assertEquals(RemoveOutcome.REMOVED, rig.remove("key", true).outcome());
        rig.put(BOB, "key", 7 * UNIT);
    }

    @Test
    void shouldLeaveAWriteAloneWhenThereIsNoRoomForTheOneThatWouldTakeItsPlace() {
        rig.memory(ALICE, "memory", 10 * UNIT);
        final long first = rig.started(ALICE, "key", 6 * UNIT).version();
        assertEquals(new PutStartReply.NoSpace(true), rig.start(BOB, "key", 6 * UNIT, PutOptions.DEFAULT, true));
        assertEquals(new PutStartReply.TooLarge(10 * UNIT),
            rig.start(BOB, "key", 11 * UNIT, PutOptions.DEFAULT, true));
        assertEquals(0, rig.stats().discardedWrites());
        assertEquals(Ack.OK, rig.end(ALICE, "key", first));
        assertEquals(first, rig.query("key").version());
    }

    @Test
    void shouldNotOverwriteInASegmentThatIsBeingTakenBack() {
        final UUID old = rig.memory(ALICE, "memory", 10 * UNIT);
        rig.put(ALICE, "key", UNIT);
        rig.memory(ALICE, "memory", 10 * UNIT);
        rig.unmount(ALICE, old, 50);
        final long next = rig.replacing(BOB, "key", UNIT).version();
        assertEquals(Ack.OK, rig.end(BOB, "key", next));
        rig.advance(50);
        assertEquals(next, rig.query("key").version());
    }

    @Test
    void shouldNotAskForTheGroupOfAValueThatIsGoneWithItsSegment() {
        final UUID old = rig.memory(ALICE, "memory", 10 * UNIT);
        rig.put(ALICE, "key", UNIT, PutOptions.DEFAULT.withGroup("group"));
        rig.memory(BOB, "memory", 10 * UNIT);
        rig.unmount(ALICE, old, 0);
        final long next = rig.started(BOB, "key", UNIT).version();
        assertEquals(Ack.OK, rig.end(BOB, "key", next));
        rig.settle();
        assertEquals(0, rig.stats().groups());
        assertEquals(next, rig.query("key").version());
    }

    @Test
    void shouldReserveTheRoomOfADiscardedWriteForTheMediumThatItsWriterIsNotDoneWith() {
        rig.memory(ALICE, "memory", 10 * UNIT);
        rig.nof(ALICE, "device", 10 * UNIT);
        final long first = rig.started(ALICE, "key", UNIT, PutOptions.DEFAULT.withNofReplicas(1)).version();
        final long second = rig.replacing(BOB, "key", UNIT).version();
        assertEquals(Ack.STALE, rig.end(ALICE, "key", first, Scope.MEMORY));
        assertEquals(UNIT, rig.stats().memoryUsed());
        assertEquals(UNIT, rig.stats().nofUsed(), "it may still be writing there");
        assertEquals(2, rig.stats().pendingWrites());
        assertEquals(Ack.STALE, rig.revoke(ALICE, "key", first, Scope.NOF));
        assertEquals(0, rig.stats().nofUsed());
        assertEquals(Ack.OK, rig.end(BOB, "key", second));
        assertEquals(0, rig.stats().heldReplicas());
    }
}
