package io.kvtier.alloc.extent;

/** Prints how full a space gets: ours and the peer's best fit. */
public final class UtilizationReport {
    private UtilizationReport() {
    }

    /**
     * Measures 1 TiB, or as many GiB as the first argument says, with a million replacements or as many as the second
     * says.
     */
    public static void main(final String[] arguments) {
        final long capacity = (arguments.length > 0 ? Long.parseLong(arguments[0]) : 1024) << 30;
        final int replacements = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 1_000_000;
        try (ExtentSource ours = ExtentSource.of(ExtentAllocator.create(capacity, 4096, 1));
            ExtentSource peer = new FreeListExtents(capacity, 4096)) {
            report("ours", ours, capacity, replacements);
            report("best fit", peer, capacity, replacements);
        }
    }

    private static void report(final String name, final ExtentSource source, final long capacity,
                               final int replacements) {
        final long start = System.nanoTime();
        final Utilization figures = Utilization.measure(source, capacity, replacements, 1);
        System.out.printf("%-9s filling %.4f replacing %.4f lowest %.4f in %d ms%n", name, figures.filling(),
            figures.replacing(), figures.lowest(), (System.nanoTime() - start) / 1_000_000);
    }
}
