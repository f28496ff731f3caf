package io.kvtier.store.snapshot;

import io.kvtier.store.protocol.TaskCommand.DrainInfo;
import io.kvtier.store.protocol.TaskCommand.TaskInfo;
import java.util.List;
import java.util.UUID;

/**
 * Copies and moves that clients were asked for, and drains; the ended ones that can still be asked for among them.
 *
 * @param lastTask  number of the last task that there was.
 * @param tasks     in the order of their numbers within each status.
 * @param lastDrain number of the last drain that there was.
 * @param drains    in the order of their numbers within each status.
 */
public record SavedTasks(long lastTask, List<SavedTask> tasks, long lastDrain, List<DrainInfo> drains) {
    /** None. */
    public static final SavedTasks NONE = new SavedTasks(0, List.of(), 0, List.of());

    /**
     * A task.
     *
     * @param clientId who carries it out.
     * @param info     what, and how far it is.
     */
    public record SavedTask(UUID clientId, TaskInfo info) {
    }
}
