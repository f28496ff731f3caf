package io.kvtier.alloc.extent;

import io.kvtier.alloc.bits.AtomicWords;

/**
 * For every chunk of units an upper bound of the longest free run that can be had there, and above the chunks a tree of
 * maxima that leads to the first chunk with a bound high enough.
 *
 * <pre>
 *   control  | lowerings |
 *   chunks   | version 48 bits | deficit 16 bits |   one word a chunk
 *   level 1  | deficit | deficit | deficit | deficit |   one entry for 4 chunks
 *   level 2  | deficit | ...                             one entry for 4 entries of level 1
 *   ...      up to a level of one word, the root
 * </pre>
 *
 * <p>A chunk's <i>run</i> is the longest free run that begins in the chunk or at its start, and may reach into the
 * chunks behind it; runs of a whole chunk and more count as a chunk. Hence runs across a border
 * need no case of their own, and the run of a chunk depends on at most the chunk behind it. What is stored is the
 * <i>deficit</i>, {@code chunk - bound}, so that memory which is zero says "all free" and need not be written.
 *
 * <p><b>Invariants.</b> (1) A chunk's bound is at least its run, except for what a call that is still running has freed
 * and not yet {@linkplain #raise raised}. (2) An entry's bound is at least those below it, with the same exception and
 * while {@code lowerings} is odd.
 *
 * <p><b>Raising</b> adds one to the chunk's version even when the bound stands, then goes up to the root, always the
 * whole way: a level that is high enough may be so by another thread that has not reached the root yet.
 *
 * <p><b>Lowering</b> is what a search does that found less than the bound promised. It compares-and-sets the chunk word
 * that it read <i>before</i> it looked; whoever frees there meanwhile changes the version, and the lowering fails. 48
 * bits do not come round within a call, so this has no ABA. Entries of the tree have no version, since raisers would
 * then have to write the root every time. They are lowered by one thread at a time ({@code lowerings} is odd
 * meanwhile), which reads the children again after it has lowered an entry, and puts right what changed. Lowering
 * is optional: who finds another at it leaves it to him, and a later search repairs what it runs into; a search in vain
 * while the root still promises repairs from the root down.
 *
 * <p><b>Proof that there is nothing.</b> The root is one word. If it is too low and {@code lowerings} is even and the
 * same before and after, then by (2) no run was long enough at the moment the root was read, except what a call still
 * running holds. If a thread is stopped by the system while {@code lowerings} is odd, this proof cannot be had, and the
 * allocator walks over the chunks instead.
 *
 * <p><b>Progress:</b> lock-free; a repeated compare-and-set has failed because another thread's succeeded.
 *
 * <p><b>Source:</b> a tree over per-area summaries as in LLFree (USENIX ATC '23) and in the non-blocking buddy system
 * of Marotta et al. (2018), of maxima as in a tournament tree; the versions and the even-odd word are a sequence lock
 * turned round.
 */
final class ChunkTree {
    /** Units in a chunk unless a test wants borders nearer to each other: 16 MiB of 4 KiB units. */
    static final int CHUNK_UNITS = 4096;

    private static final int FAN = 4;
    private static final int FAN_SHIFT = 2;
    private static final int ENTRY_BITS = 16;
    private static final long ENTRY = (1L << ENTRY_BITS) - 1;
    // Deficit of a child that does not exist: more than any chunk can have.
    private static final long NONE = ENTRY;

    private final AtomicWords words;
    private final int lowerings;
    private final int chunkBase;
    private final int chunks;
    private final int chunkUnits;
    private final int levels;
    // Word index of each level's first entry, and its number of entries; level 0 is the chunks.
    private final int[] levelBase;
    private final int[] levelSize;

    /**
     * A tree over words that are still zero.
     *
     * @param words where it lives.
     * @param base  index of the first of {@link #words(long, int)} words.
     * @param units how many units there are to look after.
     * @param chunkUnits units in a chunk, from 32 to 32,768, a power of two.
     */
    ChunkTree(final AtomicWords words, final int base, final long units, final int chunkUnits) {
        this.words = words;
        this.chunkUnits = chunkUnits;
        this.lowerings = base;
        this.chunkBase = base + FAN * FAN;
        this.chunks = chunksOf(units, chunkUnits);
        this.levels = levelsOf(chunks);
        levelBase = new int[levels + 1];
        levelSize = new int[levels + 1];
        int at = chunkBase + roundUp(chunks);
        levelBase[0] = chunkBase;
        levelSize[0] = chunks;
        for (int level = 1; level <= levels; level++) {
            levelBase[level] = at;
            levelSize[level] = entriesOf(levelSize[level - 1]);
            at += entriesOf(levelSize[level]);
        }
        markEnds(units);
    }

