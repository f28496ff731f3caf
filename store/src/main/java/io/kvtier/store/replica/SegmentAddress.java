package io.kvtier.store.replica;

import io.kvtier.transport.AccessToken;
import java.util.UUID;

/**
 * How a segment that a client lends is reached. All replicas in one segment share one of these.
 *
 * @param segmentId   the segment; a segment that is lent anew has a new id.
 * @param endpoint    addresses that {@code TransferEngine.openSegment} takes, best first, separated by spaces; empty
 *                    for a segment that only its own process reaches.
 * @param accessToken what a remote access must show.
 */
public record SegmentAddress(UUID segmentId, String endpoint, AccessToken accessToken) {
    /** Longest endpoint, in bytes of UTF-8. */
    public static final int MAX_ENDPOINT_BYTES = 4096;

    /**
     * Whether who may use one may use the other.
     *
     * @param other another address.
     * @return true when the tokens are the same.
     */
    public boolean hasTokenOf(final SegmentAddress other) {
        return accessToken.equals(other.accessToken);
    }

    /**
     * A segment that only its own process reaches.
     *
     * @param segmentId the segment.
     * @return the address.
     */
    public static SegmentAddress local(final UUID segmentId) {
        return new SegmentAddress(segmentId, "", AccessToken.NONE);
    }
}
