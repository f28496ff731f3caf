package io.kvtier.store.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.kit.PatternBytes;
import io.kvtier.kit.Threads;
import io.kvtier.store.ConnectConfig;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.GdsConfig;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreConfig;
import io.kvtier.store.StoreException;
import io.kvtier.store.client.engine.StoreHooks;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsState;
import io.kvtier.store.protocol.GdsCommand.GdsStorageInfo;
import io.kvtier.store.protocol.GdsCommand.GdsWork;
import io.kvtier.transport.HostDetour;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** What clients have done with their files, as the master knows it: told with the pings. */
@ExtendWith(LeakCheck.class)
class GdsStatisticsTest {
    private static final int UNIT = StoreContract.UNIT;
    private static final ObjectKey KEY = StoreContract.KEY;
    /** Three units, and more than there is memory. */
    private static final byte[] VALUE = PatternBytes.of(1, 2 * UNIT + 9);
    private static final long BYTES = VALUE.length;

    @TempDir
    private Path directory;

    private final Cluster cluster = new Cluster(Cluster.settings(1, 0));

    @AfterEach
    void close() {
        cluster.close();
    }

    private GdsConfig gds(final String file) {
        return GdsConfig.NONE.withRoom(directory.resolve(file), 64 * UNIT).withTransport(GdsConfig.Mover.POSIX)
            .withWatermarks(1, 0.5);
    }

    private ConnectedStore node(final String name, final UnaryOperator<GdsConfig> change) {
        return cluster.join(config -> config.name(name).memoryBytes(UNIT).shm(false).gds(change.apply(gds(name))));
    }

    private static List<GdsStorageInfo> listed(final ClientStore store) {
        return store.parts().master().apply(new GdsCommand.GdsStorages());
    }

    private static void awaitWork(final ClientStore store, final GdsWork work) {
        Threads.awaitUntil(() -> store.masterStats().gds().told().work().equals(work),
            () -> store.masterStats().gds() + " instead of " + work);
    }

    @Test
    void shouldTellTheMasterWhatOwnersDoForThemselvesAndForOthers() {
        final ConnectedStore owner = node("owner", gds -> gds);
        final ConnectedStore reader = cluster.join(config -> config.name("reader").shm(false));
        StoreContract.put(owner, KEY, VALUE);
        StoreContract.put(owner, ObjectKey.of("small"), PatternBytes.of(2, 7));
        assertTrue(owner.get(KEY, StoreContract.room(VALUE.length)).hit());
        assertTrue(reader.get(KEY, StoreContract.room(VALUE.length)).hit());
        awaitWork(reader, new GdsWork(1, 1, BYTES + 7, 2, 2 * BYTES, 0, 0, 0, 0, 0));
        final GdsState state = listed(reader).getFirst().state();
        assertEquals(List.of(4L * UNIT, 2L, 0L), List.of(state.used(), state.values(), state.uncertain()));
        assertEquals(HostDetour.NONE, state.detour());
        assertTrue(state.way().startsWith("posix: "), state.way());
    }

    @Test
    void shouldKeepWhatClientsThatLeaveHaveDone() {
        final ConnectedStore reader = cluster.join(config -> config.name("reader").shm(false));
        final ConnectedStore one = node("one", gds -> gds);
        final ConnectedStore other = node("other", gds -> gds);
        StoreContract.put(one, KEY, VALUE);
        StoreContract.put(other, ObjectKey.of("more"), VALUE);
        // The last of it is told on leaving.
        other.close();
        awaitWork(reader, new GdsWork(0, 2, 2 * BYTES, 0, 0, 0, 0, 0, 0, 0));
        Threads.awaitUntil(() -> listed(reader).size() == 1
            && listed(reader).getFirst().work().equals(new GdsWork(0, 1, BYTES, 0, 0, 0, 0, 0, 0, 0)),
            () -> listed(reader));
    }

    /** One that was started anew has heard nothing; what was told before it is not told again. */
    @Test
    void shouldBeginAtZeroWithAnotherMaster() {
        final ConnectedStore owner = node("owner", gds -> gds);
        StoreContract.put(owner, KEY, VALUE);
        awaitWork(owner, new GdsWork(0, 1, BYTES, 0, 0, 0, 0, 0, 0, 0));
        cluster.restartMaster(Cluster.settings(1, 0));
        Threads.awaitUntil(() -> owner.masterStats().gds().told().values() == 1, owner::masterStats);
        assertEquals(GdsWork.NONE, owner.masterStats().gds().told().work());
        assertTrue(owner.get(KEY, StoreContract.room(VALUE.length)).hit());
        awaitWork(owner, new GdsWork(0, 0, 0, 1, BYTES, 0, 0, 0, 0, 0));
    }

    /** One that does not know reports, for one. */
    @Test
    void shouldGoOnAndLeaveInGoodOrderWhereTheMasterTakesNoReports() {
        final ConnectConfig config = cluster.config().name("owner").memoryBytes(UNIT).shm(false).gds(gds("owner"))
            .build();
        final FaultyLink link = new FaultyLink(config);
        final AtomicInteger refused = new AtomicInteger();
        link.fault(new FaultyLink.Fault() {
            @Override
            public <R> R apply(final FaultyLink.Exchange<R> exchange) {
                if (exchange.command() instanceof GdsCommand.ReportGdsWork) {
                    refused.incrementAndGet();
                    throw new StoreException(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE, "no such method");
                }
                return exchange.pass();
            }
        });
        final ConnectedStore reader = cluster.join(other -> other.name("reader").shm(false));
        try (ConnectedStore owner = ConnectedStore.open(config, StoreHooks.SYSTEM, link)) {
            Threads.awaitUntil(() -> refused.get() > 1, refused::get);
            StoreContract.put(owner, KEY, VALUE);
            assertTrue(owner.get(KEY, StoreContract.room(VALUE.length)).hit());
            assertEquals(1, reader.masterStats().gds().counts().onlyPuts());
        }
        assertEquals(List.of(), listed(reader));
        assertEquals(0, reader.masterStats().memoryCapacity(), "what it lent was taken back");
    }

    @Test
    void shouldCountInAStoreWithItsOwnMasterToo() {
        try (EmbeddedStore store = EmbeddedStore.open(StoreConfig.builder().memoryBytes(UNIT).gds(gds("alone"))
            .build(), StoreHooks.SYSTEM)) {
            StoreContract.put(store, KEY, VALUE);
            assertTrue(store.get(KEY, StoreContract.room(VALUE.length)).hit());
            assertEquals(new GdsWork(0, 1, BYTES, 1, BYTES, 0, 0, 0, 0, 0),
                store.masterStats().gds().told().work());
        }
    }
}
