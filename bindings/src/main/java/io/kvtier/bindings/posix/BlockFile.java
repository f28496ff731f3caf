package io.kvtier.bindings.posix;

import java.lang.foreign.MemorySegment;

/**
 * Positional access to one open file: what a transport needs of it, and what a test replaces to make the n-th call
 * fail.
 *
 * <p>Each data call is one system call: it may transfer fewer bytes than asked, and it may fail with EINTR. Whoever
 * wants all of it goes through {@link BlockIo}.
 *
 * <p><b>Threading:</b> thread-safe; no call moves a shared position. <b>Lifetime:</b> a call after {@link #close()}
 * throws {@link IllegalStateException}; a call in progress finishes first and the descriptor is closed behind it.
 * <b>Blocking:</b> on the disk, without a time limit.
 */
public interface BlockFile extends AutoCloseable {
    /**
     * The path it was opened by, for messages.
     *
     * @return the path.
     */
    String path();

    /**
     * The block to which memory address, file offset and length must be aligned.
     *
     * @return a power of two in bytes for a file opened for direct I/O, 1 for a buffered one.
     */
    int alignment();

    /**
     * Reads into memory, once.
     *
     * @param target native memory; all of it is asked for.
     * @param offset where in the file, in bytes.
     * @return bytes read, 0 at or behind the end of the file.
     * @throws ErrnoException when the call failed, EINTR included.
     */
    long read(MemorySegment target, long offset);

    /**
     * Writes from memory, once.
     *
     * @param source native memory; all of it is offered.
     * @param offset where in the file, in bytes.
     * @return bytes written.
     * @throws ErrnoException when the call failed, EINTR included.
     */
    long write(MemorySegment source, long offset);

    /**
     * Makes the data written so far, and the size if it changed, durable ({@code fdatasync}).
     *
     * @throws ErrnoException when the device refused; what was written since the last success is then in doubt.
     */
    void sync();

    /**
     * Reserves disk blocks for a range and lets the file grow to hold it; never shrinks and never changes bytes.
     *
     * @param offset start, in bytes.
     * @param length bytes.
     * @throws ErrnoException ENOSPC when the disk cannot hold it.
     */
    void preallocate(long offset, long length);

    /**
     * Gives the disk blocks of a range back, which reads as zeros from then on; the file keeps its size.
     *
     * @param offset start, in bytes.
     * @param length bytes.
     * @throws ErrnoException EOPNOTSUPP when the file system cannot do that; nothing has changed then.
     */
    default void punch(final long offset, final long length) {
        throw new ErrnoException("fallocate", Errno.EOPNOTSUPP, path());
    }

    /**
     * The file's size now.
     *
     * @return bytes.
     */
    long size();

    /**
     * The numbers that identify the file behind the path, whatever it is called.
     *
     * @return device and inode in one text.
     */
    String identity();

    /** Gives the descriptor back once no call uses it any more. A second call does nothing. */
    @Override
    void close();
}
