package io.kvtier.store.protocol.wire;

import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.wire.Method.Message;
import java.util.List;
import java.util.UUID;

/** Messages that several methods share. */
final class CommonMessages {
    static final Message<Ack> ACK = Message.of((e, ack) -> e.array(1).number(Numbers.ACK.number(ack)),
        d -> Numbers.ACK.constant(d.number()));
    static final Message<Boolean> FLAG = Message.of((e, flag) -> e.array(1).flag(flag), Decoder::flag);
    static final Message<Long> NUMBER = Message.of((e, number) -> e.array(1).number(number), Decoder::number);
    static final Message<List<Boolean>> FLAGS =
        Message.of((e, flags) -> e.array(1).flags(flags), Decoder::flags);
    static final Message<UUID> ID = Message.of((e, id) -> e.array(1).uuid(id), Decoder::uuid);

    private CommonMessages() {
    }

    /** A request without fields. */
    static <C> Message<C> empty(final C command) {
        return Message.of((e, c) -> e.array(0), d -> command);
    }
}
