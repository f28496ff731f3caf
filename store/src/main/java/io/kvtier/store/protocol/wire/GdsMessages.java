package io.kvtier.store.protocol.wire;

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
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.protocol.wire.Method.Message;
import java.util.List;
import java.util.function.Function;

/** What concerns clients' own files for GDS replicas; {@code store/MESSAGES.md} has the fields. */
final class GdsMessages {
    private GdsMessages() {
    }

    static List<Method<?, ?>> methods() {
        return List.of(
            Method.of(112, RegisterGdsStorage.class, true, register(), CommonMessages.ACK),
            Method.of(113, UnregisterGdsStorage.class, true, Message.of((e, gone) -> e.array(3).uuid(gone.clientId())
                .uuid(gone.storageId()).number(gone.generation()),
                d -> new UnregisterGdsStorage(d.uuid(), d.uuid(), d.number())), CommonMessages.ACK),
            Method.of(114, AdoptGdsReplicas.class, true, adopt(), Message.of((e, ids) -> {
                e.array(1).array(ids.size());
                ids.forEach(e::number);
            }, d -> d.list(Integer.MAX_VALUE, Decoder::number))),
            Method.of(115, SettleGdsExtents.class, true, settle(), Message.of((e, settled) -> {
                e.array(1).array(settled.size());
                settled.forEach(one -> e.array(2).number(one.replicaId()).number(one.version()));
            }, d -> d.records(Integer.MAX_VALUE, s -> new Settlement(s.number(), s.number())))),
            Method.of(116, MakeGdsRoom.class, false, Message.of((e, room) -> e.array(2).uuid(room.clientId())
                .number(room.bytes()), d -> new MakeGdsRoom(d.uuid(), d.count())), room()),
            Method.of(117, FetchGdsDrops.class, true, Message.of((e, fetch) -> e.array(3).uuid(fetch.clientId())
                .number(fetch.max()).number(fetch.done()),
                d -> new FetchGdsDrops(d.uuid(), d.count(Integer.MAX_VALUE), d.number())), drops()),
            Method.of(118, GdsStorages.class, true, CommonMessages.empty(new GdsStorages()), storages()),
            Method.of(119, ReportGdsWork.class, true, report(), CommonMessages.ACK));
    }

    /** An array of four fields. */
    static Encoder extent(final Encoder e, final GdsExtent extent) {
        return e.array(4).uuid(extent.storageId()).number(extent.generation()).number(extent.offset())
            .number(extent.bytes());
    }

    static GdsExtent extent(final Decoder d) {
        return d.record(x -> new GdsExtent(x.uuid(), x.number(), x.number(), x.number()));
    }

    private static Message<RegisterGdsStorage> register() {
        return Message.of((e, register) -> {
            final GdsStorageSpec spec = register.storage();
            e.array(2).uuid(register.clientId()).array(6).uuid(spec.storageId()).number(spec.generation())
                .text(spec.endpoint()).number(spec.capacity()).number(spec.highBytes()).number(spec.lowBytes());
        }, d -> new RegisterGdsStorage(d.uuid(), d.record(s -> new GdsStorageSpec(s.uuid(), s.number(), s.endpoint(),
            s.count(), s.count(), s.count()))));
    }

    private static Message<AdoptGdsReplicas> adopt() {
        return Message.of((e, adopt) -> {
            e.array(2).uuid(adopt.clientId()).array(adopt.values().size());
            for (final GdsValue value : adopt.values()) {
                extent(e.array(7).key(value.key()).number(value.version()).number(value.size()), value.extent())
                    .flag(value.checksummed()).number(value.checksum());
            }
        }, d -> new AdoptGdsReplicas(d.uuid(), d.records(Integer.MAX_VALUE, v -> new GdsValue(v.key(), v.number(),
            v.number(), extent(v), v.flag(), v.number()))));
    }

