package io.kvtier.transport.tcp;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * What a server answers, by number. Numbers are never used again; those from 65 on end the connection.
 *
 * <p><b>Threading:</b> immutable.
 */
enum Status {
    OK(0, false),
    UNKNOWN_SEGMENT(1, false),
    TOKEN_REFUSED(2, false),
    OUT_OF_RANGE(3, false),
    READ_ONLY(4, false),
    EXPORT_CLOSED(5, false),
    ABORTED(6, false),
    TOO_LONG(7, false),
    BAD_HANDLE(8, false),
    PROTOCOL(9, false),
    MEMORY(10, false),
    VERSION(65, false),
    AUTHENTICATION(66, false),
    BUSY(67, true),
    SHUTTING_DOWN(68, true);

    private final int code;
    private final boolean retryable;

    Status(final int code, final boolean retryable) {
        this.code = code;
        this.retryable = retryable;
    }

    int code() {
        return code;
    }

    /** Whether the same may go well later. */
    static boolean isRetryable(final int code) {
        for (final Status status : values()) {
            if (status.code == code) {
                return status.retryable;
            }
        }
        return false;
    }

    static String nameOf(final int code) {
        for (final Status status : values()) {
            if (status.code == code) {
                return status.name();
            }
        }
        return "unknown status";
    }

    /** A text as a body: cut, if need be, to what a frame may have. */
    static byte[] body(final String text) {
        final byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return bytes.length <= Wire.MAX_BODY ? bytes : Arrays.copyOf(bytes, Wire.MAX_BODY);
    }
}
