package io.kvtier.store.protocol.wire;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.protocol.SegmentCommand.ClientInfo;
import io.kvtier.store.protocol.SegmentCommand.Clients;
import io.kvtier.store.protocol.SegmentCommand.FetchReturning;
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
import io.kvtier.store.protocol.SegmentCommand.Unmount;
import io.kvtier.store.protocol.wire.Method.Message;
import java.util.List;

/** What concerns segments and clients; {@code store/MESSAGES.md} has the fields. */
final class SegmentMessages {
    private SegmentMessages() {
    }

    static List<Method<?, ?>> methods() {
        return List.of(
            Method.of(48, Ping.class, true, ping(), pingReply()),
            Method.of(49, Mount.class, true, mount(), CommonMessages.ACK)
                .doneBefore(ErrorCode.SEGMENT_ALREADY_EXISTS),
            Method.of(50, Unmount.class, true, Message.of((e, unmount) -> e.array(3).uuid(unmount.clientId())
                .uuid(unmount.segmentId()).number(unmount.graceMs()),
                d -> new Unmount(d.uuid(), d.uuid(), d.count())), CommonMessages.ACK)
                .doneBefore(ErrorCode.SEGMENT_NOT_FOUND),
            Method.of(51, Segments.class, true, CommonMessages.empty(new Segments()), Message.of((e, segments) -> {
                e.array(1).array(segments.size());
                segments.forEach(segment -> segment(e, segment));
            }, d -> d.records(Integer.MAX_VALUE, SegmentMessages::segment))),
            Method.of(52, Probed.class, false, Message.of((e, probed) -> e.array(3).uuid(probed.segmentId())
                .flag(probed.healthy()).flag(probed.timedOut()),
                d -> new Probed(d.uuid(), d.flag(), d.has() && d.flag())), CommonMessages.ACK),
            Method.of(53, Clients.class, true, CommonMessages.empty(new Clients()), Message.of((e, clients) -> {
                e.array(1).array(clients.size());
                clients.forEach(client -> e.array(5).uuid(client.clientId()).text(client.name()).text(client.host())
                    .text(client.endpoint()).number(client.silentMs()));
            }, d -> d.records(Integer.MAX_VALUE,
                c -> new ClientInfo(c.uuid(), c.name(), c.name(), c.endpoint(), c.number())))),
            Method.of(54, FetchReturning.class, true, Message.of((e, fetch) -> e.array(4).uuid(fetch.clientId())
                .array(3).address(fetch.former()).number(fetch.cursor()).number(fetch.max()),
                d -> new FetchReturning(d.uuid(), d.record(Decoder::address), d.number(), d.count(Integer.MAX_VALUE))),
                returning()),
            Method.of(55, ReturnReplicas.class, true, Message.of((e, give) -> {
                e.array(4).uuid(give.clientId()).uuid(give.segmentId()).array(give.replicas().size());
                give.replicas().forEach(e::number);
                e.flag(give.last());
            }, d -> new ReturnReplicas(d.uuid(), d.uuid(), d.list(Integer.MAX_VALUE, Decoder::number), d.flag())),
                Message.of((e, given) -> e.array(1).flags(given), Decoder::flags)));
    }

    private static Message<Ping> ping() {
        return Message.of((e, ping) -> e.array(4).uuid(ping.clientId()).text(ping.name()).text(ping.host())
                .text(ping.endpoint()),
            d -> new Ping(d.uuid(), d.name(), d.name(), d.endpoint()));
    }

    private static Message<PingReply> pingReply() {
        return Message.of((e, reply) -> e.array(4).number(Numbers.CLIENT_STATUS.number(reply.status()))
                .number(reply.term()).number(reply.leaseMs()).number(reply.ttlMs()),
            d -> new PingReply(Numbers.CLIENT_STATUS.constant(d.number()), d.number(), d.count(), d.count()));
    }

    private static Message<Returning> returning() {
        return Message.of((e, reply) -> {
            e.array(2).array(reply.replicas().size());
            reply.replicas().forEach(one -> e.array(4).number(one.replicaId()).number(one.offset()).number(one.size())
                .number(one.checksum()));
            e.number(reply.cursor());
        }, d -> new Returning(d.records(Integer.MAX_VALUE,
            r -> new ReturningReplica(r.number(), r.count(), r.count(), r.number())), d.number()));
    }

    private static Message<Mount> mount() {
        return Message.of((e, mount) -> {
            final SegmentSpec spec = mount.spec();
            e.array(3).uuid(mount.clientId()).array(8).text(spec.name()).number(Numbers.MEDIUM.number(spec.medium()))
                .number(spec.capacity()).number(spec.unit()).address(spec.address()).flag(spec.fresh());
            if (mount.former() == null) {
                e.nothing();
            } else {
                e.array(3).address(mount.former());
            }
        }, d -> new Mount(d.uuid(), d.record(s -> new SegmentSpec(s.name(), Numbers.MEDIUM.constant(s.number()),
            s.count(), s.count(), s.address(), s.flag())), d.has() && !d.in().nothing() ? d.record(Decoder::address)
            : null));
    }

    private static void segment(final Encoder e, final SegmentInfo segment) {
        e.array(11).uuid(segment.segmentId()).uuid(segment.clientId()).text(segment.name()).text(segment.host())
            .number(Numbers.MEDIUM.number(segment.medium())).text(segment.endpoint())
            .number(Numbers.SEGMENT_STATUS.number(segment.status())).number(segment.capacity())
            .number(segment.used()).number(segment.replicas()).flag(segment.returning());
    }

    private static SegmentInfo segment(final Decoder d) {
        return new SegmentInfo(d.uuid(), d.uuid(), d.name(), d.name(), Numbers.MEDIUM.constant(d.number()),
            d.endpoint(), Numbers.SEGMENT_STATUS.constant(d.number()), d.count(), d.count(), d.count(),
            d.has() && d.flag());
    }
}
