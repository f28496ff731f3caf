package io.kvtier.store.master.state;

import static io.kvtier.store.master.state.MasterRig.ALICE;
import static io.kvtier.store.master.state.MasterRig.LEASE_MS;
import static io.kvtier.store.master.state.PageRig.PAGE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.PutOptions;
import io.kvtier.store.SoftPin;
import io.kvtier.store.config.MasterSettings;
import io.kvtier.store.protocol.PageCommand;
import io.kvtier.store.protocol.PageCommand.PageOutcome;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What goes from the shared files to make room, and when its pages are used again. */
@ExtendWith(LeakCheck.class)
class PageEvictionTest {
    private static final MasterSettings.Promotion NONE = new MasterSettings.Promotion(false, 2, 10);
    /** All pages of all files. */
    private static final long ALL = (long) PageRig.BUCKETS * PageRig.PAGES;

    /** Values of four pages that are in the shared files alone: eight of them fill these. */
    private static void fill(final PageRig pages, final int count) {
        for (int i = 0; i < count; i++) {
            pages.sharedAlone(ALICE, "v" + i, 4);
        }
    }

    private static List<String> left(final PageRig pages, final int count) {
        return Stream.iterate(0, i -> i < count, i -> i + 1).map(i -> "v" + i).filter(pages.rig::exists).toList();
    }

    private static PageOutcome allocate(final PageRig pages, final String key, final long size) {
        final long version = pages.rig.query(key).found() ? pages.rig.query(key).version()
            : pages.rig.put(ALICE, key, size);
        return pages.allocate(ALICE, key, version, size, 0).outcome();
    }

    /** The first try frees the oldest, whose pages rest; when they have, there is room. */
    @Test
    void shouldEvictTheOldestAndUseItsPagesWhenTheyHaveRested() {
        try (PageRig pages = new PageRig()) {
            fill(pages, 8);
            assertEquals(ALL, pages.usedPages());
            assertEquals(PageOutcome.NO_SPACE, allocate(pages, "x", 4 * PAGE));
            assertEquals(List.of("v1", "v2", "v3", "v4", "v5", "v6", "v7"), left(pages, 8));
            assertEquals(ALL, pages.usedPages(), "a reader may have the descriptor");
            pages.rig.passAlive(LEASE_MS - 1);
            assertEquals(PageOutcome.NO_SPACE, allocate(pages, "x", 4 * PAGE));
            assertEquals(7, left(pages, 8).size(), "what rests is room to come: nothing more goes for it");
            pages.rig.passAlive(1);
            assertEquals(PageOutcome.ALLOCATED, allocate(pages, "x", 4 * PAGE));
            assertEquals(1, pages.rig.stats().pages().evictions());
            assertEquals(4 * PAGE, pages.rig.stats().pages().evictedBytes());
            assertEquals(2, pages.rig.stats().pages().failures());
        }
    }

    /** Room in pieces is no room for one that wants them together: more go, until a run is long enough. */
    @Test
    void shouldEvictMoreForALongerRun() {
        try (PageRig pages = new PageRig()) {
            fill(pages, 8);
            int tries = 0;
            while (allocate(pages, "x", 8 * PAGE) == PageOutcome.NO_SPACE) {
                assertTrue(++tries < 8, "in the end a whole file is free");
                pages.rig.passAlive(LEASE_MS);
            }
            assertEquals("v7", left(pages, 8).getLast());
        }
    }

    /** A half is what an eviction at the watermark frees; a run that is missing costs others no more than it takes. */
    @Test
    void shouldEvictNoMoreThanAValueTakesWhenOnlyItsRunIsMissing() {
        try (PageRig pages = new PageRig(PageRig.pages(1, 0.5, false, NONE))) {
            fill(pages, 8);
            assertEquals(PageOutcome.NO_SPACE, allocate(pages, "x", 8 * PAGE));
            assertEquals(6, left(pages, 8).size());
        }
    }

    /** Of 32 pages 28 are the high watermark; then a fifth goes besides: 28 - 6.4 = 21.6. */
    @Test
    void shouldEvictFromTheHighToTheLowWatermarkOnce() {
        try (PageRig pages = new PageRig(PageRig.pages(0.875, 0.2, false, NONE))) {
            fill(pages, 7);
            assertEquals(7, left(pages, 7).size(), "just below");
            assertEquals(PageOutcome.ALLOCATED, allocate(pages, "x", PAGE));
            assertEquals(List.of("v2", "v3", "v4", "v5", "v6"), left(pages, 7), "29 - 8 pages are below the low one");
            assertEquals(29, pages.usedPages(), "eight rest");
            assertEquals(PageOutcome.ALLOCATED, allocate(pages, "y", PAGE));
            assertEquals(5, left(pages, 7).size(), "what rests counts as free");
            pages.rig.passAlive(LEASE_MS);
            assertEquals(22, pages.usedPages());
        }
    }

