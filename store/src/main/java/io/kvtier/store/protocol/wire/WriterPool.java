package io.kvtier.store.protocol.wire;

import io.kvtier.transport.rpc.MessageWriter;
import org.agrona.concurrent.ManyToManyConcurrentArrayQueue;

/**
 * Writers that are used again, so that a message costs no buffer. <b>Threading:</b> thread-safe, lock-free; a pool and
 * not a variable of each thread, because virtual threads are many and live for one call.
 */
public final class WriterPool {
    private static final int KEPT = 64;
    private static final int KEPT_BYTES = 256 << 10;

    private final ManyToManyConcurrentArrayQueue<MessageWriter> free = new ManyToManyConcurrentArrayQueue<>(KEPT);

    private final int maxBytes;

    /**
     * An empty pool.
     *
     * @param maxBytes most bytes of a message.
     */
    public WriterPool(final int maxBytes) {
        this.maxBytes = maxBytes;
    }

    /**
     * A writer for one message.
     *
     * @return an empty one; to be {@linkplain #give given back}, or left to the collector.
     */
    public MessageWriter take() {
        final MessageWriter kept = free.poll();
        return kept != null ? kept : new MessageWriter(maxBytes);
    }

    /**
     * Takes a writer back, unless it has grown large or there are many.
     *
     * @param writer not to be used any more by who gives it.
     */
    public void give(final MessageWriter writer) {
        if (writer.capacity() <= KEPT_BYTES) {
            writer.clear();
            free.offer(writer);
        }
    }
}
