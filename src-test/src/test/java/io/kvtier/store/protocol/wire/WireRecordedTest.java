package io.kvtier.store.protocol.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.DiskCommand.Drops;
import io.kvtier.store.protocol.DiskCommand.EvictDisk;
import io.kvtier.store.protocol.DiskCommand.FetchDrops;
import io.kvtier.store.protocol.DiskCommand.FetchOffloads;
import io.kvtier.store.protocol.DiskCommand.PromotionEnd;
import io.kvtier.store.protocol.DiskCommand.StoredObject;
import io.kvtier.store.protocol.DiskCommand.StoredVersion;
import io.kvtier.store.protocol.GdsCommand.GdsState;
import io.kvtier.store.protocol.GdsCommand.GdsStorageInfo;
import io.kvtier.store.protocol.GdsCommand.GdsStorages;
import io.kvtier.store.protocol.GdsCommand.GdsWork;
import io.kvtier.store.protocol.GdsCommand.ReportGdsWork;
import io.kvtier.store.protocol.GdsCommand.SettleGdsExtents;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand.Exists;
import io.kvtier.store.protocol.ObjectCommand.PutRevoke;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.ObjectCommand.Query;
import io.kvtier.store.protocol.ObjectCommand.ReadStart;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PageCommand.AllocateDistributedPage;
import io.kvtier.store.protocol.PageCommand.DistributedDiskTerms;
import io.kvtier.store.protocol.PageCommand.FreeDistributedPage;
import io.kvtier.store.protocol.PageCommand.MountDistributedDisk;
import io.kvtier.store.protocol.PageCommand.PageRelease;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Mount;
import io.kvtier.store.protocol.TaskCommand.Kind;
import io.kvtier.store.protocol.TaskCommand.ReplicationEnd;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.protocol.wire.RecordedMessages.Row;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaStatus;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.HostDetour;
import io.kvtier.transport.rpc.MalformedMessageException;
import io.kvtier.transport.rpc.MessageWriter;
import io.kvtier.transport.rpc.RpcException;
import io.kvtier.transport.rpc.RpcStatus;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages by their bytes, as {@code store/MESSAGES.md} draws them. */
class WireRecordedTest {
    private final WireCodec codec = new WireCodec();

    private static Stream<Row> rows() {
        return RecordedMessages.all().stream();
    }

