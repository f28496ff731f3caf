package io.kvtier.store.admin;

/** A request is answered with an error. */
final class HttpFailure extends RuntimeException {
    static final int BAD_REQUEST = 400;
    static final int UNAUTHORIZED = 401;
    static final int FORBIDDEN = 403;
    static final int NOT_FOUND = 404;
    static final int METHOD_NOT_ALLOWED = 405;
    static final int CONFLICT = 409;
    static final int TOO_LARGE = 413;
    static final int INTERNAL = 500;
    static final int NOT_IMPLEMENTED = 501;
    static final int UNAVAILABLE = 503;

    private static final long serialVersionUID = 1L;

    private final int status;

    HttpFailure(final int status, final String message) {
        super(message);
        this.status = status;
    }

    int status() {
        return status;
    }
}