    /** Children that do not exist get {@link #NONE}, and the last chunk what it has; all else stays zero. */
    private void markEnds(final long units) {
        final long lastUnits = units - (long) (chunks - 1) * chunkUnits;
        words.setRelease(chunkBase + chunks - 1, chunkUnits - lastUnits);
        for (int chunk = chunks; chunk < roundUp(chunks); chunk++) {
            words.setRelease(chunkBase + chunk, NONE);
        }
        for (int level = 1; level <= levels; level++) {
            final int last = levelSize[level] - 1;
            long word = smallestBelow(level, last) << (last & FAN - 1) * ENTRY_BITS;
            for (int none = (last & FAN - 1) + 1; none < FAN; none++) {
                word |= NONE << none * ENTRY_BITS;
            }
            words.setRelease(levelBase[level] + (last >> FAN_SHIFT), word);
        }
    }

    static int chunksOf(final long units, final int chunkUnits) {
        return (int) Math.ceilDiv(units, chunkUnits);
    }

    /** How many words a tree over that many units takes. */
    static long words(final long units, final int chunkUnits) {
        int entries = chunksOf(units, chunkUnits);
        long words = FAN * FAN + roundUp(entries);
        final int levels = levelsOf(entries);
        for (int level = 1; level <= levels; level++) {
            entries = entriesOf(entries);
            words += entriesOf(entries);
        }
        return words;
    }

    private static int levelsOf(final int chunks) {
        int levels = 1;
        for (int entries = entriesOf(chunks); entries > FAN; entries = entriesOf(entries)) {
            levels++;
        }
        return levels;
    }

    private static int entriesOf(final int below) {
        return Math.ceilDiv(below, FAN);
    }

    private static int roundUp(final int chunks) {
        return entriesOf(chunks) * FAN;
    }

    int chunks() {
        return chunks;
    }

    /** The state of a chunk, to be read before looking and given to {@link #lower}. */
    long state(final int chunk) {
        return words.get(chunkBase + chunk);
    }

    /** The longest run, at most a chunk, that a chunk in this state may have. */
    long bound(final long state) {
        return chunkUnits - (state & ENTRY);
    }

    /** The longest run, at most a chunk, that any chunk may have: one read. */
    long bound() {
        return chunkUnits - smallestOf(words.get(levelBase[levels]));
    }

    /** Makes known that a chunk has a free run of this length (more than a chunk counts as that). */
    void raise(final int chunk, final long run) {
        final long deficit = Math.max(0, chunkUnits - run);
        final int index = chunkBase + chunk;
        long now = words.get(index);
        while (!words.compareAndSet(index, now,
            (now & ~ENTRY) + ENTRY + 1 | Math.min(now & ENTRY, deficit))) {
            now = words.get(index);
        }
        int child = chunk;
        for (int level = 1; level <= levels; level++) {
            child >>= FAN_SHIFT;
            raiseEntry(level, child, deficit);
        }
    }

    /**
     * What {@link #raise} would do to a chunk whose bound is a whole chunk already, whatever the run is.
     *
     * @return false when the bound is lower; nothing has been done then.
     */
    boolean touchHighest(final int chunk) {
        final int index = chunkBase + chunk;
        long now = words.get(index);
        while ((now & ENTRY) == 0) {
            if (words.compareAndSet(index, now, now + ENTRY + 1)) {
                int child = chunk;
                for (int level = 1; level <= levels; level++) {
                    child >>= FAN_SHIFT;
                    raiseEntry(level, child, 0);
                }
                return true;
            }
            now = words.get(index);
        }
        return false;
    }

    private void raiseEntry(final int level, final int entry, final long deficit) {
        final int index = levelBase[level] + (entry >> FAN_SHIFT);
        final int shift = (entry & FAN - 1) * ENTRY_BITS;
        long now = words.get(index);
        while ((now >>> shift & ENTRY) > deficit) {
            if (words.compareAndSet(index, now, now & ~(ENTRY << shift) | deficit << shift)) {
                return;
            }
            now = words.get(index);
        }
    }

    /**
     * Lowers a chunk's bound to what a search found, unless something was freed there since the state was read.
     *
     * @param chunk where the search was.
     * @param seen  the chunk's state, read before the search began.
     * @param run   the longest run that it saw.
     */
    void lower(final int chunk, final long seen, final long run) {
        final long deficit = Math.max(0, chunkUnits - run);
        if (deficit > (seen & ENTRY)
            && words.compareAndSet(chunkBase + chunk, seen, seen & ~ENTRY | deficit)) {
            repair(1, chunk >> FAN_SHIFT);
        }
    }

