package io.kvtier.store.client;

import io.kvtier.kit.PatternBytes;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.Store;
import io.kvtier.store.StoreException;
import io.kvtier.store.StoreStats;
import io.kvtier.store.ValueInfo;
import io.kvtier.store.client.engine.StoreHooks;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * A client in a process of its own that does what it is told by lines of standard input, and answers each with a line.
 * Its shared disk is what the environment says.
 */
final class SharedDiskUser {
    private SharedDiskUser() {
    }

    /**
     * Runs until standard input ends.
     *
     * @param arguments port of the master, and bytes of memory to lend.
     * @throws IOException when it cannot read what to do.
     */
    public static void main(final String[] arguments) throws IOException {
        final ConnectConfig config = ConnectConfig.builder("127.0.0.1", Integer.parseInt(arguments[0])).shm(false)
            .memoryBytes(Long.parseLong(arguments[1])).build();
        try (Store store = ConnectedStore.open(config, StoreHooks.SYSTEM);
             BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            System.out.println("ready");
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                System.out.println(answer(store, line.split(" ")));
            }
        }
    }

    private static String answer(final Store store, final String[] words) {
        if (words[0].equals("writes")) {
            return writes(store.stats().sharedDisk().writes());
        }
        final ObjectKey key = ObjectKey.of(words[1]);
        try {
            return switch (words[0]) {
                case "put" -> put(store, key, content(words));
                case "get" -> get(store, key, content(words));
                case "remove" -> store.remove(key).toString();
                case "tiers" -> store.stat(key).map(ValueInfo::tiers).orElse(List.of()).toString();
                default -> throw new IllegalArgumentException(words[0]);
            };
        } catch (final StoreException e) {
            return e.code().toString();
        }
    }

    /** Values that did not get there, and those of them whose pages were given back. */
    private static String writes(final StoreStats.SharedWrites writes) {
        return writes.failures() + " " + writes.leaksPrevented();
    }

    private static byte[] content(final String[] words) {
        return PatternBytes.of(Integer.parseInt(words[2]), Integer.parseInt(words[3]));
    }

    private static String put(final Store store, final ObjectKey key, final byte[] value) {
        try (Arena arena = Arena.ofConfined()) {
            final MemorySegment source = arena.allocate(value.length);
            MemorySegment.copy(value, 0, source, ValueLayout.JAVA_BYTE, 0, value.length);
            return store.put(key, source).toString();
        }
    }

    private static String get(final Store store, final ObjectKey key, final byte[] expected) {
        return store.getBytes(key).map(read -> Arrays.equals(read, expected) ? "same" : "different").orElse("miss");
    }
}