    private static String hex(final byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    private byte[] written(final Command<?> command) {
        final MessageWriter out = new MessageWriter();
        codec.writeRequest(command, 0, out);
        return out.toBytes();
    }

    @SuppressWarnings("unchecked") // A row has an answer of its command's type.
    private <R> byte[] written(final Command<R> command, final Object reply) {
        final MessageWriter out = new MessageWriter();
        codec.writeReply(command, (R) reply, out);
        return out.toBytes();
    }

    /** Results of a batch have exceptions, which are equal to themselves only. */
    private static String words(final Object reply) {
        return String.valueOf(reply);
    }

    @ParameterizedTest
    @MethodSource("rows")
    void shouldWriteAsRecorded(final Row row) {
        assertEquals(row.method(), WireCodec.method(row.command()));
        assertEquals(hex(row.requestBytes()), hex(written(row.command())));
        assertEquals(hex(row.replyBytes()), hex(written(row.command(), row.reply())));
    }

    @ParameterizedTest
    @MethodSource("rows")
    void shouldReadWhatIsRecorded(final Row row) {
        assertEquals(new Request<>(row.command(), 0), codec.readRequest(row.method(), row.requestBytes()));
        final Object reply = codec.readReply(row.command(), row.replyBytes());
        if (row.command() instanceof Batch) {
            assertEquals(words(row.reply()), words(reply));
        } else {
            assertEquals(row.reply(), reply);
        }
    }

    /** A later version appends fields; also to what it answers with one field today. */
    @ParameterizedTest
    @MethodSource("rows")
    void shouldPassOverFieldsOfALaterVersion(final Row row) {
        final byte[] more = RecordedMessages.bytes("81 a3616263 93 c4020102 c7 01 05 ff cb3ff0000000000000");

        assertEquals(row.command(), codec.readRequest(row.method(), appended(row.requestBytes(), more)).command());
        assertEquals(words(row.reply()), words(codec.readReply(row.command(), appended(row.replyBytes(), more))));
    }

    /** The same message with a field more; all recorded arrays have a header of one byte, or of three. */
    private static byte[] appended(final byte[] message, final byte[] field) {
        final MessageWriter out = new MessageWriter();
        final boolean small = (message[0] & 0xf0) == 0x90;
        out.array((small ? message[0] & 15 : (message[1] & 255) << 8 | message[2] & 255) + 1);
        return out.raw(Arrays.copyOfRange(message, small ? 1 : 3, message.length)).raw(field).toBytes();
    }

    @ParameterizedTest
    @MethodSource("rows")
    void shouldRefuseAMessageThatIsCutAnywhere(final Row row) {
        for (int length = 0; length < row.requestBytes().length; length++) {
            final byte[] cut = Arrays.copyOf(row.requestBytes(), length);
            assertThrows(MalformedMessageException.class, () -> codec.readRequest(row.method(), cut));
        }
        for (int length = 0; length < row.replyBytes().length; length++) {
            final byte[] cut = Arrays.copyOf(row.replyBytes(), length);
            assertThrows(MalformedMessageException.class, () -> codec.readReply(row.command(), cut));
        }
    }

    @Test
    void shouldHaveEveryCommandRecorded() {
        final Set<Class<?>> missing = new HashSet<>();
        leaves(Command.class, missing);
        rows().forEach(row -> missing.remove(row.command().getClass()));

        assertEquals(Set.of(AdminCommand.Tick.class), missing, "the passing of time is on no wire");
        assertThrows(StoreException.class, () -> WireCodec.method(new AdminCommand.Tick()));
    }

    private static void leaves(final Class<?> type, final Set<Class<?>> found) {
        if (type.isSealed()) {
            Stream.of(type.getPermittedSubclasses()).forEach(sub -> leaves(sub, found));
        } else {
            found.add(type);
        }
    }

    @Test
    void shouldReadTheCountersOfAMasterThatHasFewer() {
        final byte[] older = RecordedMessages.bytes("dc0018 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13 14"
            + "15 16 17 18");
        final MasterStats stats = codec.readReply(new AdminCommand.Statistics(), older);

        assertEquals(1, stats.objects());
        assertEquals(24, stats.groups());
        assertEquals(0, stats.diskUsed());
        assertEquals(MasterStats.Gets.NONE, stats.gets());
        assertEquals(MasterStats.EvictionRuns.NONE, stats.nofRuns());
        assertEquals(MasterStats.Allocations.NONE, stats.allocations());
        assertEquals(MasterStats.Promoted.NONE, stats.promoted());
        assertEquals(MasterStats.Probes.NONE, stats.probes());
        final MasterStats grouped = codec.readReply(new AdminCommand.Statistics(), RecordedMessages.bytes("dc001f 01 02"
            + "03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13 14 15 16 17 18 19 97 01 02 03 04 05 06 07 93 01 02 03"
            + "93 04 05 06 92 07 08 95 01 02 03 04 05 93 06 07 08"));
        assertEquals(new MasterStats.Allocations(7, 8, 0), grouped.allocations());
        assertEquals(new MasterStats.Promoted(1, 2, 3, 4, 5, MasterStats.Rejected.NONE), grouped.promoted());
        assertEquals(new MasterStats.Probes(6, 7, 8, 0), grouped.probes());
        assertEquals(new MasterStats.Gets(1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 0), grouped.gets());
        assertEquals(MasterStats.GdsTotals.NONE, grouped.gds());
        assertEquals(MasterStats.PageTotals.NONE, grouped.pages());
        assertEquals(List.of(new SegmentCommand.SegmentInfo(new UUID(-1, 300), new UUID(1, 2), "s", "h",
                SegmentCommand.Medium.MEMORY, "e", SegmentCommand.Status.DRAINED, 65_536, 4096, 1, false)),
            codec.readReply(new SegmentCommand.Segments(), RecordedMessages.bytes(
                "91 91 9a 92 ff cd012c 92 01 02 a173 a168 00 a165 02 ce00010000 cd1000 01")));
        assertEquals(new Request<>(new SegmentCommand.Probed(new UUID(-1, 300), false, false), 0),
            codec.readRequest(52, RecordedMessages.bytes("92 92 ff cd012c c2")));
        assertEquals(List.of(new AdminCommand.TenantInfo("t", 10, 8, 6, 4, 2, 0)),
            codec.readReply(new AdminCommand.Quotas(), RecordedMessages.bytes("91 91 96 a174 0a 08 06 04 02")));
    }

    /** Six fields, no more and no fewer, of the right types and within their ranges. */
    @ParameterizedTest
    @ValueSource(strings = {
        "95 92 01 02 92 03 04 4d cd2000 ce00011170",
        "97 92 01 02 92 03 04 4d cd2000 ce00011170 ce00012000 00",
        "96 01 92 03 04 4d cd2000 ce00011170 ce00012000",
        "96 92 01 02 a130 4d cd2000 ce00011170 ce00012000",
        "96 92 01 02 92 03 04 c3 cd2000 ce00011170 ce00012000",
        "96 92 01 02 92 03 04 4d a34b4944 ce00011170 ce00012000",
        "96 92 01 02 92 03 04 4d cd2000 c0 ce00012000",
        "96 92 01 02 92 03 04 4d cd2000 ce00011170 90",
        "96 92 01 02 92 03 04 00 cd2000 ce00011170 ce00012000",
        "96 92 01 02 92 03 04 ff cd2000 ce00011170 ce00012000",
        "96 92 01 02 92 03 04 4d cd2001 ce00011170 ce00012000",
        "96 92 01 02 92 03 04 4d d1f000 ce00011170 ce00012000",
        "96 92 01 02 92 03 04 4d cd2000 00 ce00012000",
        "96 92 01 02 92 03 04 4d cd2000 ff ce00012000",
        "96 92 01 02 92 03 04 4d cd2000 ce00012001 ce00012000",
        "96 92 01 02 92 03 04 4d cd2000 ce00011170 ce00012001",
        "96 92 01 02 92 03 04 4d cf7ffffffffffff000 ce00011170 ce00012000"})
    void shouldRefuseAGdsReplicaThatIsNoneOfSixFields(final String descriptor) {
        final String before = "98 03 ce00011170 91 94 09 01 06";
        final String after = "00 c2 00 00 01";
        final Query query = new Query(ObjectKey.of("k1"));
        assertEquals(ReplicaType.GDS, codec.<ReadReply>readReply(query, RecordedMessages.bytes(before
            + "96 92 01 02 92 03 04 4d cd2000 ce00011170 ce00012000" + after)).replicas().getFirst().type());
        assertThrows(MalformedMessageException.class,
            () -> codec.readReply(query, RecordedMessages.bytes(before + descriptor + after)));
    }

    @Test
    void shouldReadTheMountOfAnOlderWriter() {
        final Mount older = (Mount) codec.readRequest(49, RecordedMessages.bytes("92 92 01 02 98 a173 00 cd1000 cd1000"
            + "92 03 04 a0 c410 00000000000000000000000000000000 c2")).command();
        assertEquals(new Mount(new UUID(1, 2), new SegmentCommand.SegmentSpec("s", SegmentCommand.Medium.MEMORY, 4096,
            4096, SegmentAddress.local(new UUID(3, 4)), false)), older);
    }

    /** One that took what it was told for gone, whether it had heard of it or not. */
    @Test
    void shouldReadTheDropsOfAnOlderWriter() {
        final FetchDrops fetch = new FetchDrops(new UUID(1, 2), 100, FetchDrops.ALL_NAMED);

        assertEquals(new Request<>(fetch, 0), codec.readRequest(72, RecordedMessages.bytes("92 92 01 02 64")));
        assertEquals(new Drops(List.of(new StoredVersion(ObjectKey.of("k1"), 3)), 0),
            codec.readReply(fetch, RecordedMessages.bytes("91 91 93 a0 a26b31 03")));
    }

    /** One that lets go whatever is oldest. */
    @Test
    void shouldReadTheEvictionOfAnOlderWriter() {
        assertEquals(new Request<>(new EvictDisk(new UUID(1, 2),
            List.of(new StoredObject(ObjectKey.of("k1"), 3, 70_000, -9)), false), 0), codec.readRequest(70,
                RecordedMessages.bytes("92 92 01 02 91 95 a0 a26b31 03 ce00011170 f7")));
    }

    @Test
    void shouldCarryTheTimeThatAPutMayWait() {
        final PutStart put = (PutStart) RecordedMessages.all().getFirst().command();
        final MessageWriter out = new MessageWriter();
        codec.writeRequest(put, 300, out);

        assertEquals(new Request<>(put, 300), codec.readRequest(16, out.toBytes()));
        final byte[] older = RecordedMessages.bytes("97 92 01 02 07 a0 a26b31 ce00011170 c0 c2");
        assertEquals(new Request<>(put, 0), codec.readRequest(16, older), "a writer that did not know the field");
    }

    @Test
    void shouldTakeAnExtentWithoutAReplicaForOneThatWasNotAccepted() {
        final SettleGdsExtents older = (SettleGdsExtents) codec.readRequest(115,
            RecordedMessages.bytes("92 92 01 02 91 93 a0 a26b31 94 92 03 04 4d cd2000 ce00012000")).command();
        assertEquals(0, older.extents().getFirst().replicaId());
        assertEquals(ObjectKey.of("k1"), older.extents().getFirst().key());
    }

    /** Fields are only appended: one that says in words what it means when it is left out is read all the same. */
    @Test
    void shouldReadTheTargetOfAnOffloadAndRefuseOneThatIsNoDisk() {
        final OffloadTask task = codec.<List<OffloadTask>>readReply(new FetchOffloads(new UUID(1, 2), 0),
            RecordedMessages.bytes("91 91 96 a0 a26b31 03 05 95 92 ff cd012c a161 cd1000 ce00011170"
                + "c41007070707070707070707070707070707 02")).getFirst();
        assertEquals(ReplicaType.LOCAL_DISK, task.target());
        assertThrows(MalformedMessageException.class, () -> codec.readReply(new FetchOffloads(new UUID(1, 2), 0),
            RecordedMessages.bytes("91 91 96 a0 a26b31 03 05 95 92 ff cd012c a161 cd1000 ce00011170"
                + "c41007070707070707070707070707070707 00")), "memory is no disk to offload to");
    }

    @Test
    void shouldReadPageMessagesThatLeaveLaterFieldsOut() {
        assertEquals(new AllocateDistributedPage(new UUID(1, 2), new PageRequest(ObjectKey.of("k1"), 3, 70_000, 0)),
            codec.readRequest(128, RecordedMessages.bytes("92 92 01 02 94 a0 a26b31 03 ce00011170")).command());
        assertEquals(new FreeDistributedPage(new UUID(1, 2), new PageRelease(ObjectKey.of("k1"), 3, 10, true)),
            codec.readRequest(130, RecordedMessages.bytes("92 92 01 02 94 a0 a26b31 03 0a")).command());
    }

    /** A client that says nothing of where it is, and writes; a master that does not know. */
    @Test
    void shouldReadTheMountOfSharedFilesOfAnOlderWriter() {
        final MountDistributedDisk older =
            new MountDistributedDisk(new UUID(1, 2), new PageLayout("/m", 256, 1 << 16, 1L << 32), null, false);
        assertEquals(new Request<>(older, 0), codec.readRequest(135, RecordedMessages.bytes(
            "95 92 01 02 a22f6d cd0100 ce00010000 cf0000000100000000")));
        assertEquals(new DistributedDiskTerms("kv", 600_000, null),
            codec.readReply(older, RecordedMessages.bytes("92 a26b76 ce000927c0")));
    }

    /** A layout with a relative folder, no files, pages of three sizes that cannot be, and files of half a page. */
    @ParameterizedTest
    @ValueSource(strings = {
        "95 92 01 02 a16d cd0100 ce00010000 cf0000000100000000",
        "95 92 01 02 a22f6d 00 ce00010000 cf0000000100000000",
        "95 92 01 02 a22f6d cd0100 cd0800 cf0000000100000000",
        "95 92 01 02 a22f6d cd0100 ce00010001 cf0000000100000000",
        "95 92 01 02 a22f6d cd0100 ce80000000 cf0000000100000000",
        "95 92 01 02 a22f6d cd0100 ce00010000 ce00018000",
        "95 92 01 02 a22f6d cd1001 ce00010000 cf0000000100000000"})
    void shouldRefuseALayoutThatCannotBeOne(final String mount) {
        assertThrows(MalformedMessageException.class, () -> codec.readRequest(135, RecordedMessages.bytes(mount)));
    }

    /** Of a master that was not told what owners did. */
    @Test
    void shouldReadTheFilesThatAnOlderMasterLists() {
        final GdsStorageInfo older = codec.readReply(new GdsStorages(), RecordedMessages.bytes("91 91 98 92 01 02"
            + "92 03 04 4d a3683a32 ce00100000 ce00012000 01 97 01 02 03 04 05 06 07")).getFirst();
        assertEquals(GdsWork.NONE, older.work());
        assertEquals(GdsState.UNKNOWN, older.state());
        assertEquals(7, older.counts().settled());
        assertEquals(MasterStats.GdsTold.NONE, codec.readReply(new AdminCommand.Statistics(), RecordedMessages.bytes(
            "dc0020 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10 11 12 13 14 15 16 17 18 19"
                + "99 01 02 03 04 05 06 07 08 09 93 01 02 03 93 04 05 06 93 07 08 09"
                + "96 01 02 03 04 05 93 06 07 08 94 06 07 08 09 95 01 02 03 04 97 05 06 07 08 09 0a 0b")).gds().told());
    }

    /** Files of clients that come later may make a detour that nobody knows of yet. */
    @Test
    void shouldTakeAnUnknownDetourForOneThatThereMayBe() {
        final ReportGdsWork later = (ReportGdsWork) codec.readRequest(119, RecordedMessages.bytes("96 92 01 02"
            + "92 03 04 4d 05 9a 01 02 03 04 05 06 07 08 09 0a 95 00 01 00 07 a0")).command();
        assertEquals(HostDetour.POSSIBLE, later.state().detour());
        assertThrows(MalformedMessageException.class, () -> codec.readRequest(119, RecordedMessages.bytes("96 92 01 02"
            + "92 03 04 4d 05 9a 01 ff 03 04 05 06 07 08 09 0a 95 00 01 00 00 a0")), "a count below 0");
    }

    @Test
    void shouldTakeWhatAnOlderWriterGivesUpForSettled() {
        final PutRevoke put = new PutRevoke(new UUID(1, 2), ObjectKey.of("k1"), 3, Scope.ALL, false);
        assertEquals("96920102" + "a0a26b31" + "0300c2", hex(written(put)));
        assertEquals(new Request<>(put, 0), codec.readRequest(18, written(put)));
        assertEquals(new PutRevoke(new UUID(1, 2), ObjectKey.of("k1"), 3, Scope.ALL),
            codec.readRequest(18, RecordedMessages.bytes("95 92 01 02 a0 a26b31 03 00")).command());
        final ReplicationEnd copy = new ReplicationEnd(new UUID(1, 2), ObjectKey.of("k1"), Kind.COPY, false, false);
        assertEquals("96920102" + "a0a26b31" + "00c2c2", hex(written(copy)));
        assertEquals(new ReplicationEnd(new UUID(1, 2), ObjectKey.of("k1"), Kind.COPY, false),
            codec.readRequest(81, RecordedMessages.bytes("95 92 01 02 a0 a26b31 00 c2")).command());
        final PromotionEnd promotion = new PromotionEnd(new UUID(1, 2), ObjectKey.of("k1"), 5, false, false);
        assertEquals("96920102" + "a0a26b31" + "05c2c2", hex(written(promotion)));
        assertEquals(new PromotionEnd(new UUID(1, 2), ObjectKey.of("k1"), 5, false),
            codec.readRequest(69, RecordedMessages.bytes("95 92 01 02 a0 a26b31 05 c2")).command());
    }

    @Test
    void shouldWriteAndReadAWaitForWorkAsRecorded() {
        final MessageWriter out = new MessageWriter();
        WireCodec.writeAwaitWork(new WireCodec.AwaitWork(new UUID(1, 2), 20_000), out);
        assertEquals("929201" + "02" + "cd4e20", hex(out.toBytes()));
        assertEquals(new WireCodec.AwaitWork(new UUID(1, 2), 20_000), codec.readAwaitWork(out.toBytes()));

        out.clear();
        WireCodec.writeWork(WorkKind.OFFLOADS.bit() | WorkKind.TASKS.bit(), out);
        assertEquals("9105", hex(out.toBytes()));
        assertEquals(5, codec.readWork(out.toBytes()));
    }

    @Test
    void shouldCarryAReplicaOfAnUnknownKindOnAsItCame() {
        final byte[] reply = RecordedMessages.bytes("98 03 01 91 95 08 07 cd0fa0 81 01 c0 a36e6577 00 c2 00 00 cc63");
        final ReadStart read = new ReadStart(((Exists) exists()).key(), false);

        final ReadReply object = codec.readReply(read, reply);

        final Replica replica = object.replicas().getFirst();
        assertEquals(new ReplicaDescriptor.Unknown(4000, RecordedMessages.bytes("81 01 c0")), replica.descriptor());
        assertEquals(ReplicaStatus.REMOVED, replica.status(), "a status that is not known is none to read by");
        assertEquals("98030191" + "9408" + "02" + "cd0fa0" + "8101c0" + "00c2000000", hex(written(read, object)));
    }

    private static Command<?> exists() {
        return rows().map(Row::command).filter(Exists.class::isInstance).findFirst().orElseThrow();
    }

    @Test
    void shouldShareTheAddressOfASegmentAmongItsReplicas() {
        final Row row = rows().filter(any -> any.command() instanceof PutStart).findFirst().orElseThrow();
        final ReplicaDescriptor.Memory first = lent(codec.readReply(row.command(), row.replyBytes()));
        final ReplicaDescriptor.Memory second = lent(codec.readReply(row.command(), row.replyBytes()));
        assertSame(first.segment(), second.segment());

        final byte[] otherToken = row.replyBytes().clone();
        otherToken[otherToken.length - 20] ^= 1;
        final ReplicaDescriptor.Memory third = lent(codec.readReply(row.command(), otherToken));
        assertEquals(first.segment().segmentId(), third.segment().segmentId());
        assertEquals(false, first.segment().equals(third.segment()), "the token is another one");
    }

    private static ReplicaDescriptor.Memory lent(final Object reply) {
        return (ReplicaDescriptor.Memory) ((PutStartReply.Started) reply).replicas().getFirst().descriptor();
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "92 15 90",                                         // a batch without commands
        "92 01 91 92 15 91 92 a0 a16b",                     // a batch of batches
        "92 02 91 92 92 01 02 00",                          // a batch of waits
        "92 15 dc1001",                                     // more commands than a batch may have
        "92 cd0315 91 90",                                  // no such method
        "92 ff 91 90",
        "92 cf7fffffffffffffff 91 90"})
    void shouldRefuseABatchThatIsNone(final String hex) {
        final RuntimeException e = assertThrows(RuntimeException.class,
            () -> codec.readRequest(WireCodec.BATCH, RecordedMessages.bytes(hex)));
        assertEquals(true, e instanceof MalformedMessageException
            || e instanceof RpcException rpc && rpc.status() == RpcStatus.UNKNOWN_METHOD, e.toString());
    }

