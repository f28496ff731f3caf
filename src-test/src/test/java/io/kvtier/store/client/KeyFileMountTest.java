package io.kvtier.store.client;

import static io.kvtier.store.client.SharedDiskNodes.PAGE;
import static io.kvtier.store.client.SharedDiskNodes.SIZES;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.SharedMounts;
import io.kvtier.kit.Threads;
import io.kvtier.store.client.SharedDiskNodes.Kind;
import io.kvtier.store.client.SharedDiskNodes.User;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
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
 * Files of single values among processes, on shared file systems of this host: written at one mount and read at another
 * one, when their writer is dead, a mount is gone, or there is no room.
 */
class KeyFileMountTest {
    private static final String MEMORY = "[MEMORY]";
    private static final String BOTH = "[MEMORY, DISK]";
    private static final String DISK = "[DISK]";

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
        nodes = SharedDiskNodes.ofKeyFiles(temporary);
    }

    @AfterEach
    void close() {
        nodes.close();
    }

    private void awaitFiles(final int count) {
        for (final Path mount : List.of(nodes.mounts().first(), nodes.mounts().second())) {
            Threads.awaitUntil(() -> nodes.keyFiles(mount).size() == count, () -> mount + ": "
                + nodes.keyFiles(mount));
        }
    }

    private static void put(final User writer, final String key, final int seed, final int size) {
        assertEquals("STORED", writer.put(key, seed, size));
    }

    /** At a mount where nothing can be written; a later value makes the oldest go, there as well. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldReadAtOneMountWhatAProcessThatWasKilledWroteAtAnother(final Kind kind) throws Exception {
        nodes.use(running, kind);
        nodes.startMaster("--quota_bytes=" + Arrays.stream(SIZES).sum());
        final User reader = nodes.readOnly();
        nodes.store("a", 10).kill();
        for (int i = 0; i < SIZES.length; i++) {
            reader.awaitTiers("a" + i, DISK);
        }
        final User next = nodes.otherWriter();
        put(next, "b", 20, 1);
        next.awaitTiers("b", BOTH);
        assertEquals("[]", reader.ask("tiers a0"), "it was the oldest");
        awaitFiles(SIZES.length);
        next.kill();
        reader.awaitTiers("b", DISK);
        assertEquals("same", reader.get("b", 20, 1));
        for (int i = 1; i < SIZES.length; i++) {
            assertEquals("same", reader.get("a" + i, 10 + i, SIZES[i]));
        }
    }

    /** Puts values until one has a file, for nobody tells when a client has found its folder again. */
    private static void awaitStored(final User writer, final String name) {
        final int[] tried = {0};
        Threads.awaitUntil(() -> {
            final String key = name + tried[0]++;
            put(writer, key, 1, 1);
            boolean stored = false;
            for (int i = 0; i < 50 && !stored; i++) {
                stored = writer.ask("tiers " + key).equals(BOTH);
            }
            return stored;
        }, () -> tried[0] + " values\n" + writer.said());
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void shouldGoOnWithoutAMountThatIsGoneAndWithItWhenItIsBack(final Kind kind) throws Exception {
        nodes.use(running, kind);
        final Path mount = nodes.mounts().mountMore("third");
        nodes.startMaster("--client_ttl=60000ms");
        final User reader = nodes.reader();
        final User writer = nodes.writerAt(mount);
        put(writer, "a", 1, PAGE);
        put(writer, "b", 2, PAGE);
        writer.awaitTiers("a", BOTH);
        writer.awaitTiers("b", BOTH);

        SharedMounts.detach(writer.pid(), nodes.root());
        Threads.awaitUntil(() -> "REMOVED".equals(reader.ask("remove a")), () -> "it is leased");
        Threads.awaitUntil(() -> writer.said().contains("until their folder is there"), writer::said);
        put(writer, "c", 3, PAGE);
        assertEquals(MEMORY, writer.ask("tiers c"));
        assertEquals("same", reader.get("b", 2, PAGE));
        assertEquals("same", reader.get("c", 3, PAGE));
        try (Stream<Path> made = Files.list(nodes.root())) {
            assertEquals(List.of(), made.toList(), "nothing is put behind a mount");
        }
        awaitFiles(2);
        SharedMounts.attach(writer.pid(), mount, nodes.root());
        awaitStored(writer, "attached");
        // What was removed meanwhile is deleted now.
        awaitFiles(2);

        nodes.mounts().killMount(mount);
        put(writer, "d", 4, PAGE);
        Threads.awaitUntil(() -> writer.said().contains("Transport endpoint is not connected"), writer::said);
        assertEquals("same", reader.get("d", 4, PAGE));
        SharedMounts.detach(writer.pid(), nodes.root());
        nodes.mounts().mountAnew(writer.pid(), nodes.root());
        awaitStored(writer, "anew");
        writer.leave();
        reader.awaitTiers("b", DISK);
        assertEquals("same", reader.get("b", 2, PAGE));
    }

    /** On the one of the two that is filled in seconds. */
    @Test
    void shouldMakeRoomByTheOldestWhenTheFileSystemIsFull() throws Exception {
        nodes.mountSmall(Kind.GLUSTER);
        nodes.startMaster("--client_ttl=60000ms");
        final User reader = nodes.reader();
        final User writer = nodes.writer();
        final int values = 20;
        for (int i = 0; i < values; i++) {
            put(writer, "a" + i, i, PAGE);
            writer.awaitTiers("a" + i, BOTH);
        }
        nodes.mounts().fill();
        put(writer, "full", 50, 3 * PAGE);
        Threads.awaitUntil(() -> writer.said().contains("No space left on device"), writer::said);
        writer.awaitTiers("a0", MEMORY);
        assertEquals(MEMORY, writer.ask("tiers full"));
        assertEquals(BOTH, writer.ask("tiers a" + (values - 1)));
        awaitFiles((int) IntStream.range(0, values).filter(i ->
            writer.ask("tiers a" + i).equals(BOTH)).count());
        assertEquals("same", reader.get("full", 50, 3 * PAGE));
        assertEquals("same", reader.get("a0", 0, PAGE));
        nodes.mounts().makeRoom();
        awaitStored(writer, "room");
        writer.leave();
        reader.awaitTiers("a" + (values - 1), DISK);
        assertEquals("same", reader.get("a" + (values - 1), values - 1, PAGE));
        assertEquals("miss", reader.get("full", 50, 3 * PAGE));
    }
}
