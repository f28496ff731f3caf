package io.kvtier.bindings.hf3fs;

import io.kvtier.bindings.Arenas;
import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.Mapping;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.UUID;

/**
 * Owner of memory shared with the client of 3FS ({@code struct hf3fs_iov}): the only memory that entries of a ring can
 * name. It is a file in {@code /dev/shm}, which the library makes readable and writable for everybody whom the
 * process's umask lets, and which the client registers with its network.
 *
 * <p>Its pages are taken at once, so that a {@code /dev/shm} that is too small is an error here, and not a signal at
 * the first access. Sizes that would end the process inside the library are refused before the call.
 *
 * <p><b>Threading:</b> thread-safe; who uses which bytes when is the users' to agree. <b>Lifetime:</b> every entry
 * holds it until it has been reaped; {@link #close()} returns at once, and the memory goes when the last entry has
 * ended, after which each access through the segment throws {@link IllegalStateException}. <b>Blocking:</b> making and
 * closing wait for the client, which pins or lets go of all of it.
 */
@SuppressWarnings("restricted")
public final class IoVector implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(IoVector.class.getName());
    private static final Path SHARED_MEMORY = Path.of("/dev/shm");

    private final String mountPoint;
    private final long byteSize;
    private final long blockBytes;
    /** The library's struct; its memory outlives the mapping, which is let go through it. */
    private final MemorySegment struct;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment segment;
    private int users;
    private boolean closed;

    /** Over a struct that the library has filled in. */
    private IoVector(final UsrbioFunctions functions, final String mountPoint, final MemorySegment struct,
        final long byteSize, final long blockBytes) {
        this.mountPoint = mountPoint;
        this.byteSize = byteSize;
        this.blockBytes = blockBytes;
        this.struct = struct;
        NativeResources.created(NativeTag.USRBIO_MEMORY, byteSize);
        segment = MemorySegment.ofAddress(struct.get(ValueLayout.JAVA_LONG, UsrbioLayout.IOV_BASE))
            .reinterpret(byteSize, arena, range -> {
                NativeResources.released(NativeTag.USRBIO_MEMORY, byteSize);
                functions.iovDestroy(struct);
            });
    }

    /**
     * Makes shared memory.
     *
     * @param usrbio     the library.
     * @param mountPoint of the 3FS, as {@link Usrbio#mountPoint} gives it.
     * @param byteSize   bytes, more than 0; of whole pages as a rule.
     * @param blockBytes the client registers blocks of so many bytes, and no entry may reach across two of them; 0 for
     *                   all of it at once.
     * @param numa       node that the memory is moved to; -1 for wherever it is.
     * @return the owner.
     * @throws UsrbioException when the mount point is none, or the memory cannot be made.
     */
    public static IoVector create(final Usrbio usrbio, final String mountPoint, final long byteSize,
        final long blockBytes, final int numa) {
        check(mountPoint, byteSize, blockBytes, numa);
        final UsrbioFunctions functions = usrbio.functions();
        final MemorySegment struct = Arena.ofAuto().allocate(UsrbioLayout.IOV_BYTES, Long.BYTES);
        final int result;
        try (Arena text = Arena.ofConfined()) {
            result = functions.iovCreate(struct, text.allocateFrom(mountPoint), byteSize, blockBytes, numa);
        }
        check("hf3fs_iovcreate", result, struct, text(mountPoint, byteSize, blockBytes));
        final IoVector vector = new IoVector(functions, mountPoint, struct, byteSize, blockBytes);
        try {
            vector.takePages();
        } catch (final RuntimeException | Error e) {
            vector.close();
            throw e;
        }
        return vector;
    }

    /**
     * Maps shared memory that another owner made, of this process or another one. The library has one way to let go of
     * memory, which <b>takes its name away from the client of 3FS whoever calls it</b>: close what was opened only when
     * the one who made it is done.
     *
     * @param usrbio     the library.
     * @param mountPoint of the 3FS.
     * @param id         what {@link #id()} of the maker gives.
     * @param byteSize   bytes, as it was made with.
     * @param blockBytes block, as it was made with.
     * @return an owner of a mapping of its own.
     * @throws IllegalArgumentException when there is less memory than that: touching the rest would be a signal.
     * @throws UsrbioException          ENOENT when the client knows no such memory.
     */
    public static IoVector open(final Usrbio usrbio, final String mountPoint, final UUID id, final long byteSize,
        final long blockBytes) {
        check(mountPoint, byteSize, blockBytes, -1);
        final long there = bytesBehind(IovLink.path(mountPoint, id, blockBytes > 0 ? ".b" + blockBytes : ""));
        if (byteSize > there) {
            throw new IllegalArgumentException("the shared memory " + id + " has " + there + " bytes, not " + byteSize);
        }
        final UsrbioFunctions functions = usrbio.functions();
        final MemorySegment struct = Arena.ofAuto().allocate(UsrbioLayout.IOV_BYTES, Long.BYTES);
        final int result;
        try (Arena text = Arena.ofConfined()) {
            final MemorySegment name = text.allocate(UsrbioLayout.ID_BYTES);
            name.asByteBuffer().putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits());
            result = functions.iovOpen(struct, name, text.allocateFrom(mountPoint), byteSize, blockBytes, -1);
        }
        check("hf3fs_iovopen", result, struct, id + ", " + text(mountPoint, byteSize, blockBytes));
        return new IoVector(functions, mountPoint, struct, byteSize, blockBytes);
    }

    /**
     * The memory.
     *
     * @return one segment over all of it, for any thread; every access checks that it is still there.
     */
    public MemorySegment segment() {
        return segment;
    }

    /**
     * How much there is.
     *
     * @return bytes.
     */
    public long byteSize() {
        return byteSize;
    }

    /**
     * The block that no entry may reach across.
     *
     * @return bytes; 0 when all of it is one.
     */
    public long blockBytes() {
        return blockBytes;
    }

    /**
     * Which 3FS it is shared with.
     *
     * @return the mount point.
     */
    public String mountPoint() {
        return mountPoint;
    }

    /**
     * The name by which others can {@link #open} it.
     *
     * @return the id.
     */
    public UUID id() {
        return IovLink.id(struct, UsrbioLayout.IOV_ID);
    }

    /**
     * Lets go of the memory once no entry of a ring names it any more. A second call does nothing.
     *
     * @throws IllegalStateException when a native call is using the memory now; it then stays, and closing it again
     *                               later works.
     */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            if (users > 0) {
                return;
            }
        }
        Arenas.close(arena);
    }

    /** Refuses a part that an entry may not name: one outside, or across two blocks, which the client would refuse. */
    void check(final long offset, final long length) {
        Objects.checkFromIndexSize(offset, length, byteSize);
        if (length < 1 || blockBytes > 0 && offset / blockBytes != (offset + length - 1) / blockBytes) {
            throw new IllegalArgumentException("an entry of " + length + " bytes at " + offset + " of shared memory: it"
                + " needs at least 1 byte" + (blockBytes > 0 ? " and to lie within one block of " + blockBytes : ""));
        }
    }

    synchronized void retain() {
        if (closed) {
            throw new IllegalStateException("the shared memory " + id() + " is closed");
        }
        users++;
    }

    void release() {
        synchronized (this) {
            users--;
            if (!closed || users > 0) {
                return;
            }
        }
        try {
            Arenas.close(arena);
        } catch (final IllegalStateException e) {
            // Whoever has it in a call of his own is not to fail for it who reaps an entry.
            LOG.log(System.Logger.Level.WARNING, "shared memory stays mapped until it is closed again", e);
        }
    }

    MemorySegment struct() {
        return struct;
    }

    private void takePages() {
        try {
            if (!Mapping.populate(segment)) {
                checkRoom();
            }
        } catch (final ErrnoException e) {
            throw new UsrbioException("hf3fs_iovcreate", e.errno() == Errno.EFAULT ? Errno.ENOSPC : e.errno(),
                text(mountPoint, byteSize, blockBytes) + ", its pages; enlarge /dev/shm (--shm-size of a container) or"
                    + " ask for less");
        }
    }

    /** The next best on a kernel that cannot take pages by a call; others may still take the room first. */
    private void checkRoom() {
        try {
            final long free = Files.getFileStore(SHARED_MEMORY).getUsableSpace();
            if (free < byteSize) {
                throw new UsrbioException("hf3fs_iovcreate", Errno.ENOSPC, text(mountPoint, byteSize, blockBytes)
                    + ", of which /dev/shm has " + free);
            }
        } catch (final IOException e) {
            LOG.log(System.Logger.Level.DEBUG, "the room in /dev/shm is not known", e);
        }
    }

    private static long bytesBehind(final Path link) {
        try {
            return Files.size(link);
        } catch (final IOException e) {
            throw new UsrbioException("hf3fs_iovopen", Errno.ENOENT, link.toString());
        }
    }

    /** More than the size, or none, is an exception of C++ or a division by zero in the library. */
    private static void check(final String mountPoint, final long byteSize, final long blockBytes, final int numa) {
        Usrbio.checkMountPoint(mountPoint);
        IoRingOptions.checkNuma(numa);
        if (byteSize < 1 || blockBytes < 0 || blockBytes > byteSize) {
            throw new IllegalArgumentException("shared memory of " + byteSize + " bytes in blocks of " + blockBytes
                + ": it needs at least 1 byte, and blocks from 0 (one) to all of it");
        }
    }

    /** Also where the library says 0: it logs before it reads errno, which the log may have set to that. */
    private static void check(final String call, final int result, final MemorySegment struct, final String detail) {
        if (result != 0 || struct.get(ValueLayout.JAVA_LONG, UsrbioLayout.IOV_BASE) == 0) {
            throw new UsrbioException(call, result == 0 ? Errno.EIO : Math.abs(result), detail);
        }
    }

    private static String text(final String mountPoint, final long byteSize, final long blockBytes) {
        return mountPoint + ", size " + byteSize + ", block " + blockBytes;
    }
}
