package io.kvtier.store.protocol.wire;

import io.kvtier.store.BatchResult;
import io.kvtier.store.DataType;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.SoftPin;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand.DeleteQuota;
import io.kvtier.store.protocol.AdminCommand.Evict;
import io.kvtier.store.protocol.AdminCommand.EvictReply;
import io.kvtier.store.protocol.AdminCommand.Quotas;
import io.kvtier.store.protocol.AdminCommand.SetQuota;
import io.kvtier.store.protocol.AdminCommand.Statistics;
import io.kvtier.store.protocol.AdminCommand.TenantInfo;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.DiskCommand.AdoptDisk;
import io.kvtier.store.protocol.DiskCommand.DiskPromotion;
import io.kvtier.store.protocol.DiskCommand.Drops;
import io.kvtier.store.protocol.DiskCommand.EvictDisk;
import io.kvtier.store.protocol.DiskCommand.FetchDiskPromotions;
import io.kvtier.store.protocol.DiskCommand.FetchDrops;
import io.kvtier.store.protocol.DiskCommand.FetchKeyFileDrops;
import io.kvtier.store.protocol.DiskCommand.FetchKeyFiles;
import io.kvtier.store.protocol.DiskCommand.FetchOffloads;
import io.kvtier.store.protocol.DiskCommand.FindKeyFiles;
import io.kvtier.store.protocol.DiskCommand.KeyFileDrops;
import io.kvtier.store.protocol.DiskCommand.KeyFileResult;
import io.kvtier.store.protocol.DiskCommand.KeyFileTask;
import io.kvtier.store.protocol.DiskCommand.KeyFileWritten;
import io.kvtier.store.protocol.DiskCommand.MountDisk;
import io.kvtier.store.protocol.DiskCommand.MountKeyFiles;
import io.kvtier.store.protocol.DiskCommand.OffloadDone;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.DiskCommand.PromotionEnd;
import io.kvtier.store.protocol.DiskCommand.PromotionStart;
import io.kvtier.store.protocol.DiskCommand.QueryKeyFolder;
import io.kvtier.store.protocol.DiskCommand.StoredObject;
import io.kvtier.store.protocol.DiskCommand.StoredVersion;
import io.kvtier.store.protocol.DiskCommand.UnmountDisk;
import io.kvtier.store.protocol.DiskCommand.UnmountKeyFiles;
import io.kvtier.store.protocol.GdsCommand.AdoptGdsReplicas;
import io.kvtier.store.protocol.GdsCommand.FetchGdsDrops;
import io.kvtier.store.protocol.GdsCommand.GdsCounts;
import io.kvtier.store.protocol.GdsCommand.GdsDrop;
import io.kvtier.store.protocol.GdsCommand.GdsDrops;
import io.kvtier.store.protocol.GdsCommand.GdsRoomReply;
import io.kvtier.store.protocol.GdsCommand.GdsState;
import io.kvtier.store.protocol.GdsCommand.GdsStorageInfo;
import io.kvtier.store.protocol.GdsCommand.GdsStorageSpec;
import io.kvtier.store.protocol.GdsCommand.GdsStorages;
import io.kvtier.store.protocol.GdsCommand.GdsValue;
import io.kvtier.store.protocol.GdsCommand.GdsWork;
import io.kvtier.store.protocol.GdsCommand.MakeGdsRoom;
import io.kvtier.store.protocol.GdsCommand.RegisterGdsStorage;
import io.kvtier.store.protocol.GdsCommand.ReportGdsWork;
import io.kvtier.store.protocol.GdsCommand.SettleGdsExtents;
import io.kvtier.store.protocol.GdsCommand.Settlement;
import io.kvtier.store.protocol.GdsCommand.UnregisterGdsStorage;
import io.kvtier.store.protocol.GdsCommand.UnsettledExtent;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand.AddGdsReplicaStart;
import io.kvtier.store.protocol.ObjectCommand.CreateGdsOnlyObject;
import io.kvtier.store.protocol.ObjectCommand.Exists;
import io.kvtier.store.protocol.ObjectCommand.Find;
import io.kvtier.store.protocol.ObjectCommand.FindReply;
import io.kvtier.store.protocol.ObjectCommand.Found;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.protocol.ObjectCommand.PutEnd;
import io.kvtier.store.protocol.ObjectCommand.PutRevoke;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.ObjectCommand.Query;
import io.kvtier.store.protocol.ObjectCommand.ReadDone;
import io.kvtier.store.protocol.ObjectCommand.ReadStart;
import io.kvtier.store.protocol.ObjectCommand.Remove;
import io.kvtier.store.protocol.ObjectCommand.RemoveMatching;
import io.kvtier.store.protocol.ObjectCommand.RemoveMatchingReply;
import io.kvtier.store.protocol.ObjectCommand.RemoveReply;
import io.kvtier.store.protocol.ObjectCommand.ReplicaClear;
import io.kvtier.store.protocol.ObjectCommand.ReplicaUnreadable;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PageCommand.AllocateDistributedPage;
import io.kvtier.store.protocol.PageCommand.BatchAllocateDistributedPage;
import io.kvtier.store.protocol.PageCommand.BatchFreeDistributedPage;
import io.kvtier.store.protocol.PageCommand.BatchGetDistributedPageMapping;
import io.kvtier.store.protocol.PageCommand.BucketInfo;
import io.kvtier.store.protocol.PageCommand.DistributedBuckets;
import io.kvtier.store.protocol.PageCommand.DistributedDiskTerms;
import io.kvtier.store.protocol.PageCommand.FetchPromotions;
import io.kvtier.store.protocol.PageCommand.FreeDistributedPage;
import io.kvtier.store.protocol.PageCommand.GetDistributedPageMapping;
import io.kvtier.store.protocol.PageCommand.MountDistributedDisk;
import io.kvtier.store.protocol.PageCommand.NotifyDistributedDiskSuccess;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand.PageMapping;
import io.kvtier.store.protocol.PageCommand.PageOutcome;
import io.kvtier.store.protocol.PageCommand.PageRelease;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.protocol.PageCommand.PromotionTask;
import io.kvtier.store.protocol.PageCommand.StoredPages;
import io.kvtier.store.protocol.PageCommand.UnmountDistributedDisk;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand.ClientInfo;
import io.kvtier.store.protocol.SegmentCommand.ClientStatus;
import io.kvtier.store.protocol.SegmentCommand.Clients;
import io.kvtier.store.protocol.SegmentCommand.FetchReturning;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.Mount;
import io.kvtier.store.protocol.SegmentCommand.Ping;
import io.kvtier.store.protocol.SegmentCommand.PingReply;
import io.kvtier.store.protocol.SegmentCommand.Probed;
import io.kvtier.store.protocol.SegmentCommand.ReturnReplicas;
import io.kvtier.store.protocol.SegmentCommand.Returning;
import io.kvtier.store.protocol.SegmentCommand.ReturningReplica;
import io.kvtier.store.protocol.SegmentCommand.SegmentInfo;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.protocol.SegmentCommand.Segments;
import io.kvtier.store.protocol.SegmentCommand.Status;
import io.kvtier.store.protocol.SegmentCommand.Unmount;
import io.kvtier.store.protocol.TaskCommand.CancelDrain;
import io.kvtier.store.protocol.TaskCommand.CreateDrain;
import io.kvtier.store.protocol.TaskCommand.CreateTask;
import io.kvtier.store.protocol.TaskCommand.DrainInfo;
import io.kvtier.store.protocol.TaskCommand.DrainStatus;
import io.kvtier.store.protocol.TaskCommand.FetchTasks;
import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.protocol.TaskCommand.MarkTask;
import io.kvtier.store.protocol.TaskCommand.QueryDrain;
import io.kvtier.store.protocol.TaskCommand.QueryTask;
import io.kvtier.store.protocol.TaskCommand.ReplicationEnd;
import io.kvtier.store.protocol.TaskCommand.ReplicationReply;
import io.kvtier.store.protocol.TaskCommand.ReplicationStart;
import io.kvtier.store.protocol.TaskCommand.Task;
import io.kvtier.store.protocol.TaskCommand.TaskInfo;
import io.kvtier.store.protocol.TaskCommand.TaskStatus;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import io.kvtier.transport.HostDetour;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;

