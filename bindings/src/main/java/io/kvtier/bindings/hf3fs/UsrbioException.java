package io.kvtier.bindings.hf3fs;

import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.posix.Errno;

/** A call of USRBIO failed, or an entry of a ring did, or nothing was heard of one. */
public final class UsrbioException extends NativeException {
    private static final long serialVersionUID = 1L;

    private static final String SEE_CLIENT = "; see that the 3FS client (hf3fs_fuse_main) of this mount runs and"
        + " reaches its storage";

    /**
     * A failed call or entry.
     *
     * @param call   the function, for example {@code hf3fs_iovcreate}.
     * @param errno  a positive error number.
     * @param detail the arguments that matter.
     */
    public UsrbioException(final String call, final int errno, final String detail) {
        super(call, errno, call + "(" + detail + ") failed: " + Errno.name(errno) + " (" + errno + "), "
            + Errno.text(errno) + hint(call, errno));
    }

    /**
     * The error number.
     *
     * @return positive, in the numbering of {@link Errno}.
     */
    public int errno() {
        return code();
    }

    /**
     * Whether it is not known what came of the call: nothing was heard of an entry, which may still be carried out.
     *
     * @return true after a time limit; a write may then change the file later.
     */
    public boolean uncertain() {
        return code() == Errno.ETIMEDOUT;
    }

    private static String hint(final String call, final int errno) {
        return switch (call) {
            case "hf3fs_iovcreate", "hf3fs_iovopen", "hf3fs_iorcreate4" -> switch (errno) {
                case Errno.ENOENT, Errno.ENOTDIR -> "; the mount point must be that of a running 3FS client, with"
                    + " 3fs-virt/iovs below it";
                case Errno.EIO -> "; the shared memory could not be made: see the size of /dev/shm and its permissions";
                default -> "";
            };
            case "hf3fs_reg_fd" -> switch (errno) {
                case Errno.EBADF -> "; only files on 3FS can be registered, and descriptors below the hard limit on"
                    + " open files that was in force when the library was loaded";
                case Errno.EINVAL -> "; the descriptor is registered already, or one of this number was closed without"
                    + " being deregistered";
                default -> "";
            };
            case "hf3fs_prep_io" -> errno == Errno.EACCES ? "; the file was not opened for this direction" : "";
            case "hf3fs_wait_for_ios" -> switch (errno) {
                case Errno.ETIMEDOUT -> SEE_CLIENT;
                case Errno.EBUSY -> SEE_CLIENT + "; a lane is used again when its entries were heard of";
                default -> "";
            };
            default -> "";
        };
    }
}
