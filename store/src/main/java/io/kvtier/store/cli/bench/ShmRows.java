package io.kvtier.store.cli.bench;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.SharedRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Segment;
import io.kvtier.transport.Transfer;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.shm.ShmTransport;
import java.io.IOException;
import java.nio.file.Files;
import java.util.List;

/**
 * Memory that processes share, beside the same copies inside one process. Its owner is this process too: the transport
 * maps it once more, as it would map another's.
 */
final class ShmRows {
    private static final double GOAL = 0.8;
    private static final long BLOCK = 1L << 20;

    private final Workspace workspace;
    private final MemoryRows memory;

    ShmRows(final Workspace workspace, final MemoryRows memory) {
        this.workspace = workspace;
        this.memory = memory;
    }

    List<Row> rows() {
        return List.of(new Row("shm read " + Names.bytes(BLOCK), Unit.MIB_PER_SECOND,
            Peer.builtIn("memory transport"), GOAL, ShmRows::here, () -> Rig.with(rig -> {
                final HostRegion target = memory.region(rig);
                final EngineLoad peer = memory.load(rig, MemoryRows.shape(BLOCK), target, memory.region(rig));
                final EngineLoad ours = load(rig, BLOCK, target);
                return new Contest(rig, ours::mebibytesPerSecond, peer::mebibytesPerSecond);
            })));
    }

    /** Requests from random blocks of the shared memory to random blocks of a region. */
    EngineLoad load(final Rig rig, final long block, final HostRegion target) {
        final SharedRegion source = rig.keep(SharedRegion.create(SharedRegion.DEFAULT_DIRECTORY,
            MemoryRows.REGION_BYTES));
        workspace.fill(source.segment(), 1);
        final TransferEngine engine = rig.engine(new ShmTransport());
        final Segment segment = rig.keep(engine.openSegment(ShmTransport.addressOf(source)));
        touch(engine, target, segment);
        return new EngineLoad(engine, new EngineLoad.Shape(TransportKind.SHM, Direction.READ, block, 1,
            MemoryRows.REGION_BYTES), target, segment);
    }

    /** The mapping gets its pages as they are touched, which is not what is measured. */
    private static void touch(final TransferEngine engine, final HostRegion target, final Segment segment) {
        final Transfer all = engine.newTransfer();
        all.read(target, 0, MemoryRows.REGION_BYTES, segment, 0);
        engine.submit(all);
        all.await();
    }

    static Availability here() {
        return here(MemoryRows.REGION_BYTES);
    }

    /** Whether processes can share that much. */
    static Availability here(final long bytes) {
        final Availability works;
        try (ShmTransport transport = new ShmTransport()) {
            works = transport.capability().availability();
        }
        try {
            final long free = Files.getFileStore(SharedRegion.DEFAULT_DIRECTORY).getUsableSpace();
            return !works.available() || free > bytes ? works
                : Availability.no(SharedRegion.DEFAULT_DIRECTORY + " has only " + free + " bytes left",
                    "make it larger than " + bytes + " bytes (for a container: --shm-size)");
        } catch (final IOException e) {
            return Availability.no(SharedRegion.DEFAULT_DIRECTORY + " does not say how much is left: " + e.getMessage(),
                "mount a tmpfs there");
        }
    }
}
