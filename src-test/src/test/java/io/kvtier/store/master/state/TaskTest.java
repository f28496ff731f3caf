package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.TaskCommand.CreateTask;
import io.kvtier.store.protocol.TaskCommand.FetchTasks;
import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.protocol.TaskCommand.MarkTask;
import io.kvtier.store.protocol.TaskCommand.QueryTask;
import io.kvtier.store.protocol.TaskCommand.Task;
import io.kvtier.store.protocol.TaskCommand.TaskStatus;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Copies and moves that the owner of the source is asked for. At most 3 wait and 2 are under way here. */
@ExtendWith(LeakCheck.class)
class TaskTest {
    private final TenantRig rig = new TenantRig(false, TenantRig.FEW);

    @BeforeEach
    void lend() {
        rig.memory(TenantRig.ANN, "a", 4096);
        rig.memory(TenantRig.BEN, "b", 4096);
        rig.memory(TenantRig.CEM, "c", 4096);
        for (int i = 0; i < 8; i++) {
            rig.storeIn("acme/" + i, 100, "a");
        }
        rig.storeIn("acme/b", 100, "b");
        rig.announced();
    }

    @AfterEach
    void close() {
        rig.close();
    }

    private static CreateTask copy(final String key) {
        return new CreateTask(Kind.COPY, TenantRig.key(key), "a", List.of("c"));
    }

    private List<Task> fetch(final UUID client, final int max) {
        return rig.apply(new FetchTasks(client, max));
    }

    private TaskStatus status(final long id) {
        return rig.apply(new QueryTask(id)).status();
    }

    @Test
    void shouldGiveATaskToTheOwnerOfTheSourceAndToNobodyElse() {
        final long id = rig.apply(copy("acme/0"));
        assertEquals(List.of("1 TASKS"), rig.announced());
        final long other = rig.apply(new CreateTask(Kind.MOVE, TenantRig.key("acme/b"), "b", List.of("c")));
        assertEquals(List.of("2 TASKS"), rig.announced());
        assertEquals(List.of(), fetch(TenantRig.CEM, 10));
        assertEquals(List.of(new Task(id, Kind.COPY, TenantRig.key("acme/0"), "a", List.of("c"))),
            fetch(TenantRig.ANN, 10));
        assertEquals(List.of(), fetch(TenantRig.ANN, 10), "it is handed out once");
        assertEquals(List.of(other), fetch(TenantRig.BEN, 10).stream().map(Task::id).toList());
    }

    /** A name a million times over is kept as long as the task is known. */
    @Test
    void shouldKeepEachTargetOfATaskOnce() {
        rig.apply(new CreateTask(Kind.COPY, TenantRig.key("acme/0"), "a",
            Stream.concat(Collections.nCopies(1000, "c").stream(), Stream.of("b", "c")).toList()));
        assertEquals(List.of("c", "b"), fetch(TenantRig.ANN, 1).getFirst().targets());
    }

    /** Ten thousand ended tasks are kept, with why each of them failed. */
    @Test
    void shouldKeepTheBeginningOfWhyATaskFailed() {
        final long id = rig.apply(copy("acme/0"));
        fetch(TenantRig.ANN, 1);
        rig.apply(new MarkTask(TenantRig.ANN, id, false, "no room" + ".".repeat(60_000)));
        final String why = rig.apply(new QueryTask(id)).message();
        assertTrue(why.startsWith("no room...") && why.length() <= 1024, "of " + why.length() + " characters");
    }

    @Test
    void shouldHandTasksOutInOrderAndNoMoreThanAskedFor() {
        final List<Long> ids = List.of(rig.apply(copy("acme/0")), rig.apply(copy("acme/1")), rig.apply(copy("acme/2")));
        assertEquals(List.of(), fetch(TenantRig.ANN, 0));
        assertEquals(ids.subList(0, 1), fetch(TenantRig.ANN, 1).stream().map(Task::id).toList());
        assertEquals(ids.subList(1, 2), fetch(TenantRig.ANN, 1).stream().map(Task::id).toList());
    }

