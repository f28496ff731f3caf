package io.kvtier.alloc;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;

/**
 * Memory that other processes of this host can map: a file in a memory file system, which its owner created and removes
 * again. The file's permissions, by default for its user alone, decide who may; see {@code transport/TRANSPORTS.md}.
 *
 * <p>All of it is allocated when it is created. Nothing on the memory side orders the accesses of two processes: what
 * was written is to be announced by other means.
 *
 * <p>Only Java code may touch it: whoever may write the file may cut it as well, and a native copy that meets a page
 * behind the end of the file kills the process, where Java code gets an {@link InternalError} (see
 * {@link #raiseFault()}).
 *
 * <p><b>Threading:</b> thread-safe; bytes are not synchronized. <b>Lifetime:</b> until {@link #close()} and until the
 * last who retained it has released it. The memory of a process that closed it, or died, stays valid for those who have
 * mapped it. <b>Blocking:</b> creating, for as long as the system takes to find the memory; everything else does not.
 */
public final class SharedRegion implements HostMemory {
    /** Where Linux keeps memory that processes share. */
    public static final Path DEFAULT_DIRECTORY = Path.of("/dev/shm");
    /** The longest region: what fits the address space of a process, 64 TiB. */
    public static final long MAX_BYTES = 1L << 46;

    private final SharedFiles.Mapped mapped;
    private final MemorySegment memory;
    private final HeldMapping held;

    private SharedRegion(final SharedFiles.Mapped mapped) {
        this.mapped = mapped;
        this.memory = mapped.mapping().segment().asSlice(SharedHeader.BYTES, mapped.header().dataBytes());
        this.held = new HeldMapping(mapped.mapping());
    }

    /**
     * Creates memory that no token belongs to.
     *
     * @param directory on tmpfs or hugetlbfs, such as {@link #DEFAULT_DIRECTORY}.
     * @param bytes     how much, from 1 to {@link #MAX_BYTES}; zeroed.
     * @return the owner.
     * @throws io.kvtier.bindings.posix.ErrnoException ENOSPC when the file system has not so much left; nothing is left
     *                                                 behind then.
     */
    public static SharedRegion create(final Path directory, final long bytes) {
        return create(directory, bytes, null);
    }

    /**
     * Creates memory. Its file, {@code kvtier-PID-RANDOM}, can be read and written by this user only.
     *
     * @param directory on tmpfs or hugetlbfs, such as {@link #DEFAULT_DIRECTORY}.
     * @param bytes     how much, from 1 to {@link #MAX_BYTES}; zeroed.
     * @param token     by which others tell that they have found what they mean; null for none. It is not what protects
     *                  the memory: the permissions of the file are.
     * @return the owner.
     * @throws io.kvtier.bindings.posix.ErrnoException ENOSPC when the file system has not so much left, EOPNOTSUPP when
     *                                                 it cannot reserve it; nothing is left behind then.
     */
    public static SharedRegion create(final Path directory, final long bytes, final byte[] token) {
        return create(new SharedFiles(directory.toAbsolutePath()), bytes, token);
    }

    static SharedRegion create(final SharedFiles files, final long bytes, final byte[] token) {
        if (bytes < 1 || bytes > MAX_BYTES) {
            throw new IllegalArgumentException("cannot share " + bytes + " bytes; it must be from 1 to " + MAX_BYTES);
        }
        return new SharedRegion(files.create(bytes, token));
    }

    /**
     * Maps the memory of another process, or of this one once more; for reading only where the file allows no more.
     * Nothing is created.
     *
     * @param path  the file.
     * @param token what it must have been created with; null where that does not matter.
     * @return the mapping, which is not the owner: closing it removes nothing.
     * @throws io.kvtier.bindings.posix.ErrnoException ENOENT when it was closed, EACCES when this user may not read it.
     * @throws IllegalArgumentException                when it is not such a file, is shorter than it was, or was
     *                                                 created with another token.
     * @throws IllegalStateException                   when its owner is dead.
     */
    public static SharedRegion open(final Path path, final byte[] token) {
        return new SharedRegion(SharedFiles.open(path.toAbsolutePath(), token));
    }

    /**
     * Finds what dead processes left in a folder. Files of other users that cannot be read are passed over.
     *
     * @param directory the folder.
     * @return files that have the name of shared memory and that no living process owns.
     * @throws java.io.UncheckedIOException when the folder cannot be listed.
     */
    public static List<Path> findStale(final Path directory) {
        return SharedFiles.stale(directory, false);
    }

    /**
     * Removes what dead processes left in a folder; to be called before creating memory there. Whoever has mapped such
     * a file keeps it.
     *
     * @param directory the folder.
     * @return the files that were removed.
     * @throws java.io.UncheckedIOException when the folder cannot be listed.
     */
    public static List<Path> removeStale(final Path directory) {
        return SharedFiles.stale(directory, true);
    }

    /**
     * Where it is.
     *
     * @return the absolute path of the file.
     */
    public Path path() {
        return mapped.path();
    }

    /**
     * Whether this created the memory, and not another process or another region of this one.
     *
     * @return true for the owner, whose close removes the file.
     */
    public boolean isOwner() {
        return mapped.file() != null;
    }

    @Override
    public MemorySegment segment() {
        return memory;
    }

    @Override
    public void raiseFault() {
        PageFaults.raise();
    }

    @Override
    public MemoryKind kind() {
        return MemoryKind.MAPPED;
    }

    @Override
    public boolean tryRetain() {
        return held.tryRetain();
    }

    @Override
    public void release() {
        held.release();
    }

    /**
     * Unmaps the memory; of the owner, removes the file first, so that nobody finds it any more. A second call does
     * nothing.
     *
     * @throws IllegalStateException        when a native call of somebody who does not retain it is using it now; it
     *                                      then stays mapped, and closing it again later works.
     * @throws java.io.UncheckedIOException when the file could not be removed; the memory is unmapped.
     */
    @Override
    public void close() {
        try {
            if (mapped.file() != null) {
                SharedFiles.unlink(mapped.path(), mapped.file());
            }
        } finally {
            held.close();
        }
    }

    @Override
    public String toString() {
        return mapped.path() + " (" + memory.byteSize() + " bytes shared)";
    }
}
