package io.kvtier.store.cli.bench;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Keeps a number of single requests under way as {@link EngineLoad} does, but each is started anew by the callback of
 * its end, on the thread of the transport, which then need not be woken; the thread that measures only looks on.
 *
 * <p>Not for transports that move within the submit: each end would begin inside the one before it.
 *
 * <p><b>Threading:</b> one thread measures; each lane belongs to whichever thread ends its transfer. <b>Lifetime:</b>
 * engine, memory and segment belong to whoever made them.
 */
final class RefillLoad {
    private static final double MIB = 1 << 20;
    private static final double NANOS = TimeUnit.SECONDS.toNanos(1);

    private final TransferEngine engine;
    private final EngineLoad.Shape shape;
    private final MemoryRegion local;
    private final Segment segment;
    private final Lane[] lanes;
    private final long segmentBlocks;
    private final long localGroups;
    private long end;
    private CountDownLatch running;

    /**
     * A load.
     *
     * @param engine  moves the bytes.
     * @param shape   what the requests are like.
     * @param local   memory for at least as many blocks as are under way; all of it is used.
     * @param segment what to read or write.
     */
    RefillLoad(final TransferEngine engine, final EngineLoad.Shape shape, final MemoryRegion local,
        final Segment segment) {
        this.engine = engine;
        this.shape = shape;
        this.local = local;
        this.segment = segment;
        this.segmentBlocks = shape.segmentBytes() / shape.blockBytes();
        this.localGroups = local.byteSize() / shape.blockBytes() / shape.depth();
        this.lanes = new Lane[shape.depth()];
        for (int i = 0; i < lanes.length; i++) {
            lanes[i] = new Lane(i);
        }
    }

    /** Moves bytes for some time; MiB a second. */
    double mebibytesPerSecond(final long nanos) throws InterruptedException {
        final long start = System.nanoTime();
        end = start + nanos;
        running = new CountDownLatch(lanes.length);
        for (final Lane lane : lanes) {
            lane.moved = 0;
            lane.start();
        }
        running.await();
        // With the last ones, so that even the shortest time counts some.
        final long taken = System.nanoTime() - start;
        long requests = 0;
        for (final Lane lane : lanes) {
            if (lane.failure != null) {
                throw new IllegalStateException("a request failed: " + lane.failure.getMessage(), lane.failure);
            }
            requests += lane.moved;
        }
        return requests * shape.blockBytes() / MIB * NANOS / taken;
    }

    /** One request under way; what it counts is handed on through the transfer, and at last by the latch. */
    private final class Lane {
        private final int index;
        private final Transfer transfer = engine.newTransfer();
        private final SplittableRandom random;
        private long moved;
        private Throwable failure;

        Lane(final int index) {
            this.index = index;
            this.random = new SplittableRandom(index);
        }

        void start() {
            try {
                fill();
                engine.submit(transfer);
                transfer.future().whenComplete(this::ended);
            } catch (final RuntimeException e) {
                stop(e);
            }
        }

        private void ended(final Transfer ignored, final Throwable problem) {
            if (problem == null) {
                moved++;
            }
            if (problem != null || System.nanoTime() - end >= 0) {
                stop(problem);
            } else {
                start();
            }
        }

        private void stop(final Throwable problem) {
            failure = problem;
            running.countDown();
        }

        private void fill() {
            final long block = shape.blockBytes();
            final long at = (random.nextLong(localGroups) * lanes.length + index) * block;
            final long offset = random.nextLong(segmentBlocks) * block;
            transfer.clear();
            transfer.prefer(shape.transport(), true);
            if (shape.direction() == Direction.READ) {
                transfer.read(local, at, block, segment, offset);
            } else {
                transfer.write(local, at, block, segment, offset);
            }
        }
    }
}
