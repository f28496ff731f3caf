package io.kvtier.store.protocol.wire;

import io.kvtier.store.protocol.TaskCommand.CancelDrain;
import io.kvtier.store.protocol.TaskCommand.CreateDrain;
import io.kvtier.store.protocol.TaskCommand.CreateTask;
import io.kvtier.store.protocol.TaskCommand.DrainInfo;
import io.kvtier.store.protocol.TaskCommand.FetchTasks;
import io.kvtier.store.protocol.TaskCommand.MarkTask;
import io.kvtier.store.protocol.TaskCommand.QueryDrain;
import io.kvtier.store.protocol.TaskCommand.QueryTask;
import io.kvtier.store.protocol.TaskCommand.ReplicationEnd;
import io.kvtier.store.protocol.TaskCommand.ReplicationReply;
import io.kvtier.store.protocol.TaskCommand.ReplicationStart;
import io.kvtier.store.protocol.TaskCommand.Task;
import io.kvtier.store.protocol.TaskCommand.TaskInfo;
import io.kvtier.store.protocol.wire.Method.Message;
import java.util.List;

/** What concerns copies, moves, tasks and drains; {@code store/MESSAGES.md} has the fields. */
final class TaskMessages {
    private TaskMessages() {
    }

    static List<Method<?, ?>> methods() {
        return List.of(
            Method.of(80, ReplicationStart.class, false, replicationStart(), replicationReply()),
            Method.of(81, ReplicationEnd.class, false, Message.of((e, end) -> e.array(6).uuid(end.clientId())
                .key(end.key()).number(Numbers.TASK_KIND.number(end.kind())).flag(end.success()).flag(end.settled()),
                d -> new ReplicationEnd(d.uuid(), d.key(), Numbers.TASK_KIND.constant(d.number()), d.flag(),
                    !d.has() || d.flag())), CommonMessages.ACK),
            Method.of(82, CreateTask.class, false, Message.of((e, create) -> e.array(5)
                .number(Numbers.TASK_KIND.number(create.kind())).key(create.key()).text(create.source())
                .texts(create.targets()), d -> new CreateTask(Numbers.TASK_KIND.constant(d.number()), d.key(),
                d.name(), d.names())), CommonMessages.NUMBER),
            Method.of(83, FetchTasks.class, false, Message.of((e, fetch) -> e.array(2).uuid(fetch.clientId())
                .number(fetch.max()), d -> new FetchTasks(d.uuid(), d.count(Integer.MAX_VALUE))), tasks()),
            Method.of(84, MarkTask.class, true, Message.of((e, mark) -> e.array(4).uuid(mark.clientId())
                .number(mark.taskId()).flag(mark.success()).text(mark.message()),
                d -> new MarkTask(d.uuid(), d.number(), d.flag(), d.text(Decoder.MAX_MESSAGE))), CommonMessages.ACK),
            Method.of(85, QueryTask.class, true, Message.of((e, query) -> e.array(1).number(query.taskId()),
                d -> new QueryTask(d.number())), taskInfo()),
            Method.of(86, CreateDrain.class, false, Message.of((e, create) -> e.array(1).texts(create.segments()),
                d -> new CreateDrain(d.names())), CommonMessages.NUMBER),
            Method.of(87, QueryDrain.class, true, Message.of((e, query) -> e.array(1).number(query.drainId()),
                d -> new QueryDrain(d.number())), drainInfo()),
            Method.of(88, CancelDrain.class, true, Message.of((e, cancel) -> e.array(1).number(cancel.drainId()),
                d -> new CancelDrain(d.number())), CommonMessages.ACK));
    }

    private static Message<ReplicationStart> replicationStart() {
        return Message.of((e, start) -> e.array(6).uuid(start.clientId()).key(start.key())
                .number(Numbers.TASK_KIND.number(start.kind())).text(start.source()).texts(start.targets()),
            d -> new ReplicationStart(d.uuid(), d.key(), Numbers.TASK_KIND.constant(d.number()), d.name(),
                d.names()));
    }

    private static Message<ReplicationReply> replicationReply() {
        return Message.of((e, reply) -> e.array(3).number(reply.size()).replica(reply.source())
                .replicas(reply.targets()),
            d -> new ReplicationReply(d.count(), d.replica(), d.replicas()));
    }

    private static void task(final Encoder e, final Task task) {
        e.array(6).number(task.id()).number(Numbers.TASK_KIND.number(task.kind())).key(task.key())
            .text(task.source()).texts(task.targets());
    }

    private static Task task(final Decoder d) {
        return new Task(d.number(), Numbers.TASK_KIND.constant(d.number()), d.key(), d.name(), d.names());
    }

    private static Message<List<Task>> tasks() {
        return Message.of((e, tasks) -> {
            e.array(1).array(tasks.size());
            tasks.forEach(task -> task(e, task));
        }, d -> d.records(Integer.MAX_VALUE, TaskMessages::task));
    }

    private static Message<TaskInfo> taskInfo() {
        return Message.of((e, info) -> {
            task(e.array(3), info.task());
            e.number(Numbers.TASK_STATUS.number(info.status())).text(info.message());
        }, d -> new TaskInfo(d.record(TaskMessages::task), Numbers.TASK_STATUS.constant(d.number()),
            d.text(Decoder.MAX_MESSAGE)));
    }

    private static Message<DrainInfo> drainInfo() {
        return Message.of((e, info) -> e.array(6).number(info.drainId()).texts(info.segments())
                .number(Numbers.DRAIN_STATUS.number(info.status())).number(info.moved()).number(info.failed())
                .number(info.active()),
            d -> new DrainInfo(d.number(), d.names(), Numbers.DRAIN_STATUS.constant(d.number()), d.count(), d.count(),
                d.count()));
    }
}
