package io.kvtier.store.metrics;

import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.TaskCommand;
import java.util.Locale;

/** What a request is counted as. The constant's name in small letters stands in the names of metrics. */
enum RequestKind {
    PUT_START, UPSERT_START, PUT_END, PUT_REVOKE, GET_REPLICA_LIST, READ_DONE, EXIST_KEY, QUERY_KEY, REMOVE,
    GET_REPLICA_LIST_BY_REGEX, REMOVE_BY_REGEX, REMOVE_ALL, REPLICA_CLEAR, REPLICA_UNREADABLE,
    PING, MOUNT_SEGMENT, MOUNT_NOF_SEGMENT, UNMOUNT_SEGMENT, QUERY_SEGMENTS, NOF_PROBED, QUERY_CLIENTS,
    FETCH_RETURNING, RETURN_REPLICAS,
    MOUNT_DISK, UNMOUNT_DISK, FETCH_OFFLOADS, OFFLOAD_DONE, PROMOTION_START, PROMOTION_END, EVICT_DISK_REPLICA,
    ADOPT_DISK, FETCH_DROPS, FETCH_DISK_PROMOTIONS,
    QUERY_KEY_FOLDER, MOUNT_KEY_FILES, UNMOUNT_KEY_FILES, FETCH_KEY_FILES, KEY_FILE_WRITTEN, FETCH_KEY_FILE_DROPS,
    FIND_KEY_FILES,
    ADD_GDS_REPLICA_START, CREATE_GDS_ONLY_OBJECTS, REGISTER_GDS_STORAGE, UNREGISTER_GDS_STORAGE, ADOPT_GDS_REPLICAS,
    SETTLE_GDS_EXTENTS, MAKE_GDS_ROOM, FETCH_GDS_DROPS, QUERY_GDS_STORAGES, REPORT_GDS_WORK,
    ALLOCATE_DISTRIBUTED_PAGE, BATCH_ALLOCATE_DISTRIBUTED_PAGE, FREE_DISTRIBUTED_PAGE, BATCH_FREE_DISTRIBUTED_PAGE,
    GET_DISTRIBUTED_PAGE_MAPPING, BATCH_GET_DISTRIBUTED_PAGE_MAPPING, NOTIFY_DISTRIBUTED_DISK_SUCCESS,
    MOUNT_DISTRIBUTED_DISK, UNMOUNT_DISTRIBUTED_DISK, FETCH_PROMOTIONS, QUERY_DISTRIBUTED_BUCKETS,
    COPY_START, COPY_END, COPY_REVOKE, MOVE_START, MOVE_END, MOVE_REVOKE, CREATE_COPY_TASK, CREATE_MOVE_TASK,
    FETCH_TASKS, UPDATE_TASK, QUERY_TASK, CREATE_DRAIN_JOB, QUERY_DRAIN_JOB, CANCEL_DRAIN_JOB,
    STATISTICS, EVICT, SET_TENANT_QUOTA, DELETE_TENANT_QUOTA, QUERY_TENANT_QUOTAS, TICK, EMPTY_BATCH;

    /** The kind of a command; of a batch, that of its commands. */
    static RequestKind of(final Command<?> command) {
        return switch (command) {
            case Batch<?> batch -> batch.items().isEmpty() ? EMPTY_BATCH : of(batch.items().getFirst());
            case ObjectCommand<?> object -> ofObject(object);
            case SegmentCommand<?> segment -> ofSegment(segment);
            case DiskCommand<?> disk -> ofDisk(disk);
            case GdsCommand<?> gds -> ofGds(gds);
            case PageCommand<?> page -> ofPage(page);
            case TaskCommand<?> task -> ofTask(task);
            case AdminCommand<?> admin -> ofAdmin(admin);
        };
    }

