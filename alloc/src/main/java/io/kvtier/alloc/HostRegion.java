package io.kvtier.alloc;

import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Mapping;
import java.lang.foreign.MemorySegment;

/**
 * Anonymous host memory, page-aligned and zeroed; pages are taken from the system when first touched.
 *
 * <p><b>Threading:</b> thread-safe; bytes are not synchronized. <b>Lifetime:</b> until {@link #close()}
 * and until the last who retained it has released it.
 */
public final class HostRegion implements HostMemory {
    private final HeldMapping held;

    private HostRegion(final Mapping mapping) {
        this.held = new HeldMapping(mapping);
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
        return held.mapping().segment();
    }

    @Override
    public MemoryKind kind() {
        return MemoryKind.HOST;
    }

    @Override
    public boolean tryRetain() {
        return held.tryRetain();
    }

    @Override
    public void release() {
        held.release();
    }

    /**
     * Keeps the memory resident.
     *
     * @throws io.kvtier.bindings.posix.ErrnoException ENOMEM when the limit on locked memory is too small.
     */
    public void lock() {
        held.mapping().lock();
    }

    /**
     * Gives the memory back. A second call does nothing.
     *
     * @throws IllegalStateException when a native call of somebody who does not retain it is using it now; it then
     *                               stays open, and closing it again later works.
     */
    @Override
    public void close() {
        held.close();
    }
}
