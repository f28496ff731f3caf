package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.DeviceRegion;
import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.RegionSlice;
import io.kvtier.bindings.NativeTag;
import io.kvtier.kit.CallerMemory;
import io.kvtier.kit.DeviceBuffers;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.BatchResult;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RegionItem;
import io.kvtier.store.RegionPart;
import io.kvtier.store.RegisteredRegion;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreStats;
import io.kvtier.store.client.engine.EngineSettings;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.config.Environment;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.replica.ReplicaType;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Values between memory of a GPU and a store's file for GDS replicas, by GPUDirect Storage, real or simulated. */
@ExtendWith(LeakCheck.class)
abstract class GdsGpuContract {
    static final int UNIT = StoreContract.UNIT;
    static final ObjectKey KEY = StoreContract.KEY;
    static final Environment ENVIRONMENT = EngineSettings.environment(EngineSettings.GDS);
    private static final int MIB = 1 << 20;
    /** What lies between the slices of a value. */
    private static final byte GAP = 0x5a;
    private static final int THREADS = 8;
    private static final int KEYS = 100;
    /** Of the largest value of the crowd. */
    private static final int BLOCKS = 64;
    private static final int LEAST_ROUNDS = 30;

    /** Memory of the GPU. */
    abstract DeviceBuffers gpu();

    /** The GPU and its way to the file; with {@link #ENVIRONMENT}. */
    abstract StoreHooks hooks();

    abstract Path folder();

    /** Bytes of the largest value. */
    abstract int largest();

    /** For how long many threads put and get, at the least. */
    abstract int crowdSeconds();

    /**
     * How a value lies in memory.
     *
     * @param count slices.
     * @param bytes of each slice, at most.
     * @param odd   a slice, with all after it, that begins and ends anywhere; the count for none.
     */
    record Shape(int count, int bytes, int odd) {
        /** The same, no larger than a value may be. */
        Shape atMost(final int most) {
            return new Shape(count, Math.max(UNIT, (int) Math.min(bytes, most / count / UNIT * (long) UNIT)), odd);
        }

        List<Integer> lengths() {
            return IntStream.range(0, count).mapToObj(i -> i < odd ? bytes : bytes - 1 - i % 7 * 13).toList();
        }
    }

    static Stream<Shape> shapes() {
        final List<Shape> shapes = new ArrayList<>();
        for (final int count : new int[] {1, 2, 16, 128, 129, 256}) {
            shapes.add(new Shape(count, UNIT, count));
            shapes.add(new Shape(count, 64 * MIB / count / UNIT * UNIT, count));
        }
        shapes.add(new Shape(16, 64 << 10, 15));
        shapes.add(new Shape(129, UNIT, 5));
        shapes.add(new Shape(2, 4 * MIB, 0));
        return shapes.stream();
    }

    /** Those that no memory of one block can hold. */
    static Stream<Shape> shapesOfManyBlocks() {
        return shapes().filter(shape -> shape.count() > 1 || shape.bytes() > UNIT);
    }

    /** A value's slices in one region, with gaps between them. */
    final class Placed {
        private final Shape shape;
        private final DeviceRegion region;
        private final List<RegionSlice> slices = new ArrayList<>();

        Placed(final Shape shape) {
            this.shape = shape;
            region = gpu().allocate((long) shape.count() * (shape.bytes() + UNIT) + UNIT);
            long at = UNIT;
            for (final int length : shape.lengths()) {
                slices.add(region.slice(at, length));
                at += shape.bytes() + UNIT;
            }
            clear();
        }

        List<RegionSlice> slices() {
            return slices;
        }

        DeviceRegion region() {
            return region;
        }

        int size() {
            return shape.lengths().stream().mapToInt(Integer::intValue).sum();
        }

        void clear() {
            final byte[] gaps = new byte[Math.toIntExact(region.byteSize())];
            Arrays.fill(gaps, GAP);
            toGpu(gaps, region);
        }

