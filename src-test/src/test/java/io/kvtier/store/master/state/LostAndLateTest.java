package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.Drops;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.DiskCommand.StoredObject;
import io.kvtier.store.protocol.DiskCommand.StoredVersion;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.ClientStatus;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What the simulation of a bad network and of dying processes has found, each as the few commands it takes. */
@ExtendWith(LeakCheck.class)
class LostAndLateTest {
    private static final UUID ONE = new UUID(0, 1);
    private static final UUID TWO = new UUID(0, 2);
    private static final ObjectKey KEY = ObjectKey.of("key");
    private static final long UNIT = 64;
    private static final long TTL_MS = 1000;
    private static final long RELEASE_MS = 4000;

    private MasterState state = master(1);
    private long nowMs;
    private long attempts;
    private long segments = 100;

    @AfterEach
    void close() {
        state.close();
    }

    @Test
    void shouldLetTheRoomOfACancelledPromotionRestWhenItsClientFallsSilent() {
        lend(ONE, 2);
        lendDisk(ONE);
        final long version = putOnDisk();
        apply(ping(TWO));
        assertTrue(apply(new DiskCommand.PromotionStart(TWO, KEY, version)).accepted());
        apply(new ObjectCommand.Remove(KEY, true));
        pass(TTL_MS + 200, ONE);
        assertEquals(UNIT, used(), "a client that is only thought dead may still be writing there");
        pass(RELEASE_MS, ONE);
        assertEquals(0, used());
    }

    @Test
    void shouldNotTakeTheEndOfAPutOfAnEarlierMasterForOneOfItsOwn() {
        lend(ONE, 2);
        final long before = start(1, false);
        state.close();
        state = master(2);
        lend(ONE, 2);
        final long version = start(1, false);
        assertNotEquals(before, version);
        assertEquals(Ack.STALE, end(before), "nothing has been written yet where the new one is");
        assertFalse(apply(new ObjectCommand.Exists(KEY)));
        assertEquals(Ack.OK, end(version));
    }

    @Test
    void shouldNotTakeAnotherValueOfAnEarlierMasterForItsOwn() {
        lend(ONE, 2);
        final long before = put(1);
        state.close();
        state = master(2);
        lend(ONE, 2);
        lendDisk(ONE);
        put(1);
        assertFalse(adopt(ONE, before));
    }

    @Test
    void shouldNameATaskAgainUntilItIsAnswered() {
        lend(ONE, 2);
        lendDisk(ONE);
        put(1);
        apply(new AdminCommand.Evict(1, 1));
        final List<OffloadTask> lost = fetch();
        assertEquals(1, lost.size());
        assertEquals(lost, fetch());
        assertEquals(Ack.OK, done(lost.getFirst()));
        assertEquals(List.of(), fetch());
    }

    @Test
    void shouldNameATaskAgainThoughItsObjectIsGone() {
        lend(ONE, 2);
        lendDisk(ONE);
        put(1);
        apply(new AdminCommand.Evict(1, 1));
        final List<OffloadTask> given = fetch();
        apply(new ObjectCommand.Remove(KEY, true));
        assertEquals(given, fetch());
        assertEquals(UNIT, used(), "the client may be copying it");
        assertEquals(Ack.STALE, done(given.getFirst()));
        assertEquals(0, used());
    }

    @Test
    void shouldAnswerTheSameWhenTheEndOfATaskIsRepeated() {
        lend(ONE, 2);
        lendDisk(ONE);
        put(1);
        apply(new AdminCommand.Evict(1, 1));
        final OffloadTask task = fetch().getFirst();
        assertEquals(Ack.OK, done(task));
        assertEquals(Ack.OK, done(task), "the value stays on the disk: its owner must not be told that it is stale");
        apply(new ObjectCommand.Remove(KEY, true));
        assertEquals(Ack.STALE, done(task));
    }

    @Test
    void shouldNotTakeTheEndOfAnotherTaskForThisOne() {
        lend(ONE, 2);
        lendDisk(ONE);
        put(1);
        apply(new AdminCommand.Evict(1, 1));
        final OffloadTask task = fetch().getFirst();
        assertEquals(Ack.STALE, done(new OffloadTask(ObjectKey.of("other"), task.version(), task.replicaId(),
            task.source())));
        assertEquals(Ack.STALE, done(new OffloadTask(KEY, task.version() - 1, task.replicaId(), task.source())));
        assertEquals(1, apply(new AdminCommand.Statistics()).offloadsPending());
        assertEquals(Ack.OK, done(task));
    }

