package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.store.BatchResult;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.GetOutcome;
import io.kvtier.store.Store;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.client.owner.GdsOwners;
import io.kvtier.store.client.owner.OwnerInside;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsCounts;
import io.kvtier.store.protocol.GdsCommand.GdsState;
import io.kvtier.store.protocol.GdsCommand.GdsStorageInfo;
import io.kvtier.store.protocol.GdsCommand.GdsWork;
import io.kvtier.store.protocol.Master;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** How often the master is asked who has a file, and whether one that has just come is found. */
@ExtendWith(LeakCheck.class)
class GdsOwnersTest {
    private static final UUID ALICE = new UUID(1, 1);
    private static final UUID BOB = new UUID(2, 2);
    private static final int UNIT = StoreContract.UNIT;
    private static final int VALUES = 20;

    @TempDir
    private Path directory;
    private final List<GdsStorageInfo> registered = new ArrayList<>();
    private int asked;
    private final GdsOwners owners = new GdsOwners(new Master() {
        @Override
        @SuppressWarnings("unchecked") // The one command that it is sent has this answer.
        public <R> R apply(final Command<R> command) {
            assertEquals(new GdsCommand.GdsStorages(), command);
            asked++;
            return (R) List.copyOf(registered);
        }
    });

    private void register(final UUID owner, final String endpoint) {
        registered.add(new GdsStorageInfo(owner, owner, 1, endpoint, 8 * UNIT, 0, 0, GdsCounts.NONE,
            GdsWork.NONE, GdsState.UNKNOWN));
    }

    /** Where the owner of a replica answers that the master has named after so many questions. */
    private String endpoint(final UUID owner, final long askedBefore) {
        return owners.endpoint(new ReplicaDescriptor.Gds(owner, owner, 1, 0, 100, UNIT), askedBefore);
    }

    @Test
    void shouldAskOnceForAllThatIsRegistered() {
        register(ALICE, "alice:1");
        register(BOB, "");
        for (int i = 0; i < 3; i++) {
            assertEquals("alice:1", endpoint(ALICE, owners.asked()));
            assertEquals("", endpoint(BOB, owners.asked()), "he answers nobody");
        }
        assertEquals(1, asked);
        assertEquals("", owners.endpoint(new ReplicaDescriptor.Gds(ALICE, ALICE, 2, 0, 100, UNIT), owners.asked()),
            "another generation is another file");
        assertEquals(2, asked);
    }

    @Test
    void shouldAskOnceForManyReplicasThatTheMasterNamedBefore() {
        final long named = owners.asked();
        for (int i = 0; i < 3; i++) {
            assertEquals("", endpoint(ALICE, named));
            assertEquals("", endpoint(BOB, named));
        }
        assertEquals(1, asked);
    }

    @Test
    void shouldFindAnOwnerThatHasComeSinceTheMasterWasAsked() {
        assertEquals("", endpoint(ALICE, owners.asked()));
        register(ALICE, "alice:1");
        assertEquals("alice:1", endpoint(ALICE, owners.asked()));
        assertEquals(2, asked);
    }

    @Test
    void shouldAskAgainAfterAnOwnerCouldNotBeAsked() {
        register(ALICE, "alice:1");
        final long named = owners.asked();
        assertEquals("alice:1", endpoint(ALICE, named));
        registered.clear();
        register(ALICE, "alice:2");
        OwnerInside.forget(owners);
        assertEquals("alice:2", endpoint(ALICE, named));
        assertEquals(2, asked);
    }

    /** Counts who asks for the owners of files, and hides them for a while. */
    private static final class Hiding implements FaultyLink.Fault {
        private final AtomicInteger asked = new AtomicInteger();
        private volatile boolean hidden = true;

        @Override
        public <R> R apply(final FaultyLink.Exchange<R> exchange) {
            if (!(exchange.command() instanceof GdsCommand.GdsStorages)) {
                return exchange.pass();
            }
            asked.incrementAndGet();
            return hidden ? exchange.change(List.class, any -> List.of()) : exchange.pass();
        }
    }

    private static long hits(final Store store) {
        final List<Store.Item> wanted = IntStream.range(0, VALUES)
            .mapToObj(i -> Store.Item.of(StoreContract.key(i), StoreContract.room(2 * UNIT))).toList();
        return store.getBatch(wanted).stream().map(BatchResult::orThrow).filter(GetOutcome::hit).count();
    }

    @Test
    void shouldAskOnceForABatchOfAnOwnerThatIsNotRegistered() {
        try (Cluster cluster = new Cluster(Cluster.settings(1, 0))) {
            final ConnectedStore owner = cluster.join(config -> config.name("owner").memoryBytes(UNIT).shm(false)
                .gds(GdsConfig.NONE.withRoom(directory.resolve("gds"), 64 * UNIT)
                    .withTransport(GdsConfig.Mover.POSIX).withWatermarks(1, 0.5)));
            for (int i = 0; i < VALUES; i++) {
                StoreContract.put(owner, StoreContract.key(i), PatternBytes.of(i, 2 * UNIT));
            }
            final ConnectConfig config = cluster.config().name("reader").shm(false).build();
            final FaultyLink link = new FaultyLink(config);
            final Hiding hiding = new Hiding();
            link.fault(hiding);
            try (ConnectedStore reader = ConnectedStore.open(config, StoreHooks.SYSTEM, link)) {
                assertEquals(0, hits(reader));
                assertEquals(1, hiding.asked.get());
                hiding.hidden = false;
                assertEquals(VALUES, hits(reader), "as soon as it is registered");
                assertEquals(VALUES, hits(reader));
                assertEquals(2, hiding.asked.get());
            }
        }
    }
}