        void fill(final byte[] value) {
            toGpu(spread(value), region);
        }

        /** The region as it is to be when it has the value and nothing else. */
        private byte[] spread(final byte[] value) {
            final byte[] all = new byte[Math.toIntExact(region.byteSize())];
            Arrays.fill(all, GAP);
            int at = 0;
            for (final RegionSlice slice : slices) {
                System.arraycopy(value, at, all, (int) slice.offset(), (int) slice.length());
                at += (int) slice.length();
            }
            return all;
        }

        void assertHas(final byte[] value) {
            assertArrayEquals(spread(value), content(region));
        }
    }

    final void toGpu(final byte[] bytes, final DeviceRegion region) {
        try (Arena arena = Arena.ofConfined()) {
            gpu().put(arena.allocate(bytes.length).copyFrom(MemorySegment.ofArray(bytes)), region, 0);
        }
    }

    final byte[] content(final DeviceRegion region) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment all = arena.allocate(region.byteSize());
            gpu().get(region, 0, all);
            return PatternBytes.copyOf(all);
        }
    }

    final DeviceRegion onGpu(final byte[] value) {
        final DeviceRegion region = gpu().allocate(value.length);
        toGpu(value, region);
        return region;
    }

    final GdsConfig gds(final long bytes) {
        return GdsConfig.NONE.withRoom(folder().resolve("kv.gds"), bytes).withTransport(GdsConfig.Mover.GDS)
            .withWatermarks(1, 0.5);
    }

    final EmbeddedStore open(final long memoryBytes, final long fileBytes) {
        return EmbeddedStore.open(StoreConfig.builder().memoryBytes(memoryBytes).eviction(1, 0).leaseMs(0)
            .gds(gds(fileBytes)).build(), hooks());
    }

    /** A store whose memory holds no value of a test. */
    final EmbeddedStore openAlone(final long fileBytes) {
        return open(UNIT, fileBytes);
    }

    private static void assertNoFaults(final Store store) {
        assertEquals(new StoreStats.GdsFaults(0, 0, 0, 0, 0), store.stats().gds().faults());
    }

    static PutOutcome put(final Store store, final ObjectKey key, final List<RegionSlice> source) {
        return store.put(key, PutOptions.DEFAULT, source);
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void shouldReadFromMemoryFirstAndFromTheFileWhenItIsThereNoMore(final Shape asked) {
        final Shape shape = asked.atMost(largest());
        final Placed source = new Placed(shape);
        final Placed target = new Placed(shape);
        final byte[] value = PatternBytes.of(shape.hashCode(), source.size());
        source.fill(value);
        try (EmbeddedStore store = open(2L * value.length + 4 * MIB, 2L * value.length + 4 * MIB)) {
            assertEquals(PutOutcome.STORED, put(store, KEY, source.slices()));
            assertEquals(List.of(ReplicaType.MEMORY, ReplicaType.GDS), GdsStoreContract.tiers(store, KEY));
            assertEquals(new GetOutcome(true, value.length, ReplicaType.MEMORY), store.get(KEY, target.slices()));
            target.assertHas(value);
            target.clear();
            store.parts().master().apply(new AdminCommand.Evict(1, 1));
            assertEquals(List.of(ReplicaType.GDS), GdsStoreContract.tiers(store, KEY));
            assertEquals(new GetOutcome(true, value.length, ReplicaType.GDS), store.get(KEY, target.slices()));
            target.assertHas(value);
            source.assertHas(value);
            final StoreStats.GdsStats stats = store.stats().gds();
            assertEquals(List.of(1L, 0L, 1L, (long) value.length, (long) value.length), List.of(stats.puts(),
                stats.onlyPuts(), stats.values(), stats.tier().writtenBytes(), stats.tier().readBytes()));
            assertTrue(stats.way().startsWith("gds: ") && stats.way().contains("mode"), stats.way());
            assertNoFaults(store);
        }
    }

    @ParameterizedTest
    @MethodSource("shapesOfManyBlocks")
    void shouldStoreInTheFileAloneWhatMemoryCannotHold(final Shape asked) {
        final Shape shape = asked.atMost(largest());
        final Placed source = new Placed(shape);
        final Placed target = new Placed(shape);
        final byte[] value = PatternBytes.of(shape.hashCode(), source.size());
        source.fill(value);
        try (EmbeddedStore store = openAlone(2L * value.length + 4 * MIB)) {
            assertEquals(PutOutcome.STORED, put(store, KEY, source.slices()));
            assertEquals(List.of(ReplicaType.GDS), GdsStoreContract.tiers(store, KEY));
            assertEquals(new GetOutcome(true, value.length, ReplicaType.GDS), store.get(KEY, target.slices()));
            target.assertHas(value);
            assertArrayEquals(value, store.getBytes(KEY).orElseThrow(), "as the host reads it");
            assertNoFaults(store);
        }
    }

    @Test
    void shouldReadPartsAtAnyPlace() {
        final int size = 40 * UNIT + 123;
        final DeviceRegion source = onGpu(PatternBytes.of(1, size));
        try (EmbeddedStore store = openAlone(8 * MIB)) {
            put(store, KEY, List.of(source.slice(0, 17 * UNIT), source.slice(17 * UNIT, size - 17 * UNIT)));
            final Placed target = new Placed(new Shape(3, 9 * UNIT, 1));
            for (final int offset : new int[] {0, 1, 511, UNIT - 1, UNIT, 3 * UNIT + 7, size - target.size()}) {
                target.clear();
                assertEquals(new GetOutcome(true, size, ReplicaType.GDS),
                    store.getRange(KEY, offset, target.slices()), "at " + offset);
                target.assertHas(Arrays.copyOfRange(PatternBytes.of(1, size), offset, offset + target.size()));
            }
            final DeviceRegion one = gpu().allocate(1);
            assertTrue(store.getRange(KEY, size - 1, List.of(one.slice(0, 1))).hit());
            assertArrayEquals(Arrays.copyOfRange(PatternBytes.of(1, size), size - 1, size), content(one));
            assertNoFaults(store);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldMoveBatchesOf32Values(final boolean registered) {
        final int count = 32;
        final Placed source = new Placed(new Shape(3 * count, 3 * UNIT, 3 * count));
        final Placed target = new Placed(new Shape(3 * count, 3 * UNIT, 3 * count));
        final byte[] all = PatternBytes.of(2, source.size());
        source.fill(all);
        try (EmbeddedStore store = openAlone(16 * MIB)) {
            final List<RegisteredRegion> known = registered
                ? List.of(store.register(source.region()), store.register(target.region())) : List.of();
            final List<BatchResult<PutOutcome>> puts =
                store.putRegionBatch(items(source.slices(), count), PutOptions.DEFAULT);
            puts.forEach(result -> assertEquals(PutOutcome.STORED, result.orThrow()));
            final List<BatchResult<GetOutcome>> gets = store.getRegionBatch(items(target.slices(), count));
            gets.forEach(result -> assertEquals(new GetOutcome(true, all.length / count, ReplicaType.GDS),
                result.orThrow()));
            target.assertHas(all);
            target.clear();
            store.getRegionRangeBatch(items(target.slices(), count).stream().map(item -> new RegionPart(item.key(),
                UNIT + 1, item.memory().subList(0, 2))).toList())
                .forEach(result -> assertEquals(ReplicaType.GDS, result.orThrow().tier()));
            final byte[] parts = content(target.region());
            for (int i = 0; i < count; i++) {
                final int at = (int) target.slices().get(3 * i).offset();
                final int from = i * (all.length / count) + UNIT + 1;
                assertArrayEquals(Arrays.copyOfRange(all, from, from + 3 * UNIT),
                    Arrays.copyOfRange(parts, at, at + 3 * UNIT), "value " + i);
            }
            known.forEach(RegisteredRegion::close);
            assertEquals((long) count, store.stats().gds().onlyPuts());
            assertNoFaults(store);
        }
    }

    private static List<RegionItem> items(final List<RegionSlice> slices, final int count) {
        final int each = slices.size() / count;
        return IntStream.range(0, count).mapToObj(i -> new RegionItem(StoreContract.key(i),
            slices.subList(i * each, (i + 1) * each))).toList();
    }

    @Test
    void shouldReadIntoMemoryOfAGpuAfterARestart() {
        final Placed source = new Placed(new Shape(16, 5 * UNIT, 15));
        final byte[] value = PatternBytes.of(3, source.size());
        source.fill(value);
        try (EmbeddedStore store = open(16 * MIB, 16 * MIB)) {
            put(store, KEY, source.slices());
            put(store, ObjectKey.of("one"), source.slices().subList(0, 1));
        }
        final Placed target = new Placed(new Shape(16, 5 * UNIT, 15));
        try (EmbeddedStore store = open(16 * MIB, 16 * MIB)) {
            assertEquals(new GetOutcome(true, value.length, ReplicaType.GDS), store.get(KEY, target.slices()));
            target.assertHas(value);
            assertEquals(2, store.stats().gds().values());
            assertNoFaults(store);
        }
    }

    /** The registration of a region ends before its memory does, and what follows goes as unregistered memory. */
    @Test
    void shouldMoveTheSameMemoryRegisteredAndNot() {
        final Placed source = new Placed(new Shape(5, 6 * UNIT, 4));
        final Placed target = new Placed(new Shape(5, 6 * UNIT, 4));
        final byte[] value = PatternBytes.of(4, source.size());
        source.fill(value);
        try (EmbeddedStore store = openAlone(16 * MIB)) {
            for (int i = 0; i < 4; i++) {
                final RegisteredRegion from = i % 2 == 0 ? null : store.register(source.region());
                final RegisteredRegion to = i / 2 == 0 ? null : store.register(target.region());
                assertEquals(PutOutcome.STORED, put(store, StoreContract.key(i), source.slices()));
                target.clear();
                assertEquals(ReplicaType.GDS, store.get(StoreContract.key(i), target.slices()).tier());
                target.assertHas(value);
                Stream.of(i % 2 == 0 ? List.<RegisteredRegion>of() : List.of(from),
                    i / 2 == 0 ? List.<RegisteredRegion>of() : List.of(to)).flatMap(List::stream)
                    .forEach(RegisteredRegion::close);
            }
            assertNoFaults(store);
        }
    }

    @Test
    void shouldMoveMemoryOfTheHostBesideIt() {
        final byte[] value = PatternBytes.of(5, 7 * UNIT + 11);
        final DeviceRegion target = gpu().allocate(value.length);
        try (EmbeddedStore store = openAlone(16 * MIB);
            HostRegion host = HostRegion.allocate(NativeTag.TEST, value.length)) {
            assertEquals(PutOutcome.STORED, StoreContract.put(store, ObjectKey.of("array"), value));
            host.segment().copyFrom(MemorySegment.ofArray(value));
            assertEquals(PutOutcome.STORED, put(store, KEY, List.of(host.slice(0, value.length))));
            host.segment().fill((byte) 0);
            assertEquals(ReplicaType.GDS, store.get(KEY, List.of(host.slice(0, value.length))).tier());
            assertArrayEquals(value, PatternBytes.copyOf(host.segment().asSlice(0, value.length)));
            for (final ObjectKey key : List.of(KEY, ObjectKey.of("array"))) {
                toGpu(new byte[value.length], target);
                assertEquals(ReplicaType.GDS, store.get(key, List.of(target.slice(0, value.length))).tier());
                assertArrayEquals(value, content(target), key.toString());
            }
            assertNoFaults(store);
        }
    }

    @ParameterizedTest
    @EnumSource(CallerMemory.Kind.class)
    void shouldMoveMemoryOfEveryKindInOddRanges(final CallerMemory.Kind from) {
        final int size = 9 * UNIT + 100;
        final byte[] value = PatternBytes.of(6, size);
        try (EmbeddedStore store = openAlone(16 * MIB);
            CallerMemory memory = new CallerMemory(gpu(), size, folder())) {
            memory.fill(memory.ranges(from), value);
            assertEquals(PutOutcome.STORED, put(store, KEY, memory.ranges(from)));
            for (final CallerMemory.Kind to : CallerMemory.Kind.values()) {
                memory.clear();
                assertEquals(new GetOutcome(true, size, ReplicaType.GDS), store.get(KEY, memory.ranges(to)));
                assertArrayEquals(value, memory.content(memory.ranges(to)), from + " to " + to);
                assertEquals(0, memory.spoiled(memory.ranges(to)), from + " to " + to);
            }
            assertNoFaults(store);
        }
    }

    /**
     * Eight threads put and get values of a few keys in a file that is too small for all of them; whatever is read is
     * one value of the key that was asked for.
     */
    @Test
    void shouldNeverReadABitOfAnotherValue() throws Exception {
        final long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(crowdSeconds());
        final List<Future<Integer>> runs = new ArrayList<>();
        try (EmbeddedStore store = openAlone(24L * BLOCKS * UNIT)) {
            try (ExecutorService threads = Executors.newThreadPerTaskExecutor(Thread.ofPlatform().factory())) {
                for (int i = 0; i < THREADS; i++) {
                    final int number = i;
                    runs.add(threads.submit(() -> putAndGet(store, number, until)));
                }
            }
            int hits = 0;
            for (final Future<Integer> run : runs) {
                hits += run.get();
            }
            assertTrue(hits > 0, "nothing was found of what was put just before");
            assertEquals(0, store.stats().gds().faults().readFailures());
            assertEquals(0, store.stats().gds().faults().writeFailures());
            store.removeAll("", true);
            GdsStoreContract.awaitUsed(store, 0);
        }
    }

    /** How many values were found. */
    private int putAndGet(final EmbeddedStore store, final int number, final long until) {
        final SplittableRandom random = new SplittableRandom(number);
        final DeviceRegion region = gpu().allocate((long) BLOCKS * UNIT);
        final RegisteredRegion known = number % 2 == 0 ? store.register(region) : null;
        int hits = 0;
        for (int i = 0; i < LEAST_ROUNDS || System.nanoTime() - until < 0; i++) {
            final int key = random.nextInt(KEYS);
            final int size = (2 + random.nextInt(BLOCKS - 1)) * UNIT - (random.nextBoolean() ? 0 : Long.BYTES);
            toGpu(stamped(random.nextLong() << Byte.SIZE | key, size), region);
            final int cut = random.nextInt(size / UNIT + 1) * UNIT;
            if (random.nextInt(4) == 0) {
                store.remove(StoreContract.key(key), random.nextBoolean());
            }
            put(store, StoreContract.key(key), List.of(region.slice(0, cut), region.slice(cut, size - cut)));
            final int wanted = random.nextInt(KEYS);
            final GetOutcome outcome =
                store.get(StoreContract.key(i % 2 == 0 ? key : wanted), List.of(region.slice(0, region.byteSize())));
            if (outcome.hit()) {
                hits++;
                final LongBuffer words = ByteBuffer.wrap(content(region)).asLongBuffer();
                final long stamp = words.get(0);
                assertEquals(i % 2 == 0 ? key : wanted, (int) (stamp & 0xff), "the value of another key");
                for (int w = 1; w < outcome.valueSize() / Long.BYTES; w++) {
                    assertEquals(stamp, words.get(w), "a mixture of two values");
                }
            }
        }
        if (known != null) {
            known.close();
        }
        return hits;
    }

    private static byte[] stamped(final long stamp, final int size) {
        final ByteBuffer bytes = ByteBuffer.allocate(size);
        while (bytes.hasRemaining()) {
            bytes.putLong(stamp);
        }
        return bytes.array();
    }
}
