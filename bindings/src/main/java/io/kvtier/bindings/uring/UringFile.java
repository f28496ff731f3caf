package io.kvtier.bindings.uring;

import io.kvtier.bindings.posix.PosixFile;

/**
 * A file as one ring addresses it: by its place in the ring's table of registered files, or by descriptor. It holds a
 * reference to the file, so that the descriptor's number stays that file's even when its owner closes it meanwhile.
 *
 * <p><b>Threading:</b> the owner of the ring. <b>Lifetime:</b> from {@link UringRing#attach} to {@link #close()} or the
 * end of the ring. <b>Blocking:</b> closing the last reference to a file closes its descriptor.
 */
public final class UringFile implements AutoCloseable {
    static final int NO_SLOT = -1;

    private final UringRing ring;
    private final PosixFile file;
    private final int descriptor;
    private final int slot;
    // Operations prepared and not ended.
    private int uses;
    private boolean closed;

    UringFile(final UringRing ring, final PosixFile file, final int descriptor, final int slot) {
        this.ring = ring;
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
     * @throws IllegalStateException when operations on it have not been reaped; it then stays attached.
     */
    @Override
    public void close() {
        if (!closed) {
            ring.detach(this);
        }
    }

    boolean belongsTo(final UringRing other) {
        return ring == other;
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

    int uses() {
        return uses;
    }

    void use(final int change) {
        uses += change;
    }

    boolean isClosed() {
        return closed;
    }

    void release() {
        closed = true;
        file.releaseDescriptor();
    }

    @Override
    public String toString() {
        return file.path() + (closed ? " (detached)" : "");
    }
}
