package io.kvtier.alloc.page;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.alloc.bits.AtomicWords;
import io.kvtier.alloc.bits.BufferWords;
import io.kvtier.alloc.bits.KnownFailure;
import io.kvtier.alloc.bits.Lanes;
import io.kvtier.alloc.bits.UnitMap;
import io.kvtier.bindings.NativeTag;

/**
 * Allocates pages of one size, alone or in contiguous runs, from a bitmap and without locks.
 *
 * <pre>
 *   lanes   | cursor, hint, counters | ...      128 bytes a lane
 *   map     | two bits a page: FREE, HEAD |     the truth
 * </pre>
 *
 * <p><b>How it works.</b> A thread allocates where the last free of its lane was, if a run is there, else from its
 * lane's cursor on, else from the beginning. So pages in sequence cost one compare-and-set each, and what was freed
 * last is used first. The second bit of a page is used only while a run over several words is freed, so that the free
 * of a run which is not all allocated can be taken back.
 *
 * <p><b>Invariants.</b> (1) A page belongs to one owner at most. (2) A run is freed as a whole or not at all.
 *
 * <p><b>Linearization points.</b> {@code allocate} and {@code markAllocated}: within a word the compare-and-set of the
 * claim, else the one that makes HEAD of the first word's pages. {@code free}: within a word its compare-and-set, else
 * the one that frees the first word.
 * Refusals: the read that contradicts. {@link #NO_SPACE}: the end of a search of the whole map during which the epoch
 * (the count of pages freed) stood still: every run that was there at its end had been there when the search passed.
 * <i>Pages of a call that is still running count as taken</i>: those of a free that has not returned, and those that an
 * allocation holds while it finds out that it must give them back. A free that has returned is never missed.
 *
 * <p><b>Memory order.</b> Volatile reads and compare-and-set; words wholly owned are cleared by release stores before
 * the compare-and-set on the run's first word, see {@link UnitMap}. <b>ABA:</b> a claim needs FREE codes only and does
 * not care whose they were; a free within a word is one compare-and-set over all it checks, and a longer one owns its
 * pages (DYING) before it frees any. The epoch never returns to an earlier value.
 *
 * <p><b>Progress.</b> Lock-free: a search is repeated only because a page was freed or claimed meanwhile. Exception:
 * when two threads free the same page at once (a fault of the caller) the second waits for the first's verdict. A
 * single thread can be overtaken without bound. <b>Cost:</b> amortized constant for sequential allocation; a search
 * reads one word for 32 pages, at worst the whole map; a request known to fail costs nothing until something is freed.
 *
 * <p><b>Memory:</b> two bits a page outside the heap: 4 MiB per TiB of 64 KiB pages. <b>Allocation on the heap:</b>
 * none, but for an answer of {@link #NO_SPACE}.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> until {@link #close()}; every call after it throws {@link
 * IllegalStateException}. Closing while another thread is inside a call is a fault of the owner, and may crash.
 * <b>Blocking:</b> never.
 *
 * <p><b>Source:</b> a bitmap with a cursor as in upstream stores, with claims by compare-and-set as in LLFree (Wrenger
 * et al., USENIX ATC '23).
 */
public final class BitmapPageAllocator implements AutoCloseable {
    /** What {@link #allocate} answers when no free run is long enough. Free something, or evict, and ask again. */
    public static final long NO_SPACE = -1;
    /** The most pages there can be. */
    public static final long MAX_PAGES = UnitMap.MAX_UNITS;

    private static final double FAR = 0.381966;
    private static final long PAGES_IN_LINES = 16L * UnitMap.UNITS_PER_WORD;
    private static final long IN_WORD = UnitMap.UNITS_PER_WORD - 1;

    private final MemoryRegion region;
    private final Lanes lanes;
    private final UnitMap map;
    private final long pages;
    private volatile KnownFailure failure = KnownFailure.NONE;
    private volatile boolean closed;

