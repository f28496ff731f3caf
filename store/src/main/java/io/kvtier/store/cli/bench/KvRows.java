package io.kvtier.store.cli.bench;

import io.kvtier.bindings.Availability;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.Store;
import io.kvtier.store.cli.bench.ValueLoad.Operation;
import io.kvtier.transport.HostPort;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;

/**
 * Values in the memory of another process, the master in a third, beside Redis and beside what was recorded of another
 * store. Puts are of new keys: when the memory is full, which is soon, old values go, on both sides.
 */
final class KvRows {
    private static final List<Long> SIZES = List.of(64L << 10, 1L << 20, 16L << 20);
    private static final List<Integer> THREADS = List.of(1, 4);
    /** Those of which there are figures. */
    private static final List<Integer> RECORDED_THREADS = List.of(1, 2);
    private static final long MEMORY_BYTES = 512L << 20;
    /** All values that are fetched; Redis takes up to a quarter more for each. */
    private static final long VALUES_BYTES = 256L << 20;
    private static final double REDIS_GOAL = 1;
    private static final double RECORDED_GOAL = 2;
    /** Of the largest values no more was aimed at than to be as good. */
    private static final double LARGE_GOAL = 1;

    private final Workspace workspace;
    private final Peer redis;

    /** How the memory of the other process is reached. */
    private enum Way {
        TCP,
        SHM;

        String label() {
            return name().toLowerCase(Locale.ROOT);
        }

        Supplier<Availability> here() {
            return this == TCP ? Row.EVERYWHERE : () -> ShmRows.here(MEMORY_BYTES);
        }
    }

    KvRows(final Workspace workspace, final Peer redis) {
        this.workspace = workspace;
        this.redis = redis;
    }

    List<Row> rows() {
        final List<Row> rows = new ArrayList<>();
        for (final Way way : Way.values()) {
            for (final long bytes : SIZES) {
                for (final Operation operation : Operation.values()) {
                    THREADS.forEach(threads -> rows.add(besideRedis(way, shape(operation, bytes, threads))));
                }
            }
        }
        for (final long bytes : SIZES) {
            for (final Operation operation : Operation.values()) {
                RECORDED_THREADS.forEach(threads -> rows.add(besideTheRecord(shape(operation, bytes, threads))));
            }
        }
        return rows;
    }

    private static ValueLoad.Shape shape(final Operation operation, final long bytes, final int threads) {
        final long before = operation == Operation.GET ? VALUES_BYTES : MEMORY_BYTES;
        return new ValueLoad.Shape(operation, bytes, threads, (int) (before / bytes), 1);
    }

    private static String name(final Way way, final ValueLoad.Shape shape) {
        return way.label() + ' ' + shape.operation().name().toLowerCase(Locale.ROOT) + ' '
            + Names.bytes(shape.bytes()) + ", " + Names.threads(shape.threads());
    }

    private Row besideRedis(final Way way, final ValueLoad.Shape shape) {
        return new Row(name(way, shape), Unit.MIB_PER_SECOND, redis, REDIS_GOAL, way.here(), () -> Rig.with(rig -> {
            final ValueLoad ours = ours(rig, way, shape);
            if (!redis.availability().available()) {
                return new Contest(rig, ours::mebibytesPerSecond, nanos -> Double.NaN);
            }
            final int port = Redis.start(rig, workspace.directory(), MEMORY_BYTES);
            final ValueLoad theirs = ValueLoad.open(rig, shape, workspace,
                () -> rig.keep(Redis.connect(port), Redis::close));
            return new Contest(rig, ours::mebibytesPerSecond, theirs::mebibytesPerSecond);
        }));
    }

    private Row besideTheRecord(final ValueLoad.Shape shape) {
        final double recorded = shape.operation() == Operation.PUT
            ? Recorded.putBytes(shape.bytes(), shape.threads()) : Recorded.getBytes(shape.bytes(), shape.threads());
        return new Row(name(Way.TCP, shape) + ", beside the record", Unit.MIB_PER_SECOND, Recorded.store(),
            shape.bytes() == SIZES.getLast() ? LARGE_GOAL : RECORDED_GOAL, Row.EVERYWHERE, () -> Rig.with(rig -> {
                final ValueLoad ours = ours(rig, Way.TCP, shape);
                return new Contest(rig, ours::mebibytesPerSecond, nanos -> recorded);
            }));
    }

    private ValueLoad ours(final Rig rig, final Way way, final ValueLoad.Shape shape) throws IOException {
        final String master = MasterHost.start(rig, workspace);
        final List<String> command = new ArrayList<>(workspace.self());
        command.addAll(List.of("node", "--master", master, "--memory-bytes", Long.toString(MEMORY_BYTES)));
        if (way == Way.TCP) {
            command.add("--no-shm");
        }
        // In good order: memory that processes share has a name, which should go.
        final Programs.Background node = rig.keep(Programs.start(command), Programs.Background::end);
        node.line("kvtier node ready");
        final Store store = rig.keep(Store.connect(config(master).shm(way == Way.SHM).build()), Store::close);
        return ValueLoad.open(rig, shape, workspace, () -> new StoreValues(store));
    }

    private static ConnectConfig.Builder config(final String master) {
        return ConnectConfig.builder(HostPort.parse(master)).gds(GdsConfig.NONE);
    }
}
