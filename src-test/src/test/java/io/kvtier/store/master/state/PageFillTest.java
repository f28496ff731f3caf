package io.kvtier.store.master.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvtier.kit.LeakCheck;
import io.kvtier.store.ObjectKey;
import io.kvtier.store.protocol.SegmentCommand.Medium;
import io.kvtier.store.replica.PageLayout;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * How full the shared files are when a value finds no room for the first time: a hundred files of 4 GiB in pages of
 * 64 KiB, as they are by default, and values of 64 KiB to 16 MiB. What counts is the bytes of values, not of pages.
 * Computed, not timed; the worst of eight seeds was 0.996 for sizes that are all alike, 0.989 where each doubling is,
 * and 0.9999 for powers of two; 0.837 when a value may go to its home file alone.
 */
@ExtendWith(LeakCheck.class)
class PageFillTest {
    private static final int SEEDS = 3;
    private static final long LEAST = 64 << 10;
    private static final long MOST = 16 << 20;
    private static final PageLayout LAYOUT = new PageLayout("/mnt/m", 100, 64 << 10, 4L << 30);
    private static final double GOAL = 0.95;

    /** Any number of bytes, each as likely as any other. */
    private static LongUnaryOperator even(final SplittableRandom random) {
        return i -> random.nextLong(LEAST, MOST + 1);
    }

    /** As many below a mebibyte as above: each doubling as likely as any other, and any number of bytes within it. */
    private static LongUnaryOperator doubling(final SplittableRandom random) {
        return i -> Math.round(LEAST * Math.pow(2, 8 * random.nextDouble()));
    }

    /** The sizes that blocks of a cache really have: 64 KiB, 128 KiB ... 16 MiB. */
    private static LongUnaryOperator powers(final SplittableRandom random) {
        return i -> LEAST << random.nextInt(9);
    }

    /** Puts values until one finds no room; which share of all bytes they are. */
    private static double fill(final PageLayout layout, final boolean homeOnly, final SplittableRandom random,
        final LongUnaryOperator sizes) {
        final ObjectCatalogue ids = new ObjectCatalogue(null, new Tenants(false), 1);
        final PageSpace space = PageSpace.create(layout, ids);
        try {
            long bytes = 0;
            for (long i = 0;; i++) {
                final long size = sizes.applyAsLong(i);
                final String key = "block-" + random.nextLong();
                final List<PlacedReplica> placed;
                if (homeOnly) {
                    final PlacedReplica replica = space.buckets().get(layout.home(key)).allocate(i, null, size);
                    placed = replica == null ? List.of() : List.of(replica);
                } else {
                    placed = space.allocate(new Placement.Wish(new ObjectEntry(ObjectKey.of(key)), size,
                        Medium.DISTRIBUTED_DISK, List.of(), "", false), 0, ids);
                }
                if (placed.isEmpty()) {
                    return (double) bytes / layout.capacity();
                }
                bytes += size;
            }
        } finally {
            space.buckets().forEach(LentSegment::close);
        }
    }

    private static double worst(final boolean homeOnly, final Function<SplittableRandom, LongUnaryOperator> sizes) {
        double worst = 1;
        for (int seed = 0; seed < SEEDS; seed++) {
            final SplittableRandom random = new SplittableRandom(seed);
            worst = Math.min(worst, fill(LAYOUT, homeOnly, random, sizes.apply(random)));
        }
        return worst;
    }

    @Test
    void shouldBeFullWhenTheFirstValueFindsNoRoom() {
        assertTrue(worst(false, PageFillTest::even) >= GOAL);
        assertTrue(worst(false, PageFillTest::doubling) >= GOAL);
        assertTrue(worst(false, PageFillTest::powers) >= GOAL);
    }

    /** What the order of files is for: the same values in their home files alone leave much more empty. */
    @Test
    void shouldLeaveMoreEmptyInHomeFilesAlone() {
        final double even = worst(true, PageFillTest::even);
        assertTrue(even < GOAL, "the fullest of a hundred files is full long before the others: " + even);
    }

    /** One file has no others to go to; and values of whole pages fill it to the last. */
    @Test
    void shouldFillFilesToTheLastPageWithValuesOfOnePage() {
        final PageLayout small = new PageLayout("/mnt/m", 3, 4096, 5 * 4096);
        assertEquals(1.0, fill(small, false, new SplittableRandom(1), i -> 4096));
    }
}
