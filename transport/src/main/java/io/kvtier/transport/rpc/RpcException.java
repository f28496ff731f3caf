package io.kvtier.transport.rpc;

/** A call failed. <b>Threading:</b> immutable. */
public final class RpcException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Why. */
    private final RpcStatus status;
    /** The application's own number, when the status says that it has one. */
    private final int applicationCode;

    /**
     * A call that failed below the application.
     *
     * @param status  why.
     * @param message in words: which peer, which method.
     * @param cause   what was thrown, or null.
     */
    public RpcException(final RpcStatus status, final String message, final Throwable cause) {
        super(status + ": " + message, cause);
        this.status = status;
        this.applicationCode = 0;
    }

    private RpcException(final int applicationCode, final String message) {
        super(message);
        this.status = RpcStatus.APPLICATION;
        this.applicationCode = applicationCode;
    }

    /**
     * An error of the application, to be thrown by a handler and found again by the caller.
     *
     * @param code    the application's number, 0 or more.
     * @param message in words.
     * @return the exception.
     */
    public static RpcException application(final int code, final String message) {
        if (code < 0 || code > Integer.MAX_VALUE - RpcStatus.APPLICATION.code()) {
            throw new IllegalArgumentException("an application's code is " + code + "; it must not be negative");
        }
        return new RpcException(code, message);
    }

    /**
     * Why it failed.
     *
     * @return the status.
     */
    public RpcStatus status() {
        return status;
    }

    /**
     * The application's number.
     *
     * @return the code; 0 unless the status is APPLICATION.
     */
    public int applicationCode() {
        return applicationCode;
    }

    /** The number that goes on the wire. */
    int wireCode() {
        return status == RpcStatus.APPLICATION ? status.code() + applicationCode : status.code();
    }

    static RpcException received(final int code, final String message) {
        final RpcStatus status = RpcStatus.of(code);
        return status == RpcStatus.APPLICATION ? application(code - status.code(), message)
            : new RpcException(status, message, null);
    }
}
