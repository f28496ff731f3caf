package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.PageRig.PAGE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.replica.Replica;
import io.kvtier.store.replica.ReplicaDescriptor.DistributedDisk;
import io.kvtier.store.replica.ReplicaType;
import io.kvtier.store.snapshot.SavedObject;
import io.kvtier.store.snapshot.Snapshot;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Values in the shared files across a snapshot: there at once, in their pages, unless that cannot be. */
@ExtendWith(LeakCheck.class)
class PageSnapshotTest {
    private static final long WAIT_MS = 100_000;

    private static MasterSettings settings() {
        return MasterRig.settings().withPages(PageRig.pages(1, 0, false, new MasterSettings.Promotion(false, 2, 10)));
    }

    /** Two values in the files, and one that is being written there. */
    private static Snapshot snapshot() {
        try (PageRig pages = new PageRig(settings())) {
            pages.shared(ALICE, "k", 2);
            pages.sharedAlone(ALICE, "d", 1);
            pages.allocated(ALICE, "written", pages.rig.put(ALICE, "written", PAGE), PAGE);
            return pages.rig.snapshot();
        }
    }

    @Test
    void shouldReadWhatLiesInTheFilesAtOnce() {
        final Snapshot snapshot = snapshot();
        try (MasterRig rig = MasterRig.restored(settings(), snapshot, WAIT_MS)) {
            assertEquals(List.of(ReplicaType.DISTRIBUTED_DISK),
                rig.read("k").replicas().stream().map(Replica::type).toList(), "its memory is not back");
            assertTrue(rig.exists("d"));
            assertFalse(rig.exists("written"), "pages that were being written are free, the memory is not back");
            assertEquals(2, rig.state().pageRecords().size());
            assertEquals(2, rig.stats().objects());
        }
    }

    @Test
    void shouldKeepThemWhenTheRestIsForgotten() {
        try (MasterRig rig = MasterRig.restored(settings(), snapshot(), WAIT_MS)) {
            rig.pass(WAIT_MS);
            rig.settle();

            assertTrue(rig.exists("k"));
            assertEquals(List.of("d", "k"), rig.snapshot().objects().stream().map(object -> object.key().key()).sorted()
                .toList());
        }
    }

    /** Where a snapshot has a value. */
    private static List<ReplicaType> saved(final Snapshot snapshot, final String key) {
        return snapshot.objects().stream().filter(object -> object.key().key().equals(key))
            .flatMap(object -> object.replicas().stream()).map(Replica::type).toList();
    }

    @Test
    void shouldNotSaveAgainWhatIsNoMoreInTheFiles() {
        final Snapshot first;
        final Snapshot second;
        try (PageRig pages = new PageRig(settings())) {
            pages.sharedAlone(ALICE, "d", 1);
            pages.shared(ALICE, "k", 2);
            first = pages.rig.snapshot();
        }
        try (MasterRig rig = MasterRig.restored(settings(), first, WAIT_MS)) {
            rig.remove("k", true);
            rig.remove("d", true);
            rig.settle();
            assertFalse(rig.exists("k") || rig.exists("d"));
            second = rig.snapshot();
        }
        assertEquals(List.of(), saved(second, "d"), "it was in the files alone");
        assertEquals(List.of(ReplicaType.MEMORY), saved(second, "k"), "its memory may come back, unless it is removed");
        try (MasterRig next = MasterRig.restored(settings(), second, WAIT_MS)) {
            assertFalse(next.exists("k") || next.exists("d"));
            assertEquals(List.of(), next.state().pageRecords());
        }
    }

    /** One that is sent there before that finds no room, and would never be tried again. */
    @Test
    void shouldTakeNothingToTheFilesBeforeTheyAreOpen() {
        final MasterSettings atPut =
            MasterRig.settings().withPages(PageRig.pages(1, 0, true, new MasterSettings.Promotion(false, 2, 10)));
        try (MasterRig rig = MasterRig.restored(atPut, snapshot(), WAIT_MS)) {
            rig.memory(ALICE, "alice", 256 * PAGE);
            rig.apply(new PageCommand.MountDistributedDisk(ALICE, PageRig.LAYOUT, null, false));
            rig.put(ALICE, "early", PAGE);
            assertEquals(List.of(), rig.fetch(ALICE));
            rig.passAlive(MasterRig.RELEASE_MS + MasterRig.LEASE_MS);
            rig.put(ALICE, "late", PAGE);
            assertEquals(List.of("late"), rig.fetch(ALICE).stream().map(task -> task.key().key()).toList());
            rig.evict(1, 1);
            assertEquals(List.of("early", "late"), rig.fetch(ALICE).stream().map(task -> task.key().key()).sorted()
                .toList(), "it goes there when its memory is wanted");
        }
    }

