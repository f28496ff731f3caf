package io.kvtier.store.storage.shared;

import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * An open file of a {@link FileSystemAdapter}. It stays the file that was opened, also when another one takes its name.
 *
 * <p>Memory is native and may be touched by any thread, at any address and of any length; nobody changes what is
 * written, or uses what is read into, until the transfer has ended.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> closed after the last transfer on it.
 */
public interface SharedFile extends AutoCloseable {
    /**
     * The path it was opened by.
     *
     * @return absolute.
     */
    String path();

    /**
     * Which file it is.
     *
     * @return equal to that of {@link FileSystemAdapter#status} as long as the path leads to it.
     */
    Object identity();

    /**
     * Starts to read consecutive bytes into several pieces of memory, past the cache of this host.
     *
     * @param offset    first byte, 0 or more; need not be at a block.
     * @param targets   filled in order.
     * @param timeoutMs milliseconds after which what has not begun is given up; 0 for no limit.
     * @param alone     whether the caller waits for this before it starts anything else: it may read by itself then.
     * @return the read, to be awaited once. It fails where the file ends before the memory is full.
     */
    RangeTransfer read(long offset, List<MemorySegment> targets, long timeoutMs, boolean alone);

    /**
     * Starts to write consecutive bytes from several pieces of memory, past the cache of this host. Whole blocks are
     * written: what is behind the last byte in its block becomes zero, so that nothing has to be read before. The
     * blocks belong to the caller. Others see the bytes after {@link #sync()}.
     *
     * @param offset    first byte, a multiple of {@link FileSystemAdapter#BLOCK_BYTES}.
     * @param sources   written in order.
     * @param timeoutMs milliseconds after which what has not begun is given up; 0 for no limit.
     * @return the write, to be awaited once.
     * @throws IllegalArgumentException when the offset is none.
     */
    RangeTransfer write(long offset, List<MemorySegment> sources, long timeoutMs);

    /**
     * Makes what was written durable, and seen by whoever opens or reads the file on another host.
     *
     * @throws io.kvtier.store.StoreException FILE_WRITE_FAIL: what was written since the last success may be lost,
     *                                        whoever wrote it.
     */
    void sync();

    /** Gives back what it has open. A second call does nothing. */
    @Override
    void close();
}
