package io.kvtier.store.storage;

import io.kvtier.alloc.RegionSlice;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import java.nio.file.Path;
import java.util.List;

/**
 * The extent space of a file, as a segment of the transfer engine.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> owns the segment, not the engine. <b>Blocking:</b> where the
 * engine waits for room; {@link #sync()} and {@link #close()}.
 */
final class ExtentFile implements AutoCloseable {
    private final TransferEngine engine;
    private final Segment segment;

    private ExtentFile(final TransferEngine engine, final Segment segment) {
        this.engine = engine;
        this.segment = segment;
    }

    static ExtentFile open(final TransferEngine engine, final Path path) {
        return new ExtentFile(engine, engine.openSegment(path.toUri().toString()));
    }

    /** Bytes over all slices. */
    static long length(final List<RegionSlice> slices) {
        long sum = 0;
        for (final RegionSlice slice : slices) {
            sum = Math.addExact(sum, slice.length());
        }
        return sum;
    }

    /** A transfer that writes an extent from its beginning on; to be submitted. */
    Transfer writing(final Extent extent, final List<RegionSlice> source) {
        final Transfer transfer = engine.newTransfer();
        long at = FileHeader.BYTES + extent.offset();
        for (final RegionSlice slice : source) {
            transfer.write(slice.region(), slice.offset(), slice.length(), segment, at);
            at += slice.length();
        }
        return transfer;
    }

    void submit(final Transfer transfer) {
        engine.submit(transfer);
    }

    /** Starts to read a part of an extent. */
    Transfer read(final Extent extent, final long offset, final List<RegionSlice> target, final boolean alone) {
        final Transfer transfer = engine.newTransfer();
        long at = FileHeader.BYTES + extent.offset() + offset;
        for (final RegionSlice slice : target) {
            transfer.read(slice.region(), slice.offset(), slice.length(), segment, at);
            at += slice.length();
        }
        if (alone) {
            engine.submitAndWaitNext(transfer);
        } else {
            engine.submit(transfer);
        }
        return transfer;
    }

    /** Makes durable what was written. */
    void sync() {
        engine.sync(segment).await();
    }

    /** Refuses what comes from now on, and waits for what was submitted. */
    @Override
    public void close() {
        segment.close();
    }
}
