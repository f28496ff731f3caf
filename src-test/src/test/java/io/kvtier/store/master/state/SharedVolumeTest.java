package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.CAROL;
import static io.kvtier.store.master.state.MasterRig.CLIENT_TTL_MS;
import static io.kvtier.store.master.state.MasterRig.LEASE_MS;
import static io.kvtier.store.master.state.MasterRig.RELEASE_MS;
import static io.kvtier.store.master.state.PageRig.PAGE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOptions;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.PageCommand.MountDistributedDisk;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.protocol.PageCommand.UnmountDistributedDisk;
import io.kvtier.store.snapshot.Snapshot;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Who has the shared files mounted, and whether it is the same folder of the same file system that they have. */
@ExtendWith(LeakCheck.class)
class SharedVolumeTest {
    private static final UUID ONE = UUID.fromString("11111111-1111-4111-8111-111111111111");
    private static final UUID TWO = UUID.fromString("22222222-2222-4222-8222-222222222222");

    /** What the master says of the volume to a client that has found one; null for none. */
    private static UUID mount(final MasterRig rig, final UUID client, final UUID found) {
        return rig.apply(new MountDistributedDisk(client, PageRig.LAYOUT, found, false)).volume();
    }

    private static String refusal(final MasterRig rig, final UUID client, final UUID found) {
        final StoreException refusal = assertThrows(StoreException.class, () -> mount(rig, client, found));
        assertEquals(ErrorCode.INVALID_PARAMS, refusal.code());
        return refusal.getMessage();
    }

    private static MasterSettings settings() {
        return MasterRig.settings().withPages(PageRig.pages(1, 0, false, new MasterSettings.Promotion(false, 2, 10)));
    }

    @Test
    void shouldRefuseAClientThatHasFoundAnotherVolumeAndNameBoth() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            rig.ping(ALICE, "host-a");
            rig.ping(CAROL, "host-c");
            assertEquals(ONE, mount(rig, ALICE, ONE));
            assertEquals(ONE, mount(rig, BOB, null), "one that has not found any is told");

            assertEquals("INVALID_PARAMS: client " + CAROL + " on host host-c has volume " + TWO + " at /mnt/m, and "
                + "client " + ALICE + " on host host-a has volume " + ONE + " there: they are not the same folder of "
                + "the same file system, or it is not mounted on one of the hosts; kvtier.cluster in the folder names "
                + "the volume: mount the same one everywhere, at the same place", refusal(rig, CAROL, TWO));
            rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, new PageCommand.AllocateDistributedPage(CAROL,
                new PageRequest(MasterRig.key("k"), 1, PAGE, 0)));
            assertEquals(ONE, mount(rig, CAROL, ONE));
        }
    }

    @Test
    void shouldTakeAnotherVolumeWhenNobodyHasThatOfBeforeAndNothingLiesThere() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            mount(rig, ALICE, ONE);
            pages.sharedAlone(ALICE, "k", 1);
            assertTrue(refusal(rig, ALICE, TWO).contains("the values that this master knows lie in volume " + ONE),
                "nobody else has it, and it would miss what lies there");
            assertEquals(Ack.OK, rig.apply(new UnmountDistributedDisk(ALICE)));
            refusal(rig, BOB, TWO);
            assertEquals(ONE, mount(rig, BOB, null));

            rig.remove("k", true);
            rig.passAlive(RELEASE_MS + LEASE_MS);
            assertEquals(0, pages.usedPages());
            assertEquals(null, mount(rig, BOB, null), "any will do");
            assertEquals(TWO, mount(rig, BOB, TWO));
            assertTrue(refusal(rig, ALICE, ONE).contains(TWO.toString()));
        }
    }

    @Test
    void shouldForgetWhoFoundAVolumeWhenItDies() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            mount(rig, ALICE, ONE);
            rig.silence(ALICE);
            rig.advance(CLIENT_TTL_MS);
            assertEquals(TWO, mount(rig, BOB, TWO));
        }
    }

    @Test
    void shouldKnowTheVolumeAfterARestore() {
        final Snapshot snapshot;
        try (PageRig pages = new PageRig(settings())) {
            mount(pages.rig, ALICE, ONE);
            pages.sharedAlone(ALICE, "k", 1);
            snapshot = pages.rig.snapshot();
        }
        assertEquals(ONE, snapshot.head().sharedVolume());
        try (MasterRig rig = MasterRig.restored(settings(), snapshot, 1_000)) {
            assertTrue(refusal(rig, CAROL, TWO).contains(ONE.toString()), "the first one that comes is elsewhere");
            assertEquals(ONE, mount(rig, CAROL, ONE));
        }
    }

    @Test
    void shouldGiveOneThatOnlyReadsNothingToWrite() {
        try (PageRig pages = new PageRig(PageRig.pages(1, 0, true, new MasterSettings.Promotion(false, 2, 10)))) {
            final MasterRig rig = pages.rig;
            rig.memory(CAROL, "carol", 16 * PAGE);
            rig.apply(new MountDistributedDisk(CAROL, PageRig.LAYOUT, ONE, true));
            final long version =
                rig.put(CAROL, "k", PAGE, PutOptions.DEFAULT.withPreferredSegments("carol"));
            assertTrue(rig.fetch(CAROL).isEmpty());
            rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, new PageCommand.AllocateDistributedPage(CAROL,
                new PageRequest(MasterRig.key("k"), version, PAGE, 0)));
            assertFalse(rig.read("k").replicas().isEmpty());
            assertEquals(Ack.OK, rig.apply(new UnmountDistributedDisk(CAROL)));
            assertEquals(Ack.STALE, rig.apply(new UnmountDistributedDisk(CAROL)));
        }
    }
}
