package io.kvtier.store.storage;

import io.kvtier.alloc.HostRegion;
import io.kvtier.bindings.NativeTag;
import io.kvtier.store.DiskBackend;
import io.kvtier.store.ObjectKey;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.file.FileOpener;
import io.kvtier.transport.file.PosixTransport;
import io.kvtier.transport.file.UringConfig;
import io.kvtier.transport.file.UringTransport;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.agrona.CloseHelper;
import org.ehcache.Cache;
import org.ehcache.PersistentCacheManager;
import org.ehcache.config.builders.CacheConfigurationBuilder;
import org.ehcache.config.builders.CacheManagerBuilder;
import org.ehcache.config.builders.ResourcePoolsBuilder;
import org.ehcache.config.units.EntryUnit;
import org.ehcache.config.units.MemoryUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/**
 * Batches of 32 MiB, or two values, stored on a disk, and values loaded from there, by each backend, by RocksDB with
 * values in blob files, and by Ehcache with a disk tier: batches, and values, a second.
 *
 * <p>A gigabyte of values is kept. Backends and RocksDB make each batch durable before they answer; Ehcache does not,
 * and reads through the page cache. The directory is made in {@code -Dkvtier.bench.dir}, or the working directory.
 */
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 2, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(value = 1, jvmArgsAppend = {"-Xmx2g", "--enable-native-access=ALL-UNNAMED",
    "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED"})
public class OffloadPeersBenchmark {
    private static final long KEPT_BYTES = 1L << 30;
    private static final int BATCH_BYTES = 32 << 20;
    private static final int IO_THREADS = 4;
    private static final ValueLayout.OfLong WORD = ValueLayout.JAVA_LONG_UNALIGNED;

    /** Whatever keeps values under numbers. */
    private interface Values extends AutoCloseable {
        /** Keeps the values of a batch, which lie one behind the other, under numbers from one on. */
        void store(MemorySegment batch, int count, long first) throws IOException;

        /** Fetches one. */
        void load(long number, MemorySegment into) throws IOException;

        @Override
        void close();
    }

    /** What the values are like, where they lie, and which of them are there. */
    @State(Scope.Thread)
    public abstract static class Load {
        /** Bytes of a value. */
        @Param({"65536", "1048576", "16777216"})
        private int bytes;

        private final SplittableRandom random = new SplittableRandom(1);
        private Path folder;
        private HostRegion memory;
        private int count;
        private long kept;
        private long next;

        /** Fills a batch. */
        final void begin() throws IOException {
            folder = Files.createTempDirectory(Path.of(System.getProperty("kvtier.bench.dir", "")).toAbsolutePath(),
                "peers-");
            memory = HostRegion.allocateHuge(NativeTag.TEST, BATCH_BYTES);
            for (long at = 0; at < BATCH_BYTES; at += Long.BYTES) {
                memory.segment().set(WORD, at, random.nextLong());
            }
            count = BATCH_BYTES / bytes;
            // Below all watermarks.
            kept = KEPT_BYTES * 3 / 4 / bytes;
        }

        private MemorySegment value(final int place) {
            return memory.segment().asSlice((long) place * bytes, bytes);
        }

        final int store(final Values values) throws IOException {
            for (int i = 0; i < count; i++) {
                value(i).set(WORD, 0, next + i);
                value(i).set(WORD, bytes - Long.BYTES, next + i);
            }
            values.store(memory.segment(), count, next);
            next += count;
            return count;
        }

        final void fill(final Values values) throws IOException {
            while (next < kept) {
                store(values);
            }
        }

        final long load(final Values values) throws IOException {
            final long number = next - 1 - random.nextLong(Math.min(kept, next));
            final MemorySegment into = value(0);
            values.load(number, into);
            if (into.get(WORD, 0) != number || into.get(WORD, bytes - Long.BYTES) != number) {
                throw new IOException("value " + number + " is another one");
            }
            return number;
        }

        /** Removes all that was made. */
        final void end() throws IOException {
            memory.close();
            try (Stream<Path> all = Files.walk(folder)) {
                for (final Path one : all.sorted(Comparator.reverseOrder()).toList()) {
                    Files.deleteIfExists(one);
                }
            }
        }
    }

    /** A backend. */
    @State(Scope.Thread)
    public static class Backend extends Load {
        /** Which. */
        @Param
        private DiskBackend backend;
        private Values values;

        /** Opens it with values to load. */
        @Setup(Level.Trial)
        public void open() throws IOException {
            begin();
            values = new Stored(backend, this);
            fill(values);
        }

        /** Closes it. */
        @TearDown(Level.Trial)
        public void close() throws IOException {
            values.close();
            end();
        }
    }

    /** Another library. */
    @State(Scope.Thread)
    public static class Peer extends Load {
        /** Which. */
        @Param({"RocksDB", "Ehcache"})
        private String peer;
        private Values values;

        /** Opens it with values to load. */
        @Setup(Level.Trial)
        public void open() throws IOException, RocksDBException {
            begin();
            values = peer.equals("RocksDB") ? new Rocks(this) : new Tiered(this);
            fill(values);
        }

        /** Closes it. */
        @TearDown(Level.Trial)
        public void close() throws IOException {
            values.close();
            end();
        }
    }

    /** A batch is stored by a backend. */
    @Benchmark
    public int store(final Backend backend) throws IOException {
        return backend.store(backend.values);
    }

    /** A value is loaded by a backend. */
    @Benchmark
    public long load(final Backend backend) throws IOException {
        return backend.load(backend.values);
    }

    /** A batch is stored by another library. */
    @Benchmark
    public int storeByPeer(final Peer peer) throws IOException {
        return peer.store(peer.values);
    }

