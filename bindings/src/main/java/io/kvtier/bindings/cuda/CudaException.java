package io.kvtier.bindings.cuda;

import io.kvtier.bindings.NativeException;
import io.kvtier.bindings.cuda.gen.CudaTypes;

/** A call of the CUDA driver API failed. */
public final class CudaException extends NativeException {
    private static final long serialVersionUID = 1L;

    /** The name of the code. */
    private final String name;

    /**
     * A failed call.
     *
     * @param call   the function, for example {@code cuMemAlloc}.
     * @param code   its {@code CUresult}.
     * @param detail the arguments that matter.
     */
    public CudaException(final String call, final int code, final String detail) {
        this(call, code, detail, Cuda.errorName(code), Cuda.errorText(code));
    }

    private CudaException(final String call, final int code, final String detail, final String name,
        final String text) {
        super(call, code, call + "(" + detail + ") failed: " + name + " (" + code + "), " + text + hint(code));
        this.name = name;
    }

    /**
     * The symbolic name of the code.
     *
     * @return for example {@code CUDA_ERROR_OUT_OF_MEMORY}.
     */
    public String name() {
        return name;
    }

    private static String hint(final int code) {
        if (code == CudaTypes.CUDA_ERROR_OUT_OF_MEMORY()) {
            return "; another process may hold the memory, or configure a smaller capacity";
        }
        if (code == CudaTypes.CUDA_ERROR_INVALID_CONTEXT()) {
            return "; enter a CudaContext in the calling thread first";
        }
        return "";
    }
}
