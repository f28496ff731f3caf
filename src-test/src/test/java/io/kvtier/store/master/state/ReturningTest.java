package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.FetchReturning;
import io.kvtier.store.protocol.SegmentCommand.Mount;
import io.kvtier.store.protocol.SegmentCommand.ReturnReplicas;
import io.kvtier.store.protocol.SegmentCommand.Returning;
import io.kvtier.store.protocol.SegmentCommand.ReturningReplica;
import io.kvtier.store.protocol.SegmentCommand.SegmentSpec;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.replica.SegmentAddress;
import io.kvtier.transport.AccessToken;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Values in memory after a restore: who may bring them back, until when, and what must not come back. */
@ExtendWith(LeakCheck.class)
class ReturningTest {
    private static final long WAIT_MS = 300_000;
    private static final SegmentAddress FORMER = address(1);
    private static final SegmentAddress NOW = address(2);

    private final MasterRig before = new MasterRig();
    private MasterRig rig;

    @AfterEach
    void close() {
        before.close();
        if (rig != null) {
            rig.close();
        }
    }

    private static SegmentAddress address(final int number) {
        final byte[] token = new byte[AccessToken.BYTES];
        token[0] = (byte) number;
        return new SegmentAddress(new UUID(9, number), "tcp://" + number, AccessToken.of(token));
    }

    /** A value with a checksum in Alice's memory. */
    private long put(final MasterRig at, final String key, final long size) {
        final PutStartReply.Started started = at.started(MasterRig.ALICE, key, size);
        end(at, key, started);
        return started.version();
    }

    private void lend(final MasterRig at, final SegmentAddress address, final SegmentAddress former) {
        at.ping(MasterRig.ALICE, "h");
        at.apply(new Mount(MasterRig.ALICE, SnapshotCommands.memory(MasterRig.ALICE, address), former));
    }

    private void restart() {
        rig = MasterRig.restored(MasterRig.settings(), before.snapshot(), WAIT_MS);
    }

    private Returning fetch(final UUID client, final SegmentAddress former) {
        return rig.apply(new FetchReturning(client, former, 0, 100));
    }

    private List<Long> ids() {
        return fetch(MasterRig.ALICE, FORMER).replicas().stream().map(ReturningReplica::replicaId).toList();
    }

    private List<Boolean> give(final List<Long> ids, final boolean last) {
        return rig.apply(new ReturnReplicas(MasterRig.ALICE, NOW.segmentId(), ids, last));
    }

    @Test
    void shouldTellAnOwnerWhatLayInItsMemoryAndTakeItBack() {
        lend(before, FORMER, null);
        final long version = put(before, "a", 3000);
        put(before, "b", 100);
        before.put(MasterRig.ALICE, "without a checksum", 100);
        restart();

        assertFalse(rig.exists("a"), "nobody has said that its bytes are there");
        final List<ReturningReplica> lying = fetch(MasterRig.ALICE, FORMER).replicas();
        assertEquals(List.of("0 3000 " + "a".hashCode(), "3072 100 " + "b".hashCode()), lying.stream()
            .map(one -> one.offset() + " " + one.size() + " " + one.checksum()).toList());
        lend(rig, NOW, FORMER);
        assertEquals(List.of(true), give(List.of(lying.getFirst().replicaId()), true));

        assertEquals(version, rig.query("a").version());
        final ReplicaDescriptor.Memory memory =
            assertInstanceOf(ReplicaDescriptor.Memory.class, rig.read("a").replicas().getFirst().descriptor());
        assertEquals(new ReplicaDescriptor.Memory(NOW, 0, 3000), memory, "at its place, by the new way in");
        assertFalse(rig.exists("b"), "its owner found something else there");
        assertEquals(3072, rig.stats().memoryUsed());
    }

    @Test
    void shouldTellNobodyButWhoHasTheToken() {
        lend(before, FORMER, null);
        put(before, "a", 3000);
        restart();

        assertEquals(Returning.NONE, fetch(MasterRig.BOB, FORMER));
        assertEquals(Returning.NONE, fetch(MasterRig.ALICE,
            new SegmentAddress(FORMER.segmentId(), FORMER.endpoint(), AccessToken.NONE)));
        assertEquals(Returning.NONE, fetch(MasterRig.ALICE, NOW));
        lend(rig, NOW, null);
        assertEquals(List.of(false), give(ids(), false), "nor does it take anything back into other memory");
    }

    @Test
    void shouldAllocateNothingInTheSegmentUntilItsOwnerIsDone() {
        lend(before, FORMER, null);
        put(before, "a", 3000);
        restart();
        lend(rig, NOW, FORMER);

        assertEquals(new PutStartReply.NoSpace(true), rig.start(MasterRig.ALICE, "new", 10));
        assertEquals(List.of(true), give(ids(), true));
        rig.pass(1);
        assertInstanceOf(PutStartReply.Started.class, rig.start(MasterRig.ALICE, "new", 10));
        assertEquals(List.of(false, false), give(List.of(1L, ids().getFirst()), true), "it is done");
    }

