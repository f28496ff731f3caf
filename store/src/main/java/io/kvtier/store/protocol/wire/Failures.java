package io.kvtier.store.protocol.wire;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.transport.rpc.RpcException;

/** Refusals on the wire: the code with its sign turned, and a text. <b>Threading:</b> stateless. */
public final class Failures {
    private static final int MAX_TEXT = 4000;

    private Failures() {
    }

    /**
     * A refusal as a call is answered with it.
     *
     * @param refusal why the command was not carried out.
     * @return the same for the wire.
     */
    public static RpcException sent(final StoreException refusal) {
        return RpcException.application(-refusal.code().number(), text(refusal));
    }

    static StoreException received(final int number, final String text) {
        return new StoreException(ErrorCode.of(-number), text);
    }

    /** The message without the code, which the exception of the other end puts before it again; the start of it. */
    static String text(final StoreException refusal) {
        final String prefix = refusal.code() + ": ";
        final String message = refusal.getMessage();
        final String text = message.startsWith(prefix) ? message.substring(prefix.length()) : message;
        return text.length() <= MAX_TEXT ? text : text.substring(0, MAX_TEXT);
    }
}
