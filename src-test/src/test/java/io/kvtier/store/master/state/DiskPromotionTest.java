package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.CLIENT_TTL_MS;
import static io.kvtier.store.master.state.MasterRig.UNIT;
import static io.kvtier.store.master.state.MasterRig.replicas;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.PutOptions;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.DiskCommand.DiskPromotion;
import io.kvtier.store.protocol.MasterStats.Hot;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaType;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Values on a client's own disk that are read often: the owner is asked to copy them to memory. */
@ExtendWith(LeakCheck.class)
class DiskPromotionTest {
    private MasterRig rig;

    private void open(final boolean onHit, final int threshold, final int limit) {
        rig = new MasterRig(MasterRig.settings().withPages(new MasterSettings.Pages(null, "blue", 0.9, 0.2, false,
            new MasterSettings.Promotion(onHit, threshold, limit))));
        for (final UUID client : List.of(ALICE, BOB)) {
            rig.memory(client, name(client), 16 * UNIT);
            rig.disk(client);
        }
    }

    private static String name(final UUID client) {
        return client.equals(ALICE) ? "alice" : "bob";
    }

    @AfterEach
    void close() {
        rig.close();
    }

    /** A value on one disk and nowhere else. */
    private DiskPromotion onDisk(final UUID owner, final String key) {
        final long version = rig.put(owner, key, UNIT, PutOptions.DEFAULT.withPreferredSegments(name(owner)));
        assertEquals(1, rig.offloadAll(owner));
        rig.announced(owner);
        final Replica only = rig.query(key).replicas().getFirst();
        assertEquals(ReplicaType.LOCAL_DISK, only.type());
        return new DiskPromotion(MasterRig.key(key), version, only.id());
    }

    private List<DiskPromotion> fetch(final UUID client) {
        return rig.apply(new DiskCommand.FetchDiskPromotions(client, 10));
    }

    private Hot hot() {
        return rig.stats().pages().hot();
    }

    @Test
    void shouldAskTheOwnerOfAValueThatIsReadTwice() {
        open(true, 2, 10);
        final DiskPromotion value = onDisk(ALICE, "k");
        rig.read("k");
        assertEquals(new Hot(0, 0, 0), hot());
        rig.read("k");
        rig.read("k");
        assertEquals(new Hot(1, 1, 0), hot(), "once is enough");
        assertEquals(WorkKind.DISK_PROMOTIONS.bit(), rig.announced(ALICE));
        assertEquals(0, rig.announced(BOB));

        assertEquals(List.of(), fetch(BOB), "it is not on that disk");
        assertEquals(List.of(value), fetch(ALICE));
        assertEquals(List.of(), fetch(ALICE), "once");
        final PromotionReply reply = rig.promote(ALICE, "k", value.version());
        assertEquals(Ack.OK, rig.promoted(ALICE, "k", reply, true));
        assertEquals(1, replicas(rig.query("k"), ReplicaType.MEMORY));
        rig.read("k");
        assertEquals(new Hot(0, 1, 0), hot(), "it is in memory");
    }

    @Test
    void shouldAskNobodyWithoutTheOption() {
        open(false, 1, 10);
        onDisk(ALICE, "k");
        rig.read("k");
        rig.read("k");
        assertEquals(new Hot(0, 0, 0), hot());
        assertEquals(List.of(), fetch(ALICE));
    }

    /** Its owner reads it itself, and promotes it by that. */
    @Test
    void shouldNotNameWhatSomebodyHasBegun() {
        open(true, 1, 10);
        final DiskPromotion value = onDisk(ALICE, "k");
        rig.read("k");
        assertTrue(rig.promote(ALICE, "k", value.version()).accepted());
        assertEquals(new Hot(0, 1, 0), hot());
        assertEquals(List.of(), fetch(ALICE));
    }

    @Test
    void shouldPassOverWhatHasGoneMeanwhile() {
        open(true, 1, 10);
        final DiskPromotion evicted = onDisk(ALICE, "evicted");
        onDisk(ALICE, "removed");
        onDisk(ALICE, "replaced");
        final DiskPromotion there = onDisk(ALICE, "there");
        List.of("evicted", "removed", "replaced", "there").forEach(rig::read);
        rig.advance(MasterRig.LEASE_MS);
        assertTrue(rig.evictDisk(ALICE, "evicted", evicted.version()));
        rig.remove("removed", true);
        rig.end(BOB, "replaced", rig.replacing(BOB, "replaced", UNIT).version());
        assertEquals(List.of(there), fetch(ALICE));
        assertEquals(new Hot(1, 4, 0), hot(), "the one that is given");
    }

    /** The reply that named it may be lost; after some tries it is left alone until it is read again. */
    @Test
    void shouldNameWhatIsNotBegunAFewTimes() {
        open(true, 1, 10);
        final DiskPromotion value = onDisk(ALICE, "k");
        rig.read("k");
        for (int tries = 0; tries < 3; tries++) {
            assertEquals(List.of(value), fetch(ALICE), "try " + tries);
            rig.announced(ALICE);
            rig.advance(CLIENT_TTL_MS);
        }
        assertEquals(List.of(), fetch(ALICE));
        assertEquals(0, rig.announced(ALICE));
        assertEquals(new Hot(0, 1, 0), hot());
        rig.read("k");
        assertEquals(List.of(value), fetch(ALICE));
    }

    /** Both have a copy: when one is gone before it has begun, the other one is asked. */
    @Test
    void shouldAskAnotherOwnerWhenOneIsGone() {
        open(true, 1, 10);
        final DiskPromotion value = onDisk(ALICE, "k");
        assertTrue(rig.adopt(BOB, "k", value.version(), UNIT));
        rig.read("k");
        assertEquals(List.of(value), fetch(ALICE));
        rig.announced(BOB);
        rig.silence(ALICE);
        rig.advance(CLIENT_TTL_MS);
        assertEquals(WorkKind.DISK_PROMOTIONS.bit(), rig.announced(BOB) & WorkKind.DISK_PROMOTIONS.bit());
        assertEquals(List.of(new DiskPromotion(value.key(), value.version(),
            rig.query("k").replicas().getLast().id())), fetch(BOB));
    }

    @Test
    void shouldQueueNoMoreThanItsLimitAndNothingForFullMemory() {
        open(true, 1, 1);
        onDisk(ALICE, "a");
        onDisk(BOB, "b");
        rig.read("a");
        rig.read("b");
        assertEquals(new Hot(1, 1, 1), hot());
        assertEquals(1, fetch(ALICE).size());
        assertEquals(PromotionReply.DECLINED, rig.promote(ALICE, "a", 1), "it is over all the same");
        rig.read("b");
        assertEquals(new Hot(1, 2, 1), hot());
        assertEquals(1, fetch(BOB).size());
        rig.promote(BOB, "b", 1);
        rig.putMany(ALICE, "full", 32, PutOptions.DEFAULT);
        rig.read("a");
        assertEquals(new Hot(0, 2, 2), hot(), "others would go that are as young");
    }
}
