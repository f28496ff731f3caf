package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.CLIENT_TTL_MS;
import static io.kvtier.store.master.state.MasterRig.LEASE_MS;
import static io.kvtier.store.master.state.MasterRig.RELEASE_MS;
import static io.kvtier.store.master.state.PageRig.IN_ALICE;
import static io.kvtier.store.master.state.PageRig.IN_BOB;
import static io.kvtier.store.master.state.PageRig.PAGE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.PutOutcome;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.AdminCommand;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.DiskCommand.OffloadResult;
import io.kvtier.store.protocol.DiskCommand;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.ReplicaType;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Copies from memory to the shared files: who is asked for them, and what becomes of the memory. */
@ExtendWith(LeakCheck.class)
class PageOffloadTest {
    private static final MasterSettings.Promotion NONE = new MasterSettings.Promotion(false, 2, 10);

    private static List<ReplicaType> types(final MasterRig rig, final String key) {
        return rig.query(key).replicas().stream().map(replica -> replica.type()).toList();
    }

    /** The only task of a client. */
    private static OffloadTask task(final MasterRig rig) {
        final List<OffloadTask> tasks = rig.fetch(BOB);
        assertEquals(1, tasks.size());
        return tasks.getFirst();
    }

    private static Ack stored(final PageRig pages, final OffloadTask task, final PageAllocation allocation) {
        return pages.stored(BOB, task.key().key(), task.version(), allocation);
    }

    @Test
    void shouldAskTheHolderOfTheMemoryWhenItIsWantedForOthers() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long version = rig.put(ALICE, "k", PAGE, IN_BOB);
            rig.evict(1, 1);
            assertEquals(WorkKind.OFFLOADS.bit(), rig.announced(BOB));
            assertEquals(0, rig.announced(ALICE));
            final OffloadTask task = task(rig);
            assertEquals(ReplicaType.DISTRIBUTED_DISK, task.target());
            assertEquals(version, task.version());
            assertEquals(1, rig.stats().heldReplicas());
            final PageAllocation allocation = pages.allocated(BOB, task);
            assertEquals(2, rig.stats().heldReplicas(), "the source, and the pages");

            assertEquals(Ack.OK, stored(pages, task, allocation));

