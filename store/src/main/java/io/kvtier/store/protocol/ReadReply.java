package io.kvtier.store.protocol;

import io.kvtier.store.DataType;
import io.kvtier.store.replica.Replica;
import java.util.List;

/**
 * Answer to {@link ObjectCommand.ReadStart} and {@link ObjectCommand.Query}.
 *
 * @param version     the object's version; 0 when there is no readable object.
 * @param size        bytes of the value.
 * @param replicas    its replicas, not all of them readable.
 * @param held        id of the memory replica that is held for the reader; 0 for none.
 * @param checksummed whether {@code checksum} is known.
 * @param checksum    XXH64 of the value.
 * @param leaseMs     milliseconds for which the replicas stay where they are, from when the master answered; 0 for no
 *                    lease. A reader that is not held for counts them from before it asked.
 * @param dataType    what the value is.
 */
public record ReadReply(long version, long size, List<Replica> replicas, long held, boolean checksummed,
                        long checksum, long leaseMs, DataType dataType) {
    /** There is no readable object. */
    public static final ReadReply NOT_FOUND =
        new ReadReply(0, 0, List.of(), 0, false, 0, 0, DataType.UNKNOWN);

    /**
     * Whether there is a readable object.
     *
     * @return true when there is.
     */
    public boolean found() {
        return version != 0;
    }
}
