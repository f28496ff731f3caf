package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.CAROL;
import static io.kvtier.store.master.state.MasterRig.CLIENT_TTL_MS;
import static io.kvtier.store.master.state.MasterRig.LEASE_MS;
import static io.kvtier.store.master.state.MasterRig.RELEASE_MS;
import static io.kvtier.store.master.state.MasterRig.UNIT;
import static io.kvtier.store.master.state.MasterRig.key;
import static io.kvtier.store.master.state.MasterRig.replicas;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.PutOptions;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.DiskCommand.StoredObject;
import io.kvtier.store.protocol.DiskCommand.StoredVersion;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.TaskCommand;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.ReplicaType;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Clients' disks: values that go down to them, and are found on them again. */
@ExtendWith(LeakCheck.class)
class MasterDiskTest {
    private final MasterRig rig = new MasterRig();

    @AfterEach
    void closeRig() {
        rig.close();
    }

    /** Alice lends memory for 16 values and the disk to which they are evicted. */
    private void lendMemoryAndDisk() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.disk(ALICE);
    }

    @Test
    void shouldQueueWhatIsEvictedForTheDiskOfTheMemorysOwner() {
        lendMemoryAndDisk();
        rig.disk(BOB);
        rig.putMany(BOB, "key", 3, PutOptions.DEFAULT);
        assertEquals(0, rig.stats().offloadsPending(), "nothing is queued by a put");
        assertEquals(3, rig.evict(1, 1).objects());
        assertEquals(WorkKind.OFFLOADS.bit(), rig.announced(ALICE));
        assertEquals(0, rig.announced(BOB));
        assertEquals(0, rig.fetch(BOB).size());
        assertEquals(3, rig.count("key", 3), "it stays readable until it is on the disk");
        assertEquals(3, rig.stats().heldReplicas());
        final List<OffloadTask> tasks = rig.fetch(ALICE);
        assertEquals(List.of("key0", "key1", "key2"), tasks.stream().map(task -> task.key().key()).toList());
        assertEquals(tasks, rig.fetch(ALICE), "the answer that named them may have been lost");
        tasks.forEach(task -> assertEquals(Ack.OK, rig.offloaded(ALICE, task, OffloadResult.STORED)));
        assertEquals(0, rig.fetch(ALICE).size());
        assertEquals(0, rig.stats().memoryUsed());
        assertEquals(3, rig.stats().diskReplicas());
        assertEquals(3, rig.stats().offloads());
        assertEquals(Ack.OK, rig.offloaded(ALICE, tasks.getFirst(), OffloadResult.STORED), "answered already");
        assertEquals(List.of(ReplicaType.LOCAL_DISK),
            rig.query("key1").replicas().stream().map(replica -> replica.type()).toList());
    }

    /** Its place on the disk is among what was used since, on whichever tier that was. */
    @Test
    void shouldSayHowLongAgoWhatGoesDownWasUsed() {
        lendMemoryAndDisk();
        rig.put(BOB, "read", UNIT);
        rig.put(BOB, "written", UNIT);
        rig.pass(7);
        rig.read("read");
        rig.pass(LEASE_MS);
        rig.evict(1, 1);
        final List<OffloadTask> tasks = rig.fetch(ALICE);
        assertEquals(List.of("written", "read"), tasks.stream().map(task -> task.key().key()).toList());
        assertEquals(List.of(LEASE_MS + 7, LEASE_MS), tasks.stream().map(OffloadTask::idleMs).toList());
        rig.pass(1);
        assertEquals(LEASE_MS + 8, rig.fetch(ALICE).getFirst().idleMs(), "named once more");
        tasks.forEach(task -> assertEquals(Ack.OK, rig.offloaded(ALICE, task, OffloadResult.STORED)));
        assertEquals(2, rig.stats().diskReplicas());
    }

    @Test
    void shouldLetCopiesGoOfWhichMemoryHasAnother() {
        lendMemoryAndDisk();
        rig.putMany(BOB, "key", 2, PutOptions.DEFAULT);
        rig.offloadAll(ALICE);
        final long up = rig.query("key0").version();
        final long down = rig.query("key1").version();
        rig.promoted(ALICE, "key0", rig.promote(ALICE, "key0", up), true);
        assertEquals(List.of(true, false, true), rig.apply(new DiskCommand.EvictDisk(ALICE,
            List.of(new StoredObject(key("key0"), up, UNIT, 99), new StoredObject(key("key1"), down, UNIT, 99),
                new StoredObject(key("unknown"), 1, UNIT, 99)), true)));
        assertEquals(List.of(ReplicaType.MEMORY),
            rig.query("key0").replicas().stream().map(replica -> replica.type()).toList());
        assertEquals(List.of(ReplicaType.LOCAL_DISK),
            rig.query("key1").replicas().stream().map(replica -> replica.type()).toList());
        assertEquals(1, rig.offloadAll(ALICE), "it goes down once more when its memory is wanted");
    }

    @Test
    void shouldGiveTasksByBytesButAtLeastOne() {
        lendMemoryAndDisk();
        rig.putMany(BOB, "key", 5, PutOptions.DEFAULT);
        rig.evict(1, 1);
        assertEquals(1, rig.apply(new DiskCommand.FetchOffloads(ALICE, 1)).size());
        assertEquals(2, rig.apply(new DiskCommand.FetchOffloads(ALICE, 3 * UNIT - 1)).size(), "the first one again");
        assertEquals(3, rig.apply(new DiskCommand.FetchOffloads(ALICE, 3 * UNIT)).size());
        assertEquals(5, rig.stats().offloadsPending());
    }

    @Test
    void shouldKeepTheMemoryOfWhatIsUsedWhileItIsCopiedDown() {
        lendMemoryAndDisk();
        rig.put(BOB, "used", UNIT);
        rig.put(BOB, "unused", UNIT);
        rig.evict(1, 1);
        rig.read("used");
        rig.fetch(ALICE).forEach(task -> rig.offloaded(ALICE, task, OffloadResult.STORED));
        assertEquals(1, replicas(rig.query("used"), ReplicaType.MEMORY));
        assertEquals(1, replicas(rig.query("used"), ReplicaType.LOCAL_DISK));
        assertEquals(0, replicas(rig.query("unused"), ReplicaType.MEMORY));
        rig.pass(LEASE_MS);
        assertEquals(1, rig.evict(1, 1).objects());
        assertEquals(0, rig.stats().offloadsPending(), "it is on the disk already");
        assertEquals(0, rig.stats().memoryUsed());
    }

    /** A use counts for longer than its lease. */
    @Test
    void shouldKeepTheMemoryOfWhatIsUsedWhileItIsCopiedDownForLong() {
        lendMemoryAndDisk();
        rig.putMany(BOB, "key", 2, PutOptions.DEFAULT);
        rig.evict(1, 1);
        final List<OffloadTask> tasks = rig.fetch(ALICE);
        rig.read("key0");
        rig.pass(LEASE_MS);
        tasks.forEach(task -> assertEquals(Ack.OK, rig.offloaded(ALICE, task, OffloadResult.STORED)));
        assertEquals(1, replicas(rig.query("key0"), ReplicaType.MEMORY));
        assertEquals(0, replicas(rig.query("key1"), ReplicaType.MEMORY));
    }

    @Test
    void shouldCopyNothingDownThatIsRemovedMeanwhile() {
        lendMemoryAndDisk();
        rig.putMany(BOB, "key", 3, PutOptions.DEFAULT);
        rig.evict(1, 1);
        rig.remove("key0", false);
        final List<OffloadTask> tasks = rig.fetch(ALICE);
        assertEquals(2, tasks.size());
        assertEquals(2 * UNIT, rig.stats().memoryUsed());
        rig.remove("key1", false);
        rig.removeMatching("", "", false);
        assertEquals(2 * UNIT, rig.stats().memoryUsed(), "who copies it goes on reading it");
        tasks.forEach(task -> assertEquals(Ack.STALE, rig.offloaded(ALICE, task, OffloadResult.STORED)));
        rig.assertEmpty();
    }

    @Test
    void shouldNotSendAValueTwiceThatTheDiskRefused() {
        lendMemoryAndDisk();
        rig.putMany(BOB, "key", 2, PutOptions.DEFAULT);
        assertEquals(1, rig.evict(0.5, 0.5).objects());
        assertEquals(Ack.OK, rig.offloaded(ALICE, rig.fetch(ALICE).getFirst(), OffloadResult.VALUE_REFUSED));
        assertEquals(1, rig.stats().offloadFailures());
        assertEquals(2, rig.count("key", 2));
        rig.evict(0.5, 0.5);
        assertFalse(rig.exists("key0"), "it goes without a copy");
        assertEquals(1, rig.stats().evictionsWithoutCopy());
        assertEquals(0, rig.stats().offloadsPending());
    }

    @Test
    void shouldSendNothingForAWhileToADiskThatFailed() {
        lendMemoryAndDisk();
        rig.putMany(BOB, "key", 3, PutOptions.DEFAULT);
        rig.evict(0.3, 0.3);
        rig.offloaded(ALICE, rig.fetch(ALICE).getFirst(), OffloadResult.DISK_FAILED);
        rig.evict(0.3, 0.3);
        assertEquals(0, rig.stats().offloadsPending());
        assertEquals(2, rig.stats().objects());
        rig.pass(50);
        rig.evict(0.3, 0.3);
        assertEquals(1, rig.stats().offloadsPending());
    }

    @Test
    void shouldGiveUpWhatAClientThatIsAliveNeverFetches() {
        lendMemoryAndDisk();
        rig.putMany(BOB, "key", 2, PutOptions.DEFAULT);
        rig.evict(0.5, 0.5);
        rig.advance(1);
        rig.evict(1, 1);
        rig.advance(RELEASE_MS - 2);
        assertEquals(2, rig.stats().offloadsPending());
        rig.advance(1);
        assertEquals(1, rig.stats().offloadsPending());
        assertEquals(1, rig.stats().offloadFailures());
        assertEquals(1, rig.stats().heldReplicas());
        assertEquals(1, rig.evict(1, 1).objects());
        assertFalse(rig.exists("key0"), "it goes without a copy");
        assertEquals(List.of("key1"), rig.fetch(ALICE).stream().map(task -> task.key().key()).toList());
        rig.advance(RELEASE_MS);
        assertEquals(0, rig.stats().offloadsPending());
        assertEquals(2, rig.stats().offloadFailures());
        assertEquals(0, rig.stats().heldReplicas());
    }

    @Test
    void shouldForgetADiskAndItsTasksWhenItIsTakenBack() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.memory(BOB, "memory-of-bob", 16 * UNIT);
        rig.disk(ALICE);
        rig.disk(BOB);
        final long version = rig.put(CAROL, "key", UNIT, PutOptions.DEFAULT.withPreferredSegments("memory"));
        rig.offloadAll(ALICE);
        rig.put(CAROL, "queued", UNIT, PutOptions.DEFAULT.withPreferredSegments("memory"));
        rig.put(CAROL, "others", UNIT, PutOptions.DEFAULT.withPreferredSegments("memory-of-bob"));
        rig.evict(1, 1);
        final OffloadTask task = rig.fetch(ALICE).getFirst();
        final OffloadTask others = rig.fetch(BOB).getFirst();
        rig.offloaded(BOB, others, OffloadResult.STORED);
        assertEquals(Ack.OK, rig.apply(new DiskCommand.UnmountDisk(ALICE)));
        assertEquals(Ack.STALE, rig.apply(new DiskCommand.UnmountDisk(ALICE)));
        assertFalse(rig.exists("key"));
        assertEquals(Ack.STALE, rig.offloaded(ALICE, task, OffloadResult.STORED));
        assertEquals(0, rig.stats().heldReplicas());
        assertTrue(rig.exists("queued"));
        assertTrue(rig.exists("others"));
        assertFalse(rig.adopt(ALICE, "key", version, UNIT), "it has no disk");
        // It comes back, with what it had, before the old replicas have been swept.
        rig.disk(ALICE);
        assertTrue(rig.adopt(ALICE, "key", version, UNIT));
        rig.settle();
        assertEquals(version, rig.query("key").version());
        assertEquals(1, rig.query("key").replicas().size());
        assertEquals(2, rig.stats().diskReplicas());
    }

    @Test
    void shouldKeepOtherCopiesOfWhatLayOnADiskThatIsTakenBack() {
        lendMemoryAndDisk();
        rig.disk(BOB);
        final long version = rig.put(CAROL, "key", UNIT);
        rig.offloadAll(ALICE);
        assertTrue(rig.adopt(BOB, "key", version, UNIT));
        assertTrue(rig.adopt(BOB, "key", version, UNIT), "once is enough");
        assertEquals(2, rig.stats().diskReplicas());
        rig.apply(new DiskCommand.UnmountDisk(ALICE));
        rig.settle();
        assertEquals(1, rig.query("key").replicas().size());
        assertEquals(1, rig.stats().diskReplicas());
    }

    @Test
    void shouldForgetTheDiskOfADeadClientAndTakeItsValuesInAgain() {
        rig.ping(ALICE, "host");
        rig.memory(BOB, "memory", 16 * UNIT);
        rig.disk(ALICE);
        assertTrue(rig.adopt(ALICE, "key", 5, UNIT));
        rig.silence(ALICE);
        rig.advance(CLIENT_TTL_MS);
        assertFalse(rig.exists("key"));
        rig.assertEmpty();
        rig.ping(ALICE, "host");
        rig.disk(ALICE);
        assertTrue(rig.adopt(ALICE, "key", 5, UNIT));
        assertTrue(rig.put(BOB, "new", UNIT) > 5, "versions that were seen are not given out again");
        assertEquals(new PutStartReply.Taken(PutOutcome.ALREADY_EXISTS),
            rig.start(BOB, "key", UNIT));
    }

    @Test
    void shouldTakeNothingInWhoseKeyHasAnotherValue() {
        lendMemoryAndDisk();
        final long version = rig.put(BOB, "key", UNIT);
        rig.started(BOB, "unfinished", UNIT);
        assertFalse(rig.adopt(ALICE, "key", version + 100, UNIT));
        assertFalse(rig.adopt(ALICE, "key", version, UNIT + 1));
        assertFalse(rig.adopt(ALICE, "unfinished", version + 50, UNIT));
        assertTrue(rig.adopt(ALICE, "key", version, UNIT));
        assertEquals(2, rig.query("key").replicas().size());
        assertTrue(rig.put(BOB, "next", UNIT) > version + 100);
    }

    @Test
    void shouldTellOwnersWhatToRemoveOnce() {
        lendMemoryAndDisk();
        rig.disk(BOB);
        final long version = rig.put(CAROL, "key", UNIT);
        rig.offloadAll(ALICE);
        rig.adopt(BOB, "key", version, UNIT);
        rig.announced(ALICE);
        rig.remove("key", false);
        assertEquals(WorkKind.DROPS.bit(), rig.announced(ALICE));
        assertEquals(List.of(new StoredVersion(key("key"), version)), rig.drops(ALICE));
        assertEquals(List.of(), rig.drops(ALICE));
        assertEquals(List.of(new StoredVersion(key("key"), version)), rig.drops(BOB));
        rig.assertEmpty();
    }

    @Test
    void shouldLetADiskDropWhatNobodyMisses() {
        lendMemoryAndDisk();
        final long version = rig.put(BOB, "key", UNIT);
        rig.offloadAll(ALICE);
        rig.read("key");
        assertFalse(rig.evictDisk(ALICE, "key", version), "the last copy of what is leased");
        assertTrue(rig.evictDisk(BOB, "key", version), "nobody will ask this one for it");
        rig.pass(LEASE_MS);
        assertTrue(rig.evictDisk(ALICE, "key", version));
        assertTrue(rig.evictDisk(ALICE, "key", version), "not known any more");
        assertEquals(1, rig.stats().diskEvictions());
        assertEquals(0, rig.drops(ALICE).size());
        rig.assertEmpty();
    }

    @Test
    void shouldNotLetADiskDropTheLastCopyOfWhatIsPinnedHard() {
        final UUID memory = rig.memory(CAROL, "memory", 16 * UNIT);
        rig.disk(ALICE);
        rig.disk(BOB);
        final long version = rig.put(CAROL, "key", UNIT, PutOptions.DEFAULT.withHardPin(true));
        assertTrue(rig.adopt(ALICE, "key", version, UNIT));
        rig.unmount(CAROL, memory, 0);
        rig.settle();
        assertFalse(rig.evictDisk(ALICE, "key", version));
        assertTrue(rig.exists("key"));
        assertTrue(rig.adopt(BOB, "key", version, UNIT));
        assertTrue(rig.evictDisk(ALICE, "key", version), "there is another copy");
        assertFalse(rig.evictDisk(BOB, "key", version));
        assertTrue(rig.exists("key"));
    }

    @Test
    void shouldForgetAReplicaThatCannotBeRead() {
        lendMemoryAndDisk();
        final long version = rig.put(BOB, "key", UNIT);
        rig.evict(1, 1);
        rig.read("key");
        rig.offloaded(ALICE, rig.fetch(ALICE).getFirst(), OffloadResult.STORED);
        final ReadReply object = rig.query("key");
        assertEquals(2, object.replicas().size());
        object.replicas().forEach(replica -> rig.apply(
            new ObjectCommand.ReplicaUnreadable(key("key"), version, replica.id())));
        assertEquals(0, replicas(rig.query("key"), ReplicaType.LOCAL_DISK));
        assertEquals(1, replicas(rig.query("key"), ReplicaType.MEMORY), "its owner may only be out of reach");
        assertEquals(Ack.STALE, rig.apply(new ObjectCommand.ReplicaUnreadable(key("key"), version, 999)));
    }

    @Test
    void shouldGiveUpAnOffloadThatIsNeverAnswered() {
        lendMemoryAndDisk();
        rig.put(BOB, "key", UNIT);
        rig.evict(1, 1);
        final OffloadTask task = rig.fetch(ALICE).getFirst();
        rig.advance(RELEASE_MS - 1);
        assertEquals(1, rig.stats().offloadsPending());
        rig.advance(1);
        assertEquals(0, rig.stats().offloadsPending());
        assertEquals(0, rig.stats().heldReplicas());
        assertEquals(1, rig.stats().offloadFailures());
        assertTrue(rig.exists("key"));
        assertEquals(Ack.STALE, rig.offloaded(ALICE, task, OffloadResult.STORED));
        assertEquals(1, rig.evict(1, 1).objects());
        assertEquals(1, rig.fetch(ALICE).size());
    }

    @Test
    void shouldTakeNothingInThatCannotBeAValue() {
        rig.disk(ALICE);
        assertFalse(rig.adopt(ALICE, "key", 0, UNIT));
        assertFalse(rig.adopt(ALICE, "key", -1, UNIT));
        assertFalse(rig.adopt(ALICE, "key", Long.MAX_VALUE, UNIT));
        assertFalse(rig.adopt(ALICE, "key", 1, -1));
        rig.assertEmpty();
    }

    @Test
    void shouldNotTakeInWhatWasRemovedOrReplacedWhileItsDiskWasAway() {
        rig.memory(BOB, "memory", 16 * UNIT);
        rig.disk(ALICE);
        final long removed = rig.put(BOB, "removed", UNIT);
        final long replaced = rig.put(BOB, "replaced", UNIT);
        final long evicted = rig.put(BOB, "evicted", UNIT);
        final long away = rig.put(BOB, "away", UNIT);
        assertTrue(rig.adopt(ALICE, "away", away, UNIT));
        assertTrue(rig.adopt(ALICE, "removed", removed, UNIT));
        assertTrue(rig.adopt(ALICE, "replaced", replaced, UNIT));
        assertTrue(rig.adopt(ALICE, "evicted", evicted, UNIT));
        rig.apply(new DiskCommand.UnmountDisk(ALICE));
        rig.settle();
        assertEquals(RemoveOutcome.REMOVED, rig.remove("removed", false).outcome());
        rig.end(BOB, "replaced", rig.replacing(BOB, "replaced", 2 * UNIT).version());
        rig.evict(1, 1);
        assertEquals(0, rig.stats().objects());
        assertEquals(RemoveOutcome.NOT_FOUND, rig.remove("away", false).outcome());
        rig.disk(ALICE);
        assertFalse(rig.adopt(ALICE, "away", away, UNIT), "it was to go though nobody could see it");
        assertFalse(rig.adopt(ALICE, "removed", removed, UNIT));
        assertFalse(rig.adopt(ALICE, "replaced", replaced, UNIT));
        assertTrue(rig.adopt(ALICE, "evicted", evicted, UNIT), "nobody wanted this one to go");
    }

    @Test
    void shouldRecordACopyOnADiskWhoseEarlierCopyIsGone() {
        lendMemoryAndDisk();
        final long version = rig.put(BOB, "key", UNIT);
        assertTrue(rig.adopt(ALICE, "key", version, UNIT));
        rig.apply(new DiskCommand.UnmountDisk(ALICE));
        rig.disk(ALICE);
        assertEquals(1, rig.offloadAll(ALICE));
        rig.settle();
        assertEquals(1, rig.query("key").replicas().size());
        assertEquals(1, rig.stats().diskReplicas());
    }

    @Test
    void shouldNotTakeInWhatWasRemovedWhileItWasHiddenAndNotSweptYet() {
        final UUID segment = rig.memory(BOB, "memory", 16 * UNIT);
        rig.disk(ALICE);
        final long version = rig.put(BOB, "key", UNIT);
        final long other = rig.put(BOB, "other", UNIT);
        rig.unmount(BOB, segment, 0);
        assertEquals(RemoveOutcome.NOT_FOUND, rig.remove("key", false).outcome());
        assertEquals(0, rig.removeMatching("", "other", false));
        assertFalse(rig.adopt(ALICE, "key", version, UNIT));
        assertFalse(rig.adopt(ALICE, "other", other, UNIT));
        rig.settle();
        rig.assertEmpty();
    }

    /** What the writer said of its value counts: other bytes were changed in memory, and are not to be vouched for. */
    @Test
    void shouldNotTakeACopyWhoseChecksumIsNotItsWriters() {
        lendMemoryAndDisk();
        final long version = rig.started(BOB, "key", UNIT).version();
        rig.apply(new ObjectCommand.PutEnd(BOB, key("key"), version, ObjectCommand.Scope.ALL, true, 77));
        rig.evict(1, 1);
        final OffloadTask task = rig.fetch(ALICE).getFirst();
        assertEquals(Ack.STALE, rig.offloaded(ALICE, task, OffloadResult.STORED), "its owner is to remove it");
        assertEquals(77, rig.query("key").checksum());
        assertEquals(0, rig.stats().diskReplicas());
        assertEquals(1, replicas(rig.query("key"), ReplicaType.MEMORY));
        assertEquals(1, rig.stats().offloadFailures());
        rig.evict(1, 1);
        assertEquals(List.of(), rig.fetch(ALICE), "it is not copied again and again");
        rig.assertEmpty();
    }

    @Test
    void shouldTakeNothingInWhoseChecksumIsNotThatOfItsValue() {
        rig.memory(BOB, "memory", 16 * UNIT);
        rig.disk(ALICE);
        rig.disk(CAROL);
        final long version = rig.started(BOB, "key", UNIT).version();
        rig.apply(new ObjectCommand.PutEnd(BOB, key("key"), version, ObjectCommand.Scope.ALL, true, 77));
        assertFalse(rig.adopt(ALICE, "key", version, UNIT));
        assertEquals(77, rig.query("key").checksum());
        final long plain = rig.put(BOB, "plain", UNIT);
        assertTrue(rig.adopt(ALICE, "plain", plain, UNIT), "nobody has said what it should be");
        assertTrue(rig.adopt(CAROL, "plain", plain, UNIT));
        assertEquals(99, rig.query("plain").checksum());
    }

    /** Its owner may have asked already whether it is wanted, and writes it down all the same. */
    @Test
    void shouldHaveRemovedWhatIsJustBeingCopiedDown() {
        lendMemoryAndDisk();
        final long removed = rig.put(BOB, "removed", UNIT);
        final long replaced = rig.put(BOB, "replaced", UNIT);
        rig.evict(1, 1);
        assertEquals(2, rig.fetch(ALICE).size());
        assertEquals(1, rig.removeMatching("", "removed", false));
        rig.end(BOB, "replaced", rig.replacing(BOB, "replaced", UNIT).version());
        assertEquals(List.of(new StoredVersion(key("removed"), removed), new StoredVersion(key("replaced"), replaced)),
            rig.drops(ALICE));
    }

    /** Who replaces a value that cannot be seen now does not want it back either. */
    @Test
    void shouldNotTakeInWhatAnUpsertTookThePlaceOfWhileItsDiskWasAway() {
        rig.memory(BOB, "memory", 16 * UNIT);
        rig.disk(ALICE);
        final long version = rig.put(BOB, "key", UNIT);
        assertTrue(rig.adopt(ALICE, "key", version, UNIT));
        rig.apply(new DiskCommand.UnmountDisk(ALICE));
        rig.settle();
        rig.evict(1, 1);
        rig.assertEmpty();
        final long next = rig.replacing(BOB, "key", UNIT).version();
        assertEquals(Ack.OK, rig.end(BOB, "key", next));
        rig.evict(1, 1);
        rig.assertEmpty();
        rig.disk(ALICE);
        assertFalse(rig.adopt(ALICE, "key", version, UNIT));
        rig.disk(CAROL);
        assertTrue(rig.adopt(CAROL, "key", next, UNIT), "this one nobody has replaced");
    }

    /** A master that was started anew may know an older value than the one that somebody saw and wants gone. */
    @Test
    void shouldNotTakeInALaterVersionThanTheOneThatWasRemovedOrReplaced() {
        rig.memory(BOB, "memory", 16 * UNIT);
        rig.disk(ALICE);
        rig.disk(CAROL);
        assertTrue(rig.adopt(ALICE, "removed", 1000, UNIT));
        assertTrue(rig.adopt(ALICE, "replaced", 1000, UNIT));
        assertEquals(1000, rig.remove("removed", false).version());
        final long next = rig.replacing(BOB, "replaced", UNIT).version();
        assertEquals(Ack.OK, rig.end(BOB, "replaced", next));
        rig.evict(1, 1);
        assertFalse(rig.exists("removed") || rig.exists("replaced"));

        assertFalse(rig.adopt(CAROL, "removed", 1001, UNIT));
        assertFalse(rig.adopt(CAROL, "replaced", 1001, UNIT));
        assertTrue(rig.adopt(CAROL, "replaced", next, UNIT), "this one nobody has replaced");
    }

    @Test
    void shouldNotTakeInWhatWasRemovedByPatternWhileItsDiskWasAway() {
        final long[] versions = awayFromDisk("a/1", "a/2", "b/1");
        assertEquals(0, rig.removeMatching("", "^a/", false));
        rig.disk(ALICE);
        assertFalse(rig.adopt(ALICE, "a/1", versions[0], UNIT));
        assertFalse(rig.adopt(ALICE, "a/2", versions[1], UNIT));
        assertTrue(rig.adopt(ALICE, "b/1", versions[2], UNIT), "nobody wanted this one to go");
    }

    @Test
    void shouldNotTakeInWhatWasRemovedWithAllOthersWhileItsDiskWasAway() {
        final long[] versions = awayFromDisk("key");
        assertEquals(0, rig.removeMatching("another", "", false));
        rig.disk(ALICE);
        assertTrue(rig.adopt(ALICE, "key", versions[0], UNIT), "it is not that tenant's");
        rig.apply(new DiskCommand.UnmountDisk(ALICE));
        rig.settle();
        assertEquals(0, rig.removeMatching("", "", false));
        rig.disk(ALICE);
        assertFalse(rig.adopt(ALICE, "key", versions[0], UNIT));
        final long later = rig.put(BOB, "key", UNIT);
        rig.evict(1, 1);
        assertTrue(rig.adopt(ALICE, "key", later, UNIT), "it has come after that");
    }

    /** Of removals by pattern only the last ones are remembered as such. */
    @Test
    void shouldNotTakeInWhatWasRemovedByPatternLongAgoWhileItsDiskWasAway() {
        final long[] versions = awayFromDisk("a/1");
        assertEquals(0, rig.removeMatching("", "^a/", false));
        for (int i = 0; i < 100; i++) {
            assertEquals(0, rig.removeMatching("", "^other" + i, false));
        }
        rig.disk(ALICE);
        assertFalse(rig.adopt(ALICE, "a/1", versions[0], UNIT));
        final long later = rig.put(BOB, "a/2", UNIT);
        rig.evict(1, 1);
        assertTrue(rig.adopt(ALICE, "a/2", later, UNIT), "it has come after that");
    }

    /** A copy that is under way keeps the entry; what was removed meanwhile is not to come back into it. */
    @Test
    void shouldNotTakeInWhatWasRemovedWhileItWasBeingCopied() {
        final UUID segment = rig.memory(ALICE, "a", 16 * UNIT);
        rig.memory(BOB, "b", 16 * UNIT);
        rig.disk(CAROL);
        final long version = rig.put(BOB, "key", UNIT, PutOptions.DEFAULT.withPreferredSegments("a"));
        assertTrue(rig.adopt(CAROL, "key", version, UNIT));
        rig.apply(new TaskCommand.ReplicationStart(BOB, key("key"), TaskCommand.Kind.COPY, "a", List.of("b")));
        rig.unmount(ALICE, segment, 0);
        rig.apply(new DiskCommand.UnmountDisk(CAROL));
        assertEquals(RemoveOutcome.NOT_FOUND, rig.remove("key", false).outcome());
        rig.disk(CAROL);
        assertFalse(rig.adopt(CAROL, "key", version, UNIT));
        assertFalse(rig.exists("key"));
    }

    /** Values that are on Alice's disk and nowhere else, which is away; their versions. */
    private long[] awayFromDisk(final String... names) {
        rig.memory(BOB, "memory", 16 * UNIT);
        rig.disk(ALICE);
        final long[] versions = new long[names.length];
        for (int i = 0; i < names.length; i++) {
            versions[i] = rig.put(BOB, names[i], UNIT);
            assertTrue(rig.adopt(ALICE, names[i], versions[i], UNIT));
        }
        rig.apply(new DiskCommand.UnmountDisk(ALICE));
        rig.settle();
        rig.evict(1, 1);
        rig.assertEmpty();
        return versions;
    }
}
