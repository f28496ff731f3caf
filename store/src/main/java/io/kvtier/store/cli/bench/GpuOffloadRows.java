package io.kvtier.store.cli.bench;

import io.kvtier.bindings.Availability;
import io.kvtier.bindings.cuda.Cuda;
import io.kvtier.bindings.cuda.CudaContext;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.cli.bench.ValueLoad.Operation;
import io.kvtier.store.client.engine.GdsEnablement;
import io.kvtier.store.config.Environment;
import io.kvtier.store.config.TentConfig;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.transport.Direction;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Values between memory of a GPU and a store's file by GPUDirect Storage, beside the vendor's library called directly,
 * and beside the same store that takes two steps: a copy to or from the host, and system calls.
 *
 * <p>What is fetched is compared with no checksum on either side: of what goes straight there is none. No store here
 * has a warm restart, for the library makes nothing durable either.
 */
final class GpuOffloadRows {
    private static final List<Long> SIZES = List.of(1L << 20, 16L << 20);
    private static final int BATCH = 32;
    private static final double DIRECT_GOAL = 0.9;
    private static final double TWO_STEPS_GOAL = 1;

    private final Workspace workspace;
    private final OffloadStores stores;
    private final GdsRows gds;

    /** What is measured of a load. */
    @FunctionalInterface
    private interface Measure {
        double of(ValueBatches load, long nanos) throws IOException, InterruptedException;
    }

    GpuOffloadRows(final Workspace workspace) {
        this.workspace = workspace;
        this.stores = new OffloadStores(workspace);
        this.gds = new GdsRows(workspace);
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        for (final Operation operation : Operation.values()) {
            for (final long bytes : SIZES) {
                final ValueBatches.Shape shape = new ValueBatches.Shape(operation, bytes, BATCH, ReplicaType.GDS);
                rows.add(besideCuFile(shape));
                rows.add(besideTwoSteps(shape, "", Unit.MIB_PER_SECOND, ValueBatches::mebibytesPerSecond));
            }
            rows.add(besideTwoSteps(new ValueBatches.Shape(operation, SIZES.getLast(), BATCH, ReplicaType.GDS),
                ", processor time", Unit.CPU_SECONDS_PER_GB, ValueBatches::cpuSecondsPerGigabyte));
        }
        return rows;
    }

    /** Whether there is GPUDirect Storage, and then whether the environment lets a store have it. */
    private Availability here() {
        final Availability answer = gds.here();
        if (!answer.available()) {
            return answer;
        }
        try {
            return GdsEnablement.allowed(stores.config(GdsConfig.Mover.GDS),
                TentConfig.from(Environment.system()).orElse(TentConfig.DEFAULT.withUring(false)));
        } catch (final IllegalArgumentException e) {
            return Availability.no(e.getMessage(), "correct it");
        }
    }

    private Row besideCuFile(final ValueBatches.Shape shape) {
        return new Row("gpu " + shape, Unit.MIB_PER_SECOND, Peer.builtIn("cuFile direct"), DIRECT_GOAL, this::here,
            () -> Rig.with(rig -> {
                final CudaContext context = context(rig);
                final DeviceBuffers buffers =
                    DeviceBuffers.open(rig, workspace, context, shape, store(rig, GdsConfig.Mover.GDS));
                final ValueBatches ours = load(rig, buffers);
                final CuFileBatches peer = CuFileBatches.open(rig, new BatchShape(shape.operation() == Operation.PUT
                    ? Direction.WRITE : Direction.READ, shape.bytes(), shape.count(), workspace.fileBytes()), context,
                    buffers.region(), workspace.file());
                return new Contest(rig, ours::mebibytesPerSecond, peer::mebibytesPerSecond);
            }));
    }

    private Row besideTwoSteps(final ValueBatches.Shape shape, final String what, final Unit unit,
        final Measure measure) {
        return new Row("gpu " + shape + what + ", beside two steps", unit,
            Peer.builtIn("GPU to host to file"), TWO_STEPS_GOAL, this::here, () -> Rig.with(rig -> {
                final CudaContext context = context(rig);
                final ValueBatches ours = load(rig,
                    DeviceBuffers.open(rig, workspace, context, shape, store(rig, GdsConfig.Mover.GDS)));
                final ValueBatches peer = load(rig,
                    DeviceBuffers.open(rig, workspace, context, shape, store(rig, GdsConfig.Mover.POSIX)));
                return new Contest(rig, nanos -> measure.of(ours, nanos), nanos -> measure.of(peer, nanos));
            }));
    }

    private static CudaContext context(final Rig rig) {
        return rig.keep(Cuda.devices().getFirst().retainPrimaryContext(), CudaContext::close);
    }

    private Store store(final Rig rig, final GdsConfig.Mover mover) {
        final StoreConfig.Builder config =
            StoreConfig.builder().memoryBytes(OffloadStores.NO_MEMORY).verifyDiskReads(false);
        return stores.open(rig, config, stores.config(mover).withWarmRestart(false));
    }

    private ValueBatches load(final Rig rig, final DeviceBuffers buffers) throws IOException {
        return ValueBatches.open(rig, buffers.shape(), buffers, workspace.fileBytes());
    }
}
