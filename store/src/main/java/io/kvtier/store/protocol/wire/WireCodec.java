package io.kvtier.store.protocol.wire;

import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.ObjectCommand.PutStart;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.transport.rpc.MalformedMessageException;
import io.kvtier.transport.rpc.MessageWriter;
import io.kvtier.transport.rpc.RpcException;
import io.kvtier.transport.rpc.RpcStatus;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Stream;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;

/**
 * Commands and answers as bytes, as {@code store/MESSAGES.md} has them. One codec for each end of a connection: it
 * remembers the addresses of segments, which so many replicas share.
 *
 * <p>What is read is bounded by its bytes: a list takes memory only for values that are there, texts have limits, and
 * nesting is limited. Reading throws {@link MalformedMessageException}, or {@link StoreException} for values that are
 * well-formed and not allowed.
 *
 * <p><b>Threading:</b> thread-safe.
 */
public final class WireCodec {
    /** Several commands of one method. */
    public static final int BATCH = 1;
    /** Waits until there is work for a client. */
    public static final int AWAIT_WORK = 2;

    private static final int KEPT_DECODERS = 64;
    private static final Map<Class<?>, Method<?, ?>> BY_TYPE = new HashMap<>();
    private static final Map<Integer, Method<?, ?>> BY_NUMBER = new HashMap<>();

    static {
        Stream.of(ObjectMessages.methods(), SegmentMessages.methods(), DiskMessages.methods(),
            KeyFileMessages.methods(), GdsMessages.methods(), PageMessages.methods(), TaskMessages.methods(),
            AdminMessages.methods()).flatMap(List::stream)
            .forEach(method -> {
                BY_TYPE.put(method.type(), method);
                BY_NUMBER.put(method.number(), method);
            });
    }

    private final AddressBook addresses = new AddressBook();
    /** A message costs no reader: one is a kilobyte. */
    private final ManyToManyConcurrentArrayQueue<Decoder> decoders =
        new ManyToManyConcurrentArrayQueue<>(KEPT_DECODERS);

    /** A codec that has seen nothing. */
    public WireCodec() {
        // Addresses are learnt as they pass.
    }

    /**
     * A wait for work.
     *
     * @param clientId  for whom.
     * @param timeoutMs milliseconds at most.
     */
    public record AwaitWork(UUID clientId, long timeoutMs) {
    }

    /**
     * The number of a command's method.
     *
     * @param command any but the passing of time.
     * @return the number.
     */
    public static int method(final Command<?> command) {
        return command instanceof Batch ? BATCH : known(command).number();
    }

    /**
     * The name of a method, for people.
     *
     * @param command any.
     * @return a word, or two for a batch.
     */
    public static String name(final Command<?> command) {
        return command instanceof Batch<?> batch
            ? "Batch of " + batch.items().size() + ' ' + (batch.items().isEmpty() ? "" : name(batch.items().getFirst()))
            : command.getClass().getSimpleName();
    }

    /**
     * Whether a command may be sent again when nobody knows whether it was carried out.
     *
     * @param command any but the passing of time.
     * @return true when twice is as good as once.
     */
    public static boolean isRepeatable(final Command<?> command) {
        if (command instanceof Batch<?> batch) {
            return batch.items().stream().allMatch(WireCodec::isRepeatable);
        }
        return repeatable(known(command), command);
    }

    /**
     * Whether a refusal of a repeated command tells that its first copy was carried out.
     *
     * @param command any but the passing of time.
     * @param code    why the repeated one was refused.
     * @return true when it does.
     */
    public static boolean isDoneBefore(final Command<?> command, final ErrorCode code) {
        return !(command instanceof Batch) && known(command).doneBefore() == code;
    }

