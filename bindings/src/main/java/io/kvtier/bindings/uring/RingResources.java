package io.kvtier.bindings.uring;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.ErrnoException;
import io.kvtier.bindings.posix.PosixFile;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * The files attached to a ring and the memory registered with it: what the ring refers to beside its operations, and
 * gives back at the latest when it is closed.
 *
 * <p>{@link ResourceTable} is what the kernel knows of them, and this what Java owns: references to files, and the
 * counts of pinned memory.
 *
 * <p><b>Threading:</b> the owner of the ring.
 */
final class RingResources {
    private final UringRing ring;
    private final ResourceTable table;
    private final RingDriver driver;
    private final int bufferSlots;
    private final List<UringFile> files = new ArrayList<>();
    private final List<RegisteredBuffer> buffers = new ArrayList<>();

    RingResources(final UringRing ring, final ResourceTable table, final RingDriver driver, final int bufferSlots) {
        this.ring = ring;
        this.table = table;
        this.driver = driver;
        this.bufferSlots = bufferSlots;
    }

    UringFile attach(final PosixFile file) {
        final int descriptor = file.acquireDescriptor();
        final int slot;
        try {
            slot = table.addFile(driver.ring(), descriptor);
        } catch (final RuntimeException | Error e) {
            file.releaseDescriptor();
            throw e;
        }
        final UringFile attached = new UringFile(ring, file, descriptor,
            slot == ResourceTable.NO_ROOM ? UringFile.NO_SLOT : slot);
        files.add(attached);
        return attached;
    }

    void detach(final UringFile file) {
        driver.harvest();
        file.checkUnused(file);
        // A broken instance keeps what it knows until it is closed.
        if (file.isRegistered() && !driver.isBroken()) {
            table.removeFile(driver.ring(), file.slot());
        }
        files.remove(file);
        file.release();
    }

    RegisteredBuffer register(final MemorySegment memory) {
        if (memory.byteSize() == 0) {
            throw new IllegalArgumentException("a registered buffer needs at least 1 byte");
        }
        final int slot = table.addBuffer(driver.ring(), memory);
        if (slot == ResourceTable.NO_ROOM) {
            throw new IllegalStateException("no " + RegisteredBuffer.slotsFor(memory.byteSize()) + " slots in a row"
                + " are free for a registered buffer of " + memory.byteSize() + " bytes; the ring was opened with "
                + bufferSlots + " buffer slots");
        }
        NativeResources.created(NativeTag.RING_BUFFER, memory.byteSize());
        final RegisteredBuffer buffer = new RegisteredBuffer(ring, memory, slot);
        buffers.add(buffer);
        return buffer;
    }

    void unregister(final RegisteredBuffer buffer) {
        driver.harvest();
        buffer.checkUnused("a registered buffer");
        if (!driver.isBroken()) {
            table.removeBuffer(driver.ring(), buffer.firstSlot(), buffer.memory().byteSize());
        }
        buffers.remove(buffer);
        release(buffer);
    }

    /** After the instance was closed: its memory is not pinned any more. */
    void releaseMemory() {
        buffers.forEach(RingResources::release);
    }

    /** For a ring that is leaked: the kernel holds the memory pinned, so it stays counted. */
    void abandonMemory() {
        buffers.forEach(RegisteredBuffer::markClosed);
    }

    /** Gives the references to files back, all of them; the first error that one had, or null. */
    ErrnoException releaseFiles() {
        ErrnoException failure = null;
        for (final UringFile file : files) {
            try {
                file.release();
            } catch (final ErrnoException e) {
                failure = failure == null ? e : failure;
            }
        }
        return failure;
    }

    private static void release(final RegisteredBuffer buffer) {
        buffer.markClosed();
        NativeResources.released(NativeTag.RING_BUFFER, buffer.memory().byteSize());
    }
}
