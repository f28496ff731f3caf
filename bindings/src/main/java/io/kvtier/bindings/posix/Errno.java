package io.kvtier.bindings.posix;

import java.util.Map;

/**
 * Error numbers of Linux that this library acts on, by name. The numbers are those of
 * {@code asm-generic/errno-base.h} and {@code errno.h}, the same on x86-64 and AArch64.
 */
public final class Errno {
    /** Operation not permitted. */
    public static final int EPERM = 1;
    /** No such file or directory. */
    public static final int ENOENT = 2;
    /** A signal interrupted the call before anything was done. */
    public static final int EINTR = 4;
    /** The device failed. */
    public static final int EIO = 5;
    /** Not a descriptor, or one not open for this. */
    public static final int EBADF = 9;
    /** Resource temporarily short. */
    public static final int EAGAIN = 11;
    /** Out of memory or address space. */
    public static final int ENOMEM = 12;
    /** No permission. */
    public static final int EACCES = 13;
    /** Bad address. */
    public static final int EFAULT = 14;
    /** In use, or too much of it unanswered. */
    public static final int EBUSY = 16;
    /** The path exists already. */
    public static final int EEXIST = 17;
    /** A part of the path is no directory. */
    public static final int ENOTDIR = 20;
    /** The path is a directory. */
    public static final int EISDIR = 21;
    /** Argument refused; for direct I/O usually an alignment. */
    public static final int EINVAL = 22;
    /** The process has no descriptor left. */
    public static final int EMFILE = 24;
    /** The file would grow past a limit. */
    public static final int EFBIG = 27;
    /** The device is full. */
    public static final int ENOSPC = 28;
    /** The file system is read-only. */
    public static final int EROFS = 30;
    /** The kernel has no such call. */
    public static final int ENOSYS = 38;
    /** A wait ended by its time limit. */
    public static final int ETIME = 62;
    /** The file system does not do this. */
    public static final int EOPNOTSUPP = 95;
    /** The mount of a network file system lost its peer. */
    public static final int ENOTCONN = 107;
    /** Nothing was heard in time. */
    public static final int ETIMEDOUT = 110;
    /** The quota is used up. */
    public static final int EDQUOT = 122;
    /** The operation was given up on request. */
    public static final int ECANCELED = 125;

    private static final Map<Integer, String> NAMES = Map.ofEntries(
        Map.entry(EPERM, "EPERM"), Map.entry(ENOENT, "ENOENT"), Map.entry(EINTR, "EINTR"), Map.entry(EIO, "EIO"),
        Map.entry(EBADF, "EBADF"), Map.entry(EAGAIN, "EAGAIN"), Map.entry(ENOMEM, "ENOMEM"),
        Map.entry(EACCES, "EACCES"), Map.entry(EBUSY, "EBUSY"),
        Map.entry(ETIME, "ETIME"), Map.entry(ECANCELED, "ECANCELED"),
        Map.entry(EFAULT, "EFAULT"), Map.entry(EEXIST, "EEXIST"),
        Map.entry(ENOTDIR, "ENOTDIR"), Map.entry(EISDIR, "EISDIR"), Map.entry(EINVAL, "EINVAL"),
        Map.entry(EMFILE, "EMFILE"), Map.entry(EFBIG, "EFBIG"), Map.entry(ENOSPC, "ENOSPC"),
        Map.entry(EROFS, "EROFS"), Map.entry(ENOSYS, "ENOSYS"), Map.entry(EOPNOTSUPP, "EOPNOTSUPP"),
        Map.entry(ENOTCONN, "ENOTCONN"), Map.entry(EDQUOT, "EDQUOT"),
        Map.entry(ETIMEDOUT, "ETIMEDOUT"));

    private Errno() {
    }

    /**
     * The symbolic name of an error number.
     *
     * @param errno a positive error number.
     * @return for example {@code EIO}, or {@code errno 71} for one without a name here.
     */
    public static String name(final int errno) {
        return NAMES.getOrDefault(errno, "errno " + errno);
    }

    /**
     * The C library's words for an error number.
     *
     * @param errno a positive error number.
     * @return the text of {@code strerror}.
     */
    public static String text(final int errno) {
        return Libc.strerror(errno);
    }
}