    /**
     * Writes a command.
     *
     * @param command any but the passing of time; the items of a batch are all of one kind.
     * @param waitMs  milliseconds that a single put may wait for room.
     * @param out     is appended to.
     */
    public void writeRequest(final Command<?> command, final long waitMs, final MessageWriter out) {
        final Encoder encoder = new Encoder(out, addresses);
        if (command instanceof Batch<?> batch) {
            writeBatch(batch.items(), encoder);
        } else if (command instanceof PutStart put) {
            ObjectMessages.putStart(encoder, put, waitMs);
        } else {
            writeCommand(known(command), command, encoder);
        }
    }

    /**
     * Reads a command.
     *
     * @param method the number of its method.
     * @param body   its bytes.
     * @return the command.
     * @throws RpcException UNKNOWN_METHOD when there is no such method, or it is not one of commands.
     */
    public Request<?> readRequest(final int method, final byte[] body) {
        final Decoder decoder = decoder(body);
        final Request<?> request;
        if (method == BATCH) {
            request = new Request<>(readBatch(decoder), 0);
        } else {
            final Command<?> command = decoder.record(numbered(method).readRequest());
            request = new Request<>(command, decoder.waitMs());
        }
        end(decoder);
        return request;
    }

    /**
     * Writes an answer.
     *
     * @param <R>     its type.
     * @param command what is answered.
     * @param reply   the answer.
     * @param out     is appended to.
     */
    public <R> void writeReply(final Command<R> command, final R reply, final MessageWriter out) {
        final Encoder encoder = new Encoder(out, addresses);
        if (command instanceof Batch<?> batch) {
            writeResults(batch.items(), (List<?>) reply, encoder);
        } else {
            writeAnswer(known(command), reply, encoder);
        }
    }

    /**
     * Reads an answer.
     *
     * @param <R>     its type.
     * @param command what is answered.
     * @param body    its bytes.
     * @return the answer.
     */
    @SuppressWarnings("unchecked") // The method of a command reads what the command is answered with.
    public <R> R readReply(final Command<R> command, final byte[] body) {
        final Decoder decoder = decoder(body);
        final Object reply = command instanceof Batch<?> batch ? readResults(batch.items(), decoder)
            : decoder.record(known(command).readReply());
        end(decoder);
        return (R) reply;
    }

    /**
     * Writes a wait for work.
     *
     * @param wait the wait.
     * @param out  is appended to.
     */
    public static void writeAwaitWork(final AwaitWork wait, final MessageWriter out) {
        out.array(2).uuid(wait.clientId()).number(wait.timeoutMs());
    }

    /**
     * Reads a wait for work.
     *
     * @param body its bytes.
     * @return the wait.
     */
    public AwaitWork readAwaitWork(final byte[] body) {
        return read(body, d -> new AwaitWork(d.uuid(), d.count()));
    }

    /**
     * Writes which kinds of work there are.
     *
     * @param kinds bits of {@link WorkKind}.
     * @param out   is appended to.
     */
    public static void writeWork(final int kinds, final MessageWriter out) {
        out.array(1).number(kinds);
    }

    /**
     * Reads which kinds of work there are.
     *
     * @param body the answer's bytes.
     * @return bits of {@link WorkKind}, and perhaps others of later versions.
     */
    public int readWork(final byte[] body) {
        return read(body, d -> d.count(Integer.MAX_VALUE));
    }

    private Decoder decoder(final byte[] body) {
        final Decoder kept = decoders.poll();
        return (kept != null ? kept : new Decoder(addresses)).reset(body);
    }

    /** The message ends here, and the decoder is free; one that has thrown is left to the collector. */
    private void end(final Decoder decoder) {
        decoder.in().endMessage();
        decoder.clear();
        decoders.offer(decoder);
    }

    private <T> T read(final byte[] body, final Function<Decoder, T> fields) {
        final Decoder decoder = decoder(body);
        final T value = decoder.record(fields);
        end(decoder);
        return value;
    }

