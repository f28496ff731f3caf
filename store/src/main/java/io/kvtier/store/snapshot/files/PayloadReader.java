package io.kvtier.store.snapshot.files;

import io.airlift.compress.v3.MalformedInputException;
import io.airlift.compress.v3.zstd.ZstdJavaDecompressor;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.CRC32C;

/**
 * Reads the chunks of a payload, each of which is checked before it is looked into; see {@link PayloadWriter}. Memory
 * is taken only for lengths that have been checked.
 *
 * <p><b>Threading:</b> one thread.
 */
final class PayloadReader {
    private final InputStream in;
    private final Manifest manifest;
    private final ZstdJavaDecompressor decompressor = new ZstdJavaDecompressor();
    private final CRC32C all = new CRC32C();
    private long bytes;
    private long chunks;
    private byte[] stored = new byte[0];

    /**
     * A chunk.
     *
     * @param section its number; perhaps one that this version does not know.
     * @param rows    rows in it.
     * @param content the rows.
     */
    record Chunk(int section, int rows, byte[] content) {
    }

    /** Checks the header. */
    PayloadReader(final InputStream in, final Manifest manifest) throws IOException {
        this.in = in;
        this.manifest = manifest;
        final byte[] header = new byte[PayloadWriter.HEADER_BYTES];
        fill(header, header.length, "its header");
        final ByteBuffer fields = ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN);
        final CRC32C sum = new CRC32C();
        sum.update(header, 0, PayloadWriter.HEADER_SUMMED);
        final int version = fields.getInt(8);
        if (!Arrays.equals(header, 0, 8, PayloadWriter.MAGIC, 0, 8)
            || fields.getInt(PayloadWriter.HEADER_SUMMED) != (int) sum.getValue() || version > Manifest.FORMAT
            || fields.getLong(16) != manifest.id().term() || fields.getLong(24) != manifest.id().number()) {
            throw damaged("its header is not that of this snapshot");
        }
    }

    /** The next chunk; null at the end, where the whole payload has been checked. */
    Chunk next() throws IOException {
        final byte[] header = new byte[PayloadWriter.CHUNK_HEADER_BYTES];
        fill(header, header.length, "the header of chunk " + chunks);
        final ByteBuffer fields = ByteBuffer.wrap(header).order(ByteOrder.LITTLE_ENDIAN);
        final int section = fields.getInt();
        final int rows = fields.getInt();
        final int length = fields.getInt();
        final int storedLength = fields.getInt();
        if (rows < 0 || length < 0 || length > PayloadWriter.MAX_CHUNK_BYTES || storedLength < 0
            || storedLength > manifest.payloadBytes() - bytes) {
            throw damaged("chunk " + chunks + " has impossible lengths");
        }
        if (stored.length < storedLength) {
            stored = new byte[storedLength];
        }
        fill(stored, storedLength, "chunk " + chunks);
        final CRC32C sum = new CRC32C();
        sum.update(header, 0, PayloadWriter.CHUNK_SUMMED);
        sum.update(stored, 0, storedLength);
        if (fields.getInt() != (int) sum.getValue()) {
            throw damaged("the checksum of chunk " + chunks + " is wrong");
        }
        chunks++;
        if (section == Section.END) {
            end();
            return null;
        }
        return new Chunk(section, rows, decompressed(storedLength, length));
    }

    private byte[] decompressed(final int storedLength, final int length) throws IOException {
        final byte[] content = new byte[length];
        try {
            if (decompressor.decompress(stored, 0, storedLength, content, 0, length) == length) {
                return content;
            }
        } catch (final MalformedInputException | IllegalArgumentException | IndexOutOfBoundsException e) {
            throw new SnapshotFormatException(manifest.id().payload() + " is damaged: chunk " + (chunks - 1)
                + " cannot be decompressed", false, e);
        }
        throw damaged("chunk " + (chunks - 1) + " has fewer bytes than it says");
    }

    private void end() throws IOException {
        if (in.read() >= 0) {
            throw damaged("something follows its end");
        }
        if (bytes != manifest.payloadBytes() || chunks != manifest.chunks()
            || all.getValue() != manifest.payloadCrc32c()) {
            throw damaged("it has " + bytes + " bytes in " + chunks + " chunks; its manifest tells of "
                + manifest.payloadBytes() + " in " + manifest.chunks() + ", or of another checksum");
        }
    }

    private void fill(final byte[] into, final int length, final String what) throws IOException {
        final int read = in.readNBytes(into, 0, length);
        if (read < length) {
            throw damaged("it ends in " + what + ", after " + (bytes + read) + " of " + manifest.payloadBytes()
                + " bytes");
        }
        all.update(into, 0, length);
        bytes += length;
    }

    private SnapshotFormatException damaged(final String how) {
        return new SnapshotFormatException(manifest.id().payload() + " is damaged: " + how);
    }
}
