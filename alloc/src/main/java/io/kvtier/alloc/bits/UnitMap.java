package io.kvtier.alloc.bits;

/**
 * A map with a two-bit code for every unit of a space, from which runs of units are claimed and released atomically.
 *
 * <pre>
 *   word w:  | unit 32w+31 | ... | unit 32w+1 | unit 32w |     code  00 FREE   nobody's
 *    bits     63         62       3          2 1        0            01 HEAD   first unit of a claimed run
 *                                                                    11 BODY   any other unit of a claimed run
 *   behind the last unit: HEAD codes to the end of the               10 DYING  held by a release that has not decided
 *   last word and at least one of them, a fence that is
 *   never claimed
 * </pre>
 *
 * <p><b>Two styles.</b> An extent is HEAD followed by BODY, so the map itself knows where every extent begins and ends.
 * A page has no neighbours to belong to: every page of a run is HEAD ({@link #PAGES}), and any of them can be released.
 *
 * <p><b>Invariants.</b> (1) A claimed unit changes only through the release that owns it. (2) A BODY unit belongs to
 * the same run as the unit before it, at all times, so the first unit of a run is never BODY, and "the unit behind my
 * last one is not BODY" is a stable fact about my extent, whatever the neighbours do. (3) A unit is DYING only while
 * one thread is inside a claim or a release that has not decided.
 *
 * <p><b>Claim.</b> Within a word, one compare-and-set. Over several, words are taken from the first to the last, with
 * DYING in place of HEAD, and a compare-and-set that makes HEAD of it is the linearization point: a release accepts
 * nothing of a half-claimed run. A claim that meets a taken unit gives back what it holds and says how much, because a
 * searcher may have seen those units as taken. Of several claims in each other's way the one that holds
 * the highest words meets none of the others and goes on: lock-free.
 *
 * <p><b>Release of an extent.</b> One inside a word and not touching its end is checked and freed by one
 * compare-and-set. Any other is checked, then its HEAD becomes DYING (from here on nobody else can release it), then it
 * is checked again, and only then freed; if the second check fails HEAD is restored and the release refused. The second
 * check is the defence against ABA: between the first one and the compare-and-set the extent may have been released and
 * its units claimed by an extent of another length whose first word looks the same. Units are freed from the last word
 * to the first, so that whoever gets a freed unit never has BODY codes of a dead extent behind it.
 *
 * <p><b>Release of pages.</b> Within a word, one compare-and-set. Over several, all become DYING first (from the last
 * word to the first), then FREE; a page that was not claimed makes the release restore HEAD and refuse. Likewise all
 * pages of a claim over several words are DYING until it has them all.
 *
 * <p><b>Progress.</b> A claim is lock-free. A release is lock-free as long as no unit is released by two threads at
 * once, which only a faulty caller does; then the second waits, spinning, until the first has decided, since only then
 * is it known whether the second is to be refused. Waiting goes downwards in address only, so it cannot deadlock.
 *
 * <p><b>Memory order.</b> Reads are volatile. A word that is wholly ours is freed by a release store, since nobody else
 * can be writing it; the first word of a run is always freed by compare-and-set, which is a full fence, because the
 * allocators next look at the neighbours and two adjacent releases must not both miss each other (Dekker's pattern).
 *
 * <p><b>Source:</b> bit fields with multi-word claims after LLFree (Wrenger et al., USENIX ATC '23), which keeps one
 * bit a frame and claims at most one word atomically; the second bit, the exact release and the ordering of words are
 * this library's.
 */
public final class UnitMap {
    /** How many units share a word. */
    public static final int UNITS_PER_WORD = 32;
    /** The most units a map can have. */
    public static final long MAX_UNITS = 1L << 32;
    /** What {@link #claim} answers when it got the run. */
    public static final long CLAIMED = -1;
    /** Style of a claim: every unit is a HEAD and can be released alone. */
    public static final long PAGES = 0x5555_5555_5555_5555L;
    /** Style of a claim: one HEAD, then BODY. */
    public static final long EXTENT = -1L;

    private static final long EVEN = 0x5555_5555_5555_5555L;
    private static final long CODE = 3;
    private static final long HEAD = 1;
    private static final long DYING = 2;
    private static final long BODY = 3;
    private static final int SHIFT = 5;
    private static final int LAST = UNITS_PER_WORD - 1;