    @Test
    void shouldRefuseWhatIsWellFormedAndNotAllowed() {
        final StoreException empty = assertThrows(StoreException.class,
            () -> codec.readRequest(21, RecordedMessages.bytes("92 a0 a0")));
        assertEquals(ErrorCode.INVALID_KEY, empty.code());
        final StoreException tenant = assertThrows(StoreException.class,
            () -> codec.readRequest(21, RecordedMessages.bytes("92 a25f61 a16b")));
        assertEquals(ErrorCode.INVALID_KEY, tenant.code());
        assertThrows(MalformedMessageException.class,
            () -> codec.readRequest(21, RecordedMessages.bytes("92 a0 a2c328")), "not UTF-8");
        assertThrows(MalformedMessageException.class,
            () -> codec.readRequest(98, RecordedMessages.bytes("92 da0100" + "61".repeat(256) + "01")),
            "a tenant of 256 bytes");
        assertThrows(MalformedMessageException.class,
            () -> codec.readRequest(18, RecordedMessages.bytes("95 92 01 02 a0 a16b 03 07")), "no such scope");
        assertThrows(MalformedMessageException.class, () -> codec.readRequest(16, RecordedMessages.bytes(
            "98 92 01 02 07 a0 a26b31 01 9a 01 00 90 c2 03 00 c2 00 a0 c2 c2 00")), "no such soft pin");
        final StoreException pin = assertThrows(StoreException.class, () -> codec.readRequest(16,
            RecordedMessages.bytes("98 92 01 02 07 a0 a26b31 01 9a 01 00 90 c2 02 01 c2 00 a0 c2 c2 00")));
        assertEquals(ErrorCode.INVALID_PARAMS, pin.code(), "a time for a pin that ends");
        assertThrows(MalformedMessageException.class,
            () -> codec.readRequest(98, RecordedMessages.bytes("92 a161 cf8000000000000000")), "a quota of 2^63");
    }

    @Test
    void shouldRefuseToSendABatchOfDifferentKinds() {
        final Exists exists = (Exists) exists();
        final Batch<Object> mixed = mixed(exists, new ReadStart(exists.key(), false));

        assertThrows(IllegalArgumentException.class, () -> written(mixed));
        assertThrows(IllegalArgumentException.class, () -> written(new Batch<>(List.of())));
        assertThrows(IllegalArgumentException.class,
            () -> written(new Batch<>(Collections.nCopies(Batch.MAX_ITEMS + 1, exists))));
    }

    @SuppressWarnings("unchecked") // That is what is refused.
    private static Batch<Object> mixed(final Command<?>... commands) {
        return new Batch<>((List<Command<Object>>) (List<?>) List.of(commands));
    }
}