    private static Message<SettleGdsExtents> settle() {
        return Message.of((e, settle) -> {
            e.array(2).uuid(settle.clientId()).array(settle.extents().size());
            settle.extents().forEach(one -> extent(e.array(4).key(one.key()), one.extent()).number(one.replicaId()));
        }, d -> new SettleGdsExtents(d.uuid(), d.records(Integer.MAX_VALUE,
            u -> new UnsettledExtent(u.key(), extent(u), u.has() ? u.number() : 0))));
    }

    /** An older master does not say whether to wait: then it is of no use. */
    private static Message<GdsRoomReply> room() {
        return Message.of((e, room) -> e.array(3).number(room.bytes()).flag(room.mayComeFree()).number(room.nextMs()),
            d -> new GdsRoomReply(d.number(), d.has() && d.flag(), d.has() ? d.count() : 0));
    }

    private static Message<GdsDrops> drops() {
        return Message.of((e, drops) -> {
            e.array(2).array(drops.extents().size());
            drops.extents().forEach(drop -> e.array(2).number(drop.offset()).number(drop.replicaId()));
            e.number(drops.last());
        }, d -> new GdsDrops(d.records(Integer.MAX_VALUE, x -> new GdsDrop(x.number(), x.number())), d.number()));
    }

    private static Message<ReportGdsWork> report() {
        return Message.of((e, report) -> {
            work(e.array(6).uuid(report.clientId()).uuid(report.storageId()).number(report.generation())
                .number(report.run()), report.work());
            state(e, report.state());
        }, d -> new ReportGdsWork(d.uuid(), d.uuid(), d.number(), d.number(), d.record(GdsMessages::work),
            d.record(GdsMessages::state)));
    }

    private static Message<List<GdsStorageInfo>> storages() {
        return Message.of((e, storages) -> {
            e.array(1).array(storages.size());
            for (final GdsStorageInfo one : storages) {
                e.array(10).uuid(one.clientId()).uuid(one.storageId()).number(one.generation()).text(one.endpoint())
                    .number(one.capacity()).number(one.used()).number(one.replicas());
                counts(e, one.counts());
                work(e, one.work());
                state(e, one.state());
            }
        }, d -> d.records(Integer.MAX_VALUE, s -> new GdsStorageInfo(s.uuid(), s.uuid(), s.number(), s.endpoint(),
            s.count(), s.count(), s.count(), s.record(GdsMessages::counts), later(s, GdsWork.NONE, GdsMessages::work),
            later(s, GdsState.UNKNOWN, GdsMessages::state))));
    }

    static void counts(final Encoder e, final GdsCounts counts) {
        e.array(7).number(counts.puts()).number(counts.onlyPuts()).number(counts.adopted()).number(counts.refused())
            .number(counts.evictions()).number(counts.evictedBytes()).number(counts.settled());
    }

    static GdsCounts counts(final Decoder d) {
        return new GdsCounts(d.number(), d.number(), d.number(), d.number(), d.number(), d.number(), d.number());
    }

    static void work(final Encoder e, final GdsWork work) {
        e.array(10).number(work.puts()).number(work.onlyPuts()).number(work.writtenBytes()).number(work.reads())
            .number(work.readBytes()).number(work.noRoom()).number(work.refused()).number(work.writeFailures())
            .number(work.readFailures()).number(work.staleReads());
    }

    static GdsWork work(final Decoder d) {
        return new GdsWork(d.count(), d.count(), d.count(), d.count(), d.count(), d.count(), d.count(), d.count(),
            d.count(), d.count());
    }

    private static void state(final Encoder e, final GdsState state) {
        e.array(5).number(state.used()).number(state.values()).number(state.uncertain())
            .number(Numbers.HOST_DETOUR.number(state.detour())).text(state.way());
    }

    private static GdsState state(final Decoder d) {
        return new GdsState(d.count(), d.count(), d.count(), Numbers.HOST_DETOUR.constant(d.number()),
            d.text(Decoder.MAX_MESSAGE));
    }

    /** A record that older writers leave out. */
    static <T> T later(final Decoder d, final T none, final Function<Decoder, T> fields) {
        return d.has() ? d.record(fields) : none;
    }
}
