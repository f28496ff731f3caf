package io.kvtier.store.snapshot;

import io.kvtier.store.protocol.GdsCommand.GdsStorageSpec;
import java.util.UUID;

/**
 * A client's own file for GDS replicas.
 *
 * @param clientId its owner.
 * @param host     the owner's host; empty when it is not known.
 * @param spec     what was registered.
 */
public record SavedFile(UUID clientId, String host, GdsStorageSpec spec) {
}
