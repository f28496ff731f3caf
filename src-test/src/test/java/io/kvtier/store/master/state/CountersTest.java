package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.PutOptions;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.MasterStats.Allocations;
import io.kvtier.store.protocol.MasterStats.EvictionRuns;
import io.kvtier.store.protocol.MasterStats.Gets;
import io.kvtier.store.protocol.MasterStats.Probes;
import io.kvtier.store.protocol.MasterStats.Promoted;
import io.kvtier.store.protocol.MasterStats.Rejected;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What the state counts for operators. */
@ExtendWith(LeakCheck.class)
class CountersTest {
    private static final long KIB = 1024;

    private final MasterRig rig = new MasterRig();

    @AfterEach
    void close() {
        rig.close();
    }

    private static PutOptions onBlockDevice() {
        return PutOptions.DEFAULT.withNofReplicas(1).withReplicas(0);
    }

    @Test
    void shouldCountAReadWhereItsNearestReplicaIs() {
        rig.memory(MasterRig.ALICE, "m", 16 * KIB);
        rig.nof(MasterRig.ALICE, "n", 16 * KIB);
        rig.disk(MasterRig.ALICE);
        rig.put(MasterRig.ALICE, "disk", 100);
        assertEquals(1, rig.offloadAll(MasterRig.ALICE));
        rig.put(MasterRig.ALICE, "memory", 10);
        rig.put(MasterRig.ALICE, "device", 1000, onBlockDevice());
        assertEquals(Gets.NONE, rig.stats().gets());

        rig.read("memory");
        rig.hold("memory");
        rig.read("disk");
        rig.read("device");
        rig.read("nothing");
        rig.query("memory");
        assertEquals(new Gets(5, 2, 20, 1, 1000, 1, 100, 0, 0, 0, 0), rig.stats().gets());
        assertEquals(4, rig.stats().gets().valid());
    }

    @Test
    void shouldNotCountAHitOnWhatIsGone() {
        final UUID segment = rig.memory(MasterRig.ALICE, "m", 16 * KIB);
        rig.disk(MasterRig.ALICE);
        rig.put(MasterRig.ALICE, "a", 10);
        rig.unmount(MasterRig.ALICE, segment, 0);
        rig.read("a");

        assertEquals(new Gets(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), rig.stats().gets(),
            "hidden at once, before it is swept");
    }

    @Test
    void shouldCountTheBytesOnDisks() {
        rig.memory(MasterRig.ALICE, "m", 16 * KIB);
        rig.disk(MasterRig.ALICE);
        rig.disk(MasterRig.BOB);
        for (int i = 1; i <= 3; i++) {
            rig.put(MasterRig.ALICE, "a" + i, 100 * i);
        }
        assertEquals(3, rig.offloadAll(MasterRig.ALICE));
        assertEquals(600, rig.stats().diskUsed());
        assertTrue(rig.adopt(MasterRig.BOB, "a3", rig.query("a3").version(), 300));
        assertEquals(900, rig.stats().diskUsed(), "a value on two disks is there twice");

        assertTrue(rig.evictDisk(MasterRig.ALICE, "a1", rig.query("a1").version()));
        assertEquals(800, rig.stats().diskUsed());
        rig.remove("a2", true);
        assertEquals(600, rig.stats().diskUsed());
        rig.silence(MasterRig.ALICE);
        rig.advance(MasterRig.CLIENT_TTL_MS);
        assertEquals(300, rig.stats().diskUsed());
        rig.remove("a3", true);
        assertEquals(0, rig.stats().diskUsed());
    }

    @Test
    void shouldCountEvictionsThatAnAllocationWants() {
        rig.memory(MasterRig.ALICE, "m", 4 * KIB);
        rig.nof(MasterRig.ALICE, "n", 2 * KIB);
        rig.putMany(MasterRig.ALICE, "a", 4, PutOptions.DEFAULT);
        assertEquals(EvictionRuns.NONE, rig.stats().memoryRuns());

        rig.put(MasterRig.ALICE, "b", KIB + 1);
        assertEquals(new EvictionRuns(2, 2, 2 * KIB), rig.stats().memoryRuns(), "two objects, one after the other");
        assertEquals(2, rig.stats().memoryEvictions());
        for (int i = 0; i < 3; i++) {
            rig.put(MasterRig.ALICE, "n" + i, 1, onBlockDevice());
        }
        assertEquals(new EvictionRuns(1, 1, KIB), rig.stats().nofRuns(), "its range, not the one byte of the value");
        assertEquals(Allocations.NONE, rig.stats().allocations());
    }

