package io.kvtier.bindings.cufile;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.cuda.DeviceMemory;
import io.kvtier.bindings.cufile.gen.CUfileIOParams;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The entries of one batch, as the driver reads them, and what each of them holds until it has ended: its buffers of
 * compatibility mode, its file and its memory. Slots are used in ascending order. Nothing here allocates once made.
 *
 * <p><b>Threading:</b> that of the batch. <b>Lifetime:</b> the array lies in the batch's arena.
 */
final class BatchEntries {
    private static final long BYTES = CUfileIOParams.layout().byteSize();
    private static final long MODE = CUfileIOParams.mode$offset();
    private static final long BATCH = CUfileIOParams.u$offset() + CUfileIOParams.u.batch$offset();
    private static final long BASE = BATCH + CUfileIOParams.u.batch.devPtr_base$offset();
    private static final long FILE_OFFSET = BATCH + CUfileIOParams.u.batch.file_offset$offset();
    private static final long MEMORY_OFFSET = BATCH + CUfileIOParams.u.batch.devPtr_offset$offset();
    private static final long SIZE = BATCH + CUfileIOParams.u.batch.size$offset();
    private static final long HANDLE = CUfileIOParams.fh$offset();
    private static final long OPCODE = CUfileIOParams.opcode$offset();
    private static final long COOKIE = CUfileIOParams.cookie$offset();

    private static final System.Logger LOG = System.getLogger(BatchEntries.class.getName());

    private final PosixPool pool;
    private final MemorySegment params;
    private final CuFileHandle[] files;
    private final CuFileBuffer[] buffers;
    private final DeviceMemory[] memories;
    private final long[] lengths;
    private int size;

    BatchEntries(final Arena arena, final int capacity, final PosixPool pool) {
        this.pool = pool;
        this.params = arena.allocate(BYTES * capacity, Long.BYTES);
        this.files = new CuFileHandle[capacity];
        this.buffers = new CuFileBuffer[capacity];
        this.memories = new DeviceMemory[capacity];
        this.lengths = new long[capacity];
    }

    /** The array, as it is submitted. */
    MemorySegment params() {
        return params;
    }

    /** How many slots are used, whether or not their entries have ended. */
    int size() {
        return size;
    }

    long length(final int slot) {
        return lengths[slot];
    }

    CuFileHandle file(final int slot) {
        return files[slot];
    }

    /** Whether a slot's entry still holds something: it is in flight, or not submitted yet. */
    boolean holds(final long slot) {
        return slot >= 0 && slot < size && files[(int) slot] != null;
    }

    /** Takes the buffers of compatibility mode of the next entry; false, which changes nothing, without room. */
    boolean takeRoom(final long length) {
        return size < files.length && pool.tryTake(length);
    }

    /**
     * Holds what the next entry uses, or, when one of it is closed, nothing, and gives its room back.
     *
     * @param buffer its memory when that is registered, else null.
     * @param memory its memory when that is owned and not registered, else null; closed is well as long as the caller
     *               holds it.
     * @param length its bytes, for which room was taken.
     * @throws IllegalStateException when file or memory is closed.
     */
    void hold(final CuFileHandle file, final CuFileBuffer buffer, final DeviceMemory memory, final long length) {
        boolean heldFile = false;
        try {
            file.retain();
            heldFile = true;
            if (buffer != null) {
                buffer.retain();
            } else if (memory != null) {
                memory.share();
            }
        } catch (final IllegalStateException e) {
            if (heldFile) {
                file.release();
            }
            pool.give(length);
            throw e;
        }
        files[size] = file;
        buffers[size] = buffer;
        memories[size] = memory;
        lengths[size] = length;
    }

    /** Writes the entry for which everything is held, and gives its slot. */
    int put(final boolean write, final long fileOffset, final long base, final long memoryOffset) {
        final int slot = size;
        final long at = slot * BYTES;
        // The library is not told that it may not write here, and ends the process for another mode: all of it anew.
        params.set(JAVA_INT, at + MODE, CuFileTypes.CUFILE_BATCH());
        params.set(JAVA_LONG, at + BASE, base);
        params.set(JAVA_LONG, at + FILE_OFFSET, fileOffset);
        params.set(JAVA_LONG, at + MEMORY_OFFSET, memoryOffset);
        params.set(JAVA_LONG, at + SIZE, lengths[slot]);
        params.set(JAVA_LONG, at + HANDLE, files[slot].handle());
        params.set(JAVA_INT, at + OPCODE, write ? CuFileTypes.CUFILE_WRITE() : CuFileTypes.CUFILE_READ());
        // Never 0, which an untouched event holds.
        params.set(JAVA_LONG, at + COOKIE, slot + 1L);
        size++;
        return slot;
    }

    /**
     * Keeps what an entry holds for ever, but for its buffers of compatibility mode: these are the library's own, which
     * has them back with the batch, and without them later batches could not be filled.
     */
    void lose(final int slot) {
        pool.give(lengths[slot]);
        files[slot] = null;
        buffers[slot] = null;
        memories[slot] = null;
    }

    /** Lets go of what an entry held. */
    void let(final int slot) {
        pool.give(lengths[slot]);
        final CuFileHandle file = files[slot];
        final CuFileBuffer buffer = buffers[slot];
        final DeviceMemory memory = memories[slot];
        files[slot] = null;
        buffers[slot] = null;
        memories[slot] = null;
        release(buffer, memory);
        release(file);
    }

    // The last use of what was closed meanwhile gives it back to the library, which may refuse it. The entry has
    // ended all the same: its end has to be told, and the others have to be let go.
    private static void release(final CuFileBuffer buffer, final DeviceMemory memory) {
        try {
            if (buffer != null) {
                buffer.release();
            } else if (memory != null) {
                memory.release();
            }
        } catch (final RuntimeException e) {
            LOG.log(System.Logger.Level.WARNING, "memory of an entry that has ended could not be given back", e);
        }
    }

    private static void release(final CuFileHandle file) {
        try {
            file.release();
        } catch (final RuntimeException e) {
            LOG.log(System.Logger.Level.WARNING, "the file of an entry that has ended could not be given back", e);
        }
    }

    /** Makes all slots free; their entries hold nothing any more. */
    void clear() {
        size = 0;
    }
}
