package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.SegmentCommand.Mount;
import io.kvtier.store.protocol.SegmentCommand.ReturnReplicas;
import io.kvtier.store.snapshot.files.DirectoryStore;
import io.kvtier.store.snapshot.files.SnapshotArchive;
import io.kvtier.store.snapshot.files.SnapshotId;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients whose master is started anew from a snapshot. */
@ExtendWith(LeakCheck.class)
class RestoredMasterTest {
    private static final int UNIT = StoreContract.UNIT;
    private static final PutOptions CHECKED = PutOptions.DEFAULT.withChecksum(true);

    @TempDir
    private Path directory;

    private SnapshotArchive archive;
    private Cluster cluster;

    @BeforeEach
    void open() throws IOException {
        archive = new SnapshotArchive(DirectoryStore.open(directory.resolve("snapshots"), "c"), "c", 10);
        cluster = new Cluster(Cluster.settings(1, 0), archive);
    }

    @AfterEach
    void close() {
        cluster.close();
    }

    private static ObjectKey key(final String name) {
        return ObjectKey.of(name);
    }

    private static PutOutcome put(final ClientStore store, final String name, final int size,
        final PutOptions options) {
        return store.put(key(name), options, MemorySegment.ofArray(PatternBytes.of(name.hashCode(), size)));
    }

    private void awaitThere(final ClientStore store, final String name) {
        Threads.awaitUntil(() -> store.exists(key(name)), () -> name + " is not back");
    }

