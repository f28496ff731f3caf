package io.kvtier.store.snapshot.files;

import io.airlift.compress.v3.zstd.ZstdJavaCompressor;
import io.kvtier.transport.rpc.MessageWriter;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * Writes a payload: rows into chunks, chunks behind the header.
 *
 * <pre>
 * header  0 "KVTIERSN"  8 version (4)  12 zero (4)  16 term (8)  24 number (8)  32 CRC-32C of 0..31  zeros to 64
 * chunk   0 section (4)  4 rows (4)  8 bytes (4)  12 bytes stored (4)  16 CRC-32C of 0..15 and 20..  20 zstd frame
 * </pre>
 *
 * <p><b>Threading:</b> one thread.
 */
final class PayloadWriter {
    static final byte[] MAGIC = {'K', 'V', 'T', 'I', 'E', 'R', 'S', 'N'};
    static final int HEADER_BYTES = 64;
    static final int HEADER_SUMMED = 32;
    static final int CHUNK_HEADER_BYTES = 20;
    static final int CHUNK_SUMMED = 16;
    /** No chunk has more than this, whatever its rows are. */
    static final int MAX_CHUNK_BYTES = 64 << 20;
    private static final int CHUNK_BYTES = 1 << 20;

    private final SnapshotStore.Writing out;
    private final MessageWriter rows = new MessageWriter(MAX_CHUNK_BYTES);
    private final ZstdJavaCompressor compressor = new ZstdJavaCompressor();
    private final CRC32C all = new CRC32C();
    private final Map<String, Long> counts = new LinkedHashMap<>();
    private byte[] stored = new byte[0];
    private Section section;
    private int rowsInChunk;
    private long chunks;
    private long bytes;

    /** Begins with the header. */
    PayloadWriter(final SnapshotStore.Writing out, final SnapshotId id) throws IOException {
        this.out = out;
        final ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES).order(ByteOrder.LITTLE_ENDIAN).put(MAGIC)
            .putInt(Manifest.FORMAT).putInt(0).putLong(id.term()).putLong(id.number());
        final CRC32C sum = new CRC32C();
        sum.update(header.array(), 0, HEADER_SUMMED);
        header.putInt((int) sum.getValue());
        append(header.array(), HEADER_BYTES);
    }

    /** Begins a row of a section; the caller writes one array. */
    MessageWriter row(final Section of) throws IOException {
        if (section != of || rows.length() >= CHUNK_BYTES) {
            flush();
            section = of;
        }
        rowsInChunk++;
        counts.merge(Manifest.name(of), 1L, Long::sum);
        return rows;
    }

    private void flush() throws IOException {
        if (rowsInChunk == 0) {
            return;
        }
        final byte[] raw = rows.toBytes();
        final int room = CHUNK_HEADER_BYTES + compressor.maxCompressedLength(raw.length);
        if (stored.length < room) {
            stored = new byte[room];
        }
        final int length = compressor.compress(raw, 0, raw.length, stored, CHUNK_HEADER_BYTES,
            stored.length - CHUNK_HEADER_BYTES);
        chunk(stored, section.number(), raw.length, length);
        rows.clear();
        rowsInChunk = 0;
    }

    private void chunk(final byte[] chunk, final int number, final int raw, final int length) throws IOException {
        final ByteBuffer header = ByteBuffer.wrap(chunk).order(ByteOrder.LITTLE_ENDIAN).putInt(number)
            .putInt(rowsInChunk).putInt(raw).putInt(length);
        final CRC32C sum = new CRC32C();
        sum.update(chunk, 0, CHUNK_SUMMED);
        sum.update(chunk, CHUNK_HEADER_BYTES, length);
        header.putInt((int) sum.getValue());
        append(chunk, CHUNK_HEADER_BYTES + length);
        chunks++;
    }

    private void append(final byte[] from, final int length) throws IOException {
        all.update(from, 0, length);
        bytes += length;
        out.write(from, length);
    }

    /** Writes the end. */
    void finish() throws IOException {
        flush();
        chunk(new byte[CHUNK_HEADER_BYTES], Section.END, 0, 0);
    }

    long bytes() {
        return bytes;
    }

    long crc32c() {
        return all.getValue();
    }

    long chunks() {
        return chunks;
    }

    Map<String, Long> rows() {
        return counts;
    }
}