    /** Four values, the oldest of which is leased by a read: the next one goes in its place. */
    @Test
    void shouldPassOverWhatIsLeasedOrPinnedHard() {
        try (PageRig pages = new PageRig()) {
            final long pinned = pages.rig.put(ALICE, "v0", 4 * PAGE, PutOptions.DEFAULT.withHardPin(true));
            pages.stored(ALICE, "v0", pinned, pages.allocated(ALICE, "v0", pinned, 4 * PAGE));
            for (int i = 1; i < 8; i++) {
                pages.sharedAlone(ALICE, "v" + i, 4);
            }
            pages.rig.passAlive(LEASE_MS);
            pages.mapping("v1");
            pages.rig.read("v2");
            assertEquals(PageOutcome.NO_SPACE, allocate(pages, "x", 4 * PAGE));
            assertEquals(List.of("v0", "v1", "v2", "v4", "v5", "v6", "v7"), left(pages, 8));
        }
    }

    @Test
    void shouldEvictNothingWhenEverythingIsLeased() {
        try (PageRig pages = new PageRig()) {
            fill(pages, 8);
            for (int i = 0; i < 8; i++) {
                pages.rig.read("v" + i);
            }
            assertEquals(PageOutcome.NO_SPACE, allocate(pages, "x", 4 * PAGE));
            assertEquals(8, left(pages, 8).size());
            assertEquals(0, pages.rig.stats().pages().evictions());
        }
    }

    /** A read of many at once renews each of them, as one alone does. */
    @Test
    void shouldEvictInTheOrderOfLastUse() {
        try (PageRig pages = new PageRig()) {
            fill(pages, 8);
            pages.rig.read("v0");
            pages.rig.apply(new PageCommand.BatchGetDistributedPageMapping(
                List.of(MasterRig.key("v1"), MasterRig.key("v2"))));
            pages.rig.passAlive(LEASE_MS);
            assertEquals(PageOutcome.NO_SPACE, allocate(pages, "x", 8 * PAGE));
            assertEquals(List.of("v0", "v1", "v2", "v5", "v6", "v7"), left(pages, 8));
        }
    }

    @Test
    void shouldEvictSoftPinnedOnesLast() {
        try (PageRig pages = new PageRig()) {
            final PutOptions pin = PutOptions.DEFAULT.withSoftPin(SoftPin.ENABLE);
            final long pinned = pages.rig.put(ALICE, "v0", 4 * PAGE, pin);
            pages.stored(ALICE, "v0", pinned, pages.allocated(ALICE, "v0", pinned, 4 * PAGE));
            for (int i = 1; i < 8; i++) {
                pages.sharedAlone(ALICE, "v" + i, 4);
            }
            assertEquals(PageOutcome.NO_SPACE, allocate(pages, "x", 4 * PAGE));
            assertEquals(List.of("v0", "v2", "v3", "v4", "v5", "v6", "v7"), left(pages, 8));
        }
    }

    /** A value that is in memory as well loses only its pages. */
    @Test
    void shouldKeepTheMemoryOfWhatIsEvicted() {
        try (PageRig pages = new PageRig()) {
            for (int i = 0; i < 8; i++) {
                pages.shared(ALICE, "v" + i, 4);
            }
            assertEquals(PageOutcome.NO_SPACE, allocate(pages, "x", 4 * PAGE));
            assertEquals(8, left(pages, 8).size());
            assertEquals(1, pages.rig.query("v0").replicas().size());
            assertEquals(2, pages.rig.query("v1").replicas().size());
        }
    }

    @Test
    void shouldUseThePagesOfAGroupTogether() {
        try (PageRig pages = new PageRig()) {
            for (int i = 0; i < 8; i++) {
                final PutOptions options = i % 4 == 0 ? PutOptions.DEFAULT.withGroup("g") : PutOptions.DEFAULT;
                final long version = pages.rig.put(ALICE, "v" + i, 4 * PAGE, options);
                pages.stored(ALICE, "v" + i, version, pages.allocated(ALICE, "v" + i, version, 4 * PAGE));
            }
            pages.rig.passAlive(LEASE_MS);
            pages.rig.evict(1, 1);
            assertEquals(PageOutcome.NO_SPACE, allocate(pages, "x", 4 * PAGE));
            assertEquals(List.of("v1", "v2", "v3", "v5", "v6", "v7"), left(pages, 8));
        }
    }
}