/**
 * Every message with its bytes, which another program has written from {@code store/MESSAGES.md}: they stay as they are
 * for as long as there is somebody who speaks version 1. A new field is a new row here, not a change of an old one.
 */
final class RecordedMessages {
    private static final UUID CLIENT = new UUID(1, 2);
    private static final UUID SEGMENT = new UUID(-1, 300);
    private static final ObjectKey K1 = ObjectKey.of("k1");
    private static final ObjectKey K2 = ObjectKey.of("t\u00fc", "k\u20ac");
    private static final PutOptions OPTIONS = new PutOptions(2, 1, List.of("a", "b"), true, SoftPin.forMillis(60_000),
        true, DataType.KVCACHE, "g", true);
    private static final SegmentAddress ADDRESS = new SegmentAddress(SEGMENT, "shm:///a tcp://h:1/a",
        AccessToken.of("07".repeat(AccessToken.BYTES)));
    private static final ReplicaDescriptor.Memory LENT = new ReplicaDescriptor.Memory(ADDRESS, 4096, 70_000);
    private static final Replica MEMORY = new Replica(5, ReplicaStatus.COMPLETE, LENT);
    private static final Replica DISK = new Replica(6, ReplicaStatus.COMPLETE,
        new ReplicaDescriptor.LocalDisk(CLIENT, 70_000, "h:2"));
    private static final Replica NOF = new Replica(7, ReplicaStatus.PROCESSING,
        new ReplicaDescriptor.Nof("n1", 8192, 70_000));
    /** Of a kind that nobody has thought of: {@code ["new", [1, nil]]}. */
    private static final Replica UNKNOWN = new Replica(8, ReplicaStatus.COMPLETE,
        new ReplicaDescriptor.Unknown(9, bytes("92 a36e6577 92 01 c0")));
    private static final UUID FILE = new UUID(3, 4);
    private static final GdsWork WORK = new GdsWork(1, 2, 300, 4, 4096, 6, 7, 8, 9, 10);
    private static final GdsExtent EXTENT = new GdsExtent(FILE, 77, 8192, 73_728);
    private static final Replica GDS = new Replica(9, ReplicaStatus.COMPLETE,
        new ReplicaDescriptor.Gds(CLIENT, FILE, 77, 8192, 70_000, 73_728));
    private static final Replica FILE_OF_ITS_OWN =
        new Replica(11, ReplicaStatus.COMPLETE, new ReplicaDescriptor.Disk("/m/a", 70_000));
    private static final ReplicaDescriptor.DistributedDisk PLACE =
        new ReplicaDescriptor.DistributedDisk("/m/bucket_0a.data", 1 << 16, 70_000);
    private static final Replica SHARED = new Replica(10, ReplicaStatus.COMPLETE, PLACE);
    private static final ReadReply OBJECT = new ReadReply(3, 70_000, List.of(MEMORY, DISK, NOF, UNKNOWN), 5, true, -9,
        5000, DataType.KVCACHE);
    private static final OffloadTask OFFLOAD = new OffloadTask(K1, 3, 5, LENT);
    private static final Task TASK = new Task(9, Kind.MOVE, K2, "a", List.of("b", "c"));
    private static final BatchResult<Boolean> REFUSED =
        new BatchResult<>(null, new StoreException(ErrorCode.OBJECT_NOT_FOUND, "no such object"));

