package io.kvtier.alloc.extent;

import io.kvtier.alloc.HostRegion;
import io.kvtier.alloc.MemoryRegion;
import io.kvtier.alloc.Units;
import io.kvtier.alloc.bits.AtomicWords;
import io.kvtier.alloc.bits.BufferWords;
import io.kvtier.alloc.bits.KnownFailure;
import io.kvtier.alloc.bits.Lanes;
import io.kvtier.alloc.bits.UnitMap;
import io.kvtier.bindings.NativeTag;

/**
 * Allocates byte extents of any size over {@code [0, capacity)}, aligned to a unit, without locks.
 *
 * <pre>
 *   lanes    | cursor, counters |  ...               128 bytes a lane
 *   tree     | longest free run, an upper bound |    8 bytes and a third for each chunk of 4096 units
 *   map      | two bits a unit: FREE, HEAD, BODY |   the truth
 * </pre>
 *
 * <p><b>How it works.</b> The map alone says what is allocated; freed neighbours are one run of FREE codes the moment
 * the second is freed, so there is nothing to coalesce. An allocation first tries the place where its lane's last one
 * ended, then asks the tree for the first chunk from its lane's home on that may have a run long enough, looks there,
 * and claims the lowest run that fits. A look in vain lowers the chunk's bound to what was seen, so the next call does
 * not look again: every allocation makes at most a few bounds too high, which pays for the looks in vain (amortized).
 * A free clears the map, then raises the bounds of the chunks in which the merged run can now be had.
 *
 * <p><b>Invariants.</b> (1) No unit belongs to two extents. (2) A chunk's bound, and every bound above it, is at least
 * the longest free run there, except for units held by a call that is still running. (3) Extents are whole: an extent
 * is freed exactly as it was allocated or not at all.
 *
 * <p><b>Linearization points.</b> {@code allocate} and {@code markAllocated}: the compare-and-set that writes HEAD.
 * {@code free}: the compare-and-set that removes HEAD. Refusals: the read that contradicts. {@link #NO_SPACE}: the read
 * of the tree's root. <i>Units of a call that is still running count as taken</i>: those of a free that has not
 * returned, and those that an allocation holds while it finds out that it must give them back. A free that has
 * returned is never missed.
 *
 * <p><b>Memory order.</b> Volatile reads and compare-and-set, except that wholly owned words are cleared by release
 * stores; {@link UnitMap} and {@link ChunkTree} say why that is enough. <b>ABA</b> is met by the second check in
 * {@link UnitMap}'s release and by the versions in {@link ChunkTree}.
 *
 * <p><b>Progress.</b> Lock-free: a call repeats a step only because another call has changed something. Exception: when
 * two threads free the same extent at once (a fault of the caller) the second waits for the first's verdict. A single
 * thread can be overtaken without bound. Cost: claiming and freeing touch one word for 32 units; searching costs at
 * most one look of 128 words into every chunk whose bound is out of date, and amortized about one of them.
 * Extents longer than a chunk are found by a walk over the chunks that are free to their end.
 *
 * <p><b>Memory:</b> two bits a unit and 11 bytes for 4096 units: 64.7 MiB per TiB at 4 KiB, outside the heap, taken
 * from the system as the space is first used, in huge pages where it has them and the tables are large.
 * <b>Allocation on the heap:</b> none but for a failed request longer than a chunk.
 *
 * <p><b>Threading:</b> thread-safe. <b>Lifetime:</b> until {@link #close()}; every call after it throws {@link
 * IllegalStateException}. Closing while another thread is inside a call is a fault of the owner, and may crash.
 * <b>Blocking:</b> never.
 *
 * <p><b>Source:</b> LLFree (Wrenger et al., USENIX ATC '23) for bit fields under per-area summaries and for cursors of
 * threads; Marotta et al. (2018) for coalescing by marks in a tree instead of by lists; the place where the last
 * allocation ended is Lea's "designated victim".
 */
