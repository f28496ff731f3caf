package io.kvtier.store.master.state;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.TaskCommand.Task;
import io.kvtier.store.protocol.TaskCommand.TaskInfo;
import io.kvtier.store.protocol.TaskCommand.TaskStatus;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.snapshot.SavedTasks.SavedTask;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/**
 * Copies and moves that clients are asked for: waiting, under way, and the last ones that have ended.
 *
 * <p>A task is only a request: whoever fetched it starts and ends a {@link Replication} like anybody else, and then
 * says how it went. So a task that ends here for want of time leaves nothing behind that has to be cleaned up.
 */
final class Tasks {
    /** Characters that are kept of why a task failed. */
    private static final int MAX_MESSAGE = 1024;

    private final MasterSettings.Tasks limits;
    private final Effects effects;
    private long lastId;
    /** In the order of their creation. */
    private final Map<Long, Job> pending = new LinkedHashMap<>();
    /** The same by client. */
    private final Map<UUID, Map<Long, Job>> queues = new HashMap<>();
    /** In the order in which they were fetched. */
    private final Map<Long, Job> processing = new LinkedHashMap<>();
    /** In the order in which they ended. */
    private final Map<Long, Job> finished = new LinkedHashMap<>();
    /** Clients that could not fetch what waits for them because too much was under way. */
    private final Set<UUID> starved = new LinkedHashSet<>();

    /** Immutable and replaced on change, as a snapshot has it too. */
    private record Job(Task task, UUID clientId, TaskStatus status, String message, long sinceMs) {
    }

    Tasks(final MasterSettings.Tasks limits, final Effects effects) {
        this.limits = limits;
        this.effects = effects;
    }

    /** Whether another task may wait. */
    boolean isFull() {
        return pending.size() >= limits.pending();
    }

    /** Asks a client for a copy or move; the number by which it is known. */
    long add(final TaskCommand.CreateTask command, final UUID clientId, final long nowMs) {
        if (isFull()) {
            throw new StoreException(ErrorCode.TASK_PENDING_LIMIT_EXCEEDED, pending.size()
                + " tasks wait already, and no more may; try again later, or raise the limit");
        }
        final long id = ++lastId;
        final Task task = new Task(id, command.kind(), command.key(), command.source(),
            List.copyOf(new LinkedHashSet<>(command.targets())));
        enqueue(new Job(task, clientId, TaskStatus.PENDING, "", nowMs));
        effects.workQueued(clientId, WorkKind.TASKS);
        return id;
    }

    private void enqueue(final Job job) {
        pending.put(job.task.id(), job);
        queues.computeIfAbsent(job.clientId, client -> new LinkedHashMap<>()).put(job.task.id(), job);
    }

    List<Task> fetch(final TaskCommand.FetchTasks fetch, final long nowMs) {
        final List<Task> fetched = new ArrayList<>();
        while (fetched.size() < fetch.max() && processing.size() < limits.processing()
            && queues.containsKey(fetch.clientId())) {
            final Job job = queues.get(fetch.clientId()).values().iterator().next();
            leaveQueue(job);
            processing.put(job.task.id(), new Job(job.task, job.clientId, TaskStatus.PROCESSING, "", nowMs));
            fetched.add(job.task);
        }
        if (processing.size() >= limits.processing() && queues.containsKey(fetch.clientId())) {
            starved.add(fetch.clientId());
        }
        return fetched;
    }

    private void leaveQueue(final Job job) {
        pending.remove(job.task.id());
        final Map<Long, Job> queue = queues.get(job.clientId);
        queue.remove(job.task.id());
        if (queue.isEmpty()) {
            queues.remove(job.clientId);
        }
    }

