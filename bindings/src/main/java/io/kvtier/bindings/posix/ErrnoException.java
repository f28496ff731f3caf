package io.kvtier.bindings.posix;

import io.kvtier.bindings.NativeException;

/** A C library call failed and set errno. */
public final class ErrnoException extends NativeException {
    private static final long serialVersionUID = 1L;

    /**
     * A failed call.
     *
     * @param call   the function, for example {@code pwrite}.
     * @param errno  the captured error number.
     * @param detail the arguments that matter, for example path, offset and length.
     */
    public ErrnoException(final String call, final int errno, final String detail) {
        super(call, errno, call + "(" + detail + ") failed: " + Errno.name(errno) + " (" + errno + "), "
            + Errno.text(errno) + hint(errno));
    }

    /**
     * The captured error number.
     *
     * @return errno, one of the constants of {@link Errno} or another positive number.
     */
    public int errno() {
        return code();
    }

    /**
     * Whether there was no room on the file system, or none for this user.
     *
     * @return true for ENOSPC and EDQUOT.
     */
    public boolean isOutOfSpace() {
        return errno() == Errno.ENOSPC || errno() == Errno.EDQUOT;
    }

    private static String hint(final int errno) {
        return switch (errno) {
            case Errno.ENOSPC -> "; free space on the file system or configure a smaller capacity";
            case Errno.EMFILE -> "; raise the process's limit on open files (ulimit -n)";
            case Errno.EROFS -> "; the file system is mounted read-only";
            case Errno.EACCES, Errno.EPERM -> "; check owner and permissions of the path";
            default -> "";
        };
    }
}
