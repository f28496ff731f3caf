package io.kvtier.store.cli.bench;

import io.kvtier.bindings.Availability;
import java.util.Map;

/**
 * Figures of Mooncake (kvcache-ai/Mooncake at 3b5a594, C++ compiled with -O3, TCP, default settings), which were taken
 * once and are written down here, because that is not built and run by this program.
 *
 * <p>The machine was virtual with 2 cores and 24 GiB; master, memory owner and clients were processes that shared these
 * two cores. Each figure is one sample of 3 to 10 seconds, by Mooncake's own benches and, for values, by a small
 * program that stamped and checked them. A figure of another run, and worse of another machine, says how large a goal
 * is; it is no comparison side by side, and rows against it say "recorded". {@code src-test/BENCHMARKS.md} says so too.
 *
 * <p><b>Threading:</b> immutable.
 */
final class Recorded {
    /** What the others did, as the machine's facts have it. */
    private static final String CIRCUMSTANCES =
        "kvcache-ai/Mooncake 3b5a594, C++ -O3, TCP, 2-core machine with 24 GiB, one sample of 3 to 10 s; "
            + "figures of another run, not measured beside ours";
    private static final Peer MASTER = new Peer("Mooncake master, recorded", Availability.yes(CIRCUMSTANCES));
    private static final Peer STORE = new Peer("Mooncake store, recorded", Availability.yes(CIRCUMSTANCES));

    /** Puts a second (start and end) by number of clients. */
    private static final Map<Integer, Double> PUT = Map.of(1, 6746.0, 2, 23_995.0, 4, 24_983.0, 16, 23_818.0);
    /** Replica lists a second by number of clients. */
    private static final Map<Integer, Double> GET = Map.of(1, 13_970.0, 2, 47_130.0, 4, 41_134.0, 16, 39_049.0);
    /** Keys a second by keys of a batch, 4 clients; a batch of one is that of the single calls. */
    private static final Map<Integer, Double> PUT_BATCH =
        Map.of(1, 24_983.0, 32, 238_000.0, 128, 256_000.0, 1024, 255_000.0);
    /** Of 128 the machine was a little busy. */
    private static final Map<Integer, Double> GET_BATCH =
        Map.of(1, 41_134.0, 32, 615_000.0, 128, 732_000.0, 1024, 1_078_000.0);
    /** MiB a second by KiB of a value; by one thread and by two, over loopback TCP. */
    private static final Map<Integer, double[]> PUT_BYTES =
        Map.of(64, new double[] {300, 214}, 1024, new double[] {2029, 1319}, 16_384, new double[] {2123, 1705});
    private static final Map<Integer, double[]> GET_BYTES =
        Map.of(64, new double[] {423, 335}, 1024, new double[] {1900, 1696}, 16_384, new double[] {2331, 1967});

    /** Keys a second of a master that knows a million, asked by 4 threads in batches of 128. */
    static final double GET_OF_A_MILLION = 532_000;
    /** Resident memory of a master for each key: 0.8 to 0.9 KiB, the middle. */
    static final double BYTES_PER_KEY = 870;

    private Recorded() {
    }

    /** The other master, of which there is a figure. */
    static Peer master() {
        return MASTER;
    }

    /** The other store, of which there is a figure. */
    static Peer store() {
        return STORE;
    }

    /** The other master, of which there is no figure. */
    static Peer nothing() {
        return new Peer(MASTER.name(), Availability.no("no figure", "this was not measured there"));
    }

    static double put(final int clients) {
        return PUT.get(clients);
    }

    static double get(final int clients) {
        return GET.get(clients);
    }

    static double putBatch(final int keys) {
        return PUT_BATCH.get(keys);
    }

    static double getBatch(final int keys) {
        return GET_BATCH.get(keys);
    }

    /** MiB a second of puts of that size by one or two threads. */
    static double putBytes(final long bytes, final int threads) {
        return PUT_BYTES.get((int) (bytes >> 10))[threads - 1];
    }

    /** MiB a second of gets of that size by one or two threads. */
    static double getBytes(final long bytes, final int threads) {
        return GET_BYTES.get((int) (bytes >> 10))[threads - 1];
    }
}
