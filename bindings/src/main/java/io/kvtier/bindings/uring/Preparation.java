package io.kvtier.bindings.uring;

import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Turns what a caller asks for into an entry of the queue, after checking all that the kernel cannot check: it sees
 * only addresses. Each method gives false, with nothing done, when no operation is free.
 *
 * <p>An operation is claimed last before its entry is written, and nothing in between can fail: no operation is ever
 * open without an entry.
 *
 * <p><b>Threading:</b> the owner of the ring. <b>Allocation:</b> none, but see {@link IoVectors}.
 */
final class Preparation {
    private final UringRing ring;
    private final Thread owner;
    private final Operations operations;
    private final RingDriver driver;
    private final IoVectors vectors;

    Preparation(final UringRing ring, final Operations operations, final RingDriver driver, final IoVectors vectors) {
        this.ring = ring;
        owner = Thread.currentThread();
        this.operations = operations;
        this.driver = driver;
        this.vectors = vectors;
    }

    boolean nop(final long userData) {
        final int slot = operations.claim(userData, null, null, null);
        if (slot == Operations.NONE) {
            return false;
        }
        driver.ring().entry(UringLayout.OP_NOP, 0, -1, operations.token(slot));
        return true;
    }

    boolean sync(final UringFile file, final int flags, final long userData) {
        checkFile(file);
        final int slot = operations.claim(userData, file, null, null);
        if (slot == Operations.NONE) {
            return false;
        }
        start(UringLayout.OP_FSYNC, file, slot).details(flags, 0);
        return true;
    }

    boolean transfer(final int operation, final UringFile file, final MemorySegment memory, final long start,
                     final long length, final long offset, final long userData) {
        checkFile(file);
        checkMemory(memory, operation == UringLayout.OP_READ);
        Objects.checkFromIndexSize(start, length, memory.byteSize());
        checkRange(offset, length);
        final int slot = operations.claim(userData, file, memory, null);
        if (slot == Operations.NONE) {
            return false;
        }
        start(operation, file, slot).transfer(offset, memory.address() + start, (int) length);
        return true;
    }

    boolean transferFixed(final boolean read, final UringFile file, final RegisteredBuffer buffer, final long start,
                          final int length, final long offset, final long userData) {
        checkFile(file);
        if (!buffer.isOpenFor(ring)) {
            throw new IllegalStateException("the buffer is not registered with this ring any more, or never was");
        }
        final MemorySegment memory = buffer.memory();
        checkMemory(memory, read);
        Objects.checkFromIndexSize(start, length, memory.byteSize());
        checkRange(offset, length);
        final int slot = operations.claim(userData, file, memory, buffer);
        if (slot == Operations.NONE) {
            return false;
        }
        final long address = memory.address() + start;
        if (buffer.isWithinSlot(start, length)) {
            final KernelRing queue = start(read ? UringLayout.OP_READ_FIXED : UringLayout.OP_WRITE_FIXED, file, slot);
            queue.transfer(offset, address, length);
            queue.details(0, buffer.slotOf(start));
        } else {
            start(read ? UringLayout.OP_READ : UringLayout.OP_WRITE, file, slot).transfer(offset, address, length);
        }
        return true;
    }

    boolean transferVector(final int operation, final UringFile file, final SegmentVector memory, final long offset,
                           final long userData) {
        checkFile(file);
        final int count = memory.count();
        if (count == 0) {
            throw new IllegalArgumentException("a vectored operation needs 1 to " + SegmentVector.MAX_SEGMENTS
                + " segments, and the vector is empty");
        }
        for (int i = 0; i < count; i++) {
            checkMemory(memory.segment(i), operation == UringLayout.OP_READV);
        }
        checkRange(offset, memory.byteSize());
        if (operations.free() == 0) {
            return false;
        }
        final IoVectors.IoVector vector = vectors.take(count);
        for (int i = 0; i < count; i++) {
            vector.add(memory.segment(i), memory.address(i), memory.length(i));
        }
        final int slot = operations.claim(userData, file, vector, null);
        start(operation, file, slot).transfer(offset, vector.address(), count);
        return true;
    }

    private KernelRing start(final int operation, final UringFile file, final int slot) {
        final KernelRing queue = driver.ring();
        queue.entry(operation, file.entryFlags(), file.number(), operations.token(slot));
        return queue;
    }

    private void checkFile(final UringFile file) {
        if (!file.isOpenFor(ring)) {
            throw new IllegalStateException(file + " is not attached to this ring any more, or never was");
        }
    }

    /** What the foreign-memory API checks in a call is checked here. */
    void checkMemory(final MemorySegment memory, final boolean readInto) {
        if (!memory.isNative()) {
            throw new IllegalArgumentException("heap memory may move under the kernel; native memory is needed");
        }
        if (readInto && memory.isReadOnly()) {
            throw new IllegalArgumentException("the memory to read into is read-only");
        }
        if (!memory.scope().isAlive() || !memory.isAccessibleBy(owner)) {
            throw new IllegalStateException("the memory is closed or belongs to another thread");
        }
    }

    private static void checkRange(final long offset, final long length) {
        if (offset < 0) {
            throw new IllegalArgumentException("offset must not be negative: " + offset);
        }
        if (length > UringLayout.MAX_TRANSFER_BYTES) {
            throw new IllegalArgumentException("one operation moves at most " + UringLayout.MAX_TRANSFER_BYTES
                + " bytes, not " + length + ": split it");
        }
    }
}
