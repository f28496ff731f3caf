package io.kvtier.alloc;

/**
 * Raw memory with one owner.
 *
 * <p><b>Threading:</b> thread-safe; bytes are not synchronized. <b>Lifetime:</b> whoever created it closes it. Who
 * moves its bytes by other means than a checked access (a device, an asynchronous system call) {@linkplain
 * #tryRetain() retains} it meanwhile: a region that was closed under such a user is released by the last of them.
 */
public sealed interface MemoryRegion extends AutoCloseable permits HostMemory, DeviceRegion {
    /**
     * What it is made of.
     *
     * @return the kind.
     */
    MemoryKind kind();

    /**
     * How long it is.
     *
     * @return bytes.
     */
    long byteSize();

    /**
     * Keeps the memory from being released.
     *
     * @return false when it is closed; the memory must then not be used.
     */
    boolean tryRetain();

    /** Gives a {@linkplain #tryRetain() hold} back; the last one after the owner closed releases the memory. */
    void release();

    /**
     * A range of it.
     *
     * @param offset start in bytes.
     * @param length bytes.
     * @return the slice.
     * @throws IndexOutOfBoundsException when the range is not inside the region.
     */
    default RegionSlice slice(final long offset, final long length) {
        return new RegionSlice(this, offset, length);
    }

    /**
     * Gives the owner's hold back, which releases the memory if this owns it and nobody else holds it. A second call
     * does nothing.
     */
    @Override
    void close();
}
