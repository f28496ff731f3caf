package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.Status;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.TaskCommand.CancelDrain;
import io.kvtier.store.protocol.TaskCommand.CreateDrain;
import io.kvtier.store.protocol.TaskCommand.DrainInfo;
import io.kvtier.store.protocol.TaskCommand.DrainStatus;
import io.kvtier.store.protocol.TaskCommand.FetchTasks;
import io.kvtier.store.protocol.TaskCommand.MarkTask;
import io.kvtier.store.protocol.TaskCommand.QueryDrain;
import io.kvtier.store.protocol.TaskCommand.Task;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Segments that are emptied. */
@ExtendWith(LeakCheck.class)
class DrainTest {
    private static final int MANY = 300;
    private static final MasterSettings.Tasks THREE_TRIES =
        new MasterSettings.Tasks(10_000, 10_000, 10_000, 300_000, 300_000, 3);

    private final TenantRig rig = new TenantRig(false, THREE_TRIES);

    @BeforeEach
    void lend() {
        rig.memory(TenantRig.ANN, "a", 1 << 16);
        rig.memory(TenantRig.BEN, "b", 1 << 15);
        rig.memory(TenantRig.CEM, "c", 1 << 15);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private long drain(final String... names) {
        return rig.apply(new CreateDrain(List.of(names)));
    }

    private DrainInfo info(final long id) {
        return rig.apply(new QueryDrain(id));
    }

    private List<Task> fetch() {
        return rig.apply(new FetchTasks(TenantRig.ANN, Integer.MAX_VALUE));
    }

    private void tryAll(final boolean success) {
        for (final Task task : fetch()) {
            if (success) {
                rig.carryOut(TenantRig.ANN, task);
            } else {
                rig.apply(new MarkTask(TenantRig.ANN, task.id(), false, "broken"));
            }
        }
    }

    @Test
    void shouldMoveAllAndKeepTheSegmentEmpty() {
        for (int i = 0; i < MANY; i++) {
            rig.storeIn("k" + i, 64, "a");
        }
        final long id = drain("a");
        assertEquals(Status.DRAINING, rig.status("a"));
        assertEquals(new DrainInfo(id, List.of("a"), DrainStatus.RUNNING, 0, 0, 0), info(id));
        for (int i = 0; info(id).status() == DrainStatus.RUNNING && i < 20; i++) {
            rig.advance(10);
            assertTrue(info(id).active() <= 64, "only so many at a time");
            tryAll(true);
        }
        assertEquals(new DrainInfo(id, List.of("a"), DrainStatus.SUCCEEDED, MANY, 0, 0), info(id));
        assertEquals(Status.DRAINED, rig.status("a"));
        assertEquals(0, rig.info("a").used());
        for (int i = 0; i < MANY; i++) {
            assertFalse(rig.places("k" + i).contains("a"));
            assertTrue(rig.has("k" + i));
        }
        rig.store("new", 64, PutOptions.DEFAULT.withPreferredSegments("a"));
        assertFalse(rig.places("new").contains("a"));
        assertEquals(Ack.OK, rig.apply(new SegmentCommand.Unmount(TenantRig.ANN, rig.id("a"), 0)));
    }

    @Test
    void shouldAllocateNothingInASegmentThatIsDrainedAndReadFromItMeanwhile() {
        rig.storeIn("k", 64, "a");
        drain("a");
        rig.store("x", 64, PutOptions.DEFAULT.withPreferredSegments("a"));
        assertFalse(rig.places("x").contains("a"));
        assertEquals(Set.of("a"), rig.places("k"));
        rig.refused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, TenantRig.copy("x", rig.places("x").first(), "a"));
    }

    @Test
    void shouldDrainASegmentWithNothingInItAtOnce() {
        final long id = drain("a");
        rig.advance(10);
        assertEquals(DrainStatus.SUCCEEDED, info(id).status());
    }

