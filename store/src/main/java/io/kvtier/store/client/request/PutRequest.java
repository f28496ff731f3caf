package io.kvtier.store.client.request;

import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.client.transfer.ScatterGather;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * A value to be put.
 *
 * @param key     its name.
 * @param pieces  its bytes; null when regions were given.
 * @param regions its bytes; null when segments were given, which need nothing but themselves.
 * @param options how it is stored.
 * @param replace whether an earlier one is replaced.
 */
public record PutRequest(ObjectKey key, List<MemorySegment> pieces, ValueMemory regions, PutOptions options,
                         boolean replace) {
    /**
     * Of memory segments.
     *
     * @param key     its name.
     * @param source  its bytes.
     * @param options how it is stored.
     * @param replace whether an earlier one is replaced.
     * @return the request.
     */
    public static PutRequest of(final ObjectKey key, final List<MemorySegment> source, final PutOptions options,
        final boolean replace) {
        return new PutRequest(key, source, null, options, replace);
    }

    /**
     * Of regions, some of a GPU maybe.
     *
     * @param key     its name.
     * @param source  its bytes.
     * @param options how it is stored.
     * @param replace whether an earlier one is replaced.
     * @return the request.
     */
    public static PutRequest of(final ObjectKey key, final ValueMemory source, final PutOptions options,
        final boolean replace) {
        return new PutRequest(key, null, source, options, replace);
    }

    /**
     * How much there is to write.
     *
     * @return bytes.
     */
    public long byteSize() {
        return regions == null ? ScatterGather.byteSize(pieces) : regions.byteSize();
    }

    /**
     * Its bytes in memory of the host; those of a GPU are copied there when they are first asked for.
     *
     * @return the memory, until {@link #letGo}.
     */
    public List<MemorySegment> source() {
        return regions == null ? pieces : regions.source();
    }

    /** Fails if memory that was read is gone, as {@link ValueMemory#raiseFault()}. */
    public void raiseFault() {
        if (regions != null) {
            regions.raiseFault();
        }
    }

    /** Nothing reads the {@link #source} any more. */
    public void letGo() {
        if (regions != null) {
            regions.unstage();
        }
    }
}