    private final AtomicWords words;
    private final int base;
    private final long units;

    /**
     * A map over words that are still zero.
     *
     * @param words where the codes live.
     * @param base  index of the first word of the map; {@link #words(long)} words belong to it.
     * @param units how many units, from 1 to {@link #MAX_UNITS}.
     */
    public UnitMap(final AtomicWords words, final int base, final long units) {
        this.words = words;
        this.base = base;
        this.units = units;
        final int fence = (int) (units & LAST);
        words.setRelease(wordOf(units), PAGES & (-1L << (2 * fence)));
    }

    /**
     * How many words a map takes.
     *
     * @param units how many units it has.
     * @return words, the fence included.
     */
    public static long words(final long units) {
        return (units >>> SHIFT) + 1;
    }

    /**
     * Claims exactly one run of units.
     *
     * @param first its first unit.
     * @param count how many, at least 1, all of them units of this map.
     * @param style {@link #PAGES} or {@link #EXTENT}.
     * @return {@link #CLAIMED}; otherwise the run was not free, and so many units of it, from the first on, perhaps
     *     none, were held for a moment and given back.
     */
    public long claim(final long first, final long count, final long style) {
        final long end = first + count;
        final int firstWord = wordOf(first);
        final int lastWord = wordOf(end - 1);
        final long head = CODE << shiftOf(first);
        if (firstWord == lastWord) {
            final long mask = maskOf(firstWord, first, end);
            final long codes = style & mask & ~head | HEAD << shiftOf(first);
            return claimWord(firstWord, mask, codes) ? CLAIMED : 0;
        }
        for (int w = firstWord; w <= lastWord; w++) {
            final long mask = maskOf(w, first, end);
            long codes = style == PAGES ? mask & ~PAGES : mask;
            if (w == firstWord) {
                codes = codes & ~head | DYING << shiftOf(first);
            }
            if (!claimWord(w, mask, codes)) {
                final long held = w == firstWord ? 0 : ((long) (w - base) << SHIFT) - first;
                if (held > 0) {
                    clear(first, first + held);
                }
                return held;
            }
        }
        if (style == EXTENT) {
            flip(firstWord, head);
        } else {
            for (int w = firstWord; w <= lastWord; w++) {
                flip(w, maskOf(w, first, end));
            }
        }
        return CLAIMED;
    }

    private boolean claimWord(final int w, final long mask, final long codes) {
        long now = words.get(w);
        while ((now & mask) == 0) {
            if (words.compareAndSet(w, now, now | codes)) {
                return true;
            }
            now = words.get(w);
        }
        return false;
    }

    /**
     * Releases exactly one extent.
     *
     * @param first its first unit.
     * @param count its length, at least 1; the run must lie inside the map.
     * @return false when these units are not one whole extent; nothing has changed then.
     */
    public boolean releaseExtent(final long first, final long count) {
        final int w = wordOf(first);
        final int shift = shiftOf(first);
        final boolean inside = (first & LAST) + count < UNITS_PER_WORD;
        for (;;) {
            final long now = words.get(w);
            final long code = now >>> shift & CODE;
            if (code == DYING) {
                Thread.onSpinWait();
            } else if (code != HEAD) {
                return false;
            } else if (inside) {
                final long mask = maskOf(w, first, first + count);
                final long behind = now >>> shiftOf(first + count) & CODE;
                if ((now & mask) != (mask & ~(2L << shift)) || behind == BODY) {
                    return false;
                }
                if (words.compareAndSet(w, now, now & ~mask)) {
                    return true;
                }
            } else if (!bodyFits(first, count)) {
                return false;
            } else if (words.compareAndSet(w, now, now ^ CODE << shift)) {
                if (bodyFits(first, count)) {
                    clear(first, first + count);
                    return true;
                }
                // Another extent of the same beginning had taken the place of the one checked: it is alive again.
                flip(w, CODE << shift);
                return false;
            }
        }
    }

    /** Whether all units but the first are BODY and the one behind is not, whatever the first one is. */
    private boolean bodyFits(final long first, final long count) {
        final long end = first + count;
        if (codeOf(end) == BODY) {
            return false;
        }
        final int lastWord = wordOf(end - 1);
        for (int w = wordOf(first); w <= lastWord; w++) {
            long mask = maskOf(w, first, end);
            if (w == wordOf(first)) {
                mask &= ~(CODE << shiftOf(first));
            }
            if ((words.get(w) & mask) != mask) {
                return false;
            }
        }
        return true;
    }

