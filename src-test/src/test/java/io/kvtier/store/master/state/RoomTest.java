package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.PutOptions;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.SegmentCommand;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What is evicted for a new value, and what is not. */
@ExtendWith(LeakCheck.class)
class RoomTest {
    private final TenantRig rig = new TenantRig(false);

    @AfterEach
    void close() {
        rig.close();
    }

    @Test
    void shouldKeepTheReplacedValueWhenRoomIsMadeForTheNewOne() {
        rig.memory(TenantRig.ANN, "m", 640);
        rig.store("old", 320);
        rig.store("young", 320);
        final PutStartReply.Started put = rig.started(rig.put(TenantRig.ANN, "old", 200, PutOptions.DEFAULT,
            true));
        assertTrue(rig.has("old"));
        assertFalse(rig.has("young"), "it had to go, since the oldest one is being replaced");
        rig.ended("old", put);
        assertEquals(200, rig.query("old").size());
        assertEquals(new PutStartReply.NoSpace(false), rig.apply(rig.put(TenantRig.ANN, "old", 600,
            PutOptions.DEFAULT, true)));
        assertEquals(200, rig.query("old").size());
        rig.remove("old");
        rig.assertEmpty();
    }

    @Test
    void shouldNotTakeWhatGoesWithItsSegmentForRoom() {
        rig.memory(TenantRig.ANN, "going", 640);
        rig.memory(TenantRig.BEN, "m", 320);
        rig.storeIn("lost", 320, "going");
        rig.storeIn("old", 320, "m");
        rig.unmount("going");
        rig.started("new", 320);
        assertFalse(rig.has("old"));
    }

    @Test
    void shouldNotWaitForRoomThatRestsInASegmentThatIsGone() {
        rig.memory(TenantRig.ANN, "going", 640);
        rig.memory(TenantRig.BEN, "m", 320);
        rig.store("hard", 320, PutOptions.DEFAULT.withHardPin(true).withPreferredSegments("m"));
        rig.storeIn("leased", 320, "going");
        rig.read("leased");
        rig.remove("leased");
        rig.unmount("going");
        assertEquals(new PutStartReply.NoSpace(false), rig.apply(rig.put("new", 320)));
        rig.settle();
        assertEquals(new PutStartReply.NoSpace(false), rig.apply(rig.put("new", 320)));
    }

    @Test
    void shouldLeaveAnUnfinishedWriteAloneWhenThereIsNoRoomForItsSuccessor() {
        rig.memory(TenantRig.ANN, "m", 640);
        final PutStartReply.Started first = rig.started("k", 320);
        assertEquals(new PutStartReply.NoSpace(true), rig.apply(rig.put(TenantRig.BEN, "k", 640, PutOptions.DEFAULT,
            true)));
        rig.ended("k", first);
        assertEquals(320, rig.query("k").size());
    }

    @Test
    void shouldNotOverwriteAValueWhereItLiesWhenItsSegmentIsBeingTakenBack() {
        rig.memory(TenantRig.ANN, "m", 640);
        rig.memory(TenantRig.BEN, "n", 640);
        rig.storeIn("k", 320, "m");
        rig.apply(new SegmentCommand.Unmount(TenantRig.ANN, rig.id("m"), 5000));
        final PutStartReply.Started put = rig.started(rig.put(TenantRig.ANN, "k", 320, PutOptions.DEFAULT, true));
        assertEquals(Set.of("n"), rig.places(put.replicas()));
        assertEquals(Set.of("m"), rig.places("k"), "readable until then");
        rig.ended("k", put);
        assertEquals(Set.of("n"), rig.places("k"));
    }

    @Test
    void shouldEvictNothingWhileNoSegmentTakesAnything() {
        rig.memory(TenantRig.ANN, "m", 640);
        rig.store("a", 64);
        rig.apply(new SegmentCommand.Unmount(TenantRig.ANN, rig.id("m"), 5000));
        assertInstanceOf(PutStartReply.NoSpace.class, rig.apply(rig.put("b", 64)));
        assertTrue(rig.has("a"));
    }
}
