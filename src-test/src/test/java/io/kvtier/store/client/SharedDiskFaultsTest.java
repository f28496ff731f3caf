package io.kvtier.store.client;

import static io.kvtier.store.client.SharedDiskNodes.PAGE;
import static io.kvtier.store.client.SharedDiskNodes.SIZES;
import static io.kvtier.store.client.SharedDiskNodes.assertSame;
import static io.kvtier.store.client.SharedDiskNodes.awaitAlone;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Json;
import io.kvtier.kit.ReferenceXxh64;
import io.kvtier.kit.SharedMounts;
import io.kvtier.kit.Threads;
import io.kvtier.store.client.SharedDiskNodes.Kind;
import io.kvtier.store.client.SharedDiskNodes.User;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * What goes wrong around the shared disk, on shared file systems of this host: the master dies and goes on from its
 * snapshot, the file system is full, a mount is gone. Nobody reads other bytes than those of the value, what cannot be
 * had is a miss, and afterwards everything works again.
 */
class SharedDiskFaultsTest {
    private static final int BUCKETS = 2;
    private static final int PAGES = 24;
    /** All leave in good order; on a busy host one may be silent for long. */
    private static final String TTL = "--client_ttl=60000ms";

    private static SharedDiskNodes.Running running;

    @TempDir
    private Path temporary;
    private SharedDiskNodes nodes;

    @BeforeAll
    static void keepFileSystems(@TempDir final Path folder) {
        running = new SharedDiskNodes.Running(folder);
    }

    @AfterAll
    static void endFileSystems() {
        running.close();
    }

    @BeforeEach
    void makeFolders() {
        nodes = new SharedDiskNodes(temporary, BUCKETS, PAGES);
    }

    @AfterEach
    void close() {
        nodes.close();
    }

    /** Pages of a value. */
    private record Run(String file, long first, long end) {
        boolean overlaps(final Run other) {
            return file.equals(other.file) && first < other.end && other.first < end;
        }
    }

    private static List<String> keys(final String name) {
        return IntStream.range(0, SIZES.length).mapToObj(i -> name + i).toList();
    }

    /** Where values lie, as the master tells operators. */
    private List<Run> runs(final String name) {
        final List<Run> runs = new ArrayList<>();
        for (final String key : keys(name)) {
            final Map<String, Object> object = nodes.cluster().json("GET", "/query_key?key=" + key, "");
            for (final Map<String, Object> replica : Json.objects(object, "replicas")) {
                if (replica.get("type").equals("DISTRIBUTED_DISK")) {
                    final long offset = (Long) replica.get("offset");
                    runs.add(new Run((String) replica.get("file_path"), offset / PAGE,
                        Math.ceilDiv(offset + (Long) replica.get("size"), PAGE)));
                }
            }
        }
        assertEquals(SIZES.length, runs.size(), name);
        return runs;
    }

    private double metric(final String name) {
        return nodes.cluster().metrics().get(name).value();
    }

