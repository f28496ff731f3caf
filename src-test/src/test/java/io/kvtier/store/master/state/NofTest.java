package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.SoftPin;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.MasterStats;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.ObjectCommand.Scope;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.replica.ReplicaDescriptor;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Block devices that clients reach by themselves: lent, written beside memory or alone, evicted from, lost. */
@ExtendWith(LeakCheck.class)
class NofTest {
    private static final PutOptions NOF_ONLY = PutOptions.DEFAULT.withNofReplicas(1).withReplicas(0);
    private static final PutOptions ONE_OF_EACH = PutOptions.DEFAULT.withNofReplicas(1);
    private static final PutOptions TWO_AND_ONE = PutOptions.DEFAULT.withReplicas(2).withNofReplicas(1);

    private final TenantRig rig = new TenantRig(false, MasterSettings.Tasks.DEFAULT,
        new MasterSettings.Eviction(1, 0, 0.5, 0.25, true));

    @AfterEach
    void close() {
        rig.close();
    }

    private MasterStats stats() {
        return rig.apply(new AdminCommand.Statistics());
    }

    private PutStartReply start(final String key, final long size, final PutOptions options) {
        return rig.apply(rig.put(TenantRig.ANN, key, size, options, false));
    }

    @Test
    void shouldNameTheDeviceAndTheRangeByWhichEveryClientReachesIt() {
        rig.mount(TenantRig.ANN, "nqn.2014-08.org:x", Medium.NOF, 1 << 16);
        rig.store("k", 100, NOF_ONLY);
        assertEquals(new ReplicaDescriptor.Nof("nqn.2014-08.org:x", 0, 100),
            rig.query("k").replicas().getFirst().descriptor());
        assertEquals(128, stats().nofUsed());
        assertEquals(1 << 16, stats().nofCapacity());
        assertEquals(0, stats().memoryReplicas());
        rig.remove("k");
        assertEquals(0, stats().nofUsed());
    }

