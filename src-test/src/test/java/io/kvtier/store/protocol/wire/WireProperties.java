package io.kvtier.store.protocol.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Batch;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.wire.RecordedMessages.Row;
import io.kvtier.transport.rpc.MalformedMessageException;
import io.kvtier.transport.rpc.MessageWriter;
import io.kvtier.transport.rpc.RpcException;
import io.kvtier.transport.rpc.RpcStatus;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

/** Messages of every kind: what is written is read, and no bytes do harm. */
class WireProperties {
    /** Garbage for each byte that came: the smallest values are a byte, and become objects in a list. */
    private static final long BYTES_FOR_A_BYTE = 200;
    private static final long BYTES_FOR_AN_ERROR = 1 << 20;

    private final WireCodec writing = new WireCodec();
    private final WireCodec reading = new WireCodec();

    private byte[] written(final Command<?> command) {
        final MessageWriter out = new MessageWriter();
        writing.writeRequest(command, 0, out);
        return out.toBytes();
    }

    private <R> byte[] written(final Command<R> command, final R reply) {
        final MessageWriter out = new MessageWriter();
        writing.writeReply(command, reply, out);
        return out.toBytes();
    }

    @Property(tries = 100)
    void whatIsWrittenIsRead(@ForAll final long seed) {
        final AnyMessage any = new AnyMessage(seed);
        for (final Class<?> kind : AnyMessage.kinds()) {
            final Command<Object> command = any.command(kind);
            final Object reply = any.reply(kind);
            final byte[] request = written(command);
            final byte[] answer = written(command, reply);

            assertEquals(command, reading.readRequest(WireCodec.method(command), request).command());
            assertEquals(reply, reading.readReply(command, answer));
            assertArrayEquals(answer, written(command, reading.readReply(command, answer)), "what is carried on");
        }
    }

    @Property(tries = 100)
    void batchesOfEveryKindAreReadWithTheirFailures(@ForAll final long seed) {
        final AnyMessage any = new AnyMessage(seed);
        for (final Class<?> kind : AnyMessage.kinds()) {
            final List<Command<Object>> commands = new ArrayList<>();
            final List<BatchResult<Object>> results = new ArrayList<>();
            for (int i = 0; i < 1 + (seed & 7); i++) {
                commands.add(any.command(kind));
                results.add(i % 3 == 1
                    ? new BatchResult<>(null, new StoreException(ErrorCode.values()[i], "for " + i))
                    : new BatchResult<>(any.reply(kind), null));
            }
            final Batch<Object> batch = new Batch<>(commands);

            assertEquals(batch, reading.readRequest(WireCodec.BATCH, written(batch)).command());
            final List<BatchResult<Object>> read = reading.readReply(batch, written(batch, results));
            for (int i = 0; i < results.size(); i++) {
                assertEquals(results.get(i).outcome(), read.get(i).outcome());
                assertEquals(String.valueOf(results.get(i).failure()), String.valueOf(read.get(i).failure()));
            }
        }
    }

    @Property(tries = 500)
    void randomBytesDoNoHarm(@ForAll final long seed) {
        final SplittableRandom random = new SplittableRandom(seed);
        final byte[] bytes = new byte[random.nextInt(200)];
        random.nextBytes(bytes);
        for (final Row row : RecordedMessages.all()) {
            tryRequest(row.method(), bytes);
            tryReply(row.command(), bytes);
        }
    }

    @Property(tries = 100)
    void changedMessagesDoNoHarm(@ForAll final long seed) {
        final SplittableRandom random = new SplittableRandom(seed);
        for (final Row row : RecordedMessages.all()) {
            tryRequest(row.method(), changed(row.requestBytes(), random));
            tryReply(row.command(), changed(row.replyBytes(), random));
        }
    }

    private static byte[] changed(final byte[] message, final SplittableRandom random) {
        byte[] bytes = message.clone();
        for (int change = 0; change < 1 + random.nextInt(4); change++) {
            final int at = random.nextInt(bytes.length);
            switch (random.nextInt(5)) {
                case 0 -> bytes[at] = (byte) random.nextInt();
                case 1 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
                // First bytes that announce much.
                case 2 -> bytes[at] = (byte) new int[] {0xc6, 0xdb, 0xdd, 0xdf, 0xc9, 0xcf, 0xdc}[random.nextInt(7)];
                case 3 -> bytes = Arrays.copyOf(bytes, at + 1);
                default -> {
                    bytes = Arrays.copyOf(bytes, bytes.length + 8);
                    System.arraycopy(bytes, at, bytes, at + 4, bytes.length - at - 4);
                }
            }
        }
        return bytes;
    }

    private void tryRequest(final int method, final byte[] bytes) {
        harmless(bytes.length, () -> reading.readRequest(method, bytes));
    }

    private void tryReply(final Command<?> command, final byte[] bytes) {
        harmless(bytes.length, () -> reading.readReply(command, bytes));
    }

    private static void harmless(final int length, final Runnable read) {
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        final long before = threads.getCurrentThreadAllocatedBytes();
        try {
            read.run();
        } catch (final MalformedMessageException | StoreException e) {
            assertTrue(!e.getMessage().isEmpty());
        } catch (final RpcException e) {
            assertEquals(RpcStatus.UNKNOWN_METHOD, e.status());
        }
        final long taken = threads.getCurrentThreadAllocatedBytes() - before;
        assertTrue(taken < BYTES_FOR_AN_ERROR + BYTES_FOR_A_BYTE * length, length + " bytes took " + taken);
    }

    /** The most that bytes can ask for: lists of the smallest values there are, in a message of a few megabytes. */
    @Example
    void largeMessagesTakeMemoryInProportion() {
        final int count = 1 << 21;
        final MessageWriter names = new MessageWriter().array(1).array(count);
        final MessageWriter keys = new MessageWriter().array(3).array(2).number(1).number(2).array(count);
        final MessageWriter lies = new MessageWriter().array(1).array(count);
        for (int i = 0; i < count; i++) {
            names.text("");
            keys.array(2).text("").text("k");
            lies.array(0);
        }
        for (int method = 1; method <= 100; method++) {
            final int number = method;
            for (final MessageWriter message : List.of(names, keys, lies)) {
                final byte[] bytes = message.toBytes();
                harmless(bytes.length, () -> reading.readRequest(number, bytes));
            }
        }
    }

    /** Nesting takes no stack, whether it is read or passed over. */
    @Example
    void deepMessagesAreRefusedOrPassedOver() {
        final byte[] deep = new byte[1 << 20];
        Arrays.fill(deep, (byte) 0x91);
        deep[deep.length - 1] = (byte) 0xc0;
        for (final Row row : RecordedMessages.all()) {
            tryRequest(row.method(), deep);
            tryReply(row.command(), deep);
        }
        final MessageWriter more = new MessageWriter().array(3).text("").text("k").raw(deep);

        assertEquals("Exists[key=default/k]", reading.readRequest(21, more.toBytes()).command().toString());
    }
}
