package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.CLIENT_TTL_MS;
import static io.kvtier.store.master.state.MasterRig.DISCARD_MS;
import static io.kvtier.store.master.state.MasterRig.LEASE_MS;
import static io.kvtier.store.master.state.MasterRig.UNIT;
import static io.kvtier.store.master.state.MasterRig.key;
import static io.kvtier.store.master.state.MasterRig.memoryReplicas;
import static io.kvtier.store.master.state.MasterRig.places;
import static io.kvtier.store.master.state.MasterRig.spec;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.ClientStatus;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.protocol.SegmentCommand.Status;
import io.kvtier.store.protocol.TaskCommand;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Segments that are lent and taken back, and clients that come and go. */
@ExtendWith(LeakCheck.class)
class MasterSegmentTest {
    private final MasterRig rig = new MasterRig();

    @AfterEach
    void closeRig() {
        rig.close();
    }

    @Test
    void shouldCountASegmentOnceWhileItIsMounted() {
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.memory(BOB, "other", 24 * UNIT);
        assertEquals(40 * UNIT, rig.stats().memoryCapacity());
        rig.assertRefused(ErrorCode.SEGMENT_ALREADY_EXISTS,
            new SegmentCommand.Mount(ALICE, spec(segment, "memory", Medium.MEMORY, 16 * UNIT, true)));
        assertEquals(Ack.OK, rig.unmount(ALICE, segment, 0));
        assertEquals(24 * UNIT, rig.stats().memoryCapacity());
        rig.assertRefused(ErrorCode.SEGMENT_NOT_FOUND, new SegmentCommand.Unmount(ALICE, segment, 0));
        rig.settle();
        rig.assertRefused(ErrorCode.SEGMENT_NOT_FOUND, new SegmentCommand.Unmount(ALICE, segment, 0));
    }

    @Test
    void shouldRefuseASegmentThatCannotBe() {
        for (final long capacity : new long[] {0, -1, UNIT - 1, Long.MAX_VALUE}) {
            rig.assertRefused(ErrorCode.INVALID_PARAMS, new SegmentCommand.Mount(ALICE,
                spec(new UUID(9, 9), "memory", Medium.MEMORY, capacity, true)));
        }
        assertEquals(0, rig.stats().clients());
    }

    @Test
    void shouldHideWhatLiesInASegmentFromTheMomentThatItIsUnmounted() {
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.put(ALICE, "key", UNIT);
        rig.unmount(ALICE, segment, 0);
        assertEquals(ReadReply.NOT_FOUND, rig.read("key"));
        assertEquals(ReadReply.NOT_FOUND, rig.query("key"));
        assertFalse(rig.apply(new ObjectCommand.Exists(key("key"))));
        assertEquals(0, rig.find("", "", false).size());
        assertEquals(RemoveOutcome.NOT_FOUND, rig.remove("key", true).outcome());
        assertEquals(Status.UNMOUNTING, rig.segment(segment).status());
        rig.settle();
        assertNull(rig.segment(segment));
        rig.assertEmpty();
    }

    @Test
    void shouldHideOnlyTheReplicasThatLieInTheSegment() {
        final UUID first = rig.memory(ALICE, "memory", 16 * UNIT);
        final UUID second = rig.memory(BOB, "memory", 16 * UNIT);
        final long version = rig.put(ALICE, "key", UNIT, PutOptions.DEFAULT.withReplicas(2));
        rig.unmount(ALICE, first, 0);
        assertEquals(List.of(second), places(rig.read("key").replicas()));
        rig.settle();
        assertEquals(List.of(second), places(rig.read("key").replicas()));
        assertEquals(version, rig.read("key").version());
        assertEquals(UNIT, rig.stats().memoryUsed());
    }

    @Test
    void shouldGiveAKeyFreeWhoseReplicasAreAllGone() {
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.put(ALICE, "key", UNIT);
        rig.memory(BOB, "memory", 16 * UNIT);
        rig.unmount(ALICE, segment, 0);
        final long version = rig.started(BOB, "key", UNIT).version();
        rig.settle();
        assertEquals(Ack.OK, rig.end(BOB, "key", version));
        assertTrue(rig.exists("key"));
        assertEquals(1, rig.stats().objects());
    }

    @Test
    void shouldForgetAPutWhoseReplicasAreAllGone() {
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        final long version = rig.started(BOB, "key", UNIT).version();
        rig.unmount(ALICE, segment, 0);
        rig.settle();
        rig.assertEmpty();
        assertEquals(Ack.STALE, rig.end(BOB, "key", version));
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.put(BOB, "key", UNIT);
    }

