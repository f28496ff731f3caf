package io.kvtier.bindings.hf3fs;

import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;

/**
 * The links by which the client of 3FS knows shared memory: {@code MOUNT/3fs-virt/iovs/ID} with what kind of memory it
 * is behind the id. The library makes and removes them, but for those whose names it forms differently when it removes
 * them: of rings with {@link IoRingOptions.Flag#FORBID_READ_HOLES}, and of rings that could not be made to the end.
 * They would be held by the client, with the memory, until the process has ended.
 *
 * <p><b>Threading:</b> stateless. <b>Blocking:</b> on the client of 3FS.
 */
final class IovLink {
    private static final System.Logger LOG = System.getLogger(IovLink.class.getName());
    /** An id's bytes are those of the text from left to right. */
    private static final ValueLayout.OfLong HALF = ValueLayout.JAVA_LONG_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);

    private IovLink() {
    }

    static Path path(final String mountPoint, final UUID id, final String kind) {
        return Path.of(mountPoint, "3fs-virt", "iovs", id + kind);
    }

    /** The mounted file system of the client that has a mount point: that of its folder of links. */
    static long deviceOf(final String mountPoint) {
        try (PosixFile folder =
            PosixFile.open(Path.of(mountPoint, "3fs-virt", "iovs").toString(), OpenMode.READ)) {
            return folder.status().device();
        } catch (final ErrnoException e) {
            throw new UsrbioException("hf3fs_iorcreate4", e.errno(), e.getMessage());
        }
    }

    static UUID id(final MemorySegment struct, final long offset) {
        return new UUID(struct.get(HALF, offset), struct.get(HALF, offset + Long.BYTES));
    }

    /** The name of a ring's link, as the library makes it (UsrbIo.cc, hf3fs_iovcreate_general). */
    static String kindOf(final IoRingOptions options) {
        return "." + (options.read() ? 'r' : 'w') + options.batch() + ".t" + options.batchTimeoutMs()
            + (options.flags() == 0 ? "" : ".f" + Integer.toBinaryString(options.flags()));
    }

    /** Removes the link of a ring's memory, if the library has left it there. */
    static void removeLeftover(final String mountPoint, final MemorySegment ring, final IoRingOptions options) {
        final UUID id = id(ring, UsrbioLayout.IOR_IOV + UsrbioLayout.IOV_ID);
        if (id.getMostSignificantBits() == 0 && id.getLeastSignificantBits() == 0) {
            // No memory was made.
            return;
        }
        final Path link = path(mountPoint, id, kindOf(options));
        try {
            Files.deleteIfExists(link);
        } catch (final IOException e) {
            LOG.log(System.Logger.Level.WARNING, link + " stays until this process has ended", e);
        }
    }
}
