package io.kvtier.transport.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.UUID;
import java.util.function.Consumer;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.StringLength;

/** Messages: what is written is read, what was appended is passed over, and no bytes do harm. */
class MessageProperties {
    @Property
    void whatIsWrittenIsRead(@ForAll final long number, @ForAll final boolean flag,
        @ForAll @StringLength(max = 50) final String text, @ForAll final byte[] bytes, @ForAll final long high,
        @ForAll final long low) {
        final String valid = new String(text.getBytes(StandardCharsets.UTF_8),
            StandardCharsets.UTF_8);
        final byte[] message = new MessageWriter().array(6).number(number).flag(flag).text(valid).bytes(bytes)
            .uuid(new UUID(high, low)).nothing().toBytes();

        final MessageReader reader = new MessageReader(message);
        assertEquals(6, reader.begin());
        assertEquals(number, reader.number());
        assertEquals(flag, reader.flag());
        assertEquals(valid, reader.text(400));
        assertArrayEquals(bytes, reader.bytes(10_000));
        assertFalse(reader.nothing());
        assertEquals(new UUID(high, low), reader.uuid());
        assertTrue(reader.nothing());
        assertFalse(reader.has());
        reader.end();
        reader.endMessage();
    }

    @Property
    void aReaderPassesOverWhatANewerWriterAppended(@ForAll @IntRange(max = 5) final int more, @ForAll final long next) {
        final MessageWriter writer = new MessageWriter().array(2).array(1 + more).number(7);
        for (int i = 0; i < more; i++) {
            writer.array(2).text("new").array(1).nothing();
        }
        final MessageReader reader = new MessageReader(writer.number(next).toBytes());

        reader.begin();
        reader.begin();
        assertEquals(7, reader.number());
        assertEquals(more > 0, reader.has());
        reader.end();
        assertEquals(next, reader.number());
        reader.end();
        reader.endMessage();
    }

    @Property(tries = 5000)
    void noBytesDoHarm(@ForAll final byte[] bytes, @ForAll @IntRange(max = 6) final int how) {
        final MessageReader reader = new MessageReader(bytes);
        try {
            reader.begin(1000);
            while (reader.has()) {
                switch (how) {
                    case 0 -> reader.number();
                    case 1 -> reader.flag();
                    case 2 -> reader.text(100);
                    case 3 -> reader.bytes(100);
                    case 4 -> reader.uuid();
                    case 5 -> reader.begin();
                    default -> reader.nothing();
                }
                if (how == 6) {
                    break;
                }
            }
            reader.end();
            reader.endMessage();
        } catch (final MalformedMessageException e) {
            assertFalse(e.getMessage().isEmpty());
        }
    }

    private static void assertMalformed(final String hex, final Consumer<MessageReader> read) {
        final MessageReader reader = new MessageReader(HexFormat.of().parseHex(hex));
        assertThrows(MalformedMessageException.class, () -> read.accept(reader), hex);
    }

    @Example
    void lengthsAreComparedWithWhatThereIsBeforeMemoryIsTaken() {
        assertMalformed("dd7fffffff", MessageReader::begin);
        assertMalformed("ddffffffff", MessageReader::begin);
        assertMalformed("93c0", MessageReader::begin);
        assertMalformed("92c0c0", reader -> reader.begin(1));
        assertMalformed("c67fffffff00", reader -> reader.bytes(Integer.MAX_VALUE));
        assertMalformed("c6ffffffff00", reader -> reader.bytes(Integer.MAX_VALUE));
        assertMalformed("db7fffffff41", reader -> reader.text(Integer.MAX_VALUE));
        assertMalformed("a34142", reader -> reader.text(10));
        assertMalformed("a3414243", reader -> reader.text(2));
        assertMalformed("a2c328", reader -> reader.text(10));
        assertMalformed("cfffffffffffffffff", MessageReader::number);
        assertMalformed("05", reader -> reader.number(6, 9));
        assertMalformed("0505", reader -> {
            reader.number();
            reader.endMessage();
        });
        assertMalformed("91".repeat(33), reader -> {
            for (int i = 0; i < 33; i++) {
                reader.begin();
            }
        });
        assertMalformed("9105", reader -> {
            reader.begin();
            reader.number();
            reader.number();
        });
    }

    /** Bytes by the specification of MessagePack, not by the library. */
    @Example
    void messagesAreMessagePack() {
        final byte[] message = new MessageWriter().array(5).number(-1).number(1L << 32).flag(true).text("é")
            .bytes(new byte[] {1}).toBytes();

        assertEquals("95" + "ff" + "cf0000000100000000" + "c3" + "a2c3a9" + "c40101",
            HexFormat.of().formatHex(message));
    }

    @Example
    void aClearedWriterIsEmpty() {
        final MessageWriter writer = new MessageWriter().array(1).number(5);
        writer.clear();

        assertArrayEquals(new byte[] {7}, writer.number(7).toBytes());
    }
}
