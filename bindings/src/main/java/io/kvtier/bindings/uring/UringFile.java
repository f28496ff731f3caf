package io.kvtier.bindings.uring;

import io.kvtier.bindings.posix.PosixFile;

/**
 * A file as one ring addresses it: by its place in the ring's table of registered files, or by descriptor. It holds a
 * reference to the file, so that the descriptor's number stays that file's even when its owner closes it meanwhile.
 *
 * <p><b>Threading:</b> the owner of the ring. <b>Lifetime:</b> from {@link UringRing#attach} to {@link #close()} or the
 * end of the ring. <b>Blocking:</b> closing the last reference to a file closes its descriptor.
 */
public final class UringFile extends RingResource implements AutoCloseable {
    static final int NO_SLOT = -1;

    private final PosixFile file;
    private final int descriptor;
    private final int slot;

    UringFile(final UringRing ring, final PosixFile file, final int descriptor, final int slot) {
        super(ring);
        this.file = file;
        this.descriptor = descriptor;
        this.slot = slot;
    }

    /**
     * Whether the kernel has it in the ring's table, which saves looking the descriptor up for every operation.
     *
     * @return whether it has.
     */
    public boolean isRegistered() {
        return slot != NO_SLOT;
    }

    /**
     * Takes the file off the ring. A second call does nothing.
     *
     * @throws IllegalStateException when operations on it have not ended; it then stays attached.
     */
    @Override
    public void close() {
        if (!isClosed()) {
            ring().detach(this);
        }
    }

    /** What goes into an entry's descriptor field. */
    int number() {
        return isRegistered() ? slot : descriptor;
    }

    int entryFlags() {
        return isRegistered() ? UringLayout.SQE_FIXED_FILE : 0;
    }

    int slot() {
        return slot;
    }

    void release() {
        markClosed();
        file.releaseDescriptor();
    }

    @Override
    public String toString() {
        return file.path() + (isClosed() ? " (detached)" : "");
    }
}
