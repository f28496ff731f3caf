package io.kvtier.store.cli.bench;

/** How things are called in the names of rows. */
final class Names {
    private static final long KIB = 1L << 10;
    private static final long MIB = 1L << 20;
    private static final long MILLION = 1_000_000;

    private Names() {
    }

    static String threads(final int threads) {
        return threads == 1 ? "1 thread" : threads + " threads";
    }

    /** A large round number. */
    static String count(final long number) {
        return number % MILLION == 0 ? number / MILLION + " million" : Long.toString(number);
    }

    static String bytes(final long bytes) {
        return bytes % MIB == 0 ? bytes / MIB + " MiB" : bytes / KIB + " KiB";
    }
}