    @Test
    void shouldTakeADrainedSegmentBackIntoUse() {
        final long id = drain("a");
        rig.advance(10);
        rig.refused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, new CreateDrain(List.of("a")));
        assertEquals(Ack.OK, rig.apply(new CancelDrain(id)));
        assertEquals(Status.OK, rig.status("a"));
        rig.storeIn("k", 64, "a");
        assertEquals(Set.of("a"), rig.places("k"));
        assertEquals(Ack.OK, rig.apply(new CancelDrain(id)), "said again");
    }

    @Test
    void shouldRefuseWhatCannotBeDrained() {
        rig.mount(TenantRig.CEM, "dev", Medium.NOF, 4096);
        rig.refused(ErrorCode.SEGMENT_NOT_FOUND, new CreateDrain(List.of("a", "nowhere")));
        rig.refused(ErrorCode.SEGMENT_NOT_FOUND, new CreateDrain(List.of("dev")));
        rig.refused(ErrorCode.INVALID_PARAMS, new CreateDrain(List.of()));
        assertEquals(Status.OK, rig.status("a"));
        rig.apply(new SegmentCommand.Unmount(TenantRig.BEN, rig.id("b"), 5000));
        rig.refused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, new CreateDrain(List.of("a", "b")));
        assertEquals(Status.OK, rig.status("a"));
        rig.refused(ErrorCode.JOB_NOT_FOUND, new QueryDrain(1));
        rig.refused(ErrorCode.JOB_NOT_FOUND, new CancelDrain(1));
    }

    @Test
    void shouldWithdrawMovesThatWaitWhenItIsCanceled() {
        rig.storeIn("k", 64, "a");
        final long id = drain("a");
        rig.advance(10);
        assertEquals(1, info(id).active());
        assertEquals(Ack.OK, rig.apply(new CancelDrain(id)));
        assertEquals(new DrainInfo(id, List.of("a"), DrainStatus.CANCELED, 0, 0, 0), info(id));
        assertEquals(Status.OK, rig.status("a"));
        assertEquals(List.of(), fetch());
        assertEquals(Set.of("a"), rig.places("k"));
    }

    @Test
    void shouldEndWhenTheMovesUnderWayHaveWhenItIsCanceledMeanwhile() {
        for (int i = 0; i < MANY; i++) {
            rig.storeIn("k" + i, 64, "a");
        }
        final long id = drain("a");
        rig.advance(10);
        final List<Task> fetched = rig.apply(new FetchTasks(TenantRig.ANN, 2));
        rig.refused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, new CancelDrain(id));
        assertEquals(2, info(id).active(), "those that waited are withdrawn");
        assertEquals(Status.DRAINING, rig.status("a"));
        rig.carryOut(TenantRig.ANN, fetched.get(0));
        rig.advance(10);
        assertEquals(DrainStatus.RUNNING, info(id).status());
        rig.apply(new MarkTask(TenantRig.ANN, fetched.get(1).id(), false, "broken"));
        rig.advance(10);
        assertEquals(new DrainInfo(id, List.of("a"), DrainStatus.CANCELED, 1, 0, 0), info(id));
        assertEquals(Status.OK, rig.status("a"));
    }

    @Test
    void shouldFailAndPutTheSegmentBackIntoUseWhenAReplicaCannotBeMoved() {
        rig.storeIn("bad", 64, "a");
        final long id = drain("a");
        for (int i = 0; i < 3; i++) {
            assertEquals(DrainStatus.RUNNING, info(id).status());
            rig.advance(500);
            assertEquals(1, info(id).active());
            tryAll(false);
            rig.advance(10);
        }
        assertEquals(new DrainInfo(id, List.of("a"), DrainStatus.FAILED, 0, 1, 0), info(id));
        assertEquals(Status.OK, rig.status("a"));
        assertEquals(Ack.STALE, rig.apply(new CancelDrain(id)));
        rig.advance(10_000);
        assertEquals(List.of(), fetch());
    }

    @Test
    void shouldFailWithTheFirstFailureWhenNothingIsTriedAgain() {
        try (TenantRig once = new TenantRig(false, new MasterSettings.Tasks(9, 9, 9, 0, 0, 1))) {
            once.memory(TenantRig.ANN, "a", 4096);
            once.memory(TenantRig.BEN, "b", 4096);
            once.storeIn("k", 64, "a");
            final long id = once.apply(new CreateDrain(List.of("a")));
            once.advance(10);
            final Task move = once.apply(new FetchTasks(TenantRig.ANN, 9)).getFirst();
            once.apply(new MarkTask(TenantRig.ANN, move.id(), false, "broken"));
            once.advance(10);
            assertEquals(new DrainInfo(id, List.of("a"), DrainStatus.FAILED, 0, 1, 0),
                once.apply(new QueryDrain(id)));
            assertEquals(Status.OK, once.status("a"));
        }
    }

    @Test
    void shouldTryAgainWhatFailedOnce() {
        rig.storeIn("k", 64, "a");
        final long id = drain("a");
        rig.advance(10);
        tryAll(false);
        rig.advance(10);
        assertEquals(List.of(), fetch(), "not at once");
        rig.advance(500);
        tryAll(true);
        rig.advance(10);
        assertEquals(new DrainInfo(id, List.of("a"), DrainStatus.SUCCEEDED, 1, 0, 0), info(id));
    }

    @Test
    void shouldNotTakeAMovesWordForIt() {
        rig.storeIn("k", 64, "a");
        final long id = drain("a");
        for (int i = 0; i < 3; i++) {
            rig.advance(500);
            fetch().forEach(task -> rig.apply(new MarkTask(TenantRig.ANN, task.id(), true, "")));
            rig.advance(10);
        }
        assertEquals(new DrainInfo(id, List.of("a"), DrainStatus.FAILED, 0, 1, 0), info(id));
    }

    @Test
    void shouldMakeRoomElsewhereWhenThereIsNone() {
        rig.storeIn("k", 1 << 14, "a");
        rig.read("k");
        rig.storeIn("b0", 1 << 15, "b");
        rig.storeIn("c0", 1 << 15, "c");
        final long id = drain("a");
        rig.advance(10);
        assertFalse(rig.has("b0"), "the oldest made room");
        rig.advance(500);
        rig.advance(10);
        tryAll(true);
        rig.advance(TenantRig.LEASE_MS);
        assertEquals(new DrainInfo(id, List.of("a"), DrainStatus.SUCCEEDED, 1, 0, 0), info(id));
        assertEquals(Set.of("b"), rig.places("k"));
        assertTrue(rig.has("c0"));
    }

    @Test
    void shouldOnlyDropAReplicaWhoseObjectIsEverywhereElseAlready() {
        rig.storeIn("k", 64, "a", "b", "c");
        final long id = drain("a");
        rig.advance(10);
        tryAll(true);
        rig.advance(10);
        assertEquals(DrainStatus.SUCCEEDED, info(id).status());
        assertEquals(Set.of("b", "c"), rig.places("k"));
    }

    @Test
    void shouldKeepAsManyReplicasWhileThereIsASegmentWithoutOne() {
        // The segment with the other replica is the emptier one.
        rig.storeIn("filler", 1 << 12, "c");
        rig.storeIn("k", 64, "a", "b");
        final long id = drain("a");
        rig.advance(10);
        tryAll(true);
        rig.advance(10);
        assertEquals(DrainStatus.SUCCEEDED, info(id).status());
        assertEquals(Set.of("b", "c"), rig.places("k"));
    }

    @Test
    void shouldWaitForWritesAndReadersInTheSegment() {
        final PutStartReply.Started put = rig.started(rig.put(TenantRig.ANN, "w", 64,
            PutOptions.DEFAULT.withPreferredSegments("a"), false));
        rig.storeIn("r", 64, "a");
        final ReadReply held = rig.apply(new ObjectCommand.ReadStart(TenantRig.key("r"), true));
        final long id = drain("a");
        rig.advance(10);
        tryAll(true);
        assertFalse(rig.places("r").contains("a"));
        rig.advance(TenantRig.LEASE_MS);
        assertEquals(DrainStatus.RUNNING, info(id).status());
        rig.ended("w", put);
        rig.advance(10);
        tryAll(true);
        rig.advance(10);
        assertEquals(DrainStatus.RUNNING, info(id).status(), "a reader still holds a range");
        rig.apply(new ObjectCommand.ReadDone(TenantRig.key("r"), held.held()));
        rig.advance(10);
        assertEquals(new DrainInfo(id, List.of("a"), DrainStatus.SUCCEEDED, 2, 0, 0), info(id));
    }

    /** What could not be moved, and is removed then, goes by itself. */
    @Test
    void shouldWaitForReadersOfWhatWasRemovedAfterItCouldNotBeMoved() {
        rig.storeIn("failing", 64, "a");
        rig.storeIn("slow", 64, "a");
        final long id = drain("a");
        rig.advance(10);
        final Map<String, Task> tasks =
            fetch().stream().collect(Collectors.toMap(task -> task.key().key(), task -> task));
        rig.apply(new MarkTask(TenantRig.ANN, tasks.get("failing").id(), false, "broken"));
        for (int i = 0; i < 2; i++) {
            rig.advance(Drains.RETRY_MS);
            rig.advance(Drains.RETRY_MS);
            tryAll(false);
        }
        rig.advance(10);
        final long held =
            rig.apply(new ObjectCommand.ReadStart(TenantRig.key("failing"), true)).held();
        rig.remove("failing");
        rig.carryOut(TenantRig.ANN, tasks.get("slow"));
        rig.advance(TenantRig.LEASE_MS);
        assertEquals(new DrainInfo(id, List.of("a"), DrainStatus.RUNNING, 1, 1, 0), info(id));
        assertEquals(Ack.OK, rig.apply(new ObjectCommand.ReadDone(TenantRig.key("failing"), held)));
        rig.advance(10);
        assertEquals(DrainStatus.SUCCEEDED, info(id).status());
    }

    @Test
    void shouldEndWhenTheSegmentGoesWithItsClient() {
        rig.storeIn("k", 64, "a");
        final long id = drain("a");
        rig.advance(10);
        fetch();
        rig.advanceWith(TenantRig.TTL_MS, TenantRig.BEN, TenantRig.CEM);
        rig.advance(10);
        assertEquals(DrainStatus.SUCCEEDED, info(id).status());
        assertFalse(rig.has("k"));
    }

    @Test
    void shouldLeaveASegmentThatIsTakenBackMeanwhileInItsStatus() {
        rig.storeIn("k", 64, "a");
        final long id = drain("a");
        rig.apply(new SegmentCommand.Unmount(TenantRig.ANN, rig.id("a"), 5000));
        rig.advance(10);
        tryAll(true);
        rig.advance(10);
        assertEquals(DrainStatus.SUCCEEDED, info(id).status());
        assertEquals(Status.GRACEFULLY_UNMOUNTING, rig.status("a"));
        assertTrue(rig.has("k"));
    }

    @Test
    void shouldMoveFromAllSegmentsOfANameAndToNoneOfThem() {
        rig.memory(TenantRig.BEN, "pair", 4096);
        rig.memory(TenantRig.CEM, "pair", 4096);
        rig.store("k", 64, PutOptions.DEFAULT.withReplicas(2).withPreferredSegments("pair"));
        assertEquals(Set.of("pair"), rig.places("k"));
        final long id = drain("pair");
        for (int i = 0; i < 4; i++) {
            rig.advance(500);
            for (final UUID client : List.of(TenantRig.BEN, TenantRig.CEM)) {
                rig.apply(new FetchTasks(client, 9)).forEach(task -> carryOut(client, task));
            }
        }
        rig.advance(10);
        assertEquals(new DrainInfo(id, List.of("pair"), DrainStatus.SUCCEEDED, 2, 0, 0), info(id));
        assertEquals(2, rig.query("k").replicas().size());
        assertFalse(rig.places("k").contains("pair"));
    }

    private void carryOut(final UUID client, final Task task) {
        try {
            rig.carryOut(client, task);
        } catch (final StoreException e) {
            // The other replica of the same object is being moved.
            assertEquals(ErrorCode.OBJECT_HAS_REPLICATION_TASK, e.code());
            rig.apply(new MarkTask(client, task.id(), false, e.getMessage()));
        }
    }

    @Test
    void shouldMakeNoMoreMovesThanTasksMayWait() {
        try (TenantRig few = new TenantRig(false, TenantRig.FEW)) {
            few.memory(TenantRig.ANN, "a", 4096);
            few.memory(TenantRig.BEN, "b", 4096);
            for (int i = 0; i < 5; i++) {
                few.storeIn("k" + i, 64, "a");
            }
            final long id = few.apply(new CreateDrain(List.of("a")));
            few.advance(10);
            assertEquals(3, few.apply(new QueryDrain(id)).active());
            few.refused(ErrorCode.TASK_PENDING_LIMIT_EXCEEDED, new TaskCommand.CreateTask(TaskCommand.Kind.COPY,
                TenantRig.key("k0"), "a", List.of("b")));
        }
    }
}
