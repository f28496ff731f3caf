package io.kvtier.alloc;

/** What a region is made of, which decides who can move its bytes. */
public enum MemoryKind {
    /** Ordinary memory of this process. */
    HOST,
    /** Host memory that the driver of a GPU keeps in place. */
    PINNED,
    /** A file mapped into this process. */
    MAPPED,
    /** Memory of a GPU; has an address, and cannot be dereferenced. */
    DEVICE
}