public final class ExtentAllocator implements AutoCloseable {
    /** What {@link #allocate} answers when no free run is long enough. Free something, or evict, and ask again. */
    public static final long NO_SPACE = -1;
    /** The usual unit in bytes: a page, and what a disk wants. */
    public static final long DEFAULT_UNIT_BYTES = 4096;
    /** The smallest unit in bytes. */
    public static final long MIN_UNIT_BYTES = 64;
    /** The largest capacity in bytes: 16 TiB. */
    public static final long MAX_CAPACITY_BYTES = 1L << 44;

    private static final int LINE_WORDS = 16;
    private static final long NO_CURSOR = -1;
    // More of them fill the space better and take longer: under replacement 1 keeps 88 % of 1 TiB in use, 8 keep 91 %,
    // and 64 keep 94 %.
    private static final int CANDIDATES = 8;
    // From here on the tables are worth a huge page; below, they would be mostly empty.
    private static final long HUGE_BYTES = 8L << 20;

    private final MemoryRegion region;
    private final UnitMap map;
    private final ChunkTree tree;
    private final Lanes lanes;
    private final long units;
    private final int unitShift;
    private final int chunkUnits;
    private volatile KnownFailure failure = KnownFailure.NONE;
    private volatile boolean closed;

    /** Over words that are zero; a region, if there is one, is closed with the allocator. */
    ExtentAllocator(final AtomicWords words, final MemoryRegion region, final Shape shape) {
        this.region = region;
        units = shape.units();
        unitShift = Long.numberOfTrailingZeros(shape.unitBytes());
        chunkUnits = shape.chunkUnits();
        lanes = new Lanes(words, 0, shape.lanes());
        final int treeBase = Lanes.words(shape.lanes());
        tree = new ChunkTree(words, treeBase, units, chunkUnits);
        map = new UnitMap(words, (int) shape.mapBase(), units);
        for (int lane = 0; lane < shape.lanes(); lane++) {
            lanes.cursor(lane, (long) home(lane) * chunkUnits);
        }
    }

    /** What there is to allocate, and how it is divided. */
    record Shape(long units, long unitBytes, int chunkUnits, int lanes) {
        long mapBase() {
            final long tree = ChunkTree.words(units, chunkUnits);
            return Lanes.words(lanes) + Units.up(tree, LINE_WORDS);
        }

        long words() {
            return mapBase() + UnitMap.words(units);
        }
    }

    /**
     * An empty allocator of 4 KiB units, with as many lanes as suit the machine.
     *
     * @param capacityBytes the space, from 4 KiB to 16 TiB; what is beyond the last whole unit is not used.
     * @return the owner of its tables.
     * @throws IllegalArgumentException when the capacity is out of range.
     */
    public static ExtentAllocator create(final long capacityBytes) {
        return create(capacityBytes, DEFAULT_UNIT_BYTES, Lanes.suited());
    }

    /**
     * An empty allocator.
     *
     * @param capacityBytes the space, from one unit to 16 TiB and to 2<sup>32</sup> units; what is beyond the last
     *                      whole unit is not used.
     * @param unitBytes     what offsets and lengths are multiples of: a power of two, 64 or more.
     * @param lanes         how many cursors threads are spread over: a power of two to 1024. With 1, where an extent
     *                      goes depends on nothing but the calls made so far.
     * @return the owner of its tables.
     * @throws IllegalArgumentException when a value is out of range; the text names it, its limit and a way out.
     */
    public static ExtentAllocator create(final long capacityBytes, final long unitBytes, final int lanes) {
        final Shape shape = new Shape(checkedUnits(capacityBytes, unitBytes), unitBytes, ChunkTree.CHUNK_UNITS,
            Lanes.checked(lanes));
        final long bytes = shape.words() * Long.BYTES;
        final HostRegion region = bytes < HUGE_BYTES ? HostRegion.allocate(NativeTag.ALLOCATOR, bytes)
            : HostRegion.allocateHuge(NativeTag.ALLOCATOR, bytes);
        return new ExtentAllocator(new BufferWords(region.segment().address(), shape.words()), region, shape);
    }