    @Test
    void shouldCountAnEvictionThatFindsNothing() {
        rig.memory(MasterRig.ALICE, "m", 2 * KIB);
        rig.putMany(MasterRig.ALICE, "a", 2, PutOptions.DEFAULT);
        rig.read("a0");
        rig.read("a1");
        assertInstanceOf(PutStartReply.NoSpace.class, rig.start(MasterRig.ALICE, "b", 1));

        assertEquals(new EvictionRuns(1, 0, 0), rig.stats().memoryRuns(), "all is leased");
        assertEquals(new Allocations(1, 0, 0), rig.stats().allocations());
    }

    /** What is sent to a disk is a success at once, and its bytes count when they are dropped. */
    @Test
    void shouldCountAnEvictionThatSendsAValueToADisk() {
        rig.memory(MasterRig.ALICE, "m", 4 * KIB);
        rig.disk(MasterRig.ALICE);
        rig.put(MasterRig.ALICE, "a", 100);
        rig.evict(1, 1);
        assertEquals(new EvictionRuns(1, 1, 0), rig.stats().memoryRuns());

        rig.offloaded(MasterRig.ALICE, rig.fetch(MasterRig.ALICE).getFirst(), OffloadResult.STORED);
        assertEquals(new EvictionRuns(1, 1, KIB), rig.stats().memoryRuns());
    }

    @Test
    void shouldCountAPutThatGotFewerReplicasThanItWanted() {
        rig.memory(MasterRig.ALICE, "m", 4 * KIB);
        rig.memory(MasterRig.BOB, "n", 4 * KIB);
        assertEquals(2, rig.started(MasterRig.ALICE, "a", 1, PutOptions.DEFAULT.withReplicas(2)).replicas().size());
        assertEquals(2, rig.started(MasterRig.ALICE, "b", 1, PutOptions.DEFAULT.withReplicas(5)).replicas().size());

        assertEquals(new Allocations(0, 1, 0), rig.stats().allocations());
    }

    /** Each value of 100 bytes lies on the disk of Alice alone. */
    private PromotionReply promote(final UUID client, final String key) {
        final PromotionReply reply = rig.promote(client, key, rig.query(key).version());
        assertNotNull(reply.memory(), key);
        return reply;
    }

    @Test
    void shouldCountEachPromotionOnceByHowItEnded() {
        rig.memory(MasterRig.ALICE, "m", 16 * KIB);
        rig.disk(MasterRig.ALICE);
        for (final String key : List.of("good", "bad", "removed", "orphan", "late", "open")) {
            rig.put(MasterRig.ALICE, key, 100);
        }
        assertEquals(6, rig.offloadAll(MasterRig.ALICE));

        rig.promoted(MasterRig.ALICE, "good", promote(MasterRig.ALICE, "good"), true);
        rig.promoted(MasterRig.ALICE, "bad", promote(MasterRig.ALICE, "bad"), false);
        final PromotionReply removed = promote(MasterRig.ALICE, "removed");
        rig.remove("removed", true);
        assertEquals(new Promoted(3, 100, 1, 0, 0, Rejected.NONE), rig.stats().promoted(),
            "its room is taken until it ends");
        rig.promoted(MasterRig.ALICE, "removed", removed, true);
        rig.ping(MasterRig.BOB, "");
        promote(MasterRig.BOB, "orphan");
        rig.silence(MasterRig.BOB);
        rig.advance(MasterRig.CLIENT_TTL_MS);
        promote(MasterRig.ALICE, "late");
        for (long passed = 0; passed < MasterRig.RELEASE_MS; passed += MasterRig.CLIENT_TTL_MS / 2) {
            rig.advance(MasterRig.CLIENT_TTL_MS / 2);
        }
        promote(MasterRig.ALICE, "open");

        assertEquals(new Promoted(6, 100, 1, 2, 1, Rejected.NONE), rig.stats().promoted());
        assertEquals(1, rig.stats().promotions());
        assertEquals(1, rig.stats().activePromotions());
    }

