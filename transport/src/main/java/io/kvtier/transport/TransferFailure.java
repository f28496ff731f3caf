package io.kvtier.transport;

import io.kvtier.bindings.posix.ErrnoException;

/**
 * Why bytes were not moved, as data.
 *
 * @param kind      the kind of failure.
 * @param domain    who numbers the code: {@code errno}, or empty when there is none.
 * @param code      the native code, or 0.
 * @param retryable whether another transport, or the same one later, may succeed.
 * @param segment   the segment's name.
 * @param offset    start of the slice in the segment, in bytes.
 * @param length    length of the slice in bytes.
 * @param message   what happened, in words.
 */
public record TransferFailure(Kind kind, String domain, int code, boolean retryable, String segment, long offset,
                              long length, String message) {
    /** Kinds of failure, in order of severity. */
    public enum Kind {
        /** The request was refused before anything was queued. */
        INVALID,
        /** The caller cancelled it. */
        CANCELED,
        /** It did not end in time. */
        TIMEOUT,
        /** The segment ended before the length was reached. */
        SHORT,
        /** The device, the file system or the memory failed. */
        FAILED
    }

    /**
     * A native call that failed under a slice.
     *
     * @param slice the slice.
     * @param error what the call said.
     * @return the failure.
     */
    static TransferFailure of(final Slice slice, final Throwable error) {
        final boolean errno = error instanceof ErrnoException;
        return new TransferFailure(Kind.FAILED, errno ? "errno" : "", errno ? ((ErrnoException) error).errno() : 0,
            errno, slice.segment().name(), slice.offset(), slice.length(), String.valueOf(error.getMessage()));
    }
}
