package io.kvtier.transport;

import io.kvtier.alloc.RegionSlice;
import java.util.Objects;

/**
 * Bytes to move between local memory and a segment. The length is that of the local slice.
 *
 * @param direction which way.
 * @param local     local memory; native, and usable by any thread. Nobody may write to it until the transfer has
 *                  ended, nor read it when it is being read into.
 * @param segment   the segment.
 * @param offset    where in the segment, in bytes.
 * @param hint      the transport to try first; null to let the engine choose.
 * @param strict    whether only the hinted transport may be used.
 */
public record TransferRequest(Direction direction, RegionSlice local, Segment segment, long offset,
                              TransportKind hint, boolean strict) {
    /**
     * Refuses absent parts.
     *
     * @param direction which way.
     * @param local     local memory.
     * @param segment   the segment.
     * @param offset    where in the segment.
     * @param hint      the transport to try first, or null.
     * @param strict    whether only the hinted transport may be used.
     */
    public TransferRequest {
        Objects.requireNonNull(direction, "direction");
        Objects.requireNonNull(local, "local");
        Objects.requireNonNull(segment, "segment");
    }

    /**
     * A read by whatever transport fits.
     *
     * @param local   where the bytes go.
     * @param segment where they come from.
     * @param offset  first byte in the segment.
     * @return the request.
     */
    public static TransferRequest read(final RegionSlice local, final Segment segment, final long offset) {
        return new TransferRequest(Direction.READ, local, segment, offset, null, false);
    }

    /**
     * A write by whatever transport fits.
     *
     * @param local   where the bytes come from.
     * @param segment where they go.
     * @param offset  first byte in the segment.
     * @return the request.
     */
    public static TransferRequest write(final RegionSlice local, final Segment segment, final long offset) {
        return new TransferRequest(Direction.WRITE, local, segment, offset, null, false);
    }

    /**
     * How many bytes.
     *
     * @return bytes.
     */
    public long length() {
        return local.length();
    }
}
