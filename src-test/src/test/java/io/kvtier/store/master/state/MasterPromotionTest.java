package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.CAROL;
import static io.kvtier.store.master.state.MasterRig.CLIENT_TTL_MS;
import static io.kvtier.store.master.state.MasterRig.RELEASE_MS;
import static io.kvtier.store.master.state.MasterRig.UNIT;
import static io.kvtier.store.master.state.MasterRig.replicas;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.PutOptions;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.replica.ReplicaType;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Values that come up from clients' disks into memory. */
@ExtendWith(LeakCheck.class)
class MasterPromotionTest {
    private final MasterRig rig = new MasterRig();

    @AfterEach
    void closeRig() {
        rig.close();
    }

    @Test
    void shouldPromoteAValueOnceAndOnlyByWhoStartedIt() {
        final long version = onDisk();
        final PromotionReply promotion = rig.promote(BOB, "key", version);
        assertEquals(UNIT, rig.stats().memoryUsed());
        assertEquals(1, rig.stats().activePromotions());
        assertEquals(0, replicas(rig.query("key"), ReplicaType.MEMORY), "not to be read yet");
        assertEquals(PromotionReply.DECLINED, rig.promote(CAROL, "key", version));
        assertEquals(PromotionReply.DECLINED, rig.promote(CAROL, "none", version));
        assertEquals(PromotionReply.DECLINED, rig.promote(CAROL, "key", version + 1));
        assertEquals(Ack.STALE, rig.promoted(CAROL, "key", promotion, true));
        assertEquals(Ack.STALE, rig.end(BOB, "key", promotion.replicaId()), "it is no put");
        assertEquals(Ack.OK, rig.promoted(BOB, "key", promotion, true));
        assertEquals(1, replicas(rig.query("key"), ReplicaType.MEMORY));
        assertEquals(1, replicas(rig.query("key"), ReplicaType.LOCAL_DISK));
        assertEquals(PromotionReply.DECLINED, rig.promote(BOB, "key", version), "it is in memory");
        assertEquals(Ack.STALE, rig.promoted(BOB, "key", promotion, true));
        assertEquals(1, rig.stats().promotions());
        assertEquals(0, rig.stats().activePromotions());
    }

    @Test
    void shouldFreeTheMemoryOfAPromotionThatFailed() {
        final long version = onDisk();
        final PromotionReply promotion = rig.promote(BOB, "key", version);
        assertEquals(Ack.STALE, rig.promoted(CAROL, "key", promotion, false));
        assertEquals(Ack.OK, rig.promoted(BOB, "key", promotion, false));
        assertEquals(Ack.STALE, rig.promoted(BOB, "key", promotion, false));
        assertEquals(0, rig.stats().memoryUsed());
        assertEquals(0, rig.stats().promotions());
        assertTrue(rig.promote(CAROL, "key", version).accepted());
    }

    /** Who lends the memory may yet write what it was sent. */
    @Test
    void shouldLetTheRoomRestOfAPromotionThatMayStillBeWritten() {
        final long version = onDisk();
        final PromotionReply promotion = rig.promote(BOB, "key", version);
        assertEquals(Ack.OK, rig.apply(unsettled(promotion)));
        assertEquals(0, rig.stats().activePromotions());
        assertEquals(UNIT, rig.stats().memoryUsed());
        assertTrue(rig.promote(CAROL, "key", version).accepted(), "in another place");
        assertEquals(2 * UNIT, rig.stats().memoryUsed());
        rig.advance(RELEASE_MS);
        assertEquals(0, rig.stats().memoryUsed());
    }

    @Test
    void shouldLetTheRoomRestOfARemovedValueThatMayStillBeWritten() {
        final long version = onDisk();
        final PromotionReply promotion = rig.promote(BOB, "key", version);
        rig.remove("key", false);
        assertEquals(Ack.STALE, rig.apply(unsettled(promotion)));
        assertEquals(0, rig.stats().activePromotions());
        rig.advance(RELEASE_MS - 1);
        assertEquals(UNIT, rig.stats().memoryUsed());
        rig.advance(1);
        rig.assertEmpty();
    }

    private static DiskCommand.PromotionEnd unsettled(final PromotionReply promotion) {
        return new DiskCommand.PromotionEnd(BOB, MasterRig.key("key"), promotion.replicaId(), false, false);
    }

    @Test
    void shouldGiveUpAPromotionThatNeverEnds() {
        final long version = onDisk();
        final PromotionReply promotion = rig.promote(BOB, "key", version);
        rig.advance(RELEASE_MS - 1);
        assertEquals(1, rig.stats().activePromotions());
        rig.advance(1);
        assertEquals(0, rig.stats().activePromotions());
        assertEquals(0, rig.stats().memoryUsed());
        assertEquals(Ack.STALE, rig.promoted(BOB, "key", promotion, true));
        assertEquals(0, replicas(rig.query("key"), ReplicaType.MEMORY));
        assertTrue(rig.promote(BOB, "key", version).accepted());
    }

