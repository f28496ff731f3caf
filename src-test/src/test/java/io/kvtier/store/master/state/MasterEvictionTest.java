package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.CAROL;
import static io.kvtier.store.master.state.MasterRig.LEASE_MS;
import static io.kvtier.store.master.state.MasterRig.UNIT;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.PutOptions;
import io.kvtier.store.SoftPin;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.MasterStats.EvictionRuns;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is evicted, when and how much. */
@ExtendWith(LeakCheck.class)
class MasterEvictionTest {
    private static final PutOptions SOFT = PutOptions.DEFAULT.withSoftPin(SoftPin.ENABLE);
    private static final PutOptions HARD = PutOptions.DEFAULT.withHardPin(true);

    private MasterRig rig = new MasterRig();

    @AfterEach
    void closeRig() {
        rig.close();
    }

    @ParameterizedTest
    @CsvSource({"400, 0.05, 20", "200, 0.80, 160", "250, 0.10, 25", "1, 0.05, 1", "10, 0, 0", "10, 1, 10"})
    void shouldEvictExactlyTheWantedShareOldestFirst(final int objects, final double share, final int evicted) {
        rig.memory(ALICE, "memory", 500 * UNIT);
        rig.putMany(BOB, "key", objects, PutOptions.DEFAULT);
        assertEquals(evicted, rig.evict(share, share).objects());
        assertEquals(objects - evicted, rig.stats().objects());
        assertEquals(evicted, rig.stats().memoryEvictions());
        for (int i = 0; i < objects; i++) {
            assertEquals(i >= evicted, rig.exists("key" + i), "key" + i);
        }
    }

    @Test
    void shouldEvictSoftPinnedOnesOnlyForTheLeastShare() {
        rig.memory(ALICE, "memory", 100 * UNIT);
        rig.putMany(BOB, "soft", 10, SOFT);
        rig.putMany(BOB, "plain", 10, PutOptions.DEFAULT);
        assertEquals(16, rig.evict(0.8, 0.8).objects());
        assertEquals(0, rig.count("plain", 10));
        for (int i = 0; i < 10; i++) {
            assertEquals(i >= 6, rig.exists("soft" + i), "soft" + i);
        }
        assertEquals(4, rig.stats().softPinned());
    }

    @Test
    void shouldLeaveSoftPinnedOnesThatTheLeastShareDoesNotNeed() {
        rig.memory(ALICE, "memory", 100 * UNIT);
        rig.putMany(BOB, "soft", 10, SOFT);
        rig.putMany(BOB, "plain", 10, PutOptions.DEFAULT);
        assertEquals(10, rig.evict(0.8, 0.5).objects());
        assertEquals(10, rig.count("soft", 10));
    }

    @Test
    void shouldNotCountWhatCannotBeEvictedTwice() {
        rig.memory(ALICE, "memory", 2000 * UNIT);
        rig.putMany(BOB, "blocked", 12, HARD);
        rig.putMany(BOB, "plain", 1200, PutOptions.DEFAULT);
        // 5 % of 1,212, rounded up, all of them from those that can go.
        evictTwentieth(61, 12, 1139);
    }

    /** Evicts 5 %: so many objects, after which there are so many of each kind. */
    private void evictTwentieth(final int evicted, final int blocked, final int plain) {
        assertEquals(evicted, rig.evict(0.05, 0.05).objects());
        assertEquals(blocked, rig.count("blocked", 1200));
        assertEquals(plain, rig.count("plain", 1200));
    }

    @Test
    void shouldGoPastAnyNumberOfBlockedOnes() {
        rig.memory(ALICE, "memory", 2000 * UNIT);
        rig.putMany(BOB, "blocked", 1160, PutOptions.DEFAULT);
        readMany("blocked", 1160);
        rig.putMany(BOB, "plain", 200, PutOptions.DEFAULT);
        // 5 % of 1,360.
        evictTwentieth(68, 1160, 132);
        rig.pass(LEASE_MS);
        // 5 % of 1,292, rounded up: those whose lease has ended come after those that never had one.
        evictTwentieth(65, 1160, 67);
    }

