package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.GdsReplicasTest.FILE;
import static io.kvtier.store.master.state.GdsReplicasTest.GENERATION;
import static io.kvtier.store.master.state.GdsReplicasTest.UNIT;
import static io.kvtier.store.master.state.GdsReplicasTest.extent;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.GdsCommand;
import io.kvtier.store.protocol.GdsCommand.GdsStorageSpec;
import io.kvtier.store.protocol.ObjectCommand.AddGdsReplicaStart;
import io.kvtier.store.protocol.ObjectCommand.GdsExtent;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which replicas in files of clients count: as copies for others, and as those of a put. */
@ExtendWith(LeakCheck.class)
class GdsCopiesTest {
    private MasterRig rig = new MasterRig();

    @AfterEach
    void close() {
        rig.close();
    }

    /** Alice has memory for four values of a unit, a disk, and a file of ten units, about which she answers there. */
    private void aliceLends(final String endpoint) {
        rig.memory(MasterRig.ALICE, "m", 4 * UNIT);
        rig.disk(MasterRig.ALICE);
        register(endpoint);
    }

    private void register(final String endpoint) {
        assertEquals(Ack.OK, rig.apply(new GdsCommand.RegisterGdsStorage(MasterRig.ALICE,
            new GdsStorageSpec(FILE, GENERATION, endpoint, 10 * UNIT, 10 * UNIT, 10 * UNIT))));
        rig.ping(MasterRig.ALICE, "h");
    }

    private void registerAnew() {
        assertEquals(Ack.OK, rig.apply(new GdsCommand.UnregisterGdsStorage(MasterRig.ALICE, FILE, GENERATION)));
        register("host:9");
    }

    private static AddGdsReplicaStart adding(final long version, final GdsExtent extent) {
        return new AddGdsReplicaStart(MasterRig.ALICE, MasterRig.key("k"), version, extent);
    }

    /** A value in Alice's memory and in her file. */
    private long put() {
        final long version = rig.started(MasterRig.ALICE, "k", 100).version();
        assertNotEquals(AddGdsReplicaStart.STALE, rig.apply(adding(version, extent(0, 1))));
        assertEquals(Ack.OK, rig.end(MasterRig.ALICE, "k", version));
        return version;
    }

    private List<ReplicaType> types() {
        return rig.query("k").replicas().stream().map(Replica::type).toList();
    }

    /** Others would find that the value exists, and miss it for good. */
    @Test
    void shouldSaveMemoryToADiskThoughItsOwnerHasACopyForHimself() {
        aliceLends("");
        put();
        rig.evict(1, 1);
        assertEquals(List.of(MasterRig.key("k")), rig.fetch(MasterRig.ALICE).stream().map(OffloadTask::key).toList());
        assertEquals(List.of(ReplicaType.MEMORY, ReplicaType.GDS), types());
    }

    @Test
    void shouldNotCallItLostWhatItsOwnerHasForHimself() {
        rig.memory(MasterRig.ALICE, "m", 4 * UNIT);
        register("");
        put();
        rig.evict(1, 1);
        assertEquals(List.of(ReplicaType.GDS), types());
        assertEquals(List.of(1L, 0L), List.of(rig.stats().memoryEvictions(), rig.stats().evictionsWithoutCopy()));
    }

    /** Nobody else is there to read it. */
    @Test
    void shouldCountTheFileOfTheMastersOwnProcessAsACopy() {
        rig.close();
        final MasterSettings usual = MasterRig.settings();
        rig = new MasterRig(new MasterSettings(usual.eviction(), usual.leaseMs(), false, usual.diskRetryMs(),
            usual.liveness(), usual.pins(), usual.tasks(), false, usual.strategy()));
        aliceLends("");
        put();
        rig.evict(1, 1);
        assertEquals(List.of(), rig.fetch(MasterRig.ALICE));
        assertEquals(List.of(ReplicaType.GDS), types());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "host:9"})
    void shouldKeepALeasedValueOnADiskWhereItsOwnerHasTheOtherCopyForHimself(final String endpoint) {
        aliceLends(endpoint);
        rig.disk(MasterRig.BOB);
        final long version = put();
        assertTrue(rig.adopt(MasterRig.BOB, "k", version, 100));
        rig.evict(1, 1);
        assertEquals(List.of(ReplicaType.GDS, ReplicaType.LOCAL_DISK), types(), "Bob's disk is a copy for all");
        rig.read("k");
        assertEquals(!endpoint.isEmpty(), rig.evictDisk(MasterRig.BOB, "k", version));
    }

    /** What was in the file before is hidden, and would not be there when the put has ended. */
    @Test
    void shouldAddAReplicaAnewWhenItsFileWasRegisteredAnew() {
        aliceLends("host:9");
        final long version = rig.started(MasterRig.ALICE, "k", 100).version();
        final long before = rig.apply(adding(version, extent(0, 1)));
        registerAnew();
        final long id = rig.apply(adding(version, extent(0, 1)));
        assertNotEquals(before, id);
        assertEquals(id, rig.apply(adding(version, extent(0, 1))), "the same again");
        assertEquals(Ack.OK, rig.end(MasterRig.ALICE, "k", version));
        rig.settle();
        assertEquals(List.of(ReplicaType.MEMORY, ReplicaType.GDS), types());
        final Replica added = rig.query("k").replicas().getLast();
        assertEquals(List.of(id, 0L), List.of(added.id(), ((ReplicaDescriptor.Gds) added.descriptor()).valueOffset()));
        assertEquals(1, rig.stats().gds().replicas());
        rig.remove("k", true);
        rig.advance(MasterRig.LEASE_MS);
        rig.assertEmpty();
    }

    /** The same offset in another file is another place. */
    @Test
    void shouldRefuseASecondReplicaInAnotherFile() {
        aliceLends("host:9");
        final long version = rig.started(MasterRig.ALICE, "k", 100).version();
        final long id = rig.apply(adding(version, extent(2, 1)));
        for (final GdsExtent other : List.of(new GdsExtent(FILE, GENERATION - 1, 2 * UNIT, UNIT),
            new GdsExtent(new UUID(1, 1), GENERATION, 2 * UNIT, UNIT), extent(2, 2), extent(3, 1))) {
            rig.assertRefused(ErrorCode.INVALID_PARAMS, adding(version, other));
        }
        assertEquals(id, rig.apply(adding(version, extent(2, 1))));
    }
}
