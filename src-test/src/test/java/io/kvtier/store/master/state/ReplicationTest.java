package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.protocol.TaskCommand.ReplicationReply;
import io.kvtier.store.replica.ReplicaStatus;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Copies and moves between segments, from their start to whatever end they come to. */
@ExtendWith(LeakCheck.class)
class ReplicationTest {
    private final TenantRig rig = new TenantRig(true);

    @BeforeEach
    void lend() {
        rig.memory(TenantRig.ANN, "a", 1024);
        rig.memory(TenantRig.BEN, "b", 1024);
        rig.memory(TenantRig.CEM, "c", 1024);
        rig.mount(TenantRig.CEM, "dev", Medium.NOF, 1024);
        rig.quota("default", 3072);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void shouldCopyToEverySegmentThatDoesNotHaveTheObject() {
        rig.storeIn("x", 100, "a", "b");
        final ReplicationReply reply = rig.apply(TenantRig.copy("x", "a", "b", "c", "c"));
        assertEquals(100, reply.size());
        assertEquals(Set.of("a"), rig.places(List.of(reply.source())));
        assertEquals(Set.of("c"), rig.places(reply.targets()));
        assertEquals(1, reply.targets().size());
        assertEquals(ReplicaStatus.PROCESSING, reply.targets().getFirst().status());
        assertEquals(Set.of("a", "b"), rig.places("x"), "nobody reads what is being filled");
        assertEquals(300, rig.charged("default"));
        assertEquals(Ack.OK, rig.apply(TenantRig.endCopy("x", true)));
        assertEquals(Set.of("a", "b", "c"), rig.places("x"));
        rig.remove("x");
        rig.advance(TenantRig.LEASE_MS);
        rig.assertEmpty();
    }

    @Test
    void shouldHaveATaskEvenWhenThereIsNothingToCopy() {
        rig.storeIn("x", 100, "a", "b");
        assertEquals(List.of(), rig.apply(TenantRig.copy("x", "a", "b", "a")).targets());
        rig.refused(ErrorCode.OBJECT_HAS_REPLICATION_TASK, TenantRig.copy("x", "a", "c"));
        assertEquals(Ack.OK, rig.apply(TenantRig.endCopy("x", true)));
        assertEquals(Set.of("a", "b"), rig.places("x"));
        rig.refused(ErrorCode.OBJECT_NO_REPLICATION_TASK, TenantRig.endCopy("x", true));
    }

    @Test
    void shouldNameWhatIsMissing() {
        rig.storeIn("x", 100, "a");
        final PutStartReply.Started unfinished = rig.started("unfinished", 100);
        rig.refused(ErrorCode.OBJECT_NOT_FOUND, TenantRig.copy("nothing", "a", "b"));
        rig.refused(ErrorCode.REPLICA_NOT_FOUND, TenantRig.copy("unfinished",
            rig.places(unfinished.replicas()).first(), "b"));
        rig.refused(ErrorCode.REPLICA_NOT_FOUND, TenantRig.copy("x", "b", "c"));
        rig.refused(ErrorCode.REPLICA_NOT_FOUND, TenantRig.copy("x", "nowhere", "c"));
        rig.refused(ErrorCode.SEGMENT_NOT_FOUND, TenantRig.copy("x", "a", "nowhere"));
        rig.refused(ErrorCode.SEGMENT_NOT_FOUND, TenantRig.copy("x", "a", "dev"));
        rig.apply(new SegmentCommand.Unmount(TenantRig.BEN, rig.id("b"), 5000));
        rig.refused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, TenantRig.copy("x", "a", "b"));
        rig.refused(ErrorCode.INVALID_PARAMS, TenantRig.copy("x", "a"));
        rig.refused(ErrorCode.INVALID_PARAMS, TenantRig.move("x", "a", "a"));
        rig.refused(ErrorCode.INVALID_PARAMS,
            new TaskCommand.ReplicationStart(TenantRig.ANN, TenantRig.key("x"), Kind.MOVE, "a", List.of("b", "c")));
        assertEquals(RemoveOutcome.REMOVED, rig.apply(new ObjectCommand.Remove(TenantRig.key("x"), false)).outcome());
    }

