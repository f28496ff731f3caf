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
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.Command.Ack;
import io.kvtier.store.protocol.MasterStats.Hot;
import io.kvtier.store.protocol.ObjectCommand;
import io.kvtier.store.protocol.PageCommand.FetchPromotions;
import io.kvtier.store.protocol.PageCommand.PromotionTask;
import io.kvtier.store.protocol.PromotionReply;
import io.kvtier.store.protocol.WorkKind;
import io.kvtier.store.replica.ReplicaType;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Values that are read often from the shared files: queued, given to one client, copied to memory. */
@ExtendWith(LeakCheck.class)
class PagePromotionTest {
    private static PageRig hot(final int threshold, final int limit) {
        return new PageRig(PageRig.pages(1, 0, false, new MasterSettings.Promotion(true, threshold, limit)));
    }

    private static List<PromotionTask> fetch(final PageRig pages, final UUID client, final int max) {
        return pages.rig.apply(new FetchPromotions(client, max));
    }

    private static Hot stats(final PageRig pages) {
        return pages.rig.stats().pages().hot();
    }

    private static List<ReplicaType> types(final PageRig pages, final String key) {
        return pages.rig.query(key).replicas().stream().map(replica -> replica.type()).toList();
    }

    @Test
    void shouldBringAValueToMemoryThatIsReadTwice() {
        try (PageRig pages = hot(2, 10)) {
            final MasterRig rig = pages.rig;
            final long version = pages.sharedAlone(ALICE, "k", 2);
            rig.announced(ALICE);
            rig.read("k");
            assertEquals(new Hot(0, 0, 0), stats(pages));
            rig.read("k");
            assertEquals(new Hot(1, 1, 0), stats(pages));
            rig.read("k");
            assertEquals(new Hot(1, 1, 0), stats(pages), "once is enough");
            assertEquals(WorkKind.PROMOTIONS.bit(), rig.announced(ALICE) | rig.announced(BOB));

            final List<PromotionTask> tasks = fetch(pages, BOB, 4);
            assertEquals(List.of(new PromotionTask(MasterRig.key("k"), version, pages.mapping("k").place(),
                PageRig.SUM)), tasks);
            assertEquals(List.of(), fetch(pages, ALICE, 4), "one does it");
            final PromotionReply reply = rig.promote(BOB, "k", version);
            assertTrue(reply.accepted());
            assertEquals(new Hot(0, 1, 0), stats(pages));
            assertEquals(1, types(pages, "k").size(), "it is not there yet");
            assertEquals(Ack.STALE, rig.promoted(ALICE, "k", reply, true), "who took it ends it");
            assertEquals(Ack.OK, rig.promoted(BOB, "k", reply, true));
            assertEquals(List.of(ReplicaType.DISTRIBUTED_DISK, ReplicaType.MEMORY), types(pages, "k"));
            assertEquals(0, rig.stats().heldReplicas());
            assertEquals(0, rig.stats().activePromotions());
            rig.read("k");
            assertEquals(new Hot(0, 1, 0), stats(pages), "it is in memory");
        }
    }

    /** PR1: off by default; a value that is in memory, or not in the shared files, is none; nor are queries reads. */
    @Test
    void shouldQueueNothingThatIsNotAskedFor() {
        try (PageRig off = new PageRig(); PageRig pages = hot(1, 10)) {
            off.sharedAlone(ALICE, "k", 1);
            off.rig.read("k");
            off.rig.read("k");
            assertEquals(new Hot(0, 0, 0), stats(off));
            pages.shared(ALICE, "a", 1);
            pages.rig.read("a");
            pages.rig.read("x");
            pages.sharedAlone(ALICE, "b", 1);
            pages.rig.query("b");
            pages.rig.find("", "", true);
            pages.mapping("b");
            pages.rig.apply(new ObjectCommand.Exists(MasterRig.key("b")));
            assertEquals(new Hot(0, 0, 0), stats(pages));
            pages.rig.read("b");
            assertEquals(new Hot(1, 1, 0), stats(pages));
        }
    }

    /** PR2: how often is counted for each tenant's key by itself. */
    @Test
    void shouldCountTheReadsOfEachTenant() {
        final HitCounts hits = new HitCounts();
        final ObjectKey red = ObjectKey.of("red", "k");
        assertEquals(1, hits.read(red));
        assertEquals(1, hits.read(ObjectKey.of("blue", "k")));
        assertEquals(2, hits.read(red));
        for (int i = 0; i < 300; i++) {
            hits.read(red);
        }
        assertEquals(255, hits.read(red), "they end there");
    }

    /** After 65,536 reads of others the counters have been halved: 4 is 2, and one more 3. */
    @Test
    void shouldCountOldReadsForLess() {
        final HitCounts hits = new HitCounts();
        final ObjectKey key = MasterRig.key("k");
        for (int i = 0; i < 4; i++) {
            hits.read(key);
        }
        for (int i = 4; i < 65_536 - 1; i++) {
            hits.read(MasterRig.key("other"));
        }
        assertEquals(3, hits.read(key));
    }

