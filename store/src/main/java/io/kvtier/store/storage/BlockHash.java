package io.kvtier.store.storage;

import java.lang.foreign.MemorySegment;
import net.openhft.hashing.LongHashFunction;

/**
 * The checksum of a value: XXH64, seed 0.
 *
 * <p><b>Threading:</b> stateless. Reads by address, which is twice as fast as through a segment and checks neither
 * bounds nor lifetime: the memory must belong to the store, whose regions outlive every call.
 */
public final class BlockHash {
    private static final LongHashFunction XXH64 = LongHashFunction.xx();

    private BlockHash() {
    }

    /**
     * The checksum of native memory of the store.
     *
     * @param memory a live slice of a region that is held open for the length of the call.
     * @return XXH64 with seed 0.
     */
    public static long xxh64(final MemorySegment memory) {
        if (!memory.isNative() || !memory.scope().isAlive()) {
            throw new IllegalArgumentException("checksums are taken of live native memory only");
        }
        return XXH64.hashMemory(memory.address(), memory.byteSize());
    }
}
