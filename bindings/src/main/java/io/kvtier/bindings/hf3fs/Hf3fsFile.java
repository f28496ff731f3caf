package io.kvtier.bindings.hf3fs;

import io.kvtier.bindings.NativeResources;
import io.kvtier.bindings.NativeTag;
import io.kvtier.bindings.posix.Errno;
import io.kvtier.bindings.posix.PosixFile;

/**
 * Owner of a file's registration with USRBIO. A file is registered once at a time; entries may then read or write it as
 * it was opened to be. There is no alignment rule, however it was opened.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> holds the file's descriptor open, since the library must be told
 * before it is closed; {@link #close()} returns at once, and the registration ends, and then the hold on the
 * descriptor, when the last entry that names it has been reaped. <b>Blocking:</b> registering and letting go ask the
 * file system.
 */
public final class Hf3fsFile implements AutoCloseable {
    private final UsrbioFunctions functions;
    private final PosixFile file;
    private final int fd;
    private final long device;
    /** The owner until it closes, each entry, and each transfer of a channel. */
    private int users = 1;
    private boolean closed;

    private Hf3fsFile(final UsrbioFunctions functions, final PosixFile file, final int fd,
        final long device) {
        this.functions = functions;
        this.file = file;
        this.fd = fd;
        this.device = device;
        NativeResources.created(NativeTag.USRBIO_FILE, 0);
    }

    /**
     * Registers an open file.
     *
     * @param usrbio the library.
     * @param file   a file on 3FS; may be closed at once, its descriptor stays until this is.
     * @return the owner of the registration.
     * @throws UsrbioException EBADF when it is not on 3FS, EINVAL when it is registered already.
     */
    public static Hf3fsFile register(final Usrbio usrbio, final PosixFile file) {
        final UsrbioFunctions functions = usrbio.functions();
        final int fd = file.acquireDescriptor();
        try {
            // Success is the negative of another descriptor, so 0 too; an error is a positive number.
            final int result = functions.isHf3fs(fd) ? functions.regFd(fd) : Errno.EBADF;
            if (result > 0) {
                throw new UsrbioException("hf3fs_reg_fd", result, file.path() + ", descriptor " + fd);
            }
            return registered(functions, file, fd);
        } catch (final RuntimeException | Error e) {
            file.releaseDescriptor();
            throw e;
        }
    }

    private static Hf3fsFile registered(final UsrbioFunctions functions, final PosixFile file, final int fd) {
        try {
            return new Hf3fsFile(functions, file, fd, file.status().device());
        } catch (final RuntimeException | Error e) {
            functions.deregFd(fd);
            throw e;
        }
    }

    /**
     * The file.
     *
     * @return the path it was opened with.
     */
    public String path() {
        return file.path();
    }

    /** Ends the registration once no entry names the file any more. A second call does nothing. */
    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        release();
    }

    int descriptor() {
        return fd;
    }

    /** Which mounted file system it is on, as {@link io.kvtier.bindings.posix.FileStatus#device()} has it. */
    long device() {
        return device;
    }

    synchronized void retain() {
        if (closed) {
            throw new IllegalStateException(file.path() + " is no longer registered with USRBIO");
        }
        users++;
    }

    /** Another hold for one who has one, also when the owner has closed since. */
    synchronized void share() {
        users++;
    }

    void release() {
        synchronized (this) {
            users--;
            if (users > 0) {
                return;
            }
        }
        NativeResources.released(NativeTag.USRBIO_FILE, 0);
        functions.deregFd(fd);
        file.releaseDescriptor();
    }
}
