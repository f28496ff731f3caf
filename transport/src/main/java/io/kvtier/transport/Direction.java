package io.kvtier.transport;

/** Which way bytes go. */
public enum Direction {
    /** From the segment into local memory. */
    READ,
    /** From local memory into the segment. */
    WRITE
}
