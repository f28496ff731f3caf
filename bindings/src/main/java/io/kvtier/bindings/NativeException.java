package io.kvtier.bindings;

/**
 * A native call failed. The message names the call, what it was asked for, the code and its meaning.
 *
 * <p>Unchecked: callers that can do something about it catch the subclass of the library they use.
 */
public class NativeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** The native function that failed. */
    private final String call;
    /** The native error code, in the numbering of the library. */
    private final int code;

    /**
     * A failed native call.
     *
     * @param call    the function.
     * @param code    its error code.
     * @param message the whole message.
     */
    protected NativeException(final String call, final int code, final String message) {
        super(message);
        this.call = call;
        this.code = code;
    }

    /**
     * The native function that failed.
     *
     * @return its name, for example {@code pread}.
     */
    public final String call() {
        return call;
    }

    /**
     * The native error code.
     *
     * @return the code, in the numbering of the library.
     */
    public final int code() {
        return code;
    }
}
