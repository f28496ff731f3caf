package io.kvtier.transport.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.UUID;
import java.util.function.Consumer;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.StringLength;
import org.msgpack.core.MessageBufferPacker;
import org.msgpack.core.MessagePack;

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

    /** Every kind of value as MessagePack for Java writes and reads it, with lengths where the header changes. */
    @Property
    void theLibraryWritesAndReadsTheSame(@ForAll final long any, @ForAll @IntRange(max = 63) final int shift,
        @ForAll @IntRange(max = 7) final int around) throws IOException {
        final long number = any >> shift;
        final int length = new int[] {0, 15, 31, 32, 255, 256, 65_535, 65_536}[around];
        final String text = "x".repeat(length);
        final byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        final MessageWriter writer = new MessageWriter().array(length).number(number).text(text).bytes(bytes)
            .flag(number > 0).nothing();
        final byte[] library;
        try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
            packer.packArrayHeader(length).packLong(number).packString(text).packBinaryHeader(length)
                .writePayload(bytes).packBoolean(number > 0).packNil();
            library = packer.toByteArray();
        }
        assertArrayEquals(library, writer.toBytes());

        final MessageReader reader = new MessageReader(new MessageWriter().array(5).number(number).text(text)
            .bytes(bytes).flag(true).raw(library).toBytes());
        reader.begin();
        assertEquals(number, reader.number());
        assertEquals(text, reader.text(length));
        assertArrayEquals(bytes, reader.bytes(length));
        assertTrue(reader.flag());
    }

    /** Values that a later version may append, of every kind there is, passed over and carried on. */
    @Property
    void valuesOfEveryKindArePassedOver(@ForAll final double number, @ForAll @IntRange(max = 300) final int length)
        throws IOException {
        final byte[] library;
        try (MessageBufferPacker packer = MessagePack.newDefaultBufferPacker()) {
            packer.packMapHeader(2).packString("a").packDouble(number).packArrayHeader(2).packFloat(1).packNil()
                .packExtensionTypeHeader((byte) 5, length).writePayload(new byte[length]);
            library = packer.toByteArray();
        }
        final byte[] message = new MessageWriter().array(2).raw(library).number(9).toBytes();
        final MessageReader passing = new MessageReader(message);
        passing.begin();
        assertArrayEquals(library, passing.raw(library.length));
        assertEquals(9, passing.number());
        final MessageReader knowing = new MessageReader(message);
        knowing.begin();
        assertFalse(knowing.passIf(new byte[] {1}, 1));
        assertTrue(knowing.passIf(library, 1));
        assertEquals(9, knowing.number());
        final MessageReader refusing = new MessageReader(message);
        refusing.begin();
        assertThrows(MalformedMessageException.class, () -> refusing.raw(library.length - 1));
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
