package io.kvtier.alloc.page;

/** What the allocator and its peer have in common, for measurements. */
interface PageSource extends AutoCloseable {
    long allocate(long count);

    boolean free(long first, long count);

    @Override
    void close();

    static PageSource of(final String kind, final int pages) {
        if (!"ours".equals(kind)) {
            return new LockedPages(pages);
        }
        final BitmapPageAllocator allocator = BitmapPageAllocator.create(pages);
        return new PageSource() {
            @Override
            public long allocate(final long count) {
                return allocator.allocate(count);
            }

            @Override
            public boolean free(final long first, final long count) {
                return allocator.free(first, count);
            }

            @Override
            public void close() {
                allocator.close();
            }
        };
    }
}
