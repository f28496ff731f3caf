package io.kvtier.store.cli.bench;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.Availability;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.bindings.cuda.CudaCopies;
import io.kvtier.bindings.cuda.CudaDevice;
import io.kvtier.bindings.cufile.CuFile;
import io.kvtier.transport.Direction;
import io.kvtier.transport.Registration;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.TransportKind;
import io.kvtier.transport.gds.GdsConfig;
import io.kvtier.transport.gds.GdsTransport;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Memory of a GPU to and from files, beside the vendor's library called directly. Both move one batch after the other.
 *
 * <p><b>Threading:</b> one thread.
 */
final class GdsRows {
    private static final double GOAL = 0.97;
    private static final long SMALL = 1L << 20;
    private static final int SMALL_COUNT = 64;
    private static final long LARGE = 16L << 20;
    private static final int LARGE_COUNT = 32;

    private final Workspace workspace;
    /** The answer of a driver that was opened for it, which takes seconds. */
    private Availability answer;

    GdsRows(final Workspace workspace) {
        this.workspace = workspace;
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        for (final Direction direction : Direction.values()) {
            rows.add(row(direction, SMALL, SMALL_COUNT));
            rows.add(row(direction, LARGE, LARGE_COUNT));
        }
        return rows;
    }

    Availability here() {
        if (answer == null) {
            answer = asked();
        }
        return answer;
    }

    private static Availability asked() {
        if (!Cuda.availability().available()) {
            return Cuda.availability();
        }
        final List<CudaDevice> devices = Cuda.devices();
        if (devices.isEmpty()) {
            return Availability.no("there is no GPU", "use a machine with one");
        }
        if (!CuFile.availability().available()) {
            return CuFile.availability();
        }
        try (CudaContext context = devices.getFirst().retainPrimaryContext();
             GdsTransport transport = GdsTransport.open(GdsConfig.DEFAULT, List.of(context))) {
            return transport.capability().availability();
        }
    }

    /** Requests at random blocks of the file, many under way. */
    EngineLoad load(final Rig rig, final EngineLoad.Shape shape) {
        final Gpu gpu = gpu(rig, shape.blockBytes() * shape.depth());
        return new EngineLoad(gpu.engine, shape, gpu.memory, gpu.segment);
    }

    private record Gpu(CudaContext context, TransferEngine engine, DeviceRegion memory, Segment segment) {
    }

    private Gpu gpu(final Rig rig, final long bytes) {
        final CudaContext context = rig.keep(Cuda.devices().getFirst().retainPrimaryContext(), CudaContext::close);
        final DeviceRegion memory = rig.keep(DeviceRegion.allocate(context, bytes));
        try (HostRegion content = workspace.filled(bytes, 2)) {
            CudaCopies.toDevice(context, content.segment(), memory.pointer());
        }
        final TransferEngine engine = rig.engine(GdsTransport.open(GdsConfig.DEFAULT, List.of(context)));
        rig.keep(engine.register(memory), Registration::close);
        final Segment segment = rig.keep(engine.openSegment(workspace.file().toUri().toString()));
        return new Gpu(context, engine, memory, segment);
    }

    private Row row(final Direction direction, final long block, final int count) {
        final String name = "gds " + direction.name().toLowerCase(Locale.ROOT) + ' ' + Names.bytes(block)
            + ", batch of " + count;
        return new Row(name, Unit.MIB_PER_SECOND, Peer.builtIn("cuFile direct"), GOAL, this::here,
            () -> Rig.with(rig -> {
                final BatchShape shape = new BatchShape(direction, block, count, workspace.fileBytes());
                final Gpu gpu = gpu(rig, block * count);
                final TransferBatches ours = new TransferBatches(gpu.engine, shape, TransportKind.GDS, gpu.memory,
                    gpu.segment);
                final CuFileBatches peer = CuFileBatches.open(rig, shape, gpu.context, gpu.memory, workspace.file());
                return new Contest(rig, ours::mebibytesPerSecond, peer::mebibytesPerSecond);
            }));
    }
}