    Ack mark(final TaskCommand.MarkTask mark) {
        final Job job = find(mark.taskId());
        if (job == null) {
            if (mark.taskId() > 0 && mark.taskId() <= lastId) {
                return Ack.STALE;
            }
            throw unknown(mark.taskId());
        }
        if (!job.clientId.equals(mark.clientId())) {
            throw new StoreException(ErrorCode.ILLEGAL_CLIENT, "task " + mark.taskId() + " is client " + job.clientId
                + "'s, not " + mark.clientId() + "'s");
        }
        if (job.status == TaskStatus.PENDING) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, "task " + mark.taskId()
                + " has not been fetched");
        }
        final TaskStatus status = mark.success() ? TaskStatus.SUCCESS : TaskStatus.FAILED;
        if (job.status != TaskStatus.PROCESSING) {
            return job.status == status ? Ack.OK : Ack.STALE;
        }
        finish(job, status, mark.message());
        return Ack.OK;
    }

    TaskInfo query(final long taskId) {
        final Job job = find(taskId);
        if (job == null) {
            throw unknown(taskId);
        }
        return new TaskInfo(job.task, job.status, job.message);
    }

    /** How far a task is; null when it is not remembered any more. */
    TaskStatus status(final long taskId) {
        final Job job = find(taskId);
        return job == null ? null : job.status;
    }

    /** Withdraws a task that nobody has fetched yet; false when it is not one. */
    boolean withdraw(final long taskId) {
        final Job job = pending.get(taskId);
        if (job == null) {
            return false;
        }
        finish(job, TaskStatus.FAILED, "withdrawn");
        return true;
    }

    private static StoreException unknown(final long taskId) {
        return new StoreException(ErrorCode.TASK_NOT_FOUND, "there is no task " + taskId
            + ", or it ended too long ago to be remembered");
    }

    private Job find(final long taskId) {
        final Job waiting = pending.get(taskId);
        if (waiting != null) {
            return waiting;
        }
        final Job under = processing.get(taskId);
        return under == null ? finished.get(taskId) : under;
    }

    /** The one way to an end. */
    private void finish(final Job job, final TaskStatus status, final String message) {
        if (job.status == TaskStatus.PENDING) {
            leaveQueue(job);
        } else {
            processing.remove(job.task.id());
            starved.forEach(client -> effects.workQueued(client, WorkKind.TASKS));
            starved.clear();
        }
        remember(new Job(job.task, job.clientId, status,
            message.length() <= MAX_MESSAGE ? message : message.substring(0, MAX_MESSAGE), job.sinceMs));
    }

    private void remember(final Job ended) {
        finished.put(ended.task.id(), ended);
        if (finished.size() > limits.finished()) {
            finished.remove(finished.keySet().iterator().next());
        }
    }

    long lastId() {
        return lastId;
    }

    /** All that are known, for a snapshot. Their number has a limit. */
    List<SavedTask> save() {
        final List<SavedTask> saved = new ArrayList<>(finished.size() + processing.size() + pending.size());
        for (final Map<Long, Job> jobs : List.of(finished, processing, pending)) {
            jobs.values().forEach(job -> saved.add(new SavedTask(job.clientId,
                new TaskInfo(job.task, job.status, job.message))));
        }
        return saved;
    }

    /** Takes what a snapshot has; what was under way then waits for its client anew. */
    void restore(final long last, final List<SavedTask> saved, final long nowMs) {
        lastId = last;
        for (final SavedTask one : saved) {
            final TaskInfo info = one.info();
            if (info.status() == TaskStatus.PENDING || info.status() == TaskStatus.PROCESSING) {
                enqueue(new Job(info.task(), one.clientId(), TaskStatus.PENDING, "", nowMs));
                effects.workQueued(one.clientId(), WorkKind.TASKS);
            } else {
                remember(new Job(info.task(), one.clientId(), info.status(), info.message(), nowMs));
            }
        }
    }

    /** A client is gone: its tasks have failed. */
    void clientGone(final UUID clientId) {
        final Map<Long, Job> queue = queues.get(clientId);
        if (queue != null) {
            List.copyOf(queue.values()).forEach(job -> finish(job, TaskStatus.FAILED, "its client is gone"));
        }
        for (final Job job : List.copyOf(processing.values())) {
            if (job.clientId.equals(clientId)) {
                finish(job, TaskStatus.FAILED, "its client is gone");
            }
        }
    }

    /** Gives up what has waited or been under way for too long. */
    void expire(final long nowMs) {
        expire(pending, limits.pendingMs(), "nobody fetched it within ", nowMs);
        expire(processing, limits.processingMs(), "it was not done within ", nowMs);
    }

    private void expire(final Map<Long, Job> jobs, final long afterMs, final String why, final long nowMs) {
        while (afterMs > 0 && !jobs.isEmpty()) {
            final Job job = jobs.values().iterator().next();
            if (nowMs - job.sinceMs < afterMs) {
                return;
            }
            finish(job, TaskStatus.FAILED, why + afterMs + " ms");
        }
    }
}