    /** The pages of values that were removed after the restore are those of others by the next snapshot. */
    @Test
    void shouldBeginWithASnapshotOfPagesThatAnotherValueHasNow() {
        final Snapshot second;
        try (MasterRig rig = MasterRig.restored(settings(), snapshot(), WAIT_MS * 1000)) {
            rig.remove("k", true);
            rig.remove("d", true);
            rig.memory(ALICE, "alice", 256 * PAGE);
            rig.advance(MasterRig.RELEASE_MS + MasterRig.LEASE_MS);
            rig.apply(new PageCommand.MountDistributedDisk(ALICE, PageRig.LAYOUT, null, false));
            for (int i = 0; i < PageRig.BUCKETS * PageRig.PAGES; i++) {
                final long version = rig.put(ALICE, "new" + i, PAGE);
                final var pages = rig.apply(new PageCommand.AllocateDistributedPage(ALICE,
                    new PageCommand.PageRequest(MasterRig.key("new" + i), version, PAGE, 0)));
                rig.apply(new PageCommand.NotifyDistributedDiskSuccess(ALICE, List.of(new PageCommand.StoredPages(
                    MasterRig.key("new" + i), version, pages.replicaId(), PageRig.SUM))));
            }
            second = rig.snapshot();
        }
        try (MasterRig next = MasterRig.restored(settings(), second, WAIT_MS)) {
            assertEquals(PageRig.BUCKETS * PageRig.PAGES, next.state().pageRecords().size());
            assertFalse(next.exists("k") || next.exists("d"));
            assertTrue(next.exists("new0"));
        }
    }

    @Test
    void shouldHaveEmptyFilesWhenTheSnapshotHasNothingInThem() {
        final Snapshot snapshot;
        try (MasterRig before = new MasterRig()) {
            before.memory(ALICE, "alice", 256 * PAGE);
            before.put(ALICE, "a", 100);
            snapshot = before.snapshot();
        }
        try (MasterRig rig = MasterRig.restored(settings(), snapshot, WAIT_MS)) {
            assertEquals(List.of(), rig.state().pageRecords());
            assertEquals(0, rig.stats().objects());
        }
    }

    private static void assertRefused(final MasterSettings settings, final Snapshot snapshot, final String why) {
        try (MasterRig rig = new MasterRig(settings, snapshot.head().term() + 1, 1_000_000)) {
            final StoreException refusal =
                assertThrows(StoreException.class, () -> rig.state().restore(snapshot, 1_000_000, WAIT_MS));
            assertEquals(ErrorCode.INVALID_PARAMS, refusal.code());
            assertTrue(refusal.getMessage().contains(why), refusal.getMessage());
        }
    }

    @Test
    void shouldRefuseTwoValuesOnOnePage() {
        final Snapshot snapshot = snapshot();
        final List<SavedObject> objects = new ArrayList<>();
        for (final SavedObject object : snapshot.objects()) {
            objects.add(object.withReplicas(object.replicas().stream().map(replica ->
                replica.descriptor() instanceof DistributedDisk file ? new Replica(replica.id(), replica.status(),
                    new DistributedDisk(PageRig.LAYOUT.path(0), 0, file.objectSize())) : replica).toList()));
        }
        assertRefused(settings(), new Snapshot(snapshot.head(), objects), "another object lies on the same pages");
    }

    @Test
    void shouldRefuseFilesThatItDoesNotHave() {
        assertRefused(MasterRig.settings(), snapshot(), "the settings of this master know no such file");
    }

    @Test
    void shouldCopyAValueBeforeItsPagesGo() {
        try (PageRig pages = new PageRig(settings())) {
            pages.shared(ALICE, "k", 2);
            pages.rig.snapshots().begin();
            pages.rig.remove("k", true);
            pages.rig.settle();
            final SavedObject saved = pages.rig.snapshots().next(Integer.MAX_VALUE).objects().getFirst();
            pages.rig.snapshots().end();

            assertEquals(List.of(ReplicaType.MEMORY, ReplicaType.DISTRIBUTED_DISK),
                saved.replicas().stream().map(Replica::type).toList());
            assertFalse(pages.rig.exists("k"));
        }
    }
}
