package io.kvtier.bindings.hf3fs;

/**
 * How a ring is made.
 *
 * <p><b>Threading:</b> immutable.
 *
 * @param entries        most entries that are prepared or in flight and not reaped, 1 to {@link #MAX_ENTRIES}.
 * @param read           whether the ring reads; a ring has one direction.
 * @param batch          0: entries are begun as soon as they are seen. More: only exactly so many at once, fewer wait
 *                       until there are more. Less: at most so many ({@code -batch}) at once. Its size is at most
 *                       {@code entries}.
 * @param batchTimeoutMs with a negative batch, how long fewer may wait for more, in milliseconds; 0 for not at all.
 *                       Other than 0, 3FS waits for a whole batch for ever (the time is looked at in a way in which it
 *                       never passes), so then the same holds as for a positive batch.
 * @param numa           node that the ring's memory is moved to; -1 for wherever it is.
 * @param flags          of {@link Flag}, added up.
 */
public record IoRingOptions(int entries, boolean read, int batch, int batchTimeoutMs, int numa, int flags) {
    /** Most entries of a ring, a limit of this library: the ring's memory is some 100 bytes an entry. */
    public static final int MAX_ENTRIES = 1 << 16;
    /** Highest number of a node that is taken. */
    static final int MAX_NUMA = 1023;

    /** What reads of a ring do beyond the usual; numbers of {@code hf3fs_usrbio.h}. */
    public enum Flag {
        /** Bytes of writes that are still under way may be read. */
        ALLOW_READ_UNCOMMITTED(UsrbioLayout.FLAG_ALLOW_READ_UNCOMMITTED),
        /** A hole within a read is an error, where else it reads as zeros. */
        FORBID_READ_HOLES(UsrbioLayout.FLAG_FORBID_READ_HOLES);

        private final int number;

        Flag(final int number) {
            this.number = number;
        }

        /**
         * The bit in {@link IoRingOptions#flags}.
         *
         * @return one bit.
         */
        public int bit() {
            return number;
        }
    }

    /**
     * Checks every value.
     *
     * @param entries        1 to {@link #MAX_ENTRIES}.
     * @param read           whether the ring reads.
     * @param batch          -entries to entries.
     * @param batchTimeoutMs not negative.
     * @param numa           -1 to 1023.
     * @param flags          bits of {@link Flag}.
     */
    public IoRingOptions {
        if (entries < 1 || entries > MAX_ENTRIES) {
            throw new IllegalArgumentException("a ring has 1 to " + MAX_ENTRIES + " entries, not " + entries);
        }
        // The client of 3FS refuses a batch that cannot be full, and the error says nothing of it.
        if (batch > entries || batch < -entries) {
            throw new IllegalArgumentException("a batch of " + batch + " is more than the ring's " + entries
                + " entries");
        }
        if (batchTimeoutMs < 0) {
            throw new IllegalArgumentException("the time limit of a batch is 0 or more milliseconds, not "
                + batchTimeoutMs);
        }
        checkNuma(numa);
        if ((flags & ~(UsrbioLayout.FLAG_ALLOW_READ_UNCOMMITTED | UsrbioLayout.FLAG_FORBID_READ_HOLES)) != 0) {
            throw new IllegalArgumentException("flags 0x" + Integer.toHexString(flags) + " has bits that are none");
        }
    }

    /**
     * A ring whose entries are begun at once.
     *
     * @param entries most entries.
     * @param read    whether it reads.
     * @return the options.
     */
    public static IoRingOptions of(final int entries, final boolean read) {
        return new IoRingOptions(entries, read, 0, 0, -1, 0);
    }

    /** How many entries are begun together and never fewer; 0 when any number is. */
    int wholeBatch() {
        return batch > 0 || batchTimeoutMs > 0 ? Math.abs(batch) : 0;
    }

    static int checkNuma(final int numa) {
        if (numa < -1 || numa > MAX_NUMA) {
            throw new IllegalArgumentException("a NUMA node is -1 (any) to " + MAX_NUMA + ", not " + numa);
        }
        return numa;
    }
}
