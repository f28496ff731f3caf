package io.kvtier.store.cli;

import io.kvtier.store.GdsConfig;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreStats;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.LongStream;

/**
 * Puts values, reads them back and checks every byte, on a few virtual threads.
 *
 * <p>The order is shuffled, the same on every run. Every second read is of a value that was read a short while ago, as
 * the next turn of a conversation reads the blocks of the last one; the others go through all values, and most of them
 * end on the SSD. Now and then a key that was never put is asked for, and has to be missed. Latency is that of the
 * store's call alone; throughput counts making and checking the bytes too.
 *
 * <p><b>Threading:</b> one thread calls {@link #run()}, once.
 */
final class DemoRun {
    private static final int ABSENT_EVERY = 50;
    /** How many values back a value is read again. */
    private static final int RECENT = 20;
    private static final long PUT_ORDER = 1;
    private static final long GET_ORDER = 2;
    private static final double NS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

    private final DemoPlan plan;
    private final Console console;
    private final StoreOpener opener;
    private final Consumer<String> remarks;
    private final long[] sizes;
    private volatile boolean stopped;

    DemoRun(final DemoPlan plan, final Console console, final StoreOpener opener, final Consumer<String> remarks) {
        this.plan = plan;
        this.console = console;
        this.opener = opener;
        this.remarks = remarks;
        this.sizes = plan.groups().stream()
            .flatMapToLong(group -> LongStream.generate(group::size).limit(group.count()))
            .toArray();
    }

    /** What a worker does with one value. */
    private interface Step {
        void apply(Worker worker, int value);
    }

    /** What came of one phase, all workers together. */
    private static final class Phase {
        private final LatencyRecorder latency = new LatencyRecorder();
        private long bytes;
        private long memoryHits;
        private long diskHits;
        private long absent;
        private double seconds;

        void add(final Worker worker) {
            latency.add(worker.latency);
            bytes += worker.bytes;
            memoryHits += worker.memoryHits;
            diskHits += worker.diskHits;
            absent += worker.absent;
        }
    }

    /** One thread's memory and counts. */
    private static final class Worker {
        private final Store store;
        private final MemorySegment buffer;
        private final LatencyRecorder latency = new LatencyRecorder();
        private long bytes;
        private long memoryHits;
        private long diskHits;
        private long absent;

        Worker(final Store store, final MemorySegment buffer) {
            this.store = store;
            this.buffer = buffer;
        }

        void put(final int value, final long size) {
            final ObjectKey key = key(value, size);
            final MemorySegment source = buffer.asSlice(0, size);
            PatternBytes.fill(source, PatternBytes.seed(value, size));
            final long start = System.nanoTime();
            final PutOutcome outcome = store.put(key, source);
            latency.since(start);
            if (outcome != PutOutcome.STORED) {
                throw new CommandFailure("key " + key + " (" + size + " bytes) was not stored: " + outcome);
            }
            bytes += size;
        }

        void get(final int value, final long size) {
            final ObjectKey key = key(value, size);
            final MemorySegment target = buffer.asSlice(0, size);
            final long seed = PatternBytes.seed(value, size);
            PatternBytes.spoil(target, seed);
            final long start = System.nanoTime();
            final GetOutcome outcome = store.get(key, target);
            latency.since(start);
            if (!outcome.hit()) {
                throw new CommandFailure("key " + key + " (" + size
                    + " bytes) was put and is missing, though the SSD tier has room for everything");
            }
            ValueCheck.require(key, outcome, target, seed);
            bytes += size;
            if (outcome.tier() == ReplicaType.MEMORY) {
                memoryHits++;
            } else {
                diskHits++;
            }
        }

        void miss(final int value) {
            final ObjectKey key = ObjectKey.of("demo/absent/" + value);
            if (store.get(key, buffer).hit()) {
                throw new CommandFailure("key " + key + " was never put and has a value");
            }
            absent++;
        }

        private static ObjectKey key(final int value, final long size) {
            return ObjectKey.of("demo/" + size + '/' + value);
        }
    }

    /**
     * Runs the demonstration.
     *
     * @return what came of it.
     * @throws IOException          when there is no place for the temporary directory.
     * @throws InterruptedException when the calling thread was interrupted; everything is given back all the same.
     */
    Report run() throws IOException, InterruptedException {
        final long start = System.nanoTime();
        try (WorkDirectory directory = WorkDirectory.temporary("--dir", plan.parent());
             Store store = directory.open(opener, StoreConfig.builder()
                 .memoryBytes(plan.memoryBytes())
                 .disk(directory.path(), plan.diskBytes())
                 .gds(GdsConfig.NONE)
                 .build())) {
            remarks.accept(plan.values() + " values, " + ByteSize.shown(plan.totalBytes()) + ", into "
                + ByteSize.shown(plan.memoryBytes()) + " of memory and " + ByteSize.shown(plan.diskBytes())
                + " of SSD in " + directory.path());
            final Phase puts = phase("put", store, shuffled(new SplittableRandom(PUT_ORDER)),
                (worker, value) -> worker.put(value, sizes[value]));
            final Phase gets = phase("get", store, readOrder(), (worker, value) -> {
                worker.get(value, sizes[value]);
                if (value % ABSENT_EVERY == 0) {
                    worker.miss(value);
                }
            });
            remarks.accept("every byte came back as it was put");
            remarks.accept("");
            return report(puts, gets, store.stats(), (System.nanoTime() - start) / NS_PER_SECOND);
        }
    }

