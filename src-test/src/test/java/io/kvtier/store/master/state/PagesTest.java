package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.BOB;
import static io.kvtier.store.master.state.MasterRig.CAROL;
import static io.kvtier.store.master.state.MasterRig.CLIENT_TTL_MS;
import static io.kvtier.store.master.state.MasterRig.LEASE_MS;
import static io.kvtier.store.master.state.MasterRig.RELEASE_MS;
import static io.kvtier.store.master.state.PageRig.PAGE;
import static io.kvtier.store.master.state.PageRig.SUM;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.DataType;
import io.kvtier.store.ErrorCode;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.PutOptions;
import io.kvtier.store.RemoveOutcome;
import io.kvtier.store.StoreException;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.OffloadTask;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.PageCommand.PageAllocation;
import io.kvtier.store.protocol.PageCommand.PageMapping;
import io.kvtier.store.protocol.PageCommand.PageOutcome;
import io.kvtier.store.protocol.PageCommand.PageRelease;
import io.kvtier.store.protocol.PageCommand.PageRequest;
import io.kvtier.store.protocol.PageCommand.StoredPages;
import io.kvtier.store.protocol.PutStartReply;
import io.kvtier.store.protocol.ReadReply;
import io.kvtier.store.protocol.SegmentCommand;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.replica.PageLayout;
import io.kvtier.store.replica.ReplicaDescriptor;
import io.kvtier.store.replica.ReplicaType;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Pages of the shared files from allocation to reuse. Homes of keys in four files, by XXH64: {@code d} and {@code e} 0,
 * {@code c} and {@code f} 1, {@code g} and {@code j} 2, {@code a}, {@code b} and {@code k} 3.
 */
@ExtendWith(LeakCheck.class)
class PagesTest {
    private static final String LAST = "/mnt/m/bucket_03.data";

    @Test
    void shouldShowAValueInItsHomeFileWhenItIsDurable() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long version = rig.put(ALICE, "k", PAGE + 1);
            final PageAllocation allocation = pages.allocated(ALICE, "k", version, PAGE + 1);
            assertEquals(new ReplicaDescriptor.DistributedDisk(LAST, 0, PAGE + 1), allocation.place());
            assertEquals(List.of(0L, 0L, 0L, 2L), pages.used());
            assertEquals(0, MasterRig.replicas(rig.query("k"), ReplicaType.DISTRIBUTED_DISK), "not yet durable");
            assertEquals(PageMapping.NONE, pages.mapping("k"));
            assertEquals(1, rig.stats().pages().writing());

            assertEquals(Ack.OK, pages.stored(ALICE, "k", version, allocation));

