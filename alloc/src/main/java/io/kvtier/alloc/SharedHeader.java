package io.kvtier.alloc;

import io.kvtier.bindings.posix.BlockIo;
import io.kvtier.bindings.posix.PosixFile;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * The first page of a file of shared memory, by which a process that opens it knows what it has before it.
 *
 * <pre>
 *   offset  bytes
 *        0      8  magic, "KVTIERSM"; written last, so that a file whose owner died while making it has none
 *        8      4  version, 1
 *       12      4  where the memory begins, 4096
 *       16      8  length of the memory in bytes, at least 1
 *       24      8  length of the file in bytes, whole pages (huge pages on hugetlbfs), header included
 *       32      8  process that owns it, in the numbering of its own namespace; for people, nothing relies on it
 *       40     32  SHA-256 of the token that it was created with; zeros for none
 *       72         zeros up to 4096
 * </pre>
 *
 * <p>Numbers are little-endian. Nothing here changes after the file was created.
 *
 * @param dataBytes length of the memory.
 * @param fileBytes length of the file.
 */
record SharedHeader(long dataBytes, long fileBytes) {
    /** Bytes before the memory: a page, so that it starts at one. */
    static final long BYTES = 4096;
    static final int VERSION = 1;

    /** {@code KVTIERSM} as a little-endian number. */
    private static final long MAGIC = 0x4d53_5245_4954_564bL;
    private static final long AT_VERSION = 8;
    private static final long AT_START = 12;
    private static final long AT_DATA = 16;
    private static final long AT_FILE = 24;
    private static final long AT_OWNER = 32;
    private static final long AT_TOKEN = 40;
    private static final int HASH_BYTES = 32;
    private static final ValueLayout.OfLong LONG = ValueLayout.JAVA_LONG.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT.withOrder(ByteOrder.LITTLE_ENDIAN);

    /** Writes it to the start of a new file, which is zeroed. */
    void write(final MemorySegment file, final byte[] token) {
        file.set(INT, AT_VERSION, VERSION);
        file.set(INT, AT_START, (int) BYTES);
        file.set(LONG, AT_DATA, dataBytes);
        file.set(LONG, AT_FILE, fileBytes);
        file.set(LONG, AT_OWNER, ProcessHandle.current().pid());
        MemorySegment.copy(hash(token), 0, file, ValueLayout.JAVA_BYTE, AT_TOKEN, HASH_BYTES);
        LONG.varHandle().setRelease(file, 0L, MAGIC);
    }

    /**
     * Reads it by a system call, which a file that is too short does not fault.
     *
     * @param token what the memory must have been created with; null for anything.
     * @throws IllegalArgumentException when this is no such file, or not the one that is meant.
     */
    static SharedHeader read(final PosixFile file, final byte[] token) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment page = arena.allocate(BYTES, Long.BYTES);
            final long there = BlockIo.readFully(file, page, 0);
            if (there < BYTES || page.get(LONG, 0) != MAGIC) {
                throw unusable(file, "it does not begin with a header of kvtier");
            }
            if (page.get(INT, AT_VERSION) != VERSION || page.get(INT, AT_START) != BYTES) {
                throw unusable(file, "its version is " + page.get(INT, AT_VERSION) + " and this library reads "
                    + VERSION + "; use the same release on both sides");
            }
            final SharedHeader header = new SharedHeader(page.get(LONG, AT_DATA), page.get(LONG, AT_FILE));
            header.check(file);
            if (token != null && !MessageDigest.isEqual(hash(token),
                page.asSlice(AT_TOKEN, HASH_BYTES).toArray(ValueLayout.JAVA_BYTE))) {
                throw unusable(file, "it was not created with the token that is shown; ask its owner for the address "
                    + "and the token again");
            }
            return header;
        }
    }

    private void check(final PosixFile file) {
        final long size = file.size();
        // A mapping that is longer than the file faults behind its end.
        if (fileBytes > size) {
            throw unusable(file, "it should have " + fileBytes + " bytes and has " + size + "; it was cut");
        }
        if (fileBytes <= BYTES || dataBytes < 1 || dataBytes > fileBytes - BYTES) {
            throw unusable(file, "its header says that " + dataBytes + " bytes of memory are in a file of " + fileBytes
                + " bytes, behind " + BYTES + " of header");
        }
    }

    private static byte[] hash(final byte[] token) {
        if (token == null) {
            return new byte[HASH_BYTES];
        }
        try {
            return MessageDigest.getInstance("SHA-256").digest(token);
        } catch (final NoSuchAlgorithmException e) {
            throw new AssertionError("every Java platform has SHA-256", e);
        }
    }

    private static IllegalArgumentException unusable(final PosixFile file, final String why) {
        return new IllegalArgumentException("cannot use " + file.path() + " as shared memory: " + why);
    }
}
