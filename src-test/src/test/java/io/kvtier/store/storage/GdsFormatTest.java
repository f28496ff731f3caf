package io.kvtier.store.storage;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.store.ObjectKey;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The file and its index as bytes: those that FORMAT.md tells of are read, and written. */
@ExtendWith(LeakCheck.class)
class GdsFormatTest {
    private static final int UNIT = Value.UNIT;
    private static final int INDEX_HEADER = 64;

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;

    private Path file() {
        return directory.resolve("gds");
    }

    private Path index() {
        return directory.resolve("gds.index");
    }

    private GdsRig.Setup setup() {
        return GdsRig.Setup.of(file(), 8, true);
    }

    /** The bytes that FORMAT.md tells of, put together by hand. */
    private static byte[] recordedHeader() {
        final ByteBuffer header = ByteBuffer.allocate(UNIT).order(ByteOrder.LITTLE_ENDIAN);
        header.put("KVTIERGF".getBytes(StandardCharsets.US_ASCII)).putInt(1).putInt(4096).putLong(8L * UNIT);
        header.putLong(0x0011223344556677L).putLong(0x8899aabbccddeeffL).putLong(5);
        header.putInt(crc(header, 0, 48));
        return header.array();
    }

    private static int crc(final ByteBuffer buffer, final int from, final int length) {
        final CRC32C crc = new CRC32C();
        crc.update(buffer.slice(from, length));
        return (int) crc.getValue();
    }

    private static byte[] recordedIndex(final List<byte[]> records) {
        final ByteBuffer index = ByteBuffer.allocate(4096).order(ByteOrder.LITTLE_ENDIAN);
        index.put("KVTIERGX".getBytes(StandardCharsets.US_ASCII)).putInt(1).putInt(0);
        index.putLong(0x0011223344556677L).putLong(0x8899aabbccddeeffL).putLong(5);
        index.putInt(crc(index, 0, 40));
        index.position(INDEX_HEADER);
        records.forEach(index::put);
        return Arrays.copyOf(index.array(), index.position());
    }

    private static byte[] recorded(final String kindAndFlags, final long[] numbers, final String tenant,
        final String key) {
        final ByteBuffer record = ByteBuffer.allocate(200).order(ByteOrder.LITTLE_ENDIAN);
        record.position(8);
        record.put(HexFormat.of().parseHex(kindAndFlags));
        for (final long number : numbers) {
            record.putLong(number);
        }
        for (final String text : List.of(tenant, key)) {
            final byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            record.putShort((short) bytes.length).put(bytes);
        }
        final int length = record.position() - 8;
        record.putInt(0, length).putInt(4, crc(record, 8, length));
        return Arrays.copyOf(record.array(), 8 + length);
    }

    @Test
    void shouldReadAndWriteTheRecordedBytesOfVersion1() throws IOException {
        final byte[] alpha = recorded("0101", new long[] {1, 0, 100, 0xEF46DB3751D8E999L, 7}, "default", "alpha");
        final byte[] beta = recorded("0100", new long[] {0x0102030405060708L, 4096, 4096, 0, 8}, "default", "beta");
        final byte[] gamma = recorded("0100", new long[] {9, 8192, 8191, 0, 9}, "tenant-7", "prefix/\u00e9");
        final byte[] betaGone = recorded("0200", new long[] {0x0102030405060708L, 4096, 0, 0, 8}, "default", "beta");
        Files.write(file(), Arrays.copyOf(recordedHeader(), 9 * UNIT));
        Files.write(index(), recordedIndex(List.of(alpha, beta, gamma, betaGone)));
        final StoredExtent first =
            new StoredExtent(ObjectKey.of("alpha"), 1, new Extent(0, UNIT), 100, true, 0xEF46DB3751D8E999L, 7);
        final StoredExtent third = new StoredExtent(new ObjectKey("tenant-7", "prefix/\u00e9"), 9,
            new Extent(2 * UNIT, 2 * UNIT), 8191, false, 0, 9);
        try (GdsRig rig = setup().open()) {
            assertEquals(UUID.fromString("00112233-4455-6677-8899-aabbccddeeff"), rig.storage().storageId());
            assertEquals(5, rig.storage().generation());
            assertEquals(List.of(first, third), rig.storage().recovered());
            assertTrue(rig.storage().adopt(first, 7));
            rig.storage().drop(2 * UNIT, 9);
            rig.storage().flush();
            final byte[] thirdGone = recorded("0200", new long[] {9, 8192, 0, 0, 9}, "tenant-7", "prefix/\u00e9");
            final byte[] written = Files.readAllBytes(index());
            final byte[] expected = recordedIndex(List.of(alpha, gamma, thirdGone));
            assertArrayEquals(expected, Arrays.copyOf(written, expected.length));
            for (int i = expected.length; i < written.length; i++) {
                assertEquals(0, written[i], "only zeros are written ahead");
            }
        }
        assertArrayEquals(recordedHeader(), Arrays.copyOf(Files.readAllBytes(file()), UNIT));
        assertArrayEquals(recordedIndex(List.of(alpha)), Files.readAllBytes(index()), "compact");
        try (GdsRig rig = setup().warm(false).open()) {
            assertEquals(6, rig.storage().generation());
        }
        final ByteBuffer header = ByteBuffer.wrap(recordedHeader()).order(ByteOrder.LITTLE_ENDIAN);
        header.putLong(40, 6).putInt(48, crc(header, 0, 48));
        assertArrayEquals(header.array(), Arrays.copyOf(Files.readAllBytes(file()), UNIT));
    }
}
