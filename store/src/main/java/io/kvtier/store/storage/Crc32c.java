package io.kvtier.store.storage;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/** The checksum of headers and records. <b>Threading:</b> stateless. */
final class Crc32c {
    private Crc32c() {
    }

    /** CRC-32C of what is left in a buffer, which is empty then. */
    static int of(final ByteBuffer bytes) {
        final CRC32C crc = new CRC32C();
        crc.update(bytes);
        return (int) crc.getValue();
    }
}
