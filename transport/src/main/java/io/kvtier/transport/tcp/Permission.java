package io.kvtier.transport.tcp;

/** What others may do with an exported segment. */
public enum Permission {
    /** Reads only. */
    READ_ONLY,
    /** Reads and writes. */
    READ_WRITE
}