    private static long checkedUnits(final long capacityBytes, final long unitBytes) {
        if (unitBytes < MIN_UNIT_BYTES || Long.bitCount(unitBytes) != 1) {
            throw new IllegalArgumentException("unitBytes is " + unitBytes + ", but must be a power of two of at least "
                + MIN_UNIT_BYTES + ": take " + DEFAULT_UNIT_BYTES + " unless values are smaller");
        }
        if (capacityBytes < unitBytes) {
            throw new IllegalArgumentException("capacityBytes is " + capacityBytes + ", less than one unit of "
                + unitBytes + " bytes: give more capacity or a smaller unit");
        }
        final long units = capacityBytes / unitBytes;
        if (capacityBytes > MAX_CAPACITY_BYTES || units > UnitMap.MAX_UNITS) {
            throw new IllegalArgumentException("capacityBytes is " + capacityBytes + ", that is " + units
                + " units of " + unitBytes + " bytes, but at most " + MAX_CAPACITY_BYTES + " bytes and "
                + UnitMap.MAX_UNITS + " units are possible: take a larger unit or several allocators");
        }
        return units;
    }

    /**
     * What the tables take when all of the space has been used.
     *
     * @param capacityBytes as for {@link #create(long, long, int)}.
     * @param unitBytes     as for {@link #create(long, long, int)}.
     * @return bytes outside the heap, without the 128 for each lane.
     * @throws IllegalArgumentException when a value is out of range.
     */
    public static long metadataBytes(final long capacityBytes, final long unitBytes) {
        final long units = checkedUnits(capacityBytes, unitBytes);
        final Shape shape = new Shape(units, unitBytes, ChunkTree.CHUNK_UNITS, 1);
        return (shape.words() - Lanes.words(1)) * Long.BYTES;
    }

    /**
     * Allocates an extent. Lock-free; amortized constant time for each 32 units and each call.
     *
     * @param sizeBytes how much, more than 0; rounded up to units.
     * @return its offset in bytes, or {@link #NO_SPACE} when there was no free run of that length (which includes
     *     every size beyond the capacity); units of calls still running count as taken.
     * @throws IllegalArgumentException when the size is not positive.
     * @throws IllegalStateException    after {@link #close()}.
     */
    public long allocate(final long sizeBytes) {
        checkUse(sizeBytes);
        if (sizeBytes > units << unitShift) {
            return NO_SPACE;
        }
        final long count = unitsOf(sizeBytes);
        final int lane = lanes.mine();
        final long cursor = lanes.cursor(lane);
        if (cursor >= 0 && map.isFree(cursor, count) && claim(lane, cursor, count)) {
            lanes.cursor(lane, cursor + count);
            return cursor << unitShift;
        }
        final long first = search(lane, count);
        if (first < 0) {
            return NO_SPACE;
        }
        // Going on from here would use up the rest of a run that a smaller request may fit better, unless this is the
        // beginning of a wide free space.
        lanes.cursor(lane, map.isFree(first + count, chunkUnits) ? first + count : NO_CURSOR);
        return first << unitShift;
    }

    private long search(final int lane, final long count) {
        if (count > chunkUnits) {
            return searchLong(lane, count);
        }
        final int home = home(lane);
        for (;;) {
            long first = searchChunks(lane, home, tree.chunks(), count);
            if (first < 0 && home > 0) {
                first = searchChunks(lane, 0, home, count);
            }
            if (first >= 0 || tree.provesNone(count)) {
                return first;
            }
            if (tree.isLowering() && walkProvesNone(count)) {
                return NO_SPACE;
            }
            tree.settle(count);
        }
    }

    private long searchChunks(final int lane, final int from, final int to, final long count) {
        for (;;) {
            final int chunk = tightest(from, to, count);
            if (chunk < 0) {
                return NO_SPACE;
            }
            final long seen = tree.state(chunk);
            if (tree.bound(seen) >= count) {
                final long start = (long) chunk * chunkUnits;
                final long found = map.find(start, Math.min(start + chunkUnits, units), count);
                if (found < 0) {
                    tree.lower(chunk, seen, -1 - found);
                } else if (claim(lane, found, count)) {
                    return found;
                }
            }
        }
    }

