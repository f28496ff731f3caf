package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.LEASE_MS;
import static io.kvtier.store.master.state.MasterRig.RELEASE_MS;
import static io.kvtier.store.master.state.PageRig.PAGE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.master.state.PageRecords.PageRecord;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.PageCommand.PageOutcome;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor.DistributedDisk;
import io.kvtier.store.replica.ReplicaType;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What a snapshot has of the shared files, and what comes back from it. */
@ExtendWith(LeakCheck.class)
class PageRecordsTest {
    private static PageRecord record(final String key, final int bucket, final long page, final long size) {
        return new PageRecord(ObjectKey.of(key), 5,
            new DistributedDisk(PageRig.LAYOUT.path(bucket), page * PAGE, size), 7);
    }

    private static String problem(final List<PageRecord> records) {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final String before = rig.dump();
            final StoreException refusal = assertThrows(StoreException.class,
                () -> rig.state().restorePages(records, rig.nowMs()));
            assertEquals(ErrorCode.INVALID_PARAMS, refusal.code());
            assertEquals(before, rig.dump(), "nothing has changed");
            assertEquals(PageRig.BUCKETS * PageRig.PAGES, freePages(pages));
            return refusal.getMessage();
        }
    }

    /** As many as can be allocated one by one. */
    private static int freePages(final PageRig pages) {
        int free = 0;
        while (true) {
            final long version = pages.rig.put(ALICE, "free" + free, 1);
            if (pages.allocate(ALICE, "free" + free, version, 1, 0).outcome() != PageOutcome.ALLOCATED) {
                return free;
            }
            free++;
        }
    }

    @Test
    void shouldSaveWhatIsCompleteAndNothingElse() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long first = pages.shared(ALICE, "k", 2);
            final long second = pages.sharedAlone(ALICE, "d", 1);
            pages.shared(ALICE, "c", 1);
            rig.remove("c", true);
            final long version = rig.put(ALICE, "g", PAGE);
            pages.allocated(ALICE, "g", version, PAGE);

            assertEquals(List.of(
                new PageRecord(ObjectKey.of("d"), second, new DistributedDisk("/mnt/m/bucket_00.data", 0, PAGE), 99),
                new PageRecord(ObjectKey.of("k"), first, new DistributedDisk("/mnt/m/bucket_03.data", 0, 2 * PAGE),
                    99)), rig.state().pageRecords());
        }
    }

    @Test
    void shouldReadRestoredValuesAtOnceAndAllocateWhenWritersOfBeforeHaveStopped() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            assertEquals(2, rig.state().restorePages(
                List.of(record("k", 3, 1, 2 * PAGE), record("a", 0, 7, 1)), rig.nowMs()));
            assertEquals(List.of(1L, 0L, 0L, 2L), pages.used());
            assertEquals(5, pages.mapping("k").version());
            assertEquals(7, pages.mapping("k").checksum());
            assertEquals(new DistributedDisk("/mnt/m/bucket_00.data", 7 * PAGE, 1), pages.mapping("a").place(),
                "the path says where, whatever the key's home");
            assertEquals(List.of(ReplicaType.DISTRIBUTED_DISK),
                rig.read("k").replicas().stream().map(replica -> replica.type()).toList());
            assertEquals(2, rig.stats().objects());
            assertEquals(2, rig.state().pageRecords().size());

            final long version = rig.put(ALICE, "b", PAGE);
            assertEquals(PageOutcome.NO_SPACE, pages.allocate(ALICE, "b", version, PAGE, 0).outcome());
            rig.advance(RELEASE_MS + LEASE_MS - 1);
            assertEquals(PageOutcome.NO_SPACE, pages.allocate(ALICE, "b", version, PAGE, 0).outcome(),
                "as after a reaping: what the kernel had in its hands when the writer's time was over comes yet");
            rig.advance(1);
            assertEquals(new DistributedDisk("/mnt/m/bucket_03.data", 0, PAGE),
                pages.allocated(ALICE, "b", version, PAGE).place(), "around what is there");
            final long other = rig.put(ALICE, "h", PAGE);
            assertEquals(3 * PAGE, pages.allocated(ALICE, "h", other, PAGE).place().offset());
            assertTrue(version > 5, "versions of before are not given out again");
        }
    }

    @Test
    void shouldRemoveAndEvictWhatWasRestored() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            rig.state().restorePages(List.of(record("k", 3, 1, 2 * PAGE), record("a", 0, 7, 1)), rig.nowMs());
            rig.remove("k", false);
            rig.remove("a", false);
            rig.advance(LEASE_MS);
            rig.assertEmpty();
            assertEquals(0, rig.state().restorePages(List.of(), rig.nowMs()));
        }
    }

    @Test
    void shouldTakeAValueBackFromASnapshotOfItsOwn() {
        final List<PageRecord> saved;
        try (PageRig pages = new PageRig()) {
            for (int i = 0; i < 6; i++) {
                pages.shared(ALICE, "v" + i, 1 + i % 3);
            }
            saved = pages.rig.state().pageRecords();
        }
        try (PageRig pages = new PageRig()) {
            assertEquals(6, pages.rig.state().restorePages(saved, pages.rig.nowMs()));
            assertEquals(saved, pages.rig.state().pageRecords());
            assertEquals(12, pages.usedPages());
        }
    }

    /** Its key has a value already, which a client offered before; or two records name one object. */
    @Test
    void shouldNotTakeAValueThatIsNotWanted() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            rig.disk(BOB);
            assertTrue(rig.adopt(BOB, "k", 6, PAGE));
            rig.remove("gone", true);
            assertEquals(1, rig.state().restorePages(List.of(record("k", 3, 0, PAGE), record("gone", 0, 0, PAGE),
                record("a", 1, 0, PAGE), record("a", 1, 1, PAGE)), rig.nowMs()));
            assertEquals(1, pages.usedPages());
            assertEquals(0, MasterRig.replicas(rig.query("k"), ReplicaType.DISTRIBUTED_DISK));
            assertFalse(rig.exists("gone"));
        }
    }

    @Test
    void shouldAddThePagesToAnObjectThatIsThereWithTheSameValue() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            rig.disk(BOB);
            assertEquals(List.of(true), rig.apply(new DiskCommand.AdoptDisk(BOB,
                List.of(new DiskCommand.StoredObject(ObjectKey.of("k"), 5, PAGE, 7)))));
            assertEquals(1, rig.state().restorePages(List.of(record("k", 3, 0, PAGE)), rig.nowMs()));
            assertEquals(2, rig.query("k").replicas().size());
        }
    }

    @Test
    void shouldRefuseRecordsThatOverlapOrLieNowhere() {
        assertTrue(problem(List.of(record("a", 0, 0, 2 * PAGE), record("b", 0, 2, 1), record("c", 0, 1, 1)))
            .contains("another object lies on the same pages"));
        assertTrue(problem(List.of(record("a", 0, 0, 1), record("a", 0, 0, 1)))
            .contains("another object lies on the same pages"));
        assertTrue(problem(List.of(record("a", 0, 0, 1), record("b", 0, 7, PAGE + 1)))
            .contains("the file ends at 32768"));
        final PageRecord elsewhere =
            new PageRecord(ObjectKey.of("a"), 5, new DistributedDisk("/mnt/n/bucket_00.data", 0, 1), 7);
        assertTrue(problem(List.of(record("b", 0, 0, 1), elsewhere)).contains("know no such file"));
    }

    @Test
    void shouldRefuseAPlaceThatNoPageBeginsAt() {
        final PageLayout layout = new PageLayout("/mnt/m", 1, 2 * PAGE, 4 * PAGE);
        final MasterSettings.Promotion none = new MasterSettings.Promotion(false, 2, 1);
        try (MasterRig rig = new MasterRig(MasterRig.settings().withPages(
            new MasterSettings.Pages(layout, "blue", 1, 0, false, none)))) {
            final String problem = assertThrows(StoreException.class,
                () -> rig.state().restorePages(List.of(record("a", 0, 1, 1)), rig.nowMs())).getMessage();
            assertTrue(problem.contains("no page of 8192 bytes begins there"), problem);
        }
    }

    @Test
    void shouldRestoreOnlyIntoFilesInWhichNothingIs() {
        try (PageRig pages = new PageRig()) {
            pages.shared(ALICE, "k", 1);
            assertThrows(IllegalStateException.class,
                () -> pages.rig.state().restorePages(List.of(), pages.rig.nowMs()));
        }
    }

    /** A snapshot of before page mode, or of a master without it. */
    @Test
    void shouldRestoreNoRecordsToEmptyFiles() {
        try (PageRig pages = new PageRig(); MasterRig without = new MasterRig()) {
            assertEquals(0, pages.rig.state().restorePages(List.of(), pages.rig.nowMs()));
            assertEquals(0, pages.usedPages());
            assertEquals(0, without.state().restorePages(List.of(), without.nowMs()));
            assertEquals(List.of(), without.state().pageRecords());
            assertTrue(assertThrows(StoreException.class, () -> without.state().restorePages(
                List.of(record("a", 0, 0, 1)), 0)).getMessage().contains("know no such file"));
        }
    }

    @Test
    void shouldKnowNoAllocationOfBefore() {
        try (PageRig pages = new PageRig()) {
            pages.rig.state().restorePages(List.of(record("k", 3, 0, PAGE)), pages.rig.nowMs());
            assertEquals(Ack.STALE, pages.stored(ALICE, "k", 5, 1, 7));
            assertEquals(PageOutcome.STORED, pages.allocate(ALICE, "k", 5, PAGE, 0).outcome());
        }
    }
}