    private Report report(final Phase puts, final Phase gets, final StoreStats stats, final double seconds) {
        return new Report("demo")
            .count("puts", "values put", puts.latency.summary().count())
            .count("gets", "values read and checked", gets.latency.summary().count())
            .bytes("put_bytes", "bytes put", puts.bytes)
            .bytes("get_bytes", "bytes read and checked", gets.bytes)
            .count("memory_hits", "hits in memory", gets.memoryHits)
            .count("disk_hits", "hits on SSD", gets.diskHits)
            .count("misses", "misses, all of keys never put", gets.absent)
            .count("memory_evictions", "evictions from memory", stats.memory().evictions())
            .count("disk_evictions", "evictions from SSD", stats.disk().evictions())
            .count("offloads", "offloads to SSD", stats.offloads())
            .count("promotions", "promotions to memory", stats.promotions())
            .count("put_waits", "puts that waited for room", stats.putWaits())
            .rate("put_bytes_per_second", "put, making the bytes included", Report.Kind.BYTES_PER_SECOND,
                puts.bytes, puts.seconds)
            .rate("get_bytes_per_second", "get, checking included", Report.Kind.BYTES_PER_SECOND,
                gets.bytes, gets.seconds)
            .seconds("seconds", "time in all", seconds)
            .latency("put", puts.latency.summary())
            .latency("get", gets.latency.summary());
    }

    private Phase phase(final String name, final Store store, final int[] order, final Step step)
        throws InterruptedException {
        final Phase phase = new Phase();
        final AtomicInteger next = new AtomicInteger();
        try (Arena arena = Arena.ofShared();
             Progress progress = Progress.start(console, name, "values", order.length);
             ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            // Not counting the time that a terminal takes to be set up.
            final long start = System.nanoTime();
            final List<Worker> workers = new ArrayList<>();
            final List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < plan.threads(); i++) {
                final Worker worker = new Worker(store, arena.allocate(plan.largest(), StoreConfig.UNIT_BYTES));
                workers.add(worker);
                running.add(threads.submit(() -> work(worker, order, next, step, progress)));
            }
            await(running);
            phase.seconds = (System.nanoTime() - start) / NS_PER_SECOND;
            workers.forEach(phase::add);
        }
        return phase;
    }

    private void work(final Worker worker, final int[] order, final AtomicInteger next, final Step step,
        final Progress progress) {
        boolean finished = false;
        try {
            for (int i = next.getAndIncrement(); i < order.length && !stopped; i = next.getAndIncrement()) {
                step.apply(worker, order[i]);
                progress.advance(1);
            }
            finished = true;
        } finally {
            if (!finished) {
                stopped = true;
            }
        }
    }

    private void await(final List<Future<?>> running) throws InterruptedException {
        try {
            for (final Future<?> one : running) {
                one.get();
            }
        } catch (final ExecutionException e) {
            switch (e.getCause()) {
                case RuntimeException failure -> throw failure;
                case Error failure -> throw failure;
                default -> throw new IllegalStateException("a worker failed", e.getCause());
            }
        } finally {
            // Interrupted or failed: the workers stop after the value at hand, and closing the executor waits for that.
            stopped |= running.stream().anyMatch(one -> !one.isDone());
        }
    }

    private int[] readOrder() {
        final SplittableRandom random = new SplittableRandom(GET_ORDER);
        final int[] order = new int[Math.multiplyExact(2 * sizes.length, plan.rounds())];
        for (int round = 0; round < plan.rounds(); round++) {
            final int[] all = shuffled(random);
            final int first = round * 2 * sizes.length;
            for (int i = 0; i < all.length; i++) {
                order[first + 2 * i] = all[i];
                order[first + 2 * i + 1] = all[Math.floorMod(i - RECENT, all.length)];
            }
        }
        return order;
    }

    private int[] shuffled(final SplittableRandom random) {
        final int[] order = new int[sizes.length];
        for (int i = 0; i < order.length; i++) {
            final int other = random.nextInt(i + 1);
            order[i] = order[other];
            order[other] = i;
        }
        return order;
    }
}