    /** PR4: what does not fit is counted, and there is room again however one ends. */
    @Test
    void shouldQueueNoMoreThanItsLimit() {
        try (PageRig pages = hot(1, 1)) {
            final MasterRig rig = pages.rig;
            final long first = pages.sharedAlone(ALICE, "a", 1);
            final long second = pages.sharedAlone(ALICE, "b", 1);
            rig.read("a");
            rig.read("b");
            assertEquals(new Hot(1, 1, 1), stats(pages));
            fetch(pages, ALICE, 1);
            rig.read("b");
            assertEquals(new Hot(1, 1, 2), stats(pages), "it is not begun yet");
            final PromotionReply reply = rig.promote(ALICE, "a", first);
            assertEquals(Ack.OK, rig.promoted(ALICE, "a", reply, false));
            rig.read("b");
            assertEquals(new Hot(1, 2, 2), stats(pages));
            rig.remove("b", true);
            assertEquals(List.of(), fetch(pages, ALICE, 1), "it went");
            assertEquals(new Hot(0, 2, 2), stats(pages));
            assertEquals(PromotionReply.DECLINED, rig.promote(ALICE, "b", second));
        }
    }

    /** PR5: as many as are asked for, in their order, and the rest later. */
    @Test
    void shouldGiveAsManyAsAreAskedFor() {
        try (PageRig pages = hot(1, 10)) {
            for (int i = 0; i < 5; i++) {
                pages.sharedAlone(ALICE, "v" + i, 1);
            }
            for (int i = 0; i < 5; i++) {
                pages.rig.read("v" + i);
            }
            assertEquals(List.of("v0", "v1", "v2"), names(fetch(pages, ALICE, 3)));
            assertEquals(List.of("v3", "v4"), names(fetch(pages, BOB, 3)));
            assertEquals(List.of(), names(fetch(pages, BOB, 3)));
        }
    }

    private static List<String> names(final List<PromotionTask> tasks) {
        return tasks.stream().map(task -> task.key().key()).toList();
    }

    /** No disk of its own, nor any memory: whoever has mounted the files may take it; who has not is given nothing. */
    @Test
    void shouldGiveItToAnyClientThatHasMountedTheFiles() {
        try (PageRig pages = hot(1, 10)) {
            final long version = pages.sharedAlone(ALICE, "k", 1);
            pages.rig.read("k");
            assertEquals(List.of(), fetch(pages, CAROL, 4));
            pages.mount(CAROL);
            assertEquals(List.of("k"), names(fetch(pages, CAROL, 4)));
            final PromotionReply reply = pages.rig.promote(CAROL, "k", version);
            assertEquals(Ack.OK, pages.rig.promoted(CAROL, "k", reply, true));
        }
    }

    /** The reply that named it was lost, or the client is gone: another one is given it, but not without end. */
    @Test
    void shouldGiveWhatIsNotBegunToAnother() {
        try (PageRig pages = hot(1, 10)) {
            final MasterRig rig = pages.rig;
            pages.sharedAlone(ALICE, "k", 1);
            rig.read("k");
            assertEquals(List.of("k"), names(fetch(pages, ALICE, 4)));
            rig.advance(CLIENT_TTL_MS - 1);
            assertEquals(List.of(), names(fetch(pages, BOB, 4)));
            rig.announced(ALICE);
            rig.announced(BOB);
            rig.advance(1);
            assertEquals(WorkKind.PROMOTIONS.bit(), rig.announced(ALICE) | rig.announced(BOB));
            assertEquals(List.of("k"), names(fetch(pages, BOB, 4)));
            rig.silence(BOB);
            rig.advance(CLIENT_TTL_MS);
            assertEquals(List.of("k"), names(fetch(pages, ALICE, 4)), "at once when a client is gone");
            rig.advance(CLIENT_TTL_MS);
            assertEquals(List.of(), names(fetch(pages, ALICE, 4)), "nobody can, it seems");
            assertEquals(new Hot(0, 1, 0), stats(pages));
            rig.read("k");
            assertEquals(List.of("k"), names(fetch(pages, ALICE, 4)), "whoever reads it asks anew");
        }
    }

    @Test
    void shouldTellOneClientAfterTheOther() {
        try (PageRig pages = hot(1, 10)) {
            final MasterRig rig = pages.rig;
            pages.sharedAlone(ALICE, "k", 1);
            rig.read("k");
            final int alice = rig.announced(ALICE);
            assertEquals(WorkKind.PROMOTIONS.bit(), alice ^ rig.announced(BOB), "one of them");
            rig.advance(CLIENT_TTL_MS);
            assertEquals(WorkKind.PROMOTIONS.bit(), alice ^ rig.announced(ALICE), "and then the other");
        }
    }

