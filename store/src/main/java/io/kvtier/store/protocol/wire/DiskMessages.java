package io.kvtier.store.protocol.wire;

import io.kvtier.store.protocol.DiskCommand.AdoptDisk;
import io.kvtier.store.protocol.DiskCommand.DiskPromotion;
import io.kvtier.store.protocol.DiskCommand.Drops;
import io.kvtier.store.protocol.DiskCommand.EvictDisk;
import io.kvtier.store.protocol.DiskCommand.FetchDiskPromotions;
import io.kvtier.store.protocol.DiskCommand.FetchDrops;
import io.kvtier.store.protocol.DiskCommand.FetchOffloads;
import io.kvtier.store.protocol.DiskCommand.MountDisk;
import io.kvtier.store.protocol.DiskCommand.OffloadDone;
import io.kvtier.store.protocol.DiskCommand.PromotionEnd;
import io.kvtier.store.protocol.DiskCommand.PromotionStart;
import io.kvtier.store.protocol.DiskCommand.StoredObject;
import io.kvtier.store.protocol.DiskCommand.StoredVersion;
import io.kvtier.store.protocol.DiskCommand.UnmountDisk;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.wire.Method.Message;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.rpc.MalformedMessageException;
import java.util.List;

/** What concerns clients' own disks; {@code store/MESSAGES.md} has the fields. */
final class DiskMessages {
    private DiskMessages() {
    }

    static List<Method<?, ?>> methods() {
        return List.of(
            Method.of(64, MountDisk.class, true, Message.of((e, mount) -> e.array(3).uuid(mount.clientId())
                .text(mount.endpoint()).number(mount.capacity()),
                d -> new MountDisk(d.uuid(), d.endpoint(), d.count())), CommonMessages.ACK),
            Method.of(65, UnmountDisk.class, true, Message.of((e, unmount) -> e.array(1).uuid(unmount.clientId()),
                d -> new UnmountDisk(d.uuid())), CommonMessages.ACK),
            Method.of(66, FetchOffloads.class, false, Message.of((e, fetch) -> e.array(2).uuid(fetch.clientId())
                .number(fetch.maxBytes()), d -> new FetchOffloads(d.uuid(), d.count())), tasks()),
            Method.of(67, OffloadDone.class, true, offloadDone(), CommonMessages.ACK),
            Method.of(68, PromotionStart.class, false, Message.of((e, start) -> e.array(4).uuid(start.clientId())
                .key(start.key()).number(start.version()),
                d -> new PromotionStart(d.uuid(), d.key(), d.number())), promotionReply()),
            Method.of(69, PromotionEnd.class, true, Message.of((e, end) -> e.array(6).uuid(end.clientId())
                .key(end.key()).number(end.replicaId()).flag(end.success()).flag(end.settled()),
                d -> new PromotionEnd(d.uuid(), d.key(), d.number(), d.flag(), !d.has() || d.flag())),
                CommonMessages.ACK),
            Method.of(70, EvictDisk.class, true, Message.of(DiskMessages::evict,
                d -> new EvictDisk(d.uuid(), objects(d), d.has() && d.flag())), CommonMessages.FLAGS),
            Method.of(71, AdoptDisk.class, false, Message.of((e, adopt) -> objects(e.array(2).uuid(adopt.clientId()),
                adopt.values()), d -> new AdoptDisk(d.uuid(), objects(d))), CommonMessages.FLAGS),
            Method.of(72, FetchDrops.class, true, Message.of((e, fetch) -> e.array(3).uuid(fetch.clientId())
                .number(fetch.max()).number(fetch.done()), d -> new FetchDrops(d.uuid(), d.count(Integer.MAX_VALUE),
                    d.has() ? d.number() : FetchDrops.ALL_NAMED)), drops()),
            Method.of(89, FetchDiskPromotions.class, false, Message.of((e, fetch) -> e.array(2).uuid(fetch.clientId())
                .number(fetch.max()), d -> new FetchDiskPromotions(d.uuid(), d.count(Integer.MAX_VALUE))),
                promotions()));
    }

    private static Message<List<DiskPromotion>> promotions() {
        return Message.of((e, tasks) -> {
            e.array(1).array(tasks.size());
            tasks.forEach(task -> e.array(4).key(task.key()).number(task.version()).number(task.replicaId()));
        }, d -> d.records(Integer.MAX_VALUE, t -> new DiskPromotion(t.key(), t.number(), t.number())));
    }

    private static void task(final Encoder e, final OffloadTask task) {
        final int last = task.idleMs() > 0 ? 2 : task.target() != ReplicaType.LOCAL_DISK ? 1 : 0;
        e.array(5 + last).key(task.key()).number(task.version()).number(task.replicaId()).memory(task.source());
        if (last > 0) {
            e.number(task.target().number());
        }
        if (last > 1) {
            e.number(task.idleMs());
        }
    }

    private static void evict(final Encoder e, final EvictDisk evict) {
        objects(e.array(3).uuid(evict.clientId()), evict.values());
        e.flag(evict.copies());
    }

    private static OffloadTask task(final Decoder d) {
        return new OffloadTask(d.key(), d.number(), d.number(), d.memory(),
            d.has() ? target(d.number()) : ReplicaType.LOCAL_DISK, d.has() ? d.count() : 0);
    }

    private static ReplicaType target(final long number) {
        if (number == ReplicaType.LOCAL_DISK.number()) {
            return ReplicaType.LOCAL_DISK;
        }
        if (number == ReplicaType.DISTRIBUTED_DISK.number()) {
            return ReplicaType.DISTRIBUTED_DISK;
        }
        throw new MalformedMessageException("the number " + number + " is no kind of disk that is offloaded to");
    }

    private static Message<List<OffloadTask>> tasks() {
        return Message.of((e, tasks) -> {
            e.array(1).array(tasks.size());
            tasks.forEach(task -> task(e, task));
        }, d -> d.records(Integer.MAX_VALUE, DiskMessages::task));
    }

    private static Message<OffloadDone> offloadDone() {
        return Message.of((e, done) -> {
            task(e.array(4).uuid(done.clientId()), done.task());
            e.number(Numbers.OFFLOAD_RESULT.number(done.result())).number(done.checksum());
        }, d -> new OffloadDone(d.uuid(), d.record(DiskMessages::task), Numbers.OFFLOAD_RESULT.constant(d.number()),
            d.number()));
    }

    private static Message<PromotionReply> promotionReply() {
        return Message.of((e, reply) -> {
            if (reply.accepted()) {
                e.array(2).number(reply.replicaId()).memory(reply.memory());
            } else {
                e.array(1).number(0);
            }
        }, d -> {
            final long replicaId = d.number();
            return replicaId == 0 ? PromotionReply.DECLINED : new PromotionReply(replicaId, d.memory());
        });
    }

    private static void objects(final Encoder e, final List<StoredObject> values) {
        e.array(values.size());
        for (final StoredObject value : values) {
            e.array(5).key(value.key()).number(value.version()).number(value.size()).number(value.checksum());
        }
    }

    private static List<StoredObject> objects(final Decoder d) {
        return d.records(Integer.MAX_VALUE, o -> new StoredObject(o.key(), o.number(), o.count(), o.number()));
    }

    private static Message<Drops> drops() {
        return Message.of((e, drops) -> {
            e.array(2).array(drops.values().size());
            drops.values().forEach(value -> e.array(3).key(value.key()).number(value.version()));
            e.number(drops.last());
        }, d -> new Drops(d.records(Integer.MAX_VALUE, v -> new StoredVersion(v.key(), v.number())),
            d.has() ? d.number() : 0));
    }
}
