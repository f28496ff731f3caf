package io.kvtier.transport;

import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaException;
import io.kvtier.bindings.cufile.CuFileException;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.ErrnoException;
import java.util.Set;

/**
 * Why bytes were not moved, as data.
 *
 * @param kind      the kind of failure.
 * @param domain    who numbers the code: {@code errno}, {@code cuda}, {@code cufile} or {@code tcp}; empty when there
 *                  is none.
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
        /** There was no room for it, and it was not to wait. */
        BUSY,
        /** The segment ended before the length was reached. */
        SHORT,
        /** The device, the file system or the memory failed. */
        FAILED
    }

    /** The {@link #domain} of what the kernel says. */
    public static final String ERRNO = "errno";

    private static final String CUDA = "cuda";
    private static final String CUFILE = "cufile";

    /** Errors that another transport would meet as well: no space, no permission, no such file, wrong descriptor. */
    private static final Set<Integer> FINAL_ERRNOS =
        Set.of(Errno.ENOSPC, Errno.EDQUOT, Errno.EROFS, Errno.EACCES, Errno.EPERM, Errno.EFBIG, Errno.ENOENT,
            Errno.EBADF);

    /**
     * What was thrown under a slice.
     *
     * @param slice the slice.
     * @param error what the call said.
     * @return the failure.
     */
    static TransferFailure of(final Slice slice, final Throwable error) {
        return switch (error) {
            case TransferException known -> known.failure();
            case ErrnoException e -> of(slice, ERRNO, e.errno(), !FINAL_ERRNOS.contains(e.errno()), e);
            case CuFileException e -> of(slice, domain(e), e.code(), true, e);
            case CudaException e -> of(slice, CUDA, e.code(), false, e);
            default -> of(slice, "", 0, false, error);
        };
    }

    /** cuFile passes on what the kernel and the CUDA driver say, under their numbers. */
    private static String domain(final CuFileException e) {
        return switch (e.domain()) {
            case CUFILE -> CUFILE;
            case ERRNO -> ERRNO;
            case CUDA -> CUDA;
        };
    }

    /**
     * The symbolic name of the code.
     *
     * @return for example {@code EIO} or {@code CU_FILE_HANDLE_NOT_REGISTERED}; empty when there is no code, and for
     *         codes of {@code tcp}, whose words stand in the message.
     */
    public String codeName() {
        return switch (domain) {
            case ERRNO -> Errno.name(code);
            case CUFILE -> CuFileException.nameOf(code);
            case CUDA -> Cuda.errorName(code);
            default -> "";
        };
    }

    private static TransferFailure of(final Slice slice, final String domain, final int code, final boolean retryable,
        final Throwable error) {
        return new TransferFailure(Kind.FAILED, domain, code, retryable, slice.segment().name(), slice.offset(),
            slice.length(), String.valueOf(error.getMessage()));
    }
}