    /** PR9, PR7: failure frees memory, pages and place at once; and so does time. */
    @Test
    void shouldLeaveNothingOfOneThatFails() {
        try (PageRig pages = hot(1, 1)) {
            final MasterRig rig = pages.rig;
            final long version = pages.sharedAlone(ALICE, "k", 1);
            rig.read("k");
            fetch(pages, BOB, 1);
            final PromotionReply failed = rig.promote(BOB, "k", version);
            assertEquals(2, rig.stats().heldReplicas(), "its memory, and its pages");
            assertEquals(Ack.OK, rig.promoted(BOB, "k", failed, false));
            assertEquals(0, rig.stats().heldReplicas());
            assertEquals(0, rig.stats().memoryUsed());
            assertEquals(Ack.STALE, rig.promoted(BOB, "k", failed, true));
            assertEquals(1, types(pages, "k").size());

            rig.read("k");
            fetch(pages, BOB, 1);
            final PromotionReply late = rig.promote(BOB, "k", version);
            rig.advance(RELEASE_MS);
            assertEquals(Ack.STALE, rig.promoted(BOB, "k", late, true));
            assertEquals(0, rig.stats().heldReplicas());
            assertEquals(0, rig.stats().memoryUsed());
            rig.read("k");
            assertEquals(List.of("k"), names(fetch(pages, BOB, 1)), "there is place for it");
        }
    }

    @Test
    void shouldEndWhatAClientBeganThatDies() {
        try (PageRig pages = hot(1, 1)) {
            final MasterRig rig = pages.rig;
            final long version = pages.sharedAlone(ALICE, "k", 1);
            rig.read("k");
            fetch(pages, BOB, 1);
            rig.promote(BOB, "k", version);
            rig.silence(BOB);
            rig.advance(CLIENT_TTL_MS);
            assertEquals(0, rig.stats().activePromotions());
            assertEquals(0, rig.stats().heldReplicas());
            assertTrue(rig.exists("k"));
            rig.read("k");
            assertEquals(List.of("k"), names(fetch(pages, ALICE, 1)));
        }
    }

    /** What is copied is neither evicted nor, when it is removed, given out again. */
    @Test
    void shouldHoldThePagesThatAreCopied() {
        try (PageRig pages = hot(1, 10)) {
            final MasterRig rig = pages.rig;
            final long version = pages.sharedAlone(ALICE, "v0", 4);
            for (int i = 1; i < 8; i++) {
                pages.sharedAlone(ALICE, "v" + i, 4);
            }
            final PromotionReply reply = rig.promote(BOB, "v0", version);
            final long next = rig.put(ALICE, "x", 4 * PAGE);
            assertEquals(0, pages.allocate(ALICE, "x", next, 4 * PAGE, 0).replicaId());
            assertTrue(rig.exists("v0"));
            assertFalse(rig.exists("v1"), "the next one went in its place");
            rig.remove("v0", true);
            rig.passAlive(LEASE_MS);
            assertEquals(28, pages.usedPages());
            assertEquals(Ack.STALE, rig.promoted(BOB, "v0", reply, true));
            assertEquals(24, pages.usedPages());
            assertEquals(0, rig.stats().heldReplicas());
        }
    }

    /** PR3: of many reads at once one task is made, and of many who ask for memory one gets it. */
    @Test
    void shouldLetOneClientDoIt() {
        try (PageRig pages = hot(1, 10)) {
            final MasterRig rig = pages.rig;
            final long version = pages.sharedAlone(ALICE, "k", 1);
            for (int i = 0; i < 320; i++) {
                rig.read("k");
            }
            assertEquals(1, stats(pages).queued());
            assertEquals(List.of("k"), names(fetch(pages, ALICE, 4)));
            assertTrue(rig.promote(BOB, "k", version).accepted(), "a reader who has it already");
            assertEquals(PromotionReply.DECLINED, rig.promote(ALICE, "k", version));
            assertEquals(0, stats(pages).waiting());
        }
    }

    @Test
    void shouldQueueNothingThatFullMemoryHasNoPlaceFor() {
        final MasterSettings.Eviction eviction = new MasterSettings.Eviction(0.5, 0.1, 1, 0, true);
        try (PageRig pages = new PageRig(MasterRig.withEviction(eviction).withPages(
            PageRig.pages(1, 0, false, new MasterSettings.Promotion(true, 1, 10))))) {
            pages.sharedAlone(ALICE, "k", 1);
            // Of 512 pages 256 are the watermark.
            pages.rig.put(ALICE, "x", 255 * PAGE);
            pages.rig.read("k");
            assertEquals(new Hot(1, 1, 0), stats(pages));
            pages.sharedAlone(ALICE, "l", 1);
            pages.rig.put(ALICE, "y", PAGE);
            pages.rig.read("l");
            assertEquals(1, stats(pages).rejected());
        }
    }
}
