package io.kvtier.store.snapshot;

import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import java.util.UUID;

/**
 * A segment that was lent: memory or a block device.
 *
 * @param clientId its owner.
 * @param host     the owner's host; empty when it is not known.
 * @param spec     what was lent.
 */
public record SavedSegment(UUID clientId, String host, SegmentSpec spec) {
}