    /** Of the first few chunks that may have a run long enough, the one whose longest run is nearest to it. */
    private int tightest(final int from, final int to, final long count) {
        int tightest = -1;
        long least = Long.MAX_VALUE;
        int chunk = from;
        for (int i = 0; i < CANDIDATES && least > count; i++) {
            chunk = tree.next(chunk, count);
            if (chunk < 0 || chunk >= to) {
                break;
            }
            final long bound = tree.bound(tree.state(chunk));
            if (bound < least) {
                least = bound;
                tightest = chunk;
            }
            chunk++;
        }
        return tightest;
    }

    /**
     * For the case that the tree's root proves nothing because a thread was stopped while lowering it: chunk words are
     * always sound, and what is given back while we walk changes the epoch.
     */
    private boolean walkProvesNone(final long count) {
        final long epoch = lanes.freed();
        for (int chunk = 0; chunk < tree.chunks(); chunk++) {
            if (tree.bound(tree.state(chunk)) >= count) {
                return false;
            }
        }
        return lanes.freed() == epoch;
    }

    private long searchLong(final int lane, final long count) {
        // The tree may hide a chunk for a moment while another thread lowers it, so what proves that there is nothing
        // is a walk over all chunk words; but it is needed only after the quick one was in vain.
        final long quick = walkLong(lane, count, false);
        if (quick >= 0) {
            return quick;
        }
        for (;;) {
            final long epoch = lanes.freed();
            if (failure.covers(count, epoch)) {
                return NO_SPACE;
            }
            final long first = walkLong(lane, count, true);
            if (first >= 0) {
                return first;
            }
            if (lanes.freed() == epoch) {
                failure = new KnownFailure(count, epoch);
                return NO_SPACE;
            }
        }
    }

    /**
     * A run longer than a chunk reaches over the end of the chunk it begins in, and that chunk's bound is a whole
     * chunk. Skipping to the end of a run that is too short keeps the walk linear.
     */
    private long walkLong(final int lane, final long count, final boolean everyChunk) {
        int chunk = everyChunk ? 0 : tree.next(0, chunkUnits);
        while (chunk >= 0 && chunk < tree.chunks()) {
            int next = chunk + 1;
            if (tree.bound(tree.state(chunk)) >= chunkUnits) {
                final long border = Math.min((chunk + 1L) * chunkUnits, units);
                final long first = map.freeDown(border, (long) chunk * chunkUnits);
                final long end = map.freeUp(border, first + count);
                if (end - first < count) {
                    next = Math.max(next, (int) (end / chunkUnits));
                } else if (claim(lane, first, count)) {
                    return first;
                } else {
                    next = chunk;
                }
            }
            chunk = everyChunk ? next : tree.next(next, chunkUnits);
        }
        return NO_SPACE;
    }

    private boolean claim(final int lane, final long first, final long count) {
        final long given = map.claim(first, count, UnitMap.EXTENT);
        if (given == UnitMap.CLAIMED) {
            lanes.countAllocated(lane, count);
            return true;
        }
        if (given > 0) {
            // Somebody may have seen these units as taken and lowered a bound: to everybody else this is a free.
            raise(first, first + given);
            lanes.countAllocated(lane, given);
            lanes.countFreed(lane, given);
        }
        return false;
    }

    /**
     * Frees an extent. Lock-free unless the same extent is being freed by another thread.
     *
     * @param offsetBytes where it begins.
     * @param sizeBytes   its size, more than 0, as it was asked for or rounded up to units.
     * @return false when there is no such extent: never allocated, freed already, or not exactly from there and of
     *     that many units. Nothing has changed then.
     * @throws IllegalArgumentException when the size is not positive.
     * @throws IllegalStateException    after {@link #close()}.
     */
    public boolean free(final long offsetBytes, final long sizeBytes) {
        checkUse(sizeBytes);
        if (isOutside(offsetBytes, sizeBytes)) {
            return false;
        }
        final long first = offsetBytes >> unitShift;
        final long count = unitsOf(sizeBytes);
        if (!map.releaseExtent(first, count)) {
            return false;
        }
        raise(first, first + count);
        lanes.countFreed(lanes.mine(), count);
        return true;
    }

