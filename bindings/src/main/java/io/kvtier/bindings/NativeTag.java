package io.kvtier.bindings;

/** What a native resource is used for; counts are kept for each. */
public enum NativeTag {
    /** Memory that holds values of the memory tier, or that a caller allocated for values. */
    HOST_REGION,
    /** Memory mapped from a file. */
    MAPPED_REGION,
    /** Bitmaps and summaries of allocators. */
    ALLOCATOR,
    /** Aligned staging memory of a file transport. */
    BOUNCE,
    /** An open file descriptor; its bytes are zero. */
    FILE_DESCRIPTOR,
    /** An io_uring instance; its bytes are those of the queues shared with the kernel. */
    IO_RING,
    /** Memory that an io_uring instance has registered and the kernel holds pinned; counted beside its owner's tag. */
    RING_BUFFER,
    /** Memory of tests. */
    TEST
}
