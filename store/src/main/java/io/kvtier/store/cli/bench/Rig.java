package io.kvtier.store.cli.bench;

import io.kvtier.alloc.MemoryRegion;
import io.kvtier.transport.Closings;
import io.kvtier.transport.Segment;
import io.kvtier.transport.TransferConfig;
import io.kvtier.transport.TransferEngine;
import io.kvtier.transport.Transport;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;

/**
 * What is open for a row, closed in the reverse order.
 *
 * <p><b>Threading:</b> one thread.
 */
final class Rig implements AutoCloseable {
    private final Closings closings = new Closings();

    Rig() {
    }

    /** Opens the things of a row. */
    interface Fitter<T> {
        T fit(Rig rig) throws IOException, InterruptedException;
    }

    /** A rig with all that is fitted to it, or nothing open at all. */
    static <T> T with(final Fitter<T> fitter) throws IOException, InterruptedException {
        final Rig rig = new Rig();
        try (Closings opened = new Closings()) {
            opened.add(rig::close);
            final T fitted = fitter.fit(rig);
            opened.stayOpen();
            return fitted;
        }
    }

    /** Keeps something open until the rig is closed. */
    <T> T keep(final T thing, final Consumer<? super T> closing) {
        return closings.keep(thing, closing);
    }

    <T extends MemoryRegion> T keep(final T region) {
        return keep(region, MemoryRegion::close);
    }

    Segment keep(final Segment segment) {
        return keep(segment, Segment::close);
    }

    /** An engine over one transport. */
    TransferEngine engine(final Transport transport) {
        return keep(TransferEngine.open(TransferConfig.DEFAULT, List.of(transport)), TransferEngine::close);
    }

    @Override
    public void close() {
        closings.close();
    }
}
