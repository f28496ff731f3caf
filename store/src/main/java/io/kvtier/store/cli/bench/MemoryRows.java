package io.kvtier.store.cli.bench;

import io.kvtier.alloc.HostRegion;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.memory.MemoryTransport;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/** Copies inside the process, beside a plain loop of copies over the same memory. */
final class MemoryRows {
    /** What a processor's caches cannot hold. */
    static final long REGION_BYTES = 256L << 20;
    private static final double GOAL = 0.95;
    private static final double MIB = 1 << 20;
    private static final double NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final List<Long> BLOCKS = List.of(64L << 10, 1L << 20);

    private final Workspace workspace;

    MemoryRows(final Workspace workspace) {
        this.workspace = workspace;
    }

    List<Row> rows() {
        return BLOCKS.stream().map(this::row).toList();
    }

    static EngineLoad.Shape shape(final long blockBytes) {
        return new EngineLoad.Shape(TransportKind.MEMORY, Direction.READ, blockBytes, 1, REGION_BYTES);
    }

    /** Requests from random blocks of one region to random blocks of another. */
    EngineLoad load(final Rig rig, final EngineLoad.Shape shape, final HostRegion target, final HostRegion source) {
        final TransferEngine engine = rig.engine(new MemoryTransport());
        final Segment segment = rig.keep(engine.register("source", source));
        return new EngineLoad(engine, shape, target, segment);
    }

    HostRegion region(final Rig rig) {
        return rig.keep(workspace.filled(REGION_BYTES, 0));
    }

    private Row row(final long block) {
        return new Row("memory read " + Names.bytes(block), Unit.MIB_PER_SECOND, Peer.builtIn("MemorySegment.copy"),
            GOAL, Row.EVERYWHERE, () -> Rig.with(rig -> {
                final HostRegion source = region(rig);
                final HostRegion target = region(rig);
                final EngineLoad load = load(rig, shape(block), target, source);
                return new Contest(rig, load::mebibytesPerSecond,
                    nanos -> copies(source.segment(), target.segment(), block, nanos));
            }));
    }

    /** The same pattern without an engine; MiB a second. */
    static double copies(final MemorySegment source, final MemorySegment target, final long block, final long nanos) {
        final SplittableRandom random = new SplittableRandom(1);
        final long blocks = source.byteSize() / block;
        final long start = System.nanoTime();
        final long end = start + nanos;
        long count = 0;
        long now;
        do {
            final long offset = random.nextLong(blocks) * block;
            MemorySegment.copy(source, offset, target, random.nextLong(blocks) * block, block);
            count++;
            now = System.nanoTime();
        } while (now < end);
        return count * block / MIB * NANOS / (now - start);
    }
}