    /** A key whose value has that file for its home. */
    private static String keyOf(final int bucket, final String name) {
        return IntStream.range(0, 1_000).mapToObj(i -> name + i)
            .filter(key -> Long.remainderUnsigned(ReferenceXxh64.of(key.getBytes(StandardCharsets.UTF_8)), BUCKETS)
                == bucket).findFirst().orElseThrow();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldReadWhatWasThereWhenTheMasterIsKilledAndGoesOnFromItsSnapshot(final Kind kind) throws Exception {
        nodes.use(running, kind);
        // Less time for writes than elsewhere: the next master waits as long before it has anything written there.
        nodes.startMaster(TTL, "--put_start_discard_timeout_sec=4", "--put_start_release_timeout_sec=8",
            "--enable_snapshot", "--enable_snapshot_restore", "--snapshot_interval_seconds=24h",
            "--snapshot_backup_dir=" + temporary.resolve("snapshots"));
        final User reader = nodes.reader();
        nodes.leave(reader, "a", 10);
        final List<Run> before = runs("a");
        assertEquals(200, nodes.cluster().http("POST", "/api/v1/snapshots", "").statusCode());
        final User late = nodes.store("late", 50);
        nodes.cluster().master().kill();
        late.kill();
        nodes.cluster().startMaster();

        reader.awaitGet("same", "a0", 10, SIZES[0]);
        assertSame(reader, "a", 10);
        assertEquals(before, runs("a"), "every value is where it was");
        for (int i = 0; i < SIZES.length; i++) {
            assertEquals("miss", reader.get("late" + i, 50 + i, SIZES[i]), "came after the snapshot");
        }
        // Others may write for a while yet who were sent there before.
        final User first = nodes.writer();
        awaitStored(first);
        first.leave();
        final User writer = nodes.store("n", 100);
        final List<Run> now = runs("n");
        for (final Run run : now) {
            assertTrue(before.stream().noneMatch(run::overlaps), () -> run + " is among " + before);
        }
        writer.leave();
        awaitAlone(reader, "n");
        assertSame(reader, "n", 100);
        assertSame(reader, "a", 10);
    }

    /** The files are there and have their size, but no room was put by for them. */
    private void makeSparseFiles() throws IOException {
        for (int i = 0; i < BUCKETS; i++) {
            try (RandomAccessFile file = new RandomAccessFile(
                nodes.mounts().first().resolve("bucket_0" + i + ".data").toFile(), "rw")) {
                file.setLength(nodes.bucketBytes());
                file.getChannel().force(true);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldKeepValuesInMemoryWhileTheFileSystemIsFull(final Kind kind) throws Exception {
        nodes.mountSmall(kind);
        makeSparseFiles();
        nodes.startMaster(TTL);
        final User reader = nodes.reader();
        final String early = keyOf(0, "early");
        final User before = nodes.writer();
        assertEquals("STORED", before.put(early, 1, 2 * PAGE));
        before.awaitTiers(early, "[MEMORY, DISTRIBUTED_DISK]");
        before.leave();
        final double allocated = metric("kvtier_distributed_allocated_bytes");
        assertEquals(2 * PAGE, allocated);
        nodes.mounts().fill();

        final User writer = nodes.writer();
        final String full = keyOf(1, "full");
        assertEquals("STORED", writer.put(full, 2, 3 * PAGE));
        Threads.awaitUntil(() -> metric("kvtier_offload_failures_total") == 1, () -> metric("kvtier_offloads_total"));
        assertEquals("1 1", writer.ask("writes"), "counted, and its pages were given back");
        assertEquals("[MEMORY]", writer.ask("tiers " + full));
        assertTrue(writer.said().contains("No space left on device"), writer::said);
        assertEquals("same", reader.get(full, 2, 3 * PAGE));
        assertEquals("same", reader.get(early, 1, 2 * PAGE), "from the disk, full as it is");
        Threads.awaitUntil(() -> metric("kvtier_distributed_allocated_bytes") == allocated,
            () -> metric("kvtier_distributed_allocated_bytes"));

        nodes.mounts().makeRoom();
        final String again = keyOf(1, "again");
        final User next = nodes.writer();
        assertEquals("STORED", next.put(again, 3, 3 * PAGE));
        next.awaitTiers(again, "[MEMORY, DISTRIBUTED_DISK]");
        next.leave();
        assertEquals("same", reader.get(again, 3, 3 * PAGE), "from the disk");
        assertEquals("same", reader.get(early, 1, 2 * PAGE));
        awaitStored(writer);
        writer.leave();
        reader.awaitGet("miss", full, 2, 3 * PAGE);
    }

    /** Nothing goes there in the while after a restore, and after a failure; and what was put then does not later. */
    private static void awaitStored(final User writer) {
        final int[] tried = {0};
        Threads.awaitUntil(() -> {
            final String key = "try" + tried[0]++;
            assertEquals("STORED", writer.put(key, 4, 1));
            boolean stored = false;
            for (int i = 0; i < 50 && !stored; i++) {
                stored = writer.ask("tiers " + key).contains("DISTRIBUTED_DISK");
            }
            Threads.awaitUntil(() -> writer.ask("remove " + key).equals("REMOVED"), () -> key);
            return stored;
        }, () -> tried[0] + " values, " + writer.ask("writes"));
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldReadAgainWhenAMountThatWasGoneIsBack(final Kind kind) throws Exception {
        nodes.use(running, kind);
        final Path mount = nodes.mounts().mountMore("third");
        nodes.startMaster(TTL);
        final User reader = nodes.readerAt(mount);
        nodes.leave(reader, "a", 10);
        assertSame(reader, "a", 10);
        final User writer = nodes.writer();
        assertEquals("STORED", writer.put("both", 3, PAGE));
        writer.awaitTiers("both", "[MEMORY, DISTRIBUTED_DISK]");

        SharedMounts.detach(reader.pid(), nodes.root());
        assertGone(reader, "is not there; is the file system mounted on this host");
        SharedMounts.attach(reader.pid(), mount, nodes.root());
        reader.awaitGet("same", "a3", 13, SIZES[3]);
        assertSame(reader, "a", 10);

        nodes.mounts().killMount(mount);
        assertGone(reader, "Transport endpoint is not connected");
        SharedMounts.detach(reader.pid(), nodes.root());
        nodes.mounts().mountAnew(reader.pid(), nodes.root());
        reader.awaitGet("same", "a3", 13, SIZES[3]);
        assertSame(reader, "a", 10);
    }

    private static void assertGone(final User reader, final String reason) {
        reader.awaitGet("miss", "a3", 13, SIZES[3]);
        assertEquals("same", reader.get("both", 3, PAGE), "memory has it");
        assertEquals("[DISTRIBUTED_DISK]", reader.ask("tiers a3"), "it is there for others");
        // Not each time, but the more often the surer.
        Threads.awaitUntil(() -> {
            reader.get("a3", 13, SIZES[3]);
            return reader.said().contains(reason);
        }, reader::said);
    }
}
