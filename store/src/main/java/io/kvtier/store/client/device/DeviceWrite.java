package io.kvtier.store.client.device;

import io.kvtier.store.client.transfer.Move;
import io.kvtier.store.client.transfer.RemoteSegments;
import io.kvtier.store.client.transfer.RemoteTransfer;
import io.kvtier.store.client.transfer.Staging;
import io.kvtier.store.client.transfer.WholeBlocks;
import io.kvtier.store.storage.SyncGroup;
import io.kvtier.transport.Direction;
import io.kvtier.transport.TransferEngine;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * A value on its way to block devices.
 *
 * <p>Whole blocks are written ({@link WholeBlocks}): a part of a block would go through the page cache of this host,
 * from where it might reach the device when the place is another value's. The bytes are durable before they count: a
 * device that loses its cache would else have older ones in their place.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> filled, started and finished; given up by {@link #finish} alone.
 */
final class DeviceWrite implements Move {
    private final TransferEngine engine;
    private final RemoteSegments segments;
    private final RemoteTransfer transfer;
    private final List<RemoteSegments.Opened> devices = new ArrayList<>(1);
    private final WholeBlocks blocks;
    private boolean started;

    DeviceWrite(final TransferEngine engine, final RemoteSegments segments, final Staging staging,
        final List<MemorySegment> source) {
        this.engine = engine;
        this.segments = segments;
        blocks = new WholeBlocks(staging, source);
        try {
            transfer = new RemoteTransfer(engine, segments, staging, Direction.WRITE);
        } catch (final RuntimeException | Error e) {
            blocks.close();
            throw e;
        }
    }

    /** Keeps a device open until the bytes are durable; entered by the caller, left at the end. */
    void hold(final RemoteSegments.Opened opened) {
        devices.add(opened);
    }

    /**
     * Adds a place to write to.
     *
     * @param opened entered for this; left at the end.
     * @param offset first byte on the device.
     */
    void add(final RemoteSegments.Opened opened, final long offset) {
        transfer.add(opened, offset, blocks.byteSize(), blocks.pieces());
    }

    /** Begins to move; whatever is wrong is what {@link #finish} says. */
    void start(final long timeoutMs) {
        started = true;
        transfer.start(timeoutMs, false);
    }

    @Override
    public String finish() {
        try {
            final String moved = transfer.finish();
            String problem = started ? moved : "it was not started";
            for (int i = 0; i < devices.size() && problem == null; i++) {
                problem = makeDurable(devices.get(i));
            }
            return problem;
        } finally {
            devices.forEach(RemoteSegments.Opened::leave);
            // Staging memory that a device may still read is never given to anybody else.
            if (!transfer.isLost()) {
                blocks.close();
            }
        }
    }

    @Override
    public boolean isSettled() {
        return !transfer.isLost();
    }

    private String makeDurable(final RemoteSegments.Opened opened) {
        final Throwable problem =
            opened.syncs().sync(SyncGroup.SINCE_OPENED, () -> engine.sync(opened.segment()).await());
        if (problem == null) {
            return null;
        }
        segments.failed(opened);
        return String.valueOf(problem.getMessage());
    }
}
