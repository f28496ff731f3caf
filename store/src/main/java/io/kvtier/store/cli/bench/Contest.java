package io.kvtier.store.cli.bench;

import java.io.IOException;

/**
 * The two sides of a row, ready to be measured in turns.
 *
 * <p><b>Threading:</b> one thread. <b>Lifetime:</b> holds files, memory, processes and connections until closed.
 *
 * @param rig  what both hold open.
 * @param ours measures this library.
 * @param peer measures the peer in the same way; asked only where it is installed.
 */
record Contest(Rig rig, Figure ours, Figure peer) implements AutoCloseable {
    /** Takes a figure. */
    @FunctionalInterface
    interface Figure {
        /**
         * Measures.
         *
         * @param nanos how long, about.
         * @return a figure in the row's unit.
         */
        double take(long nanos) throws IOException, InterruptedException;
    }

    @Override
    public void close() {
        rig.close();
    }
}