    /**
     * Releases pages, each of which was claimed in style {@link #PAGES}.
     *
     * @param first the first page.
     * @param count how many, at least 1; the run must lie inside the map.
     * @return false when one of them is not claimed; nothing has changed then.
     */
    public boolean releasePages(final long first, final long count) {
        final long end = first + count;
        final int firstWord = wordOf(first);
        final int lastWord = wordOf(end - 1);
        if (firstWord == lastWord) {
            final long mask = maskOf(firstWord, first, end);
            return changePages(firstWord, mask, true);
        }
        for (int w = lastWord; w >= firstWord; w--) {
            if (!changePages(w, maskOf(w, first, end), false)) {
                for (int held = w + 1; held <= lastWord; held++) {
                    flip(held, maskOf(held, first, end));
                }
                return false;
            }
        }
        clear(first, end);
        return true;
    }

    /** Turns HEAD codes under a mask into FREE, or into DYING. */
    private boolean changePages(final int w, final long mask, final boolean freeing) {
        for (;;) {
            final long now = words.get(w);
            if ((now & mask) == (PAGES & mask)) {
                if (words.compareAndSet(w, now, freeing ? now & ~mask : now ^ mask)) {
                    return true;
                }
            } else if ((occupied(now) & mask) != (EVEN & mask)) {
                return false;
            } else {
                // Nothing is free, so something is DYING: only its release knows whether it will be.
                Thread.onSpinWait();
            }
        }
    }

    private void flip(final int w, final long bits) {
        long now = words.get(w);
        while (!words.compareAndSet(w, now, now ^ bits)) {
            now = words.get(w);
        }
    }

    /** Frees units that this thread owns, from the last to the first. */
    private void clear(final long first, final long end) {
        final int firstWord = wordOf(first);
        for (int w = wordOf(end - 1); w >= firstWord; w--) {
            final long mask = maskOf(w, first, end);
            if (mask == -1L && w != firstWord) {
                words.setRelease(w, 0);
            } else {
                long now = words.get(w);
                while (!words.compareAndSet(w, now, now & ~mask)) {
                    now = words.get(w);
                }
            }
        }
    }

    /**
     * Finds the lowest free run that begins in a range; it may reach beyond the range.
     *
     * @param from  first unit of the range.
     * @param to    end of the range: a multiple of {@link #UNITS_PER_WORD}, or beyond the last unit.
     * @param count how many free units are wanted, at least 1.
     * @return its first unit, or {@code -1 - longest} when there was none, {@code longest} being the length of the
     *     longest run seen that begins in the range. Not a snapshot: the words were read one after the other.
     */
    public long find(final long from, final long to, final long count) {
        final int lastWord = wordOf(units);
        final int endWord = wordOf(to - 1);
        long run = 0;
        long longest = 0;
        long unit = from & ~LAST;
        long belowFrom = (1L << shiftOf(from)) - 1 & EVEN;
        for (int w = wordOf(from); w <= lastWord; w++, unit += UNITS_PER_WORD) {
            if (w > endWord && run == 0) {
                break;
            }
            final long taken = occupied(words.get(w)) | belowFrom;
            belowFrom = 0;
            if (taken == 0) {
                run += UNITS_PER_WORD;
                if (run >= count) {
                    return unit + UNITS_PER_WORD - run;
                }
                continue;
            }
            if (taken == EVEN && run == 0) {
                continue;
            }
            final int prefix = Long.numberOfTrailingZeros(taken) >> 1;
            if (run + prefix >= count) {
                return unit - run;
            }
            longest = Math.max(longest, run + prefix);
            if (w > endWord) {
                break;
            }
            final long free = ~taken & EVEN;
            if (count < UNITS_PER_WORD) {
                final long starts = runs(free, (int) count);
                if (starts != 0) {
                    return unit + (Long.numberOfTrailingZeros(starts) >> 1);
                }
            }
            longest = longestWithin(free, longest);
            run = Long.numberOfLeadingZeros(taken) >> 1;
        }
        return -1 - Math.max(longest, run);
    }

