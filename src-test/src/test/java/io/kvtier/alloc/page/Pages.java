package io.kvtier.alloc.page;

import io.kvtier.alloc.bits.HeapWords;

/** Allocators on words that a model checker sees. */
final class Pages {
    private Pages() {
    }

    static BitmapPageAllocator onHeap(final long pages) {
        return new BitmapPageAllocator(new HeapWords(BitmapPageAllocator.words(pages, 1)), null, pages, 1);
    }
}