    private final List<Row> rows = new ArrayList<>();

    private RecordedMessages() {
        objects();
        reads();
        segments();
        disks();
        files();
        pages();
        promotions();
        tasks();
        admin();
        batches();
    }

    /**
     * A command, its answer, and the bytes of both.
     *
     * @param method       the number.
     * @param command      the command.
     * @param requestBytes its bytes.
     * @param reply        an answer.
     * @param replyBytes   its bytes.
     */
    record Row(int method, Command<?> command, byte[] requestBytes, Object reply, byte[] replyBytes) {
        @Override
        public String toString() {
            return method + " " + command;
        }
    }

    static List<Row> all() {
        return new RecordedMessages().rows;
    }

    static byte[] bytes(final String hex) {
        return HexFormat.of().parseHex(hex.replace(" ", ""));
    }

    private <R> void row(final int method, final Command<R> command, final String request, final R reply,
        final String answer) {
        rows.add(new Row(method, command, bytes(request), reply, bytes(answer)));
    }

    private void objects() {
        row(16, new PutStart(CLIENT, 7, K1, 70_000, PutOptions.DEFAULT, false),
            "98 92 01 02 07 a0 a26b31 ce00011170 c0 c2 00",
            new PutStartReply.Started(3, List.of(MEMORY, NOF)),
            "93 00 03 92 94 05 01 00 95 92 ff cd012c b473686d3a2f2f2f61207463703a2f2f683a312f61 cd1000 ce00011170"
            + "c41007070707070707070707070707070707 94 07 00 03 93 a26e31 cd2000 ce00011170");
        row(16, new PutStart(CLIENT, 7, K2, 0, OPTIONS, true),
            "98 92 01 02 07 a374c3bc a46be282ac 00 9a 02 01 92 a161 a162 c3 01 cdea60 c3 01 a167 c3 c3 00",
            new PutStartReply.Taken(PutOutcome.BEING_WRITTEN),
            "92 01 02");
        row(16, new PutStart(CLIENT, -1, K1, 1L << 40, PutOptions.DEFAULT.withNofReplicas(1).withReplicas(0), false),
            "98 92 01 02 ff a0 a26b31 cf0000010000000000 9a 00 01 90 c2 00 00 c2 00 a0 c2 c2 00",
            new PutStartReply.NoSpace(true),
            "92 02 c3");
        row(16, new PutStart(CLIENT, 1L << 62, K1, 1, PutOptions.DEFAULT.withSoftPin(SoftPin.DISABLE), false),
            "98 92 01 02 cf4000000000000000 a0 a26b31 01 9a 01 00 90 c2 02 00 c2 00 a0 c2 c2 00",
            new PutStartReply.TooLarge(1 << 30),
            "92 03 ce40000000");
        row(17, new PutEnd(CLIENT, K1, 3, Scope.MEMORY, true, Long.MIN_VALUE),
            "97 92 01 02 a0 a26b31 03 01 c3 d38000000000000000",
            Ack.OK,
            "91 00");
        row(18, new PutRevoke(CLIENT, K2, 3, Scope.NOF),
            "96 92 01 02 a374c3bc a46be282ac 03 02 c3",
            Ack.STALE,
            "91 01");
    }

