package io.kvtier.store.client.transfer;

import io.kvtier.alloc.HostMemory;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.alloc.Units;
import io.kvtier.alloc.extent.ExtentAllocator;
import io.kvtier.bindings.NativeTag;
import io.kvtier.store.StoreConfig;
import io.kvtier.transport.Closings;

/**
 * Memory for values on their way: from disk to a caller who is not given the memory tier's own, or from and to memory
 * that the processor cannot touch.
 *
 * <p><b>Threading:</b> thread-safe, lock-free. <b>Lifetime:</b> every piece is closed before this is.
 * <b>Blocking:</b> never; what does not fit into the pool is mapped for itself.
 */
public final class Staging implements AutoCloseable {
    /** Bytes of the pool; what does not fit there has memory of its own. */
    public static final long POOL_BYTES = 64L << 20;
    private static final int LANES = 4;

    private final HostMemory pool;
    private final ExtentAllocator allocator;

    /** A piece of memory that its holder gives back. */
    public interface Piece extends AutoCloseable {
        /** The memory, whole units. */
        RegionSlice slice();

        @Override
        void close();
    }

    private record Pooled(RegionSlice slice, ExtentAllocator allocator) implements Piece {
        @Override
        public void close() {
            allocator.free(slice.offset(), slice.length());
        }
    }

    private record Single(RegionSlice slice) implements Piece {
        @Override
        public void close() {
            slice.region().close();
        }
    }

    /** Allocates the pool. */
    public Staging() {
        this(HostRegion.allocate(NativeTag.BOUNCE, POOL_BYTES));
    }

    /** With a pool of so many bytes, which is closed with this, and when this throws. */
    public Staging(final HostMemory memory) {
        try (Closings opened = new Closings()) {
            pool = opened.keep(memory, HostMemory::close);
            allocator = ExtentAllocator.create(POOL_BYTES, StoreConfig.UNIT_BYTES, LANES);
            opened.stayOpen();
        }
    }

    /** The pool, which most pieces are of. */
    public HostMemory pool() {
        return pool;
    }

    /** Memory of this many bytes at least, aligned for devices; to be closed. */
    public Piece take(final long size) {
        final long bytes = Units.taken(size, StoreConfig.UNIT_BYTES);
        final long offset = allocator.allocate(bytes);
        if (offset == ExtentAllocator.NO_SPACE) {
            return new Single(HostRegion.allocate(NativeTag.BOUNCE, bytes).slice(0, bytes));
        }
        return new Pooled(pool.slice(offset, bytes), allocator);
    }

    @Override
    public void close() {
        allocator.close();
        pool.close();
    }
}