    /** Its owner may stand still in the middle of copying a value into it, for longer than any time. */
    @Test
    void shouldKeepTheSegmentClosedUntilItsOwnerEndsWhenTheTimeToComeBackIsOver() {
        lend(before, FORMER, null);
        put(before, "a", 3000);
        restart();
        final List<Long> ids = ids();
        lend(rig, NOW, FORMER);
        rig.passAlive(WAIT_MS);

        assertEquals(List.of(false), give(ids, false), "the time to come back is over");
        assertEquals(Returning.NONE, fetch(MasterRig.ALICE, FORMER), "which the owner hears");
        rig.passAlive(10 * WAIT_MS);
        assertEquals(new PutStartReply.NoSpace(false), rig.start(MasterRig.ALICE, "new", 10), "it may never open");
        assertTrue(rig.segment(NOW.segmentId()).returning(), "which the list of segments shows");
        assertEquals(0, rig.state().away(), "and nothing else is kept for it");

        assertEquals(List.of(), give(List.of(), true));
        rig.pass(1);
        assertFalse(rig.segment(NOW.segmentId()).returning());
        assertInstanceOf(PutStartReply.Started.class, rig.start(MasterRig.ALICE, "new", 10));
        assertEquals(List.of(), give(List.of(), true), "told twice");
    }

    @Test
    void shouldForgetTheSegmentOfAnOwnerThatIsGoneWithoutAnEnd() {
        lend(before, FORMER, null);
        put(before, "a", 3000);
        restart();
        final List<Long> ids = ids();
        lend(rig, NOW, FORMER);
        rig.silence(MasterRig.ALICE);
        assertEquals(new PutStartReply.NoSpace(true), rig.start(MasterRig.BOB, "new", 10));
        rig.passAlive(MasterRig.CLIENT_TTL_MS);
        rig.settle();

        assertNull(rig.segment(NOW.segmentId()));
        assertEquals(List.of(false), give(ids, true), "it was not gone after all");
        assertEquals(new PutStartReply.NoSpace(false), rig.start(MasterRig.BOB, "new", 10),
            "nobody waits for room in what is gone");
    }

    /** Memory that is the same as before rests for a lease: others may still write there who were sent there. */
    @Test
    void shouldNotOpenASegmentBeforeItHasRestedWhenItsOwnerHasEnded() {
        lend(before, FORMER, null);
        put(before, "a", 3000);
        restart();
        rig.ping(MasterRig.ALICE, "h");
        final SegmentSpec fresh = SnapshotCommands.memory(MasterRig.ALICE, NOW);
        rig.apply(new Mount(MasterRig.ALICE, new SegmentSpec(fresh.name(), fresh.medium(), fresh.capacity(),
            fresh.unit(), NOW, false), FORMER));

        assertEquals(List.of(true), give(ids(), true));
        rig.passAlive(MasterRig.LEASE_MS - 1);
        assertEquals(new PutStartReply.NoSpace(true), rig.start(MasterRig.ALICE, "new", 10));
        rig.passAlive(1);
        assertInstanceOf(PutStartReply.Started.class, rig.start(MasterRig.ALICE, "new", 10));
    }

    /**
     * A segment with a former identity that means nothing here would be open at once, and its owner, whom another
     * master has told what lay there, would copy values of before over those of others.
     */
    @Test
    void shouldRefuseMemoryWhoseFormerIdentityItDoesNotKnow() {
        lend(before, FORMER, null);
        put(before, "a", 3000);
        restart();
        rig.ping(MasterRig.ALICE, "h");
        rig.ping(MasterRig.BOB, "h");
        final SegmentSpec spec = SnapshotCommands.memory(MasterRig.ALICE, NOW);
        assertMountRefused(MasterRig.ALICE, spec, address(3));
        assertMountRefused(MasterRig.ALICE, spec, new SegmentAddress(FORMER.segmentId(), "", AccessToken.NONE));
        assertMountRefused(MasterRig.ALICE, spec, new SegmentAddress(address(3).segmentId(), "", FORMER.accessToken()));
        assertMountRefused(MasterRig.BOB, spec, FORMER);
        assertMountRefused(MasterRig.ALICE, new SegmentSpec(spec.name(), spec.medium(), spec.capacity() + spec.unit(),
            spec.unit(), NOW, true), FORMER);
        rig.passAlive(WAIT_MS);
        assertMountRefused(MasterRig.ALICE, spec, FORMER);

        rig.apply(new Mount(MasterRig.ALICE, spec, null));
        assertInstanceOf(PutStartReply.Started.class, rig.start(MasterRig.ALICE, "new", 10));
    }