    private void reads() {
        row(19, new ReadStart(K1, false),
            "93 a0 a26b31 c2",
            OBJECT,
            "98 03 ce00011170 94 94 05 01 00 95 92 ff cd012c b473686d3a2f2f2f61207463703a2f2f683a312f61 cd1000"
            + "ce00011170 c41007070707070707070707070707070707 94 06 01 02 93 92 01 02 ce00011170 a3683a32 94 07 00"
            + "03 93 a26e31 cd2000 ce00011170 94 08 01 09 92 a36e6577 92 01 c0 05 c3 f7 cd1388 01");
        row(19, new ReadStart(K2, true),
            "93 a374c3bc a46be282ac c3",
            ReadReply.NOT_FOUND,
            "91 00");
        row(20, new ReadDone(K1, 5),
            "93 a0 a26b31 05",
            Ack.OK,
            "91 00");
        row(21, new Exists(K1),
            "92 a0 a26b31",
            true,
            "91 c3");
        row(22, new Query(K1),
            "92 a0 a26b31",
            OBJECT,
            "98 03 ce00011170 94 94 05 01 00 95 92 ff cd012c b473686d3a2f2f2f61207463703a2f2f683a312f61 cd1000"
            + "ce00011170 c41007070707070707070707070707070707 94 06 01 02 93 92 01 02 ce00011170 a3683a32 94 07 00"
            + "03 93 a26e31 cd2000 ce00011170 94 08 01 09 92 a36e6577 92 01 c0 05 c3 f7 cd1388 01");
        row(23, new Remove(K1, true),
            "93 a0 a26b31 c3",
            new RemoveReply(RemoveOutcome.LEASED, 0),
            "92 02 00");
        row(24, new Find("t", "^a.*", true, 0),
            "94 a174 a45e612e2a c3 00",
            new FindReply(List.of(new Found(K1, OBJECT), new Found(K2, OBJECT)), FindReply.END),
            "92 92 93 a0 a26b31 98 03 ce00011170 94 94 05 01 00 95 92 ff cd012c"
            + "b473686d3a2f2f2f61207463703a2f2f683a312f61 cd1000 ce00011170 c41007070707070707070707070707070707 94"
            + "06 01 02 93 92 01 02 ce00011170 a3683a32 94 07 00 03 93 a26e31 cd2000 ce00011170 94 08 01 09 92"
            + "a36e6577 92 01 c0 05 c3 f7 cd1388 01 93 a374c3bc a46be282ac 98 03 ce00011170 94 94 05 01 00 95 92 ff"
            + "cd012c b473686d3a2f2f2f61207463703a2f2f683a312f61 cd1000 ce00011170"
            + "c41007070707070707070707070707070707 94 06 01 02 93 92 01 02 ce00011170 a3683a32 94 07 00 03 93"
            + "a26e31 cd2000 ce00011170 94 08 01 09 92 a36e6577 92 01 c0 05 c3 f7 cd1388 01 ff");
        row(25, new RemoveMatching("", "", false, 17),
            "94 a0 a0 c2 11",
            new RemoveMatchingReply(12, 18),
            "92 0c 12");
        row(26, new ReplicaClear(CLIENT, List.of(K1, K2), "a"),
            "93 92 01 02 92 92 a0 a26b31 92 a374c3bc a46be282ac a161",
            List.of(K2),
            "91 91 92 a374c3bc a46be282ac");
        row(27, new ReplicaUnreadable(K1, 3, 5),
            "94 a0 a26b31 03 05",
            Ack.OK,
            "91 00");
    }

    private void segments() {
        row(48, new Ping(CLIENT, "n", "h", "h:2"),
            "94 92 01 02 a16e a168 a3683a32",
            new PingReply(ClientStatus.NEED_REMOUNT, 1L << 33, 5000, 10_000),
            "94 01 cf0000000200000000 cd1388 cd2710");
        row(49, new Mount(CLIENT, new SegmentSpec("s", Medium.NOF, 1L << 34, 4096, ADDRESS, true)),
            "93 92 01 02 98 a173 01 cf0000000400000000 cd1000 92 ff cd012c"
            + "b473686d3a2f2f2f61207463703a2f2f683a312f61 c41007070707070707070707070707070707 c3 c0",
            Ack.OK,
            "91 00");
        row(49, new Mount(CLIENT, new SegmentSpec("s", Medium.MEMORY, 4096, 4096,
                SegmentAddress.local(new UUID(3, 4)), false), new SegmentAddress(SEGMENT, "e", ADDRESS.accessToken())),
            "93 92 01 02 98 a173 00 cd1000 cd1000 92 03 04 a0 c410 00000000000000000000000000000000 c2"
            + "93 92 ff cd012c a165 c41007070707070707070707070707070707",
            Ack.OK,
            "91 00");
        row(50, new Unmount(CLIENT, SEGMENT, 250),
            "93 92 01 02 92 ff cd012c ccfa",
            Ack.OK,
            "91 00");
        row(51, new Segments(),
            "90",
            List.of(new SegmentInfo(SEGMENT, CLIENT, "s", "h", Medium.MEMORY, "e", Status.DRAINED, 65_536, 4096, 1,
                true)),
            "91 91 9b 92 ff cd012c 92 01 02 a173 a168 00 a165 02 ce00010000 cd1000 01 c3");
        row(52, new Probed(SEGMENT, false),
            "93 92 ff cd012c c2 c2",
            Ack.STALE,
            "91 01");
        row(52, new Probed(SEGMENT, false, true),
            "93 92 ff cd012c c2 c3",
            Ack.OK,
            "91 00");
        row(53, new Clients(),
            "90",
            List.of(new ClientInfo(CLIENT, "n", "h", "h:2", 1500)),
            "91 91 95 92 01 02 a16e a168 a3683a32 cd05dc");
        row(54, new FetchReturning(CLIENT, new SegmentAddress(SEGMENT, "e", ADDRESS.accessToken()), 4096, 300),
            "94 92 01 02 93 92 ff cd012c a165 c41007070707070707070707070707070707 cd1000 cd012c",
            new Returning(List.of(new ReturningReplica(5, 8192, 3000, -2)), Returning.END),
            "92 91 94 05 cd2000 cd0bb8 fe ff");
        row(55, new ReturnReplicas(CLIENT, SEGMENT, List.of(5L, 1L << 40), true),
            "94 92 01 02 92 ff cd012c 92 05 cf0000010000000000 c3",
            List.of(true, false),
            "91 92 c3 c2");
    }

