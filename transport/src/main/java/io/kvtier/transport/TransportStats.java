package io.kvtier.transport;

/**
 * What a transport has done for an engine.
 *
 * @param kind         the transport.
 * @param transfers    transfers it was chosen for.
 * @param readBytes    bytes asked for by reads.
 * @param writtenBytes bytes asked for by writes.
 */
public record TransportStats(TransportKind kind, long transfers, long readBytes, long writtenBytes) {
}
