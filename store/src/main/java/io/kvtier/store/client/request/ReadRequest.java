package io.kvtier.store.client.request;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.transfer.ScatterGather;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * What a get asks for.
 *
 * @param key     the object.
 * @param offset  first byte.
 * @param length  bytes, or {@link #WHOLE}.
 * @param pieces  the caller's memory; null when regions were given.
 * @param regions the caller's memory; null when segments were given, which need nothing but themselves.
 */
public record ReadRequest(ObjectKey key, long offset, long length, List<MemorySegment> pieces, ValueMemory regions) {
    /** The whole value, whatever its size. */
    static final long WHOLE = -1;

    /** The whole value, into segments. */
    public static ReadRequest whole(final ObjectKey key, final List<MemorySegment> target) {
        return new ReadRequest(key, 0, WHOLE, target, null);
    }

    /** The whole value, into regions. */
    public static ReadRequest whole(final ObjectKey key, final ValueMemory target) {
        return new ReadRequest(key, 0, WHOLE, null, target);
    }

    /** As many bytes as the memory has. */
    public static ReadRequest part(final ObjectKey key, final long offset, final List<MemorySegment> target) {
        return new ReadRequest(key, offset, ScatterGather.byteSize(target), target, null);
    }

    /** As many bytes as the memory has. */
    public static ReadRequest part(final ObjectKey key, final long offset, final ValueMemory target) {
        return new ReadRequest(key, offset, target.byteSize(), null, target);
    }

    /** How many bytes there is memory for. */
    public long room() {
        return regions == null ? ScatterGather.byteSize(pieces) : regions.byteSize();
    }

    /**
     * Memory of the host for the first bytes of what is read; of a GPU's it stands in its place until they are
     * {@linkplain #deliver delivered}.
     */
    public List<MemorySegment> target(final long bytes) {
        return regions == null ? pieces : regions.target(bytes);
    }

    /** The bytes in the {@link #target} are right: they go where the caller wants them. */
    public void deliver(final long bytes) {
        if (regions != null) {
            regions.deliver(bytes);
        }
    }

    /** The number of bytes to copy out of a value of this size, or the reason why that cannot be. */
    public long lengthOf(final long valueSize) {
        if (length == WHOLE) {
            final long room = room();
            if (room < valueSize) {
                throw new StoreException(ErrorCode.BUFFER_OVERFLOW, "value " + key + " has " + valueSize
                    + " bytes, the memory given for it " + room + "; ask stat() for the size first");
            }
            return valueSize;
        }
        if (offset < 0 || offset > valueSize || length > valueSize - offset) {
            throw new StoreException(ErrorCode.INVALID_PARAMS, "bytes " + offset + " to " + (offset + length)
                + " were asked of value " + key + ", which has " + valueSize);
        }
        return length;
    }
}