    private void disks() {
        row(64, new MountDisk(CLIENT, "h:2", 1L << 40),
            "93 92 01 02 a3683a32 cf0000010000000000",
            Ack.OK,
            "91 00");
        row(65, new UnmountDisk(CLIENT),
            "91 92 01 02",
            Ack.OK,
            "91 00");
        row(66, new FetchOffloads(CLIENT, 1 << 20),
            "92 92 01 02 ce00100000",
            List.of(OFFLOAD),
            "91 91 95 a0 a26b31 03 05 95 92 ff cd012c b473686d3a2f2f2f61207463703a2f2f683a312f61 cd1000"
            + "ce00011170 c41007070707070707070707070707070707");
        row(66, new FetchOffloads(CLIENT, 0),
            "92 92 01 02 00",
            List.of(new OffloadTask(K1, 3, 5, LENT, ReplicaType.DISTRIBUTED_DISK)),
            "91 91 96 a0 a26b31 03 05 95 92 ff cd012c b473686d3a2f2f2f61207463703a2f2f683a312f61 cd1000"
            + "ce00011170 c41007070707070707070707070707070707 05");
        row(67, new OffloadDone(CLIENT, OFFLOAD, OffloadResult.DISK_FAILED, 77),
            "94 92 01 02 95 a0 a26b31 03 05 95 92 ff cd012c b473686d3a2f2f2f61207463703a2f2f683a312f61 cd1000"
            + "ce00011170 c41007070707070707070707070707070707 03 4d",
            Ack.STALE,
            "91 01");
        row(68, new PromotionStart(CLIENT, K1, 3),
            "94 92 01 02 a0 a26b31 03",
            new PromotionReply(5, LENT),
            "92 05 95 92 ff cd012c b473686d3a2f2f2f61207463703a2f2f683a312f61 cd1000 ce00011170"
            + "c41007070707070707070707070707070707");
        row(68, new PromotionStart(CLIENT, K2, 3),
            "94 92 01 02 a374c3bc a46be282ac 03",
            PromotionReply.DECLINED,
            "91 00");
        row(69, new PromotionEnd(CLIENT, K1, 5, true),
            "96 92 01 02 a0 a26b31 05 c3 c3",
            Ack.OK,
            "91 00");
        row(66, new FetchOffloads(CLIENT, 0),
            "92 92 01 02 00",
            List.of(OFFLOAD.withIdle(300)),
            "91 91 97 a0 a26b31 03 05 95 92 ff cd012c b473686d3a2f2f2f61207463703a2f2f683a312f61 cd1000"
            + "ce00011170 c41007070707070707070707070707070707 02 cd012c");
        row(70, new EvictDisk(CLIENT, List.of(new StoredObject(K1, 3, 70_000, -9)), true),
            "93 92 01 02 91 95 a0 a26b31 03 ce00011170 f7 c3",
            List.of(true),
            "91 91 c3");
        row(70, new EvictDisk(CLIENT, List.of(new StoredObject(K1, 3, 70_000, -9))),
            "93 92 01 02 91 95 a0 a26b31 03 ce00011170 f7 c2",
            List.of(true, false),
            "91 92 c3 c2");
        row(71, new AdoptDisk(CLIENT, List.of(new StoredObject(K2, 3, 0, 200))),
            "92 92 01 02 91 95 a374c3bc a46be282ac 03 00 ccc8",
            List.of(false),
            "91 91 c2");
        row(72, new FetchDrops(CLIENT, 100, 200),
            "93 92 01 02 64 ccc8",
            new Drops(List.of(new StoredVersion(K1, 3)), 300),
            "92 91 93 a0 a26b31 03 cd012c");
        row(89, new FetchDiskPromotions(CLIENT, 32),
            "92 92 01 02 20",
            List.of(new DiskPromotion(K1, 3, 5)),
            "91 91 94 a0 a26b31 03 05");
        keyFiles();
    }