            assertEquals(List.of(ReplicaType.DISTRIBUTED_DISK), types(rig, "k"));
            assertEquals(0, rig.stats().memoryUsed());
            assertEquals(0, rig.stats().heldReplicas());
            assertEquals(0, rig.stats().offloadsPending());
            assertEquals(1, rig.stats().offloads());
            assertEquals(List.of(), rig.fetch(BOB));
            assertEquals(Ack.OK, stored(pages, task, allocation), "the answer was lost");
            assertEquals(1, rig.stats().offloads());
            rig.remove("k", true);
            rig.passAlive(LEASE_MS);
            rig.assertEmpty();
        }
    }

    @Test
    void shouldDropFromMemoryAtOnceWhatIsInTheSharedFiles() {
        try (PageRig pages = new PageRig()) {
            pages.shared(ALICE, "k", 1);
            pages.rig.evict(1, 1);
            assertEquals(List.of(ReplicaType.DISTRIBUTED_DISK), types(pages.rig, "k"));
            assertEquals(0, pages.rig.stats().evictionsWithoutCopy());
            assertEquals(0, pages.rig.stats().offloadsPending());
        }
    }

    @Test
    void shouldLetTheSourceGoWhateverBecomesOfTheValue() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            rig.put(ALICE, "k", PAGE, IN_BOB);
            rig.evict(1, 1);
            final OffloadTask task = task(rig);
            final PageAllocation allocation = pages.allocated(BOB, task);
            rig.remove("k", false);
            assertEquals(PAGE, rig.stats().memoryUsed(), "it is being copied");
            assertEquals(Ack.STALE, stored(pages, task, allocation));
            rig.assertEmpty();
        }
    }

    @Test
    void shouldKeepAValueInMemoryThatCouldNotBeStored() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long version = rig.started(ALICE, "k", PAGE, IN_BOB).version();
            rig.apply(new ObjectCommand.PutEnd(ALICE, MasterRig.key("k"), version, ObjectCommand.Scope.ALL, true, 7));
            rig.evict(1, 1);
            final OffloadTask task = task(rig);
            final PageAllocation allocation = pages.allocated(BOB, task);
            assertEquals(Ack.STALE, pages.stored(BOB, "k", version, allocation.replicaId(), 8), "changed on its way");
            assertEquals(List.of(ReplicaType.MEMORY), types(rig, "k"));
            assertEquals(1, rig.stats().offloadFailures());
            assertEquals(0, rig.stats().heldReplicas());
            rig.evict(1, 1);
            assertEquals(List.of(), rig.fetch(BOB), "it would not be right the next time");
            assertFalse(rig.exists("k"));
            rig.assertEmpty();
        }
    }

    /** What finds no room stays in memory alone, and goes when that is wanted. */
    @Test
    void shouldDegradeToMemoryWithoutRoom() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            rig.put(ALICE, "k", (PageRig.PAGES + 1) * PAGE, IN_BOB);
            rig.evict(1, 1);
            final OffloadTask task = task(rig);
            assertEquals(PageCommand.PageOutcome.NO_SPACE, pages.allocate(BOB, "k", task.version(),
                task.source().size(), task.replicaId()).outcome());
            assertEquals(Ack.OK, rig.offloaded(BOB, task, OffloadResult.DISK_FAILED));
            assertTrue(rig.exists("k"));
            rig.evict(1, 1);
            assertEquals(List.of(), rig.fetch(BOB), "nothing is sent to it for a while");
            assertFalse(rig.exists("k"));
            assertEquals(1, rig.stats().pages().failures());
            assertEquals(1, rig.stats().evictionsWithoutCopy());
            rig.assertEmpty();
        }
    }

    @Test
    void shouldCopyAtPutAndKeepTheMemory() {
        try (PageRig pages = new PageRig(PageRig.pages(1, 0, true, NONE))) {
            final MasterRig rig = pages.rig;
            rig.put(ALICE, "k", PAGE, IN_BOB);
            assertEquals(WorkKind.OFFLOADS.bit(), rig.announced(BOB));
            final OffloadTask task = task(rig);
            assertEquals(Ack.OK, stored(pages, task, pages.allocated(BOB, task)));
            assertEquals(List.of(ReplicaType.MEMORY, ReplicaType.DISTRIBUTED_DISK), types(rig, "k"));
            assertEquals(0, rig.stats().heldReplicas());
            rig.evict(1, 1);
            assertEquals(List.of(ReplicaType.DISTRIBUTED_DISK), types(rig, "k"));
            assertEquals(0, rig.stats().offloadsPending());
        }
    }

    /** An upsert of a value whose copy is under way is not refused, and the copy comes to nothing. */
    @Test
    void shouldReplaceAValueThatIsCopiedAtPut() {
        try (PageRig pages = new PageRig(PageRig.pages(1, 0, true, NONE))) {
            final MasterRig rig = pages.rig;
            rig.put(ALICE, "k", PAGE, IN_BOB);
            final OffloadTask first = task(rig);
            final PageAllocation allocation = pages.allocated(BOB, first);
            final long next = rig.replacing(ALICE, "k", 2 * PAGE, IN_BOB).version();
            rig.end(ALICE, "k", next);
            assertEquals(Ack.STALE, stored(pages, first, allocation));
            final OffloadTask second = task(rig);
            assertEquals(next, second.version());
            assertEquals(Ack.OK, stored(pages, second, pages.allocated(BOB, second)));
            assertEquals(2, pages.usedPages());
            assertEquals(0, rig.stats().heldReplicas());
        }
    }

    /** The value that is copied cannot go yet, but will: who wants its place in the quota waits and is not refused. */
    @Test
    void shouldCountWhatIsCopiedAtPutAsRoomToComeInAQuota() {
        final MasterSettings plain = MasterRig.settings();
        try (PageRig pages = new PageRig(new MasterSettings(plain.eviction(), plain.leaseMs(), true,
            plain.diskRetryMs(), plain.liveness(), plain.pins(), plain.tasks(), true, plain.strategy(),
            PageRig.pages(1, 0, true, NONE)))) {
            final MasterRig rig = pages.rig;
            rig.apply(new AdminCommand.SetQuota("default", 2 * PAGE));
            rig.put(ALICE, "k", 2 * PAGE, IN_BOB);
            assertEquals(new PutStartReply.NoSpace(true), rig.start(ALICE, "g", PAGE));
            final OffloadTask task = task(rig);
            assertEquals(Ack.OK, stored(pages, task, pages.allocated(BOB, task)));
            assertEquals(2, rig.query("k").replicas().size());
            rig.put(ALICE, "g", PAGE, IN_ALICE);
            assertEquals(List.of(ReplicaType.DISTRIBUTED_DISK), types(rig, "k"));
            rig.remove("g", true);
            final long second = rig.put(ALICE, "g", 2 * PAGE, IN_BOB);
            assertEquals(new PutStartReply.NoSpace(true), rig.start(ALICE, "h", PAGE));
            rig.remove("g", true);
            assertEquals(new PutStartReply.Taken(PutOutcome.ALREADY_EXISTS), rig.start(ALICE, "k", PAGE));
            rig.put(ALICE, "h", 2 * PAGE, IN_ALICE);
            assertTrue(second > 0 && rig.exists("h"), "nothing is counted twice of what was removed meanwhile");
        }
    }

    @Test
    void shouldPreferTheSharedFilesToTheClientsOwnDisk() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            rig.disk(BOB);
            rig.put(ALICE, "k", PAGE, IN_BOB);
            rig.put(ALICE, "g", PAGE, IN_BOB);
            rig.evict(1, 1);
            final List<OffloadTask> tasks = rig.apply(new DiskCommand.FetchOffloads(BOB, PAGE));
            assertEquals(List.of(ReplicaType.DISTRIBUTED_DISK), tasks.stream().map(OffloadTask::target).toList());
            rig.assertRefused(ErrorCode.INVALID_PARAMS,
                new DiskCommand.OffloadDone(BOB, tasks.getFirst(), OffloadResult.STORED, 1));
            assertEquals(Ack.OK, rig.apply(new PageCommand.UnmountDistributedDisk(BOB)));
            assertEquals(Ack.STALE, rig.offloaded(BOB, tasks.getFirst(), OffloadResult.DISK_FAILED), "it has ended");
            final OffloadTask other = task(rig);
            assertEquals(ReplicaType.LOCAL_DISK, other.target(), "what had not been fetched goes there");
            assertEquals(Ack.OK, rig.offloaded(BOB, other, OffloadResult.STORED));
            assertEquals(List.of(ReplicaType.LOCAL_DISK), types(rig, other.key().key()));
        }
    }

    @Test
    void shouldSendAValueWithoutBytesToNoSharedFile() {
        try (PageRig pages = new PageRig(PageRig.pages(1, 0, true, NONE))) {
            final MasterRig rig = pages.rig;
            rig.put(ALICE, "k", 0, IN_BOB);
            rig.evict(1, 1);
            assertEquals(List.of(), rig.fetch(BOB));
            assertFalse(rig.exists("k"));
        }
    }

    @Test
    void shouldEndTheTasksOfAClientThatDies() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            rig.put(ALICE, "k", PAGE, IN_BOB);
            rig.evict(1, 1);
            final OffloadTask task = task(rig);
            final PageAllocation allocation = pages.allocated(BOB, task);
            rig.silence(BOB);
            rig.advance(CLIENT_TTL_MS);
            assertEquals(0, rig.stats().offloadsPending());
            assertEquals(0, rig.stats().heldReplicas());
            assertEquals(Ack.STALE, stored(pages, task, allocation));
            rig.advance(RELEASE_MS + LEASE_MS);
            rig.assertEmpty();
        }
    }

    /** The pages outlive the memory that they are from: what is durable is a value, though its segment went. */
    @Test
    void shouldLoseAValueWhoseSegmentGoesBeforeItIsStored() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long version = rig.put(ALICE, "k", PAGE, IN_ALICE);
            final PageAllocation allocation = pages.allocated(BOB, "k", version, PAGE);
            rig.silence(ALICE);
            rig.advance(CLIENT_TTL_MS);
            assertFalse(rig.exists("k"));
            assertEquals(Ack.STALE, pages.stored(BOB, "k", version, allocation), "its name may have been used since");
            rig.assertEmpty();
        }
    }
}