    @Test
    void shouldLendADeviceOnlyOnceWhoeverLendsIt() {
        rig.mount(TenantRig.ANN, "dev", Medium.NOF, 4096);
        rig.refused(ErrorCode.SEGMENT_ALREADY_EXISTS, new SegmentCommand.Mount(TenantRig.BEN,
            TenantRig.spec(new UUID(9, 9), "dev", Medium.NOF, 4096)));
        rig.memory(TenantRig.BEN, "dev", 4096);
        rig.store("k", 64, NOF_ONLY);
        rig.advanceWith(TenantRig.TTL_MS - 1, TenantRig.BEN);
        assertTrue(rig.has("k"));
        rig.apply(new SegmentCommand.Unmount(TenantRig.ANN, device(), 0));
        rig.refused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, new SegmentCommand.Mount(TenantRig.BEN,
            TenantRig.spec(new UUID(9, 9), "dev", Medium.NOF, 4096)));
        rig.settle();
        rig.mount(TenantRig.BEN, "dev", Medium.NOF, 4096);
        assertFalse(rig.has("k"));
    }

    private UUID device() {
        return rig.apply(new SegmentCommand.Segments()).stream().filter(info -> info.medium() == Medium.NOF)
            .findFirst().orElseThrow().segmentId();
    }

    @Test
    void shouldEvictFromDevicesByTheirOwnWatermarkAndLeaveMemoryAlone() {
        rig.memory(TenantRig.ANN, "m", 1024);
        rig.mount(TenantRig.ANN, "dev", Medium.NOF, 1024);
        for (int i = 0; i < 8; i++) {
            rig.store("m" + i, 64);
            rig.store("n" + i, 64, NOF_ONLY);
        }
        assertEquals(512, stats().nofUsed());
        rig.store("n8", 64, NOF_ONLY);
        // Above half: down to a quarter, 256 bytes, with the new value.
        assertEquals(256, stats().nofUsed());
        assertFalse(rig.has("n4"));
        assertTrue(rig.has("n5"));
        assertEquals(5, stats().nofEvictions());
        assertEquals(0, stats().memoryEvictions());
        for (int i = 0; i < 8; i++) {
            assertTrue(rig.has("m" + i));
        }
    }

    @Test
    void shouldUnmountADeviceThatFailsThreeProbesInARow() {
        rig.memory(TenantRig.ANN, "m", 1024);
        rig.mount(TenantRig.ANN, "dev", Medium.NOF, 1024);
        rig.store("both", 64, ONE_OF_EACH);
        rig.store("only", 64, NOF_ONLY);
        for (final boolean healthy : new boolean[] {false, false, true, false, false}) {
            assertEquals(Ack.OK, rig.apply(new SegmentCommand.Probed(rig.id("dev"), healthy)));
        }
        assertTrue(rig.has("only"));
        assertEquals(Ack.OK, rig.apply(new SegmentCommand.Probed(rig.id("dev"), false)));
        assertFalse(rig.has("only"), "at once");
        assertEquals(Set.of("m"), rig.places("both"));
        rig.settle();
        assertEquals(Ack.STALE, rig.apply(new SegmentCommand.Probed(rig.id("dev"), false)));
        assertEquals(0, stats().nofCapacity());
        rig.refused(ErrorCode.INVALID_PARAMS, new SegmentCommand.Probed(rig.id("m"), false));
    }

    /** Who was sent to the device before may still write there, and nothing keeps him from it. */
    @Test
    void shouldLetADeviceThatWasLentBeforeRestUntilNoWriterCanBeAtIt() {
        rig.mount(TenantRig.ANN, "new", Medium.NOF, 1024);
        rig.store("k", 64, NOF_ONLY);
        rig.unmount("new");
        rig.settle();
        final SegmentCommand.SegmentSpec spec = TenantRig.spec(new UUID(9, 9), "known", Medium.NOF, 1024);
        assertEquals(Ack.OK, rig.apply(new SegmentCommand.Mount(TenantRig.ANN, new SegmentCommand.SegmentSpec(
            spec.name(), spec.medium(), spec.capacity(), spec.unit(), spec.address(), false))));
        assertEquals(new PutStartReply.NoSpace(true), start("k", 64, NOF_ONLY));
        rig.advance(TenantRig.RELEASE_MS - 1);
        assertEquals(new PutStartReply.NoSpace(true), start("k", 64, NOF_ONLY));
        rig.advance(1);
        rig.store("k", 64, NOF_ONLY);
        assertEquals(Set.of("known"), rig.places("k"));
    }

    @Test
    void shouldForgetAReplicaWhoseBytesAreWrong() {
        rig.memory(TenantRig.ANN, "m", 1024);
        rig.mount(TenantRig.ANN, "dev", Medium.NOF, 1024);
        rig.store("both", 64, ONE_OF_EACH);
        rig.store("only", 64, NOF_ONLY);
        for (final String key : List.of("both", "only")) {
            final ReadReply object = rig.query(key);
            final ObjectCommand.ReplicaUnreadable report = new ObjectCommand.ReplicaUnreadable(TenantRig.key(key),
                object.version(), object.replicas().getLast().id());
            assertEquals(Ack.OK, rig.apply(report));
            assertEquals(Ack.STALE, rig.apply(report));
        }
        assertEquals(Set.of("m"), rig.places("both"));
        assertFalse(rig.has("only"));
        assertEquals(0, stats().nofUsed());
        // A copy in memory stays: its owner may only be out of the reader's reach.
        final ReadReply object = rig.query("both");
        assertEquals(Ack.STALE, rig.apply(new ObjectCommand.ReplicaUnreadable(TenantRig.key("both"), object.version(),
            object.replicas().getFirst().id())));
        rig.store("only", 64, NOF_ONLY);
        assertTrue(rig.has("only"));
    }

    @Test
    void shouldCompleteEachSideByItself() {
        rig.memory(TenantRig.ANN, "m", 1024);
        rig.mount(TenantRig.ANN, "dev", Medium.NOF, 1024);
        final PutStartReply.Started put = rig.started(rig.put(TenantRig.ANN, "k", 64, ONE_OF_EACH, false));
        assertEquals(2, put.replicas().size());
        assertEquals(Ack.OK, rig.apply(TenantRig.end("k", put, Scope.MEMORY)));
        assertEquals(Set.of("m"), rig.places("k"));
        assertEquals(1, stats().pendingWrites());
        assertEquals(Ack.OK, rig.apply(TenantRig.end("k", put, Scope.NOF)));
        assertEquals(Set.of("m", "dev"), rig.places("k"));
        assertEquals(0, stats().pendingWrites());
        rig.store("both", 64, ONE_OF_EACH);
        assertEquals(Set.of("m", "dev"), rig.places("both"));
    }

    @Test
    void shouldKeepThePinOfAWriteThatIsRevokedInPart() {
        rig.memory(TenantRig.ANN, "m", 1024);
        rig.mount(TenantRig.ANN, "dev", Medium.NOF, 1024);
        final PutStartReply.Started put = rig.started(rig.put(TenantRig.ANN, "k", 64,
            ONE_OF_EACH.withSoftPin(SoftPin.ENABLE), false));
        assertEquals(Ack.OK, rig.apply(TenantRig.revoke("k", put, Scope.MEMORY)));
        assertEquals(0, stats().softPinned());
        assertEquals(Ack.OK, rig.apply(TenantRig.end("k", put, Scope.NOF)));
        assertEquals(1, stats().softPinned());
        assertEquals(Set.of("dev"), rig.places("k"));
    }

    @Test
    void shouldDoWithEitherSideWhenOneOfEachIsAskedFor() {
        rig.mount(TenantRig.ANN, "dev", Medium.NOF, 1024);
        rig.store("nof", 64, ONE_OF_EACH);
        assertEquals(Set.of("dev"), rig.places("nof"));
        rig.memory(TenantRig.ANN, "m", 1 << 16);
        rig.store("large", 2048, ONE_OF_EACH);
        assertEquals(Set.of("m"), rig.places("large"), "too large for the device alone");
        assertTrue(rig.has("nof"), "nothing is evicted for what never fits");
        assertEquals(new PutStartReply.TooLarge(1 << 16), start("larger", (1 << 16) + 1, ONE_OF_EACH));
        assertEquals(new PutStartReply.TooLarge(1024), start("larger", 2048, TWO_AND_ONE));
    }

    @Test
    void shouldDoWithNothingLessWhenSeveralOfDifferentKindsAreAskedFor() {
        rig.memory(TenantRig.ANN, "m", 1024);
        rig.mount(TenantRig.ANN, "dev", Medium.NOF, 1024);
        assertEquals(new PutStartReply.NoSpace(false), start("k", 64, TWO_AND_ONE));
        assertEquals(List.of(0L, 0L, 0L, 0L), List.of(stats().memoryUsed(), stats().nofUsed(), stats().objects(),
            stats().heldReplicas()));
        rig.memory(TenantRig.BEN, "n", 1024);
        rig.store("k", 64, TWO_AND_ONE);
        assertEquals(Set.of("m", "n", "dev"), rig.places("k"));
        assertEquals(new PutStartReply.NoSpace(false), start("l", 64, TWO_AND_ONE.withNofReplicas(2)));
        assertEquals(List.of(128L, 64L, 1L, 0L), List.of(stats().memoryUsed(), stats().nofUsed(), stats().objects(),
            stats().heldReplicas()));
    }

    @Test
    void shouldMakeAsManyCopiesAsThereAreSegmentsWhenTheyAreOfOneKind() {
        rig.mount(TenantRig.ANN, "dev", Medium.NOF, 1024);
        assertEquals(1, assertInstanceOf(PutStartReply.Started.class, start("k", 64, NOF_ONLY.withNofReplicas(3)))
            .replicas().size());
        rig.memory(TenantRig.ANN, "m", 1024);
        assertEquals(1, assertInstanceOf(PutStartReply.Started.class, start("l", 64,
            PutOptions.DEFAULT.withReplicas(5))).replicas().size());
    }

    @Test
    void shouldReadFromTheDeviceWhenMemoryHasBeenEvicted() {
        rig.memory(TenantRig.ANN, "m", 1024);
        rig.mount(TenantRig.ANN, "dev", Medium.NOF, 1024);
        rig.store("k", 64, ONE_OF_EACH);
        rig.apply(new AdminCommand.Evict(1, 1));
        assertEquals(Set.of("dev"), rig.places("k"));
        assertEquals(0, stats().evictionsWithoutCopy());
    }
}
