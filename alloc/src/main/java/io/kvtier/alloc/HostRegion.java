package io.kvtier.alloc;

import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Mapping;
import java.lang.foreign.MemorySegment;

/**
 * Anonymous host memory, page-aligned and zeroed; pages are taken from the system when first touched.
 *
 * <p><b>Threading:</b> thread-safe; bytes are not synchronized. <b>Lifetime:</b> until {@link #close()}.
 */
public final class HostRegion implements MemoryRegion {
    private final Mapping mapping;

    private HostRegion(final Mapping mapping) {
        this.mapping = mapping;
    }

    /**
     * Allocates memory.
     *
     * @param tag   what it is for; its bytes are counted under it.
     * @param bytes how much, more than 0.
     * @return the owner.
     */
    public static HostRegion allocate(final NativeTag tag, final long bytes) {
        return new HostRegion(Mapping.anonymous(tag, bytes));
    }

    /**
     * Allocates memory backed by huge pages where the system has them to give.
     *
     * @param tag   what it is for.
     * @param bytes how much, more than 0.
     * @return the owner; with ordinary pages where the kernel refuses the advice.
     */
    public static HostRegion allocateHuge(final NativeTag tag, final long bytes) {
        final Mapping mapping = Mapping.anonymous(tag, bytes);
        mapping.advise(Mapping.Advice.HUGE_PAGES);
        return new HostRegion(mapping);
    }

    @Override
    public MemorySegment segment() {
        return mapping.segment();
    }

    /**
     * Keeps the memory resident.
     *
     * @throws io.kvtier.bindings.posix.ErrnoException ENOMEM when the limit on locked memory is too small.
     */
    public void lock() {
        mapping.lock();
    }

    /**
     * Gives the memory back. A second call does nothing.
     *
     * @throws IllegalStateException when a native call is using it now; it then stays open.
     */
    @Override
    public void close() {
        mapping.close();
    }
}
