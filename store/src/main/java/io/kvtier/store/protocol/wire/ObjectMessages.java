package io.kvtier.store.protocol.wire;

import io.kvtier.store.DataType;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.SoftPin;
import io.kvtier.store.protocol.ObjectCommand.AddGdsReplicaStart;
import io.kvtier.store.protocol.ObjectCommand.CreateGdsOnlyObject;
import io.kvtier.store.protocol.ObjectCommand.Exists;
import io.kvtier.store.protocol.ObjectCommand.Find;
import io.kvtier.store.protocol.ObjectCommand.FindReply;
import io.kvtier.store.protocol.ObjectCommand.Found;
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
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.PutStartReply.NoSpace;
import io.kvtier.store.protocol.PutStartReply.Started;
import io.kvtier.store.protocol.PutStartReply.Taken;
import io.kvtier.store.protocol.PutStartReply.TooLarge;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.wire.Method.Message;
import io.kvtier.transport.rpc.MalformedMessageException;
import java.util.List;

/** What concerns objects; {@code store/MESSAGES.md} has the fields. */
final class ObjectMessages {
    static final int PUT_START = 16;
    static final int PUT_START_FIELDS = 8;

    private static final int STARTED = 0;
    private static final int TAKEN = 1;
    private static final int NO_SPACE = 2;
    private static final int TOO_LARGE = 3;

    private ObjectMessages() {
    }

    static List<Method<?, ?>> methods() {
        final Message<PutStart> putStart = Message.of((e, put) -> putStart(e, put, 0), ObjectMessages::putStart);
        final Message<ReadReply> readReply = Message.of(ObjectMessages::readReply, ObjectMessages::readReply);
        return List.of(
            Method.of(PUT_START, PutStart.class, true, putStart, Message.of(ObjectMessages::putStartReply,
                ObjectMessages::putStartReply)),
            Method.of(17, PutEnd.class, true, putEnd(), CommonMessages.ACK),
            Method.of(18, PutRevoke.class, true, putRevoke(), CommonMessages.ACK),
            Method.of(19, ReadStart.class, true, Message.of((e, read) -> e.array(3).key(read.key()).flag(read.hold()),
                d -> new ReadStart(d.key(), d.flag())), readReply).repeatableIf(read -> !read.hold()),
            Method.of(20, ReadDone.class, false, Message.of((e, done) -> e.array(3).key(done.key())
                .number(done.replicaId()), d -> new ReadDone(d.key(), d.number())), CommonMessages.ACK),
            Method.of(21, Exists.class, true, Message.of((e, exists) -> e.array(2).key(exists.key()),
                d -> new Exists(d.key())), CommonMessages.FLAG),
            Method.of(22, Query.class, true, Message.of((e, query) -> e.array(2).key(query.key()),
                d -> new Query(d.key())), readReply),
            Method.of(23, Remove.class, false, Message.of((e, remove) -> e.array(3).key(remove.key())
                .flag(remove.force()), d -> new Remove(d.key(), d.flag())), removeReply()),
            Method.of(24, Find.class, true, find(), findReply()),
            Method.of(25, RemoveMatching.class, false, removeMatching(), Message.of((e, reply) -> e.array(2)
                .number(reply.removed()).number(reply.cursor()),
                d -> new RemoveMatchingReply(d.number(), d.number()))),
            Method.of(26, ReplicaClear.class, false, Message.of((e, clear) -> e.array(3).uuid(clear.clientId())
                .keys(clear.keys()).text(clear.segment()), d -> new ReplicaClear(d.uuid(), d.keys(), d.name())),
                Message.of((e, keys) -> e.array(1).keys(keys), Decoder::keys)),
            Method.of(27, ReplicaUnreadable.class, true, Message.of((e, bad) -> e.array(4).key(bad.key())
                .number(bad.version()).number(bad.replicaId()),
                d -> new ReplicaUnreadable(d.key(), d.number(), d.number())), CommonMessages.ACK),
            Method.of(28, AddGdsReplicaStart.class, true, Message.of((e, add) -> GdsMessages.extent(
                e.array(5).uuid(add.clientId()).key(add.key()).number(add.version()), add.extent()),
                d -> new AddGdsReplicaStart(d.uuid(), d.key(), d.number(), GdsMessages.extent(d))),
                CommonMessages.NUMBER),
            Method.of(29, CreateGdsOnlyObject.class, true, Message.of((e, create) -> {
                putStart(e.array(2), create.put(), 0);
                GdsMessages.extent(e, create.extent());
            }, d -> new CreateGdsOnlyObject(d.record(ObjectMessages::putStart), GdsMessages.extent(d))),
                Message.of(ObjectMessages::putStartReply, ObjectMessages::putStartReply)));
    }

    /** With the time that the server may wait for room, which is no part of the command. */
    static void putStart(final Encoder e, final PutStart put, final long waitMs) {
        e.array(PUT_START_FIELDS).uuid(put.clientId()).number(put.attempt()).key(put.key()).number(put.size());
        options(e, put.options());
        e.flag(put.replace()).number(waitMs);
    }

    private static PutStart putStart(final Decoder d) {
        final PutStart put = new PutStart(d.uuid(), d.number(), d.key(), d.count(), options(d), d.flag());
        d.waitMs(d.has() ? d.count() : 0);
        return put;
    }

