package io.kvtier.store.cli.bench;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransportKind;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * Keeps a number of requests under way, each at a random block of a segment, and counts what is moved. The transfers
 * are used again and again, so that what is measured is a service that has been running for a while.
 *
 * <p>The oldest request is waited for; then all that have ended are started anew, so that one slow request does not
 * keep the others waiting for it longer than it takes.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> engine, memory and segment belong to whoever made them.
 */
final class EngineLoad {
    private static final double MIB = 1 << 20;
    private static final double NANOS = TimeUnit.SECONDS.toNanos(1);

    private final TransferEngine engine;
    private final Shape shape;
    private final MemoryRegion local;
    private final Segment segment;
    private final SplittableRandom random = new SplittableRandom(1);
    private final Transfer[] transfers;
    private final long localGroups;
    private final long segmentBlocks;
    /** The number of the start that each transfer had last. */
    private final long[] started;
    private long starts;
    private long moved;
    private long requests;

    /**
     * What requests are like.
     *
     * @param transport    by which transport, and no other.
     * @param direction    which way.
     * @param blockBytes   how long each is.
     * @param depth        how many are under way.
     * @param segmentBytes size of the segment.
     */
    record Shape(TransportKind transport, Direction direction, long blockBytes, int depth, long segmentBytes) {
    }

    /**
     * A load.
     *
     * @param engine  moves the bytes.
     * @param shape   what the requests are like.
     * @param local   memory for at least as many blocks as are under way; all of it is used.
     * @param segment what to read or write.
     */
    EngineLoad(final TransferEngine engine, final Shape shape, final MemoryRegion local, final Segment segment) {
        this.engine = engine;
        this.shape = shape;
        this.local = local;
        this.segment = segment;
        this.transfers = new Transfer[shape.depth()];
        this.started = new long[shape.depth()];
        for (int i = 0; i < transfers.length; i++) {
            transfers[i] = engine.newTransfer();
        }
        this.segmentBlocks = shape.segmentBytes() / shape.blockBytes();
        this.localGroups = local.byteSize() / shape.blockBytes() / transfers.length;
    }

    /** Moves bytes for some time; MiB a second. */
    double mebibytesPerSecond(final long nanos) {
        moved = 0;
        requests = 0;
        final long start = System.nanoTime();
        final long end = start + nanos;
        return moved(transfers.length == 1 ? oneByOne(end) : many(end), start);
    }

    /** How many requests the last run has moved. */
    long requests() {
        return requests;
    }

    private double moved(final long end, final long start) {
        return moved / MIB * NANOS / (end - start);
    }

    private long oneByOne(final long end) {
        final Transfer transfer = transfers[0];
        long now;
        do {
            fill(transfer, 0);
            engine.submitAndWaitNext(transfer);
            transfer.await();
            count();
            now = System.nanoTime();
        } while (now < end);
        return now;
    }

    private long many(final long end) {
        for (int i = 0; i < transfers.length; i++) {
            start(i);
        }
        long now;
        do {
            transfers[oldest()].await();
            for (int i = 0; i < transfers.length; i++) {
                if (transfers[i].isDone()) {
                    transfers[i].await();
                    count();
                    start(i);
                }
            }
            now = System.nanoTime();
        } while (now < end);
        // What is still under way was not moved within the time.
        for (final Transfer transfer : transfers) {
            transfer.await();
        }
        return now;
    }

    private int oldest() {
        int found = 0;
        for (int i = 1; i < started.length; i++) {
            if (started[i] < started[found]) {
                found = i;
            }
        }
        return found;
    }

    private void start(final int index) {
        fill(transfers[index], index);
        started[index] = ++starts;
        engine.submit(transfers[index]);
    }

    private void count() {
        moved += shape.blockBytes();
        requests++;
    }

    private void fill(final Transfer transfer, final int index) {
        final long block = shape.blockBytes();
        final long offset = random.nextLong(segmentBlocks) * block;
        final long group = localGroups == 1 ? 0 : random.nextLong(localGroups);
        final long localOffset = (group * transfers.length + index) * block;
        transfer.clear();
        transfer.prefer(shape.transport(), true);
        if (shape.direction() == Direction.READ) {
            transfer.read(local, localOffset, block, segment, offset);
        } else {
            transfer.write(local, localOffset, block, segment, offset);
        }
    }
}
