package io.kvtier.store.protocol.wire;

import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.SoftPin;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand.KeyFileResult;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PageCommand.PageOutcome;
import io.kvtier.store.protocol.SegmentCommand.ClientStatus;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.Status;
import io.kvtier.store.protocol.TaskCommand.DrainStatus;
import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.protocol.TaskCommand.TaskStatus;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.transport.HostDetour;
import java.util.List;

/** The numbers of all enumerations of the protocol, each counted from 0. Only appended to. */
final class Numbers {
    static final Numbering<Ack> ACK = Numbering.of(List.of(Ack.OK, Ack.STALE));
    static final Numbering<Scope> SCOPE = Numbering.of(List.of(Scope.ALL, Scope.MEMORY, Scope.NOF,
        Scope.GDS));
    static final Numbering<PutOutcome> PUT_OUTCOME =
        Numbering.of(List.of(PutOutcome.STORED, PutOutcome.ALREADY_EXISTS, PutOutcome.BEING_WRITTEN,
            PutOutcome.NO_SPACE));
    static final Numbering<RemoveOutcome> REMOVE_OUTCOME =
        Numbering.of(List.of(RemoveOutcome.REMOVED, RemoveOutcome.NOT_FOUND, RemoveOutcome.LEASED,
            RemoveOutcome.BEING_WRITTEN));
    static final Numbering<SoftPin.Action> SOFT_PIN =
        Numbering.of(List.of(SoftPin.Action.PRESERVE, SoftPin.Action.ENABLE, SoftPin.Action.DISABLE));
    /** A status of a later version is none that may be read. */
    static final Numbering<ReplicaStatus> REPLICA_STATUS = Numbering.withUnknown(ReplicaStatus.REMOVED,
        List.of(ReplicaStatus.PROCESSING, ReplicaStatus.COMPLETE, ReplicaStatus.REMOVED));
    static final Numbering<Medium> MEDIUM = Numbering.of(List.of(Medium.MEMORY, Medium.NOF,
        Medium.GDS, Medium.DISTRIBUTED_DISK));
    /** A status of a later version is none that may be read or allocated in. */
    static final Numbering<Status> SEGMENT_STATUS =
        Numbering.withUnknown(Status.UNMOUNTING, List.of(Status.OK, Status.DRAINING, Status.DRAINED,
            Status.GRACEFULLY_UNMOUNTING, Status.UNMOUNTING));
    static final Numbering<ClientStatus> CLIENT_STATUS =
        Numbering.of(List.of(ClientStatus.OK, ClientStatus.NEED_REMOUNT));
    static final Numbering<OffloadResult> OFFLOAD_RESULT =
        Numbering.of(List.of(OffloadResult.STORED, OffloadResult.OBSOLETE, OffloadResult.VALUE_REFUSED,
            OffloadResult.DISK_FAILED));
    static final Numbering<KeyFileResult> KEY_FILE_RESULT =
        Numbering.of(List.of(KeyFileResult.FAILED, KeyFileResult.WRITTEN, KeyFileResult.NO_ROOM));
    static final Numbering<PageOutcome> PAGE_OUTCOME =
        Numbering.of(List.of(PageOutcome.ALLOCATED, PageOutcome.STORED, PageOutcome.TAKEN, PageOutcome.STALE,
            PageOutcome.NO_SPACE));
    static final Numbering<Kind> TASK_KIND = Numbering.of(List.of(Kind.COPY, Kind.MOVE));
    static final Numbering<TaskStatus> TASK_STATUS =
        Numbering.of(List.of(TaskStatus.PENDING, TaskStatus.PROCESSING, TaskStatus.SUCCESS, TaskStatus.FAILED));
    static final Numbering<DrainStatus> DRAIN_STATUS =
        Numbering.of(List.of(DrainStatus.RUNNING, DrainStatus.SUCCEEDED, DrainStatus.FAILED, DrainStatus.CANCELED));
    /** A detour of a later version is one that there may be. */
    static final Numbering<HostDetour> HOST_DETOUR = Numbering.withUnknown(HostDetour.POSSIBLE,
        List.of(HostDetour.NONE, HostDetour.POSSIBLE, HostDetour.ALWAYS));

    private Numbers() {
    }
}
