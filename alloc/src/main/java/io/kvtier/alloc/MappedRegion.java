package io.kvtier.alloc;

import io.kvtier.bindings.posix.Mapping;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.bindings.posix.PosixFile;
import java.lang.foreign.MemorySegment;

/**
 * Memory mapped from a file and shared with everybody who maps or reads that file.
 *
 * <p>Only Java code may touch it: a native copy that meets a page behind the end of a file that someone shrank kills
 * the process, where Java code gets an {@link InternalError}.
 *
 * <p><b>Threading:</b> thread-safe; bytes are not synchronized. <b>Lifetime:</b> until {@link #close()}
 * and until the last who retained it has released it.
 */
public final class MappedRegion implements HostMemory {
    private final HeldMapping held;

    private MappedRegion(final Mapping mapping) {
        this.held = new HeldMapping(mapping);
    }

    /**
     * Maps a range of an existing file.
     *
     * @param path     the file.
     * @param offset   start, a multiple of the page size.
     * @param bytes    how much, more than 0; the range must lie inside the file.
     * @param writable whether the memory may be written.
     * @return the owner.
     */
    public static MappedRegion map(final String path, final long offset, final long bytes, final boolean writable) {
        try (PosixFile file = PosixFile.open(path, writable ? OpenMode.READ_WRITE : OpenMode.READ)) {
            return new MappedRegion(Mapping.of(file, offset, bytes, writable));
        }
    }

    @Override
    public MemorySegment segment() {
        return held.mapping().segment();
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
     * Unmaps the range. A second call does nothing.
     *
     * @throws IllegalStateException when a native call of somebody who does not retain it is using it now; it then
     *                               stays open, and closing it again later works.
     */
    @Override
    public void close() {
        held.close();
    }
}
