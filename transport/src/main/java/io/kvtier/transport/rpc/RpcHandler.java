package io.kvtier.transport.rpc;

/** What a server does with calls. */
@FunctionalInterface
public interface RpcHandler {
    /**
     * Carries out a call and answers it, now or later, on any thread. Called on the thread of the connection, calls of
     * one connection in their order; while this runs the next call of the connection waits. What is thrown becomes the
     * call's failure: an {@link RpcException} as it is, a {@link MalformedMessageException} as MALFORMED, anything else
     * as INTERNAL.
     *
     * @param call the call.
     */
    void handle(RpcCall call);

    /**
     * Hears that a connection has ended; calls of it may still be under way, and their answers go nowhere.
     *
     * @param connection what {@link RpcCall#connection()} said.
     */
    default void disconnected(final long connection) {
        // Most handlers do not care.
    }
}
