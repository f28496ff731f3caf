package io.kvtier.store.cli.bench;

import com.sun.management.ThreadMXBean;
import io.kvtier.bindings.Availability;
import io.kvtier.transport.TransportKind;
import java.lang.management.ManagementFactory;
import java.util.function.Supplier;

/**
 * What a request leaves behind on the Java heap once everything is warm: over all threads of the process, so that no
 * thread of an engine escapes.
 */
final class HeapRows {
    /** About what one slice of a {@code MemorySegment} takes. */
    private static final double LIMIT = 64;
    private static final double GOAL = 1;

    private HeapRows() {
    }

    static Row row(final TransportKind kind, final Supplier<Availability> here, final Loads loads) {
        return new Row("heap per request, " + kind.configName(), Unit.BYTES, Peer.builtIn("limit"), GOAL, here,
            () -> Rig.with(rig -> {
                final EngineLoad load = loads.open(rig);
                return new Contest(rig, nanos -> bytesPerRequest(load, nanos), nanos -> LIMIT);
            }));
    }

    /** At least 1, so that a ratio is never more than the limit. */
    private static double bytesPerRequest(final EngineLoad load, final long nanos) {
        final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        final long before = threads.getTotalThreadAllocatedBytes();
        load.mebibytesPerSecond(nanos);
        return Math.max(1, (double) (threads.getTotalThreadAllocatedBytes() - before) / load.requests());
    }
}