    @Test
    void shouldBeEndedByWhoStartedItAndAsWhatItIs() {
        rig.storeIn("x", 100, "a");
        rig.refused(ErrorCode.OBJECT_NO_REPLICATION_TASK, TenantRig.endCopy("x", true));
        rig.apply(TenantRig.copy("x", "a", "b"));
        rig.refused(ErrorCode.ILLEGAL_CLIENT,
            new TaskCommand.ReplicationEnd(TenantRig.BEN, TenantRig.key("x"), Kind.COPY, true));
        rig.refused(ErrorCode.INVALID_PARAMS, TenantRig.endMove("x", true));
        assertEquals(Set.of("a"), rig.places("x"));
        assertEquals(Ack.OK, rig.apply(TenantRig.endCopy("x", true)));
        assertEquals(Set.of("a", "b"), rig.places("x"));
    }

    @Test
    void shouldFreeTheTargetsOfACopyThatIsGivenUp() {
        rig.storeIn("x", 100, "a");
        rig.apply(TenantRig.copy("x", "a", "b", "c"));
        assertEquals(300, rig.charged("default"));
        assertEquals(Ack.OK, rig.apply(TenantRig.endCopy("x", false)));
        assertEquals(100, rig.charged("default"));
        assertEquals(0, rig.info("b").used() + rig.info("c").used());
        assertEquals(Set.of("a"), rig.places("x"));
        assertEquals(0, rig.apply(new AdminCommand.Statistics()).heldReplicas());
    }

    @Test
    void shouldLetTargetsRestThatMayStillBeWritten() {
        rig.storeIn("x", 100, "a");
        rig.apply(TenantRig.copy("x", "a", "b"));
        rig.advance(5);
        assertEquals(Ack.OK, rig.apply(
            new TaskCommand.ReplicationEnd(TenantRig.ANN, TenantRig.key("x"), Kind.COPY, false, false)));
        assertEquals(100, rig.charged("default"));
        assertEquals(0, rig.apply(new AdminCommand.Statistics()).heldReplicas());
        assertEquals(Set.of("a"), rig.places("x"));
        rig.advance(TenantRig.RELEASE_MS - 6);
        assertEquals(128, rig.info("b").used());
        rig.advance(1);
        assertEquals(0, rig.info("b").used());
    }

    @Test
    void shouldMoveAndChargeBothThenOne() {
        rig.storeIn("x", 100, "a");
        rig.apply(TenantRig.move("x", "a", "b"));
        assertEquals(200, rig.charged("default"));
        assertEquals(Ack.OK, rig.apply(TenantRig.endMove("x", true)));
        assertEquals(100, rig.charged("default"));
        assertEquals(Set.of("b"), rig.places("x"));
        assertEquals(0, rig.info("a").used());
    }

    @Test
    void shouldLetReadersOfTheSourceFinishAfterAMove() {
        rig.storeIn("x", 100, "a");
        rig.read("x");
        rig.apply(TenantRig.move("x", "a", "b"));
        rig.apply(TenantRig.endMove("x", true));
        assertEquals(128, rig.info("a").used(), "the lease still runs");
        rig.advance(TenantRig.LEASE_MS);
        assertEquals(0, rig.info("a").used());
    }

    @Test
    void shouldOnlyDropTheSourceWhenTheTargetHasTheObjectAlready() {
        rig.storeIn("x", 100, "a", "b");
        assertEquals(List.of(), rig.apply(TenantRig.move("x", "a", "b")).targets());
        assertEquals(Ack.OK, rig.apply(TenantRig.endMove("x", true)));
        assertEquals(Set.of("b"), rig.places("x"));
    }

