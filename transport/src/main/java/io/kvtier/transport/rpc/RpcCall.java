package io.kvtier.transport.rpc;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One call as a server has it.
 *
 * <p><b>Threading:</b> thread-safe; the first answer counts, and others are ignored. <b>Blocking:</b> answering never
 * blocks, except on the connection's own thread, where it may wait for the peer to read.
 */
public final class RpcCall {
    private static final byte[] NO_BYTES = {};

    private final ServerConnection owner;
    private final int method;
    private final long id;
    private volatile byte[] body;
    private final long limitMs;
    private final boolean counted;
    private final long receivedNanos = System.nanoTime();
    private final AtomicBoolean answered = new AtomicBoolean();

    /** The frame that {@code in} has read; {@code counted} when the server waits for its answer before it closes. */
    RpcCall(final ServerConnection owner, final FrameInput in, final boolean counted) {
        this.owner = owner;
        this.method = in.code();
        this.id = in.id();
        this.body = in.takeBody();
        this.limitMs = in.limitMs();
        this.counted = counted;
    }

    /**
     * What is asked for.
     *
     * @return the number of the method.
     */
    public int method() {
        return method;
    }

    /**
     * The request.
     *
     * @return MessagePack.
     */
    public byte[] body() {
        return body;
    }

    /**
     * The request, for who needs it once: from then on it is no part of the call. A call that is answered later, like
     * thousands of others, should not keep what it was asked with until then.
     *
     * @return MessagePack; nothing at the second time.
     */
    public byte[] takeBody() {
        final byte[] taken = body;
        body = NO_BYTES;
        return taken;
    }

    /**
     * Which connection it came on.
     *
     * @return a number that the server never uses again.
     */
    public long connection() {
        return owner.number();
    }

    /**
     * Who calls.
     *
     * @return the name that the client gave, and its address.
     */
    public String peer() {
        return owner.peer();
    }

    /**
     * Whether the caller has given up by now. A call that was not begun in time should not be carried out, but
     * {@linkplain #fail failed} as LATE.
     *
     * @return true when its time limit is over.
     */
    public boolean isLate() {
        return limitMs != 0 && System.nanoTime() - receivedNanos > TimeUnit.MILLISECONDS.toNanos(limitMs);
    }

    /**
     * Answers.
     *
     * @param reply MessagePack; not to be changed until this returns.
     */
    public void reply(final byte[] reply) {
        final int length = reply.length;
        if (answered.compareAndSet(false, true)) {
            owner.answer(RpcFrame.REPLY, 0, id, reply, length, counted);
        }
    }

    /**
     * Answers.
     *
     * @param reply may be cleared and written to again when this returns.
     */
    public void reply(final MessageWriter reply) {
        final byte[] body = reply.buffer();
        final int length = reply.length();
        if (answered.compareAndSet(false, true)) {
            owner.answer(RpcFrame.REPLY, 0, id, body, length, counted);
        }
    }

    /**
     * Answers that it failed.
     *
     * @param error why; see {@link RpcHandler#handle}.
     */
    public void fail(final Throwable error) {
        if (answered.compareAndSet(false, true)) {
            final RpcException failure = switch (error) {
                case RpcException known -> known;
                case MalformedMessageException malformed ->
                    new RpcException(RpcStatus.MALFORMED, malformed.getMessage(), malformed);
                default -> owner.unexpected(method, error);
            };
            final byte[] text = Handshake.failureBody(failure.getMessage());
            owner.answer(RpcFrame.FAILURE, failure.wireCode(), id, text, text.length, counted);
        }
    }
}
