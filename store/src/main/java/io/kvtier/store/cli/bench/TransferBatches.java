package io.kvtier.store.cli.bench;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransportKind;
import java.util.SplittableRandom;

/**
 * Batches as transfers of many requests.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> engine, memory and segment belong to whoever made them.
 */
final class TransferBatches {
    private final TransferEngine engine;
    private final BatchShape shape;
    private final TransportKind transport;
    private final MemoryRegion local;
    private final Segment segment;
    private final Transfer transfer;
    private final SplittableRandom random = new SplittableRandom(1);

    TransferBatches(final TransferEngine engine, final BatchShape shape, final TransportKind transport,
        final MemoryRegion local, final Segment segment) {
        this.engine = engine;
        this.shape = shape;
        this.transport = transport;
        this.local = local;
        this.segment = segment;
        this.transfer = engine.newTransfer();
    }

    double mebibytesPerSecond(final long nanos) {
        return shape.mebibytesPerSecond(this::move, nanos);
    }

    private void move() {
        final long block = shape.blockBytes();
        transfer.clear();
        transfer.prefer(transport, true);
        for (int i = 0; i < shape.count(); i++) {
            if (shape.direction() == Direction.READ) {
                transfer.read(local, i * block, block, segment, shape.offset(random));
            } else {
                transfer.write(local, i * block, block, segment, shape.offset(random));
            }
        }
        engine.submit(transfer);
        transfer.await();
    }
}
