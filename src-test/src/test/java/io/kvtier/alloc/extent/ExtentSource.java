package io.kvtier.alloc.extent;

/** What the allocator and its peers have in common, for measurements. */
interface ExtentSource extends AutoCloseable {
    long allocate(long sizeBytes);

    boolean free(long offsetBytes, long sizeBytes);

    long allocatedBytes();

    @Override
    void close();

    static ExtentSource of(final ExtentAllocator allocator) {
        return new ExtentSource() {
            @Override
            public long allocate(final long sizeBytes) {
                return allocator.allocate(sizeBytes);
            }

            @Override
            public boolean free(final long offsetBytes, final long sizeBytes) {
                return allocator.free(offsetBytes, sizeBytes);
            }

            @Override
            public long allocatedBytes() {
                return allocator.allocatedBytes();
            }

            @Override
            public void close() {
                allocator.close();
            }
        };
    }
}
