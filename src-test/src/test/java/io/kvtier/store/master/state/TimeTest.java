package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.CLIENT_TTL_MS;
import static io.kvtier.store.master.state.MasterRig.LEASE_MS;
import static io.kvtier.store.master.state.MasterRig.RELEASE_MS;
import static io.kvtier.store.master.state.MasterRig.SOFT_PIN_MS;
import static io.kvtier.store.master.state.MasterRig.UNIT;
import static io.kvtier.store.master.state.MasterRig.key;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.SoftPin;
import io.kvtier.store.StoreException;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand.ClientStatus;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.TaskCommand.DrainStatus;
import io.kvtier.store.protocol.TaskCommand.TaskStatus;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Nobody ticks here: whatever command comes finds all ended that ends at its time, and nothing that ends later. */
@ExtendWith(LeakCheck.class)
class TimeTest {
    private final MasterRig rig = new MasterRig();

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void shouldFindASoftPinEnded() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.put(BOB, "key", UNIT, PutOptions.DEFAULT.withSoftPin(SoftPin.ENABLE));
        rig.passAlive(SOFT_PIN_MS - 1);
        assertEquals(1, rig.stats().softPinned());
        rig.pass(1);
        assertEquals(0, rig.stats().softPinned());
    }

    @Test
    void shouldFindASilentClientForgottenThoughItIsTheOneThatAsks() {
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.pass(CLIENT_TTL_MS - 1);
        assertNotNull(rig.segment(segment));
        assertEquals(ClientStatus.OK, rig.ping(ALICE, ""));
        rig.pass(CLIENT_TTL_MS);
        assertEquals(ClientStatus.NEED_REMOUNT, rig.ping(ALICE, ""));
        assertNull(rig.segment(segment));
    }

    @Test
    void shouldFindAPutGivenUp() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final long inTime = rig.started(BOB, "in time", UNIT).version();
        final long late = rig.started(BOB, "late", UNIT).version();
        rig.passAlive(RELEASE_MS - 1);
        assertEquals(Ack.OK, rig.end(BOB, "in time", inTime));
        rig.pass(1);
        assertEquals(Ack.STALE, rig.end(BOB, "late", late));
        assertEquals(UNIT, rig.stats().memoryUsed());
    }

    @Test
    void shouldFindAPromotionGivenUp() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.disk(ALICE);
        assertTrue(rig.adopt(ALICE, "key", 5, UNIT));
        final PromotionReply promotion = rig.promote(BOB, "key", 5);
        rig.passAlive(RELEASE_MS - 1);
        assertEquals(1, rig.stats().activePromotions());
        rig.pass(1);
        assertEquals(Ack.STALE, rig.promoted(BOB, "key", promotion, true));
        assertEquals(0, rig.stats().memoryUsed());
    }

    @Test
    void shouldFindAnOffloadGivenUpThatNobodyFetched() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.disk(ALICE);
        rig.put(BOB, "key", UNIT);
        rig.evict(1, 1);
        rig.passAlive(RELEASE_MS - 1);
        assertEquals(1, rig.stats().offloadsPending());
        rig.pass(1);
        assertEquals(List.of(), rig.fetch(ALICE));
        assertEquals(1, rig.stats().offloadFailures());
        assertTrue(rig.exists("key"));
    }

    @Test
    void shouldFindACopyGivenUpAndItsTaskFailed() {
        rig.memory(ALICE, "one", 16 * UNIT);
        rig.memory(ALICE, "two", 16 * UNIT);
        rig.put(BOB, "key", UNIT, PutOptions.DEFAULT.withPreferredSegments("one"));
        rig.apply(new TaskCommand.ReplicationStart(ALICE, key("key"), TaskCommand.Kind.COPY, "one", List.of("two")));
        final long pendingMs = MasterSettings.Tasks.DEFAULT.pendingMs();
        rig.passAlive(RELEASE_MS - pendingMs);
        final long task = rig.apply(
            new TaskCommand.CreateTask(TaskCommand.Kind.COPY, key("key"), "one", List.of("two")));
        rig.passAlive(pendingMs - 1);
        assertEquals(TaskStatus.PENDING, rig.apply(new TaskCommand.QueryTask(task)).status());
        assertEquals(2 * UNIT, rig.stats().memoryUsed());
        rig.pass(1);
        assertEquals(TaskStatus.FAILED, rig.apply(new TaskCommand.QueryTask(task)).status());
        assertEquals(UNIT, rig.stats().memoryUsed());
    }

    @Test
    void shouldFindASegmentGoneWhoseTimeIsOver() {
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.put(BOB, "key", UNIT);
        rig.unmount(ALICE, segment, 500);
        rig.unmount(ALICE, segment, 1000);
        rig.pass(499);
        assertTrue(rig.read("key").found());
        rig.pass(1);
        assertFalse(rig.read("key").found());
        assertEquals(ErrorCode.SEGMENT_NOT_FOUND,
            assertThrows(StoreException.class, () -> rig.unmount(ALICE, segment, 0)).code());
        rig.pass(500);
        rig.assertEmpty();
    }

    @Test
    void shouldGiveRoomToAPutAtOnceThatHasJustEndedItsRest() {
        rig.memory(ALICE, "memory", UNIT);
        rig.put(BOB, "key", UNIT);
        rig.read("key");
        rig.remove("key", true);
        rig.pass(LEASE_MS - 1);
        assertEquals(new PutStartReply.NoSpace(true), rig.start(BOB, "other", UNIT));
        final long freed = rig.spaceFreed();
        rig.pass(1);
        rig.put(BOB, "other", UNIT);
        assertTrue(rig.spaceFreed() > freed, "and those who wait for room are told");
    }

    @Test
    void shouldTellThoseWhoWaitOfRoomThatHasEndedItsRestWhateverIsAsked() {
        rig.memory(ALICE, "memory", UNIT);
        rig.put(BOB, "key", UNIT);
        rig.read("key");
        rig.remove("key", true);
        final long freed = rig.spaceFreed();
        rig.pass(LEASE_MS - 1);
        rig.stats();
        assertEquals(freed, rig.spaceFreed());
        rig.pass(1);
        rig.stats();
        assertEquals(freed + 1, rig.spaceFreed());
        rig.stats();
        assertEquals(freed + 1, rig.spaceFreed(), "once");
    }

    @Test
    void shouldGoOnWithADrainAndSweepASegmentAndADiskWhateverIsAsked() {
        rig.memory(ALICE, "full", 16 * UNIT);
        final UUID other = rig.memory(ALICE, "other", 16 * UNIT);
        rig.disk(ALICE);
        assertTrue(rig.adopt(ALICE, "on disk", 5, UNIT));
        rig.put(BOB, "key", UNIT, PutOptions.DEFAULT.withPreferredSegments("other"));
        final long drain = rig.apply(new TaskCommand.CreateDrain(List.of("full")));
        rig.unmount(ALICE, other, 0);
        rig.apply(new DiskCommand.UnmountDisk(ALICE));
        assertEquals(2, rig.stats().objects(), "hidden, and not swept yet");
        rig.pass(1);
        assertEquals(0, rig.stats().objects());
        assertEquals(DrainStatus.SUCCEEDED, rig.apply(new TaskCommand.QueryDrain(drain)).status());
    }

    /** A refused command has let time pass like any other. */
    @Test
    void shouldLetTimePassThoughTheCommandIsRefused() {
        rig.memory(ALICE, "memory", UNIT);
        rig.put(BOB, "key", UNIT);
        rig.read("key");
        rig.remove("key", true);
        final long freed = rig.spaceFreed();
        rig.pass(LEASE_MS);
        assertThrows(StoreException.class,
            () -> rig.apply(new ObjectCommand.PutStart(BOB, 1, key("key"), -1, PutOptions.DEFAULT, false)));
        assertEquals(freed + 1, rig.spaceFreed());
    }
}
