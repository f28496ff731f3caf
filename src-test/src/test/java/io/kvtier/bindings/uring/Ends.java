package io.kvtier.bindings.uring;

import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.Map;
import java.util.TreeMap;

/** Remembers how operations ended, and that each did so once. */
final class Ends implements CompletionHandler {
    private final Map<Long, Integer> results = new TreeMap<>();

    @Override
    public void completed(final long userData, final int result) {
        assertNull(results.put(userData, result), "ended twice: " + userData);
    }

    /** Submits, waits for everything that is open, and gives how it ended. */
    static Map<Long, Integer> of(final UringRing ring) {
        final Ends ends = new Ends();
        while (ring.inFlight() > 0) {
            ring.submitAndWait(ring.inFlight());
            ring.reap(ends);
        }
        return ends.results;
    }

    Map<Long, Integer> results() {
        return results;
    }
}