    @Test
    void shouldEndAPutWithTheReplicasThatAreLeft() {
        final UUID first = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.memory(BOB, "memory", 16 * UNIT);
        final long version = rig.started(BOB, "key", UNIT, PutOptions.DEFAULT.withReplicas(2)).version();
        rig.unmount(ALICE, first, 0);
        rig.settle();
        assertEquals(Ack.OK, rig.end(BOB, "key", version));
        assertEquals(1, memoryReplicas(rig.read("key")));
        assertEquals(0, rig.stats().heldReplicas());
    }

    @Test
    void shouldRefuseToMountAnIdThatWasUnmounted() {
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.unmount(ALICE, segment, 0);
        rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
            new SegmentCommand.Mount(ALICE, spec(segment, "memory", Medium.MEMORY, 16 * UNIT, true)));
        rig.settle();
        rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
            new SegmentCommand.Mount(ALICE, spec(segment, "memory", Medium.MEMORY, 16 * UNIT, true)));
    }

    @Test
    void shouldReadButNotAllocateWhileASegmentIsTakenBackGracefully() {
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.put(ALICE, "key", UNIT);
        rig.assertRefused(ErrorCode.SEGMENT_NOT_FOUND, new SegmentCommand.Unmount(BOB, segment, 50));
        assertEquals(Ack.OK, rig.unmount(ALICE, segment, 50));
        assertEquals(Ack.OK, rig.unmount(ALICE, segment, 50), "a repetition is fine");
        assertEquals(Status.GRACEFULLY_UNMOUNTING, rig.segment(segment).status());
        assertTrue(rig.read("key").found());
        assertEquals(new PutStartReply.NoSpace(false), rig.start(ALICE, "other", UNIT));
        rig.advance(49);
        assertTrue(rig.read("key").found());
        rig.advance(1);
        assertNull(rig.segment(segment));
        rig.assertEmpty();
    }

    @Test
    void shouldTakeASegmentBackAtTheEarliestOfSeveralTimes() {
        final UUID late = rig.memory(ALICE, "memory", 16 * UNIT);
        final UUID early = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.unmount(ALICE, late, 500);
        rig.unmount(ALICE, early, 100);
        rig.advance(100);
        assertNull(rig.segment(early));
        assertEquals(Status.GRACEFULLY_UNMOUNTING, rig.segment(late).status());
        rig.unmount(ALICE, late, 1000);
        rig.unmount(ALICE, late, 20);
        rig.advance(20);
        assertNull(rig.segment(late));
    }

    @Test
    void shouldTellSegmentsOfOneNameApartByTheirId() {
        final UUID old = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.unmount(ALICE, old, 50);
        final UUID fresh = rig.memory(ALICE, "memory", 16 * UNIT);
        assertEquals(List.of(fresh), places(rig.started(ALICE, "key", UNIT,
            PutOptions.DEFAULT.withPreferredSegments("memory")).replicas()));
        assertEquals(Status.GRACEFULLY_UNMOUNTING, rig.segment(old).status());
        assertEquals(Status.OK, rig.segment(fresh).status());
        rig.advance(50);
        assertNull(rig.segment(old));
        assertEquals(Status.OK, rig.segment(fresh).status());
    }

    @Test
    void shouldKnowANameUntilTheLastOfItsSegmentsIsGone() {
        final UUID first = rig.memory(ALICE, "pair", 16 * UNIT);
        final UUID second = rig.memory(BOB, "pair", 16 * UNIT);
        final UUID other = rig.memory(ALICE, "other", 16 * UNIT);
        rig.put(ALICE, "key", UNIT, PutOptions.DEFAULT.withPreferredSegments("other"));
        final PutOptions named = PutOptions.DEFAULT.withPreferredSegments("pair").withReplicas(2);
        assertEquals(Set.of(first, second), Set.copyOf(places(rig.started(ALICE, "both", UNIT, named).replicas())));
        rig.unmount(ALICE, first, 0);
        rig.settle();
        assertEquals(List.of(second, other), places(rig.started(ALICE, "one", UNIT, named).replicas()));
        final TaskCommand.ReplicationStart copy = new TaskCommand.ReplicationStart(ALICE, key("key"),
            TaskCommand.Kind.COPY, "other", List.of("pair"));
        assertEquals(List.of(second), places(rig.apply(copy).targets()));
        rig.apply(new TaskCommand.ReplicationEnd(ALICE, key("key"), TaskCommand.Kind.COPY, false));
        rig.unmount(BOB, second, 0);
        assertEquals(List.of(other), places(rig.started(ALICE, "none", UNIT, named).replicas()));
        rig.assertRefused(ErrorCode.SEGMENT_NOT_FOUND, copy);
    }

    /** What the next put does with the key is all that happens to it: the sweep finds nothing left of the first one. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldEndAPutOnceWhoseSegmentGoesAndWhoseKeyIsTaken(final boolean replace) {
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        final long first = rig.started(BOB, "key", UNIT).version();
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.pass(DISCARD_MS);
        rig.ping(ALICE, "");
        rig.unmount(ALICE, segment, 0);
        final PutStartReply.Started second = assertInstanceOf(PutStartReply.Started.class,
            rig.start(ALICE, "key", UNIT, PutOptions.DEFAULT, replace));
        assertEquals(1, rig.stats().objects());
        rig.settle();
        assertEquals(1, rig.stats().objects());
        assertEquals(Ack.STALE, rig.end(BOB, "key", first));
        assertEquals(Ack.OK, rig.end(ALICE, "key", second.version()));
        assertEquals(second.version(), rig.query("key").version());
        assertEquals(RemoveOutcome.REMOVED, rig.remove("key", false).outcome());
        rig.assertEmpty();
    }

    @Test
    void shouldLetMemoryThatWasLentBeforeRestForALease() {
        rig.apply(new SegmentCommand.Mount(ALICE, spec(new UUID(8, 8), "memory", Medium.MEMORY, 16 * UNIT, false)));
        assertEquals(new PutStartReply.NoSpace(true), rig.start(BOB, "key", UNIT));
        rig.pass(LEASE_MS - 1);
        assertEquals(new PutStartReply.NoSpace(true), rig.start(BOB, "key", UNIT));
        rig.pass(1);
        rig.put(BOB, "key", UNIT);
    }

    /** Who waits for room is told of each, so that he need not wait for the last one. */
    @Test
    void shouldTellWhenEachOfSeveralSegmentsHasRested() {
        rig.apply(new SegmentCommand.Mount(ALICE, spec(new UUID(8, 8), "first", Medium.MEMORY, 16 * UNIT, false)));
        rig.advance(LEASE_MS / 2);
        rig.apply(new SegmentCommand.Mount(ALICE, spec(new UUID(9, 9), "second", Medium.MEMORY, 16 * UNIT, false)));
        final long before = rig.spaceFreed();
        rig.advance(LEASE_MS / 2 - 1);
        assertEquals(before, rig.spaceFreed());
        rig.advance(1);
        assertEquals(before + 1, rig.spaceFreed(), "the first one is open");
        rig.advance(LEASE_MS / 2 - 1);
        assertEquals(before + 1, rig.spaceFreed());
        rig.advance(1);
        assertEquals(before + 2, rig.spaceFreed(), "and the second one");
    }

    @Test
    void shouldSweepManyReplicasInParts() {
        final UUID segment = rig.memory(ALICE, "memory", 10_000 * UNIT);
        rig.putMany(ALICE, "key", 10_000, PutOptions.DEFAULT);
        rig.unmount(ALICE, segment, 0);
        int parts = 1;
        while (rig.apply(new AdminCommand.Tick()).busy()) {
            parts++;
        }
        assertEquals(3, parts, "4,096 replicas a part");
        rig.assertEmpty();
    }

    @Test
    void shouldTakeASilentClientForDead() {
        assertEquals(ClientStatus.NEED_REMOUNT, rig.ping(ALICE, "host"));
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        assertEquals(ClientStatus.OK, rig.ping(ALICE, "host"));
        rig.put(BOB, "key", UNIT);
        rig.silence(ALICE);
        rig.advance(CLIENT_TTL_MS - 1);
        assertTrue(rig.exists("key"));
        assertEquals("host", rig.apply(new SegmentCommand.Clients()).getFirst().host());
        assertEquals(CLIENT_TTL_MS - 1, rig.apply(new SegmentCommand.Clients()).getFirst().silentMs());
        rig.advance(1);
        assertNull(rig.segment(segment));
        rig.assertEmpty();
        assertEquals(0, rig.stats().clients());
        assertEquals(ClientStatus.NEED_REMOUNT, rig.ping(ALICE, "host"));
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.put(BOB, "key", UNIT);
    }

    @Test
    void shouldKeepWhatADeadClientWroteToOthersMemory() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.ping(BOB, "host");
        rig.put(BOB, "key", UNIT);
        final long version = rig.started(BOB, "unfinished", UNIT).version();
        rig.silence(BOB);
        rig.advance(CLIENT_TTL_MS);
        assertEquals(1, rig.stats().clients());
        assertTrue(rig.exists("key"));
        assertEquals(Ack.OK, rig.end(BOB, "unfinished", version), "it was only slow");
    }

    @Test
    void shouldUnmountABlockDeviceAfterSeveralFailedProbesInARow() {
        final UUID device = rig.nof(ALICE, "device", 16 * UNIT);
        rig.put(ALICE, "key", UNIT, PutOptions.DEFAULT.withNofReplicas(1).withReplicas(0));
        assertEquals(16 * UNIT, rig.stats().nofCapacity());
        probe(device, false, Ack.OK);
        probe(device, false, Ack.OK);
        probe(device, true, Ack.OK);
        probe(device, false, Ack.OK);
        probe(device, false, Ack.OK);
        assertTrue(rig.exists("key"));
        probe(device, false, Ack.OK);
        assertFalse(rig.exists("key"));
        probe(device, false, Ack.STALE);
        rig.settle();
        rig.assertEmpty();
        assertEquals(0, rig.stats().nofCapacity());
    }

    @Test
    void shouldNotStartAPutBeforeItsKeyIsFree() {
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.started(BOB, "key", UNIT);
        rig.unmount(ALICE, segment, 0);
        rig.memory(BOB, "memory", 16 * UNIT);
        assertEquals(new PutStartReply.Taken(PutOutcome.BEING_WRITTEN), rig.start(ALICE, "key", UNIT));
        rig.settle();
        rig.put(ALICE, "key", UNIT);
    }

    private void probe(final UUID device, final boolean healthy, final Ack answer) {
        assertEquals(answer, rig.apply(new SegmentCommand.Probed(device, healthy)));
    }

    @Test
    void shouldTakeASilentClientForDeadThoughItGoesOnWriting() {
        rig.ping(ALICE, "host");
        rig.ping(BOB, "host");
        final UUID segment = rig.memory(BOB, "memory", 16 * UNIT);
        rig.silence(BOB);
        rig.pass(CLIENT_TTL_MS / 2);
        rig.ping(ALICE, "host");
        rig.pass(CLIENT_TTL_MS / 2);
        // Its puts make the master look at what it knows of it.
        rig.put(BOB, "key", UNIT, PutOptions.DEFAULT.withSameHost(true));
        rig.settle();
        assertNull(rig.segment(segment));
        assertEquals(1, rig.stats().clients());
    }

    @Test
    void shouldTakeASegmentBackWhenTheClockAllowsNoLongerTime() {
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.unmount(ALICE, segment, Long.MAX_VALUE);
        rig.settle();
        assertEquals(Status.GRACEFULLY_UNMOUNTING, rig.segment(segment).status());
    }

    @Test
    void shouldProbeOnlyBlockDevices() {
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.assertRefused(ErrorCode.INVALID_PARAMS, new SegmentCommand.Probed(segment, false));
    }

    @Test
    void shouldKeepTheOldValueWhenTheSegmentOfTheNewOneIsGoneBeforeItEnds() {
        rig.memory(ALICE, "old", 16 * UNIT);
        final long first = rig.put(BOB, "key", UNIT, PutOptions.DEFAULT.withPreferredSegments("old"));
        final UUID segment = rig.memory(ALICE, "new", 16 * UNIT);
        final long second = rig.replacing(BOB, "key", 2 * UNIT,
            PutOptions.DEFAULT.withPreferredSegments("new")).version();
        rig.unmount(ALICE, segment, 0);
        assertEquals(Ack.STALE, rig.end(BOB, "key", second));
        assertEquals(first, rig.query("key").version());
        assertEquals(0, rig.stats().pendingWrites());
        assertEquals(0, rig.stats().heldReplicas());
        rig.settle();
        assertEquals(first, rig.query("key").version());
    }

    @Test
    void shouldTakeNothingFromAClientThatDoesNotKnowThatItWasTakenForDead() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.silence(ALICE);
        rig.advance(CLIENT_TTL_MS);
        // Were it known from here on, its ping would say that the segment above is still there.
        rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, new DiskCommand.MountDisk(ALICE, "host:1", 1));
        rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
            new SegmentCommand.Mount(ALICE, spec(new UUID(8, 8), "memory", Medium.MEMORY, 16 * UNIT, true)));
        assertEquals(ClientStatus.NEED_REMOUNT, rig.ping(ALICE, "host"));
        rig.disk(ALICE);
        rig.memory(ALICE, "memory", 16 * UNIT);
        assertEquals(ClientStatus.OK, rig.ping(ALICE, "host"));
    }

    /** Who comes under ever new names does not fill the memory. */
    @Test
    void shouldRememberOnlyTheLastOfThoseThatWereTakenForDead() {
        final Clients clients = new Clients(CLIENT_TTL_MS);
        for (int i = 0; i < 100_000; i++) {
            clients.appeared(new UUID(1, i), 0);
        }
        int dead = 0;
        while (clients.nextExpired(CLIENT_TTL_MS) != null) {
            dead++;
        }
        assertEquals(100_000, dead);
        assertThrows(StoreException.class, () -> clients.checkLender(new UUID(1, 99_999)));
        clients.checkLender(new UUID(1, 0));
    }
}