    /**
     * Raises the bounds of every chunk in which the run around freed units begins. It need not be followed further down
     * than to the start of the chunk before: a chunk that is all free has the highest bound already.
     */
    private void raise(final long first, final long end) {
        final long chunkMask = -chunkUnits;
        final int chunk = (int) (first / chunkUnits);
        if ((first & chunkMask) == (end - 1 & chunkMask) && tree.touchHighest(chunk)
            && (chunk == 0 || tree.touchHighest(chunk - 1))) {
            // There is much free space about, and nothing to find out.
            return;
        }
        final long low = map.freeDown(first, Math.max(0, (first & chunkMask) - chunkUnits));
        final long lastStart = Math.max(low, end - 1 & chunkMask);
        final long high = map.freeUp(end, lastStart + chunkUnits);
        for (long start = low; start < end; start = (start & chunkMask) + chunkUnits) {
            tree.raise((int) (start / chunkUnits), high - start);
        }
    }

    /**
     * Allocates exactly this extent, to restore what was allocated before a restart. Lock-free.
     *
     * @param offsetBytes where it begins.
     * @param sizeBytes   its size, more than 0; rounded up to units.
     * @return false when part of it is allocated, or it is not inside the space, or not aligned; nothing has changed
     *     then. Units of calls still running count as taken.
     * @throws IllegalArgumentException when the size is not positive.
     * @throws IllegalStateException    after {@link #close()}.
     */
    public boolean markAllocated(final long offsetBytes, final long sizeBytes) {
        checkUse(sizeBytes);
        if (isOutside(offsetBytes, sizeBytes)) {
            return false;
        }
        final long first = offsetBytes >> unitShift;
        final long count = unitsOf(sizeBytes);
        // The look first keeps a refusal from taking units for a moment in the common case.
        return map.isFree(first, count) && claim(lanes.mine(), first, count);
    }

    /**
     * The size of the extent at an offset. Wait-free; time in proportion to the size.
     *
     * @param offsetBytes where it begins.
     * @return bytes, a multiple of the unit; 0 when no extent begins there. Stable only for the extent's owner.
     * @throws IllegalStateException after {@link #close()}.
     */
    public long extentSize(final long offsetBytes) {
        checkOpen();
        return isOutside(offsetBytes, 1) ? 0 : map.extentUnits(offsetBytes >> unitShift) << unitShift;
    }

    /**
     * How much is allocated. Wait-free.
     *
     * @return bytes, a multiple of the unit; exact when no call is running, else off by what the running ones change.
     * @throws IllegalStateException after {@link #close()}.
     */
    public long allocatedBytes() {
        checkOpen();
        return lanes.allocated() << unitShift;
    }

    /**
     * An upper bound of what one allocation can get now. Wait-free.
     *
     * @return bytes: not less than the longest free run, apart from what calls still running free.
     * @throws IllegalStateException after {@link #close()}.
     */
    public long largestFreeBytes() {
        checkOpen();
        final long bound = tree.bound();
        final long free = units - lanes.allocated();
        return (bound < chunkUnits ? Math.min(bound, free) : free) << unitShift;
    }

    /**
     * The space in whole units.
     *
     * @return bytes, a multiple of the unit.
     */
    public long capacityBytes() {
        return units << unitShift;
    }

    /**
     * What offsets and lengths are multiples of.
     *
     * @return bytes, a power of two.
     */
    public long unitBytes() {
        return 1L << unitShift;
    }

    /** Gives the tables back. A second call does nothing. No other call may be running. */
    @Override
    public void close() {
        closed = true;
        if (region != null) {
            region.close();
        }
    }

    private int home(final int lane) {
        return (int) ((long) lane * tree.chunks() / lanes.count());
    }

    private long unitsOf(final long sizeBytes) {
        return (sizeBytes - 1 >> unitShift) + 1;
    }

    private boolean isOutside(final long offsetBytes, final long sizeBytes) {
        final long capacity = units << unitShift;
        return offsetBytes < 0 || sizeBytes > capacity || offsetBytes > capacity - sizeBytes
            || (offsetBytes & (1L << unitShift) - 1) != 0;
    }

    private void checkUse(final long sizeBytes) {
        checkOpen();
        if (sizeBytes <= 0) {
            throw new IllegalArgumentException("sizeBytes is " + sizeBytes + ", but must be more than 0");
        }
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException("the extent allocator is closed");
        }
    }
}