    /** Over words that are zero and {@link #words} long; a region, if there is one, is closed with the allocator. */
    BitmapPageAllocator(final AtomicWords words, final MemoryRegion region, final long pages, final int laneCount) {
        this.region = region;
        this.pages = pages;
        lanes = new Lanes(words, 0, laneCount);
        map = new UnitMap(words, Lanes.words(laneCount), pages);
        final long wordsOfLane = Math.max(1, UnitMap.words(pages) / laneCount);
        for (int lane = 0; lane < laneCount; lane++) {
            lanes.cursor(lane, Math.min(lane * wordsOfLane * UnitMap.UNITS_PER_WORD, pages - 1));
        }
    }

    /** How many words an allocator needs. */
    static long words(final long pages, final int laneCount) {
        return Lanes.words(laneCount) + UnitMap.words(pages);
    }

    /**
     * An empty allocator, with as many cursors as suit the machine.
     *
     * @param pages how many pages, from 1 to {@link #MAX_PAGES}.
     * @return the owner of its tables.
     * @throws IllegalArgumentException when the number is out of range.
     */
    public static BitmapPageAllocator create(final long pages) {
        return create(pages, Lanes.suited());
    }

    /**
     * An empty allocator.
     *
     * @param pages how many pages, from 1 to {@link #MAX_PAGES}.
     * @param lanes how many cursors threads are spread over: a power of two to 1024. With 1, where a run goes depends
     *              on nothing but the calls made so far.
     * @return the owner of its tables.
     * @throws IllegalArgumentException when a number is out of range.
     */
    public static BitmapPageAllocator create(final long pages, final int lanes) {
        if (pages < 1 || pages > MAX_PAGES) {
            throw new IllegalArgumentException("pages is " + pages + ", but must be from 1 to " + MAX_PAGES
                + ": take larger pages or several allocators");
        }
        final long length = words(pages, Lanes.checked(lanes));
        final HostRegion region = HostRegion.allocate(NativeTag.ALLOCATOR, length * Long.BYTES);
        return new BitmapPageAllocator(new BufferWords(region.segment().address(), length), region, pages, lanes);
    }

    /**
     * Allocates a contiguous run of pages. Lock-free; amortized constant time for pages in sequence.
     *
     * @param count how many, more than 0.
     * @return the first page, or {@link #NO_SPACE} when there was no free run of that length; pages of calls still
     *     running count as taken.
     * @throws IllegalArgumentException when the count is not positive.
     * @throws IllegalStateException    after {@link #close()}.
     */
    public long allocate(final long count) {
        checkUse(count);
        if (count > pages) {
            return NO_SPACE;
        }
        final int lane = lanes.mine();
        final long hint = lanes.hint(lane);
        if (hint != 0) {
            final long word = hint - 1 & ~IN_WORD;
            final long first = claimIn(lane, word, word + UnitMap.UNITS_PER_WORD, count);
            if (first >= 0) {
                return first;
            }
            lanes.hint(lane, 0);
        }
        long cursor = lanes.cursor(lane);
        long first = map.find(cursor, pages, count);
        if (first >= 0 && !claim(lane, first, count)) {
            // Another thread allocates just here. Going on beside it would have both write the same lines for ever.
            cursor = away(cursor);
            first = claimIn(lane, cursor, pages, count);
        }
        if (first < 0) {
            first = cursor == 0 ? NO_SPACE : claimIn(lane, 0, cursor + IN_WORD & ~IN_WORD, count);
            if (first < 0) {
                first = searchAll(lane, count);
            }
        }
        if (first >= 0) {
            lanes.cursor(lane, first + count < pages ? first + count : 0);
        }
        return first;
    }

    /** A place far from a cursor, where a pair of cache lines begins; the golden section never meets itself soon. */
    private long away(final long cursor) {
        final long far = cursor + (long) (pages * FAR);
        return (far < pages ? far : far - pages) & ~(PAGES_IN_LINES - 1);
    }

