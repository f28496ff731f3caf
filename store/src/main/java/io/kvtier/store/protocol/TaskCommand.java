package io.kvtier.store.protocol;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.replica.Replica;
import java.util.List;
import java.util.UUID;

/**
 * What concerns copies and moves of memory replicas between segments.
 *
 * @param <R> what the master answers.
 */
public sealed interface TaskCommand<R> extends Command<R> {
    /** Whether the source stays. */
    enum Kind {
        /** It stays. */
        COPY,
        /** It goes when the target is complete. */
        MOVE
    }

    /**
     * Starts to copy or move an object: holds the source and allocates in the targets.
     *
     * @param clientId who copies.
     * @param key      the object.
     * @param kind     whether the source stays.
     * @param source   name of the segment to copy from.
     * @param targets  names of the segments to copy to; those that have the object already are passed over. A move has
     *                 one.
     */
    record ReplicationStart(UUID clientId, ObjectKey key, Kind kind, String source, List<String> targets)
        implements TaskCommand<ReplicationReply> {
    }

    /**
     * Answer to {@link ReplicationStart}.
     *
     * @param size    bytes of the value.
     * @param source  what to copy.
     * @param targets where to; empty when every target has the object already. It must be ended all the same.
     */
    record ReplicationReply(long size, Replica source, List<Replica> targets) {
    }

    /**
     * Ends a copy or move: the bytes are in all targets, or they are given up.
     *
     * @param clientId who started it.
     * @param key      the object.
     * @param kind     as in the start.
     * @param success  whether the bytes are there.
     * @param settled  without success: whether nothing changes the bytes of the targets any more; see
     *                 {@link ObjectCommand.PutRevoke}.
     */
    record ReplicationEnd(UUID clientId, ObjectKey key, Kind kind, boolean success, boolean settled)
        implements TaskCommand<Ack> {
        /**
         * Of which nothing is under way.
         *
         * @param clientId who started it.
         * @param key      the object.
         * @param kind     as in the start.
         * @param success  whether the bytes are there.
         */
        public ReplicationEnd(final UUID clientId, final ObjectKey key, final Kind kind, final boolean success) {
            this(clientId, key, kind, success, true);
        }
    }

    /** How far a task is. */
    enum TaskStatus {
        /** Waits for its client. */
        PENDING,
        /** Its client is at it. */
        PROCESSING,
        /** Done. */
        SUCCESS,
        /** Not done. */
        FAILED
    }

    /**
     * Asks for a copy or move that the owner of the source carries out.
     *
     * @param kind    whether the source stays.
     * @param key     the object.
     * @param source  name of the segment to copy from.
     * @param targets names of the segments to copy to.
     */
    record CreateTask(Kind kind, ObjectKey key, String source, List<String> targets) implements TaskCommand<Long> {
    }

    /**
     * Fetches tasks; they are its caller's to carry out and to {@linkplain MarkTask mark}.
     *
     * @param clientId the client.
     * @param max      most tasks.
     */
    record FetchTasks(UUID clientId, int max) implements TaskCommand<List<Task>> {
    }

    /**
     * A copy or move to be carried out.
     *
     * @param id      the task.
     * @param kind    whether the source stays.
     * @param key     the object.
     * @param source  name of the segment to copy from.
     * @param targets names of the segments to copy to.
     */
    record Task(long id, Kind kind, ObjectKey key, String source, List<String> targets) {
    }

    /**
     * Says how a task ended.
     *
     * @param clientId who carried it out.
     * @param taskId   the task.
     * @param success  whether it is done.
     * @param message  why not, for people; the first 1,024 characters are kept.
     */
    record MarkTask(UUID clientId, long taskId, boolean success, String message) implements TaskCommand<Ack> {
    }

    /**
     * Asks how far a task is.
     *
     * @param taskId the task.
     */
    record QueryTask(long taskId) implements TaskCommand<TaskInfo> {
    }

    /**
     * How far a task is.
     *
     * @param task    the task.
     * @param status  how far.
     * @param message why it failed, for people.
     */
    record TaskInfo(Task task, TaskStatus status, String message) {
    }

    /** How far a drain is. */
    enum DrainStatus {
        /** Replicas are being moved. */
        RUNNING,
        /** The segments are empty. */
        SUCCEEDED,
        /** Some replicas could not be moved; the segments are allocated in again. */
        FAILED,
        /** It was given up; the segments are allocated in again. */
        CANCELED
    }

    /**
     * Empties segments: nothing is allocated in them any more, and what is there is moved to others.
     *
     * @param segments names.
     */
    record CreateDrain(List<String> segments) implements TaskCommand<Long> {
    }

    /**
     * Asks how far a drain is.
     *
     * @param drainId the drain.
     */
    record QueryDrain(long drainId) implements TaskCommand<DrainInfo> {
    }

    /**
     * Gives a drain up.
     *
     * @param drainId the drain.
     */
    record CancelDrain(long drainId) implements TaskCommand<Ack> {
    }

    /**
     * How far a drain is.
     *
     * @param drainId  the drain.
     * @param segments what it empties.
     * @param status   how far.
     * @param moved    replicas moved.
     * @param failed   replicas that could not be moved.
     * @param active   moves under way or waiting.
     */
    record DrainInfo(long drainId, List<String> segments, DrainStatus status, long moved, long failed, long active) {
    }
}