    @Test
    void shouldTakeNoteOfManyLeasesThatEndAtOnceInParts() {
        final int objects = 2 * EvictionOrder.PART + 1;
        rig.memory(ALICE, "memory", objects * UNIT);
        rig.putMany(BOB, "key", objects, PutOptions.DEFAULT);
        readMany("key", objects);
        rig.pass(LEASE_MS);
        assertTrue(rig.apply(new AdminCommand.Tick()).busy());
        assertTrue(rig.apply(new AdminCommand.Tick()).busy());
        assertFalse(rig.apply(new AdminCommand.Tick()).busy());
    }

    @Test
    void shouldEvictMoreThanOnePartOfLeasesThatEndedAtOnce() {
        final int objects = 3 * EvictionOrder.PART;
        rig.memory(ALICE, "memory", objects * UNIT);
        rig.putMany(BOB, "key", objects, PutOptions.DEFAULT);
        readMany("key", objects);
        rig.pass(LEASE_MS);
        rig.put(BOB, "new", UNIT, HARD);
        assertEquals(objects - 1, rig.count("key", objects));
        assertEquals(objects - 1, rig.evict(1, 1).objects());
        assertEquals(0, rig.count("key", objects));
    }

    private void readMany(final String prefix, final int count) {
        for (int i = 0; i < count; i++) {
            rig.read(prefix + i);
        }
    }

    @Test
    void shouldEvictInTheOrderOfLastUse() {
        rig.memory(ALICE, "memory", 4 * UNIT);
        rig.putMany(BOB, "key", 4, PutOptions.DEFAULT);
        rig.read("key1");
        rig.pass(1);
        rig.read("key0");
        rig.pass(LEASE_MS);
        final String[] order = {"key2", "key3", "key1", "key0"};
        for (int i = 0; i < 4; i++) {
            rig.put(BOB, "new" + i, UNIT, HARD);
            for (int j = 0; j < 4; j++) {
                assertEquals(j > i, rig.exists(order[j]), order[j] + " after " + i);
            }
        }
        assertEquals(new PutStartReply.NoSpace(false), rig.start(BOB, "more", UNIT));
    }

    @Test
    void shouldMakeRoomForMoreThanFits() {
        rig.memory(ALICE, "memory", 240 * UNIT);
        rig.putMany(BOB, "key", 16 * 240, PutOptions.DEFAULT);
        assertEquals(240, rig.stats().objects());
        assertEquals(15 * 240, rig.stats().memoryEvictions());
        assertEquals(15 * 240, rig.stats().evictionsWithoutCopy());
        assertTrue(rig.exists("key" + (16 * 240 - 1)));
        assertTrue(rig.exists("key" + 15 * 240));
        assertFalse(rig.exists("key" + (15 * 240 - 1)));
    }