    /** A value is loaded by another library. */
    @Benchmark
    public long loadByPeer(final Peer peer) throws IOException {
        return peer.load(peer.values);
    }

    private static final class Stored implements Values, StorageBackend.Owner {
        private final HostRegion memory;
        private final int bytes;
        private final TransferEngine engine = TransferEngine.open(TransferConfig.DEFAULT,
            List.of(new UringTransport(UringConfig.DEFAULT, true), new PosixTransport(IO_THREADS, true)));
        private final StorageBackend backend;

        Stored(final DiskBackend kind, final Load load) {
            memory = load.memory;
            bytes = load.bytes;
            backend = StorageBackends.open(kind, new BackendOptions(load.folder.resolve("store"), KEPT_BYTES, 0.9,
                0.8), engine, FileOpener.POSIX);
        }

        private static ObjectKey key(final long number) {
            return ObjectKey.of("value-" + number);
        }

        @Override
        public void store(final MemorySegment batch, final int count, final long first) throws IOException {
            final List<StorageBackend.Item> items = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                items.add(new StorageBackend.Item(key(first + i), 1, memory.slice((long) i * bytes, bytes), bytes));
            }
            for (final StorageBackend.Result result : backend.store(items, this)) {
                if (result.outcome() != StorageBackend.Outcome.STORED) {
                    throw new IOException("not stored: " + result.outcome(), result.cause());
                }
            }
        }

        @Override
        public void load(final long number, final MemorySegment into) throws IOException {
            try (StorageBackend.ReadLease lease = backend.acquire(key(number), 1)) {
                lease.read(memory.slice(0, bytes), true).await();
                if (BlockHash.xxh64(into) != lease.value().checksum()) {
                    throw new IOException("value " + number + " has not its checksum");
                }
            }
        }

        @Override
        public List<Boolean> mayEvict(final List<StoredValue> victims) {
            return Collections.nCopies(victims.size(), true);
        }

        @Override
        public List<Boolean> mayEvictCopies(final List<StoredValue> victims) {
            return mayEvict(victims);
        }

        @Override
        public boolean isCurrent(final ObjectKey key, final long version) {
            return true;
        }

        @Override
        public void close() {
            CloseHelper.closeAll(backend, engine);
        }
    }

    private static final class Rocks implements Values {
        private final int bytes;
        private final long kept;
        private final Options options = new Options().setCreateIfMissing(true).setEnableBlobFiles(true)
            .setMinBlobSize(0).setEnableBlobGarbageCollection(true).setUseDirectReads(true)
            .setUseDirectIoForFlushAndCompaction(true);
        private final WriteOptions durable = new WriteOptions().setSync(true);
        private final ReadOptions reads = new ReadOptions().setVerifyChecksums(true);
        private final RocksDB database;

        Rocks(final Load load) throws RocksDBException {
            RocksDB.loadLibrary();
            bytes = load.bytes;
            kept = load.kept + load.count;
            database = RocksDB.open(options, load.folder.resolve("rocks").toString());
        }

        /** Old numbers are used again, in place of removing what is old. */
        private byte[] key(final long number) {
            return ByteBuffer.allocate(Long.BYTES).putLong(number % kept).array();
        }

        @Override
        public void store(final MemorySegment batch, final int count, final long first) throws IOException {
            try (WriteBatch writes = new WriteBatch()) {
                for (int i = 0; i < count; i++) {
                    final ByteBuffer key = ByteBuffer.allocateDirect(Long.BYTES).put(key(first + i)).flip();
                    writes.put(key, batch.asSlice((long) i * bytes, bytes).asByteBuffer());
                }
                database.write(durable, writes);
            } catch (final RocksDBException e) {
                throw new IOException(e);
            }
        }

        @Override
        public void load(final long number, final MemorySegment into) throws IOException {
            try {
                final ByteBuffer key = ByteBuffer.allocateDirect(Long.BYTES).put(key(number)).flip();
                if (database.get(reads, key, into.asByteBuffer()) != bytes) {
                    throw new IOException("value " + number + " is not there");
                }
            } catch (final RocksDBException e) {
                throw new IOException(e);
            }
        }

        @Override
        public void close() {
            CloseHelper.closeAll(database, reads, durable, options);
        }
    }

    private static final class Tiered implements Values {
        private final int bytes;
        private final long kept;
        private final PersistentCacheManager manager;
        private final Cache<Long, byte[]> cache;

        Tiered(final Load load) {
            bytes = load.bytes;
            kept = load.kept + load.count;
            manager = CacheManagerBuilder.newCacheManagerBuilder()
                .with(CacheManagerBuilder.persistence(load.folder.resolve("ehcache").toFile()))
                .withCache("values", CacheConfigurationBuilder.newCacheConfigurationBuilder(Long.class, byte[].class,
                    ResourcePoolsBuilder.newResourcePoolsBuilder().heap(1, EntryUnit.ENTRIES)
                        .disk(2 * KEPT_BYTES, MemoryUnit.B, true))).build(true);
            cache = manager.getCache("values", Long.class, byte[].class);
        }

        @Override
        public void store(final MemorySegment batch, final int count, final long first) {
            for (int i = 0; i < count; i++) {
                cache.put((first + i) % kept,
                    batch.asSlice((long) i * bytes, bytes).toArray(ValueLayout.JAVA_BYTE));
            }
        }

        @Override
        public void load(final long number, final MemorySegment into) throws IOException {
            final byte[] value = cache.get(number % kept);
            if (value == null) {
                throw new IOException("value " + number + " is not there");
            }
            into.copyFrom(MemorySegment.ofArray(value));
        }

        @Override
        public void close() {
            manager.close();
        }
    }
}
