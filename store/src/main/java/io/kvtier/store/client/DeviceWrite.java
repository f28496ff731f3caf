package io.kvtier.store.client;

import io.kvtier.alloc.Units;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.storage.SyncGroup;
import io.kvtier.transport.Direction;
import io.kvtier.transport.TransferEngine;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/**
 * A value on its way to block devices.
 *
 * <p>Whole blocks are written, the last one filled up with zeros: it belongs to the value as a whole, and a part of a
 * block would go through the page cache of this host, from where it might reach the device when the place is another
 * value's. One piece of native memory is written from where it is, but for its end; anything else is put together in
 * staging memory first, since pieces of odd sizes would meet within a block. The bytes are durable before they count: a
 * device that loses its cache would else have older ones in their place.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> filled, started and finished; given up by {@link #finish} alone.
 */
final class DeviceWrite implements Move {
    private final TransferEngine engine;
    private final RemoteSegments segments;
    private final RemoteTransfer transfer;
    private final List<RemoteSegments.Opened> devices = new ArrayList<>(1);
    private final long padded;
    private final List<MemorySegment> pieces;
    /** What does not go straight from the caller's memory; null when all does. */
    private final Staging.Piece staged;
    private boolean started;

    DeviceWrite(final TransferEngine engine, final RemoteSegments segments, final Staging staging,
        final List<MemorySegment> source) {
        this.engine = engine;
        this.segments = segments;
        final long size = ScatterGather.byteSize(source);
        padded = Units.taken(size, StoreConfig.UNIT_BYTES);
        final boolean whole = source.size() == 1 && ScatterGather.isShared(source.getFirst());
        final long straight = whole ? Units.down(size, StoreConfig.UNIT_BYTES) : 0;
        staged = straight == size ? null : staging.take(size - straight);
        try {
            pieces = pieces(source, straight, size);
            transfer = new RemoteTransfer(engine, segments, staging, Direction.WRITE);
        } catch (final RuntimeException | Error e) {
            giveBack();
            throw e;
        }
    }

    private List<MemorySegment> pieces(final List<MemorySegment> source, final long straight, final long size) {
        if (staged == null) {
            return source;
        }
        final MemorySegment room = staged.slice().segment();
        if (straight == 0) {
            ScatterGather.gather(source, room, 0);
        } else {
            MemorySegment.copy(source.getFirst(), straight, room, 0, size - straight);
        }
        room.asSlice(size - straight, padded - size).fill((byte) 0);
        final MemorySegment end = room.asSlice(0, padded - straight);
        return straight == 0 ? List.of(end) : List.of(source.getFirst().asSlice(0, straight), end);
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
        transfer.add(opened, offset, padded, pieces);
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
            giveBack();
        }
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

    private void giveBack() {
        if (staged != null) {
            staged.close();
        }
    }
}
