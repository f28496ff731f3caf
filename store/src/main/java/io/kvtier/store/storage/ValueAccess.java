package io.kvtier.store.storage;

import io.kvtier.alloc.RegionSlice;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransferRequest;
import java.util.List;
import org.agrona.CloseHelper;

/**
 * The bytes of one value in an open file.
 *
 * <p><b>Threading:</b> immutable. <b>Lifetime:</b> closed when its transfers have ended.
 *
 * @param engine  moves them.
 * @param segment the file.
 * @param offset  where they begin in it.
 * @param owned   whether the segment is closed with this.
 */
record ValueAccess(TransferEngine engine, Segment segment, long offset, boolean owned) implements AutoCloseable {
    /** Starts to read; see {@link StorageBackend.ReadLease#read}. */
    Transfer read(final long size, final RegionSlice target, final boolean alone) {
        final List<TransferRequest> request = List.of(TransferRequest.read(part(target, size), segment, offset));
        return alone ? engine.submitAndWaitNext(request) : engine.submit(request);
    }

    /** Starts to write. */
    Transfer write(final RegionSlice source, final long size) {
        return engine.submit(List.of(TransferRequest.write(part(source, size), segment, offset)));
    }

    /** Whole units where the memory has room for them, since whole blocks need no staging. */
    private static RegionSlice part(final RegionSlice memory, final long size) {
        final long padded = DataFile.extentBytes(size);
        return memory.region().slice(memory.offset(), memory.length() >= padded ? padded : size);
    }

    @Override
    public void close() {
        if (owned) {
            // What it was opened for has been read, or has told what was wrong.
            CloseHelper.quietClose(segment);
        }
    }
}
