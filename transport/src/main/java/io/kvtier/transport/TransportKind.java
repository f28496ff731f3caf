package io.kvtier.transport;

/** The transports there are, by name; a request may name one as a hint. */
public enum TransportKind {
    /** Copies between memory regions of this process. */
    MEMORY,
    /** Positional reads and writes of the C library. */
    POSIX
}
