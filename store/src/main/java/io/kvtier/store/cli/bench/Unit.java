package io.kvtier.store.cli.bench;

/** What the figures of a row count, and which way is better. */
enum Unit {
    /** Throughput. */
    MIB_PER_SECOND("MiB/s", true),
    /** Calls, or keys of calls. */
    PER_SECOND("1/s", true),
    /** Time of one call. */
    NANOSECONDS("ns", false),
    /** Processor time of all threads, that of the kernel for them included. */
    CPU_SECONDS_PER_GB("CPU s/GB", false),
    /** A part of a whole; 1 is all of it. */
    SHARE("share", true),
    /** Memory. */
    BYTES("bytes", false),
    /** How often one figure goes into another. */
    TIMES("times", false);

    private final String text;
    private final boolean moreIsBetter;

    Unit(final String text, final boolean moreIsBetter) {
        this.text = text;
        this.moreIsBetter = moreIsBetter;
    }

    String text() {
        return text;
    }

    /** How good one figure is beside another; the bigger, the better for us, whatever is counted. */
    double ratio(final double ours, final double peer) {
        return moreIsBetter ? ours / peer : peer / ours;
    }
}
