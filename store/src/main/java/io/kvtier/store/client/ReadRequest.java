package io.kvtier.store.client;

import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * What a get asks for.
 *
 * @param key    the object.
 * @param offset first byte.
 * @param length bytes, or {@link #WHOLE}.
 * @param target the caller's memory.
 */
record ReadRequest(ObjectKey key, long offset, long length, List<MemorySegment> target) {
    /** The whole value, whatever its size. */
    static final long WHOLE = -1;

    static ReadRequest whole(final ObjectKey key, final List<MemorySegment> target) {
        return new ReadRequest(key, 0, WHOLE, target);
    }

    /** The number of bytes to copy out of a value of this size, or the reason why that cannot be. */
    long lengthOf(final long valueSize) {
        if (length == WHOLE) {
            final long room = ScatterGather.byteSize(target);
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