    private void keyFiles() {
        row(73, new QueryKeyFolder(),
            "90",
            "/m/c",
            "91 a42f6d2f63");
        row(74, new MountKeyFiles(CLIENT, 4096),
            "92 92 01 02 cd1000",
            Ack.OK,
            "91 00");
        row(75, new UnmountKeyFiles(CLIENT),
            "91 92 01 02",
            Ack.STALE,
            "91 01");
        row(76, new FetchKeyFiles(CLIENT, 32),
            "92 92 01 02 20",
            List.of(new KeyFileTask(11, K1, 3, LENT, "/m/c/a")),
            "91 91 96 0b a0 a26b31 03 95 92 ff cd012c b473686d3a2f2f2f61207463703a2f2f683a312f61 cd1000"
            + "ce00011170 c41007070707070707070707070707070707 a62f6d2f632f61");
        row(77, new KeyFileWritten(CLIENT, new StoredVersion(K1, 3), 11, KeyFileResult.NO_ROOM, -9),
            "97 92 01 02 a0 a26b31 03 0b 02 f7",
            Ack.OK,
            "91 00");
        row(78, new FetchKeyFileDrops(CLIENT, 32, 200),
            "93 92 01 02 20 ccc8",
            new KeyFileDrops(List.of("/m/c/a"), 300, true),
            "93 91 a62f6d2f632f61 cd012c c3");
        row(79, new FindKeyFiles(CLIENT, List.of("/m/c/a", "/b"), true),
            "93 92 01 02 92 a62f6d2f632f61 a22f62 c3",
            List.of(true, false),
            "91 92 c3 c2");
        row(22, new Query(K1),
            "92 a0 a26b31",
            new ReadReply(3, 70_000, List.of(FILE_OF_ITS_OWN), 0, true, -9, 0, DataType.KVCACHE),
            "98 03 ce00011170 91 94 0b 01 01 92 a42f6d2f61 ce00011170 00 c3 f7 00 01");
    }

    private void files() {
        row(17, new PutEnd(CLIENT, K1, 3, Scope.GDS, false, 0),
            "97 92 01 02 a0 a26b31 03 03 c2 00",
            Ack.OK,
            "91 00");
        row(22, new Query(K1),
            "92 a0 a26b31",
            new ReadReply(3, 70_000, List.of(GDS), 0, false, 0, 0, DataType.KVCACHE),
            "98 03 ce00011170 91 94 09 01 06 96 92 01 02 92 03 04 4d cd2000 ce00011170 ce00012000 00 c2 00 00 01");
        row(22, new Query(K1),
            "92 a0 a26b31",
            new ReadReply(3, 70_000, List.of(SHARED), 0, true, -9, 0, DataType.KVCACHE),
            "98 03 ce00011170 91 94 0a 01 05 93 b1 2f6d2f6275636b65745f30612e64617461 ce00010000 ce00011170"
            + "00 c3 f7 00 01");
        row(28, new AddGdsReplicaStart(CLIENT, K1, 3, EXTENT),
            "95 92 01 02 a0 a26b31 03 94 92 03 04 4d cd2000 ce00012000",
            9L,
            "91 09");
        row(29, new CreateGdsOnlyObject(new PutStart(CLIENT, 7, K1, 70_000, PutOptions.DEFAULT, false), EXTENT),
            "92 98 92 01 02 07 a0 a26b31 ce00011170 c0 c2 00 94 92 03 04 4d cd2000 ce00012000",
            new PutStartReply.Started(3, List.of(new Replica(9, ReplicaStatus.PROCESSING, GDS.descriptor()))),
            "93 00 03 91 94 09 00 06 96 92 01 02 92 03 04 4d cd2000 ce00011170 ce00012000");
        row(112, new RegisterGdsStorage(CLIENT, new GdsStorageSpec(FILE, 77, "h:2", 1 << 20, 900_000, 800_000)),
            "92 92 01 02 96 92 03 04 4d a3683a32 ce00100000 ce000dbba0 ce000c3500",
            Ack.OK,
            "91 00");
        row(113, new UnregisterGdsStorage(CLIENT, FILE, 77),
            "93 92 01 02 92 03 04 4d",
            Ack.STALE,
            "91 01");
        row(114, new AdoptGdsReplicas(CLIENT, List.of(new GdsValue(K1, 3, 70_000, EXTENT, true, -9),
            new GdsValue(K2, 4, 1, new GdsExtent(FILE, 77, 0, 4096), false, 0))),
            "92 92 01 02 92 97 a0 a26b31 03 ce00011170 94 92 03 04 4d cd2000 ce00012000 c3 f7"
            + "97 a374c3bc a46be282ac 04 01 94 92 03 04 4d 00 cd1000 c2 00",
            List.of(9L, 0L),
            "91 92 09 00");
        row(115, new SettleGdsExtents(CLIENT, List.of(new UnsettledExtent(K1, EXTENT, 7))),
            "92 92 01 02 91 94 a0 a26b31 94 92 03 04 4d cd2000 ce00012000 07",
            List.of(new Settlement(9, 3)),
            "91 91 92 09 03");
        row(116, new MakeGdsRoom(CLIENT, 70_000),
            "92 92 01 02 ce00011170",
            new GdsRoomReply(8192, true, 300),
            "93 cd2000 c3 cd012c");
        row(117, new FetchGdsDrops(CLIENT, 64, 5),
            "93 92 01 02 40 05",
            new GdsDrops(List.of(new GdsDrop(8192, 9), new GdsDrop(0, 10)), 7),
            "92 92 92 cd2000 09 92 00 0a 07");
        row(118, new GdsStorages(),
            "90",
            List.of(new GdsStorageInfo(CLIENT, FILE, 77, "h:2", 1 << 20, 73_728, 1,
                new GdsCounts(1, 2, 3, 4, 5, 6, 7), WORK, new GdsState(4096, 3, 2, HostDetour.POSSIBLE, "gds"))),
            "91 91 9a 92 01 02 92 03 04 4d a3683a32 ce00100000 ce00012000 01 97 01 02 03 04 05 06 07"
            + "9a 01 02 cd012c 04 cd1000 06 07 08 09 0a 95 cd1000 03 02 01 a3676473");
        row(119, new ReportGdsWork(CLIENT, FILE, 77, 5, WORK, new GdsState(8192, 1, 0, HostDetour.ALWAYS, "")),
            "96 92 01 02 92 03 04 4d 05 9a 01 02 cd012c 04 cd1000 06 07 08 09 0a 95 cd2000 01 00 02 a0",
            Ack.STALE,
            "91 01");
    }

