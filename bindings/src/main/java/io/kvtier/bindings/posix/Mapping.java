package io.kvtier.bindings.posix;

import io.kvtier.bindings.Arenas;
import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * Owner of a mapped address range: anonymous memory, or a range of a file.
 *
 * <p><b>Threading:</b> the segment may be used by every thread. <b>Lifetime:</b> after {@link #close()} each access
 * through the segment throws {@link IllegalStateException}. An address taken from the segment is outside this
 * protection: whoever hands it to a device, or to a buffer that does not check, must close this last.
 * <b>Blocking:</b> close makes every thread pass a handshake (tens of microseconds), so mappings are few and live
 * long.
 */
@SuppressWarnings("restricted")
public final class Mapping implements AutoCloseable {
    /** Page size of every supported system's default configuration. */
    public static final long PAGE_BYTES = 4096;

    /** Advice to the kernel about how the range is used; numbers of {@code madvise(2)}. */
    public enum Advice {
        /** Back it with huge pages where they are to be had. */
        HUGE_PAGES(14),
        /** Never back it with huge pages: some kernels refuse to pin those. */
        NO_HUGE_PAGES(15),
        /** Read ahead. */
        WILL_NEED(3),
        /** Drop the pages; anonymous ones read as zero afterwards. */
        DO_NOT_NEED(4);

        final int number;

        Advice(final int number) {
            this.number = number;
        }
    }

    /** Takes the pages of a range now, as writing to each would (Linux 5.14; linux/mman.h). */
    static final int POPULATE_WRITE = 23;

    private final Arena arena;
    private final MemorySegment segment;

    private Mapping(final NativeTag tag, final long address, final long length, final boolean writable) {
        arena = Arena.ofShared();
        NativeResources.created(tag, length);
        final MemorySegment mapped = MemorySegment.ofAddress(address).reinterpret(length, arena, range -> {
            NativeResources.released(tag, length);
            Libc.munmap(address, length);
        });
        // A store to pages mapped without PROT_WRITE would end the process, not the call.
        segment = writable ? mapped : mapped.asReadOnly();
    }

    /**
     * Maps zeroed anonymous memory; pages are taken from the system when first touched.
     *
     * @param tag    what it is for.
     * @param length bytes, more than 0; rounded up to whole pages by the kernel.
     * @return the owner.
     * @throws ErrnoException ENOMEM when the address space or the commit limit is used up.
     */
    public static Mapping anonymous(final NativeTag tag, final long length) {
        final long address = Libc.mmap(positive(length), Libc.PROT_READ | Libc.PROT_WRITE,
            Libc.MAP_PRIVATE | Libc.MAP_ANONYMOUS | Libc.MAP_NORESERVE, -1, 0);
        if (address == Libc.MAP_FAILED) {
            throw new ErrnoException("mmap", Libc.lastErrno(), "anonymous, length " + length);
        }
        return new Mapping(tag, address, length, true);
    }

    /**
     * Maps a range of a file, shared with everybody who maps or reads it. The file may be closed afterwards.
     *
     * <p>Touching a page that lies behind the end of the file raises an {@link InternalError}, so the size is checked
     * first; whoever shrinks a mapped file breaks this.
     *
     * @param file     the file.
     * @param offset   start, a multiple of the page size.
     * @param length   bytes, more than 0; the range must lie within the file.
     * @param writable whether the memory may be written.
     * @return the owner.
     */
    public static Mapping of(final PosixFile file, final long offset, final long length, final boolean writable) {
        final long size = file.size();
        if (offset < 0 || offset % PAGE_BYTES != 0 || positive(length) > size - offset) {
            throw new IllegalArgumentException("cannot map " + length + " bytes at offset " + offset + " of "
                + file.path() + ": its size is " + size + " and the offset must be a multiple of " + PAGE_BYTES);
        }
        final int protection = Libc.PROT_READ | (writable ? Libc.PROT_WRITE : 0);
        final long address = file.map(length, protection, Libc.MAP_SHARED, offset);
        if (address == Libc.MAP_FAILED) {
            throw new ErrnoException("mmap", Libc.lastErrno(), file.path() + ", offset " + offset + ", length "
                + length);
        }
        return new Mapping(NativeTag.MAPPED_REGION, address, length, writable);
    }

    /**
     * The memory.
     *
     * @return one segment over the whole range; every access checks that this owner is open. A range that was mapped
     *         without being writable refuses to be written.
     */
    public MemorySegment segment() {
        return segment;
    }

    /**
     * Gives the kernel advice about the whole range.
     *
     * @param advice what to say.
     * @return false when the kernel does not know or refuses the advice, which changes nothing but speed.
     * @throws IllegalStateException when closed: the address may be another's by then.
     */
    public boolean advise(final Advice advice) {
        return Libc.madvise(segment, advice.number) == 0;
    }

    /**
     * Keeps the whole range in memory ({@code mlock}).
     *
     * @throws ErrnoException        ENOMEM when the limit on locked memory ({@code ulimit -l}) is too small.
     * @throws IllegalStateException when closed.
     */
    public void lock() {
        if (Libc.mlock(segment) != 0) {
            throw new ErrnoException("mlock", Libc.lastErrno(), "length " + segment.byteSize()
                + "; the limit on locked memory is ulimit -l");
        }
    }

    /**
     * Takes the pages of memory that another library has mapped, as if each were written to. Where the file behind it
     * cannot give them (a full {@code /dev/shm}), the first access would end in a signal; this ends in an error.
     *
     * @param range whole pages that may be written, of anybody's mapping; their bytes stay as they are.
     * @return false when the kernel does not know how (before Linux 5.14), and nothing was found out.
     * @throws ErrnoException EFAULT when there is no room behind a page, ENOMEM when there is no memory.
     */
    public static boolean populate(final MemorySegment range) {
        if (Libc.madvise(range, POPULATE_WRITE) == 0) {
            return true;
        }
        final int errno = Libc.lastErrno();
        if (errno == Errno.EINVAL) {
            return false;
        }
        throw new ErrnoException("madvise", errno, "MADV_POPULATE_WRITE, length " + range.byteSize());
    }

    /**
     * Unmaps the range. A second call does nothing.
     *
     * @throws IllegalStateException when a native call is using the memory now; the mapping then stays open, and
     *                               closing it again later works.
     */
    @Override
    public void close() {
        Arenas.close(arena);
    }

    private static long positive(final long length) {
        if (length <= 0) {
            throw new IllegalArgumentException("a mapping needs a length of at least 1 byte, not " + length);
        }
        return length;
    }
}