    String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    private static RequestKind ofObject(final ObjectCommand<?> command) {
        return switch (command) {
            case ObjectCommand.PutStart put -> put.replace() ? UPSERT_START : PUT_START;
            case ObjectCommand.PutEnd ignored -> PUT_END;
            case ObjectCommand.PutRevoke ignored -> PUT_REVOKE;
            case ObjectCommand.ReadStart ignored -> GET_REPLICA_LIST;
            case ObjectCommand.ReadDone ignored -> READ_DONE;
            case ObjectCommand.Exists ignored -> EXIST_KEY;
            case ObjectCommand.Query ignored -> QUERY_KEY;
            case ObjectCommand.Remove ignored -> REMOVE;
            case ObjectCommand.Find ignored -> GET_REPLICA_LIST_BY_REGEX;
            case ObjectCommand.RemoveMatching matching -> matching.pattern().isEmpty() ? REMOVE_ALL : REMOVE_BY_REGEX;
            case ObjectCommand.ReplicaClear ignored -> REPLICA_CLEAR;
            case ObjectCommand.ReplicaUnreadable ignored -> REPLICA_UNREADABLE;
            case ObjectCommand.AddGdsReplicaStart ignored -> ADD_GDS_REPLICA_START;
            case ObjectCommand.CreateGdsOnlyObject ignored -> CREATE_GDS_ONLY_OBJECTS;
        };
    }

    private static RequestKind ofSegment(final SegmentCommand<?> command) {
        return switch (command) {
            case SegmentCommand.Ping ignored -> PING;
            case SegmentCommand.Mount mount ->
                mount.spec().medium() == SegmentCommand.Medium.NOF ? MOUNT_NOF_SEGMENT : MOUNT_SEGMENT;
            case SegmentCommand.Unmount ignored -> UNMOUNT_SEGMENT;
            case SegmentCommand.Segments ignored -> QUERY_SEGMENTS;
            case SegmentCommand.Probed ignored -> NOF_PROBED;
            case SegmentCommand.Clients ignored -> QUERY_CLIENTS;
            case SegmentCommand.FetchReturning ignored -> FETCH_RETURNING;
            case SegmentCommand.ReturnReplicas ignored -> RETURN_REPLICAS;
        };
    }

    private static RequestKind ofDisk(final DiskCommand<?> command) {
        return switch (command) {
            case DiskCommand.MountDisk ignored -> MOUNT_DISK;
            case DiskCommand.UnmountDisk ignored -> UNMOUNT_DISK;
            case DiskCommand.FetchOffloads ignored -> FETCH_OFFLOADS;
            case DiskCommand.OffloadDone ignored -> OFFLOAD_DONE;
            case DiskCommand.PromotionStart ignored -> PROMOTION_START;
            case DiskCommand.PromotionEnd ignored -> PROMOTION_END;
            case DiskCommand.EvictDisk ignored -> EVICT_DISK_REPLICA;
            case DiskCommand.AdoptDisk ignored -> ADOPT_DISK;
            case DiskCommand.FetchDrops ignored -> FETCH_DROPS;
            case DiskCommand.FetchDiskPromotions ignored -> FETCH_DISK_PROMOTIONS;
            case DiskCommand.QueryKeyFolder ignored -> QUERY_KEY_FOLDER;
            case DiskCommand.MountKeyFiles ignored -> MOUNT_KEY_FILES;
            case DiskCommand.UnmountKeyFiles ignored -> UNMOUNT_KEY_FILES;
            case DiskCommand.FetchKeyFiles ignored -> FETCH_KEY_FILES;
            case DiskCommand.KeyFileWritten ignored -> KEY_FILE_WRITTEN;
            case DiskCommand.FetchKeyFileDrops ignored -> FETCH_KEY_FILE_DROPS;
            case DiskCommand.FindKeyFiles ignored -> FIND_KEY_FILES;
        };
    }