    private void pages() {
        final PageRequest first = new PageRequest(K1, 3, 70_000, 5);
        final PageRequest second = new PageRequest(K2, 4, 1, 0);
        row(128, new AllocateDistributedPage(CLIENT, first),
            "92 92 01 02 95 a0 a26b31 03 ce00011170 05",
            new PageAllocation(PageOutcome.ALLOCATED, 10, PLACE),
            "93 00 0a 93 b12f6d2f6275636b65745f30612e64617461 ce00010000 ce00011170");
        row(128, new AllocateDistributedPage(CLIENT, second),
            "92 92 01 02 95 a374c3bc a46be282ac 04 01 00",
            PageAllocation.none(PageOutcome.NO_SPACE),
            "91 04");
        row(129, new BatchAllocateDistributedPage(CLIENT, List.of(first, second)),
            "92 92 01 02 92 95 a0 a26b31 03 ce00011170 05 95 a374c3bc a46be282ac 04 01 00",
            List.of(new PageAllocation(PageOutcome.STORED, 10, PLACE), PageAllocation.none(PageOutcome.TAKEN)),
            "91 92 93 01 0a 93 b12f6d2f6275636b65745f30612e64617461 ce00010000 ce00011170 91 02");
        row(130, new FreeDistributedPage(CLIENT, new PageRelease(K1, 3, 10, false)),
            "92 92 01 02 95 a0 a26b31 03 0a c2",
            Ack.OK,
            "91 00");
        row(131, new BatchFreeDistributedPage(CLIENT, List.of(new PageRelease(K1, 3, 10, true),
            new PageRelease(K2, 4, 11, false))),
            "92 92 01 02 92 95 a0 a26b31 03 0a c3 95 a374c3bc a46be282ac 04 0b c2",
            List.of(Ack.OK, Ack.STALE),
            "91 92 00 01");
        row(132, new GetDistributedPageMapping(K1),
            "92 a0 a26b31",
            new PageMapping(3, 10, PLACE, -9, 5000),
            "95 03 0a 93 b12f6d2f6275636b65745f30612e64617461 ce00010000 ce00011170 f7 cd1388");
        row(133, new BatchGetDistributedPageMapping(List.of(K1, K2)),
            "91 92 92 a0 a26b31 92 a374c3bc a46be282ac",
            List.of(new PageMapping(3, 10, PLACE, -9, 5000), PageMapping.NONE),
            "91 92 95 03 0a 93 b12f6d2f6275636b65745f30612e64617461 ce00010000 ce00011170 f7 cd1388 91 00");
        row(134, new NotifyDistributedDiskSuccess(CLIENT, List.of(new StoredPages(K1, 3, 10, -9),
            new StoredPages(K2, 4, 11, 200))),
            "92 92 01 02 92 95 a0 a26b31 03 0a f7 95 a374c3bc a46be282ac 04 0b ccc8",
            List.of(Ack.OK, Ack.STALE),
            "91 92 00 01");
    }

