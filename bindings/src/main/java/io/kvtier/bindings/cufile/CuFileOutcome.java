package io.kvtier.bindings.cufile;

import io.kvtier.bindings.cufile.gen.CuFileTypes;

/** How an entry of a batch ended. */
public enum CuFileOutcome {
    /** All of its bytes were moved. */
    COMPLETE,
    /** It ended without an error after fewer bytes; reading, at the end of the file. */
    SHORT,
    /** It failed; the result says why. */
    FAILED,
    /** The driver refused the entry as ill-formed. */
    INVALID,
    /** The driver's own time limit ended it. */
    TIMED_OUT,
    /**
     * It was cancelled, or the batch was destroyed before anything was heard of it: how much was moved is unknown, and
     * nothing moves any more.
     */
    CANCELED,
    /**
     * The batch was destroyed before anything was heard of it, and a device may still move bytes: until the process
     * ends neither its memory nor its place in the file may be used for anything else. The library's owners of both
     * stay as they are.
     */
    LOST;

    /**
     * What an event says, or null when it does not say that the entry has ended.
     *
     * @param status {@code CUfileStatus_t}.
     * @param result bytes, or a negative code.
     * @param length bytes asked for.
     */
    static CuFileOutcome of(final int status, final long result, final long length) {
        if (status == CuFileTypes.CUFILE_COMPLETE()) {
            if (result < 0 || result > length) {
                return FAILED;
            }
            return result == length ? COMPLETE : SHORT;
        }
        if (status == CuFileTypes.CUFILE_FAILED()) {
            return FAILED;
        }
        if (status == CuFileTypes.CUFILE_CANCELED()) {
            return CANCELED;
        }
        if (status == CuFileTypes.CUFILE_TIMEOUT()) {
            return TIMED_OUT;
        }
        return status == CuFileTypes.CUFILE_INVALID() ? INVALID : null;
    }
}
