package io.kvtier.alloc.extent;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.bits.BufferWords;
import io.kvtier.alloc.bits.HeapWords;
import io.kvtier.bindings.NativeTag;

/** Allocators with chunks smaller than usual, so that tests meet many borders. */
final class Extents {
    static final long UNIT = 64;

    private Extents() {
    }

    static ExtentAllocator offHeap(final long units, final int chunkUnits, final int lanes) {
        final ExtentAllocator.Shape shape = new ExtentAllocator.Shape(units, UNIT, chunkUnits, lanes);
        final HostRegion region = HostRegion.allocate(NativeTag.ALLOCATOR, shape.words() * Long.BYTES);
        return new ExtentAllocator(new BufferWords(region.segment().address(), shape.words()), region, shape);
    }

    static ExtentAllocator onHeap(final long units, final int chunkUnits, final int lanes) {
        final ExtentAllocator.Shape shape = new ExtentAllocator.Shape(units, UNIT, chunkUnits, lanes);
        return new ExtentAllocator(new HeapWords(shape.words()), null, shape);
    }
}
