package io.kvtier.store.cli.bench;

/** How things are called in the names of rows. */
final class Names {
    private static final long KIB = 1L << 10;
    private static final long MIB = 1L << 20;

    private Names() {
    }

    static String bytes(final long bytes) {
        return bytes % MIB == 0 ? bytes / MIB + " MiB" : bytes / KIB + " KiB";
    }
}
