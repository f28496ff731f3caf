package io.kvtier.bindings.uring;

import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.BitSet;

/**
 * The registered files and buffers of a ring: which slots are taken, and what the kernel was told of each, so that a
 * rebuilt ring can be told again.
 *
 * <p>Both tables are handed over once with nothing in them but the ring's {@link Witness}, and single slots changed
 * afterwards; that waits for no operation and leaves the other slots alone.
 *
 * <p><b>Threading:</b> the owner of the ring.
 */
final class ResourceTable {
    static final int NO_ROOM = -1;
    private static final int NO_FILE = -1;

    private final UringKernel kernel;
    private final int fileSlots;
    private final int bufferSlots;
    private final Arena arena = Arena.ofShared();
    private final MemorySegment files;
    private final MemorySegment buffers;
    private final MemorySegment update;
    private final BitSet filesTaken = new BitSet();
    private final BitSet buffersTaken = new BitSet();

    /** The witness takes the slot behind those of the files. */
    ResourceTable(final UringKernel kernel, final UringOptions options, final int witness) {
        this.kernel = kernel;
        fileSlots = options.fileSlots();
        bufferSlots = options.bufferSlots();
        files = arena.allocate(JAVA_INT, fileSlots + 1L);
        for (int i = 0; i < fileSlots; i++) {
            files.setAtIndex(JAVA_INT, i, NO_FILE);
        }
        files.setAtIndex(JAVA_INT, fileSlots, witness);
        buffers = arena.allocate(Math.max(1, bufferSlots) * UringLayout.IOVEC_BYTES, Long.BYTES);
        update = arena.allocate(UringLayout.UPDATE_BYTES, Long.BYTES);
    }

    /** Tells a new ring everything. */
    void handOver(final KernelRing ring) {
        register(ring, UringLayout.REGISTER_FILES, files, fileSlots + 1, fileSlots + " file slots and one more");
        if (bufferSlots > 0) {
            register(ring, UringLayout.REGISTER_BUFFERS, buffers, bufferSlots, bufferSlots + " buffer slots");
        }
    }

    /**
     * Lets an instance forget the buffers before it is closed. A closed instance goes only some 20 ms later, and until
     * then its pinned memory counts against the limit: the next one could not register the same memory. When refused,
     * that is all that is lost.
     */
    void takeBack(final KernelRing ring) {
        if (!buffersTaken.isEmpty()) {
            kernel.register(ring.descriptor(), UringLayout.UNREGISTER_BUFFERS, MemorySegment.NULL, 0);
        }
    }

    /** Gives the slot, or {@link #NO_ROOM}. */
    int addFile(final KernelRing ring, final int descriptor) {
        final int slot = filesTaken.nextClearBit(0);
        if (slot >= fileSlots) {
            return NO_ROOM;
        }
        setFile(ring, slot, descriptor);
        filesTaken.set(slot);
        return slot;
    }

    void removeFile(final KernelRing ring, final int slot) {
        setFile(ring, slot, NO_FILE);
        filesTaken.clear(slot);
    }

    /** Gives the first of as many slots in a row as the memory needs, or {@link #NO_ROOM}. */
    int addBuffer(final KernelRing ring, final MemorySegment memory) {
        final int count = RegisteredBuffer.slotsFor(memory.byteSize());
        final int first = firstFree(count);
        if (first == NO_ROOM) {
            return NO_ROOM;
        }
        for (int i = 0; i < count; i++) {
            final long start = i * UringLayout.MAX_BUFFER_BYTES;
            try {
                setBuffer(ring, first + i, memory.address() + start,
                    Math.min(UringLayout.MAX_BUFFER_BYTES, memory.byteSize() - start));
            } catch (final ErrnoException e) {
                clearBuffers(ring, first, i);
                throw e;
            }
        }
        buffersTaken.set(first, first + count);
        return first;
    }

    void removeBuffer(final KernelRing ring, final int first, final long bytes) {
        final int count = RegisteredBuffer.slotsFor(bytes);
        clearBuffers(ring, first, count);
        buffersTaken.clear(first, first + count);
    }

    void close() {
        arena.close();
    }

    private int firstFree(final int count) {
        int first = buffersTaken.nextClearBit(0);
        while (first + count <= bufferSlots) {
            final int next = buffersTaken.nextSetBit(first);
            if (next < 0 || next - first >= count) {
                return first;
            }
            first = buffersTaken.nextClearBit(next);
        }
        return NO_ROOM;
    }

    private void clearBuffers(final KernelRing ring, final int first, final int count) {
        for (int i = 0; i < count; i++) {
            setBuffer(ring, first + i, 0, 0);
        }
    }

    private void setFile(final KernelRing ring, final int slot, final int descriptor) {
        final MemorySegment one = files.asSlice((long) slot * Integer.BYTES, Integer.BYTES);
        final int before = one.get(JAVA_INT, 0);
        one.set(JAVA_INT, 0, descriptor);
        try {
            change(ring, UringLayout.REGISTER_FILES_UPDATE, slot, one, "file slot " + slot);
        } catch (final RuntimeException | Error e) {
            one.set(JAVA_INT, 0, before);
            throw e;
        }
    }

    private void setBuffer(final KernelRing ring, final int slot, final long address, final long length) {
        final MemorySegment one = buffers.asSlice(slot * UringLayout.IOVEC_BYTES, UringLayout.IOVEC_BYTES);
        final long baseBefore = one.get(JAVA_LONG, UringLayout.IOVEC_BASE);
        final long lengthBefore = one.get(JAVA_LONG, UringLayout.IOVEC_LENGTH);
        one.set(JAVA_LONG, UringLayout.IOVEC_BASE, address);
        one.set(JAVA_LONG, UringLayout.IOVEC_LENGTH, length);
        try {
            change(ring, UringLayout.REGISTER_BUFFERS_UPDATE, slot, one, "buffer slot " + slot + ", " + length
                + " bytes");
        } catch (final ErrnoException e) {
            one.set(JAVA_LONG, UringLayout.IOVEC_BASE, baseBefore);
            one.set(JAVA_LONG, UringLayout.IOVEC_LENGTH, lengthBefore);
            throw e;
        }
    }

    /** The buffers' operation wants the size of its argument where the files' one wants the number of files. */
    private void change(final KernelRing ring, final int operation, final int slot, final MemorySegment value,
                        final String detail) {
        final boolean buffer = operation == UringLayout.REGISTER_BUFFERS_UPDATE;
        update.fill((byte) 0);
        update.set(JAVA_INT, UringLayout.UPDATE_OFFSET, slot);
        update.set(JAVA_LONG, UringLayout.UPDATE_DATA, value.address());
        if (buffer) {
            update.set(JAVA_INT, UringLayout.UPDATE_COUNT, 1);
        }
        register(ring, operation, update, buffer ? (int) UringLayout.UPDATE_BYTES : 1, detail);
    }

    private void register(final KernelRing ring, final int operation, final MemorySegment argument, final int count,
                          final String detail) {
        int result = kernel.register(ring.descriptor(), operation, argument, count);
        while (result == -Errno.EINTR) {
            result = kernel.register(ring.descriptor(), operation, argument, count);
        }
        if (result < 0) {
            throw new ErrnoException("io_uring_register", -result, detail + (result == -Errno.ENOMEM
                ? "; registered memory counts against the limit on locked memory (ulimit -l), now "
                + Uring.lockedMemoryLimitBytes() + " bytes" : ""));
        }
    }
}
