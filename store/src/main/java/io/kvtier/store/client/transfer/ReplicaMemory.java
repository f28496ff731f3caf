package io.kvtier.store.client.transfer;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.lang.foreign.MemorySegment;
import java.util.List;

/**
 * How the bytes of memory replicas are reached: those in this process are copied, those of others transferred.
 *
 * <p><b>Threading:</b> thread-safe. <b>Errors:</b> what is wrong with the caller's memory is thrown as the JDK throws
 * it; a replica that cannot be reached is what {@link Move#finish()} says.
 */
public interface ReplicaMemory extends AutoCloseable {
    /**
     * Starts to copy a part of a replica into a caller's memory.
     *
     * @param replica   where it is.
     * @param offset    first byte of the value.
     * @param length    bytes.
     * @param target    room for them.
     * @param timeoutMs milliseconds after which a transfer is given up.
     * @param alone     whether the caller finishes this read before it starts another.
     * @return the copy, often over.
     */
    Move startRead(ReplicaDescriptor.Memory replica, long offset, long length, List<MemorySegment> target,
        long timeoutMs, boolean alone);

    /**
     * Starts to write a value to all of its replicas.
     *
     * @param replicas  where they are.
     * @param source    the value's bytes.
     * @param timeoutMs milliseconds after which transfers are given up.
     * @param alone     whether the caller finishes this write before it does anything else.
     * @return the copies, often over.
     */
    Move startWrite(List<ReplicaDescriptor.Memory> replicas, List<MemorySegment> source, long timeoutMs,
        boolean alone);

    /**
     * Takes hold of memory that this process lends.
     *
     * @param replica a range of it.
     * @param bytes   how much from the start of the range, padding included.
     * @return the memory, to be closed; null when the range is not, or no longer, of this process.
     */
    OwnRange own(ReplicaDescriptor.Memory replica, long bytes);

    /** Memory of this process that stays as long as this and may be kept in place for devices; null for none. */
    default HostRegion lasting() {
        return null;
    }

    /** Memory of this process that stays lent while this is open. */
    interface OwnRange extends AutoCloseable {
        /** The memory. */
        RegionSlice slice();

        @Override
        void close();
    }

    @Override
    void close();
}
