package io.kvtier.store.snapshot.files;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/** A small blob for people: a line, and one with its checksum. */
final class CheckedText {
    private static final int MAX_BYTES = 1 << 20;
    private static final String SUM = "crc32c ";

    private CheckedText() {
    }

    static void write(final SnapshotStore store, final String name, final String line) throws IOException {
        final byte[] text = line.getBytes(StandardCharsets.UTF_8);
        final byte[] bytes = (line + '\n' + SUM + sum(text, text.length) + '\n').getBytes(StandardCharsets.UTF_8);
        try (SnapshotStore.Writing out = store.create(name)) {
            out.write(bytes, bytes.length);
            out.commit();
        }
    }

    static String read(final SnapshotStore store, final String name) throws IOException {
        final byte[] bytes;
        try (InputStream in = store.read(name)) {
            bytes = in.readNBytes(MAX_BYTES + 1);
        }
        if (bytes.length > MAX_BYTES) {
            throw new SnapshotFormatException(name + " has more than " + MAX_BYTES + " bytes");
        }
        // Latin-1 keeps every byte, so that what is not UTF-8 does not become something that is.
        final String text = new String(bytes, StandardCharsets.ISO_8859_1);
        final int end = text.indexOf('\n');
        if (end < 0 || !text.substring(end + 1).equals(SUM + sum(bytes, end) + '\n')) {
            throw new SnapshotFormatException(name + " is damaged: its checksum is not that of its first line");
        }
        return new String(bytes, 0, end, StandardCharsets.UTF_8);
    }

    private static String sum(final byte[] bytes, final int length) {
        final CRC32C sum = new CRC32C();
        sum.update(bytes, 0, length);
        return String.format("%08x", sum.getValue());
    }
}
