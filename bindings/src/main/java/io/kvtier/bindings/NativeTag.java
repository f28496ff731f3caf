package io.kvtier.bindings;

/** What a native resource is used for; counts are kept for each. */
public enum NativeTag {
    /** Memory that holds values of the memory tier, or that a caller allocated for values. */
    HOST_REGION,
    /** Memory mapped from a file. */
    MAPPED_REGION,
    /** Bitmaps and summaries of allocators. */
    ALLOCATOR,
    /** GPU memory. */
    DEVICE,
    /** Host memory that the CUDA driver allocated or registered, and so pinned. */
    PINNED,
    /** A retained CUDA context, a stream or an event; their bytes are zero. */
    CUDA_HANDLE,
    /** The cuFile driver, a file or stream registered with it, or a batch; bytes are those of a batch's arrays. */
    CUFILE_HANDLE,
    /** Memory registered with cuFile, counted beside its owner's tag. */
    CUFILE_BUFFER,
    /** Aligned staging memory of a file transport. */
    BOUNCE,
    /** An open file descriptor; its bytes are zero. */
    FILE_DESCRIPTOR,
    /** An io_uring instance; its bytes are those of the queues shared with the kernel. */
    IO_RING,
    /** Memory that an io_uring instance has registered and the kernel holds pinned; counted beside its owner's tag. */
    RING_BUFFER,
    /** An array that names the memory of a vectored io_uring operation; kept by the ring for the next one. */
    RING_VECTOR,
    /** Memory shared with the client of 3FS, through which all bytes of USRBIO go. */
    USRBIO_MEMORY,
    /** A ring of USRBIO; its bytes are those of the memory that it shares with the client of 3FS. */
    USRBIO_RING,
    /** A file registered with USRBIO; its bytes are zero. */
    USRBIO_FILE,
    /** Memory of tests. */
    TEST
}