    private static RequestKind ofGds(final GdsCommand<?> command) {
        return switch (command) {
            case GdsCommand.RegisterGdsStorage ignored -> REGISTER_GDS_STORAGE;
            case GdsCommand.UnregisterGdsStorage ignored -> UNREGISTER_GDS_STORAGE;
            case GdsCommand.AdoptGdsReplicas ignored -> ADOPT_GDS_REPLICAS;
            case GdsCommand.SettleGdsExtents ignored -> SETTLE_GDS_EXTENTS;
            case GdsCommand.MakeGdsRoom ignored -> MAKE_GDS_ROOM;
            case GdsCommand.FetchGdsDrops ignored -> FETCH_GDS_DROPS;
            case GdsCommand.GdsStorages ignored -> QUERY_GDS_STORAGES;
            case GdsCommand.ReportGdsWork ignored -> REPORT_GDS_WORK;
        };
    }

    private static RequestKind ofPage(final PageCommand<?> command) {
        return switch (command) {
            case PageCommand.AllocateDistributedPage ignored -> ALLOCATE_DISTRIBUTED_PAGE;
            case PageCommand.BatchAllocateDistributedPage ignored -> BATCH_ALLOCATE_DISTRIBUTED_PAGE;
            case PageCommand.FreeDistributedPage ignored -> FREE_DISTRIBUTED_PAGE;
            case PageCommand.BatchFreeDistributedPage ignored -> BATCH_FREE_DISTRIBUTED_PAGE;
            case PageCommand.GetDistributedPageMapping ignored -> GET_DISTRIBUTED_PAGE_MAPPING;
            case PageCommand.BatchGetDistributedPageMapping ignored -> BATCH_GET_DISTRIBUTED_PAGE_MAPPING;
            case PageCommand.NotifyDistributedDiskSuccess ignored -> NOTIFY_DISTRIBUTED_DISK_SUCCESS;
            case PageCommand.MountDistributedDisk ignored -> MOUNT_DISTRIBUTED_DISK;
            case PageCommand.UnmountDistributedDisk ignored -> UNMOUNT_DISTRIBUTED_DISK;
            case PageCommand.FetchPromotions ignored -> FETCH_PROMOTIONS;
            case PageCommand.DistributedBuckets ignored -> QUERY_DISTRIBUTED_BUCKETS;
        };
    }

    private static RequestKind ofTask(final TaskCommand<?> command) {
        return switch (command) {
            case TaskCommand.ReplicationStart start -> moves(start.kind()) ? MOVE_START : COPY_START;
            case TaskCommand.ReplicationEnd end when end.success() -> moves(end.kind()) ? MOVE_END : COPY_END;
            case TaskCommand.ReplicationEnd end -> moves(end.kind()) ? MOVE_REVOKE : COPY_REVOKE;
            case TaskCommand.CreateTask create -> moves(create.kind()) ? CREATE_MOVE_TASK : CREATE_COPY_TASK;
            case TaskCommand.FetchTasks ignored -> FETCH_TASKS;
            case TaskCommand.MarkTask ignored -> UPDATE_TASK;
            case TaskCommand.QueryTask ignored -> QUERY_TASK;
            case TaskCommand.CreateDrain ignored -> CREATE_DRAIN_JOB;
            case TaskCommand.QueryDrain ignored -> QUERY_DRAIN_JOB;
            case TaskCommand.CancelDrain ignored -> CANCEL_DRAIN_JOB;
        };
    }

    private static boolean moves(final TaskCommand.Kind kind) {
        return kind == TaskCommand.Kind.MOVE;
    }

    private static RequestKind ofAdmin(final AdminCommand<?> command) {
        return switch (command) {
            case AdminCommand.Tick ignored -> TICK;
            case AdminCommand.Statistics ignored -> STATISTICS;
            case AdminCommand.Evict ignored -> EVICT;
            case AdminCommand.SetQuota ignored -> SET_TENANT_QUOTA;
            case AdminCommand.DeleteQuota ignored -> DELETE_TENANT_QUOTA;
            case AdminCommand.Quotas ignored -> QUERY_TENANT_QUOTAS;
        };
    }
}