    /** Lowers an entry to what is below it, then the entries above as long as that changes them. */
    private void repair(final int fromLevel, final int fromEntry) {
        final long even = words.get(lowerings);
        if ((even & 1) != 0 || !words.compareAndSet(lowerings, even, even + 1)) {
            return;
        }
        int entry = fromEntry;
        for (int level = fromLevel; level <= levels && lowerEntry(level, entry); level++) {
            entry >>= FAN_SHIFT;
        }
        words.setRelease(lowerings, even + 2);
    }

    private boolean lowerEntry(final int level, final int entry) {
        final int index = levelBase[level] + (entry >> FAN_SHIFT);
        final int shift = (entry & FAN - 1) * ENTRY_BITS;
        for (;;) {
            final long now = words.get(index);
            final long deficit = smallestBelow(level, entry);
            if ((now >>> shift & ENTRY) >= deficit) {
                return false;
            }
            if (words.compareAndSet(index, now, now & ~(ENTRY << shift) | deficit << shift)) {
                // A raise that came between our look at the children and the write found this entry still high.
                raiseEntry(level, entry, smallestBelow(level, entry));
                return true;
            }
        }
    }

    private long smallestBelow(final int level, final int entry) {
        if (level > 1) {
            return smallestOf(words.get(levelBase[level - 1] + entry));
        }
        final int child = chunkBase + (entry << FAN_SHIFT);
        long smallest = NONE;
        for (int i = 0; i < FAN; i++) {
            smallest = Math.min(smallest, words.get(child + i) & ENTRY);
        }
        return smallest;
    }

    private static long smallestOf(final long word) {
        return Math.min(Math.min(word & ENTRY, word >>> ENTRY_BITS & ENTRY),
            Math.min(word >>> 2 * ENTRY_BITS & ENTRY, word >>> 3 * ENTRY_BITS));
    }

    private long entry(final int level, final int entry) {
        if (level == 0) {
            return words.get(chunkBase + entry) & ENTRY;
        }
        return words.get(levelBase[level] + (entry >> FAN_SHIFT)) >>> (entry & FAN - 1) * ENTRY_BITS & ENTRY;
    }

    /**
     * Finds the first chunk whose bound is high enough.
     *
     * @param from  where to begin.
     * @param units how long a run is wanted, at least 1; more than a chunk counts as that.
     * @return the chunk, or -1 when none was seen from there on.
     */
    int next(final int from, final long units) {
        final long most = Math.max(0, chunkUnits - units);
        int level = 0;
        int at = from;
        for (;;) {
            final int start = at;
            final int end = Math.min(level == levels ? levelSize[level] : (at | FAN - 1) + 1, levelSize[level]);
            while (at < end && entry(level, at) > most) {
                at++;
            }
            if (at < end) {
                if (level == 0) {
                    return at;
                }
                level--;
                at <<= FAN_SHIFT;
            } else if (level == levels) {
                return -1;
            } else {
                final int parent = end - 1 >> FAN_SHIFT;
                level++;
                if ((start & FAN - 1) == 0 && start < end && entry(level, parent) <= most) {
                    // All of the group was looked at, and the entry above it promises more. Somebody must put that
                    // right, or a search would come here for ever: whoever lowered the group may have left it out.
                    repair(level, parent);
                }
                at = parent + 1;
            }
        }
    }

    /**
     * Puts right one entry that promises what is not below it, if the root leads to one. A search that found nothing,
     * while the root proves nothing, must call this before it tries again, or it might go on for ever: {@link #next}
     * repairs only what it looks at whole.
     */
    void settle(final long units) {
        final long most = Math.max(0, chunkUnits - units);
        int at = 0;
        int end = levelSize[levels];
        for (int level = levels; level > 0; level--) {
            while (at < end && entry(level, at) > most) {
                at++;
            }
            if (at == end) {
                if (level < levels) {
                    repair(level + 1, end - 1 >> FAN_SHIFT);
                }
                return;
            }
            end = Math.min(at + 1 << FAN_SHIFT, levelSize[level - 1]);
            at <<= FAN_SHIFT;
        }
        while (at < end && entry(0, at) > most) {
            at++;
        }
        if (at == end) {
            repair(1, end - 1 >> FAN_SHIFT);
        }
    }

    /**
     * Whether there certainly was no run of a length at one moment during this call.
     *
     * @param units the length, at least 1; more than a chunk counts as that.
     * @return false when there may be one, or when nothing is certain since another thread is lowering bounds.
     */
    boolean provesNone(final long units) {
        final long before = words.get(lowerings);
        return (before & 1) == 0 && bound() < Math.min(units, chunkUnits) && words.get(lowerings) == before;
    }

    /** Whether another thread is lowering bounds now. */
    boolean isLowering() {
        return (words.get(lowerings) & 1) != 0;
    }
}