    @Test
    void shouldCountAPromotionIntoASegmentThatGoes() {
        final UUID segment = rig.memory(MasterRig.ALICE, "m", 16 * KIB);
        rig.disk(MasterRig.ALICE);
        rig.put(MasterRig.ALICE, "a", 100);
        assertEquals(1, rig.offloadAll(MasterRig.ALICE));
        promote(MasterRig.ALICE, "a");
        rig.unmount(MasterRig.ALICE, segment, 0);
        rig.settle();

        assertEquals(new Promoted(1, 0, 0, 1, 0, Rejected.NONE), rig.stats().promoted());
        assertEquals(0, rig.stats().activePromotions());
    }

    @Test
    void shouldCountProbesOfBlockDevices() {
        final UUID device = rig.nof(MasterRig.ALICE, "n", 16 * KIB);
        for (final boolean healthy : new boolean[] {false, false, true, false, false, false}) {
            assertEquals(Ack.OK, rig.apply(new SegmentCommand.Probed(device, healthy)));
        }
        assertEquals(new Probes(1, 5, 1, 0), rig.stats().probes());

        rig.apply(new SegmentCommand.Probed(device, false));
        assertEquals(new Probes(1, 5, 1, 0), rig.stats().probes(), "it is not in use any more");
    }

    @Test
    void shouldCountProbesThatWereNotAnsweredInTime() {
        final UUID device = rig.nof(MasterRig.ALICE, "n", 16 * KIB);
        rig.apply(new SegmentCommand.Probed(device, false, true));
        rig.apply(new SegmentCommand.Probed(device, true, true));
        rig.apply(new SegmentCommand.Probed(device, false, false));
        rig.apply(new SegmentCommand.Probed(device, false, true));
        assertEquals(new Probes(1, 3, 0, 2), rig.stats().probes());
    }

    @Test
    void shouldCountPromotionsThatWereNotAdmittedByWhy() {
        rig.memory(MasterRig.ALICE, "m", 2 * KIB);
        rig.disk(MasterRig.ALICE);
        rig.put(MasterRig.ALICE, "a", 100);
        rig.put(MasterRig.ALICE, "b", 100);
        assertEquals(2, rig.offloadAll(MasterRig.ALICE));
        final long version = rig.query("a").version();
        assertFalse(rig.promote(MasterRig.ALICE, "a", version + 100).accepted(), "no such value");
        promote(MasterRig.ALICE, "b");
        assertFalse(rig.promote(MasterRig.ALICE, "b", rig.query("b").version()).accepted(), "it is promoted already");
        rig.started(MasterRig.ALICE, "c", 100, PutOptions.DEFAULT);
        assertFalse(rig.promote(MasterRig.ALICE, "a", version).accepted(), "memory is full");

        assertEquals(new Rejected(1, 0, 2), rig.stats().promoted().rejected());
    }

    @Test
    void shouldKnowTheBytesThatReplacedWritersMayStillWrite() {
        rig.memory(MasterRig.ALICE, "m", 16 * KIB);
        final PutStartReply.Started first = rig.started(MasterRig.ALICE, "a", 100, PutOptions.DEFAULT);
        rig.advance(MasterRig.DISCARD_MS);
        final PutStartReply.Started second = rig.started(MasterRig.BOB, "a", 70, PutOptions.DEFAULT);
        assertEquals(100, rig.stats().allocations().stale());
        rig.advance(MasterRig.DISCARD_MS);
        rig.started(MasterRig.ALICE, "a", 3, PutOptions.DEFAULT);
        assertEquals(170, rig.stats().allocations().stale());

        rig.end(MasterRig.ALICE, "a", first.version());
        assertEquals(70, rig.stats().allocations().stale());
        rig.revoke(MasterRig.BOB, "a", second.version());
        assertEquals(0, rig.stats().allocations().stale());
    }
}
