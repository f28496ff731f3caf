package io.kvtier.transport.rpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
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

    /** Every kind of value as MessagePack for Java has it by default, with lengths where headers change. */
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

    /** Counts that 32 bits cannot add up: of a map's keys and values, and of arrays inside each other. */
    @Example
    void aValueIsNotShorterThanItSays() {
        for (final String counts : List.of("df40000000", "df7fffffff", "ddffffffff", "dfffffffff",
            "93" + "dd7fffffff".repeat(3), "c67fffffff", "c6ffffffff", "c97fffffff05", "c9ffffffff05", "c1")) {
            assertMalformed("92" + counts + "0000", reader -> {
                reader.begin();
                reader.raw(100);
            });
            assertMalformed("92" + counts + "0000", reader -> {
                reader.begin();
                reader.end();
            });
        }
    }

    @Example
    void textsAndBytesAreNotTakenForEachOther() {
        for (final String text : List.of("a141", "d90141", "da000141", "db0000000141")) {
            assertMalformed(text, reader -> reader.bytes(10));
        }
        for (final String bytes : List.of("c40141", "c5000141", "c600000001" + "41")) {
            assertMalformed(bytes, reader -> reader.text(10));
        }
    }

    /** Values that end before, at and behind the end of the array that a writer begins with, and of larger ones. */
    @Property
    void aWriterGrowsAndIsUsedAgain(@ForAll @IntRange(max = 1100) final int before,
        @ForAll @IntRange(max = 1100) final int length, @ForAll final long number) {
        final byte[] bytes = new byte[length];
        Arrays.fill(bytes, (byte) 7);
        final MessageWriter writer = new MessageWriter();
        for (int round = 0; round < 3; round++) {
            writer.array(before + 4);
            for (int i = 0; i < before; i++) {
                writer.number(i & 0x7f);
            }
            writer.bytes(bytes).text("x".repeat(length)).number(number);
            final int kept = writer.length();
            writer.raw(bytes).cutTo(kept);
            writer.uuid(new UUID(number, length));
            assertEquals(writer.length(), writer.toBytes().length);

            final MessageReader reader = new MessageReader(writer.toBytes());
            assertEquals(before + 4, reader.begin());
            for (int i = 0; i < before; i++) {
                assertEquals(i & 0x7f, reader.number());
            }
            assertArrayEquals(bytes, reader.bytes(length));
            assertEquals("x".repeat(length), reader.text(length));
            assertEquals(number, reader.number());
            assertEquals(new UUID(number, length), reader.uuid());
            reader.end();
            reader.endMessage();
            writer.clear();
            assertEquals(0, writer.length());
        }
    }

    @Example
    void aReaderBeginsAnotherMessageWhereverItWas() {
        final MessageReader reader = new MessageReader();
        assertThrows(MalformedMessageException.class, reader::number);
        reader.reset(HexFormat.of().parseHex("9392c0c0"));
        reader.begin();
        reader.begin();
        assertThrows(MalformedMessageException.class, reader::begin);
        reader.reset(new byte[] {5});
        assertEquals(5, reader.number());
        reader.endMessage();
        reader.clear();
        assertThrows(MalformedMessageException.class, reader::number);
    }

    /** Bytes by the specification of MessagePack, not by the library. */
    @Example
    void messagesAreMessagePack() {
        final byte[] message = new MessageWriter().array(5).number(-1).number(1L << 32).flag(true).text("é")
            .bytes(new byte[] {1}).toBytes();

        assertEquals("95" + "ff" + "cf0000000100000000" + "c3" + "a2c3a9" + "c40101",
            HexFormat.of().formatHex(message));
    }

    private static void assertWritten(final String hex, final MessageWriter writer) {
        assertEquals(hex, HexFormat.of().formatHex(writer.toBytes(), 0, hex.length() / 2));
    }

    /** First and last of every header, from the tables of the specification. */
    @Example
    void everyHeaderIsTheShortest() {
        final String[] numbers = {"0 00", "127 7f", "128 cc80", "255 ccff", "256 cd0100", "65535 cdffff",
            "65536 ce00010000", "4294967295 ceffffffff", "4294967296 cf0000000100000000",
            "9223372036854775807 cf7fffffffffffffff", "-1 ff", "-32 e0", "-33 d0df", "-128 d080", "-129 d1ff7f",
            "-32768 d18000", "-32769 d2ffff7fff", "-2147483648 d280000000", "-2147483649 d3ffffffff7fffffff",
            "-9223372036854775808 d38000000000000000"};
        for (final String row : numbers) {
            final String[] columns = row.split(" ");
            final MessageWriter written = new MessageWriter().number(Long.parseLong(columns[0]));
            assertEquals(columns[1], HexFormat.of().formatHex(written.toBytes()), row);
        }
        final String[] lengths = {"0 90 a0 c400", "15 9f af c40f", "16 dc0010 b0 c410", "31 dc001f bf c41f",
            "32 dc0020 d920 c420", "255 dc00ff d9ff c4ff", "256 dc0100 da0100 c50100", "65535 dcffff daffff c5ffff",
            "65536 dd00010000 db00010000 c600010000"};
        for (final String row : lengths) {
            final String[] columns = row.split(" ");
            final int length = Integer.parseInt(columns[0]);
            assertWritten(columns[1], new MessageWriter().array(length));
            assertWritten(columns[2], new MessageWriter().text("x".repeat(length)));
            assertWritten(columns[3], new MessageWriter().bytes(new byte[length]));
        }
        assertWritten("c0", new MessageWriter().nothing());
        assertWritten("c2", new MessageWriter().flag(false));
        assertWritten("a13f", new MessageWriter().text("\ud800"));
    }

    @Example
    void aClearedWriterIsEmpty() {
        final MessageWriter writer = new MessageWriter().array(1).number(5);
        writer.clear();

        assertArrayEquals(new byte[] {7}, writer.number(7).toBytes());
    }
}