    private void promotions() {
        row(135, new MountDistributedDisk(CLIENT, new PageLayout("/m", 256, 1 << 16, 1L << 32), FILE, true),
            "97 92 01 02 a22f6d cd0100 ce00010000 cf0000000100000000 92 03 04 c3",
            new DistributedDiskTerms("kv", 600_000, FILE),
            "93 a26b76 ce000927c0 92 03 04");
        row(135, new MountDistributedDisk(CLIENT, new PageLayout("/m", 256, 1 << 16, 1L << 32), null, false),
            "97 92 01 02 a22f6d cd0100 ce00010000 cf0000000100000000 c0 c2",
            new DistributedDiskTerms("kv", 600_000, null),
            "93 a26b76 ce000927c0 c0");
        row(136, new UnmountDistributedDisk(CLIENT),
            "91 92 01 02",
            Ack.STALE,
            "91 01");
        row(137, new FetchPromotions(CLIENT, 16),
            "92 92 01 02 10",
            List.of(new PromotionTask(K1, 3, PLACE, -9)),
            "91 91 95 a0 a26b31 03 93 b12f6d2f6275636b65745f30612e64617461 ce00010000 ce00011170 f7");
        row(138, new DistributedBuckets(),
            "90",
            List.of(new BucketInfo("/m/bucket_0a.data", 1 << 16, 2)),
            "91 91 93 b12f6d2f6275636b65745f30612e64617461 ce00010000 02");
    }

    private void tasks() {
        row(80, new ReplicationStart(CLIENT, K1, Kind.MOVE, "a", List.of("b")),
            "96 92 01 02 a0 a26b31 01 a161 91 a162",
            new ReplicationReply(70_000, MEMORY, List.of(NOF)),
            "93 ce00011170 94 05 01 00 95 92 ff cd012c b473686d3a2f2f2f61207463703a2f2f683a312f61 cd1000"
            + "ce00011170 c41007070707070707070707070707070707 91 94 07 00 03 93 a26e31 cd2000 ce00011170");
        row(81, new ReplicationEnd(CLIENT, K1, Kind.COPY, true),
            "96 92 01 02 a0 a26b31 00 c3 c3",
            Ack.OK,
            "91 00");
        row(82, new CreateTask(Kind.COPY, K1, "a", List.of("b", "c")),
            "95 00 a0 a26b31 a161 92 a162 a163",
            9L,
            "91 09");
        row(83, new FetchTasks(CLIENT, 4),
            "92 92 01 02 04",
            List.of(TASK),
            "91 91 96 09 01 a374c3bc a46be282ac a161 92 a162 a163");
        row(84, new MarkTask(CLIENT, 9, false, "why"),
            "94 92 01 02 09 c2 a3776879",
            Ack.OK,
            "91 00");
        row(85, new QueryTask(9),
            "91 09",
            new TaskInfo(TASK, TaskStatus.FAILED, "why"),
            "93 96 09 01 a374c3bc a46be282ac a161 92 a162 a163 03 a3776879");
        row(86, new CreateDrain(List.of("a")),
            "91 91 a161",
            4L,
            "91 04");
        row(87, new QueryDrain(4),
            "91 04",
            new DrainInfo(4, List.of("a"), DrainStatus.CANCELED, 1, 2, 3),
            "96 04 91 a161 03 01 02 03");
        row(88, new CancelDrain(4),
            "91 04",
            Ack.OK,
            "91 00");
    }

    private void admin() {
        row(96, new Statistics(),
            "90",
            new MasterStats(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
                25, new MasterStats.Gets(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), new MasterStats.EvictionRuns(1, 2, 3),
                new MasterStats.EvictionRuns(4, 5, 6), new MasterStats.Allocations(7, 8, 9),
                new MasterStats.Promoted(1, 2, 3, 4, 5, new MasterStats.Rejected(6, 7, 8)),
                new MasterStats.Probes(6, 7, 8, 9),
                new MasterStats.GdsTotals(1, 2, 3, 4, new GdsCounts(5, 6, 7, 8, 9, 10, 11),
                    new MasterStats.GdsTold(WORK, 11, 12, 13)),
                new MasterStats.PageTotals(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, new MasterStats.Hot(12, 13, 14))),
            "dc0021 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13 14 15 16 17 18 19"
                + "9b 01 02 03 04 05 06 07 08 09 0a 0b 93 01 02 03 93 04 05 06 93 07 08 09"
                + "96 01 02 03 04 05 93 06 07 08 94 06 07 08 09 96 01 02 03 04 97 05 06 07 08 09 0a 0b"
                + "94 9a 01 02 cd012c 04 cd1000 06 07 08 09 0a 0b 0c 0d"
                + "9c 01 02 03 04 05 06 07 08 09 0a 0b 93 0c 0d 0e");
        row(97, new Evict(0.5, 0.25),
            "92 ce0007a120 ce0003d090",
            new EvictReply(20, 1 << 20),
            "92 14 ce00100000");
        row(98, new SetQuota("t", 1 << 30),
            "92 a174 ce40000000",
            Ack.OK,
            "91 00");
        row(99, new DeleteQuota("t"),
            "91 a174",
            Ack.OK,
            "91 00");
        row(100, new Quotas(),
            "90",
            List.of(new TenantInfo("t", 10, 8, 6, 4, 2, 1)),
            "91 91 97 a174 0a 08 06 04 02 01");
    }

    private void batches() {
        row(1, new Batch<>(List.of(new Exists(K1), new Exists(K2))),
            "92 15 92 92 a0 a26b31 92 a374c3bc a46be282ac",
            List.of(new BatchResult<>(true, null), REFUSED),
            "91 92 92 00 91 c3 92 cd02c0 ae6e6f2073756368206f626a656374");
    }
}