    private static void options(final Encoder e, final PutOptions options) {
        if (options.equals(PutOptions.DEFAULT)) {
            e.nothing();
            return;
        }
        e.array(10).number(options.replicas()).number(options.nofReplicas()).texts(options.preferredSegments())
            .flag(options.sameHost()).number(Numbers.SOFT_PIN.number(options.softPin().action()))
            .number(options.softPin().ttlMs()).flag(options.hardPin()).number(options.dataType().number())
            .text(options.group()).flag(options.checksum());
    }

    private static PutOptions options(final Decoder d) {
        if (d.in().nothing()) {
            return PutOptions.DEFAULT;
        }
        return d.record(o -> new PutOptions(o.count(Integer.MAX_VALUE), o.count(Integer.MAX_VALUE),
            o.list(PutOptions.MAX_PREFERRED, Decoder::name), o.flag(),
            new SoftPin(Numbers.SOFT_PIN.constant(o.number()), o.number()), o.flag(), dataType(o), o.name(),
            o.flag()));
    }

    private static DataType dataType(final Decoder d) {
        return DataType.of(d.count(Integer.MAX_VALUE));
    }

    private static void putStartReply(final Encoder e, final PutStartReply reply) {
        switch (reply) {
            case Started started -> e.array(3).number(STARTED).number(started.version()).replicas(started.replicas());
            case Taken taken -> e.array(2).number(TAKEN).number(Numbers.PUT_OUTCOME.number(taken.outcome()));
            case NoSpace none -> e.array(2).number(NO_SPACE).flag(none.mayComeFree());
            case TooLarge large -> e.array(2).number(TOO_LARGE).number(large.largest());
        }
    }

    private static PutStartReply putStartReply(final Decoder d) {
        final long kind = d.number();
        if (kind == STARTED) {
            return new Started(d.number(), d.replicas());
        }
        if (kind == TAKEN) {
            return new Taken(Numbers.PUT_OUTCOME.constant(d.number()));
        }
        if (kind == NO_SPACE) {
            return new NoSpace(d.flag());
        }
        if (kind == TOO_LARGE) {
            return new TooLarge(d.number());
        }
        throw new MalformedMessageException("the answer to a PutStart is of kind " + kind + ", which is not known");
    }

    private static Message<PutEnd> putEnd() {
        return Message.of((e, put) -> e.array(7).uuid(put.clientId()).key(put.key()).number(put.version())
                .number(Numbers.SCOPE.number(put.scope())).flag(put.checksummed()).number(put.checksum()),
            d -> new PutEnd(d.uuid(), d.key(), d.number(), Numbers.SCOPE.constant(d.number()), d.flag(), d.number()));
    }

    private static Message<PutRevoke> putRevoke() {
        return Message.of((e, put) -> e.array(6).uuid(put.clientId()).key(put.key()).number(put.version())
                .number(Numbers.SCOPE.number(put.scope())).flag(put.settled()),
            d -> new PutRevoke(d.uuid(), d.key(), d.number(), Numbers.SCOPE.constant(d.number()),
                !d.has() || d.flag()));
    }

    private static void readReply(final Encoder e, final ReadReply reply) {
        if (!reply.found()) {
            e.array(1).number(0);
            return;
        }
        e.array(8).number(reply.version()).number(reply.size()).replicas(reply.replicas()).number(reply.held())
            .flag(reply.checksummed()).number(reply.checksum()).number(reply.leaseMs())
            .number(reply.dataType().number());
    }

    private static ReadReply readReply(final Decoder d) {
        final long version = d.number();
        return version == 0 ? ReadReply.NOT_FOUND : new ReadReply(version, d.count(), d.replicas(), d.number(),
            d.flag(), d.number(), d.count(), dataType(d));
    }

    private static Message<RemoveReply> removeReply() {
        return Message.of((e, reply) -> e.array(2).number(Numbers.REMOVE_OUTCOME.number(reply.outcome()))
                .number(reply.version()),
            d -> new RemoveReply(Numbers.REMOVE_OUTCOME.constant(d.number()), d.number()));
    }

    private static Message<Find> find() {
        return Message.of((e, find) -> e.array(4).text(find.tenant()).text(find.pattern()).flag(find.lease())
                .number(find.cursor()),
            d -> new Find(d.tenant(), d.text(Decoder.MAX_PATTERN), d.flag(), d.number()));
    }

    private static Message<FindReply> findReply() {
        return Message.of((e, reply) -> {
            e.array(2).array(reply.found().size());
            for (final Found found : reply.found()) {
                e.array(3).key(found.key());
                readReply(e, found.object());
            }
            e.number(reply.cursor());
        }, d -> new FindReply(d.records(Integer.MAX_VALUE, f -> {
            final ObjectKey key = f.key();
            return new Found(key, f.record(ObjectMessages::readReply));
        }), d.number()));
    }

    private static Message<RemoveMatching> removeMatching() {
        return Message.of((e, remove) -> e.array(4).text(remove.tenant()).text(remove.pattern()).flag(remove.force())
                .number(remove.cursor()),
            d -> new RemoveMatching(d.tenant(), d.text(Decoder.MAX_PATTERN), d.flag(), d.number()));
    }
}
