package io.kvtier.store.client;

import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A client under load, as a process: puts, replaces, reads and removes until its standard input ends. What it reads
 * must be a whole value of that key that somebody has put; whatever else it reads ends it with status 3, and an error
 * that a fault of another process does not explain with status 4.
 *
 * <p>Arguments: port of the master, its name, seed, keys, threads, bytes of memory to lend, whether memory is shared.
 */
final class LoadMain {
    static final int WRONG_BYTES = 3;
    static final int UNFORESEEN = 4;

    private static final int HEADER = 32;
    private static final long MAGIC = 0x6b76746965722121L;
    private static final int MOST_BYTES = 150_000;
    /** Calls of a thread, even of a client that was started just before the end. */
    private static final int LEAST = 100;
    /** What may happen to a call while other processes die, stop and go on. */
    private static final Set<ErrorCode> FORESEEN = EnumSet.of(ErrorCode.RPC_FAIL, ErrorCode.RPC_TIMEOUT,
        ErrorCode.TRANSFER_FAIL, ErrorCode.INVALID_WRITE, ErrorCode.LEASE_EXPIRED,
        ErrorCode.OBJECT_HAS_REPLICATION_TASK, ErrorCode.REPLICA_IS_NOT_READY);

    private final SplittableRandom seeds;
    private final int keys;
    private final AtomicBoolean stop = new AtomicBoolean();
    private final Map<String, Long> counts = new TreeMap<>();

    private LoadMain(final long seed, final int keys) {
        this.seeds = new SplittableRandom(seed);
        this.keys = keys;
    }

    public static void main(final String[] arguments) throws IOException, InterruptedException {
        final LoadMain load = new LoadMain(Long.parseLong(arguments[2]), Integer.parseInt(arguments[3]));
        final ConnectConfig config = ConnectConfig.builder("127.0.0.1", Integer.parseInt(arguments[0]))
            .name(arguments[1]).memoryBytes(Long.parseLong(arguments[5]))
            .shm(Boolean.parseBoolean(arguments[6])).timeouts(2_000, 1_000).putTimeoutMs(500).build();
        try (ConnectedStore store = open(config)) {
            System.out.println("ready");
            final List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < Integer.parseInt(arguments[4]); i++) {
                final SplittableRandom random = load.seeds.split();
                threads.add(Thread.ofPlatform().start(() -> load.run(store, random)));
            }
            while (System.in.read() >= 0) {
                continue;
            }
            load.stop.set(true);
            for (final Thread thread : threads) {
                thread.join();
            }
            System.out.println(load.counts);
        }
    }

    /** Until the master answers. */
    static ConnectedStore open(final ConnectConfig config) {
        while (true) {
            try {
                return ConnectedStore.open(config, StoreHooks.SYSTEM);
            } catch (final StoreException e) {
                if (!FORESEEN.contains(e.code())) {
                    throw e;
                }
            }
        }
    }

    /** A value of a key: its header says which, and the rest is what that gives. */
    static byte[] value(final int key, final long version, final int size) {
        final byte[] value = PatternBytes.of(version * 31 + key, size);
        ByteBuffer.wrap(value).putLong(MAGIC).putLong(key).putLong(version).putLong(size);
        return value;
    }

    /** Null for a whole value of a key, else what is wrong with it. */
    static String wrong(final int key, final byte[] value) {
        if (value.length < HEADER) {
            return "it has " + value.length + " bytes";
        }
        final ByteBuffer header = ByteBuffer.wrap(value);
        final long magic = header.getLong();
        final long theirs = header.getLong();
        final long version = header.getLong();
        final long size = header.getLong();
        if (magic != MAGIC || theirs != key || size != value.length) {
            return "its header says " + Long.toHexString(magic) + ", key " + theirs + ", " + size + " bytes; it has "
                + value.length;
        }
        final int at = Arrays.mismatch(value, value(key, version, value.length));
        return at < 0 ? null : "it differs from its version " + version + " from byte " + at + " on";
    }

    static ObjectKey key(final int i) {
        return ObjectKey.of("load" + i);
    }

    private void run(final Store store, final SplittableRandom random) {
        int done = 0;
        while (!stop.get() || done < LEAST) {
            try {
                count(once(store, random, random.nextInt(keys)));
                done++;
            } catch (final StoreException e) {
                if (!FORESEEN.contains(e.code())) {
                    end(UNFORESEEN, e);
                }
                count(e.code().name());
            } catch (final RuntimeException | Error e) {
                end(UNFORESEEN, e);
            }
        }
    }

    private static void end(final int status, final Throwable why) {
        why.printStackTrace();
        Runtime.getRuntime().halt(status);
    }

    private synchronized void count(final String what) {
        counts.merge(what, 1L, Long::sum);
    }

    private String once(final Store store, final SplittableRandom random, final int key) {
        final int what = random.nextInt(100);
        if (what < 60) {
            return get(store, random, key);
        }
        if (what < 95) {
            final byte[] value = value(key, random.nextLong(), HEADER + random.nextInt(MOST_BYTES));
            final PutOptions options = PutOptions.DEFAULT.withReplicas(1 + random.nextInt(2))
                .withChecksum(random.nextInt(4) == 0);
            return what < 80 ? "put " + store.put(key(key), options, MemorySegment.ofArray(value))
                : "upsert " + store.upsert(key(key), options, MemorySegment.ofArray(value));
        }
        return "remove " + store.remove(key(key), random.nextBoolean());
    }

    private String get(final Store store, final SplittableRandom random, final int key) {
        final int other = random.nextInt(keys);
        if (random.nextInt(4) > 0 || other == key) {
            return look(key, store.getBytes(key(key)).orElse(null));
        }
        final List<MemorySegment> room = List.of(MemorySegment.ofArray(new byte[HEADER + MOST_BYTES]),
            MemorySegment.ofArray(new byte[HEADER + MOST_BYTES]));
        final var results = store.getBatch(List.of(Store.Item.of(key(key), room.get(0)),
            Store.Item.of(key(other), room.get(1))));
        for (int i = 0; i < results.size(); i++) {
            final var outcome = results.get(i).orThrow();
            look(i == 0 ? key : other, outcome.hit()
                ? PatternBytes.copyOf(room.get(i).asSlice(0, outcome.valueSize())) : null);
        }
        return "batch";
    }

    private static String look(final int key, final byte[] value) {
        if (value == null) {
            return "miss";
        }
        final String wrong = wrong(key, value);
        if (wrong != null) {
            end(WRONG_BYTES, new AssertionError("key " + key + ": " + wrong));
        }
        return "hit";
    }
}
