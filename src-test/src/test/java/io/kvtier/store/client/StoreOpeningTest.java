package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.bindings.posix.BlockFile;
import io.kvtier.bindings.posix.OpenMode;
import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.MemoryDirectory;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.config.Environment;
import io.kvtier.transport.file.FileOpener;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** An opening that an error ends, at whatever file, leaves nothing behind: no memory, thread or lock. */
@ExtendWith(LeakCheck.class)
class StoreOpeningTest {
    private static final int UNIT = 4096;

    @TempDir(factory = MemoryDirectory.class)
    private Path directory;
    private Cluster cluster;

    @AfterEach
    void close() {
        if (cluster != null) {
            cluster.close();
        }
    }

    /** Files, one of which finds no memory when it is opened. */
    private static final class PoorFiles implements FileOpener {
        private int opensLeft;

        PoorFiles(final int opens) {
            opensLeft = opens;
        }

        @Override
        public BlockFile open(final String path, final OpenMode mode) {
            if (--opensLeft == 0) {
                throw new LinkageError("a test's error");
            }
            return FileOpener.POSIX.open(path, mode);
        }
    }

    private static void openEach(final int least, final Function<StoreHooks, ClientStore> opening) {
        int opens = 1;
        boolean opened = false;
        while (!opened) {
            final StoreHooks hooks = new StoreHooks(() -> 0, new PoorFiles(opens), Environment.of(Map.of()));
            opened = isOpened(hooks, opening);
            opens += opened ? 0 : 1;
        }
        assertTrue(opens > least, "an opening opens more files than " + opens);
    }

    private static boolean isOpened(final StoreHooks hooks, final Function<StoreHooks, ClientStore> opening) {
        try (ClientStore store = opening.apply(hooks)) {
            assertEquals(0, store.stats().objects());
            return true;
        } catch (final LinkageError e) {
            return false;
        }
    }

    @Test
    void shouldLeaveNothingOfAnEmbeddedStoreWhoseOpeningAnErrorEnds() {
        final StoreConfig config =
            StoreConfig.builder().memoryBytes(4 * UNIT).disk(directory, 16 * UNIT).ioThreads(1).build();

        openEach(3, hooks -> EmbeddedStore.open(config, hooks));
    }

    @Test
    void shouldLeaveNothingOfAConnectedStoreWhoseOpeningAnErrorEnds() {
        cluster = new Cluster(Cluster.settings(1, 0));

        openEach(6, hooks -> ConnectedStore.open(cluster.config().memoryBytes(4 * UNIT).disk(directory, 16 * UNIT)
            .stagingBytes(UNIT).nofDevice(directory.resolve("device"), 4 * UNIT)
            .nofDevice(directory.resolve("second"), 4 * UNIT).build(), hooks));
    }

    /** One of the commands that the thread gives which opens and closes a store fails. */
    private static final class PoorMaster implements FaultyLink.Fault {
        private final Thread opener = Thread.currentThread();
        private int commandsLeft;

        PoorMaster(final int commands) {
            commandsLeft = commands;
        }

        @Override
        public <R> R apply(final FaultyLink.Exchange<R> exchange) {
            if (isOfTheOpening() && --commandsLeft == 0) {
                throw new LinkageError("a test's error");
            }
            return exchange.pass();
        }

        /** What is lent, another thread lends, and the opener waits for it. Pings come when they come. */
        private boolean isOfTheOpening() {
            return Thread.currentThread() == opener || Thread.currentThread().getName().equals("kvtier-chores");
        }
    }

    private static boolean isOpened(final ConnectConfig config, final int failing) {
        final FaultyLink link = new FaultyLink(config);
        link.fault(new PoorMaster(failing));
        try (ConnectedStore store = ConnectedStore.open(config, StoreHooks.SYSTEM, link)) {
            assertEquals(0, store.stats().objects());
            return true;
        } catch (final LinkageError e) {
            assertEquals(0, e.getSuppressed().length, "what was open could be closed");
            return false;
        }
    }

    private static Set<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream().filter(one -> one.getName().startsWith("kvtier"))
            .collect(Collectors.toSet());
    }

    /** From the first ping, when nothing is open, to what the master is told at the end. */
    @Test
    void shouldLeaveNothingOfAConnectedStoreWhenAnyOfItsCommandsFails() throws InterruptedException {
        cluster = new Cluster(Cluster.settings(1, 0));
        final ConnectConfig config = cluster.config().memoryBytes(4 * UNIT).disk(directory, 16 * UNIT)
            .stagingBytes(UNIT).nofDevice(directory.resolve("device"), 4 * UNIT).build();
        final Set<Thread> before = threads();
        int failing = 1;
        while (!isOpened(config, failing)) {
            failing++;
        }

        assertTrue(failing > 8, "it needs more commands than " + failing);
        final Set<Thread> left = threads();
        left.removeAll(before);
        for (final Thread thread : left) {
            // One that stays makes this last until the test's time is over.
            thread.join();
        }
    }
}