    @Test
    void shouldKeepTheSourceWhenTheReplicaItWasToBeMovedOntoIsGone() {
        rig.storeIn("x", 100, "a", "b");
        rig.apply(TenantRig.move("x", "a", "b"));
        rig.unmount("b");
        rig.settle();
        rig.refused(ErrorCode.REPLICA_IS_GONE, TenantRig.endMove("x", true));
        assertEquals(Set.of("a"), rig.places("x"));
    }

    @Test
    void shouldSayThatATargetIsGoneAndLetTheSourceGo() {
        for (final boolean swept : new boolean[] {true, false}) {
            rig.storeIn("x", 100, "a");
            rig.apply(TenantRig.copy("x", "a", "b", "c"));
            rig.unmount("b");
            if (swept) {
                rig.settle();
            }
            rig.refused(ErrorCode.REPLICA_IS_GONE, TenantRig.endCopy("x", true));
            assertEquals(Set.of("a"), rig.places("x"));
            assertEquals(0, rig.apply(new AdminCommand.Statistics()).heldReplicas());
            rig.refused(ErrorCode.OBJECT_NO_REPLICATION_TASK, TenantRig.endCopy("x", true));
            rig.remove("x");
            rig.settle();
            rig.memory(TenantRig.BEN, "b", 1024);
        }
        rig.advance(TenantRig.LEASE_MS);
        rig.assertEmpty();
    }

    @Test
    void shouldSayThatTheSourceIsGoneAndLeaveNothing() {
        for (final boolean swept : new boolean[] {true, false}) {
            for (final boolean success : new boolean[] {true, false}) {
                rig.storeIn("x", 100, "a");
                rig.apply(TenantRig.copy("x", "a", "b"));
                rig.unmount("a");
                if (swept) {
                    rig.settle();
                }
                assertFalse(rig.has("x"));
                rig.refused(ErrorCode.OBJECT_HAS_REPLICATION_TASK, rig.put(TenantRig.BEN, "x", 5, PutOptions.DEFAULT,
                    true));
                if (success) {
                    rig.refused(ErrorCode.REPLICA_IS_GONE, TenantRig.endCopy("x", true));
                } else {
                    assertEquals(Ack.OK, rig.apply(TenantRig.endCopy("x", false)));
                }
                rig.settle();
                rig.assertEmpty();
                rig.memory(TenantRig.ANN, "a", 1024);
            }
        }
    }

    @Test
    void shouldKeepWhatIsLeftWhenTheSourceOfACopyIsGone() {
        rig.storeIn("x", 100, "a", "c");
        rig.apply(TenantRig.copy("x", "a", "b"));
        rig.unmount("a");
        rig.settle();
        rig.refused(ErrorCode.REPLICA_IS_GONE, TenantRig.endCopy("x", true));
        assertEquals(Set.of("c"), rig.places("x"));
        assertEquals(100, rig.charged("default"));
    }

    @Test
    void shouldNeitherRemoveNorReplaceWhatIsBeingCopied() {
        rig.storeIn("x", 100, "a");
        rig.apply(TenantRig.copy("x", "a", "b"));
        rig.refused(ErrorCode.REPLICA_IS_NOT_READY, new ObjectCommand.Remove(TenantRig.key("x"), true));
        rig.refused(ErrorCode.OBJECT_HAS_REPLICATION_TASK, rig.put(TenantRig.ANN, "x", 100, PutOptions.DEFAULT, true));
        assertEquals(new PutStartReply.Taken(PutOutcome.ALREADY_EXISTS), rig.apply(rig.put("x", 100)));
        assertEquals(0, rig.apply(new ObjectCommand.RemoveMatching("", "x", true, 0)).removed());
        assertEquals(List.of(), rig.apply(new ObjectCommand.ReplicaClear(TenantRig.ANN, List.of(TenantRig.key("x")),
            "")));
        rig.apply(TenantRig.endCopy("x", true));
        rig.apply(TenantRig.copy("x", "a", "b"));
        rig.refused(ErrorCode.OBJECT_HAS_REPLICATION_TASK, new ObjectCommand.Remove(TenantRig.key("x"), true));
        rig.apply(TenantRig.endCopy("x", true));
        assertEquals(RemoveOutcome.REMOVED, rig.apply(new ObjectCommand.Remove(TenantRig.key("x"), true)).outcome());
    }