    private void assertMountRefused(final UUID client, final SegmentSpec spec, final SegmentAddress former) {
        rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, new Mount(client, spec, former));
        assertNull(rig.segment(NOW.segmentId()));
    }

    @Test
    void shouldNotTakeBackWhatWasRemovedOrReplacedMeanwhile() {
        lend(before, FORMER, null);
        put(before, "removed", 100);
        put(before, "removed by pattern", 100);
        put(before, "replaced", 100);
        put(before, "still there", 100);
        restart();
        final List<Long> ids = ids();
        lend(rig, NOW, FORMER);
        rig.memory(MasterRig.BOB, "bob's", 10_240);
        rig.remove("removed", false);
        rig.removeMatching("", "pattern", false);
        assertInstanceOf(PutStartReply.Started.class,
            rig.start(MasterRig.BOB, "replaced", 200, PutOptions.DEFAULT, true));

        assertEquals(List.of(false, false, false, true), give(ids, true));
        assertFalse(rig.exists("removed"));
        assertTrue(rig.exists("still there"));
    }

    /** A disk that was away longer came back first. */
    @Test
    void shouldTakeBackWhatIsNewerThanWhatAnotherStoreHad() {
        lend(before, FORMER, null);
        final long version = put(before, "a", 100);
        restart();
        rig.ping(MasterRig.BOB, "h");
        rig.disk(MasterRig.BOB);
        assertTrue(rig.adopt(MasterRig.BOB, "a", version - 1, 200));
        lend(rig, NOW, FORMER);

        assertEquals(List.of(true), give(ids(), true));
        assertEquals(version, rig.query("a").version());
        assertEquals(List.of(ReplicaType.MEMORY),
            rig.query("a").replicas().stream().map(Replica::type).toList());
    }

    @Test
    void shouldNotTakeBackWhatIsNotKnown() {
        lend(before, FORMER, null);
        put(before, "a", 100);
        restart();
        lend(rig, NOW, FORMER);

        assertEquals(List.of(false), give(List.of(12345L), false));
        assertEquals(List.of(false), rig.apply(new ReturnReplicas(MasterRig.BOB, NOW.segmentId(), ids(), false)));
        assertEquals(List.of(false), rig.apply(new ReturnReplicas(MasterRig.ALICE, FORMER.segmentId(), ids(), true)));
        assertEquals(List.of(true, false), give(List.of(ids().getFirst(), ids().getFirst()), true), "once");
    }

    /**
     * A device keeps its bytes and its name, and so a descriptor of before would lead to a range of it. But who was
     * sent to that range after the snapshot may still write there, and readers of a part of a value cannot tell.
     */
    @Test
    void shouldTakeNothingBackFromABlockDeviceWhateverTheSnapshotSays() {
        lend(before, FORMER, null);
        before.nof(MasterRig.ALICE, "device", 10_240);
        final PutOptions both = PutOptions.DEFAULT.withNofReplicas(1);
        end(before, "device alone", before.started(MasterRig.ALICE, "device alone", 3000, both.withReplicas(0)));
        end(before, "memory too", before.started(MasterRig.ALICE, "memory too", 3000, both));
        assertEquals(2, before.query("memory too").replicas().size());
        restart();
        lend(rig, NOW, FORMER);
        assertEquals(List.of(true), give(ids(), true));
        rig.apply(new Mount(MasterRig.ALICE, MasterRig.spec(new UUID(9, 9), "device", SegmentCommand.Medium.NOF,
            10_240, false)));
        rig.settle();

        assertEquals(List.of(new ReplicaDescriptor.Memory(NOW, 0, 3000)),
            rig.query("memory too").replicas().stream().map(Replica::descriptor).toList());
        assertFalse(rig.exists("device alone"), "it is a miss, never other bytes");
        assertEquals(0, rig.stats().nofUsed());
        // It rests for as long as a writer of before may be at it, and then is empty.
        final PutOptions alone = both.withReplicas(0);
        assertEquals(new PutStartReply.NoSpace(true),
            rig.start(MasterRig.BOB, "device alone", 3000, alone, false));
        rig.passAlive(MasterRig.RELEASE_MS);
        assertEquals(new ReplicaDescriptor.Nof("device", 0, 10_240), rig.started(MasterRig.BOB, "device alone", 10_240,
            alone).replicas().getFirst().descriptor());
        assertEquals(List.of("memory too"), rig.snapshot().objects().stream().map(one -> one.key().key()).toList());
    }

    private static void end(final MasterRig at, final String key, final PutStartReply.Started started) {
        at.apply(new ObjectCommand.PutEnd(MasterRig.ALICE, MasterRig.key(key), started.version(), Scope.ALL, true,
            key.hashCode()));
    }

    @Test
    void shouldGiveOutNoVersionOfBefore() {
        lend(before, FORMER, null);
        final long last = put(before, "a", 100);
        restart();
        lend(rig, NOW, null);

        assertTrue(put(rig, "b", 100) > last);
    }
}