    @Test
    void shouldNotEvictWhatIsLeased() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        int stored = 0;
        for (int i = 0; i < 26; i++) {
            if (rig.start(BOB, "key" + i, UNIT) instanceof PutStartReply.Started started) {
                rig.end(BOB, "key" + i, started.version());
                assertTrue(rig.read("key" + i).found());
                stored++;
            }
        }
        assertEquals(16, stored);
        assertEquals(16, rig.stats().objects());
        rig.pass(LEASE_MS - 1);
        assertEquals(new PutStartReply.NoSpace(false), rig.start(BOB, "late", UNIT));
        rig.pass(1);
        rig.put(BOB, "late", UNIT);
        assertFalse(rig.exists("key0"));
    }

    @Test
    void shouldNotEvictWhatIsHeldOrPinnedHard() {
        rig.memory(ALICE, "memory", 3 * UNIT);
        rig.put(BOB, "hard", UNIT, HARD.withSoftPin(SoftPin.ENABLE));
        rig.put(BOB, "held", UNIT);
        final ReadReply held = rig.hold("held");
        rig.put(BOB, "plain", UNIT);
        rig.pass(LEASE_MS);
        assertEquals(1, rig.evict(1, 1).objects());
        assertTrue(rig.exists("hard"));
        assertEquals(held.version(), rig.query("held").version());
    }

    @Test
    void shouldEvictBelowTheWatermarkByTheRatio() {
        use(new MasterRig(MasterRig.withEviction(new MasterSettings.Eviction(0.9, 0.1, 0.5, 0.25, true))));
        rig.memory(ALICE, "memory", 100 * UNIT);
        rig.putMany(BOB, "key", 90, PutOptions.DEFAULT);
        assertEquals(0, rig.stats().memoryEvictions());
        rig.put(BOB, "key90", UNIT);
        // With the new one 91 of 100 units would be used; 11 have to go for 80.
        assertEquals(11, rig.stats().memoryEvictions());
        assertEquals(80, rig.count("key", 91));
        rig.nof(ALICE, "device", 100 * UNIT);
        rig.putMany(BOB, "nof", 51, PutOptions.DEFAULT.withNofReplicas(1).withReplicas(0));
        assertEquals(26, rig.stats().nofEvictions());
        assertEquals(25 * UNIT, rig.stats().nofUsed());
    }

    @Test
    void shouldKeepSoftPinnedOnesWhenTheyMayNotBeEvicted() {
        use(new MasterRig(MasterRig.withEviction(new MasterSettings.Eviction(1, 0, 1, 0, false))));
        rig.memory(ALICE, "memory", 2 * UNIT);
        rig.putMany(BOB, "soft", 2, SOFT);
        assertEquals(new PutStartReply.NoSpace(false), rig.start(BOB, "more", UNIT));
        assertEquals(2, rig.count("soft", 2));
        assertEquals(0, rig.evict(1, 1).objects());
        rig.advance(MasterRig.SOFT_PIN_MS);
        rig.put(BOB, "more", UNIT);
        assertEquals(1, rig.count("soft", 2));
    }

    @Test
    void shouldEvictAllOrNoneOfAGroup() {
        final PutOptions grouped = PutOptions.DEFAULT.withGroup("group");
        rig.memory(ALICE, "memory", 100 * UNIT);
        rig.putMany(BOB, "member", 3, grouped);
        rig.putMany(BOB, "plain", 7, PutOptions.DEFAULT);
        assertEquals(3, rig.evict(0.1, 0.1).objects());
        assertEquals(0, rig.count("member", 3));
        assertEquals(7, rig.count("plain", 7));
        assertEquals(0, rig.stats().groups());
    }

    @Test
    void shouldEvictNoneOfAGroupThatIsLeasedThroughOneMember() {
        final PutOptions grouped = PutOptions.DEFAULT.withGroup("group");
        rig.memory(ALICE, "memory", 100 * UNIT);
        rig.putMany(BOB, "member", 3, grouped);
        rig.putMany(BOB, "plain", 7, PutOptions.DEFAULT);
        rig.read("member1");
        assertEquals(1, rig.evict(0.1, 0.1).objects());
        assertEquals(3, rig.count("member", 3));
        assertFalse(rig.exists("plain0"));
        assertEquals(6, rig.evict(1, 1).objects());
        assertEquals(3, rig.count("member", 3));
        rig.pass(LEASE_MS);
        assertEquals(3, rig.evict(0.1, 0.1).objects());
        rig.assertEmpty();
    }

    @Test
    void shouldLeaveHardPinnedMembersOfAnEvictedGroup() {
        rig.memory(ALICE, "memory", 100 * UNIT);
        rig.put(BOB, "hard", UNIT, HARD.withGroup("group"));
        rig.put(BOB, "plain", UNIT, PutOptions.DEFAULT.withGroup("group"));
        assertEquals(1, rig.evict(1, 1).objects());
        assertTrue(rig.exists("hard"));
        assertEquals(1, rig.stats().groups());
    }

    @Test
    void shouldDropAllMemoryReplicasOfAVictim() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.memory(BOB, "memory2", 16 * UNIT);
        rig.nof(ALICE, "device", 16 * UNIT);
        rig.put(BOB, "key", 2 * UNIT, PutOptions.DEFAULT.withReplicas(2).withNofReplicas(1));
        final var evicted = rig.evict(1, 1);
        assertEquals(1, evicted.objects());
        assertEquals(4 * UNIT, evicted.bytes());
        assertEquals(2, rig.stats().memoryEvictions());
        assertEquals(0, rig.stats().evictionsWithoutCopy());
        assertEquals(1, rig.query("key").replicas().size());
        assertEquals(0, rig.stats().memoryReplicas());
    }

    @Test
    void shouldNotEvictForAPutThatFindsSomePlace() {
        rig.memory(ALICE, "memory", 4 * UNIT);
        rig.putMany(BOB, "key", 3, PutOptions.DEFAULT);
        assertEquals(1, rig.started(BOB, "two", UNIT, PutOptions.DEFAULT.withReplicas(2)).replicas().size());
        assertEquals(0, rig.stats().memoryEvictions());
    }

    /** Copies for which there is no segment of their own take no room. */
    @Test
    void shouldNotEvictForCopiesThatHaveNoSegment() {
        use(new MasterRig(MasterRig.withEviction(new MasterSettings.Eviction(0.9, 0.1, 1, 0, true))));
        final PutOptions five = PutOptions.DEFAULT.withReplicas(5);
        assertEquals(new PutStartReply.NoSpace(false), rig.start(BOB, "none", UNIT, five, false));
        rig.memory(ALICE, "memory", 100 * UNIT);
        rig.putMany(BOB, "key", 50, PutOptions.DEFAULT);
        assertEquals(1, rig.started(BOB, "one", 10 * UNIT, five).replicas().size());
        assertEquals(EvictionRuns.NONE, rig.stats().memoryRuns());
        assertEquals(50, rig.count("key", 50));
    }

    private void use(final MasterRig other) {
        rig.close();
        rig = other;
    }

    @Test
    void shouldEvictNothingForWhatWillNotFitAllTheSame() {
        rig.memory(ALICE, "small", 8 * UNIT);
        final UUID large = rig.memory(ALICE, "large", 16 * UNIT);
        rig.putMany(BOB, "key", 24, PutOptions.DEFAULT);
        rig.unmount(ALICE, large, 1000);
        assertEquals(new PutStartReply.NoSpace(false), rig.start(BOB, "nine", 9 * UNIT));
        assertEquals(24, rig.count("key", 24), "no segment that is open is large enough");
        rig.put(BOB, "eight", 8 * UNIT);
        rig.advance(1000);
        assertEquals(1, rig.stats().objects());
    }

    @Test
    void shouldKeepTheLastCopyWhoseOtherCopyIsGoneWithItsSegmentOrDisk() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        final UUID device = rig.nof(ALICE, "device", 16 * UNIT);
        rig.disk(ALICE);
        rig.disk(CAROL);
        final long version = rig.put(BOB, "key", UNIT);
        assertTrue(rig.adopt(CAROL, "key", version, UNIT));
        rig.put(BOB, "nof", UNIT, PutOptions.DEFAULT.withNofReplicas(1));
        rig.apply(new DiskCommand.UnmountDisk(CAROL));
        rig.unmount(ALICE, device, 0);
        // Not swept yet, but what is hidden is no copy.
        rig.evict(1, 1);
        assertEquals(2, rig.stats().offloadsPending());
        rig.fetch(ALICE).forEach(task -> rig.offloaded(ALICE, task, OffloadResult.STORED));
        rig.settle();
        assertTrue(rig.exists("key"));
        assertTrue(rig.exists("nof"));
    }

    @Test
    void shouldNotOfferADiskWhatLiesInASegmentThatIsGone() {
        final UUID segment = rig.memory(ALICE, "memory", 16 * UNIT);
        rig.disk(ALICE);
        rig.put(BOB, "key", UNIT);
        rig.unmount(ALICE, segment, 0);
        rig.evict(1, 1);
        assertEquals(0, rig.stats().offloadsPending());
        rig.settle();
        rig.assertEmpty();
    }

    @Test
    void shouldEvictASoftPinnedValueLastThoughItsDiskFailed() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.put(BOB, "soft", UNIT, SOFT);
        rig.disk(ALICE);
        rig.evict(1, 1);
        rig.offloaded(ALICE, rig.fetch(ALICE).getFirst(), OffloadResult.VALUE_REFUSED);
        rig.put(BOB, "plain", UNIT);
        assertEquals(1, rig.evict(0.5, 0.5).objects());
        assertTrue(rig.exists("soft"));
    }

    @Test
    void shouldRoundTheWantedShareOnlyWhereThereIsAFraction() {
        rig.memory(ALICE, "memory", 200 * UNIT);
        rig.putMany(BOB, "key", 100, PutOptions.DEFAULT);
        // As floating-point numbers, 0.07 of 100 is a little more than 7.
        assertEquals(7, rig.evict(0.07, 0.07).objects());
    }

    @Test
    void shouldCountReplicasOfEachMediumForItself() {
        rig.memory(ALICE, "memory", 64 * UNIT);
        rig.nof(ALICE, "device", 64 * UNIT);
        rig.put(BOB, "key", UNIT, PutOptions.DEFAULT.withNofReplicas(1));
        assertEquals(1, rig.stats().memoryReplicas());
    }
}