    @Test
    void shouldCarryATaskThrough() {
        final long id = rig.apply(copy("acme/0"));
        assertEquals(TaskStatus.PENDING, status(id));
        final Task task = fetch(TenantRig.ANN, 1).getFirst();
        assertEquals(TaskStatus.PROCESSING, status(id));
        rig.carryOut(TenantRig.ANN, task);
        assertEquals(new TaskCommand.TaskInfo(task, TaskStatus.SUCCESS, ""), rig.apply(new QueryTask(id)));
        assertEquals(Set.of("a", "c"), rig.places("acme/0"));
    }

    @Test
    void shouldBeMarkedByWhoFetchedItAndOnce() {
        final long id = rig.apply(copy("acme/0"));
        rig.refused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, new MarkTask(TenantRig.ANN, id, true, ""));
        fetch(TenantRig.ANN, 1);
        rig.refused(ErrorCode.ILLEGAL_CLIENT, new MarkTask(TenantRig.BEN, id, true, ""));
        rig.refused(ErrorCode.TASK_NOT_FOUND, new MarkTask(TenantRig.ANN, id + 1, true, ""));
        rig.refused(ErrorCode.TASK_NOT_FOUND, new QueryTask(id + 1));
        assertEquals(Ack.OK, rig.apply(new MarkTask(TenantRig.ANN, id, false, "no room")));
        assertEquals(Ack.OK, rig.apply(new MarkTask(TenantRig.ANN, id, false, "no room")), "said again");
        assertEquals(Ack.STALE, rig.apply(new MarkTask(TenantRig.ANN, id, true, "")));
        assertEquals(TaskStatus.FAILED, status(id));
        assertEquals("no room", rig.apply(new QueryTask(id)).message());
    }

    @Test
    void shouldRefuseTasksThatCannotBeCarriedOut() {
        rig.refused(ErrorCode.OBJECT_NOT_FOUND, copy("acme/nothing"));
        rig.refused(ErrorCode.REPLICA_NOT_FOUND, copy("acme/b"));
        rig.refused(ErrorCode.SEGMENT_NOT_FOUND,
            new CreateTask(Kind.COPY, TenantRig.key("acme/0"), "a", List.of("c", "nowhere")));
        rig.refused(ErrorCode.INVALID_PARAMS, new CreateTask(Kind.COPY, TenantRig.key("acme/0"), "a", List.of()));
        rig.refused(ErrorCode.INVALID_PARAMS, new CreateTask(Kind.MOVE, TenantRig.key("acme/0"), "a", List.of("a")));
        rig.refused(ErrorCode.INVALID_PARAMS,
            new CreateTask(Kind.MOVE, TenantRig.key("acme/0"), "a", List.of("b", "c")));
    }

    @Test
    void shouldRefuseMoreThanMayWait() {
        rig.apply(copy("acme/0"));
        rig.apply(copy("acme/1"));
        rig.apply(copy("acme/2"));
        rig.refused(ErrorCode.TASK_PENDING_LIMIT_EXCEEDED, copy("acme/3"));
        fetch(TenantRig.ANN, 1);
        rig.apply(copy("acme/3"));
    }

    @Test
    void shouldHandOutNoMoreThanMayBeUnderWayAndSayWhenMoreMay() {
        rig.apply(copy("acme/0"));
        rig.apply(copy("acme/1"));
        rig.apply(new CreateTask(Kind.MOVE, TenantRig.key("acme/b"), "b", List.of("c")));
        final List<Task> first = fetch(TenantRig.ANN, 10);
        assertEquals(2, first.size());
        rig.apply(copy("acme/2"));
        rig.announced();
        assertEquals(List.of(), fetch(TenantRig.BEN, 10));
        assertEquals(List.of(), fetch(TenantRig.ANN, 10));
        rig.carryOut(TenantRig.ANN, first.getFirst());
        assertEquals(List.of("2 TASKS", "1 TASKS"), rig.announced());
        assertEquals(1, fetch(TenantRig.BEN, 10).size());
    }

    @Test
    void shouldRememberOnlyTheLastThatEnded() {
        final long[] ids = new long[3];
        for (int i = 0; i < 3; i++) {
            ids[i] = rig.apply(copy("acme/" + i));
            rig.carryOut(TenantRig.ANN, fetch(TenantRig.ANN, 1).getFirst());
        }
        rig.refused(ErrorCode.TASK_NOT_FOUND, new QueryTask(ids[0]));
        assertEquals(Ack.STALE, rig.apply(new MarkTask(TenantRig.ANN, ids[0], true, "")));
        assertEquals(TaskStatus.SUCCESS, status(ids[1]));
        assertEquals(TaskStatus.SUCCESS, status(ids[2]));
    }

    @Test
    void shouldFailWhatNobodyFetchesInTime() {
        final long late = rig.apply(copy("acme/0"));
        rig.advance(4999);
        assertEquals(TaskStatus.PENDING, status(late));
        final long young = rig.apply(copy("acme/1"));
        rig.advance(1);
        assertEquals(TaskStatus.FAILED, status(late));
        assertTrue(rig.apply(new QueryTask(late)).message().contains("5000"));
        assertEquals(List.of(young), fetch(TenantRig.ANN, 10).stream().map(Task::id).toList());
    }

    @Test
    void shouldLetOthersWaitInPlaceOfWhatNobodyFetchedInTime() {
        for (int i = 0; i < 3; i++) {
            rig.apply(copy("acme/" + i));
        }
        rig.refused(ErrorCode.TASK_PENDING_LIMIT_EXCEEDED, copy("acme/3"));
        rig.advance(5000);
        final long next = rig.apply(copy("acme/3"));
        assertEquals(List.of(next), fetch(TenantRig.ANN, 10).stream().map(Task::id).toList());
    }

    @Test
    void shouldFailWhatIsNotDoneInTimeAndFreeItsPlace() {
        final long first = rig.apply(copy("acme/0"));
        rig.apply(copy("acme/1"));
        fetch(TenantRig.ANN, 2);
        rig.advance(6999);
        assertEquals(TaskStatus.PROCESSING, status(first));
        rig.apply(copy("acme/2"));
        rig.advance(1);
        assertEquals(TaskStatus.FAILED, status(first));
        assertEquals(Ack.STALE, rig.apply(new MarkTask(TenantRig.ANN, first, true, "")));
        assertEquals(1, fetch(TenantRig.ANN, 2).size());
    }

    @Test
    void shouldFailTheTasksOfADeadClient() {
        try (TenantRig patient = new TenantRig(false)) {
            patient.memory(TenantRig.ANN, "a", 4096);
            patient.memory(TenantRig.CEM, "c", 4096);
            patient.storeIn("acme/0", 100, "a");
            patient.storeIn("acme/c", 100, "c");
            final long fetched = patient.apply(copy("acme/0"));
            final long waiting = patient.apply(copy("acme/0"));
            final long other = patient.apply(new CreateTask(Kind.MOVE, TenantRig.key("acme/c"), "c", List.of("a")));
            patient.apply(new FetchTasks(TenantRig.ANN, 1));
            patient.advanceWith(TenantRig.TTL_MS, TenantRig.CEM);
            assertEquals("its client is gone", patient.apply(new QueryTask(fetched)).message());
            assertEquals("its client is gone", patient.apply(new QueryTask(waiting)).message());
            assertEquals(List.of(), patient.apply(new FetchTasks(TenantRig.ANN, 9)));
            assertEquals(TaskStatus.PENDING, patient.apply(new QueryTask(other)).status());
        }
    }
}
