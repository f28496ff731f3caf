package io.kvtier.transport;

/**
 * What one transport keeps open for one segment: descriptors, handles, registrations.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> the engine closes it after the last slice on it has ended.
 */
public interface TransportSegment extends AutoCloseable {
    /**
     * The segment's size now.
     *
     * @return bytes.
     */
    long byteSize();

    /** Gives everything back. A second call does nothing. */
    @Override
    void close();
}
