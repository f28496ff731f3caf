package io.kvtier.transport.rpc;

import java.util.Arrays;

/** Why a call failed, as both ends number it; see {@code transport/RPC.md}. */
public enum RpcStatus {
    /** The body is not what the method takes. */
    MALFORMED(1),
    /** The server does not know the method. */
    UNKNOWN_METHOD(2),
    /** The time limit was over before the call was begun. */
    LATE(3),
    /** Too many connections or calls. */
    BUSY(4),
    /** The handler failed; whether the call was carried out is not known. */
    INTERNAL(5),
    /** No proof of the shared secret, or a wrong one. */
    UNAUTHENTICATED(6),
    /** No version that both speak. */
    VERSION(7),
    /** The server is closing. */
    SHUTTING_DOWN(8),
    /** The body is larger than the receiver takes. */
    TOO_LARGE(9),
    /** The connection ended; whether the call was carried out is not known. Never sent. */
    DISCONNECTED(-1),
    /** No answer in time; whether the call was carried out is not known. Never sent. */
    TIMEOUT(-2),
    /** No connection could be made; the call was not carried out. Never sent. */
    UNREACHABLE(-3),
    /** An error of the application, whose number {@link RpcException#applicationCode()} has. */
    APPLICATION(256);

    private final int code;

    RpcStatus(final int code) {
        this.code = code;
    }

    /**
     * The number on the wire.
     *
     * @return the code; 256 for all of the application's.
     */
    public int code() {
        return code;
    }

    /**
     * Whether the call may have been carried out although it failed.
     *
     * @return true when the caller cannot know.
     */
    public boolean isUncertain() {
        return this == INTERNAL || this == DISCONNECTED || this == TIMEOUT;
    }

    static RpcStatus of(final int code) {
        return code >= APPLICATION.code ? APPLICATION
            : Arrays.stream(values()).filter(status -> status.code == code && code > 0).findFirst().orElse(INTERNAL);
    }
}