    private static TaskCommand.ReplicationStart start(final Kind kind, final String target) {
        return new TaskCommand.ReplicationStart(TenantRig.ANN, TenantRig.key("x"), kind, "a", List.of(target));
    }

    private static TaskCommand.ReplicationEnd end(final Kind kind) {
        return new TaskCommand.ReplicationEnd(TenantRig.ANN, TenantRig.key("x"), kind, true);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldKeepTheSourceWhenTheOnlyTargetIsGone(final Kind kind) {
        rig.storeIn("x", 100, "a");
        rig.apply(start(kind, "b"));
        rig.unmount("b");
        rig.refused(ErrorCode.REPLICA_IS_GONE, end(kind));
        assertEquals(Set.of("a"), rig.places("x"));
        assertEquals(100, rig.charged("default"));
        assertEquals(0, rig.apply(new AdminCommand.Statistics()).heldReplicas());
        rig.settle();
        assertEquals(Set.of("a"), rig.places("x"));
        rig.remove("x");
        rig.assertEmpty();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldNotShowTheSourceOnceItsSegmentIsGone(final Kind kind) {
        rig.storeIn("x", 100, "a", "c");
        rig.apply(start(kind, "b"));
        rig.unmount("a");
        assertEquals(Set.of("c"), rig.places("x"), "at once");
        rig.settle();
        assertEquals(Set.of("c"), rig.places("x"));
        rig.refused(ErrorCode.REPLICA_IS_GONE, end(kind));
        assertEquals(Set.of("c"), rig.places("x"));
        assertEquals(100, rig.charged("default"));
    }

    @Test
    void shouldNeitherRemoveNorReplaceNorCopyWhatIsBeingMoved() {
        rig.storeIn("x", 100, "a");
        rig.apply(start(Kind.MOVE, "b"));
        rig.refused(ErrorCode.REPLICA_IS_NOT_READY, new ObjectCommand.Remove(TenantRig.key("x"), true));
        rig.refused(ErrorCode.OBJECT_HAS_REPLICATION_TASK, rig.put(TenantRig.ANN, "x", 100, PutOptions.DEFAULT, true));
        rig.refused(ErrorCode.OBJECT_HAS_REPLICATION_TASK, start(Kind.MOVE, "c"));
        rig.refused(ErrorCode.OBJECT_HAS_REPLICATION_TASK, start(Kind.COPY, "c"));
        rig.apply(new AdminCommand.Evict(1, 1));
        assertEquals(Set.of("a"), rig.places("x"));
        assertEquals(Ack.OK, rig.apply(end(Kind.MOVE)));
        assertEquals(Set.of("b"), rig.places("x"));
    }

    @Test
    void shouldGiveUpAMoveThatDoesNotEndInTimeAndKeepTheSource() {
        rig.storeIn("x", 100, "a");
        rig.apply(start(Kind.MOVE, "b"));
        rig.advance(TenantRig.RELEASE_MS);
        assertEquals(Set.of("a"), rig.places("x"));
        assertEquals(0, rig.info("b").used());
        rig.refused(ErrorCode.OBJECT_NO_REPLICATION_TASK, end(Kind.MOVE));
    }

    @Test
    void shouldNotCopyWhatIsBeingReplaced() {
        rig.storeIn("x", 100, "a");
        final PutStartReply.Started larger = rig.started(rig.put(TenantRig.ANN, "x", 200, PutOptions.DEFAULT, true));
        rig.refused(ErrorCode.REPLICA_IS_NOT_READY, TenantRig.copy("x", "a", "b"));
        rig.apply(TenantRig.revoke("x", larger, Scope.ALL));
        rig.apply(TenantRig.copy("x", "a", "b"));
        rig.apply(TenantRig.endCopy("x", true));
        assertEquals(Set.of("a", "b"), rig.places("x"));
    }

    @Test
    void shouldNotEvictTheSource() {
        rig.storeIn("x", 100, "a");
        rig.storeIn("y", 100, "a");
        rig.apply(TenantRig.copy("x", "a", "b"));
        rig.apply(new AdminCommand.Evict(1, 1));
        assertTrue(rig.has("x"));
        assertFalse(rig.has("y"));
        rig.apply(TenantRig.endCopy("x", true));
        rig.apply(new AdminCommand.Evict(1, 1));
        assertFalse(rig.has("x"));
        rig.assertEmpty();
    }

    @Test
    void shouldGiveUpWhatDoesNotEndInTimeAndReturnItsMemory() {
        rig.storeIn("x", 100, "a");
        rig.apply(TenantRig.copy("x", "a", "b"));
        rig.advance(TenantRig.RELEASE_MS - 1);
        assertEquals(128, rig.info("b").used());
        rig.advance(1);
        assertEquals(0, rig.info("b").used());
        assertEquals(100, rig.charged("default"));
        rig.refused(ErrorCode.OBJECT_NO_REPLICATION_TASK, TenantRig.endCopy("x", true));
        assertEquals(RemoveOutcome.REMOVED,
            rig.apply(new ObjectCommand.Remove(TenantRig.key("x"), false)).outcome());
        rig.assertEmpty();
    }

    @Test
    void shouldGiveUpWhatADeadClientCopiesAndLetTheTargetsRestUntilItCannotWriteAnyMore() {
        rig.storeIn("x", 100, "b");
        rig.apply(TenantRig.copy("x", "b", "c"));
        rig.advanceWith(TenantRig.TTL_MS, TenantRig.BEN, TenantRig.CEM);
        assertEquals(100, rig.charged("default"));
        assertEquals(0, rig.apply(new AdminCommand.Statistics()).heldReplicas());
        assertEquals(128, rig.info("c").used(), "it may only seem dead");
        rig.advance(TenantRig.RELEASE_MS - TenantRig.TTL_MS);
        assertEquals(0, rig.info("c").used());
        assertEquals(Set.of("b"), rig.places("x"));
    }

    @Test
    void shouldRefuseWhatThereIsNoRoomOrQuotaForAndLeaveNoTrace() {
        rig.storeIn("x", 600, "a");
        rig.storeIn("full", 600, "c");
        rig.refused(ErrorCode.NO_AVAILABLE_HANDLE, TenantRig.copy("x", "a", "b", "c"));
        assertEquals(0, rig.info("b").used());
        assertEquals(1200, rig.charged("default"));
        assertTrue(rig.has("full"), "nothing is evicted for a copy to a segment that is named");
        rig.quota("default", 1600);
        rig.read("full");
        rig.refused(ErrorCode.TENANT_QUOTA_EXCEEDED, TenantRig.copy("x", "a", "b"));
        assertEquals(0, rig.apply(new AdminCommand.Statistics()).heldReplicas());
        rig.advance(TenantRig.LEASE_MS);
        rig.apply(TenantRig.copy("x", "a", "b"));
        assertFalse(rig.has("full"), "its tenant had to give it up");
    }

    @Test
    void shouldStayOneObjectWithItsDiskCopyWhenItIsMoved() {
        rig.apply(new DiskCommand.MountDisk(TenantRig.ANN, "ann:1", 1 << 20));
        rig.storeIn("x", 100, "a");
        final long version = rig.query("x").version();
        rig.apply(new DiskCommand.AdoptDisk(TenantRig.ANN, List.of(
            new DiskCommand.StoredObject(TenantRig.key("x"), version, 100, 1))));
        rig.apply(TenantRig.move("x", "a", "b"));
        assertFalse(rig.apply(new DiskCommand.PromotionStart(TenantRig.ANN, TenantRig.key("x"), version)).accepted());
        rig.apply(TenantRig.endMove("x", true));
        assertEquals(Set.of("b", "disk"), rig.places("x"));
        assertEquals(version, rig.query("x").version());
        assertInstanceOf(PutStartReply.Taken.class, rig.apply(rig.put("x", 1)));
    }
}
