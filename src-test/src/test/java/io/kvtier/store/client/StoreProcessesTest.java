package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.alloc.SharedRegion;
import io.kvtier.kit.Commands;
import io.kvtier.kit.Jvm;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.LoopDevice;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.cli.Main;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.replica.ReplicaType;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Master, nodes and commands as processes of their own, and what is left when one of them is killed. */
@ExtendWith(LeakCheck.class)
class StoreProcessesTest {
    private static final int UNIT = 4096;
    private static final ObjectKey KEY = ObjectKey.of("key");

    @TempDir
    private Path directory;
    private Jvm master = Jvm.start(MasterMain.class, "0");
    private final int port = Integer.parseInt(master.ready().split(" ")[1]);
    private final List<Jvm> nodes = new ArrayList<>();

    @AfterEach
    void killAll() {
        nodes.forEach(Jvm::close);
        master.close();
        // What killed nodes shared.
        SharedRegion.removeStale(SharedRegion.DEFAULT_DIRECTORY);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldReadInOneProcessWhatAnotherPut(final boolean shm) throws IOException, InterruptedException {
        final Jvm node = node(shm, "--memory-bytes", "64M");
        assertEquals(shm, node.ready().contains("shm:///dev/shm/"), node.ready());
        final byte[] value = PatternBytes.of(1, 10_000_001);
        final Path file = Files.write(directory.resolve("value"), value);
        final Path back = directory.resolve("back");
        assertEquals("", command(0, shm, "put", "--checksum", "key", file.toString()));
        try (ConnectedStore client = client(shm)) {
            assertArrayEquals(value, client.getBytes(KEY).orElseThrow());
            final byte[] other = PatternBytes.of(2, 3_000_000);
            assertEquals(PutOutcome.STORED, StoreContract.put(client, ObjectKey.of("other"), other));
            assertEquals("", command(0, shm, "get", "other", back.toString()));
            assertArrayEquals(other, Files.readAllBytes(back));
        }
        assertEquals(0, node.stop());
        try (ConnectedStore client = client(shm)) {
            assertEquals(GetOutcome.MISS, client.get(KEY, StoreContract.room(value.length)));
        }
    }

    /** What is read while a node dies is right or nothing; in the end it is nothing. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void shouldMissAndNeverMistakeWhatAKilledNodeHad(final boolean shm) {
        final Jvm node = node(shm, "--memory-bytes", "64M");
        node(shm, "--memory-bytes", "64M");
        try (ConnectedStore client = client(shm)) {
            for (int i = 0; i < 100; i++) {
                assertEquals(PutOutcome.STORED, StoreContract.put(client, key(i), PatternBytes.of(i, 100_000 + i)));
            }
            final AtomicLong gets = new AtomicLong();
            final CompletableFuture<Void> reader = Threads.start(() -> readUntilGone(client, gets));
            ConnectedStoreTest.await(() -> gets.get() > 100);
            node.kill();
            reader.join();
            ConnectedStoreTest.await(() -> StoreContract.put(client, KEY, PatternBytes.of(7, UNIT))
                == PutOutcome.STORED);
            assertArrayEquals(PatternBytes.of(7, UNIT), client.getBytes(KEY).orElseThrow());
        }
    }

    /** Until the master has noticed that a node is gone: fewer values are there, and they are right. */
    private static void readUntilGone(final ConnectedStore client, final AtomicLong gets) {
        while (client.stats().objects() == 100) {
            for (int i = 0; i < 100; i++) {
                final MemorySegment target = StoreContract.room(100_000 + i);
                if (client.get(key(i), target).hit()) {
                    assertArrayEquals(PatternBytes.of(i, 100_000 + i), PatternBytes.copyOf(target));
                }
                gets.incrementAndGet();
            }
        }
    }

    @Test
    void shouldReadTheDiskOfAnotherProcessUntilItIsKilledAndAgainAfterItsRestart() {
        final String[] lends = {"--memory-bytes", "256K", "--disk-bytes", "16M", "--dir",
            directory.resolve("disk").toString()};
        final Jvm node = node(true, lends);
        final byte[] value = PatternBytes.of(1, 3 * UNIT + 5);
        try (ConnectedStore client = client(true)) {
            StoreContract.put(client, KEY, value);
            StoreContract.fillUntilOnDisk(client, KEY, 256 << 10);
            assertDisk(client, value);
            node.kill();
            assertEquals(GetOutcome.MISS, client.get(KEY, StoreContract.room(value.length)));
            // The lock of the directory went with the process.
            node(true, lends);
            ConnectedStoreTest.await(() -> client.get(KEY, StoreContract.room(value.length)).hit());
            assertDisk(client, value);
        }
    }

    private static void assertDisk(final ConnectedStore client, final byte[] value) {
        final MemorySegment target = StoreContract.room(value.length);
        assertEquals(new GetOutcome(true, value.length, ReplicaType.LOCAL_DISK), client.get(KEY, target));
        assertArrayEquals(value, PatternBytes.copyOf(target));
    }

    @Test
    void shouldGoOnWhenTheMasterWasKilledAndStartedAnew() {
        node(false, "--memory-bytes", "256K", "--disk-bytes", "16M", "--dir", directory.resolve("disk").toString());
        final byte[] value = PatternBytes.of(1, 3 * UNIT + 5);
        try (ConnectedStore client = client(false)) {
            StoreContract.put(client, KEY, value);
            StoreContract.fillUntilOnDisk(client, KEY, 256 << 10);
            master.kill();
            assertEquals(ErrorCode.RPC_FAIL, codeOf(() -> client.get(KEY, StoreContract.room(value.length))));
            master = Jvm.start(MasterMain.class, String.valueOf(port));
            ConnectedStoreTest.await(() -> client.exists(KEY));
            assertDisk(client, value);
            ConnectedStoreTest.await(() -> StoreContract.put(client, key(1), value) == PutOutcome.STORED);
            assertArrayEquals(value, client.getBytes(key(1)).orElseThrow());
        }
    }

    /** Nothing of it goes through the node that lends the device: commands and a client open it by its path. */
    @Test
    void shouldShareAFileThatANodeLendsAsABlockDevice() throws IOException, InterruptedException {
        shareDevice(directory.resolve("device"), ":64M");
    }

    @Test
    void shouldShareABlockDeviceThatANodeLends() throws IOException, InterruptedException {
        final Path file = directory.resolve("file");
        try (RandomAccessFile made = new RandomAccessFile(file.toFile(), "rw")) {
            made.setLength(64 << 20);
        }
        try (LoopDevice loop = LoopDevice.of(file)) {
            shareDevice(loop.path(), "");
            nodes.forEach(Jvm::close);
        }
    }

    private void shareDevice(final Path device, final String size) throws IOException, InterruptedException {
        final Jvm node = node(true, "--memory-bytes", "0", "--nof-device", device + size);
        assertTrue(node.ready().contains("file://" + device), node.ready());
        final byte[] value = PatternBytes.of(1, 10_000_001);
        final Path file = Files.write(directory.resolve("value"), value);
        final Path back = directory.resolve("back");
        assertEquals("", command(0, true, "put", "--replicas", "0", "--nof-replicas", "1", "key", file.toString()));
        assertEquals(value.length + "\tNOF\n", command(0, true, "stat", "key"));
        assertEquals("", command(0, true, "get", "key", back.toString()));
        assertArrayEquals(value, Files.readAllBytes(back));
        assertTrue(command(1, true, "node", "--memory-bytes", "0", "--nof-device", device.toString())
            .contains("FILE_LOCK_FAIL"));
        try (ConnectedStore client = client(true)) {
            final MemorySegment target = StoreContract.room(value.length);
            assertEquals(new GetOutcome(true, value.length, ReplicaType.NOF), client.get(KEY, target));
            assertArrayEquals(value, PatternBytes.copyOf(target));
            assertEquals(0, node.stop());
            assertEquals(GetOutcome.MISS, client.get(KEY, target));
        }
    }

    private static ErrorCode codeOf(final Runnable call) {
        try {
            call.run();
            return null;
        } catch (final StoreException e) {
            return e.code() == ErrorCode.RPC_TIMEOUT ? ErrorCode.RPC_FAIL : e.code();
        }
    }

    private Jvm node(final boolean shm, final String... lends) {
        nodes.add(Jvm.start(Main.class, Stream.concat(Stream.of("node"), Stream.concat(Stream.of(common(shm)),
            Stream.of(lends))).toArray(String[]::new)));
        return nodes.getLast();
    }

    private String[] common(final boolean shm) {
        final String address = "--master=127.0.0.1:" + port;
        return shm ? new String[] {address} : new String[] {address, "--no-shm"};
    }

    private ConnectedStore client(final boolean shm) {
        return ConnectedStore.open(ConnectConfig.builder("127.0.0.1", port).shm(shm).timeouts(2_000, 10_000).build(),
            StoreHooks.SYSTEM);
    }

    /** What a command prints, in a JVM of its own. */
    private String command(final int status, final boolean shm, final String name, final String... arguments)
        throws InterruptedException {
        final List<String> flags = new ArrayList<>(Commands.NATIVE_FLAGS);
        flags.add("-XX:TieredStopAtLevel=1");
        final Commands.Result result = Commands.java(flags, Main.class, Stream.concat(Stream.of(name),
            Stream.concat(Stream.of(common(shm)), Stream.of(arguments))).toArray(String[]::new));
        assertEquals(status, result.code(), result.output());
        return result.output();
    }

    private static ObjectKey key(final int i) {
        return ObjectKey.of("key" + i);
    }
}
