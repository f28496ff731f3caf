package io.kvtier.store.replica;

import java.util.Set;
import java.util.UUID;

/**
 * What is near to a reader.
 *
 * @param clientId   the reader itself.
 * @param segments   segments of its own process.
 * @param namespaces block devices that it has been given.
 */
public record Locality(UUID clientId, Set<UUID> segments, Set<String> namespaces) {
}