    private static void assertValue(final ClientStore store, final String name, final int size) {
        assertArrayEquals(PatternBytes.of(name.hashCode(), size), store.getBytes(key(name)).orElseThrow(), name);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldHaveValuesInMemoryAgain(final boolean shared) {
        final ConnectedStore node = cluster.join(config -> config.memoryBytes(64 * UNIT).shm(shared));
        final ConnectedStore client = cluster.join(config -> config.shm(shared));
        for (int i = 0; i < 20; i++) {
            assertEquals(PutOutcome.STORED, put(client, "key" + i, UNIT + i, CHECKED));
        }
        assertEquals(PutOutcome.STORED, put(client, "without a checksum", 100, PutOptions.DEFAULT));
        final List<String> before = node.addresses();
        cluster.restartMaster(Cluster.settings(1, 0));

        awaitThere(client, "key19");
        for (int i = 0; i < 20; i++) {
            assertValue(client, "key" + i, UNIT + i);
            assertValue(node, "key" + i, UNIT + i);
        }
        assertFalse(client.exists(key("without a checksum")), "nobody knows whether its bytes are still there");
        assertNotEquals(before.getFirst(), node.addresses().getFirst(), "memory has a new identity");
        Threads.awaitUntil(() -> put(client, "new", 3 * UNIT, CHECKED) == PutOutcome.STORED, () -> "no room");
        assertValue(client, "new", 3 * UNIT);
        // Once more: what came back comes back again.
        cluster.restartMaster(Cluster.settings(1, 0));
        awaitThere(client, "new");
        awaitThere(client, "key19");
        assertValue(client, "key7", UNIT + 7);
    }

    /** As if the master had died after the snapshot; what it did after that nobody knows any more. */
    private void failOver() throws IOException {
        final int taken = archive.list().size();
        cluster.restartMaster(Cluster.settings(1, 0), () -> {
            try {
                assertEquals(taken + 1, archive.list().size(), "it has taken a last one");
                Files.delete(directory.resolve("snapshots").resolve("c")
                    .resolve(archive.list().getFirst() + ".manifest"));
            } catch (final IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldNeverShowWhatTookTheRoomOfAValueAfterTheSnapshot(final boolean shared) throws IOException {
        final ConnectedStore client = cluster.join(config -> config.memoryBytes(2 * UNIT).shm(shared));
        assertEquals(PutOutcome.STORED, put(client, "stays", UNIT, CHECKED));
        assertEquals(PutOutcome.STORED, put(client, "goes", UNIT, CHECKED));
        cluster.snapshot();
        assertEquals(RemoveOutcome.REMOVED, client.remove(key("goes"), true));
        assertEquals(PutOutcome.STORED, put(client, "comes", UNIT, CHECKED), "in the room of what went");
        failOver();

        awaitThere(client, "stays");
        assertValue(client, "stays", UNIT);
        assertFalse(client.exists(key("goes")), "its bytes are gone");
        assertFalse(client.exists(key("comes")), "the snapshot knows nothing of it");
        Threads.awaitUntil(() -> put(client, "new", UNIT, CHECKED) == PutOutcome.STORED, () -> "no room");
        assertValue(client, "new", UNIT);
        assertValue(client, "stays", UNIT);
    }

    @Test
    void shouldHaveValuesOnDisksAgainWithWhatIsKnownOfThem() {
        final ConnectedStore node =
            cluster.join(config -> config.memoryBytes(8 * UNIT).disk(directory.resolve("disk"), 4 << 20).shm(false));
        assertEquals(PutOutcome.STORED, put(node, "grouped", UNIT, CHECKED.withGroup("g")));
        StoreContract.fillUntilOnDisk(node, key("grouped"), 8 * UNIT);
        cluster.restartMaster(Cluster.settings(1, 0));

        awaitThere(node, "grouped");
        assertValue(node, "grouped", UNIT);
        assertTrue(cluster.groups() > 0, "the disk does not know groups, the snapshot does");
    }

    private void deleteSnapshots() {
        try {
            for (final SnapshotId id : archive.list()) {
                Files.delete(directory.resolve("snapshots").resolve("c").resolve(id + ".manifest"));
            }
        } catch (final IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The word that all is back: nothing is allocated in the memory before the master has heard it. */
    private static final class LastWordLost implements FaultyLink.Fault {
        private final AtomicInteger losses;

        LastWordLost(final int losses) {
            this.losses = new AtomicInteger(losses);
        }

        @Override
        public <R> R apply(final FaultyLink.Exchange<R> exchange) {
            if (exchange.command() instanceof ReturnReplicas give && give.last() && losses.getAndDecrement() > 0) {
                throw new StoreException(ErrorCode.RPC_TIMEOUT, "it is lost");
            }
            return exchange.pass();
        }
    }

    @Test
    void shouldSayAgainThatAllIsBackWhenTheMasterHasNotHeardIt() {
        final LastWordLost fault = new LastWordLost(2);
        final ConnectedStore node = cluster.join(config -> config.memoryBytes(4 * UNIT).shm(false), fault);
        assertEquals(PutOutcome.STORED, put(node, "a", UNIT, CHECKED));
        cluster.restartMaster(Cluster.settings(1, 0));

        awaitThere(node, "a");
        Threads.awaitUntil(() -> put(node, "new", UNIT, CHECKED) == PutOutcome.STORED, () -> "no room");
        assertTrue(fault.losses.get() < 0, "it was lost twice before");
        assertValue(node, "a", UNIT);
    }

    /** Who was told by one master what lay in its memory may meet the next one, which knows nothing of it. */
    @Test
    void shouldLendItsMemoryAfreshWhenTheMasterDoesNotKnowWhatItWasLentAs() {
        final AtomicReference<Mount> refused = new AtomicReference<>();
        final ConnectedStore node = cluster.join(config -> config.memoryBytes(4 * UNIT).shm(true),
            new FaultyLink.Fault() {
                @Override
                public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                    if (exchange.command() instanceof Mount mount && mount.former() != null
                        && refused.compareAndSet(null, mount)) {
                        cluster.restartMaster(Cluster.settings(1, 0), RestoredMasterTest.this::deleteSnapshots);
                    }
                    return exchange.pass();
                }
            });
        assertEquals(PutOutcome.STORED, put(node, "a", UNIT, CHECKED));
        cluster.restartMaster(Cluster.settings(1, 0));

        Threads.awaitUntil(() -> refused.get() != null && put(node, "new", UNIT, CHECKED) == PutOutcome.STORED,
            () -> "no room");
        assertFalse(cluster.segments().contains(refused.get().spec().address().segmentId()),
            "values of before may have been copied into it");
        assertFalse(node.exists(key("a")), "no master knows it");
        assertValue(node, "new", UNIT);
    }

    @Test
    void shouldForgetTheMemoryOfAClientThatDoesNotComeBack() {
        final ConnectedStore gone = cluster.join(config -> config.memoryBytes(8 * UNIT).shm(false));
        assertEquals(PutOutcome.STORED, put(gone, "a", UNIT, CHECKED));
        cluster.snapshot();
        gone.close();
        cluster.restartMaster(Cluster.settings(1, 0));
        final ConnectedStore other = cluster.join(config -> config.memoryBytes(8 * UNIT).shm(false));

        assertFalse(other.exists(key("a")));
        assertEquals(PutOutcome.STORED, put(other, "a", 2 * UNIT, CHECKED), "its key is free");
        assertValue(other, "a", 2 * UNIT);
    }
}
