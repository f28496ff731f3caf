package io.kvtier.transport.tcp;

import io.kvtier.transport.TransferFailure;

/**
 * Why a connection ended, and what that means for the requests on it.
 *
 * @param end       what becomes of the requests.
 * @param code      number of a {@link Status}, or 0.
 * @param retryable whether the same may go well later.
 * @param message   in words.
 */
record Loss(End end, int code, boolean retryable, String message) {
    /** What becomes of the requests of a connection that ended. */
    enum End {
        /** They are sent again on another one. */
        RETRY,
        /** They fail: the peer cannot be talked to. */
        FAIL,
        /** They fail as late. */
        TIMEOUT,
        /** Nobody wants them any more. */
        CANCEL
    }

    static Loss of(final Throwable error) {
        if (error instanceof PeerException peer) {
            final boolean retryable = Status.isRetryable(peer.code());
            return new Loss(retryable ? End.RETRY : End.FAIL, peer.code(), retryable,
                Status.nameOf(peer.code()) + " (" + peer.code() + "): " + peer.getMessage());
        }
        final String text = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
        return new Loss(End.RETRY, 0, true, text);
    }

    TransferFailure.Kind kind() {
        return switch (end) {
            case TIMEOUT -> TransferFailure.Kind.TIMEOUT;
            case CANCEL -> TransferFailure.Kind.CANCELED;
            default -> TransferFailure.Kind.FAILED;
        };
    }
}