    /** The search that decides: over everything, and again if something was freed meanwhile. */
    private long searchAll(final int lane, final long count) {
        for (;;) {
            final long epoch = lanes.freed();
            if (failure.covers(count, epoch)) {
                return NO_SPACE;
            }
            final long first = claimIn(lane, 0, pages, count);
            if (first >= 0) {
                return first;
            }
            if (lanes.freed() == epoch) {
                failure = new KnownFailure(count, epoch);
                return NO_SPACE;
            }
        }
    }

    private long claimIn(final int lane, final long from, final long to, final long count) {
        for (;;) {
            final long first = map.find(from, to, count);
            if (first < 0) {
                return NO_SPACE;
            }
            if (claim(lane, first, count)) {
                return first;
            }
        }
    }

    private boolean claim(final int lane, final long first, final long count) {
        final long given = map.claim(first, count, UnitMap.PAGES);
        if (given == UnitMap.CLAIMED) {
            lanes.countAllocated(lane, count);
            return true;
        }
        if (given > 0) {
            // Somebody may have passed these pages while they were taken: to everybody else this is a free.
            lanes.countAllocated(lane, given);
            lanes.countFreed(lane, given);
        }
        return false;
    }

    /**
     * Frees pages, which need not have been allocated by one call. Lock-free unless one of them is being freed by
     * another thread.
     *
     * @param first the first page.
     * @param count how many, more than 0.
     * @return false when one of them is not allocated, or there is no such page. Nothing has changed then.
     * @throws IllegalArgumentException when the count is not positive.
     * @throws IllegalStateException    after {@link #close()}.
     */
    public boolean free(final long first, final long count) {
        checkUse(count);
        if (isOutside(first, count) || !map.releasePages(first, count)) {
            return false;
        }
        final int lane = lanes.mine();
        lanes.hint(lane, first + 1);
        lanes.countFreed(lane, count);
        return true;
    }

    /**
     * Allocates exactly these pages, to restore what was allocated before a restart. Lock-free.
     *
     * @param first the first page.
     * @param count how many, more than 0.
     * @return false when one of them is allocated already, or there is no such page; nothing has changed then. Pages
     *     of calls still running count as taken.
     * @throws IllegalArgumentException when the count is not positive.
     * @throws IllegalStateException    after {@link #close()}.
     */
    public boolean markAllocated(final long first, final long count) {
        checkUse(count);
        // The look first keeps a refusal from taking pages for a moment in the common case.
        return !isOutside(first, count) && map.isFree(first, count) && claim(lanes.mine(), first, count);
    }

    /**
     * Whether a page is allocated. Wait-free.
     *
     * @param page which one.
     * @return true when somebody holds it; stable only for its owner.
     * @throws IndexOutOfBoundsException when there is no such page.
     * @throws IllegalStateException     after {@link #close()}.
     */
    public boolean isAllocated(final long page) {
        checkOpen();
        if (isOutside(page, 1)) {
            throw new IndexOutOfBoundsException("page is " + page + ", but there are " + pages);
        }
        return map.isTaken(page);
    }

    /**
     * How many pages are allocated. Wait-free.
     *
     * @return pages; exact when no call is running, else off by what the running ones change.
     * @throws IllegalStateException after {@link #close()}.
     */
    public long allocatedCount() {
        checkOpen();
        return lanes.allocated();
    }

    /** Gives the tables back. A second call does nothing. No other call may be running. */
    @Override
    public void close() {
        closed = true;
        if (region != null) {
            region.close();
        }
    }

    private boolean isOutside(final long first, final long count) {
        return first < 0 || count > pages || first > pages - count;
    }

    private void checkUse(final long count) {
        checkOpen();
        if (count <= 0) {
            throw new IllegalArgumentException("count is " + count + ", but must be more than 0");
        }
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException("the page allocator is closed");
        }
    }
}
