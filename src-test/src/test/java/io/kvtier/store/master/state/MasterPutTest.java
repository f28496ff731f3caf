package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.DISCARD_MS;
import static io.kvtier.store.master.state.MasterRig.RELEASE_MS;
import static io.kvtier.store.master.state.MasterRig.UNIT;
import static io.kvtier.store.master.state.MasterRig.key;
import static io.kvtier.store.master.state.MasterRig.memoryReplicas;
import static io.kvtier.store.master.state.MasterRig.replicas;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.replica.ReplicaType;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Puts of new objects, from start to end, revocation, replacement by another writer, or the end of time. */
@ExtendWith(LeakCheck.class)
class MasterPutTest {
    private static final PutOptions BOTH = PutOptions.DEFAULT.withNofReplicas(1);

    private final MasterRig rig = new MasterRig();

    @AfterEach
    void closeRig() {
        rig.close();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 7})
    void shouldBeReadableOnlyBetweenItsEndAndItsRemoval(final int copies) {
        for (int i = 0; i < copies; i++) {
            rig.memory(ALICE, "memory" + i, 64 * UNIT);
        }
        final PutStartReply.Started started =
            rig.started(BOB, "key", 3 * UNIT, PutOptions.DEFAULT.withReplicas(copies));
        assertEquals(copies, started.replicas().size());
        started.replicas().forEach(replica -> assertEquals(ReplicaStatus.PROCESSING, replica.status()));
        assertEquals(ReadReply.NOT_FOUND, rig.read("key"));
        assertEquals(3 * UNIT * copies, rig.stats().memoryUsed());
        assertEquals(RemoveOutcome.BEING_WRITTEN, rig.remove("key", true).outcome());

        assertEquals(Ack.OK, rig.end(BOB, "key", started.version()));
        final ReadReply object = rig.query("key");
        assertEquals(started.version(), object.version());
        assertEquals(3 * UNIT, object.size());
        assertEquals(copies, memoryReplicas(object));
        object.replicas().forEach(replica -> assertEquals(ReplicaStatus.COMPLETE, replica.status()));

        final ObjectCommand.RemoveReply removed = rig.remove("key", false);
        assertEquals(RemoveOutcome.REMOVED, removed.outcome());
        assertEquals(started.version(), removed.version());
        assertEquals(ReadReply.NOT_FOUND, rig.read("key"));
        assertEquals(RemoveOutcome.NOT_FOUND, rig.remove("key", false).outcome());
        rig.assertEmpty();
    }

    @Test
    void shouldBeAMissWhenThereNeverWasOne() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        assertEquals(ReadReply.NOT_FOUND, rig.read("key"));
        assertFalse(rig.apply(new ObjectCommand.Exists(key("key"))));
        assertEquals(RemoveOutcome.NOT_FOUND, rig.remove("key", true).outcome());
        assertEquals(Ack.STALE, rig.end(ALICE, "key", 1));
        assertEquals(Ack.STALE, rig.revoke(ALICE, "key", 1));
    }

    @Test
    void shouldSayThatAKeyIsTaken() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        final long version = rig.started(ALICE, "key", UNIT).version();
        assertEquals(new PutStartReply.Taken(PutOutcome.BEING_WRITTEN), rig.start(BOB, "key", UNIT));
        rig.end(ALICE, "key", version);
        assertEquals(new PutStartReply.Taken(PutOutcome.ALREADY_EXISTS), rig.start(BOB, "key", UNIT));
        rig.passAlive(10 * RELEASE_MS);
        assertEquals(new PutStartReply.Taken(PutOutcome.ALREADY_EXISTS), rig.start(BOB, "key", UNIT));
    }

    @Test
    void shouldAnswerARepeatedStartAsBefore() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        final ObjectCommand.PutStart put =
            new ObjectCommand.PutStart(BOB, 77, key("key"), UNIT, PutOptions.DEFAULT, false);
        final PutStartReply first = rig.apply(put);
        assertEquals(first, rig.apply(put));
        assertEquals(1, rig.stats().pendingWrites());
        assertEquals(UNIT, rig.stats().memoryUsed());
    }

    @Test
    void shouldAnswerARepeatedEndAsBefore() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        final long version = rig.put(ALICE, "key", UNIT);
        assertEquals(Ack.OK, rig.end(ALICE, "key", version));
        assertEquals(Ack.STALE, rig.revoke(ALICE, "key", version));
        assertTrue(rig.exists("key"));
        final long revoked = rig.started(ALICE, "other", UNIT).version();
        assertEquals(Ack.OK, rig.revoke(ALICE, "other", revoked));
        assertEquals(Ack.STALE, rig.revoke(ALICE, "other", revoked));
        assertEquals(Ack.STALE, rig.end(ALICE, "other", revoked));
        assertFalse(rig.exists("other"));
    }

    @Test
    void shouldRefuseToEndAnothersPut() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        final long version = rig.started(ALICE, "key", UNIT).version();
        rig.assertRefused(ErrorCode.ILLEGAL_CLIENT,
            new ObjectCommand.PutEnd(BOB, key("key"), version, Scope.ALL, false, 0));
        rig.assertRefused(ErrorCode.ILLEGAL_CLIENT,
            new ObjectCommand.PutRevoke(BOB, key("key"), version, Scope.ALL));
        assertEquals(Ack.STALE, rig.end(BOB, "key2", version), "another key's version means nothing");
    }

    @Test
    void shouldGiveAKeyToTheNextWriterAfterTheDiscardTimeAndItsRoomAfterTheReleaseTime() {
        // 16 units, a value of 6: two fit, and a third only when the first one's room has been freed.
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long first = rig.started(ALICE, "key", 6 * UNIT).version();
        rig.advance(DISCARD_MS - 1);
        assertEquals(new PutStartReply.Taken(PutOutcome.BEING_WRITTEN), rig.start(BOB, "key", 6 * UNIT));
        rig.advance(1);
        final long second = rig.started(BOB, "key", 6 * UNIT).version();
        assertNotEquals(first, second);
        assertEquals(1, rig.stats().discardedWrites());
        assertEquals(2, rig.stats().pendingWrites());
        rig.end(BOB, "key", second);
        // Its own value may be evicted, but 12 of 16 units cannot be had while the first writer may still write.
        assertEquals(new PutStartReply.NoSpace(true), rig.start(BOB, "large", 12 * UNIT));
        rig.advance(RELEASE_MS - DISCARD_MS - 1);
        assertEquals(new PutStartReply.NoSpace(true), rig.start(BOB, "large", 12 * UNIT));
        rig.advance(1);
        assertEquals(1, rig.stats().releasedWrites());
        rig.put(BOB, "large", 12 * UNIT);
    }

    /** The owner of the memory did not say how a write ended: what it was sent may be written late. */
    @Test
    void shouldLetRoomRestThatMayStillBeWritten() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long version = rig.started(ALICE, "key", 12 * UNIT).version();
        rig.advance(5);
        assertEquals(Ack.OK, rig.apply(new ObjectCommand.PutRevoke(ALICE, key("key"), version, Scope.ALL, false)));
        assertEquals(0, rig.stats().pendingWrites());
        assertEquals(12 * UNIT, rig.stats().memoryUsed());
        assertEquals(new PutStartReply.NoSpace(true), rig.start(BOB, "large", 12 * UNIT));
        rig.put(BOB, "key", UNIT);
        assertTrue(rig.exists("key"), "its name is free");
        rig.advance(RELEASE_MS - 6);
        assertEquals(new PutStartReply.NoSpace(true), rig.start(BOB, "large", 12 * UNIT));
        rig.advance(1);
        rig.put(BOB, "large", 12 * UNIT);
    }

    @Test
    void shouldHoldTheRoomOfADiscardedWriteThatMayStillBeWritten() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long first = rig.started(ALICE, "key", 6 * UNIT).version();
        final long second = rig.replacing(BOB, "key", 6 * UNIT).version();
        assertEquals(Ack.STALE,
            rig.apply(new ObjectCommand.PutRevoke(ALICE, key("key"), first, Scope.ALL, false)));
        rig.end(BOB, "key", second);
        assertEquals(12 * UNIT, rig.stats().memoryUsed());
        rig.advance(RELEASE_MS);
        assertEquals(6 * UNIT, rig.stats().memoryUsed());
        assertEquals(0, rig.stats().heldReplicas());
    }

    @Test
    void shouldTellADiscardedWriterAndFreeItsRoomAtOnce() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long first = rig.started(ALICE, "key", 6 * UNIT).version();
        rig.advance(DISCARD_MS);
        final long second = rig.put(BOB, "key", 6 * UNIT);
        assertEquals(12 * UNIT, rig.stats().memoryUsed());
        assertEquals(Ack.STALE, rig.end(ALICE, "key", first));
        assertEquals(6 * UNIT, rig.stats().memoryUsed());
        assertEquals(second, rig.query("key").version());
        assertEquals(0, rig.stats().heldReplicas());
    }

    @Test
    void shouldForgetAPutThatNeverEnds() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long version = rig.started(ALICE, "key", 6 * UNIT).version();
        rig.advance(RELEASE_MS - 1);
        assertEquals(1, rig.stats().pendingWrites());
        rig.advance(1);
        rig.assertEmpty();
        assertEquals(1, rig.stats().releasedWrites());
        assertEquals(Ack.STALE, rig.end(ALICE, "key", version));
        rig.put(BOB, "key", 16 * UNIT);
    }

    @Test
    void shouldCompleteOnlyTheMediumThatAnEndIsAbout() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.nof(ALICE, "device", 16 * UNIT);
        final long version = rig.started(ALICE, "key", UNIT, BOTH).version();
        assertEquals(Ack.OK, rig.end(ALICE, "key", version, Scope.MEMORY));
        assertEquals(1, memoryReplicas(rig.query("key")));
        assertEquals(0, replicas(rig.query("key"), ReplicaType.NOF));
        assertEquals(RemoveOutcome.BEING_WRITTEN, rig.remove("key", true).outcome());
        assertEquals(Ack.OK, rig.end(ALICE, "key", version, Scope.MEMORY), "repeated");
        assertEquals(Ack.OK, rig.end(ALICE, "key", version, Scope.NOF));
        assertEquals(1, replicas(rig.query("key"), ReplicaType.NOF));
        assertEquals(0, rig.stats().pendingWrites());

        final long all = rig.started(ALICE, "all", UNIT, BOTH).version();
        assertEquals(Ack.OK, rig.end(ALICE, "all", all));
        assertEquals(2, rig.query("all").replicas().size());
    }

    @Test
    void shouldKeepWhatWasEndedWhenTheRestIsRevoked() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.nof(ALICE, "device", 16 * UNIT);
        final long version = rig.started(ALICE, "key", UNIT, BOTH).version();
        assertEquals(Ack.OK, rig.end(ALICE, "key", version, Scope.NOF));
        assertEquals(Ack.OK, rig.revoke(ALICE, "key", version, Scope.MEMORY));
        assertEquals(0, rig.stats().memoryUsed());
        assertEquals(UNIT, rig.stats().nofUsed());
        assertEquals(1, rig.query("key").replicas().size());
        assertEquals(RemoveOutcome.REMOVED, rig.remove("key", false).outcome());
        rig.assertEmpty();
    }

    @Test
    void shouldStartWithFewerCopiesThanWereAskedForWhenThereIsNoMoreRoom() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        assertEquals(1, rig.started(ALICE, "key", UNIT, BOTH).replicas().size());
        rig.memory(ALICE, "memory2", 16 * UNIT);
        assertEquals(2, rig.started(ALICE, "five", UNIT, PutOptions.DEFAULT.withReplicas(5)).replicas().size());
    }

    @Test
    void shouldSayThatAValueIsTooLargeForAnySegment() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.memory(ALICE, "memory2", 24 * UNIT);
        assertEquals(new PutStartReply.TooLarge(24 * UNIT), rig.start(ALICE, "key", 24 * UNIT + 1));
        rig.assertEmpty();
        assertInstanceOf(PutStartReply.Started.class, rig.start(ALICE, "key", 24 * UNIT));
    }

    @Test
    void shouldSayThatThereIsNoRoomWithoutSegments() {
        assertEquals(new PutStartReply.NoSpace(false), rig.start(ALICE, "key", UNIT));
        assertEquals(new PutStartReply.NoSpace(false), rig.start(ALICE, "key", Long.MAX_VALUE));
        rig.assertEmpty();
    }

    @Test
    void shouldRefuseANegativeSize() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.assertRefused(ErrorCode.INVALID_PARAMS,
            new ObjectCommand.PutStart(ALICE, 1, key("key"), -1, PutOptions.DEFAULT, false));
    }

    @Test
    void shouldKeepAChecksumUntilTheValueIsReplacedByOneWithout() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long version = rig.started(ALICE, "key", UNIT).version();
        rig.apply(new ObjectCommand.PutEnd(ALICE, key("key"), version, Scope.ALL, true, -5));
        assertTrue(rig.read("key").checksummed());
        assertEquals(-5, rig.read("key").checksum());
        final long next = rig.replacing(ALICE, "key", UNIT).version();
        assertEquals(Ack.OK, rig.end(ALICE, "key", next));
        assertFalse(rig.read("key").checksummed());
    }

    @Test
    void shouldTakeAUnitForAnEmptyValue() {
        rig.memory(ALICE, "memory", 2 * UNIT);
        rig.put(ALICE, "empty", 0);
        assertEquals(UNIT, rig.stats().memoryUsed());
        assertEquals(0, rig.read("empty").size());
        assertTrue(rig.read("empty").found());
    }

    @Test
    void shouldGiveEveryItemOfABatchItsOwnResult() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long version = rig.started(ALICE, "key", UNIT).version();
        final var results = rig.apply(new Batch<>(List.of(
            new ObjectCommand.PutEnd(BOB, key("key"), version, Scope.ALL, false, 0),
            new ObjectCommand.PutEnd(ALICE, key("key"), version, Scope.ALL, false, 0),
            new ObjectCommand.PutEnd(ALICE, key("none"), 99, Scope.ALL, false, 0))));
        assertEquals(ErrorCode.ILLEGAL_CLIENT, results.get(0).failure().code());
        assertEquals(Ack.OK, results.get(1).orThrow());
        assertEquals(Ack.STALE, results.get(2).orThrow());
    }
}