    @Test
    void shouldAskForWhatAClientLentUntilItLendsSomething() {
        assertEquals(ClientStatus.NEED_REMOUNT, apply(ping(ONE)).status());
        assertEquals(ClientStatus.NEED_REMOUNT, apply(ping(ONE)).status(), "the first answer may have been lost");
        lend(ONE, 2);
        assertEquals(ClientStatus.OK, apply(ping(ONE)).status());
        pass(TTL_MS + 200, TWO);
        assertEquals(ClientStatus.NEED_REMOUNT, apply(ping(ONE)).status());
        assertEquals(ClientStatus.NEED_REMOUNT, apply(ping(ONE)).status());
        lendDisk(ONE);
        assertEquals(ClientStatus.OK, apply(ping(ONE)).status());
    }

    @Test
    void shouldRefuseTheIdOfASegmentThatWasUnmounted() {
        final SegmentSpec spec = lend(ONE, 2);
        assertEquals(ErrorCode.SEGMENT_ALREADY_EXISTS,
            assertThrows(StoreException.class, () -> apply(new SegmentCommand.Mount(ONE, spec))).code());
        apply(new SegmentCommand.Unmount(ONE, spec.address().segmentId(), 0));
        pass(100, ONE);
        assertEquals(List.of(), apply(new SegmentCommand.Segments()));
        // A copy of the command that comes only now.
        assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
            assertThrows(StoreException.class, () -> apply(new SegmentCommand.Mount(ONE, spec))).code());
    }

    @Test
    void shouldHaveTheOwnerRemoveWhatCouldNotBeReadFromItsDisk() {
        lend(ONE, 2);
        lendDisk(ONE);
        final long version = putOnDisk();
        final long replicaId = apply(new ObjectCommand.Query(KEY)).replicas().getFirst().id();
        assertEquals(Ack.OK, apply(new ObjectCommand.ReplicaUnreadable(KEY, version, replicaId)));
        assertEquals(List.of(new StoredVersion(KEY, version)), drops(0).values());
    }

    @Test
    void shouldNameADropAgainUntilItsOwnerSaysThatItIsGone() {
        lend(ONE, 2);
        lendDisk(ONE);
        final long version = putOnDisk();
        apply(new ObjectCommand.Remove(KEY, true));
        final Drops lost = drops(0);
        assertEquals(List.of(new StoredVersion(KEY, version)), lost.values());
        assertEquals(lost, drops(0), "the first answer may have been lost");
        final long later = putOnDisk();
        apply(new ObjectCommand.Remove(KEY, true));

        final Drops next = drops(lost.last());
        assertEquals(List.of(new StoredVersion(KEY, later)), next.values());
        assertEquals(next, drops(lost.last()));
        assertEquals(next, drops(0), "a copy of an earlier request that comes only now takes nothing back");
        assertEquals(new Drops(List.of(), next.last()), drops(next.last()));
    }

    @Test
    void shouldTakeTheNumberOfAnotherMasterForNoneOfItsOwn() {
        lend(ONE, 2);
        lendDisk(ONE);
        putOnDisk();
        apply(new ObjectCommand.Remove(KEY, true));
        final long before = drops(0).last();
        state.close();
        state = master(2);
        lend(ONE, 2);
        lendDisk(ONE);
        final long version = putOnDisk();
        apply(new ObjectCommand.Remove(KEY, true));
        final List<StoredVersion> expected = List.of(new StoredVersion(KEY, version));

        assertEquals(expected, drops(before).values());
        assertEquals(expected, drops(Long.MAX_VALUE).values());
        assertEquals(expected, drops(Long.MAX_VALUE).values(), "and it is not taken over");
    }

    @Test
    void shouldTakeAClientThatKnowsNoNumbersForOneThatHasHeardEverything() {
        lend(ONE, 2);
        lendDisk(ONE);
        putOnDisk();
        apply(new ObjectCommand.Remove(KEY, true));
        assertEquals(1, drops(DiskCommand.FetchDrops.ALL_NAMED).values().size());
        assertEquals(0, drops(DiskCommand.FetchDrops.ALL_NAMED).values().size());
        assertEquals(0, drops(0).values().size());
    }

    @Test
    void shouldSayThatValuesAreGoneWithoutAskingForMore() {
        lend(ONE, 2);
        lendDisk(ONE);
        putOnDisk();
        apply(new ObjectCommand.Remove(KEY, true));
        final long last = drops(0).last();
        assertEquals(0, apply(new DiskCommand.FetchDrops(ONE, 0, last)).values().size());
        assertEquals(0, drops(0).values().size());
    }

    /** The drop would take the good copy away that replaced the bad one. */
    @Test
    void shouldNotNameADropAnyMoreWhenTheSameValueIsOnTheDiskAnew() {
        lend(ONE, 2);
        lendDisk(ONE);
        final long version = putOnDisk();
        pass(100, ONE);
        final long replicaId = apply(new ObjectCommand.Query(KEY)).replicas().getFirst().id();
        // Back in memory, then found bad on the disk, then copied there once more.
        final PromotionReply promotion = apply(new DiskCommand.PromotionStart(ONE, KEY, version));
        assertTrue(promotion.accepted());
        apply(new DiskCommand.PromotionEnd(ONE, KEY, promotion.replicaId(), true));
        apply(new ObjectCommand.ReplicaUnreadable(KEY, version, replicaId));
        apply(new AdminCommand.Evict(1, 1));
        assertEquals(Ack.OK, done(fetch().getFirst()));

        assertEquals(List.of(), drops(0).values());
    }

    private Drops drops(final long done) {
        return apply(new DiskCommand.FetchDrops(ONE, 10, done));
    }

    @Test
    void shouldNotTakeBackFromADiskWhatWasRemovedWhileItWasAway() {
        lend(ONE, 2);
        lendDisk(ONE);
        final long version = putOnDisk();
        pass(TTL_MS + 200, TWO);
        assertEquals(RemoveOutcome.NOT_FOUND, apply(new ObjectCommand.Remove(KEY, true)).outcome());
        apply(ping(ONE));
        lendDisk(ONE);
        assertFalse(adopt(ONE, version));
        assertFalse(apply(new ObjectCommand.Exists(KEY)));
    }

    @Test
    void shouldNotTakeBackFromADiskWhatWasReplacedWhileItWasAway() {
        lend(ONE, 2);
        lendDisk(ONE);
        final long version = putOnDisk();
        pass(TTL_MS + 200, TWO);
        lend(TWO, 2);
        put(1);
        apply(new ObjectCommand.Remove(KEY, true));
        apply(ping(ONE));
        lendDisk(ONE);
        assertFalse(adopt(ONE, version), "older than what was removed");
    }

    @Test
    void shouldNotTakeBackFromADiskWhatWasDroppedWithoutItsOwnerBeingTold() {
        lend(ONE, 2);
        lendDisk(ONE);
        final long version = putOnDisk();
        apply(new ObjectCommand.Remove(KEY, true));
        // The drop was fetched by a process that died before it carried it out; it has a new id now.
        drops(0);
        lendDisk(TWO);
        assertFalse(adopt(TWO, version));
    }

    @Test
    void shouldTakeBackFromADiskWhatWasOnlyLostMeanwhile() {
        lend(ONE, 2);
        lendDisk(ONE);
        final long version = putOnDisk();
        pass(TTL_MS + 200, TWO);
        assertFalse(apply(new ObjectCommand.Exists(KEY)));
        apply(ping(ONE));
        lendDisk(ONE);
        assertTrue(adopt(ONE, version));
        assertTrue(apply(new ObjectCommand.Exists(KEY)));
    }

    /** After a start of the master: stores come back in any order. */
    @Test
    void shouldLetTheNewestOfTheValuesThatComeBackStay() {
        lendDisk(ONE);
        lendDisk(TWO);
        assertTrue(adopt(ONE, 5));
        assertTrue(adopt(TWO, 7));
        assertEquals(7, apply(new ObjectCommand.Query(KEY)).version());
        assertEquals(List.of(new StoredVersion(KEY, 5)), drops(0).values());
        assertFalse(adopt(ONE, 5), "something newer has come");
        assertFalse(adopt(ONE, 6), "between the two");
        assertEquals(7, apply(new ObjectCommand.Query(KEY)).version());
    }

    @Test
    void shouldLeaveAValueThatIsReadWhenARemovedOneComesBack() {
        lend(ONE, 2);
        lendDisk(ONE);
        lendDisk(TWO);
        final long removed = putOnDisk();
        apply(new ObjectCommand.Remove(KEY, true));
        final long version = putOnDisk();
        assertFalse(adopt(TWO, removed));
        // No version that could be: it is nobody's newer value.
        assertFalse(adopt(TWO, Long.MAX_VALUE));
        assertEquals(version, apply(new ObjectCommand.Query(KEY)).version());
    }

    private static MasterState master(final long term) {
        return new MasterState(new MasterSettings(new MasterSettings.Eviction(1, 0, 1, 0, true), 100, true, 50,
            new MasterSettings.Liveness(TTL_MS, 600, RELEASE_MS, 3), MasterSettings.Pins.DEFAULT,
            MasterSettings.Tasks.DEFAULT, false, MasterSettings.Strategy.RANDOM), term, new Effects() {
                @Override
                public void workQueued(final UUID clientId, final WorkKind kind) {
                    // The test asks.
                }

                @Override
                public void spaceFreed() {
                    // Nobody waits here.
                }
            });
    }

    private <R> R apply(final Command<R> command) {
        return state.apply(command, nowMs);
    }

    /** Lets time pass; {@code alive} goes on pinging. */
    private void pass(final long ms, final UUID alive) {
        for (final long end = nowMs + ms; nowMs < end;) {
            nowMs = Math.min(end, nowMs + 100);
            apply(ping(alive));
            apply(new AdminCommand.Tick());
        }
    }

    private static SegmentCommand.Ping ping(final UUID clientId) {
        return new SegmentCommand.Ping(clientId, "client", "host", "tcp://host:1");
    }

    private SegmentSpec lend(final UUID clientId, final int units) {
        final SegmentSpec spec = new SegmentSpec("memory", SegmentCommand.Medium.MEMORY, units * UNIT, UNIT,
            new SegmentAddress(new UUID(0, ++segments), "tcp://host:1/" + segments, AccessToken.NONE), true);
        apply(new SegmentCommand.Mount(clientId, spec));
        return spec;
    }

    private void lendDisk(final UUID clientId) {
        apply(new DiskCommand.MountDisk(clientId, "tcp://host:1", 1 << 20));
    }

    private long start(final int units, final boolean replace) {
        return assertInstanceOf(PutStartReply.Started.class, apply(new ObjectCommand.PutStart(ONE, ++attempts, KEY,
            units * UNIT, PutOptions.DEFAULT, replace))).version();
    }

    private Ack end(final long version) {
        return apply(new ObjectCommand.PutEnd(ONE, KEY, version, ObjectCommand.Scope.ALL, false, 0));
    }

    private long put(final int units) {
        final long version = start(units, false);
        assertEquals(Ack.OK, end(version));
        return version;
    }

    /** Writes a value and has it copied to the disk of client ONE, from which alone it can be read then. */
    private long putOnDisk() {
        final long version = put(1);
        apply(new AdminCommand.Evict(1, 1));
        final OffloadTask task = fetch().getFirst();
        assertEquals(Ack.OK, done(task));
        assertEquals(0, used());
        return version;
    }

    private List<OffloadTask> fetch() {
        return apply(new DiskCommand.FetchOffloads(ONE, Long.MAX_VALUE));
    }

    private Ack done(final OffloadTask task) {
        return apply(new DiskCommand.OffloadDone(ONE, task, OffloadResult.STORED, 7));
    }

    private boolean adopt(final UUID clientId, final long version) {
        return apply(new DiskCommand.AdoptDisk(clientId, List.of(new StoredObject(KEY, version, UNIT, 7)))).getFirst();
    }

    private long used() {
        return apply(new AdminCommand.Statistics()).memoryUsed();
    }
}
