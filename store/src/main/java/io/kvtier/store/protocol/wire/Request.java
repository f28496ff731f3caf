package io.kvtier.store.protocol.wire;

import io.kvtier.store.protocol.Command;

/**
 * A command as it came to a server.
 *
 * @param <R>     what it is answered with.
 * @param command the command.
 * @param waitMs  milliseconds that a put may wait for room; 0 for everything else.
 */
public record Request<R>(Command<R> command, long waitMs) {
}
