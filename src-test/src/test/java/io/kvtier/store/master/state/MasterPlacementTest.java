package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.CAROL;
import static io.kvtier.store.master.state.MasterRig.UNIT;
import static io.kvtier.store.master.state.MasterRig.places;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.SegmentInfo;
import io.kvtier.store.protocol.TaskCommand;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Where replicas are placed. */
@ExtendWith(LeakCheck.class)
class MasterPlacementTest {
    private MasterRig rig = new MasterRig();

    @AfterEach
    void closeRig() {
        rig.close();
    }

    @Test
    void shouldHaveNoPlaceWithoutSegmentsOrRoom() {
        assertEquals(new PutStartReply.NoSpace(false), rig.start(ALICE, "key", UNIT));
        rig.memory(ALICE, "memory", 2 * UNIT);
        rig.put(ALICE, "key", 2 * UNIT, PutOptions.DEFAULT.withHardPin(true));
        assertEquals(new PutStartReply.NoSpace(false), rig.start(ALICE, "other", UNIT));
        assertEquals(ErrorCode.INVALID_PARAMS,
            assertThrows(StoreException.class, () -> PutOptions.DEFAULT.withReplicas(0)).code());
    }

    @Test
    void shouldUsePreferredSegmentsBeforeOthers() {
        final List<UUID> segments = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            segments.add(rig.memory(ALICE, "memory" + i, 4 * UNIT));
        }
        for (int i = 0; i < 4; i++) {
            assertEquals(List.of(segments.get(5)), places(rig.started(BOB, "one" + i, UNIT,
                PutOptions.DEFAULT.withPreferredSegments("memory5")).replicas()));
        }
        assertNotEquals(segments.get(5), places(rig.started(BOB, "full", UNIT,
            PutOptions.DEFAULT.withPreferredSegments("memory5")).replicas()).getFirst());
        assertEquals(List.of(segments.get(7), segments.get(2)), places(rig.started(BOB, "two", UNIT,
            PutOptions.DEFAULT.withReplicas(2).withPreferredSegments("memory7", "memory2")).replicas()));
        final List<UUID> three = places(rig.started(BOB, "three", UNIT,
            PutOptions.DEFAULT.withReplicas(3).withPreferredSegments("memory7", "memory2")).replicas());
        assertEquals(List.of(segments.get(7), segments.get(2)), three.subList(0, 2));
        assertEquals(3, new HashSet<>(three).size());
        assertEquals(1, places(rig.started(BOB, "unknown", UNIT,
            PutOptions.DEFAULT.withPreferredSegments("nowhere")).replicas()).size());
    }

    @Test
    void shouldPutReplicasOfAnObjectOnSegmentsOfTheirOwn() {
        for (int i = 0; i < 20; i++) {
            rig.memory(ALICE, "memory" + i, 64 * UNIT);
        }
        for (int i = 0; i < 16; i++) {
            final List<UUID> places =
                places(rig.started(BOB, "key" + i, UNIT, PutOptions.DEFAULT.withReplicas(10)).replicas());
            assertEquals(10, places.size());
            assertEquals(10, new HashSet<>(places).size());
        }
    }

    @Test
    void shouldKeepSegmentsEvenlyFullWhenTheEmptiestGoFirst() {
        use(new MasterRig(MasterRig.withStrategy(MasterSettings.Strategy.FREE_RATIO_FIRST)));
        for (int i = 0; i < 10; i++) {
            rig.memory(ALICE, "memory" + i, (i + 1) * 20 * UNIT);
        }
        for (int i = 0; i < 900; i++) {
            rig.started(BOB, "key" + i, UNIT);
            if (i % 50 == 49) {
                assertTrue(spread() < 0.15, "after " + i + ": " + spread());
            }
        }
    }

    @Test
    void shouldPlaceWhereTheOwnersDiskIsEmptiestWhenThatComesFirst() {
        use(new MasterRig(MasterRig.withStrategy(MasterSettings.Strategy.SSD_FREE_RATIO_FIRST)));
        onThreeHosts();
        assertEquals(1, places(rig.started(BOB, "nobody has a disk", UNIT).replicas()).size());
        for (final UUID client : List.of(ALICE, BOB)) {
            mountDisk(client);
        }
        assertTrue(rig.adopt(ALICE, "a", 1, 50 * UNIT));
        assertTrue(rig.adopt(BOB, "b", 2, 10 * UNIT));
        assertEquals(BOB, ownerOf("a tenth against a half, and none"));
        assertTrue(rig.adopt(BOB, "b2", 3, 60 * UNIT));
        assertEquals(ALICE, ownerOf("a half against seven tenths"));
        assertTrue(rig.adopt(ALICE, "a2", 4, 200 * UNIT));
        assertEquals(BOB, ownerOf("more than all against seven tenths"));
        assertTrue(rig.evictDisk(ALICE, "a2", 4));
        assertEquals(ALICE, ownerOf("a half again"));
        rig.remove("b2", true);
        assertEquals(BOB, ownerOf("removed values take nothing"));
        rig.apply(new DiskCommand.UnmountDisk(ALICE));
        mountDisk(ALICE);
        assertEquals(ALICE, ownerOf("nothing is on a disk that comes back, before it is swept"));
        rig.settle();
        assertEquals(ALICE, ownerOf("nor afterwards"));
        rig.unmount(ALICE, segmentOf(ALICE), 1000);
        assertEquals(BOB, ownerOf("what takes nothing is passed over"));
    }

    @Test
    void shouldCountWhatWasCopiedToADiskWhenTheEmptiestComesFirst() {
        use(new MasterRig(MasterRig.withStrategy(MasterSettings.Strategy.SSD_FREE_RATIO_FIRST)));
        onThreeHosts();
        mountDisk(ALICE);
        mountDisk(BOB);
        rig.put(CAROL, "key", UNIT, PutOptions.DEFAULT.withPreferredSegments("of-alice"));
        assertEquals(1, rig.offloadAll(ALICE));
        for (int i = 0; i < 5; i++) {
            assertEquals(BOB, ownerOf("key" + i));
        }
        assertEquals(ALICE, ownerOf("when that one is full"));
    }

    private void mountDisk(final UUID client) {
        assertEquals(Ack.OK, rig.apply(new DiskCommand.MountDisk(client, "host:1", 100 * UNIT)));
    }

    /** Whose segment a value of that key goes to. */
    private UUID ownerOf(final String key) {
        final UUID segment = places(rig.started(CAROL, key, UNIT).replicas()).getFirst();
        return rig.segment(segment).clientId();
    }

    /** By the master's strategy, and by the put's own wish: the writer's host, then the next one by name, and round. */
    @ParameterizedTest
    @EnumSource(value = MasterSettings.Strategy.class, names = {"LOCAL_FIRST", "RANDOM"})
    void shouldFillTheWritersHostFirstAndThenTheNextOnes(final MasterSettings.Strategy strategy) {
        use(new MasterRig(MasterRig.withStrategy(strategy)));
        onThreeHosts();
        final PutOptions near = PutOptions.DEFAULT.withSameHost(strategy == MasterSettings.Strategy.RANDOM);
        for (final UUID client : List.of(BOB, CAROL, ALICE)) {
            for (int i = 0; i < 5; i++) {
                assertEquals(List.of(segmentOf(client)),
                    places(rig.started(BOB, "key" + client + i, UNIT, near).replicas()));
            }
        }
        assertEquals(new PutStartReply.NoSpace(true), rig.start(BOB, "more", UNIT, near, false));
    }

    @Test
    void shouldFollowTheOrderOfHostsAsSegmentsComeAndGo() {
        onThreeHosts();
        rig.started(BOB, "fills its own host", 5 * UNIT, PutOptions.DEFAULT.withSameHost(true));
        assertEquals(segmentOf(CAROL), nearBob("next"));
        final long drain = rig.apply(new TaskCommand.CreateDrain(List.of("of-carol")));
        assertEquals(segmentOf(ALICE), nearBob("drained"));
        rig.apply(new TaskCommand.CancelDrain(drain));
        assertEquals(segmentOf(CAROL), nearBob("in use again"));
        final UUID dave = new UUID(0xDA7E, 4);
        rig.ping(dave, "bb");
        final UUID between = rig.memory(dave, "of-dave", 5 * UNIT);
        assertEquals(between, nearBob("between the two"));
        rig.unmount(dave, between, 0);
        rig.unmount(CAROL, segmentOf(CAROL), 50);
        assertEquals(segmentOf(ALICE), nearBob("taken back"));
    }

    private UUID nearBob(final String key) {
        return places(rig.started(BOB, key, UNIT, PutOptions.DEFAULT.withSameHost(true)).replicas()).getFirst();
    }

    @Test
    void shouldUseAllSegmentsOfAHostBeforeThoseOfTheNext() {
        onThreeHosts();
        final UUID other = rig.memory(BOB, "of-bob-too", 5 * UNIT);
        final Set<UUID> first = new HashSet<>();
        for (int i = 0; i < 10; i++) {
            first.add(nearBob("key" + i));
        }
        assertEquals(Set.of(segmentOf(BOB), other), first);
        assertEquals(segmentOf(CAROL), nearBob("next"));
    }

    @Test
    void shouldTakeAnyPlaceForAWriterWhoseHostIsNotKnown() {
        use(new MasterRig(MasterRig.withStrategy(MasterSettings.Strategy.LOCAL_FIRST)));
        onThreeHosts();
        final Set<UUID> used = new HashSet<>();
        for (int i = 0; i < 15; i++) {
            used.addAll(places(rig.started(new UUID(9, 9), "key" + i, UNIT).replicas()));
        }
        assertEquals(3, used.size());
    }

    /** Not even when it is named, or on the writer's host, or nothing else is left. */
    @ParameterizedTest
    @EnumSource(MasterSettings.Strategy.class)
    void shouldPlaceNothingInSegmentsThatTakeNothingNow(final MasterSettings.Strategy strategy) {
        use(new MasterRig(MasterRig.withStrategy(strategy)));
        onThreeHosts();
        final UUID open = rig.memory(ALICE, "open", 4 * UNIT);
        rig.unmount(BOB, segmentOf(BOB), 1000);
        rig.apply(new TaskCommand.CreateDrain(List.of("of-carol")));
        rig.unmount(ALICE, segmentOf(ALICE), 0);
        rig.apply(new SegmentCommand.Mount(ALICE,
            MasterRig.spec(new UUID(8, 8), "resting", Medium.MEMORY, 5 * UNIT, false)));
        final PutOptions named = PutOptions.DEFAULT.withSameHost(true).withReplicas(2)
            .withPreferredSegments("of-bob", "of-carol", "of-alice", "resting");
        for (int i = 0; i < 4; i++) {
            assertEquals(List.of(open), places(rig.started(BOB, "key" + i, UNIT, named).replicas()));
        }
        assertEquals(new PutStartReply.NoSpace(true), rig.start(BOB, "more", UNIT, named, false));
        for (final SegmentInfo info : segments()) {
            assertEquals(info.name().equals("open") ? 4 * UNIT : 0, info.used(), info.name());
        }
    }

    @Test
    void shouldFillTheWritersHostFirstWhenThePutAsksForIt() {
        onThreeHosts();
        final UUID bobs = segmentOf(BOB);
        for (int i = 0; i < 4; i++) {
            assertEquals(List.of(bobs), places(rig.started(BOB, "near" + i, UNIT,
                PutOptions.DEFAULT.withSameHost(true)).replicas()));
        }
        final List<UUID> preferred = places(rig.started(BOB, "preferred", UNIT,
            PutOptions.DEFAULT.withSameHost(true).withPreferredSegments("of-alice")).replicas());
        assertEquals(List.of(segmentOf(ALICE)), preferred, "a named segment wins");
        assertEquals(3, places(rig.started(BOB, "everywhere", UNIT,
            PutOptions.DEFAULT.withSameHost(true).withReplicas(3)).replicas()).size());
    }

    @Test
    void shouldPlaceTheSameWayForTheSameCommands() {
        final List<List<UUID>> runs = new ArrayList<>();
        for (int run = 0; run < 2; run++) {
            use(new MasterRig());
            for (int i = 0; i < 5; i++) {
                rig.memory(ALICE, "memory" + i, 64 * UNIT);
            }
            final List<UUID> places = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                places.addAll(places(rig.started(BOB, "key" + i, UNIT).replicas()));
            }
            runs.add(places);
            assertEquals(5, new HashSet<>(places).size(), "all segments are used");
        }
        assertEquals(runs.get(0), runs.get(1));
    }

    @Test
    void shouldPlaceOnBlockDevicesByTheSameRules() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.mount(ALICE, "first", Medium.NOF, 16 * UNIT);
        rig.mount(ALICE, "second", Medium.NOF, 16 * UNIT);
        rig.put(BOB, "key", UNIT, PutOptions.DEFAULT.withNofReplicas(5).withReplicas(0));
        assertEquals(2, rig.query("key").replicas().size());
        assertEquals(2 * UNIT, rig.stats().nofUsed());
        assertEquals(0, rig.stats().memoryUsed());
    }

    private void use(final MasterRig other) {
        rig.close();
        rig = other;
    }

    private void onThreeHosts() {
        rig.ping(ALICE, "a");
        rig.ping(BOB, "b");
        rig.ping(CAROL, "c");
        rig.memory(ALICE, "of-alice", 5 * UNIT);
        rig.memory(BOB, "of-bob", 5 * UNIT);
        rig.memory(CAROL, "of-carol", 5 * UNIT);
    }

    private UUID segmentOf(final UUID client) {
        return segments().stream().filter(info -> info.clientId().equals(client)).findFirst().orElseThrow()
            .segmentId();
    }

    private double spread() {
        double least = 1;
        double most = 0;
        for (final SegmentInfo info : segments()) {
            final double ratio = (double) info.used() / info.capacity();
            least = Math.min(least, ratio);
            most = Math.max(most, ratio);
        }
        return most - least;
    }

    private List<SegmentInfo> segments() {
        return rig.apply(new SegmentCommand.Segments());
    }
}