    @Test
    void shouldDeclineToPromoteWhatIsBeingWrittenOrHasNoRoom() {
        final long version = onDisk();
        final long next = rig.replacing(BOB, "key", UNIT).version();
        assertEquals(PromotionReply.DECLINED, rig.promote(BOB, "key", version));
        rig.revoke(BOB, "key", next);
        rig.put(BOB, "large", 16 * UNIT, PutOptions.DEFAULT.withHardPin(true));
        assertEquals(PromotionReply.DECLINED, rig.promote(BOB, "key", version));
        assertEquals(0, rig.stats().activePromotions());
    }

    @Test
    void shouldKeepTheRoomOfARemovedValueUntilItsPromotionEnds() {
        final long version = onDisk();
        final PromotionReply promotion = rig.promote(BOB, "key", version);
        assertEquals(RemoveOutcome.REMOVED, rig.remove("key", false).outcome());
        assertEquals(UNIT, rig.stats().memoryUsed());
        assertEquals(Ack.STALE, rig.promoted(BOB, "key", promotion, true));
        assertFalse(rig.exists("key"));
        rig.assertEmpty();
    }

    @Test
    void shouldLetTheRoomRestThatADeadClientPromotedInto() {
        final long version = onDisk();
        rig.ping(BOB, "host");
        rig.promote(BOB, "key", version);
        rig.silence(BOB);
        rig.advance(CLIENT_TTL_MS);
        assertEquals(0, rig.stats().activePromotions());
        assertEquals(UNIT, rig.stats().memoryUsed(), "it may only be slow, and still write");
        assertTrue(rig.promote(CAROL, "key", version).accepted());
        rig.advance(RELEASE_MS - CLIENT_TTL_MS);
        assertEquals(UNIT, rig.stats().memoryUsed());
    }

    @Test
    void shouldEndAPromotionWhoseSegmentIsGone() {
        rig.disk(ALICE);
        assertTrue(rig.adopt(ALICE, "key", 5, UNIT));
        final UUID segment = rig.memory(BOB, "memory", 16 * UNIT);
        final PromotionReply promotion = rig.promote(BOB, "key", 5);
        rig.unmount(BOB, segment, 0);
        rig.settle();
        assertEquals(0, rig.stats().activePromotions());
        assertEquals(0, rig.stats().heldReplicas());
        assertEquals(Ack.STALE, rig.promoted(BOB, "key", promotion, true));
        assertEquals(1, rig.query("key").replicas().size());
    }

    @Test
    void shouldLetTheRoomOfARemovedValueRestWhenItsPromoterDies() {
        final long version = onDisk();
        rig.ping(BOB, "host");
        rig.promote(BOB, "key", version);
        rig.remove("key", false);
        rig.silence(BOB);
        rig.advance(CLIENT_TTL_MS);
        assertEquals(0, rig.stats().activePromotions());
        assertEquals(UNIT, rig.stats().memoryUsed(), "it may only be slow, and still write");
        rig.advance(RELEASE_MS - CLIENT_TTL_MS);
        rig.assertEmpty();
    }

    @Test
    void shouldNotBringBackByAPromotionWhatWasRemoved() {
        final long version = onDisk();
        final PromotionReply promotion = rig.promote(BOB, "key", version);
        assertTrue(rig.evictDisk(ALICE, "key", version));
        assertEquals(RemoveOutcome.NOT_FOUND, rig.remove("key", false).outcome());
        assertEquals(Ack.STALE, rig.promoted(BOB, "key", promotion, true));
        assertFalse(rig.exists("key"));
        rig.assertEmpty();
    }

    @Test
    void shouldNotBringBackByAPromotionWhatWasRemovedWithAllOthers() {
        final long version = onDisk();
        final PromotionReply promotion = rig.promote(BOB, "key", version);
        assertTrue(rig.evictDisk(ALICE, "key", version));
        assertEquals(0, rig.removeMatching("", "", false));
        assertEquals(Ack.STALE, rig.promoted(BOB, "key", promotion, true));
        rig.assertEmpty();
    }

    /** A value that is on Alice's disk and nowhere else; 16 units of memory are free. */
    private long onDisk() {
        rig.memory(ALICE, "memory", 16 * UNIT);
        rig.disk(ALICE);
        final long version = rig.put(BOB, "key", UNIT);
        assertEquals(1, rig.offloadAll(ALICE));
        assertNotEquals(0, rig.query("key").version());
        return version;
    }
}
