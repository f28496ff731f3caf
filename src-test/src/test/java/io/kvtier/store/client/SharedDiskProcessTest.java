package io.kvtier.store.client;

import static io.kvtier.store.client.SharedDiskNodes.PAGE;
import static io.kvtier.store.client.SharedDiskNodes.SIZES;
import static io.kvtier.store.client.SharedDiskNodes.assertSame;
import static io.kvtier.store.client.SharedDiskNodes.awaitAlone;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.Threads;
import io.kvtier.store.client.SharedDiskNodes.Kind;
import io.kvtier.store.client.SharedDiskNodes.User;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The shared disk among processes, on shared file systems of this host: each node has a mount of its own with caches of
 * its own, all at one path. Values are written at one mount and read at the other.
 */
class SharedDiskProcessTest {
    /** So few that the values of one round take the places of those of the round before. */
    private static final int PAGES = 16;

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
        nodes = new SharedDiskNodes(temporary, 1, PAGES);
    }

    @AfterEach
    void close() {
        nodes.close();
    }

    private void start(final Kind kind) throws Exception {
        nodes.use(running, kind);
        nodes.startMaster();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldReadAtOneMountWhatAProcessThatWasKilledWroteAtAnother(final Kind kind) throws Exception {
        start(kind);
        final User reader = nodes.reader();
        nodes.store("a", 10).kill();
        awaitAlone(reader, "a");
        assertSame(reader, "a", 10);
    }

    /** Where buffered readers would see what was there before. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldReadWhatHasTakenThePlaceOfWhatItReadBefore(final Kind kind) throws Exception {
        start(kind);
        final User reader = nodes.reader();
        nodes.leave(reader, "a", 10);
        assertSame(reader, "a", 10);
        for (int i = 0; i < SIZES.length; i++) {
            final String key = "a" + i;
            Threads.awaitUntil(() -> "REMOVED".equals(reader.ask("remove " + key)), () -> key + " is leased");
        }
        nodes.leave(reader, "b", 100);
        assertSame(reader, "b", 100);
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldReadAtAMountWhereNothingCanBeWritten(final Kind kind) throws Exception {
        start(kind);
        final User writer = nodes.store("a", 10);
        final User reader = nodes.readOnly();
        writer.leave();
        awaitAlone(reader, "a");
        assertSame(reader, "a", 10);
        // What comes later, too.
        final User next = nodes.writer();
        assertEquals("STORED", next.put("b", 20, PAGE + 1));
        next.awaitTiers("b", "[MEMORY, DISTRIBUTED_DISK]");
        next.leave();
        reader.awaitTiers("b", "[DISTRIBUTED_DISK]");
        assertEquals("same", reader.get("b", 20, PAGE + 1));
    }

    /** The mount is missing on a host: its clients see the folder behind it. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldRefuseAClientWhereTheFileSystemIsNotMounted(final Kind kind) throws Exception {
        start(kind);
        final User writer = nodes.writer();
        final Path empty = Files.createDirectory(temporary.resolve("empty"));
        final String refusal = nodes.elsewhere(empty).refusal();
        assertTrue(refusal.contains("has no kvtier.cluster, and the others of the cluster have volume"), refusal);
        try (Stream<Path> made = Files.list(empty)) {
            assertEquals(List.of(), made.toList());
        }
        assertEquals("STORED", writer.put("k", 1, PAGE));
        writer.awaitTiers("k", "[MEMORY, DISTRIBUTED_DISK]");
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldKeepApartWhatTwoNodesWriteToOneFile(final Kind kind) throws Exception {
        start(kind);
        final User one = nodes.writer();
        final User two = nodes.otherWriter();
        final int values = 6;
        for (int i = 0; i < values; i++) {
            assertEquals("STORED", (i % 2 == 0 ? one : two).put("k" + i, i, PAGE + 100 * i));
        }
        for (int i = 0; i < values; i++) {
            one.awaitTiers("k" + i, "[MEMORY, DISTRIBUTED_DISK]");
        }
        one.kill();
        two.kill();
        final User reader = nodes.reader();
        for (int i = 0; i < values; i++) {
            reader.awaitTiers("k" + i, "[DISTRIBUTED_DISK]");
            assertEquals("same", reader.get("k" + i, i, PAGE + 100 * i));
        }
    }

    @Test
    void shouldNeverReadOtherBytesFromAFileThatTookTheNameOfTheOneItHadOpen() throws Exception {
        start(Kind.GLUSTER);
        final User reader = nodes.reader();
        nodes.leave(reader, "a", 10);
        assertSame(reader, "a", 10);
        final Path file = nodes.mounts().first().resolve("bucket_00.data");
        final Path copy = Files.copy(file, file.resolveSibling("copy"));
        Files.move(copy, file, StandardCopyOption.REPLACE_EXISTING);
        assertSame(reader, "a", 10);

        final Path empty = file.resolveSibling("empty");
        try (FileChannel channel = FileChannel.open(empty, StandardOpenOption.CREATE_NEW,
            StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.allocate(1), nodes.bucketBytes() - 1);
            channel.force(true);
        }
        Files.move(empty, file, StandardCopyOption.REPLACE_EXISTING);
        // The one that it has open may be read for a while; what it gets is the value, or nothing.
        Threads.awaitUntil(() -> {
            final String got = reader.get("a3", 13, SIZES[3]);
            assertNotEquals("different", got);
            return !"same".equals(got);
        }, () -> "the file that is gone is still read");
    }

    @Test
    void shouldGoOnWhenTheFileSystemIsGone() throws Exception {
        nodes.mount(Kind.GLUSTER);
        nodes.startMaster();
        final User reader = nodes.reader();
        nodes.leave(reader, "a", 10);
        assertSame(reader, "a", 10);
        final User writer = nodes.writer();
        assertEquals("STORED", writer.put("early", 3, PAGE));
        writer.awaitTiers("early", "[MEMORY, DISTRIBUTED_DISK]");
        nodes.mounts().killServer();
        assertEquals("same", reader.get("early", 3, PAGE), "from memory");
        assertEquals("STORED", writer.put("late", 4, PAGE));
        assertEquals("same", reader.get("late", 4, PAGE), "memory alone has it");
        final String gone = reader.get("a1", 11, SIZES[1]);
        assertTrue(List.of("miss", "FILE_READ_FAIL", "FILE_OPEN_FAIL", "TRANSFER_FAIL").contains(gone), gone);
        assertEquals("[DISTRIBUTED_DISK]", reader.ask("tiers a1"), "it is there for others");
    }
}
