package io.kvtier.store.protocol.wire;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.protocol.Command;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.function.Predicate;

/**
 * A method: one kind of command as it crosses the wire. The message is an array whose fields the four functions write
 * and read, without the array's header on reading.
 *
 * @param <C>          the kind of command.
 * @param <R>          what it is answered with.
 * @param number       on the wire, never reused.
 * @param type         the command's class.
 * @param repeatable   whether a command may be sent again when nobody knows whether it was carried out.
 * @param doneBefore   the refusal of a repeated command that tells that the first copy was carried out; null for none.
 * @param request      writes a command.
 * @param readRequest  reads a command.
 * @param reply        writes an answer.
 * @param readReply    reads an answer.
 */
record Method<C extends Command<R>, R>(int number, Class<C> type, Predicate<C> repeatable, ErrorCode doneBefore,
                                       BiConsumer<Encoder, C> request, Function<Decoder, C> readRequest,
                                       BiConsumer<Encoder, R> reply, Function<Decoder, R> readReply) {
    /** A method that may be repeated, always or never. */
    static <C extends Command<R>, R> Method<C, R> of(final int number, final Class<C> type, final boolean repeatable,
        final Message<C> request, final Message<R> reply) {
        return new Method<>(number, type, command -> repeatable, null, request.write(), request.read(), reply.write(),
            reply.read());
    }

    /** The same, with the refusal that tells that an earlier copy was carried out. */
    Method<C, R> doneBefore(final ErrorCode code) {
        return new Method<>(number, type, repeatable, code, request, readRequest, reply, readReply);
    }

    /** The same, repeatable only as a command says. */
    Method<C, R> repeatableIf(final Predicate<C> condition) {
        return new Method<>(number, type, condition, doneBefore, request, readRequest, reply, readReply);
    }

    /**
     * One message.
     *
     * @param <T>   what it carries.
     * @param write writes its array.
     * @param read  reads the fields of its array.
     */
    record Message<T>(BiConsumer<Encoder, T> write, Function<Decoder, T> read) {
        static <T> Message<T> of(final BiConsumer<Encoder, T> write, final Function<Decoder, T> read) {
            return new Message<>(write, read);
        }
    }
}
