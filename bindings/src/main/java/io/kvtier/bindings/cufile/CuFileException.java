package io.kvtier.bindings.cufile;

import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cufile.gen.CuFileTypes;
import io.kvtier.bindings.posix.Errno;

/** A cuFile call failed, or an entry of a batch did. One type for the three ways in which cuFile reports. */
public final class CuFileException extends NativeException {
    private static final long serialVersionUID = 1L;

    /** Whose numbering the code is of. */
    public enum Domain {
        /** A code of cuFile, 5001 and up. */
        CUFILE,
        /** An error number of the C library. */
        ERRNO,
        /** A {@code CUresult}: cuFile passes on what the CUDA driver said. */
        CUDA
    }

    /** Whose code it is. */
    private final Domain domain;
    /** Its symbolic name. */
    private final String name;

    private CuFileException(final String call, final Domain domain, final int code, final String name,
        final String text, final String detail) {
        super(call, code, call + "(" + detail + ") failed: " + name + " (" + code + "), " + text
            + hint(call, domain, code));
        this.domain = domain;
        this.name = name;
    }

    /**
     * A call that returned a status other than success.
     *
     * @param call   the function.
     * @param status what it returned, packed as in {@link CuFileStatus}.
     * @param detail the arguments that matter.
     * @return the exception.
     */
    public static CuFileException ofStatus(final String call, final long status, final String detail) {
        final int code = CuFileStatus.code(status);
        if (code == CuFileTypes.CU_FILE_CUDA_DRIVER_ERROR()) {
            final int cuda = CuFileStatus.cudaCode(status);
            return new CuFileException(call, Domain.CUDA, cuda, Cuda.errorName(cuda), "reported by the CUDA driver",
                detail);
        }
        return ofCode(call, Math.abs(code), detail);
    }

    /**
     * A read or write, or an entry of a batch, that gave a negative result.
     *
     * @param call   the function.
     * @param result the result: -1, a negative cuFile code, or a negative error number.
     * @param errno  what errno was, for a result of -1; 0 where the call does not set it.
     * @param detail the arguments that matter.
     * @return the exception.
     */
    public static CuFileException ofResult(final String call, final long result, final int errno,
        final String detail) {
        // Seen: cuFile codes in errno beside the -1, and as the negative result.
        final long code = result == -1 ? errno : Math.abs(result);
        if (code > CuFileTypes.CUFILEOP_BASE_ERR() && code <= Integer.MAX_VALUE) {
            return ofCode(call, (int) code, detail);
        }
        final int number = code > 0 && code <= Integer.MAX_VALUE ? (int) code : Errno.EIO;
        return new CuFileException(call, Domain.ERRNO, number, Errno.name(number), Errno.text(number), detail);
    }

    /**
     * The symbolic name of a code of cuFile.
     *
     * @param code a code of the domain {@link Domain#CUFILE}.
     * @return for example {@code CU_FILE_HANDLE_NOT_REGISTERED}; {@code cuFile code 5021} for one without a name.
     */
    public static String nameOf(final int code) {
        return CuFileCode.name(code);
    }

    /**
     * Whose numbering {@link #code()} is of.
     *
     * @return the domain.
     */
    public Domain domain() {
        return domain;
    }

    /**
     * The symbolic name of the code.
     *
     * @return for example {@code CU_FILE_HANDLE_NOT_REGISTERED} or {@code EIO}.
     */
    public String name() {
        return name;
    }

    /**
     * Whether the same call may succeed later.
     *
     * @return true for a passing shortage.
     */
    public boolean retryable() {
        return switch (domain) {
            case CUFILE -> CuFileCode.retryable(code());
            case ERRNO -> code() == Errno.EAGAIN || code() == Errno.EINTR;
            case CUDA -> false;
        };
    }

    private static CuFileException ofCode(final String call, final int code, final String detail) {
        return new CuFileException(call, Domain.CUFILE, code, CuFileCode.name(code), CuFileCode.text(code), detail);
    }

    private static String hint(final String call, final Domain domain, final int code) {
        if (domain != Domain.CUFILE) {
            return "";
        }
        if (call.equals("cuFileHandleRegister") && (code == CuFileTypes.CU_FILE_HANDLE_NOT_REGISTERED()
            || code == CuFileTypes.CU_FILE_INTERNAL_ERROR())) {
            return "; cuFile looks the file system up in udev's database: in a container mount /run/udev read-only,"
                + " elsewhere see that /run/udev/data has an entry with ID_FS_TYPE for the device (cufile.log tells)";
        }
        if (code == CuFileTypes.CU_FILE_IO_NOT_SUPPORTED() || code == CuFileTypes.CU_FILE_DRIVER_NOT_INITIALIZED()) {
            return "; load nvidia-fs, use ext4 or xfs on NVMe, or allow compatibility mode (allow_compat_mode)";
        }
        if (code == CuFileTypes.CU_FILE_INVALID_CONTEXT_ERROR()) {
            return "; enter a CudaContext in the calling thread first";
        }
        if (code == CuFileTypes.CU_FILE_DRIVER_ALREADY_OPEN()) {
            return "; parameters can only be set while no part of the process has the driver open";
        }
        return "";
    }
}