    /** Starts of all runs of at least a length inside one word; 1 to 31. */
    private static long runs(final long free, final int length) {
        long starts = free;
        int have = 1;
        while (have < length) {
            final int step = Math.min(have, length - have);
            starts &= starts >>> 2 * step;
            have += step;
        }
        return starts;
    }

    private static long longestWithin(final long free, final long atLeast) {
        long longest = atLeast;
        // At most 31 steps in a whole search, since the length only grows.
        while (longest < LAST && runs(free, (int) longest + 1) != 0) {
            longest++;
        }
        return longest;
    }

    /**
     * Whether a run is free now.
     *
     * @param first its first unit.
     * @param count its length, at least 1.
     * @return true when no unit of it was taken when it was read; false also when it reaches beyond the map.
     */
    public boolean isFree(final long first, final long count) {
        final long end = first + count;
        if (end > units) {
            return false;
        }
        final int lastWord = wordOf(end - 1);
        for (int w = wordOf(first); w <= lastWord; w++) {
            if ((words.get(w) & maskOf(w, first, end)) != 0) {
                return false;
            }
        }
        return true;
    }

    /**
     * Walks down from a unit over free units.
     *
     * @param unit  where to begin; the unit before it is looked at first.
     * @param limit where to stop at the latest.
     * @return the lowest unit such that all from it to {@code unit} are free, not below {@code limit}.
     */
    public long freeDown(final long unit, final long limit) {
        long low = unit;
        while (low > limit) {
            final int w = wordOf(low - 1);
            final int above = UNITS_PER_WORD - 1 - (int) (low - 1 & LAST);
            final long taken = occupied(words.get(w)) << 2 * above;
            if (taken != 0) {
                low -= Long.numberOfLeadingZeros(taken) >> 1;
                break;
            }
            low -= UNITS_PER_WORD - above;
        }
        return Math.max(low, limit);
    }

    /**
     * Walks up from a unit over free units.
     *
     * @param unit  where to begin.
     * @param limit where to stop at the latest.
     * @return the highest end such that all units from {@code unit} to before it are free, not above {@code limit}.
     */
    public long freeUp(final long unit, final long limit) {
        long high = unit;
        final long stop = Math.min(limit, units);
        while (high < stop) {
            final int below = (int) (high & LAST);
            final long taken = occupied(words.get(wordOf(high))) >>> 2 * below;
            if (taken != 0) {
                high += Long.numberOfTrailingZeros(taken) >> 1;
                break;
            }
            high += UNITS_PER_WORD - below;
        }
        return Math.min(high, stop);
    }

    /**
     * Whether somebody holds a unit.
     *
     * @param unit which one.
     * @return true unless it is free.
     */
    public boolean isTaken(final long unit) {
        return codeOf(unit) != 0;
    }

    /**
     * How long the extent that begins at a unit is.
     *
     * @param first the unit.
     * @return units; 0 when no extent begins there.
     */
    public long extentUnits(final long first) {
        if (codeOf(first) != HEAD) {
            return 0;
        }
        long end = first + 1;
        for (;;) {
            final int below = (int) (end & LAST);
            final long codes = words.get(wordOf(end));
            final long other = ~(codes & codes >>> 1) & EVEN;
            final long rest = other >>> 2 * below;
            if (rest != 0) {
                return end + (Long.numberOfTrailingZeros(rest) >> 1) - first;
            }
            end += UNITS_PER_WORD - below;
        }
    }

    private long codeOf(final long unit) {
        return words.get(wordOf(unit)) >>> shiftOf(unit) & CODE;
    }

    private int wordOf(final long unit) {
        return base + (int) (unit >>> SHIFT);
    }

    private static int shiftOf(final long unit) {
        return (int) (unit & LAST) << 1;
    }

    /** The bits of a word that belong to units from {@code first} to before {@code end}; the word overlaps them. */
    private long maskOf(final int w, final long first, final long end) {
        final long unit = (long) (w - base) << SHIFT;
        long mask = -1L;
        if (first > unit) {
            mask <<= first - unit << 1;
        }
        if (end - unit < UNITS_PER_WORD) {
            mask &= -1L >>> (UNITS_PER_WORD - (end - unit) << 1);
        }
        return mask;
    }

    private static long occupied(final long codes) {
        return (codes | codes >>> 1) & EVEN;
    }
}