    private static void writeBatch(final List<? extends Command<?>> items, final Encoder encoder) {
        if (items.isEmpty() || items.size() > Batch.MAX_ITEMS) {
            throw new IllegalArgumentException("a batch of " + items.size() + " commands; 1 to " + Batch.MAX_ITEMS
                + " go on the wire");
        }
        final Method<?, ?> method = known(items.getFirst());
        encoder.array(2).number(method.number()).array(items.size());
        for (int i = 0; i < items.size(); i++) {
            if (items.get(i).getClass() != method.type()) {
                throw new IllegalArgumentException("a batch of " + method.type().getSimpleName() + " has a "
                    + items.get(i).getClass().getSimpleName() + "; its commands are all of one kind");
            }
            writeCommand(method, items.get(i), encoder);
        }
    }

    private static Batch<Object> readBatch(final Decoder decoder) {
        decoder.in().begin();
        final long number = decoder.number();
        if (number < 0 || number > Integer.MAX_VALUE) {
            throw new MalformedMessageException("a batch of method " + number);
        }
        final Method<?, ?> method = numbered((int) number);
        final int count = decoder.in().begin(Batch.MAX_ITEMS);
        if (count == 0) {
            throw new MalformedMessageException("a batch without commands");
        }
        final List<Command<Object>> items = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            items.add(command(method, decoder));
        }
        decoder.in().end();
        decoder.in().end();
        return new Batch<>(items);
    }

    private static void writeResults(final List<? extends Command<?>> items, final List<?> results,
        final Encoder encoder) {
        final Method<?, ?> method = known(items.getFirst());
        encoder.array(1).array(results.size());
        for (int i = 0; i < results.size(); i++) {
            final BatchResult<?> result = (BatchResult<?>) results.get(i);
            encoder.array(2);
            if (result.failure() == null) {
                writeAnswer(method, result.outcome(), encoder.number(0));
            } else {
                encoder.number(-result.failure().code().number()).text(Failures.text(result.failure()));
            }
        }
    }

    private static List<BatchResult<Object>> readResults(final List<? extends Command<?>> items,
        final Decoder decoder) {
        final Method<?, ?> method = known(items.getFirst());
        decoder.in().begin();
        final int count = decoder.in().begin(items.size());
        if (count != items.size()) {
            throw new MalformedMessageException("a batch of " + items.size() + " commands has " + count + " answers");
        }
        final List<BatchResult<Object>> results = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            decoder.in().begin();
            final int code = decoder.count(Integer.MAX_VALUE);
            results.add(code == 0 ? new BatchResult<>(decoder.record(method.readReply()), null)
                : new BatchResult<>(null, Failures.received(code, decoder.text(Decoder.MAX_MESSAGE))));
            decoder.in().end();
        }
        decoder.in().end();
        decoder.in().end();
        return results;
    }

    private static Method<?, ?> known(final Command<?> command) {
        final Method<?, ?> method = BY_TYPE.get(command.getClass());
        if (method == null) {
            throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE, command.getClass().getSimpleName()
                + " is not sent to a master; the master does it by itself");
        }
        return method;
    }

    private static Method<?, ?> numbered(final int number) {
        final Method<?, ?> method = BY_NUMBER.get(number);
        if (method == null) {
            throw new RpcException(RpcStatus.UNKNOWN_METHOD, "method " + number + " is not known here", null);
        }
        return method;
    }

    // The casts below: a command's class has found the method, whose types are that class's.

    @SuppressWarnings("unchecked")
    private static <C extends Command<R>, R> boolean repeatable(final Method<C, R> method, final Command<?> command) {
        return method.repeatable().test((C) command);
    }

    @SuppressWarnings("unchecked")
    private static <C extends Command<R>, R> void writeCommand(final Method<C, R> method, final Command<?> command,
        final Encoder encoder) {
        method.request().accept(encoder, (C) command);
    }

    @SuppressWarnings("unchecked")
    private static <C extends Command<R>, R> void writeAnswer(final Method<C, R> method, final Object reply,
        final Encoder encoder) {
        method.reply().accept(encoder, (R) reply);
    }

    @SuppressWarnings("unchecked")
    private static Command<Object> command(final Method<?, ?> method, final Decoder decoder) {
        return (Command<Object>) decoder.record(method.readRequest());
    }
}
