package io.kvtier.bindings.cufile;

/**
 * A {@code CUfileError_t} as one number, as {@link CuFileApi} passes it.
 *
 * <p><b>Threading:</b> stateless.
 */
public final class CuFileStatus {
    /** No error of either kind. */
    public static final long SUCCESS = 0;

    private CuFileStatus() {
    }

    /**
     * Puts the two fields together.
     *
     * @param code the cuFile code.
     * @param cuda the CUDA code, which counts when the cuFile code is 5011.
     * @return the number.
     */
    public static long pack(final int code, final int cuda) {
        return Integer.toUnsignedLong(code) | (long) cuda << Integer.SIZE;
    }

    /**
     * The cuFile code.
     *
     * @param status a packed status.
     * @return 0, or 5001 and up.
     */
    public static int code(final long status) {
        return (int) status;
    }

    /**
     * The CUDA code.
     *
     * @param status a packed status.
     * @return a CUresult.
     */
    public static int cudaCode(final long status) {
        return (int) (status >>> Integer.SIZE);
    }
}