            final ReadReply object = rig.read("k");
            assertEquals(List.of(ReplicaType.MEMORY, ReplicaType.DISTRIBUTED_DISK),
                object.replicas().stream().map(replica -> replica.type()).toList());
            assertEquals(allocation.place(), object.replicas().getLast().descriptor());
            assertTrue(object.checksummed());
            assertEquals(SUM, object.checksum());
            assertEquals(new PageMapping(version, allocation.replicaId(), allocation.place(), SUM, LEASE_MS),
                pages.mapping("k"));
            assertEquals(List.of(pages.mapping("k"), PageMapping.NONE), rig.apply(
                new PageCommand.BatchGetDistributedPageMapping(List.of(MasterRig.key("k"), MasterRig.key("x")))));
            assertEquals(0, rig.stats().pages().writing());
            assertEquals(0, rig.stats().heldReplicas());
        }
    }

    /** Six values of three pages: two to a file of eight, and the last two pages of each are no room for a third. */
    @Test
    void shouldGoOnToTheFilesThatFollowWhenTheHomeHasNoRunLongEnough() {
        try (PageRig pages = new PageRig()) {
            final String[] keys = {"a", "b", "k", "h", "p", "k1"};
            final String[] paths = {"03", "03", "00", "00", "01", "01"};
            for (int i = 0; i < keys.length; i++) {
                final long version = pages.rig.put(ALICE, keys[i], 3 * PAGE);
                assertEquals("/mnt/m/bucket_" + paths[i] + ".data",
                    pages.allocated(ALICE, keys[i], version, 3 * PAGE).place().filePath(), keys[i]);
            }
            assertEquals(List.of(6L, 6L, 0L, 6L), pages.used());
        }
    }

    @Test
    void shouldTellTenantsWithTheSameKeyApart() {
        try (PageRig pages = new PageRig()) {
            final List<ObjectKey> keys = List.of(PageRig.key("red", "k"), PageRig.key("blue", "k"));
            final List<PageRequest> requests = keys.stream()
                .map(key -> new PageRequest(key, put(pages, key), PAGE, 0)).toList();
            final List<PageAllocation> allocations =
                pages.rig.apply(new PageCommand.BatchAllocateDistributedPage(ALICE, requests));
            assertEquals(List.of(new ReplicaDescriptor.DistributedDisk(LAST, 0, PAGE),
                new ReplicaDescriptor.DistributedDisk(LAST, PAGE, PAGE)),
                allocations.stream().map(PageAllocation::place).toList());
            assertEquals(List.of(Ack.OK, Ack.OK), pages.rig.apply(new PageCommand.NotifyDistributedDiskSuccess(ALICE,
                List.of(value(requests.get(0), allocations.get(0), 1),
                    value(requests.get(1), allocations.get(1), 2)))));
            pages.rig.apply(new ObjectCommand.Remove(keys.get(0), true));
            final List<PageMapping> left = pages.rig.apply(new PageCommand.BatchGetDistributedPageMapping(keys));
            assertEquals(PageMapping.NONE, left.get(0));
            assertEquals(allocations.get(1).place(), left.get(1).place());
            assertEquals(2, left.get(1).checksum());
        }
    }

    private static StoredPages value(final PageRequest request, final PageAllocation allocation, final long checksum) {
        return new StoredPages(request.key(), request.version(), allocation.replicaId(), checksum);
    }

    private static long put(final PageRig pages, final ObjectKey key) {
        final PutStartReply.Started started = (PutStartReply.Started) pages.rig.apply(
            new ObjectCommand.PutStart(ALICE, key.hashCode(), key, PAGE, PutOptions.DEFAULT, false));
        pages.rig.apply(new ObjectCommand.PutEnd(ALICE, key, started.version(), ObjectCommand.Scope.ALL, false, 0));
        return started.version();
    }

    @Test
    void shouldAnswerARepeatedNotificationAsBefore() {
        try (PageRig pages = new PageRig()) {
            final long version = pages.rig.put(ALICE, "k", PAGE);
            final PageAllocation allocation = pages.allocated(ALICE, "k", version, PAGE);
            assertEquals(Ack.STALE, pages.stored(BOB, "k", version, allocation), "not his");
            assertEquals(Ack.STALE, pages.stored(ALICE, "k", version + 1, allocation));
            assertEquals(Ack.STALE, pages.stored(ALICE, "l", version, allocation));
            assertEquals(Ack.OK, pages.stored(ALICE, "k", version, allocation));
            final String before = pages.rig.dump();
            assertEquals(Ack.OK, pages.stored(ALICE, "k", version, allocation));
            assertEquals(before, pages.rig.dump());
            assertEquals(new PageAllocation(PageOutcome.STORED, allocation.replicaId(), allocation.place()),
                pages.allocate(BOB, "k", version, PAGE, 0), "nobody has to write it again");
            assertEquals(Ack.STALE, pages.free(ALICE, "k", version, allocation, true), "what is complete stays");
            assertEquals(1, pages.usedPages());
        }
    }

    @Test
    void shouldFreeThePagesOfAValueThatWasRemovedOrReplacedWhileItWasWritten() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long removed = rig.put(ALICE, "k", PAGE);
            final PageAllocation first = pages.allocated(ALICE, "k", removed, PAGE);
            assertEquals(RemoveOutcome.REMOVED, rig.remove("k", false).outcome());
            assertEquals(1, pages.usedPages(), "its writer is at it");
            final long again = rig.put(ALICE, "k", PAGE);
            final PageAllocation second = pages.allocated(ALICE, "k", again, PAGE);
            assertNotEquals(first.place(), second.place());
            assertEquals(Ack.STALE, pages.stored(ALICE, "k", removed, first));
            assertEquals(1, pages.usedPages(), "nobody could read it, so that it need not rest");
            assertEquals(Ack.STALE, pages.free(ALICE, "k", removed, first, true));
            assertEquals(Ack.STALE, pages.stored(ALICE, "k", again, first));

            final long replaced = rig.replacing(ALICE, "k", 2 * PAGE).version();
            rig.end(ALICE, "k", replaced);
            assertEquals(Ack.STALE, pages.stored(ALICE, "k", again, second));
            assertEquals(0, pages.usedPages());
            assertEquals(2, rig.stats().pages().stale());
            assertEquals(PageMapping.NONE, pages.mapping("k"));
            rig.remove("k", true);
            rig.assertEmpty();
        }
    }

    @Test
    void shouldNotTakeBytesThatAreNotWhatWasWritten() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long version = rig.started(ALICE, "k", PAGE).version();
            rig.apply(new ObjectCommand.PutEnd(ALICE, MasterRig.key("k"), version, ObjectCommand.Scope.ALL, true, 7));
            final PageAllocation allocation = pages.allocated(ALICE, "k", version, PAGE);
            assertEquals(Ack.STALE, pages.stored(ALICE, "k", version, allocation.replicaId(), 8));
            assertEquals(0, pages.usedPages());
            assertEquals(Ack.OK, pages.stored(ALICE, "k", version,
                pages.allocated(ALICE, "k", version, PAGE).replicaId(), 7));
        }
    }

    @Test
    void shouldGiveTheSamePagesToWhoAsksAgainAndNoneToOthers() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long version = rig.put(ALICE, "k", PAGE);
            final PageAllocation first = pages.allocated(ALICE, "k", version, PAGE);
            assertEquals(PageAllocation.none(PageOutcome.TAKEN), pages.allocate(BOB, "k", version, PAGE, 0));
            rig.advance(RELEASE_MS - 1);
            final PageAllocation second = pages.allocated(ALICE, "k", version, PAGE);
            assertEquals(first.place(), second.place());
            rig.advance(RELEASE_MS - 1);
            assertEquals(Ack.OK, pages.stored(ALICE, "k", version, second), "its time began anew");
            assertEquals(Ack.OK, pages.stored(ALICE, "k", version, second), "a repeated one");
            assertEquals(1, rig.stats().pages().allocations());
        }
    }

    /** Whoever asked again may write there for all of his time, whatever he said before of his earlier write. */
    @Test
    void shouldNotTakeALateWordOnAnEarlierWriteForOneOnThatWhichIsUnderWay() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long version = rig.put(ALICE, "k", PAGE);
            final PageAllocation first = pages.allocated(ALICE, "k", version, PAGE);
            final PageAllocation second = pages.allocated(ALICE, "k", version, PAGE);
            assertEquals(Ack.STALE, pages.free(ALICE, "k", version, first, true));
            assertEquals(1, pages.usedPages());
            assertEquals(Ack.STALE, pages.stored(ALICE, "k", version, first));
            assertEquals(PageMapping.NONE, pages.mapping("k"));

            rig.remove("k", true);
            assertEquals(Ack.STALE, pages.stored(ALICE, "k", version, first));
            assertEquals(1, pages.usedPages(), "they are still written to");
            assertEquals(Ack.OK, pages.free(ALICE, "k", version, second, true));
            rig.assertEmpty();
        }
    }

    @Test
    void shouldHaveNoPagesForAnObjectThatIsNotThere() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final PageAllocation stale = PageAllocation.none(PageOutcome.STALE);
            assertEquals(stale, pages.allocate(ALICE, "k", 1, PAGE, 0));
            final long version = rig.started(ALICE, "k", PAGE).version();
            assertEquals(stale, pages.allocate(ALICE, "k", version, PAGE, 0), "it is still being written");
            rig.end(ALICE, "k", version);
            assertEquals(stale, pages.allocate(ALICE, "k", version - 1, PAGE, 0));
            rig.remove("k", false);
            assertEquals(stale, pages.allocate(ALICE, "k", version, PAGE, 0));
            rig.assertEmpty();
        }
    }

    @Test
    void shouldGiveFreedPagesOutAgainAtOnceOnlyWhenNobodyWritesThere() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long version = rig.put(ALICE, "k", PAGE);
            final PageAllocation first = pages.allocated(ALICE, "k", version, PAGE);
            assertEquals(Ack.STALE, pages.free(BOB, "k", version, first, true));
            assertEquals(Ack.OK, pages.free(ALICE, "k", version, first, true));
            assertEquals(0, pages.usedPages());
            assertEquals(1, rig.stats().pages().frees());
            final PageAllocation second = pages.allocated(ALICE, "k", version, PAGE);
            assertEquals(first.place(), second.place());
            assertEquals(Ack.STALE, pages.free(ALICE, "k", version, first, true), "a late one of an earlier attempt");
            assertEquals(Ack.STALE, pages.stored(ALICE, "k", version, first));
            assertEquals(1, pages.usedPages());

            rig.passAlive(1000);
            assertEquals(List.of(Ack.OK, Ack.STALE), rig.apply(new PageCommand.BatchFreeDistributedPage(ALICE,
                Collections.nCopies(2, new PageRelease(MasterRig.key("k"), version, second.replicaId(), false)))));
            assertEquals(1, pages.usedPages(), "the write may still be under way");
            rig.advance(RELEASE_MS - 1000 + LEASE_MS - 1);
            assertEquals(1, pages.usedPages());
            rig.advance(1);
            assertEquals(0, pages.usedPages());
        }
    }

    /** The client counts from before it asked; so when the master's time is over, the client has long stopped. */
    @Test
    void shouldReapWhatIsNotSpokenOfInTime() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long version = rig.put(ALICE, "k", PAGE);
            final PageAllocation allocation = pages.allocated(ALICE, "k", version, PAGE);
            rig.advance(RELEASE_MS - 1);
            assertEquals(0, rig.stats().pages().reaped());
            rig.advance(1);
            assertEquals(1, rig.stats().pages().reaped());
            assertEquals(1, pages.usedPages(), "they rest");
            assertEquals(Ack.STALE, pages.stored(ALICE, "k", version, allocation));
            assertEquals(PageMapping.NONE, pages.mapping("k"));
            final PageAllocation next = pages.allocated(ALICE, "k", version, PAGE);
            assertNotEquals(allocation.place(), next.place());
            rig.advance(LEASE_MS);
            assertEquals(1, pages.usedPages(), "only those that were given out last");
            assertEquals(Ack.OK, pages.stored(ALICE, "k", version, next));
        }
    }

    @Test
    void shouldKeepWhatIsCompleteWhenItsWriterDies() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long shared = rig.put(ALICE, "k", PAGE, PageRig.IN_ALICE);
            pages.stored(ALICE, "k", shared, pages.allocated(ALICE, "k", shared, PAGE));
            final long version = rig.put(BOB, "g", PAGE, PageRig.IN_BOB);
            final long lost = rig.put(ALICE, "d", PAGE, PageRig.IN_ALICE);
            pages.allocated(ALICE, "g", version, PAGE);
            pages.allocated(ALICE, "d", lost, PAGE);
            rig.silence(ALICE);
            rig.advance(CLIENT_TTL_MS);

            assertEquals(List.of(ReplicaType.DISTRIBUTED_DISK),
                rig.read("k").replicas().stream().map(replica -> replica.type()).toList());
            assertEquals(PageRig.SUM, pages.mapping("k").checksum());
            assertFalse(rig.exists("d"), "it was in memory alone");
            assertEquals(2, rig.stats().pages().reaped());
            assertEquals(3, pages.usedPages(), "it may only be slow, and still write");
            rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS, new PageCommand.AllocateDistributedPage(ALICE,
                new PageRequest(MasterRig.key("g"), version, PAGE, 0)));
            rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
                new PageCommand.MountDistributedDisk(ALICE, PageRig.LAYOUT, null, false));
            pages.allocated(BOB, "g", version, PAGE);
            rig.advance(RELEASE_MS + LEASE_MS);
            assertEquals(1, pages.usedPages());
        }
    }

    /** The files are nobody's, also not of one who calls himself so. */
    @Test
    void shouldNotLoseTheFilesWithAClientThatHasNoId() {
        try (PageRig pages = new PageRig()) {
            pages.shared(ALICE, "k", 1);
            pages.rig.ping(new UUID(0, 0), "host");
            pages.rig.silence(new UUID(0, 0));
            pages.rig.advance(CLIENT_TTL_MS);
            assertEquals(1, MasterRig.replicas(pages.rig.query("k"), ReplicaType.DISTRIBUTED_DISK));
            assertEquals(4, pages.used().size());
            assertEquals(PageRig.LAYOUT.capacity(), pages.rig.stats().pages().capacity());
        }
    }

    @Test
    void shouldLeaveCompleteValuesWhenAClientUnmounts() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            pages.shared(ALICE, "k", 1);
            final long version = rig.put(ALICE, "g", PAGE, PageRig.IN_ALICE);
            final PageAllocation allocation = pages.allocated(ALICE, "g", version, PAGE);
            assertEquals(Ack.OK, rig.apply(new PageCommand.UnmountDistributedDisk(ALICE)));
            assertEquals(Ack.STALE, rig.apply(new PageCommand.UnmountDistributedDisk(ALICE)));
            assertEquals(Ack.STALE, pages.stored(ALICE, "g", version, allocation));
            assertEquals(1, MasterRig.replicas(rig.query("k"), ReplicaType.DISTRIBUTED_DISK));
            rig.evict(1, 1);
            assertEquals(List.of(), rig.fetch(ALICE), "nothing is sent to it any more");
        }
    }

    /**
     * A task that was not answered for too long is given up, and its memory may be given to another value while a
     * client that asked for pages late still copies from there; nobody could tell, of a value without a checksum.
     */
    @Test
    void shouldNotTakeWhatWasCopiedFromMemoryThatWasGivenUpMeanwhile() {
        try (PageRig pages = new PageRig(PageRig.pages(1, 0, true, new MasterSettings.Promotion(false, 2, 10)))) {
            final MasterRig rig = pages.rig;
            final long version = rig.put(ALICE, "k", PAGE, PageRig.IN_ALICE.withReplicas(2));
            final OffloadTask task = rig.fetch(ALICE).getFirst();
            rig.advance(RELEASE_MS - 1);
            assertEquals(List.of(task.withIdle(RELEASE_MS - 1)), rig.fetch(ALICE), "named again it is the same task");
            final PageAllocation late = pages.allocated(ALICE, task);
            rig.advance(1);
            assertEquals(0, rig.stats().offloadsPending());
            assertEquals(Ack.STALE, pages.stored(ALICE, "k", version, late));
            assertEquals(0, pages.usedPages());

            rig.evict(1, 1);
            final OffloadTask next = rig.fetch(ALICE).getFirst();
            assertEquals(version, next.version(), "it is wanted there once more");
            assertEquals(Ack.OK, pages.stored(ALICE, "k", version, pages.allocated(ALICE, next)));
        }
    }

    /** 32 pages: what finds no room is counted, and nothing else is changed by it. */
    @Test
    void shouldCountWhatFindsNoRoom() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            for (int i = 0; i < PageRig.BUCKETS; i++) {
                final long version = rig.put(ALICE, "k" + i, PageRig.PAGES * PAGE);
                pages.allocated(ALICE, "k" + i, version, PageRig.PAGES * PAGE);
            }
            final long version = rig.put(ALICE, "x", 1);
            assertEquals(PageAllocation.none(PageOutcome.NO_SPACE), pages.allocate(ALICE, "x", version, 1, 0));
            final long large = rig.put(ALICE, "y", PageRig.PAGES * PAGE + 1);
            assertEquals(PageAllocation.none(PageOutcome.NO_SPACE),
                pages.allocate(ALICE, "y", large, PageRig.PAGES * PAGE + 1, 0));
            assertEquals(2, rig.stats().pages().failures());
            assertEquals(4, rig.stats().pages().allocations());
            assertEquals(0, rig.stats().pages().evictions());
            assertTrue(rig.exists("x"), "it is in memory");
        }
    }

    @Test
    void shouldFreeThePagesOfWhatIsRemovedAfterAnotherLease() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            pages.shared(ALICE, "a", 1);
            pages.shared(ALICE, "b", 1);
            pages.shared(ALICE, "c", 1);
            assertEquals(RemoveOutcome.REMOVED, rig.remove("c", false).outcome());
            assertEquals(2, rig.removeMatching("", "^[ab]$", false));
            assertEquals(3, pages.usedPages(), "somebody may have read where they were");
            assertEquals(0, rig.stats().objects());
            rig.passAlive(LEASE_MS - 1);
            assertEquals(3, pages.usedPages());
            rig.passAlive(1);
            assertEquals(0, pages.usedPages());
            rig.assertEmpty();
            assertEquals(3, rig.stats().pages().frees());
        }
    }

    @Test
    void shouldKeepAReplacedValueWhereItIsForItsReaders() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long version = pages.shared(ALICE, "k", 1);
            rig.passAlive(LEASE_MS);
            rig.read("k");
            rig.passAlive(LEASE_MS / 2);
            final long next = rig.replacing(ALICE, "k", PAGE).version();
            assertEquals(version, pages.mapping("k").version(), "until then the value of before");
            rig.end(ALICE, "k", next);
            assertEquals(PageMapping.NONE, pages.mapping("k"));
            assertNotEquals(0, pages.allocated(ALICE, "k", next, PAGE).place().offset());
            rig.passAlive(LEASE_MS);
            assertEquals(1, pages.usedPages());
        }
    }

    @Test
    void shouldForgetAValueWhoseBytesAreWrong() {
        try (PageRig pages = new PageRig()) {
            final long version = pages.sharedAlone(ALICE, "k", 1);
            final long replica = pages.mapping("k").replicaId();
            assertEquals(Ack.OK, pages.rig.apply(
                new ObjectCommand.ReplicaUnreadable(MasterRig.key("k"), version, replica)));
            assertFalse(pages.rig.exists("k"));
            assertEquals(Ack.STALE, pages.rig.apply(
                new ObjectCommand.ReplicaUnreadable(MasterRig.key("k"), version, replica)));
            pages.rig.passAlive(LEASE_MS);
            pages.rig.assertEmpty();
        }
    }

    @Test
    void shouldRefuseAClientWithAnotherLayoutInWords() {
        try (PageRig pages = new PageRig()) {
            final PageLayout other = new PageLayout("/mnt/n", PageRig.BUCKETS, 2 * PAGE, PageRig.PAGES * PAGE);
            final StoreException refusal = assertThrows(StoreException.class,
                () -> pages.rig.apply(new PageCommand.MountDistributedDisk(CAROL, other, null, false)));
            assertEquals(ErrorCode.INVALID_PARAMS, refusal.code());
            assertTrue(refusal.getMessage().contains("folder /mnt/n instead of /mnt/m, page size 8192 instead of 4096"),
                refusal.getMessage());
            assertTrue(refusal.getMessage().contains("MOONCAKE_DISTRIBUTED_*"), refusal.getMessage());
        }
    }

    @Test
    void shouldRefuseWhatCannotBe() {
        try (PageRig pages = new PageRig()) {
            final MasterRig rig = pages.rig;
            final long version = rig.put(ALICE, "k", PAGE);
            final PageRequest right = new PageRequest(MasterRig.key("k"), version, PAGE, 0);
            rig.assertRefused(ErrorCode.UNAVAILABLE_IN_CURRENT_STATUS,
                new PageCommand.AllocateDistributedPage(CAROL, right));
            for (final long size : new long[] {0, PAGE - 1, PAGE + 1, Long.MAX_VALUE}) {
                rig.assertRefused(ErrorCode.INVALID_PARAMS, new PageCommand.BatchAllocateDistributedPage(ALICE,
                    List.of(right, new PageRequest(MasterRig.key("k"), version, size, 0))));
            }
            rig.assertRefused(ErrorCode.INVALID_PARAMS, new PageCommand.BatchAllocateDistributedPage(ALICE,
                Collections.nCopies(4097, right)));
            rig.assertRefused(ErrorCode.INVALID_PARAMS, new SegmentCommand.Mount(ALICE, MasterRig.spec(new UUID(9, 9),
                "/mnt/m/bucket_00.data", Medium.DISTRIBUTED_DISK, PAGE, true)));
            assertEquals(2, rig.apply(new SegmentCommand.Segments()).size(), "nobody lends the files");
        }
    }

    @Test
    void shouldKnowNothingOfPagesWithoutPageMode() {
        try (MasterRig rig = new MasterRig()) {
            assertEquals(List.of(), rig.apply(new PageCommand.DistributedBuckets()));
            final StoreException refusal = assertThrows(StoreException.class,
                () -> rig.apply(new PageCommand.MountDistributedDisk(ALICE, PageRig.LAYOUT, null, false)));
            assertEquals(ErrorCode.UNAVAILABLE_IN_CURRENT_MODE, refusal.code());
            assertTrue(refusal.getMessage().contains("distributed_page_mode"), refusal.getMessage());
            assertEquals(0, rig.stats().pages().capacity());
        }
    }

    @Test
    void shouldCountReadsThatFindAValueThereAlone() {
        try (PageRig pages = new PageRig()) {
            pages.sharedAlone(ALICE, "k", 2);
            assertEquals(DataType.UNKNOWN, pages.rig.read("k").dataType());
            assertEquals(1, pages.rig.stats().gets().pageHits());
            assertEquals(2 * PAGE, pages.rig.stats().gets().pageBytes());
            assertEquals(0, pages.rig.stats().gets().diskHits());
        }
    }
}
